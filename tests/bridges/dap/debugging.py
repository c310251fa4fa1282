"""A project whose programs are debugged, by real adapters or the hostile one, and what is left of them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from app.bridges.dap.manager import (
    DebugAdapters,
    DebugLimits,
    DebugOwner,
    DebugSession,
    Declarations,
    Declared,
    LaunchRequest,
    Stop,
    Terminals,
)
from app.bridges.processes.process import ChildProcesses
from app.errors import ToolError
from tests.bridges.conftest import children_of, until
from tests.driver.debug_adapters import PATIENT, ROOT, debug_environment

HOSTILE = ROOT / "tests" / "fakes" / "hostile_debug_adapter.py"
QUICK = DebugLimits(
    launch_seconds=20, initialize_seconds=20, request_seconds=20, frame_seconds=3, disconnect_seconds=0.5
)
"""Only an adapter that does not let go is given little time: the others are waited for on a busy machine."""
Event = tuple[str, str, dict[str, Any]]


@dataclass
class Place:
    """A project at work. `audited` has what was recorded: event, project, data."""

    root: Path
    debugging: DebugAdapters
    owner: DebugOwner
    log: Path
    children: ChildProcesses
    audited: list[Event] = field(default_factory=list)

    def put(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    async def launch(
        self,
        program: Path,
        *,
        runtime: str = "hostile",
        args: tuple[str, ...] = (),
        stop_on_entry: bool = True,
        seconds: float = 60,
        owner: DebugOwner | None = None,
    ) -> tuple[DebugSession, Stop]:
        request = LaunchRequest(
            runtime=runtime, program=program, cwd=self.root, args=args, stop_on_entry=stop_on_entry
        )
        return await self.debugging.begin(owner or self.owner, request, seconds=seconds)

    async def refused_launch(self, program: Path, **given: Any) -> ToolError:
        try:
            _, stop = await self.launch(program, **given)
        except ToolError as problem:
            return problem
        raise AssertionError(f"the program was launched: {stop}")

    def said(self, event: str | None = None) -> list[dict[str, Any]]:
        """Return what the hostile adapter has written to its log."""
        whole = self.log.read_bytes().rpartition(b"\n")[0] if self.log.exists() else b""
        lines = map(orjson.loads, whole.splitlines())  # it may be writing the next one
        return [one for one in lines if event is None or one["event"] == event]

    def received(self, command: str) -> list[dict[str, Any]]:
        """Return the requests that the hostile adapter got."""
        return [one["message"] for one in self.said("received") if one["message"].get("command") == command]

    def pids(self) -> list[int]:
        """Return the processes that the hostile adapter was and has started."""
        return [one["pid"] for one in self.said() if one["event"] in ("started", "child")]

    def events(self, name: str) -> list[dict[str, Any]]:
        return [data for event, _, data in self.audited if event == f"debug.{name}"]


@asynccontextmanager
async def open_place(
    base: Path,
    root: Path | None = None,
    *,
    declared: Sequence[Declared] = (),
    limits: DebugLimits = PATIENT,
    terminals: Terminals | None = None,
) -> AsyncIterator[Place]:
    """Open a project; when it is closed no process and no task of a session is left."""
    root = root or base / "project"
    root.mkdir(parents=True, exist_ok=True)
    before = children_of(os.getpid()).keys()
    tasks = asyncio.all_tasks()
    children = ChildProcesses()
    audited: list[Event] = []
    debugging = DebugAdapters(
        children,
        terminals,
        environment=debug_environment(base / "home"),
        declared=lambda _: Declarations(local=tuple(declared)),
        record=lambda event, project, data: audited.append((event, project, data)),
        limits=limits,
    )
    owner = DebugOwner("ses_1", "main", "prj_1", root)
    try:
        yield Place(root, debugging, owner, base / "adapter.log", children, audited)
    finally:
        await debugging.aclose()
        now = {pid: command_of(pid) for pid in children_of(os.getpid()).keys() - before}
        left = {
            pid: command for pid, command in now.items() if b"guardian_process" not in command and lives(pid)
        }
        await children.aclose()
    assert not left, f"closing the debug adapters left {left}"
    await until(lambda: children_of(os.getpid()).keys() <= before)
    assert not asyncio.all_tasks() - tasks - {asyncio.current_task()}


@asynccontextmanager
async def hostile_place(base: Path, *arguments: str, limits: DebugLimits = QUICK) -> AsyncIterator[Place]:
    """Open a project of which programs of the runtime `hostile` are debugged by the hostile adapter with
    `arguments`; `program.hostile` is a program of six lines."""
    adapter = (sys.executable, "-I", str(HOSTILE), "--log", str(base / "adapter.log"), *arguments)
    entry = Declared(runtime="hostile", adapter=adapter)
    async with open_place(base, declared=[entry], limits=limits) as place:
        place.put("program.hostile", "print one\nnothing\nprint three\nnothing\nprint five\nexit 3\n")
        yield place
        await place.debugging.aclose()
        await until(lambda: not [pid for pid in place.pids() if lives(pid)])


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def lives(pid: int) -> bool:
    """Tell whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False
