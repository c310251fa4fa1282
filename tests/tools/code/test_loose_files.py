"""Projects without the configuration by which their language's server looks for files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from app.bridges.lsp.language_entry import Behaviour
from app.bridges.lsp.manager import Declarations, Declared, LanguageServer
from tests.driver.language_servers import server_command
from tests.tools.code.conftest import CodeDesk, code_desk, of_agent

SERVERS = ("typescript-language-server", "typescript-7")
FILES = {
    "package.json": "{}",
    ".gitignore": "dist/\n",
    "prices.js": "export function total(list) { return list.length }\n",
    "src/orders.js": "import { total } from '../prices.js'\nexport const bill = () => total([1])\n",
    "src/all.js": "export * from '../prices.js'\n",
    "src/mail.ts": "import { total } from './all'\nconsole.log(total([]))\n",
    "dist/old.js": "import { total } from '../prices.js'\ntotal([])\n",
}
TOTAL = {"path": "prices.js", "line": 1, "symbol": "total"}


@asynccontextmanager
async def loose_desk(base: Path, server: str) -> AsyncIterator[CodeDesk]:
    declared = Declared(language="typescript", command=server_command(server))
    async with code_desk(base, declarations=Declarations(local=(declared,))) as desk:
        desk.put_all(FILES)
        yield desk


def open_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no server have more than two files opened for it."""

    def behaviour(server: LanguageServer) -> Behaviour:
        resolved = server.lifecycle.resolved
        known = resolved.behaviour if resolved is not None else Behaviour()
        return replace(known, config=replace(known.config, most_opened=2))

    monkeypatch.setattr(LanguageServer, "behaviour", property(behaviour))


@pytest.mark.requirement("language_servers.tool.references", "language_servers.ready.references")
@pytest.mark.parametrize("server", SERVERS)
async def test_references_are_found_in_files_that_nobody_has_opened(tmp_path: Path, server: str) -> None:
    async with loose_desk(tmp_path, server) as desk:
        found = (await desk.lsp("references", **TOTAL))["references"]
        assert {(one["path"], one["line"]) for one in found} >= {("./src/orders.js", 2), ("./src/mail.ts", 2)}
        assert not [one for one in found if one["path"].startswith("./dist/")]
        found = (await desk.lsp("symbols", path="prices.js", scope="workspace", query="bill"))["symbols"]
        assert [one["path"] for one in found] == ["./src/orders.js"]
        # What is new is looked for, too, and for whom the cage shows little.
        desk.put("src/new.js", FILES["src/orders.js"])
        worker = of_agent(desk, ("ro", "./prices.js"), outside="mark")
        seen = (await worker.lsp("references", **TOTAL))["references"]
        assert {"path": "./src/new.js", "line": 2, "outside_cage": True} in seen


@pytest.mark.requirement("language_servers.tool.rename", "language_servers.tool.rename_file")
@pytest.mark.parametrize("server", SERVERS)
async def test_a_rename_is_whole_where_nothing_lists_the_files(tmp_path: Path, server: str) -> None:
    async with loose_desk(tmp_path, server) as desk:
        data = await desk.lsp("rename", **TOTAL, new_name="sum")
        assert {one["path"] for one in data["changes"]} == {"./prices.js", "./src/orders.js", "./src/mail.ts"}
        for path in ("prices.js", "src/orders.js", "src/mail.ts"):
            assert desk.text(path) == FILES[path].replace("total", "sum")
        await desk.lsp("rename_file", path="prices.js", new_name="lib/prices.js")
        assert "../lib/prices.js" in desk.text("src/orders.js")


