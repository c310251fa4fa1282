"""The debug adapters of the daemon: the front door of this bridge.

Owns: the sessions, at most one for each agent, the breakpoints of each agent, and the end of them all.
Never: who may debug what; that is decided before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path, PurePath

from app.bridges.dap.adapter_behaviour import AdapterBehaviour
from app.bridges.dap.breakpoint import Breakpoint
from app.bridges.dap.breakpoints import Breakpoints
from app.bridges.dap.exceptions import LIBRARIES, MODES, THROWN, ExceptionChoice, Mode, check_choice
from app.bridges.dap.lifecycle import SessionLife, check_programs
from app.bridges.dap.limits import DebugLimits
from app.bridges.dap.requests import (
    AttachRequest,
    CageFor,
    DebugOwner,
    Inside,
    LaunchRequest,
    Progress,
)
from app.bridges.dap.resolution import AdapterTable, Declarations, Declared, ResolvedAdapter
from app.bridges.dap.reverse_requests import Terminals
from app.bridges.dap.session import DebugSession, StepKind
from app.bridges.dap.session_plan import Dependencies, Plan
from app.bridges.dap.stops import Stop
from app.bridges.processes.audit import Record
from app.bridges.processes.child_starter import ChildStarter
from app.errors import ToolError

__all__ = [
    "LIBRARIES",
    "MODES",
    "THROWN",
    "AdapterBehaviour",
    "AdapterTable",
    "AttachRequest",
    "Breakpoint",
    "Breakpoints",
    "CageFor",
    "DebugAdapters",
    "DebugLimits",
    "DebugOwner",
    "DebugSession",
    "Declarations",
    "Declared",
    "ExceptionChoice",
    "Inside",
    "LaunchRequest",
    "Mode",
    "Progress",
    "ResolvedAdapter",
    "StepKind",
    "Stop",
    "Terminals",
]

Key = tuple[str, str, str]
"""A session, the path of an agent in it, and what the debug session is for."""


class _Beginning:
    """A session that is about to be made. `ended`: it was ended before it was there; `over`: it is there, or
    will never be."""

    def __init__(self) -> None:
        self.ended = False
        self.over = asyncio.Event()


class DebugAdapters:
    """All debug sessions of this daemon. One instance, closed before the children are.

    `declared` returns what is declared for a project, `record` keeps an audit event and must not raise.
    `terminals` runs programs for adapters that ask for one in a terminal; without it they cannot.
    """

    def __init__(
        self,
        children: ChildStarter,
        terminals: Terminals | None,
        *,
        environment: Mapping[str, str],
        declared: Callable[[str], Declarations],
        record: Record,
        limits: DebugLimits | None = None,
    ) -> None:
        self._declared = declared
        self._limits = limits or DebugLimits()
        self._dependencies = Dependencies(children, terminals, environment, record, self._limits)
        self._lives: dict[Key, SessionLife] = {}
        self._beginning: dict[Key, _Beginning] = {}
        self._kept: set[SessionLife] = set()
        self._breakpoints: dict[Key, Breakpoints] = {}
        self._closed = False

    def table(self, project_id: str, root: Path) -> AdapterTable:
        """Return the runtimes of a project; nothing is started by that."""
        declared = self._declared(project_id)
        return AdapterTable(declared.project, declared.local, self._dependencies.environment, root=root)

    @property
    def environment(self) -> Mapping[str, str]:
        """What adapters and programs have, outside of cages."""
        return self._dependencies.environment

    def session(self, owner: DebugOwner) -> DebugSession | None:
        """Return the agent's session; also one whose program has exited, until it is disconnected or the
        next is begun, and one whose adapter has ended, to say why."""
        life = self._lives.get(owner.key)
        return life.session if life is not None and not life.is_parted else None

    def forget(self, owner: DebugOwner) -> None:
        """Forget the breakpoints of a session that one call began and has ended."""
        self._breakpoints.pop(owner.key, None)

    @property
    def active(self) -> int:
        """How many debug sessions there are."""
        return sum(not life.is_parted for life in self._lives.values())

    def breakpoints(self, owner: DebugOwner) -> Breakpoints:
        """Return the agent's breakpoints, which outlive its debug sessions and end with its session."""
        return self._breakpoints.setdefault(owner.key, Breakpoints(self._limits.breakpoints))

    async def begin(
        self,
        owner: DebugOwner,
        request: LaunchRequest | AttachRequest,
        *,
        seconds: float,
        progress: Progress | None = None,
    ) -> tuple[DebugSession, Stop]:
        """Start a program under its debugger, or take a running one, and wait for its first stop, for
        `seconds` at most, beside the time that the start itself may take. A program that does not stop by
        being attached to runs on, and that is no time-out.

        Raises ToolError: `dap_session_active` (unless its program has ended), `dap_session_ended` when the
        run or the session is over before the program is launched, `runtime_not_supported`,
        `debug_adapter_not_found`, `cage_unavailable`, `program_writable_in_cage`, `invalid_params`,
        `debug_launch_failed`. When the caller is cancelled nothing is left.
        """
        key = owner.key
        await self._after_ended(key)
        self._refuse_second(key)
        beginning = self._beginning[key] = _Beginning()
        try:
            table = self.table(owner.project_id, owner.project_root)
            resolved = await asyncio.to_thread(table.resolve, request.runtime)
            agents = self._declared(owner.project_id).agents
            await asyncio.to_thread(check_programs, request, resolved, owner.project_root, agents)
            choice = request.exceptions if isinstance(request, LaunchRequest) else None
            if choice is not None:
                check_choice(resolved.behaviour, resolved.behaviour.name or resolved.program.name, choice)
            dependencies = await self._dependencies.for_request(request, resolved, owner.project_root)
            before = self._lives.pop(key, None)
            if before is not None:
                await self._part_from(before)
            self._refuse_second(key, beginning=False)
            if beginning.ended:
                raise ToolError("dap_session_ended", "nothing is launched: the run that asked for it is over")
            if choice is not None:
                self.breakpoints(owner).exceptions = choice
            life = SessionLife(Plan(owner, request, resolved, dependencies), self.breakpoints(owner))
            self._lives[key] = life
        finally:
            del self._beginning[key]
            beginning.over.set()
        try:
            stop = await life.begin(seconds=seconds, progress=progress)
        except BaseException:
            if self._lives.get(key) is life:
                del self._lives[key]
            raise
        return life.session, stop

    async def end_run(self, session_id: str, agent_path: str | None = None) -> None:
        """End the debug sessions of a run that is over; of one agent when it is named."""
        await self._end(
            "run_ended",
            lambda key: key[0] == session_id and agent_path in (None, key[1]),
        )

    async def end_session(self, session_id: str) -> None:
        """End the debug sessions of a session, and forget its breakpoints."""
        await self._end("session_ended", lambda key: key[0] == session_id)
        for key in [key for key in self._breakpoints if key[0] == session_id]:
            del self._breakpoints[key]

    async def aclose(self) -> None:
        """End everything; no session is begun any more."""
        self._closed = True
        await self._end("daemon_shutdown", lambda _: True)

    async def _after_ended(self, key: Key) -> None:
        """Wait, for a time, until a session that was ended before it was there has noticed."""
        beginning = self._beginning.get(key)
        if beginning is not None and beginning.ended:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._limits.disconnect_seconds):
                    await beginning.over.wait()

    def _refuse_second(self, key: Key, *, beginning: bool = True) -> None:
        if self._closed:
            raise ToolError("dap_session_ended", "the daemon is shutting down: nothing is launched any more")
        life = self._lives.get(key)
        if (beginning and key in self._beginning) or (life is not None and not life.is_over):
            runs = (
                ""
                if life is None
                else f" ({life.session.id}, {_shown(life.session.script, life.plan.owner)})"
            )
            raise ToolError(
                "dap_session_active",
                f"a program is being debugged already{runs}, and one at a time can be: disconnect first",
                detail={"debug_session_id": life.session.id} if life is not None else {},
            )

    async def _end(self, reason: str, concerns: Callable[[Key], bool]) -> None:
        for key, beginning in self._beginning.items():
            beginning.ended = beginning.ended or concerns(key)
        lives = [life for key, life in self._lives.items() if concerns(key)]
        for life in lives:
            del self._lives[life.plan.owner.key]
        kept = {life for life in self._kept if concerns(life.plan.owner.key)}
        self._kept -= kept
        await asyncio.gather(
            *(self._end_all_of(life, reason) for life in lives), *(life.aclose() for life in kept)
        )

    async def _end_all_of(self, life: SessionLife, reason: str) -> None:
        await life.end(reason)
        if life.keeps:
            await life.aclose()

    async def _part_from(self, life: SessionLife) -> None:
        await life.end("disconnect")
        if life.keeps:
            self._kept.add(life)


def _shown(script: str, owner: DebugOwner) -> str:
    """Return what is debugged as answers name files: below the project, or by its name alone."""
    path = PurePath(script)
    if not path.is_absolute():
        return script
    root = owner.project_root
    return str(path.relative_to(root)) if path.is_relative_to(root) else path.name
