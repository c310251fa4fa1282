"""A desk with real debug adapters, and what is left of them when it is closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.bridges.dap.manager import (
    DebugAdapters,
    DebugLimits,
    DebugOwner,
    DebugSession,
    Declarations,
    Declared,
)
from app.bridges.processes.process import ChildProcesses
from app.bridges.pty.manager import TerminalManager
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.tier import Tier
from app.config import child_environment
from app.daemon.debug_terminals import DebugTerminals
from app.tools.catalog import build_registry
from app.tools.contract.call import ToolCallContext, ToolEnvelope
from app.tools.dispatch.service import ToolService
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.read_tracker import ReadTracker
from tests.bridges.conftest import started_from_here, until
from tests.driver.caged_machine import FULL
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.debug_adapters import PATIENT, debug_environment
from tests.tools.conftest import Desk, Ports


@dataclass
class DebugDesk(Desk):
    """`audited` has what the bridge records: event, project, data."""

    debuggers: DebugAdapters = field(kw_only=True)
    audited: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list, kw_only=True)

    async def answer(self, action: str, /, **params: Any) -> ToolEnvelope:
        """Return what a call answers, be it an error."""
        return await self.call("debug", {"action": action, **params})

    async def debug(self, action: str, /, **params: Any) -> Any:
        """Return the data of a call that must succeed."""
        envelope = await self.answer(action, **params)
        assert envelope.type == "output", f"{action}: {envelope.model_text()}"
        return envelope.data

    async def refused(self, action: str, /, **params: Any) -> ToolEnvelope:
        """Return the error of a call that must fail."""
        envelope = await self.answer(action, **params)
        assert envelope.type == "error", envelope.data
        return envelope

    async def local(self, name: str, **params: Any) -> str:
        """Return the value of one variable of a frame."""
        found = (await self.debug("variables", filter=name, **params))["variables"]
        return next(one["value"] for one in found if one["name"] == name)

    async def value(self, expression: str, **params: Any) -> str:
        """Return what an expression is worth, only looking."""
        result = (await self.debug("evaluate", expression=expression, **params))["result"]
        assert isinstance(result, str)
        return result

    async def next_stop(self) -> Any:
        """Wait until a program that runs has stopped by itself, and return the answer that tells it."""
        async with asyncio.timeout(WAIT_SECONDS):
            while (envelope := await self.answer("continue")).code == "not_stopped":  # noqa: ASYNC110  (it is asked)
                await asyncio.sleep(0.02)
        assert envelope.type == "output", envelope.model_text()
        return envelope.data

    def debugged(self) -> DebugSession:
        """Return the session of the desk's agent, which has one."""
        of = self.context
        owner = DebugOwner(of.session_id, of.agent_path, of.project_id, of.project_root)
        session = self.debuggers.session(owner)
        assert session is not None
        return session

    def events(self, name: str) -> list[dict[str, Any]]:
        return [data for event, _, data in self.audited if event == f"debug.{name}"]

    def of_agent(self, agent_path: str) -> DebugDesk:
        return replace(self, context=replace(self.context, agent_path=agent_path))


@asynccontextmanager
async def debug_desk(
    base: Path,
    root: Path | None = None,
    *,
    declared: Sequence[Declared] = (),
    limits: DebugLimits = PATIENT,
    tier: Tier = FULL,
) -> AsyncIterator[DebugDesk]:
    """Open a desk on the project in `root`, or on an empty one; when it is closed no process is left that
    was started meanwhile. `tier`: how the machine holds the cages of its caged agents."""
    root = root or base / "project"
    root.mkdir(parents=True, exist_ok=True)
    scratch = base / "data" / "sessions" / "ses_1" / "scratch"
    scratch.mkdir(parents=True)
    ports = Ports()
    context = ToolCallContext(
        "ses_1", "run_1", "primary", "prj_1", root, None, "req_1", "call_1", scratch, ports
    )
    before = started_from_here()
    children, reads = ChildProcesses(), ReadTracker()
    cages = Cages(children, tier)
    terminals = TerminalManager(children, per_session=4)
    audited: list[tuple[str, str, dict[str, Any]]] = []
    debuggers = DebugAdapters(
        children,
        DebugTerminals(terminals),
        environment=debug_environment(base / "home"),
        declared=lambda _: Declarations(project=tuple(declared)),
        record=lambda event, project, data: audited.append((event, project, data)),
        limits=limits,
    )
    registry = build_registry(
        reads=reads,
        processes=CallProcesses(children, cages, data_dir=base / "data", closed=(base / "data",)),
        terminals=terminals,
        environment=child_environment(),
        data_dir=base / "data",
        debuggers=debuggers,
    )
    try:
        yield DebugDesk(
            base, ToolService(registry), context, ports, reads, debuggers=debuggers, audited=audited
        )
    finally:
        await debuggers.aclose()
        left = {pid: command_of(pid) for pid in started_from_here() - before}
        await terminals.aclose()
        await cages.aclose()
        await children.aclose()
    assert not {pid: command for pid, command in left.items() if not is_for_others(command)}
    assert not any(lives(pid) for pid, command in left.items() if b"guardian_process" not in command)


def is_for_others(command: bytes) -> bool:
    """Tell whether a process looks after others: the guardian of all, or what holds a cage."""
    words = command.split(b"\0")
    keeps_cage = words[0].endswith(b"bwrap") or any(word.startswith(b"/run/kaged/") for word in words)
    return b"guardian_process" in command or keeps_cage


def command_of(pid: int) -> bytes:
    """Return the command line of a process; nothing of one that is gone or is a zombie."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def lives(pid: int) -> bool:
    """Tell whether a process is there and no zombie."""
    return bool(command_of(pid))


async def gone(*pids: int, seconds: float = WAIT_SECONDS) -> None:
    """Wait until none of the processes lives."""
    async with asyncio.timeout(seconds):
        await until(lambda: not any(map(lives, pids)))
