"""The life of one debug session: made, begun, and ended exactly once.

Owns: the order of beginning and ending, tasks of their own for both that no caller's cancellation leaves
half done, and the audit of it all. Never: what is asked in between.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from app.bridges.dap.adapter_entry import ResolvedAdapter
from app.bridges.dap.adapter_process import AdapterCommand
from app.bridges.dap.audit import SessionAudit
from app.bridges.dap.breakpoint_binding import Binding
from app.bridges.dap.breakpoints import Breakpoints
from app.bridges.dap.capabilities import not_supported
from app.bridges.dap.exception_screen import ExceptionScreen
from app.bridges.dap.launching import StartFailed
from app.bridges.dap.opening import Conversations
from app.bridges.dap.program import Listeners, Program
from app.bridges.dap.program_input import ProgramInput
from app.bridges.dap.requests import AttachRequest, LaunchRequest, Progress
from app.bridges.dap.reverse_requests import ReverseRequests
from app.bridges.dap.rust_formatters import find_formatters
from app.bridges.dap.session import DebugSession
from app.bridges.dap.session_plan import RUST, Plan, is_dialled
from app.bridges.dap.start_arguments import (
    attach_arguments,
    check_input,
    check_script,
    command_line,
    entry_functions,
    launch_arguments,
    launch_request,
    launch_values,
    with_choice,
    with_formatters,
    with_input,
)
from app.bridges.dap.stop_records import StopRecords
from app.bridges.dap.stop_report import StopReports
from app.bridges.dap.stops import Stop
from app.bridges.installed.written_programs import CagedAgent, Started, check_written
from app.errors import ToolError
from app.ids import new_id
from app.states import DebugState

MAX_OUTPUT_OF_FAILURE = 4_000
_BUILT = frozenset({"binary", "go"})


class SessionLife:
    """Made by the manager for one launch or attach."""

    def __init__(self, plan: Plan, breakpoints: Breakpoints) -> None:
        self.plan = plan
        self._breakpoints = breakpoints
        request, resolved, dependencies = plan.request, plan.resolved, plan.dependencies
        self.program = Program(
            resolved.behaviour,
            dependencies.limits,
            Listeners(
                request=lambda link, command, arguments: self._reverse.answer(link, command, arguments),
                breakpoint=lambda link, body: self._binding.changed(link, body),
                stop=lambda link, standing: self._records.came(link, standing),
                over=lambda: self._begin_end("exited"),
                crash=lambda: self._begin_end("crash"),
            ),
            loads_at_start=resolved.entry.program in _BUILT,
        )
        self._binding = Binding(self.program, dependencies.limits, request.runtime, plan.owner.project_root)
        if isinstance(request, LaunchRequest) and plan.stops_on_entry("main"):
            self._binding.entry = entry_functions(resolved.entry, request.program)
        if isinstance(request, LaunchRequest) and plan.stops_on_entry("line"):
            self._binding.entry_file = request.program
        session_id = new_id("dap")
        self._audit = SessionAudit(session_id, plan.owner, breakpoints, dependencies.record)
        self._input = ProgramInput(dependencies.children, dependencies.environment, plan.cwd)
        self._conversations = self._make_conversations()
        self._reverse = self._make_reverse_requests()
        self.program.output.also_from(self._reverse.pass_on_output)
        reports = StopReports(
            self.program,
            breakpoints,
            self._binding,
            screen=self._make_screen(),
            entry=plan.stops_on_entry(),
            on_hit=self._audit.hit,
        )
        self._records = StopRecords(reports)
        self.session = DebugSession(
            session_id,
            self.program,
            breakpoints,
            reports,
            runtime=request.runtime,
            script=_script(request),
            adapter=resolved.behaviour.name or resolved.program.name,
            launched=isinstance(request, LaunchRequest),
        )
        self.session.ends_by(self._disconnect)
        self._beginning: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._is_parted = False
        self.keeps = False
        """Whether the program and its adapter's process were left running, until `aclose`."""

    @property
    def is_over(self) -> bool:
        """Whether the program is over or the session ended, so that another may be begun."""
        return self.program.state in (DebugState.EXITED, DebugState.ENDED)

    @property
    def is_parted(self) -> bool:
        """Whether the agent has ended the session itself."""
        return self._is_parted

    async def begin(self, *, seconds: float, progress: Progress | None) -> Stop:
        """Start or attach, and wait for the first stop. Raises ToolError; then, and when the caller is
        cancelled, everything is ended again."""
        try:
            async with self.program.output.handed_to(progress):
                await self._begun()
            if isinstance(self.plan.request, AttachRequest):
                return await self._after_attach(seconds, progress)
            return await self.session.outcome(seconds, progress)
        except asyncio.CancelledError:
            await self.end("disconnect")
            raise
        except BaseException:
            await self.end("crash")
            raise

    async def end(self, reason: str, *, terminate: bool = True, keeps: bool = False) -> None:
        """End the session, whatever it does; return when nothing is left. `reason` is for the audit trail,
        the first one counts. With `keeps` the program and its adapter's process live on until `aclose`."""
        if self._beginning is not None and not self._beginning.done():
            self._beginning.cancel()
        if self.program.state is not DebugState.EXITED or reason != "exited":
            self.program.end(_REASONS.get(reason, reason))
        self._is_parted = self._is_parted or reason == "disconnect"
        self._begin_end(reason, terminate=terminate, keeps=keeps)
        assert self._ending is not None
        await asyncio.shield(self._ending)

    async def aclose(self) -> None:
        """Kill everything that is left."""
        await self._conversations.aclose()
        await self._reverse.aclose()
        await self._input.remove()

    def _make_screen(self) -> ExceptionScreen:
        return ExceptionScreen(
            self.plan.resolved.behaviour,
            Path(os.path.realpath(self.plan.owner.project_root)),
            lambda: self._breakpoints.exceptions,
            self.plan.dependencies.limits.frame_seconds,
        )

    def _make_conversations(self) -> Conversations:
        request, dependencies, resolved = self.plan.request, self.plan.dependencies, self.plan.resolved
        if isinstance(request, LaunchRequest) and resolved.behaviour.process.hands_on:
            resolved = replace(resolved, env={**resolved.env, **request.env})
        return Conversations(
            self.program,
            self._breakpoints,
            dependencies.children,
            resolved,
            AdapterCommand.of(
                resolved,
                cwd=self.plan.cwd,
                environment={**dependencies.environment, **resolved.behaviour.process.env},
            ),
            dependencies.limits,
            terminal=dependencies.terminals is not None,
            host=request.host if isinstance(request, AttachRequest) else "localhost",
        )

    def _make_reverse_requests(self) -> ReverseRequests:
        dependencies = self.plan.dependencies
        return ReverseRequests(
            self.plan.owner,
            dependencies.terminals,
            dependencies.children,
            cwd=self.plan.cwd,
            environment=self.plan.environment,
            received=self.program.output.add,
            begin=self._conversations.begin_child,
        )

    async def _begun(self) -> None:
        """Have the handshake done, by a task that `end` can stop."""
        self._beginning = beginning = asyncio.create_task(self._begin(), name="begin a debug session")
        try:
            await asyncio.wait({beginning})
        finally:
            if not beginning.done():
                beginning.cancel()
                await asyncio.wait({beginning})
        if beginning.cancelled():
            raise self.program.ended_error()
        beginning.result()

    async def _begin(self) -> None:
        self._breakpoints.attach(self.program, self._binding)
        try:
            if isinstance(self.plan.request, LaunchRequest):
                await self._launch(self.plan.request)
            else:
                await self._attach(self.plan.request)
        except StartFailed as failed:
            raise self._failed(failed.reason) from None
        self._audit.started(self.session.runtime, self.session.script)
        self.program.started()

    async def _launch(self, request: LaunchRequest) -> None:
        resolved = self.plan.resolved
        if request.module is None and request.code is None:
            await asyncio.to_thread(check_script, resolved, request.program)
        values = await asyncio.to_thread(
            launch_values,
            resolved,
            script=request.program,
            args=request.args,
            env=request.env,
            environment=self.plan.environment,
            cwd=request.cwd,
            root=self.plan.owner.project_root,
            stop_on_entry=self.plan.stops_on_entry("flag"),
        )
        values = with_choice(values, request, resolved.behaviour)
        if resolved.runtime == RUST and (folder := await self._formatters()) is not None:
            values = with_formatters(values, folder)
        if request.input is not None:
            values = with_input(values, await self._input.keep(request.input))
        self.program.has_loaded(str(request.program))
        called = launch_request(resolved, stop_on_entry=request.stop_on_entry)
        arguments = {**launch_arguments(resolved, values), "request": called}
        command = command_line(resolved, values)
        check_input(resolved, values, command, arguments)
        await self._conversations.launch(command, called, arguments)

    async def _formatters(self) -> Path | None:
        return await asyncio.to_thread(find_formatters, self.plan.environment, self.plan.owner.project_root)

    async def _attach(self, request: AttachRequest) -> None:
        root = self.plan.owner.project_root
        arguments = attach_arguments(
            self.plan.resolved, host=request.host, port=request.port, pid=request.pid, cwd=root, root=root
        )
        if request.port is not None and is_dialled(request, self.plan.resolved):
            await self._conversations.dial(request.host, request.port, arguments)
        else:
            command = command_line(self.plan.resolved, {"cwd": str(root), "root": str(root)})
            await self._conversations.launch(command, "attach", arguments)

    async def _after_attach(self, seconds: float, progress: Progress | None) -> Stop:
        """Some adapters stop what they attach to, and tell of it at once; others let it run on."""
        stop = await self.session.outcome(
            min(seconds, self.plan.dependencies.limits.attach_seconds), progress
        )
        if stop.status == "running":
            stop = self.session.stop = Stop(
                status="running", output=stop.output, output_truncated=stop.output_truncated
            )
        return stop

    async def _disconnect(self, terminate: bool | None) -> bool:
        launched = self.session.launched
        wanted = launched if terminate is None else terminate
        if self.is_over:
            await self.end("disconnect")
            return True
        if wanted and not launched and "supportTerminateDebuggee" not in self.session.capabilities:
            raise not_supported(
                self.session.adapter,
                "disconnect with terminate_debuggee",
                "supportTerminateDebuggee",
                "disconnect without it leaves the program running",
            )
        await self.end("disconnect", terminate=wanted, keeps=launched and not wanted)
        # Some adapters never let go of what they have launched.
        return wanted or (launched and self._conversations.all_gone)

    def _begin_end(self, reason: str, *, terminate: bool = True, keeps: bool = False) -> None:
        if self._ending is None:
            self.keeps = keeps
            self._ending = asyncio.create_task(
                self._end(reason, terminate=terminate, keeps=keeps), name=f"end {self.session.id}"
            )

    async def _end(self, reason: str, *, terminate: bool, keeps: bool) -> None:
        if reason == "exited":
            await self.program.last_output.ask(self.program.links[0])
        await self._records.aclose()
        self._audit.ended(reason)
        self._breakpoints.detach(self.program)
        if self._beginning is not None and not self._beginning.done():
            await asyncio.wait({self._beginning})
        launched = self.session.launched
        try:
            await self._conversations.part(
                terminate=terminate and (launched or reason == "disconnect"), launched=launched
            )
        finally:
            if not keeps:
                await self.aclose()

    def _failed(self, reason: str) -> ToolError:
        output, _ = self.program.output.take()
        output, code = output[-MAX_OUTPUT_OF_FAILURE:], self.program.exit_code
        if code is not None and "exit code" not in reason:
            reason = f"{reason} (exit code {code})"
        message = f"{reason}\n{output.strip()}" if output.strip() and output.strip() not in reason else reason
        verb = "launched" if self.session.launched else "attached to"
        known = {} if code is None else {"exit_code": code}
        return ToolError(
            "debug_launch_failed",
            f"the program could not be {verb} by {self.session.adapter}: {message}",
            detail={"adapter": self.session.adapter, "problem": reason, "output": output, **known},
        )


_REASONS: Mapping[str, str] = {
    "disconnect": "it was disconnected",
    "run_ended": "the run that it belonged to is over",
    "session_ended": "its session is over",
    "daemon_shutdown": "the daemon is shutting down",
    "crash": "it could not be begun",
}


def check_programs(
    request: LaunchRequest | AttachRequest,
    resolved: ResolvedAdapter,
    root: Path,
    agents: Sequence[CagedAgent],
) -> None:
    """Raise ToolError `program_writable_in_cage` when a caged agent may write the adapter or the interpreter,
    and these would read more than that agent. Blocks."""
    if isinstance(request, LaunchRequest):
        commands, cwd = [resolved.command, resolved.interpreter], request.cwd
    else:
        commands, cwd = ([] if is_dialled(request, resolved) else [resolved.command]), root
    for command in filter(None, commands):
        check_written(Started(command, root, cwd, resolved.env), agents, request.reads)


def _script(request: LaunchRequest | AttachRequest) -> str:
    if isinstance(request, LaunchRequest):
        return str(request.program)
    if request.port is None:
        return f"process {request.pid}"
    return f"{request.host}:{request.port}"
