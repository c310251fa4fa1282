"""The debug adapters of the daemon: the front door of this bridge.

Owns: the sessions, at most one for each agent, the breakpoints of each agent, and the end of them all.
Never: who may debug what; that is decided before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from app.bridges.dap.adapter_entry import AdapterBehaviour
from app.bridges.dap.breakpoints import Access, Breakpoint, Breakpoints
from app.bridges.dap.limits import DebugLimits
from app.bridges.dap.requests import AttachRequest, DebugOwner, LaunchRequest, Progress
from app.bridges.dap.resolution import AdapterTable, Declarations, Declared, ResolvedAdapter
from app.bridges.dap.reverse_requests import Terminals
from app.bridges.dap.session import DebugSession, StepKind
from app.bridges.dap.stops import Stop
from app.bridges.process import ChildProcesses

__all__ = [
    "Access",
    "AdapterBehaviour",
    "AdapterTable",
    "AttachRequest",
    "Breakpoint",
    "Breakpoints",
    "DebugAdapters",
    "DebugLimits",
    "DebugOwner",
    "DebugSession",
    "Declarations",
    "Declared",
    "LaunchRequest",
    "Progress",
    "ResolvedAdapter",
    "StepKind",
    "Stop",
    "Terminals",
]

Record = Callable[[str, str, dict[str, Any]], None]
"""Takes an audit event's name, the project's id and the data."""


class DebugAdapters:
    """All debug sessions of this daemon. One instance, closed before the children are.

    `declared` returns what is declared for a project, `record` keeps an audit event and must not raise.
    `terminals` runs programs for adapters that ask for one in a terminal; without it they cannot.
    """

    def __init__(
        self,
        children: ChildProcesses,
        terminals: Terminals | None,
        *,
        environment: Mapping[str, str],
        declared: Callable[[str], Declarations],
        record: Record,
        limits: DebugLimits | None = None,
    ) -> None:
        raise NotImplementedError

    def table(self, project_id: str, root: Path) -> AdapterTable:
        """Return the runtimes of a project; nothing is started by that."""
        raise NotImplementedError

    def session(self, owner: DebugOwner) -> DebugSession | None:
        """Return the agent's session; also one whose program has exited, until it is disconnected or the
        next is begun, and one whose adapter has ended, to say why."""
        raise NotImplementedError

    def breakpoints(self, owner: DebugOwner) -> Breakpoints:
        """Return the agent's breakpoints, which outlive its debug sessions and end with its session."""
        raise NotImplementedError

    async def launch(
        self,
        owner: DebugOwner,
        request: LaunchRequest,
        *,
        seconds: float,
        progress: Progress | None = None,
    ) -> tuple[DebugSession, Stop]:
        """Start a program under its debugger and wait for its first stop, for `seconds` at most, beside
        the time that the start itself may take.

        Raises ToolError: `dap_session_active` (unless its program has ended), `runtime_not_supported`,
        `debug_adapter_not_found`, `invalid_params`, `debug_launch_failed`. When the caller is cancelled
        nothing is left.
        """
        raise NotImplementedError

    async def attach(
        self,
        owner: DebugOwner,
        request: AttachRequest,
        *,
        seconds: float,
        progress: Progress | None = None,
    ) -> tuple[DebugSession, Stop]:
        """Take a running program under the debugger. As `launch`; a program that does not stop by being
        attached to runs on, and that is no time-out."""
        raise NotImplementedError

    async def end_run(self, session_id: str, agent_path: str | None = None) -> None:
        """End the debug sessions of a run that is over; of one agent when it is named."""
        raise NotImplementedError

    async def end_session(self, session_id: str) -> None:
        """End the debug sessions of a session, and forget its breakpoints."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """End everything; no session is begun any more."""
        raise NotImplementedError
