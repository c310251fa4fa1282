"""Search 100,000 names and read pages of their tree as clients do, beside ripgrep with fzf, or git with grep.
Search what 5,000 source files declare, beside ast-grep.

The first request of each kind is cold: it lists the files, asks git, and makes the index. The goal counts for
later ones. `fzf --filter` is measured where it is installed, with the same queries.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path

from app.bridges.processes.process import ChildProcesses
from app.config import child_environment
from app.harness.files.listing import sort_key
from app.harness.files.roots import WorkingRoots
from app.harness.files.service import FileAddress, ProjectFileViews
from app.harness.files.statuses import GitStatuses
from app.harness.files.symbols import ProjectSymbols
from app.programs import packaged
from app.tools.ast_grep.engine import AstGrep
from app.tools.processes.call_processes import CallProcesses
from app.tools.search.engine import Ripgrep
from app.tools.search.kept_lists import KeptLists
from app.tools.search.name_index import NameQuery
from app.tools.search.symbol_index import SymbolQuery
from app.tools.search.symbol_indexes import SymbolIndexes, SymbolsFound
from app.tools.search.symbol_reader import SymbolReader, has_symbols
from app.workspace.folder_rules import ProjectRules
from app.workspace.tree_watch import TreeWatches
from bench.figures import report, spread
from bench.source_tree import source_tree

FILES = 100_000
TURNS = 9
QUERIES = (
    "a",
    "re",
    "init",
    "utils",
    "__init__.py",
    "tstutl",
    "click/core",
    "test client",
    "pydmain",
    "zzqqx",
)
"""The last but one is scattered over whole paths, and the last fits nothing."""
SEARCH_MS, PAGE_MS = 30.0, 50.0
SOURCES = 5_000
SYMBOLS = ("get", "Session", "ClientSession", "fmt_val", "tstcase", "Session.request", "zzqqx")
SYMBOL_MS, CHANGED_MS = 50.0, 200.0


class _OneRoot(WorkingRoots):
    """The one folder that is measured."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def root_of(self, project_id: str, session_id: str | None = None) -> Path:
        return self._root


@asynccontextmanager
async def _views(root: Path) -> AsyncIterator[tuple[ProjectFileViews, ProjectSymbols]]:
    children = ChildProcesses()
    processes = CallProcesses.uncaged(children)
    watches = TreeWatches(ProjectRules)
    kept = KeptLists(watches, processes, Ripgrep.installed({}))
    indexes = SymbolIndexes(kept, SymbolReader(processes, AstGrep(children)))
    statuses = GitStatuses(processes, child_environment(), watches)
    views = ProjectFileViews(_OneRoot(root), statuses, kept, ())
    try:
        yield views, ProjectSymbols(_OneRoot(root), indexes, ())
    finally:
        await views.aclose()
        await indexes.aclose()
        await kept.aclose()
        await watches.aclose()
        await children.aclose()


