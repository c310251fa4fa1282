"""Diagnostics of real servers are for what the files hold now, whoever wrote them and however."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from app.bridges.lsp.manager import LanguageServer
from tests.bridges.lsp.conftest import Place, messages, open_place, serving
from tests.driver.language_servers import copy_of


@dataclass(frozen=True)
class Case:
    """A server on its fixture. `wrong` has an error with `told` in its text; `rounds` are contents of
    `file`, each followed by what only its diagnostics say (nothing: none)."""

    server: str
    folder: str
    wrong: str
    told: str
    file: str
    contents: tuple[tuple[str, str], ...]
    rounds: int = 12


def four(form: str, told: str, clean: str) -> tuple[tuple[str, str], ...]:
    names = ("alfa", "bravo", "charlie", "delta")
    return (*((form.replace("NAME", name), told.replace("NAME", name)) for name in names), (clean, ""))


_PYTHON = four("def one() -> int:\n    return NAME\n", "NAME", "def one() -> int:\n    return 1\n")
_SCRIPT = four("export const one: number = NAME;\n", "NAME", "export const one: number = 1;\n")
CASES = (
    Case("pyright", "python", "freight/wrong.py", "far", "freight/one.py", _PYTHON, 150),
    Case("basedpyright", "python", "freight/wrong.py", "far", "freight/one.py", _PYTHON, 150),
    Case("typescript-language-server", "typescript", "src/wrong.ts", "number", "src/one.ts", _SCRIPT, 300),
    Case("typescript-7", "typescript", "src/wrong.ts", "number", "src/one.ts", _SCRIPT, 250),
    Case(
        "gopls", "go", "wrong/wrong.go", "far", "wrong/one.go",
        four("package wrong\n\nvar one = NAME\n", "NAME", "package wrong\n\nvar one = 1\n"), 150,
    ),
    Case(
        "rust-analyzer", "rust", "src/wrong.rs", "mismatched", "src/wrong.rs",
        four("pub const ONE: u8 = NAME;\n", "NAME", "pub const ONE: u8 = 1;\n"), 5,
    ),
    Case(
        "clangd", "cpp", "src/wrong.cpp", "", "src/one.cpp",
        four("int one = NAME;\n", "NAME", "int one = 1;\n"), 60,
    ),
    Case(
        "bash", "bash", "wrong.sh", "", "one.sh",
        four("#!/bin/bash\necho $NAME\n", "NAME", "#!/bin/bash\n"), 10,
    ),
    Case(
        "yaml", "yaml", "wrong.yaml", "", "one.yaml",
        four("# yaml-language-server: $schema=schema.json\nNAME: 1\n", "NAME", "# nothing\n"), 8,
    ),
    Case(
        "json", "json", "wrong.json", "", "one.json",
        four('{"$schema": "./schema.json", "NAME": 1}\n', "NAME", "{}\n"), 150,
    ),
    Case(
        "css", "css", "wrong.css", "", "one.css",
        four("a { NAME: 1 }\n", "NAME", "a { color: red }\n"), 150,
    ),
    Case(
        "html", "html", "wrong.html", "", "one.html",
        four("<script>const o = 1 + NAME(;</script>\n", "", "<script>const o = 1;</script>\n"), 20,
    ),
)  # fmt: skip
NAMES = [case.server for case in CASES]
by_name = {case.server: case for case in CASES}


async def server_of(place: Place, path: str) -> LanguageServer:
    return await place.project.server_for(path)


async def loaded(server: LanguageServer, path: str) -> list[str]:
    """Return what the diagnostics of the file say when the server has loaded its project. Before, they are
    not fresh when the machine is busy."""
    while not (found := await server.diagnostics(path)).fresh:
        pass
    return messages(found)


def opened(base: Path, case: Case):  # type: ignore[no-untyped-def]
    return open_place(base, copy_of(case.folder, base), declared=serving(case.server, case.folder))


def holds(found: list[str], told: str) -> bool:
    text = "\n".join(found)
    others = {"alfa", "bravo", "charlie", "delta"} - {told}
    return (told in text if told else not found) and not any(other in text for other in others)


@pytest.mark.requirement("language_servers.freshness.edit")
@pytest.mark.requirement("language_servers.freshness.rounds")
@pytest.mark.parametrize("name", NAMES)
async def test_diagnostics_are_for_what_the_file_holds(name: str, tmp_path: Path) -> None:
    case = by_name[name]
    async with opened(tmp_path, case) as place:
        place.put(case.file, case.contents[-1][0])
        server = await server_of(place, case.wrong)
        found = await loaded(server, case.wrong)
        assert case.file == case.wrong or (found and case.told in "\n".join(found))
        for number in range(case.rounds):
            text, told = case.contents[number % len(case.contents)]
            place.put(case.file, text)
            found = messages(await server.diagnostics(case.file))
            assert holds(found, told) or (name == "html" and bool(found) == bool("(;" in text)), (
                number,
                told,
                found,
            )
        assert len(place.events("spawned")) == 1


@pytest.mark.requirement("language_servers.freshness.new_file")
@pytest.mark.parametrize("name", ["basedpyright", "pyright"])
async def test_a_file_that_was_just_created_is_in_the_references(name: str, tmp_path: Path) -> None:
    """These servers look for new files some time after they are told of one; a look that was under way then
    makes them forget it again."""
    async with open_place(tmp_path, declared=serving(name, "python")) as place:
        place.put("stock.py", "def count() -> int:\n    return 1\n")
        server = await server_of(place, "stock.py")
        for number in range(10):
            place.put(f"user{number}.py", "from stock import count\n\ncount()\n")
            text = await server.document("stock.py")
            at = {"textDocument": {"uri": text.uri}, "position": {"line": 0, "character": 5}}
            asked = {**at, "context": {"includeDeclaration": False}}
            found = await server.request("textDocument/references", asked)
            users = {one["uri"].rpartition("/")[2] for one in found} - {"stock.py"}
            assert users == {f"user{each}.py" for each in range(number + 1)}
