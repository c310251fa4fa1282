"""Every action with every real server, on a small project in its language."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio

from app.bridges.lsp.manager import Declarations, Declared
from tests.driver.language_servers import copy_of, server_command
from tests.tools.code.conftest import CodeDesk, code_desk
from tests.tools.code.real_servers import ACTIONS, ALL, METHODS, Real, asked, parts

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@dataclass
class Tried(CodeDesk):
    """A desk with one real server."""

    real: Real = field(kw_only=True)

    def line(self, path: str, line: int) -> str:
        return re.split(r"\r\n|\n", self.text(path))[line - 1]

    def column(self, place: str) -> int:
        """Return where the name begins, in characters."""
        path, line, name = parts(place)
        wanted, _, number = name.partition("#")
        text = self.line(path, line)
        at = -1
        for _ in range(int(number or 1)):
            at = text.index(wanted, at + 1)
        return at

    def at(self, place: str) -> dict[str, Any]:
        path, line, _ = parts(place)
        return {"path": f"./{path}", "line": line, "character": self.column(place)}

    def shown(self, place: str) -> dict[str, Any]:
        """Return a place as an answer has it."""
        path, line, _ = parts(place)
        return {**self.at(place), "preview": self.line(path, line).strip()}

    def files(self) -> dict[str, bytes]:
        return {
            str(file.relative_to(self.root)): file.read_bytes()
            for file in sorted(self.root.rglob("*"))
            if file.is_file() and not {"target", ".cache"} & set(file.relative_to(self.root).parts)
        }

    async def found(self) -> list[tuple[Any, ...]]:
        """Return what is wrong in the folder of the sources, all for the present content."""
        data = await self.lsp("diagnostics", path=self.real.below)
        assert data["fresh"] is True and data["count"] == len(data["diagnostics"]), data
        return [
            (one["path"].removeprefix("./"), one["line"], one["character"], one["severity"], one.get("code"))
            for one in data["diagnostics"]
        ]


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="module",
    params=[
        pytest.param("pyright", marks=pytest.mark.requirement("language_servers.real.pyright")),
        pytest.param("basedpyright", marks=pytest.mark.requirement("language_servers.real.basedpyright")),
        pytest.param(
            "typescript-language-server",
            marks=pytest.mark.requirement("language_servers.real.typescript-language-server"),
        ),
        pytest.param("typescript-7", marks=pytest.mark.requirement("language_servers.real.typescript-7")),
        pytest.param("gopls", marks=pytest.mark.requirement("language_servers.real.gopls")),
        pytest.param(
            "rust-analyzer",
            marks=[
                pytest.mark.requirement("language_servers.real.rust-analyzer"),
                pytest.mark.timeout(400),
            ],
        ),
        pytest.param("clangd", marks=pytest.mark.requirement("language_servers.real.clangd")),
        pytest.param("bash", marks=pytest.mark.requirement("language_servers.real.bash")),
        pytest.param("yaml", marks=pytest.mark.requirement("language_servers.real.yaml")),
        pytest.param("json", marks=pytest.mark.requirement("language_servers.real.json")),
        pytest.param("css", marks=pytest.mark.requirement("language_servers.real.css")),
        pytest.param("html", marks=pytest.mark.requirement("language_servers.real.html")),
    ],
)
async def desk(request: Any, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Tried]:
    real = ALL[request.param]
    base = tmp_path_factory.mktemp(real.server)
    copy_of(real.language, base, name="project")
    declared = Declared(language=real.language, command=server_command(real.server))
    async with code_desk(base, declarations=Declarations(project=(declared,))) as opened:
        yield Tried(**{one.name: getattr(opened, one.name) for one in fields(opened)}, real=real)


async def refused(desk: Tried, action: str, method: str, **params: Any) -> None:
    """The server does not offer the action: an error that names the server and what it lacks."""
    error = await desk.refused(action, **params)
    assert error.code == "action_not_supported"
    server = Path(server_command(desk.real.server)[0]).name
    assert error.detail == {"server": server, "language": desk.real.language, "capability": method}
    assert server in error.error_text and method in error.error_text


async def test_definition_from_the_line_with_emoji(desk: Tried) -> None:
    real = desk.real
    if real.definition is None:
        await refused(desk, "definition", METHODS["definition"], **asked(real.use))
        return
    if "references" not in real.lacks:
        # While a server still reads the project it may name a declaration for a definition.
        await desk.lsp("references", **asked(real.use))
    by_name = await desk.lsp("definition", **asked(real.use))
    by_column = await desk.lsp("definition", **desk.at(real.use))
    assert by_name == by_column == {"definitions": [desk.shown(real.definition)]}


async def test_references_with_and_without_the_declaration(desk: Tried) -> None:
    real = desk.real
    if "references" in real.lacks:
        await refused(desk, "references", METHODS["references"], **asked(real.use))
        return
    for place in (real.use, real.uses[0]):
        found = await desk.lsp("references", **asked(place), include_declaration=True)
        assert found["references"] == [desk.shown(one) for one in real.uses]
        found = await desk.lsp("references", **asked(place))
        uses = [one for one in real.uses if one not in real.declared]
        assert found == {"references": [desk.shown(one) for one in uses], "count": len(uses)}


async def test_tabs_and_line_ends_of_another_system(desk: Tried) -> None:
    real = desk.real
    place, expected = real.windows
    path, line, _ = parts(place)
    assert "\t" in desk.text(path) and "\r\n" in desk.text(path)
    if ":" in expected and expected.startswith(path):
        assert await desk.lsp("definition", **asked(place)) == {"definitions": [desk.shown(expected)]}
        return
    span = (await desk.lsp("hover", **asked(place)))["range"]
    start = desk.line(path, line).index(expected)
    assert span["start"] == {"line": line, "character": start}
    assert span["end"]["line"] == line and span["end"]["character"] - start in {
        len(expected),
        len(expected) + 1,  # with the semicolon
    }


async def test_type_definition(desk: Tried) -> None:
    real = desk.real
    if real.type_definition is None:
        await refused(desk, "type_definition", METHODS["type_definition"], **asked(real.use))
        return
    place, expected = real.type_definition
    assert await desk.lsp("type_definition", **asked(place)) == {"definitions": [desk.shown(expected)]}


async def test_implementation(desk: Tried) -> None:
    real = desk.real
    if real.implementation is None:
        await refused(desk, "implementation", METHODS["implementation"], **asked(real.use))
        return
    place, expected = real.implementation
    found = await desk.lsp("implementation", **asked(place))
    assert found == {"definitions": [desk.shown(one) for one in expected]}


async def test_hover(desk: Tried) -> None:
    place, words, covered = desk.real.hover
    path, line, _ = parts(place)
    data = await desk.lsp("hover", **asked(place))
    text = data["content"] + "\n" + data.get("documentation", "")
    assert words in text and "data:image" not in text
    if covered is None:
        assert "range" not in data
        return
    start = desk.line(path, line).index(covered)
    assert data["range"]["start"] == {"line": line, "character": start}
    assert data["range"]["end"]["character"] - start in {len(covered), len(covered) + 1}


async def test_symbols_of_a_file(desk: Tried) -> None:
    path, expected = desk.real.outline
    data = await desk.lsp("symbols", path=path)
    found = [
        (one["name"], one["kind"], one["path"], one["line"], one["character"]) for one in data["symbols"]
    ]
    assert found == [(name, kind, *desk.at(place).values()) for name, kind, place in expected]
    assert all(one["end_line"] >= one["line"] for one in data["symbols"])


async def test_symbols_of_the_project(desk: Tried) -> None:
    real = desk.real
    path = parts(real.use)[0]
    if real.search is None:
        await refused(desk, "symbols", "workspace/symbol", scope="workspace", path=path, query="total")
        return
    query, place = real.search
    data = await desk.lsp("symbols", scope="workspace", path=path, query=query)
    first = data["symbols"][0]
    assert (first["name"], first["kind"]) == (query, "function")
    assert {key: first[key] for key in ("path", "line", "character")} == desk.at(place)


async def test_diagnostics_of_files_and_of_the_folder(desk: Tried) -> None:
    real = desk.real
    clean = await desk.lsp("diagnostics", path=parts(real.use)[0])
    assert clean == {"path": f"./{parts(real.use)[0]}", "diagnostics": [], "count": 0, "fresh": True}
    for path in dict.fromkeys(one[0] for one in real.problems):
        wanted = [one for one in real.problems if one[0] == path]
        data = await desk.lsp("diagnostics", path=path)
        assert data["fresh"] is True and len(data["diagnostics"]) == len(wanted)
        for found, (_, line, column, severity, code, words) in zip(data["diagnostics"], wanted, strict=True):
            assert (found["line"], found["character"], found["severity"]) == (line, column, severity)
            assert found.get("code") == code and words in found["message"]
            assert (found["end_line"], found["end_character"]) >= (line, column)
    assert await desk.found() == [one[:5] for one in real.problems]
    errors = await desk.lsp("diagnostics", path=real.problems[-1][0], severity="error")
    assert {one["severity"] for one in errors["diagnostics"]} <= {"error"}
    assert errors["count"] == sum(
        one[0] == real.problems[-1][0] and one[3] == "error" for one in real.problems
    )


async def test_code_actions(desk: Tried) -> None:
    real = desk.real
    if "code_actions" in real.lacks:
        await refused(desk, "code_actions", METHODS["code_actions"], path=parts(real.use)[0], line=1)
        return
    desk.put_all(real.added)
    try:
        if real.action is None:  # it has none but for settings and libraries
            assert await desk.lsp("code_actions", **asked(real.use)) == {"actions": [], "count": 0}
            return
        before = desk.files()
        place, title, command, edits = real.action
        data = await desk.lsp("code_actions", **asked(place))
        [action] = [one for one in data["actions"] if one["title"] == title]
        assert action.get("command") == command and "disabled" not in action
        found = [{key: one[key] for key in ("path", "line", "character", "old", "new")}
                 for one in action.get("edits", [])]  # fmt: skip
        expected = [{**desk.at(where), "old": old, "new": new} for where, old, new in edits]
        assert found == (expected if len(edits) > 1 else [in_its_line(desk, one) for one in expected])
        assert desk.files() == before
    finally:
        for path in real.added:
            (desk.root / path).unlink()


def in_its_line(desk: Tried, edit: dict[str, Any]) -> dict[str, Any]:
    """Return an insertion as it is shown: so that `edit.text` finds something to replace."""
    text, at = desk.text(edit["path"]).splitlines()[edit["line"] - 1], edit["character"]
    if edit["old"]:
        return edit
    return {**edit, "character": 0, "old": text, "new": text[:at] + edit["new"] + text[at:]}


async def test_rename_changes_every_file_on_disk(desk: Tried) -> None:
    real = desk.real
    old, new = real.renamed
    if "rename" in real.lacks:
        await refused(desk, "rename", METHODS["rename"], **asked(real.use), new_name=new)
        return
    before, wrong = desk.files(), await desk.found()
    pattern = re.compile(rf"(?<![\w$]){re.escape(old)}(?!\w)")
    after = dict(before)
    changes = []
    for path in real.renamed_in:
        text, count = pattern.subn(lambda _: new, before[path].decode())
        after[path] = text.encode()
        changes.append({"path": f"./{path}", "edits": count})
    data = await desk.lsp("rename", **asked(real.use), new_name=new)
    data.pop("mentions", None)  # comments and strings that hold the word are counted, not changed
    assert data == {
        "changes": changes,
        "total_edits": sum(one["edits"] for one in changes),
        "files_changed": len(changes),
    }
    assert desk.files() == after
    assert [one[:2] for one in await desk.found()] == [one[:2] for one in wrong]  # names differ in length
    path, line, _ = parts(real.use)
    await desk.lsp("rename", path=path, line=line, symbol=new, new_name=old)
    assert desk.files() == before
    assert await desk.found() == wrong


async def test_rename_file_corrects_what_refers_to_it(desk: Tried) -> None:
    real = desk.real
    old, new = real.moved
    before, wrong = desk.files(), await desk.found()
    after = {}
    for path, content in before.items():
        text = content.decode()
        for was, becomes in real.corrected.items():
            text = text.replace(was, becomes)
        after[new if path == old else path] = text.encode()
    data = await desk.lsp("rename_file", path=old, new_name=new)
    assert {"path": f"./{old}", "operation": "rename", "new_path": f"./{new}"} in data["changes"]
    assert desk.files() == after
    if real.corrected:
        changed = {path for path in after.keys() & before.keys() if after[path] != before[path]}
        assert {one["path"] for one in data["changes"] if one.get("edits")} == {f"./{one}" for one in changed}
        assert changed and "note" not in data
        assert await desk.found() == wrong
    else:
        assert data["total_edits"] == 0 and "corrects no imports" in data["note"]
        moved = sorted((new if one[0] == old else one[0], *one[1:]) for one in wrong)
        assert await desk.found() == moved
    await desk.lsp("rename_file", path=new, new_name=old)
    assert desk.files() == before
    if real.server != "rust-analyzer":
        # cargo goes by modification times, and a file that is moved back has its old one.
        assert await desk.found() == wrong


async def test_request(desk: Tried) -> None:
    real = desk.real
    if real.highlights:
        path = parts(real.highlights[-1])[0]
        encoding, size = UNITS[real.encoding]

        def units(place: str) -> dict[str, int]:
            text = desk.line(path, parts(place)[1])[: desk.column(place)]
            return {"line": parts(place)[1] - 1, "character": len(text.encode(encoding)) // size}

        payload = orjson.dumps({"position": units(real.highlights[-1])}).decode()
        query = "textDocument/documentHighlight"
        data = await desk.lsp("request", path=path, query=query, payload=payload)
        found = sorted((one["range"]["start"] for one in data["result"]), key=lambda one: one["line"])
        assert found == [units(place) for place in real.highlights]
        assert (data["language"], data["position_encoding"]) == (real.language, real.encoding)
    if real.folds:
        path = parts(real.use)[0]
        data = await desk.lsp("request", path=path, query="textDocument/foldingRange", payload="{}")
        assert {(one["startLine"], one["endLine"]) for one in data["result"]} >= set(real.folds)
    assert real.highlights or real.folds
    error = await desk.refused(
        "request", path=parts(real.use)[0], query="workspace/executeCommand", payload="{}"
    )
    assert error.code == "invalid_params"


async def test_capabilities(desk: Tried) -> None:
    real = desk.real
    data = await desk.lsp("capabilities", path=parts(real.use)[0])
    assert data["offers"] == {action: real.offers(action) for action in ACTIONS}
    assert (data["language"], data["position_encoding"]) == (real.language, real.encoding)
    assert data["server"] and "{" not in data["server"]
    assert isinstance(data["capabilities"], dict) and data["capabilities"]
    running = await desk.lsp("capabilities")
    assert running["capabilities"][real.language] == {"server": data["server"], "offers": data["offers"]}


async def _once_ready(desk: Tried, path: str) -> dict[str, Any]:
    """Return the status of the server of a file, once it has read what the test before has changed."""
    async with asyncio.timeout(90):
        while True:
            [told] = (await desk.lsp("status", path=path))["servers"]
            if told["state"] == "ready":
                return told
            await asyncio.sleep(0.02)


async def test_status_and_reload(desk: Tried) -> None:
    real = desk.real
    path = parts(real.use)[0]
    await desk.lsp("diagnostics", path=path)
    running = await _once_ready(desk, path)
    assert (running["language"], running["state"], running["source"]) == (real.language, "ready", "project")
    assert real.server == "typescript-7" or running["command"][-1] == server_command(real.server)[-1]
    assert running["memory_mb"] > 0 and running["open_documents"] >= 1 and "restarts" not in running
    assert Path(f"/proc/{running['pid']}").exists()
    assert (await desk.lsp("reload", path=path)) == {"reloaded": [real.language], "count": 1}
    assert not Path(f"/proc/{running['pid']}").exists()
    assert (await desk.lsp("status", path=path))["servers"][0]["state"] == "stopped"
    assert (await desk.lsp("symbols", path=real.outline[0]))["count"] == len(real.outline[1])
    [anew] = (await desk.lsp("status", path=path))["servers"]
    assert anew["pid"] != running["pid"]
    assert desk.events("code.lsp.server_crashed") == []
