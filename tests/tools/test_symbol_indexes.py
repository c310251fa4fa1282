"""When files are read for a search of declarations, and what it answers meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from app.bridges.processes.process import ChildProcesses
from app.errors import ToolError
from app.tools.ast_grep.engine import AstGrep
from app.tools.ast_grep.outline import Declared
from app.tools.processes.call_processes import CallProcesses
from app.tools.search import symbol_index, symbol_indexes
from app.tools.search.engine import Ripgrep
from app.tools.search.kept_lists import KeptLists
from app.tools.search.symbol_index import FileSymbols, SymbolIndex, SymbolQuery
from app.tools.search.symbol_indexes import SymbolIndexes, SymbolsFound
from app.tools.search.symbol_reader import SymbolReader
from app.workspace.folder_rules import ProjectRules
from app.workspace.tree_watch import TreeWatches

pytestmark = pytest.mark.requirement("http.files")
WAIT = 60.0


class HeldReader(SymbolReader):
    """Reads when it may; `batches` are what it was asked for."""

    may_read: asyncio.Event
    asked: asyncio.Event
    batches: list[Sequence[str]]
    problem: ToolError | None = None

    async def read(self, root: Path, paths: Sequence[str]) -> dict[str, FileSymbols]:
        self.batches.append(paths)
        self.asked.set()
        await self.may_read.wait()
        if self.problem is not None:
            raise self.problem
        return await super().read(root, paths)


@pytest.fixture
async def kept_and_reader() -> AsyncIterator[tuple[KeptLists, HeldReader]]:
    children = ChildProcesses()
    processes = CallProcesses.uncaged(children)
    watches = TreeWatches(ProjectRules)
    kept = KeptLists(watches, processes, Ripgrep.installed({}))
    reader = HeldReader(processes, AstGrep(children))
    reader.may_read, reader.asked, reader.batches = asyncio.Event(), asyncio.Event(), []
    yield kept, reader
    await kept.aclose()
    await watches.aclose()
    await children.aclose()


@pytest.fixture
async def indexes(kept_and_reader: tuple[KeptLists, HeldReader]) -> AsyncIterator[SymbolIndexes]:
    made = SymbolIndexes(*kept_and_reader, wait_seconds=WAIT)
    yield made
    await made.aclose()


@pytest.fixture
def reader(kept_and_reader: tuple[KeptLists, HeldReader]) -> HeldReader:
    return kept_and_reader[1]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(4):
        (tmp_path / f"f{number}.py").write_text(f"def found_{number}(): ...\n")
    return tmp_path.resolve()


async def search(indexes: SymbolIndexes, root: Path, text: str = "found") -> SymbolsFound:
    return await indexes.find(root, SymbolQuery.parse(text), 25, lambda path: True)


async def test_a_search_waits_for_a_while_and_says_what_is_missing(
    kept_and_reader: tuple[KeptLists, HeldReader], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbol_indexes, "BATCH_FILES", 1)
    kept, reader = kept_and_reader
    impatient = SymbolIndexes(kept, reader, wait_seconds=0.0)
    try:
        found = await search(impatient, root)
        assert (found.hits, found.state, found.is_whole) == ([], "pending", False)
        await asyncio.wait_for(reader.asked.wait(), WAIT)
        reader.may_read.set()
        async with asyncio.timeout(WAIT):
            while (found := await search(impatient, root)).searched < 4:
                assert (found.state, found.is_whole) == ("pending", False)
                await asyncio.sleep(0.01)
        assert len(found.hits) == 4
        # One reads for all who ask.
        assert sorted(path for batch in reader.batches[:4] for path in batch) == [
            f"f{number}.py" for number in range(4)
        ]
    finally:
        await impatient.aclose()


async def test_it_says_why_files_cannot_be_read_and_reads_them_later(
    indexes: SymbolIndexes, reader: HeldReader, root: Path
) -> None:
    reader.problem = ToolError("engine_unavailable", "ast-grep could not be started")
    reader.may_read.set()
    found = await search(indexes, root)
    assert (found.state, found.reason, found.is_whole) == (
        "unavailable",
        "ast-grep could not be started",
        False,
    )
    reader.problem = None
    found = await search(indexes, root)
    assert (found.state, found.reason, len(found.hits), found.is_whole) == ("ok", None, 4, True)


async def test_nobody_reads_on_for_those_who_are_gone(
    indexes: SymbolIndexes, reader: HeldReader, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = asyncio.create_task(search(indexes, root))
    await asyncio.wait_for(reader.asked.wait(), WAIT)
    indexes.forget(root)
    assert (await asking).hits == []
    monkeypatch.setattr(symbol_indexes, "UNASKED_SECONDS", -1.0)
    reader.may_read.set()
    assert (await search(indexes, root)).searched == 0
    assert len(reader.batches) == 1
    monkeypatch.undo()
    assert len((await search(indexes, root)).hits) == 4


async def test_what_is_kept_has_bounds(
    indexes: SymbolIndexes, reader: HeldReader, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.may_read.set()
    monkeypatch.setattr(symbol_indexes, "MAX_FILES", 3)
    found = await search(indexes, root)
    assert (len(found.hits), found.searched, found.state, found.is_whole) == (3, 3, "ok", False)
    monkeypatch.undo()
    indexes.forget(root)
    monkeypatch.setattr(symbol_index, "MAX_DECLARED", 2)
    found = await search(indexes, root)
    assert (len(found.hits), found.searched, found.is_whole) == (2, 4, False)


def test_a_file_is_read_again_while_its_time_may_not_show_a_change() -> None:
    index = SymbolIndex()
    read = FileSymbols((Declared("f", "function", 1, 5, 1, None),))
    old, new = {"f.py": 1_000}, {"f.py": time.time_ns()}
    assert index.stale(old) == ["f.py"]
    index.put({"f.py": read}, old)
    assert (index.stale(old), index.is_settled) == ([], True)
    assert index.stale(new) == ["f.py"]
    index.put({"f.py": read}, new)
    assert (index.stale(new), index.is_settled, len(index)) == (["f.py"], False, 1)
    assert (index.stale({}), index.is_settled, len(index), index.files) == ([], True, 0, 0)
