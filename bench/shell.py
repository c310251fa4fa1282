"""Compare shell commands on a terminal with pipes.

There are two ratios, each measured in one run with the sides taking turns: 200,000 lines by `shell.bash`,
from the call to the answer, against reading them from a pipe; and `true` on a terminal, from the call to
its end, against starting it and waiting. Beside the first ratio stands the time of a terminal whose lines
are read and discarded: that part is the kernel's.
"""

from __future__ import annotations

import asyncio
import os
import pty
import statistics
import subprocess
import tempfile
import termios
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from app.bridges.processes.process import ChildProcesses
from app.bridges.pty.command import CommandSpec
from app.bridges.pty.manager import TERMINAL_VARIABLES, TerminalManager
from app.config import child_environment
from app.process_memory import freeze_loaded, keep_freed_pages
from app.tools.catalog import build_registry
from app.tools.contract.call import ToolCallContext
from app.tools.dispatch.service import ToolService
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.read_tracker import ReadTracker
from bench.figures import report, spread
from tests.tools.conftest import Ports

LINES = 200_000
LINE_ROUNDS = 25
SPAWN_ROUNDS = 300
WARM = 3


async def _lines(children: ChildProcesses, terminals: TerminalManager, folder: Path) -> None:
    registry = build_registry(
        reads=ReadTracker(),
        processes=CallProcesses.uncaged(children),
        terminals=terminals,
        environment=child_environment(),
    )
    service = ToolService(registry)
    context = ToolCallContext(
        session_id="ses",
        run_id=None,
        agent_path="primary",
        project_id="prj",
        project_root=folder,
        cage=None,
        request_id="req",
        call_id="call",
        scratch_dir=folder / "scratch",
        ports=Ports(),
    )
    command = f"seq 1 {LINES}"
    piped: list[float] = []
    dropped: list[float] = []
    called: list[float] = []
    for number in range(LINE_ROUNDS + WARM):
        began = time.perf_counter()
        done = await children.run(
            ["/bin/sh", "-c", command],
            owner="bench",
            cwd=folder,
            env=child_environment(),
            seconds=60,
            max_output=1 << 30,
        )
        piped_at = time.perf_counter()
        _read_and_drop(command, folder)
        between = time.perf_counter()
        fresh = replace(context, call_id=f"call_{number}")
        envelope = await service.call("shell.bash", {"command": command}, fresh, allowed=registry.names())
        ended = time.perf_counter()
        assert done.stdout.count(b"\n") == LINES
        assert envelope.metadata.truncated, envelope
        if number >= WARM:
            piped.append((piped_at - began) * 1000)
            dropped.append((between - piped_at) * 1000)
            called.append((ended - between) * 1000)
    print(f"{LINES} lines by a pipe: {spread(piped, 'ms')}")
    print(f"{LINES} lines from a terminal, thrown away: {spread(dropped, 'ms')}")
    print(f"{LINES} lines by shell.bash: {spread(called, 'ms')}")
    bare = statistics.median(dropped) / statistics.median(piped)
    print(f"{LINES} lines thrown away, against a pipe: {bare:.3f} times")
    ratio = statistics.median(called) / statistics.median(piped)
    report(f"{LINES} lines under a terminal, against a pipe", ratio, "times", at_most=6)


def _read_and_drop(command: str, folder: Path) -> None:
    """Read a terminal in the modes of ours, in the simplest way: one process, blocking, nothing kept."""
    outer, inner = pty.openpty()
    attributes = termios.tcgetattr(inner)
    attributes[1] &= ~termios.OPOST
    attributes[3] &= ~(termios.ECHO | termios.ECHONL)
    termios.tcsetattr(inner, termios.TCSANOW, attributes)
    writer = subprocess.Popen(
        ["/bin/sh", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=inner, stderr=inner
    )
    os.close(inner)
    lines = 0
    with suppress(OSError):  # EIO: the inner side is closed
        while chunk := os.read(outer, 1 << 16):
            lines += chunk.count(b"\n")
    os.close(outer)
    writer.wait()
    assert lines == LINES


def _bare_spawn(folder: Path, environment: dict[str, str]) -> None:
    subprocess.Popen(["/bin/sh", "-c", "true"], cwd=folder, env=environment, start_new_session=True).wait()


def _no_file() -> BinaryIO:
    return open(os.devnull, "wb")


async def _spawns(children: ChildProcesses, terminals: TerminalManager, folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    environment = child_environment()
    spec = CommandSpec(
        command="true",
        session_id="bench",
        agent_path="primary",
        cwd=descriptor,
        shown_cwd=".",
        env=environment | TERMINAL_VARIABLES,
        open_file=_no_file,
        children=children,
    )
    bare: list[float] = []
    brokered: list[float] = []
    for number in range(SPAWN_ROUNDS + WARM):
        began = time.perf_counter()
        _bare_spawn(folder, environment)
        between = time.perf_counter()
        async with terminals.command(spec) as command:
            await terminals.finish(command, 60)
        ended = time.perf_counter()
        assert command.exit_code == 0
        if number >= WARM:
            bare.append((between - began) * 1000)
            brokered.append((ended - between) * 1000)
    os.close(descriptor)
    print(f"sh -c true, bare: {spread(bare, 'ms')}")
    print(f"sh -c true by the terminals: {spread(brokered, 'ms')}")
    ratio = statistics.median(brokered) / statistics.median(bare)
    report("true under a terminal, against a bare spawn", ratio, "times", at_most=1.5)


async def _measure() -> None:
    children = ChildProcesses()
    terminals = TerminalManager(children, per_session=4)
    with tempfile.TemporaryDirectory() as name:
        await _lines(children, terminals, Path(name))
        await _spawns(children, terminals, Path(name))
    await terminals.aclose()
    await children.aclose()


def main() -> None:
    keep_freed_pages()
    freeze_loaded()
    asyncio.run(_measure())
