"""Compare `code.lsp` with a client that only speaks the protocol, on the same server program.

Both have a server of their own on one tree and take turns, so that a change of the machine's speed affects
both alike. A call of the tool includes everything: validation, permissions, audit, the comparison of open
files with the disk, and the answer in the tool's own form with previews.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from app.bridges.lsp.manager import Declarations, LanguageServers
from app.bridges.processes.process import ChildProcesses
from app.errors import ToolError
from app.process_memory import freeze_loaded, keep_freed_pages
from app.tools.ast_grep.listing import Folder, SourceFiles
from app.tools.contract.call import ToolCallContext
from app.tools.dispatch.service import ToolService
from app.tools.project_files.read_tracker import ReadTracker
from app.tools.project_files.text_format import text_of
from app.workspace.folder_rules import ProjectRules
from app.workspace.ignore_rules import rules_above
from app.workspace.tree_watch import TreeWatches
from bench.figures import report
from bench.lsp_client import RawClient
from bench.lsp_projects import PROJECTS, Project
from tests.driver.language_servers import server_environment
from tests.driver.tool_registry import tool_registry
from tests.tools.conftest import Ports

TURNS = 40
HEAVY_TURNS = 12
EDIT_TURNS = 12
COLD_TURNS = 5
AGENTS = 10
HEAVY_MS = 15.0
"""What takes the server so long is heavy, whatever was asked."""
_PULLED = "textDocument/diagnostic"


class Bench:
    """The tool over one tree, and what a raw client for the same server needs."""

    def __init__(
        self,
        project: Project,
        root: Path,
        service: ToolService,
        languages: LanguageServers,
        sources: SourceFiles,
    ) -> None:
        self.project = project
        self.root = root
        self.languages = languages
        self.sources = sources
        self.environment = server_environment(root.parent / "home")
        self._service = service
        self._calls = itertools.count()

    async def search(self, word: str) -> None:
        """Search for a word as a call for references does beside its request."""
        table = self.languages.project("prj_bench", self.root).table
        endings = sorted(one.removeprefix(".") for one in table.extensions_of(self.project.language))
        descriptor = os.open(self.root, os.O_PATH | os.O_DIRECTORY)
        try:
            folder = Folder(descriptor, self.root, self.root)
            until = asyncio.get_running_loop().time() + 10
            await self.sources.below(folder, endings, literal=word, whole_word=True, deadline=until)
        finally:
            os.close(descriptor)

    async def call(self, action: str, agent: int = 0, **params: Any) -> Any:
        context = ToolCallContext(
            session_id="ses_bench",
            run_id=None,
            agent_path=f"primary.subagents.a{agent}",
            project_id="prj_bench",
            project_root=self.root,
            cage=None,
            request_id="req_bench",
            call_id=f"call_{next(self._calls)}",
            scratch_dir=self.root.parent / "scratch",
            ports=Ports(),
        )
        envelope = await self._service.call(
            "code.lsp", {"action": action, **params}, context, allowed=self._service.registry.names()
        )
        assert not envelope.is_error, envelope.model_text()
        return envelope.data

    def raw(self) -> RawClient:
        languages = self.languages.project("prj_bench", self.root)
        server = languages.table.resolve(self.project.language)
        client = RawClient(
            server.command,
            self.root,
            {**self.environment, **server.env},
            initialization_options=server.behaviour.options.initialization,
            settings=server.settings,
        )
        for path in dict.fromkeys((self.project.use[0], self.project.heavy[0], self.project.edited)):
            client.open(path, self.project.language_id)
        return client


def main() -> None:
    keep_freed_pages()  # as the daemon does when it starts
    freeze_loaded()
    for project in PROJECTS:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "project"
            root.mkdir()
            project.make(root)
            try:
                asyncio.run(_measure(project, root))
            except ToolError as absent:
                print(f"{project.language}: {absent.message}", flush=True)


async def _measure(project: Project, root: Path) -> None:
    children, ruled = ChildProcesses(), TreeWatches(ProjectRules)
    watches = TreeWatches(instead=ruled)
    languages = LanguageServers(
        children,
        watches,
        environment=server_environment(root.parent / "home"),
        declared=lambda _: Declarations(),
        decode=text_of,
        record=lambda *_: None,
    )
    service = ToolService(tool_registry(reads=ReadTracker(), children=children, languages=languages))
    sources = SourceFiles(children, rules_above)
    bench = Bench(project, root, service, languages, sources)
    try:
        await _cold(bench)
        client = await asyncio.to_thread(bench.raw)
        try:
            await _warm(bench, client)
            await _edits(bench, client)
            await _many(bench, client)
        finally:
            client.close()
    finally:
        await languages.aclose()
        await watches.aclose()
        await ruled.aclose()
        await children.aclose()


async def _cold(bench: Bench) -> None:
    """The first definition on a server that does not run yet."""
    path, line, column = bench.project.use
    ours, raws = [], []
    await asyncio.to_thread(_cold_raw, bench)  # what a toolchain keeps between its runs is there then
    for _ in range(COLD_TURNS):
        await bench.call("reload")
        ours.append(await _timed(lambda: bench.call("definition", path=path, line=line, character=column)))
        await bench.call("reload")
        raws.append(await _timed(lambda: asyncio.to_thread(_cold_raw, bench)))
    _compare(bench, "first definition, cold", ours, raws, ratio=1.1)


def _cold_raw(bench: Bench) -> None:
    client = bench.raw()
    try:
        client.ask("textDocument/definition", client.at(*bench.project.use))
    finally:
        client.close()


async def _warm(bench: Bench, client: RawClient) -> None:
    path, line, column = bench.project.use
    place = {"path": path, "line": line, "character": column}
    params = client.at(path, line, column)
    await _settled(bench, client)
    await _pair(bench, "definition", place, client, "textDocument/definition", params)
    await _pair(bench, "hover", place, client, "textDocument/hover", params)
    outline = {"textDocument": params["textDocument"]}
    await _pair(bench, "symbols", {"path": path}, client, "textDocument/documentSymbol", outline)
    await _references(bench, client, *bench.project.few)
    path, _, column = bench.project.heavy
    await _references(bench, client, path, bench.project.heavy_line(bench.root), column, heavy=True)


async def _references(
    bench: Bench, client: RawClient, path: str, line: int, column: int, *, heavy: bool = False
) -> None:
    """The word is searched for beside the request: the call takes as long as the slower of the two.

    The floor is what both take when they run at once and nobody looks at what they find."""
    params = {**client.at(path, line, column), "context": {"includeDeclaration": True}}
    place: dict[str, Any] = {"path": path, "line": line, "character": column, "include_declaration": True}
    word = re.match(r"\w+", (bench.root / path).read_text().splitlines()[line - 1][column:])
    assert word is not None
    ours, raws, searches, floors = [], [], [], []

    async def request() -> None:
        await asyncio.to_thread(_asked, client, "textDocument/references", params)

    async def both() -> None:
        await asyncio.gather(request(), bench.search(word[0]))

    for _ in range(HEAVY_TURNS if heavy else TURNS):
        ours.append(await _timed(lambda: bench.call("references", **place)))
        raws.append(await _timed(request))
        searches.append(await _timed(lambda: bench.search(word[0])))
        floors.append(await _timed(both))
    tool, raw, search, floor = (statistics.median(times) for times in (ours, raws, searches, floors))
    name = "references, many places" if heavy else "references"
    parts = f"raw {raw:.1f}, word search {search:.1f}, both at once {floor:.1f}"
    label = f"{bench.project.language}: {name} ({tool:.1f} ms, {parts})"
    report(f"{label} added to the slower", tool - max(raw, search), "ms", at_most=3.0)


def _asked(client: RawClient, method: str, params: Any) -> None:
    client.ask(method, params)  # the answer is given up here: to free thousands of objects is its cost, too


async def _settled(bench: Bench, client: RawClient) -> None:
    """Wait until both servers know the whole project."""
    path, _, column = bench.project.heavy
    line = bench.project.heavy_line(bench.root)
    params = {**client.at(path, line, column), "context": {"includeDeclaration": True}}
    counts: list[int] = []
    while len(counts) < 3 or len(set(counts[-3:])) > 1:
        counts.append(len(await asyncio.to_thread(client.ask, "textDocument/references", params) or ()))
        await bench.call("references", path=path, line=line, character=column)
    print(f"{bench.project.language}: {counts[-1]} references to the heavy name", flush=True)


async def _pair(
    bench: Bench,
    action: str,
    place: dict[str, Any],
    client: RawClient,
    method: str,
    params: Any,
) -> None:
    ours, raws = [], []
    for _ in range(TURNS):
        ours.append(await _timed(lambda: bench.call(action, **place)))
        raws.append(await _timed(lambda: asyncio.to_thread(_asked, client, method, params)))
    if statistics.median(raws) >= HEAVY_MS:
        _compare(bench, action, ours, raws, ratio=1.15)
    else:
        _compare(bench, action, ours, raws, added=2.0)


async def _edits(bench: Bench, client: RawClient) -> None:
    """From the write on disk to the diagnostics for it."""
    ours, raws = [], []
    path = bench.project.edited
    await bench.call("diagnostics", path=path)
    for turn in range(EDIT_TURNS):
        text = bench.project.contents[(turn + 1) % 2] + "\n" * (turn // 2)

        async def tool(text: str = text) -> None:
            (bench.root / path).write_text(text)
            found = await bench.call("diagnostics", path=path)
            assert found["fresh"], found

        ours.append(await _timed(tool))
        raws.append(await _timed(lambda text=text: asyncio.to_thread(_edit_raw, client, path, text)))  # type: ignore[misc]
    _compare(bench, "diagnostics after an edit", ours, raws, ratio=1.1)


def _edit_raw(client: RawClient, path: str, text: str) -> None:
    (client.root / path).write_text(text)
    version = client.change(path, text)
    if client.capabilities.get("diagnosticProvider") or _PULLED in client.registered:
        client.ask(_PULLED, {"textDocument": {"uri": client.uri(path)}})
    elif "executeCommandProvider" in client.capabilities and path.endswith(".ts"):
        kinds = ("syntacticDiagnosticsSync", "semanticDiagnosticsSync", "suggestionDiagnosticsSync")
        file = str(client.root / path)
        client.ask_together(
            [
                (
                    "workspace/executeCommand",
                    {"command": "typescript.tsserverRequest", "arguments": [kind, {"file": file}]},
                )
                for kind in kinds
            ]
        )
    else:
        client.wait_for_publish(path, version)


async def _many(bench: Bench, client: RawClient) -> None:
    """Ten agents at once, each with places of its own, against the same requests sent at once."""
    path, line, column = bench.project.use

    async def agents() -> None:
        calls = [
            bench.call("definition", agent, path=path, line=line, character=column + agent % 3)
            for agent in range(AGENTS)
        ]
        await asyncio.gather(*calls)

    requests = [
        ("textDocument/definition", client.at(path, line, column + number % 3)) for number in range(AGENTS)
    ]
    ours, raws = [], []
    for _ in range(TURNS):
        ours.append(await _timed(agents))
        raws.append(await _timed(lambda: asyncio.to_thread(client.ask_together, requests)))
    added = (statistics.median(ours) - statistics.median(raws)) / AGENTS
    report(
        f"{bench.project.language}: definition, ten agents at once, added for each", added, "ms", at_most=2.0
    )


async def _timed(work: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


def _compare(
    bench: Bench,
    name: str,
    ours: list[float],
    raws: list[float],
    *,
    ratio: float | None = None,
    added: float | None = None,
) -> None:
    tool, raw = statistics.median(ours), statistics.median(raws)
    label = f"{bench.project.language}: {name} ({tool:.1f} ms, raw {raw:.1f})"
    if ratio is not None:
        report(label, tool / raw, "times the raw client", at_most=ratio)
    else:
        report(label + " added", tool - raw, "ms", at_most=added)
