"""One debug session: a program, its adapter, and what is asked of them.

Owns: what is legal in which state, letting the program run and waiting for its next stop. Never: the
wire, how a session begins and ends, or what answers mean to a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

from app.bridges.dap.adapter_behaviour import AdapterBehaviour
from app.bridges.dap.breakpoint import Breakpoint, lacking
from app.bridges.dap.breakpoints import Breakpoints
from app.bridges.dap.capabilities import MOVING, can, check_state, need, not_supported, request_of
from app.bridges.dap.links import Link, link_of
from app.bridges.dap.output import QUIET_AFTER_END_SECONDS
from app.bridges.dap.peer import AdapterRefusal
from app.bridges.dap.program import Program
from app.bridges.dap.requests import Progress
from app.bridges.dap.stop_report import StopReports
from app.bridges.dap.stops import Standing, Stop
from app.bridges.dap.threads import all_threads, any_thread
from app.bridges.rpc.message_stream import PeerClosed
from app.errors import ToolError
from app.states import DebugState

StepKind = Literal["in", "over", "out"]
_STEPS = {"in": ("step_into", "stepIn"), "over": ("step_over", "next"), "out": ("step_out", "stepOut")}
_ENDING_SECONDS = 2.0
_LOOKING = frozenset({"stack_trace", "scopes", "variables", "evaluate", "disassemble"})
"""Actions by which an agent sees for itself where the program stands."""


class DebugSession:
    """Made by the manager. Ids of threads, frames and variables are those that the adapter uses, but for
    child sessions, where large offsets distinguish them; give them back as they came."""

    def __init__(
        self,
        session_id: str,
        program: Program,
        breakpoints: Breakpoints,
        reports: StopReports,
        *,
        runtime: str,
        script: str,
        adapter: str,
        launched: bool,
    ) -> None:
        self.id = session_id
        self.runtime = runtime
        self.script = script
        """The real path of the program; what was attached to, in words, when it was not launched."""
        self.adapter = adapter
        self.launched = launched
        self.stop = Stop(status="running")
        """The last answer about the state of the program."""
        self.current_thread: int | None = None
        self._program = program
        self._breakpoints = breakpoints
        self._reports = reports
        self._telling = asyncio.Lock()
        self._disconnect: Callable[[bool | None], Any] | None = None

    @property
    def state(self) -> DebugState:
        return self._program.state

    @property
    def behaviour(self) -> AdapterBehaviour:
        return self._program.behaviour

    @property
    def process(self) -> int | None:
        """The program's process id as it is known where the adapter runs; None where no adapter told it."""
        return next((link.process for link in self._program.links if link.process is not None), None)

    @property
    def capabilities(self) -> frozenset[str]:
        """What can be asked for, by the names of the protocol (`supportsReadMemoryRequest`)."""
        return self._program.front().capabilities

    @property
    def keeps_breakpoints(self) -> bool:
        """Whether the adapter has stopped at a breakpoint after its removal."""
        return self._reports.keeps_breakpoints

    def supports(self, action: str) -> bool:
        """Tell whether the adapter can do what an action of the tool needs."""
        command = request_of(action)
        return command is None or can(self.capabilities, self.behaviour, command)

    def need(self, command: str, capability: str, action: str, advice: str) -> None:
        """Raise ToolError `action_not_supported` unless the adapter answers a request and has the
        capability that some of its arguments need; `advice` says how to do without those."""
        need(self.capabilities, self.behaviour, self.adapter, action, command)
        if capability not in self.capabilities:
            raise not_supported(self.adapter, action, capability, advice)

    def lacking(self, one: Breakpoint) -> str | None:
        """Return the capability that a breakpoint needs and the adapter has not, None when it can be set."""
        return lacking(one, self.capabilities, self.behaviour)

    async def resume(
        self, thread_id: int | None = None, *, seconds: float, progress: Progress | None = None
    ) -> Stop:
        """Let the program go on and wait for its next stop or end, for `seconds` at most: then it runs on,
        and the status is `running`. A stop that is not reported yet is returned at once. When the
        program has exited its exit is returned again. Raises ToolError `not_stopped` while it runs,
        `dap_session_ended`, `debug_request_failed`, `debug_timeout`."""
        return await self._go("continue", "continue", thread_id, seconds, progress)

    async def step(
        self,
        kind: StepKind,
        thread_id: int | None = None,
        *,
        seconds: float,
        progress: Progress | None = None,
    ) -> Stop:
        """As `resume`, for one step."""
        action, command = _STEPS[kind]
        return await self._go(action, command, thread_id, seconds, progress)

    async def pause(self, thread_id: int | None = None, *, seconds: float) -> Stop:
        """Stop the program. Raises as `resume` does, and `not_running` when it is stopped already."""
        if self._has_news():
            return await self.outcome(0.0)
        self._check("pause")
        links = self._program.speakers()
        if thread_id is not None:
            links = [link_of({"threadId": thread_id}, links, self._program.front())]
        asked = []
        for link in links:
            need(link.capabilities, self.behaviour, self.adapter, "pause", "pause")
            asked.append((link, thread_id if thread_id is not None else await self._any_thread(link)))
        self._program.asked_for = "pause"
        if (again := self.behaviour.stopping.pause_again_seconds) is None:
            answers = [link.send("pause", {"threadId": thread}) for link, thread in asked]
            return await self.outcome(seconds, answers=answers)
        refusals: list[ToolError] = []
        asking = asyncio.create_task(self._ask_for_pause(asked, again, refusals))
        try:
            stop = await self.outcome(seconds)
        finally:
            asking.cancel()
            await asyncio.wait([asking])
        if stop.timed_out and refusals:
            raise refusals[-1]
        return stop

    async def _ask_for_pause(
        self, asked: Sequence[tuple[Link, int]], again: float, refusals: list[ToolError]
    ) -> None:
        """Ask for the pause every `again` seconds while the program runs; add the refusals to `refusals`."""
        while self.state is DebugState.RUNNING:
            for link, thread in asked:
                with suppress(PeerClosed):
                    try:
                        await link.request(
                            "pause", {"threadId": thread}, self._program.limits.request_seconds
                        )
                    except ToolError as refusal:
                        refusals.append(refusal)
            await asyncio.sleep(again)

    async def request(self, action: str, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Ask the adapter and return the body of its answer.

        `action` is that of the tool, which decides in which states this is legal. A request that the
        adapter does not offer is not sent: ToolError `action_not_supported`. Raises also `not_stopped`,
        `dap_session_ended`, `debug_request_failed` (with the adapter's words), `debug_timeout`.
        """
        self._check(action)
        if action in _LOOKING:
            await self._notify()
        program = self._program
        link = link_of(arguments, program.speakers(), program.front())
        need(link.capabilities, self.behaviour, self.adapter, action, command)
        try:
            if command == "threads":
                return await all_threads(program)
            if action == "custom_request" and command in MOVING:
                self._let_run([link])
            return await link.request(command, arguments, program.limits.request_seconds)
        except PeerClosed:
            raise await self._ended() from None

    async def disconnect(self, *, terminate: bool | None = None) -> bool:
        """End the session and return whether the program is gone too. None: a program that was launched
        is, one that was attached to is not. Raises `action_not_supported` when an attached program shall
        be ended and the adapter cannot; never anything else."""
        assert self._disconnect is not None
        gone: bool = await self._disconnect(terminate)
        return gone

    def ends_by(self, disconnect: Callable[[bool | None], Any]) -> None:
        """Have `disconnect` done by this. Called once, by who made the session."""
        self._disconnect = disconnect

    async def outcome(
        self,
        seconds: float,
        progress: Progress | None = None,
        *,
        answers: Sequence[asyncio.Future[dict[str, Any]]] = (),
    ) -> Stop:
        """Wait for a stop or the end, for `seconds` at most, and tell of it. `answers` are those that what
        was just sent will get; an error among them is raised."""
        program, timed_out = self._program, False
        async with program.output.handed_to(progress):
            deadline = asyncio.get_running_loop().time() + seconds
            while not timed_out:
                try:
                    async with asyncio.timeout_at(deadline):
                        await self._until_reported(answers)
                except TimeoutError:
                    timed_out = True
                except PeerClosed:
                    raise await self._ended() from None
                await self._notify()
                if self.state is not DebugState.RUNNING:
                    break  # else the adapter let it go on from where it had stopped
            if self.state is DebugState.EXITED:
                await program.last_output.wait()
                # What a program writes last may come after its end.
                await program.output.calm(flood=-1, quiet_seconds=QUIET_AFTER_END_SECONDS)
            elif self.state is not DebugState.RUNNING:
                await program.output.calm()
        if self.state is DebugState.ENDED:
            raise program.ended_error()
        if self.state is DebugState.EXITED:
            self.stop = Stop(status="exited", exit_code=program.exit_code)
        elif self.state is DebugState.RUNNING:
            self.stop = Stop(status="running", timed_out=timed_out)
        text, truncated = program.output.take()
        self.stop = replace(self.stop, output=text, output_truncated=truncated)
        return self.stop

    async def _until_reported(self, answers: Sequence[asyncio.Future[dict[str, Any]]]) -> None:
        open_answers = set(answers)
        while True:
            changed = self._program.changed()
            for answer in [one for one in open_answers if one.done()]:
                open_answers.discard(answer)
                if isinstance(problem := answer.exception(), AdapterRefusal) and not await self._is_ending():
                    raise self._program.front().refused(problem)
            if self.state in (DebugState.EXITED, DebugState.ENDED) or self._program.unreported() is not None:
                return
            if self.state is DebugState.STOPPED:
                return  # another caller took it in this moment
            awaited: set[asyncio.Future[Any]] = {changed, *open_answers}
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)

    async def _is_ending(self) -> bool:
        """Tell whether a request was refused because the program is gone, whose end is reported later."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._program.limits.exit_seconds):
                while self.state not in (DebugState.EXITED, DebugState.ENDED):
                    await asyncio.wait({self._program.changed()})
        return self.state in (DebugState.EXITED, DebugState.ENDED)

    async def _notify(self) -> None:
        """Make the present stop the last reported one, if it is not reported yet."""
        async with self._telling:
            while (link := self._program.unreported()) is not None:
                self._program.current = link
                stop = await self._reports.of(link)
                if stop is not None:
                    self.stop, self.current_thread = stop, stop.thread_id
                    return

    async def _go(
        self, action: str, command: str, thread_id: int | None, seconds: float, progress: Progress | None
    ) -> Stop:
        if self._has_news():
            return await self.outcome(0.0)
        self._check(action)
        await self._breakpoints.follow_edits()
        links = self._to_move(command, thread_id)
        for link in links:
            need(link.capabilities, self.behaviour, self.adapter, action, command)
        threads = [await self._thread_of(link, thread_id) for link in links]
        if self._has_news():
            return await self.outcome(0.0)
        self._check(action)
        self._program.asked_for = None if command == "continue" else "step"
        before = self._let_run(links)
        answers = []
        for link, standing, thread in zip(links, before, threads, strict=True):
            answer = link.send(command, {"threadId": thread})
            answer.add_done_callback(self._if_refused(link, standing))
            answers.append(answer)
        return await self.outcome(seconds, progress, answers=answers)

    def _has_news(self) -> bool:
        """Tell whether there is something to tell of before anything is sent: the end, or a stop."""
        return self.state is DebugState.EXITED or self._program.unreported() is not None

    def _to_move(self, command: str, thread_id: int | None) -> list[Link]:
        """Return the links that are let run: a step is one thread's; `continue` without a thread is
        everything's that stands."""
        speakers = self._program.speakers()
        if thread_id is not None:
            return [link_of({"threadId": thread_id}, speakers, self._program.front())]
        if command == "continue":
            return [link for link in speakers if link.standing is not None]
        front = self._program.front()
        if front.standing is None:
            front = next((link for link in speakers if link.standing is not None), front)
        return [front]

    def _let_run(self, links: Sequence[Link]) -> list[Standing | None]:
        before = [link.let_run() for link in links]
        self._program.settle()
        return before

    def _if_refused(
        self, link: Link, standing: Standing | None
    ) -> Callable[[asyncio.Future[dict[str, Any]]], None]:
        """Return what brings the stop back when the adapter did not let the program run."""

        def look(answer: asyncio.Future[dict[str, Any]]) -> None:
            refused = not answer.cancelled() and isinstance(answer.exception(), AdapterRefusal)
            if refused and link.standing is None and not link.over:
                link.standing = standing
                self._program.settle()

        return look

    async def _thread_of(self, link: Link, thread_id: int | None) -> int:
        if thread_id is not None:
            return thread_id
        current = self.current_thread
        if current is not None and link.owns(current) and link is self._program.current:
            return current
        if link.standing is not None and link.standing.best.thread is not None:
            return link.standing.best.thread + link.shift
        return await self._any_thread(link)

    async def _any_thread(self, link: Link) -> int:
        """Return the session's id of a thread, where any will do."""
        try:
            return await any_thread(link, self._program.limits.frame_seconds)
        except PeerClosed:
            raise await self._ended() from None

    def _check(self, action: str) -> None:
        if self.state is DebugState.ENDED:
            raise self._program.ended_error()
        check_state(self.state, action)

    async def _ended(self) -> ToolError:
        """Return the error of a conversation that ended under a request; its account comes in moments."""
        for _ in range(20):
            if self.state is DebugState.ENDED:
                break
            await asyncio.wait({self._program.changed()}, timeout=_ENDING_SECONDS / 20)
        return self._program.ended_error()