async def _took(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000


def _beside(command: str, root: Path) -> float:
    began = time.perf_counter()
    subprocess.run(command, shell=True, cwd=root, stdout=subprocess.PIPE, check=False)
    return (time.perf_counter() - began) * 1000


async def _search(views: ProjectFileViews, root: Path) -> None:
    address = FileAddress("prj_bench")
    cold = await _took(views.search(address, NameQuery.parse("utils"), 25))
    report(f"search, cold, {FILES:,} names", cold, "ms")
    rg, fzf = packaged("rg"), shutil.which("fzf")
    everything: list[float] = []
    for text in QUERIES:
        query = NameQuery.parse(text)
        await views.search(address, query, 25)
        times, worked, beside = [], [], []
        command = (
            f"{rg} --files --hidden | {fzf} --filter '{text}'" if fzf else f"git ls-files | grep -i '{text}'"
        )
        for _ in range(TURNS):
            began = time.process_time()
            times.append(await _took(views.search(address, query, 25)))
            worked.append((time.process_time() - began) * 1000)
            beside.append(_beside(command, root))
        everything += times
        print(f"search {text!r}: ours {spread(times, 'ms')}; of the processor {spread(worked, 'ms')}")
        print(f"  {'rg | fzf' if fzf else 'git ls-files | grep'} {spread(beside, 'ms')}")
        report(f"search {text!r}, warm", statistics.median(times), "ms", at_most=SEARCH_MS)
    report("search, warm, all queries", statistics.median(everything), "ms", at_most=SEARCH_MS)


async def _tree(views: ProjectFileViews, root: Path) -> None:
    address = FileAddress("prj_bench")

    def page(depth: int, after: str | None = None) -> Awaitable[object]:
        key = None if after is None else sort_key(after, is_folder=True)
        return views.tree(address, depth=depth, everything=False, after=key, limit=100)

    for depth in (1, 32):
        report(f"tree, first page, depth {depth}, cold", await _took(page(depth)), "ms")
        await asyncio.sleep(1)  # the watch of the tree is complete
        await page(depth)
        times = [await _took(page(depth, "package_1")) for _ in range(TURNS)]
        beside = [_beside("git status --porcelain", root) for _ in range(3)]
        print(f"tree, depth {depth}: ours {spread(times, 'ms')}; git status {spread(beside, 'ms')}")
        report(f"tree, page of 100, depth {depth}, warm", statistics.median(times), "ms", at_most=PAGE_MS)


async def _symbols(symbols: ProjectSymbols, root: Path) -> None:
    async def search(text: str) -> SymbolsFound:
        return await symbols.search("prj_bench", None, SymbolQuery.parse(text), 25)

    first = 0.0
    began = time.perf_counter()
    beats = asyncio.create_task(_longest_beat())
    while (found := await search("session")).state == "pending":
        first = first or (time.perf_counter() - began) * 1000
    report(f"symbols, first answer, {SOURCES:,} source files", first, "ms", at_most=2_000.0)
    report("symbols, all files read", (time.perf_counter() - began) * 1000, "ms")
    beats.cancel()
    report("symbols, longest wait of the event loop meanwhile", await beats, "ms")
    print(f"symbols: {found.searched:,} files; ast-grep {_beside(_AST_GREP, root):,.0f} ms for one name")
    everything: list[float] = []
    for text in SYMBOLS:
        times = [await _took(search(text)) for _ in range(TURNS)]
        everything += times
        print(f"symbols {text!r}: {spread(times, 'ms')}, {len((await search(text)).hits)} found")
    report("symbols, warm, all queries", statistics.median(everything), "ms", at_most=SYMBOL_MS)
    changed = next(root.glob("package_0/**/*.py"))
    times = []
    for number in range(TURNS):
        changed.write_text(f"def brand_new_{number}(): ...\n")
        times.append(await _took(search(f"brand_new_{number}")))
        assert (await search(f"brand_new_{number}")).hits
    report("symbols, after a file has changed", statistics.median(times), "ms", at_most=CHANGED_MS)


_AST_GREP = f"{packaged('ast-grep')} run --pattern='class Session: $$$' --lang=python --json=stream ."


async def _longest_beat() -> float:
    """Return, when cancelled, how long the event loop has let somebody wait at most, in milliseconds."""
    longest = 0.0
    try:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, (time.perf_counter() - began) * 1000 - 1)
    except asyncio.CancelledError:
        return longest


async def _measure(root: Path) -> None:
    async with _views(root) as (views, _):
        await _search(views, root)
        await _tree(views, root)


async def _measure_symbols(root: Path) -> None:
    async with _views(root) as (_, symbols):
        await _symbols(symbols, root)


def main() -> None:
    with source_tree(SOURCES, has_symbols) as root:
        asyncio.run(_measure_symbols(root))
    with source_tree(FILES) as root:
        shutil.rmtree(root / ".git")
        for arguments in (
            ["init", "-q"],
            ["add", "."],
            ["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "b"],
        ):
            subprocess.run(["git", *arguments], cwd=root, check=True)
        asyncio.run(_measure(root))
