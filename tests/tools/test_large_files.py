"""Large files: what was learned about one is used again, and never believed once it changed."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.tools.dispatch.registry import ToolRegistry
from app.tools.dispatch.service import ToolService
from app.tools.edit import text as edit_text
from app.tools.file import read
from app.tools.file.text_index import MAX_FILES, MIN_SIZE, KnownText, Marks, TextIndex
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.read_tracker import digest_of
from app.tools.project_files.text_format import UTF_8

pytestmark = pytest.mark.requirement("file.read.window")
MANY = 120_000


def ten_seconds_ahead() -> int:
    return time.time_ns() + 10_000_000_000


class CountingIndex(TextIndex):
    def __init__(self) -> None:
        super().__init__(ten_seconds_ahead)
        self.found = 0

    def get(self, status):
        known = super().get(status)
        self.found += known is not None
        return known


@pytest.fixture
def index():
    return CountingIndex()


@pytest.fixture
def reader(desk, index, children):
    """A desk whose `file.read` remembers large files, however fresh they are."""
    files = ProjectFiles(reads=desk.reads)
    tools = (read.build(files, CallProcesses.uncaged(children), {}, index), edit_text.build(files))
    return replace(desk, service=ToolService(ToolRegistry(tools)))


def lines(first: int, count: int, ending: str = "") -> str:
    return "\n".join(f"{n}: line {n} {'x' * (n % 40)}{ending}" for n in range(first, first + count))


def content(ending: str = "\n", last: str = "\n") -> bytes:
    return (ending.join(f"line {n} {'x' * (n % 40)}" for n in range(1, MANY + 1)) + last).encode()


@pytest.mark.parametrize(
    ("mark", "ending", "last"), [(b"", "\n", "\n"), (b"\xef\xbb\xbf", "\n", ""), (b"", "\r\n", "\r\n")]
)
async def test_every_window_of_a_known_file_is_the_one_of_a_first_reading(reader, index, mark, ending, last):
    reader.put("big.txt", mark + content(ending, last))
    await reader.ok("file.read", path="big.txt", limit=1)
    for offset in (1, 2, 7_000, 33_333, 60_001, MANY - 1, MANY):
        data = await reader.ok("file.read", path="big.txt", offset=offset, limit=3)
        count = min(3, MANY - offset + 1)
        assert data["content"] == lines(offset, count)
        assert (data["total_lines"], data["truncated"]) == (MANY, offset + count <= MANY)
        assert data.get("next_offset") == (offset + count if offset + count <= MANY else None)
        assert data.get("encoding") == ("utf-8-bom" if mark else None)
        assert data.get("line_ending") == ("crlf" if ending == "\r\n" else None)
    past = await reader.ok("file.read", path="big.txt", offset=MANY + 1)
    assert past["note"] == f"offset {MANY + 1} is past the end: there are {MANY} lines"
    assert index.found == 8


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([0, 1, 5, 80, 3_000, 400_000, 600_000]), min_size=3, max_size=12),
    offset=st.integers(1, 14),
    limit=st.integers(1, 4),
    ended=st.booleans(),
)
def test_lines_of_any_length_are_found_from_marks(tmp_path_factory, sizes, offset, limit, ended):
    """The second reading goes by the marks of the first, and has to say the same."""
    import threading

    from app.tools.file.text_scan import scan_text
    from app.workspace import Workspace

    root = tmp_path_factory.mktemp("marks")
    body = "\n".join(chr(97 + n) * size for n, size in enumerate(sizes)) + ("\n" if ended else "")
    (root / "a").write_text(body + "\n" * (MIN_SIZE + 1))
    index, stop = CountingIndex(), threading.Event()
    answers = []
    for _ in range(2):
        with Workspace(root).open("a") as opened:
            answers.append(scan_text(opened, index, stop, offset=offset, limit=limit))
    assert answers[0] == answers[1]
    assert index.found == 1


async def test_an_edit_after_a_quick_reading_knows_the_whole_file(reader, index):
    file = reader.put("big.txt", content())
    await reader.ok("file.read", path="big.txt", limit=1)
    other = reader.as_agent("primary.subagents.other")
    await other.ok("file.read", path="big.txt", offset=90_000, limit=1)
    assert index.found == 1
    await other.ok("edit.text", path="big.txt", old_string="line 90000 ", new_string="line of mine ")
    assert b"line of mine" in file.read_bytes()


async def test_a_file_that_changed_is_read_again(reader, index):
    file = reader.put("big.txt", content())
    await reader.ok("file.read", path="big.txt", limit=1)
    status = file.stat()
    with file.open("r+b") as opened:  # in place, the same size, and its time set back
        opened.write(b"LINE")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    data = await reader.ok("file.read", path="big.txt", limit=1)
    assert data["content"] == "1: LINE 1 x"
    with file.open("ab") as opened:
        opened.write(b"more\n")
    assert (await reader.ok("file.read", path="big.txt", limit=1))["total_lines"] == MANY + 1
    assert index.found == 0


async def test_what_changed_in_the_last_two_seconds_is_not_remembered(desk):
    """Within one tick of a file system's clock two contents can bear the same times."""
    file = desk.put("big.txt", b"a\n" * MIN_SIZE)
    status = file.stat()
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    assert not TextIndex(lambda: changed + 1_999_999_999).is_settled(status)
    assert TextIndex(lambda: changed + 2_000_000_000).is_settled(status)
    small = desk.put("small.txt", b"a\n").stat()
    assert not TextIndex(ten_seconds_ahead).is_settled(small)


def test_the_memory_of_files_is_bounded(tmp_path):
    index = TextIndex()
    statuses = []
    for number in range(MAX_FILES + 5):
        (tmp_path / str(number)).write_text("x")
        statuses.append((tmp_path / str(number)).stat())
        index.put(statuses[-1], statuses[-1], KnownText(digest_of(b"x"), UTF_8, 1, Marks()))
    assert [index.get(status) is None for status in statuses] == [True] * 5 + [False] * MAX_FILES


async def test_a_large_binary_file_and_an_old_encoding_are_remembered_as_such(reader, index):
    reader.put("big.bin", b"\x7fELF" + b"\0" * MIN_SIZE)
    reader.put("old.txt", "Строка с русским текстом, настройки и значения\n".encode("cp1251") * 40_000)
    for _ in range(2):
        binary = await reader.ok("file.read", path="big.bin")
        old = await reader.ok("file.read", path="old.txt", offset=39_999, limit=1)
        assert (binary["type"], binary["mime"]) == ("binary", "application/x-elf")
        assert old["encoding"] == "windows-1251"
        assert old["content"] == "39999: Строка с русским текстом, настройки и значения"
    assert index.found == 2