@pytest.mark.requirement("language_servers.tool.rename", "language_servers.tool.errors")
async def test_what_would_not_be_whole_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_few(monkeypatch)
    async with loose_desk(tmp_path, SERVERS[0]) as desk:
        before = desk.snapshot()
        refused = await desk.refused("rename", **TOTAL, new_name="sum")
        assert refused.code == "lsp_request_failed" and "jsconfig.json" in refused.error_text
        assert desk.snapshot() == before
        # Of many files those with the name are enough.
        desk.put("src/paid.js", "import { bill } from './orders.js'\nbill()\n")
        found = (await desk.lsp("references", path="src/orders.js", line=2, symbol="bill"))["references"]
        assert ("./src/paid.js", 2) in {(one["path"], one["line"]) for one in found}
        desk.put("jsconfig.json", '{"exclude": ["dist"]}')
        assert (await desk.lsp("rename", **TOTAL, new_name="sum"))["files_changed"] == 3


PRICES = {
    "price.h": "int price();\n",
    "price.cpp": '#include "price.h"\nint price() { return 1; }\n',
    "main.cpp": '#include "price.h"\nint main() { return price(); }\n',
    "other.cpp": "int other() { return 2; }\n",
}


@asynccontextmanager
async def clangd_desk(base: Path, more: Mapping[str, str]) -> AsyncIterator[CodeDesk]:
    declared = Declared(language="cpp", command=server_command("clangd"))
    async with code_desk(base, declarations=Declarations(local=(declared,))) as desk:
        desk.put_all({**PRICES, **more})
        yield desk


@pytest.mark.requirement("language_servers.tool.rename", "language_servers.tool.references")
@pytest.mark.parametrize("path", ["price.h", "price.cpp", "main.cpp"])
async def test_sources_that_no_database_lists_are_known_too(tmp_path: Path, path: str) -> None:
    async with clangd_desk(tmp_path, {}) as desk:
        place = {"path": path, "line": 1 if path == "price.h" else 2, "symbol": "price"}
        found = (await desk.lsp("references", **place))["references"]
        assert ("./main.cpp", 2) in {(one["path"], one["line"]) for one in found}
        assert (await desk.lsp("rename", **place, new_name="cost"))["files_changed"] == 3
        for name, text in PRICES.items():
            assert desk.text(name) == text.replace("price()", "cost()")


@pytest.mark.requirement("language_servers.tool.rename")
@pytest.mark.parametrize("path", ["price.h", "price.cpp", "main.cpp"])
@pytest.mark.parametrize(
    "configuration",
    [{"compile_flags.txt": "-std=c++17\n"}, {".clangd": "CompileFlags:\n  Add: [-std=c++17]\n"}],
    ids=["flags", "clangd"],
)
async def test_a_rename_is_whole_where_only_flags_are_given(
    tmp_path: Path, path: str, configuration: dict[str, str]
) -> None:
    async with clangd_desk(tmp_path, configuration) as desk:
        place = {"path": path, "line": 1 if path == "price.h" else 2, "symbol": "price"}
        assert (await desk.lsp("rename", **place, new_name="cost"))["files_changed"] == 3
        for name, text in PRICES.items():
            assert desk.text(name) == text.replace("price()", "cost()")


@pytest.mark.requirement(
    "language_servers.tool.rename", "language_servers.tool.references", "language_servers.tool.errors"
)
async def test_where_only_flags_are_given_a_rename_of_too_much_is_refused_and_references_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_few(monkeypatch)
    place = {"path": "main.cpp", "line": 2, "symbol": "price"}
    async with clangd_desk(tmp_path, {"compile_flags.txt": "-std=c++17\n"}) as desk:
        before = desk.snapshot()
        refused = await desk.refused("rename", **place, new_name="cost")
        assert refused.code == "lsp_request_failed" and "compile_commands.json" in refused.error_text
        assert "compile_flags.txt" not in refused.error_text and desk.snapshot() == before
        assert (await desk.lsp("references", **place))["count"] >= 1
        commands = [
            {"directory": str(desk.root), "file": name, "arguments": ["c++", "-c", name]}
            for name in PRICES
            if name.endswith(".cpp")
        ]
        desk.put("made/compile_commands.json", orjson.dumps(commands).decode())
        desk.put(".clangd", "CompileFlags:\n  CompilationDatabase: made\n")
        await desk.lsp("reload")
        assert (await desk.lsp("rename", **place, new_name="cost"))["files_changed"] == 3
