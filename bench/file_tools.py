"""Compare reading far into a large file, and editing a file of five megabytes, with native peers.

Each turn measures the tool and its peer one after the other on the same file, so that a change of the
machine's speed affects both alike. The edit's peer does only what makes an edit safe: read, replace, write
beside the file, flush to disk, rename. The first read of a file is reported separately, because it has to
scan all of it.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.bridges.processes.process import ChildProcesses
from app.tools.contract.call import ToolCallContext
from app.tools.dispatch.registry import ToolRegistry
from app.tools.dispatch.service import ToolService
from app.tools.edit import text
from app.tools.file import read
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.read_tracker import ReadTracker
from bench.figures import report, spread
from tests.tools.conftest import Ports

LINES = 1_000_000
OFFSET = 900_000
WINDOW = 2_000
TURNS = 25
SETTLE_SECONDS = 2.2


class Desk:
    """The file tools over a folder of their own."""

    def __init__(self, root: Path, children: ChildProcesses) -> None:
        files = ProjectFiles(reads=ReadTracker())
        self.root = root
        self._service = ToolService(
            ToolRegistry((read.build(files, CallProcesses.uncaged(children), {}), text.build(files)))
        )
        self._context = ToolCallContext(
            session_id="ses",
            run_id="run",
            agent_path="primary",
            project_id="prj",
            project_root=root,
            cage=None,
            request_id="req",
            call_id="call",
            scratch_dir=root.parent / "scratch",
            ports=Ports(),
        )

    async def call(self, name: str, **params: Any) -> dict[str, Any]:
        envelope = await self._service.call(
            name, params, self._context, allowed=self._service.registry.names()
        )
        assert not envelope.is_error, envelope.error_text
        found: dict[str, Any] = envelope.data
        return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        root.mkdir()
        asyncio.run(measure(root))


async def measure(root: Path) -> None:
    children = ChildProcesses()
    desk = Desk(root, children)
    large = desk.root / "large.log"
    with large.open("w") as file:
        for start in range(0, LINES, 1000):
            file.writelines(f"{number:07d} {'x' * 42}\n" for number in range(start, start + 1000))
    medium = desk.root / "medium.txt"
    medium.write_text("".join(f"line {number} {'y' * 38}\n" for number in range(100_000)))
    await asyncio.sleep(SETTLE_SECONDS)  # a file younger than two seconds is not remembered
    await measure_reads(desk, large)
    await measure_edits(desk, medium)
    await children.aclose()


async def measure_reads(desk: Desk, file: Path) -> None:
    window = {"path": file.name, "offset": OFFSET, "limit": WINDOW}
    began = time.perf_counter()
    await desk.call("file.read", **window)
    report("first read at line 900,000 of 50 MB", since(began), "ms")
    ours, peers = [], []
    for _ in range(TURNS):
        began = time.perf_counter()
        data = await desk.call("file.read", **window)
        ours.append(since(began))
        assert data["total_lines"] == LINES and data["content"].startswith("900000: 0899999 ")
        peers.append(timed(lambda: sed(file)))
    print(f"read: {spread(ours, 'ms')}; sed -n: {spread(peers, 'ms')}")
    report("read after the first", statistics.median(ours), "ms", at_most=60)
    report("read against sed -n", statistics.median(ours) / statistics.median(peers), "times")


async def measure_edits(desk: Desk, file: Path) -> None:
    await desk.call("file.read", path=file.name, limit=1)
    ours, peers = [], []
    before = b"line 50000 "
    for turn in range(TURNS):
        mine, theirs = f"line {turn} of mine ".encode(), f"line {turn} of theirs ".encode()
        began = time.perf_counter()
        await desk.call("edit.text", path=file.name, old_string=before.decode(), new_string=mine.decode())
        ours.append(since(began))
        peers.append(timed(lambda: replace_natively(file, mine, theirs)))  # noqa: B023  (called at once)
        await desk.call("file.read", path=file.name, limit=1)
        before = theirs
    print(f"edit: {spread(ours, 'ms')}; by hand: {spread(peers, 'ms')}")
    report("edit of 5 MB", statistics.median(ours), "ms", at_most=60)
    report("edit against by hand", statistics.median(ours) / statistics.median(peers), "times")


def sed(file: Path) -> None:
    last = OFFSET + WINDOW - 1
    subprocess.run(["sed", "-n", f"{OFFSET},{last}p;{last}q", str(file)], check=True, stdout=subprocess.PIPE)


def replace_natively(file: Path, old: bytes, new: bytes) -> None:
    content = file.read_bytes().replace(old, new)
    beside = file.with_suffix(".new")
    with beside.open("wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    beside.rename(file)


def timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return since(began)


def since(began: float) -> float:
    """Return milliseconds."""
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
