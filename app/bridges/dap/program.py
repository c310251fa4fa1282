"""A program under a debugger, as the events of its adapters tell of it.

Owns: the links, the state and who waits for it to change, the output, which end it was. Never: asking
anything, or ending a process.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from app.bridges.dap.adapter_behaviour import AdapterBehaviour
from app.bridges.dap.connection import Handlers
from app.bridges.dap.last_output import LastOutput
from app.bridges.dap.limits import DebugLimits
from app.bridges.dap.links import STRIDE, Link
from app.bridges.dap.output import Output
from app.bridges.dap.stops import Standing, whole
from app.errors import ToolError
from app.states import DebugState, move

MAX_LOADED = 20_000
MAX_EXIT_TEXT = 1_000
MAX_LAST_OUTPUT = 2_000
_ACTIVE = (DebugState.STOPPED, DebugState.RUNNING)


@dataclass(frozen=True, slots=True)
class Listeners:
    """The listeners to a program: to a request of an adapter, to what became of a breakpoint, to a stop, and
    to the two ends."""

    request: Callable[[Link, str, dict[str, Any]], Awaitable[dict[str, Any]]]
    breakpoint: Callable[[Link, dict[str, Any]], None]
    stop: Callable[[Link, Standing], None]
    over: Callable[[], None]
    crash: Callable[[], None]


class Program:
    """Made by its session. `state` is `starting` until `started` is called."""

    def __init__(
        self,
        behaviour: AdapterBehaviour,
        limits: DebugLimits,
        listeners: Listeners,
        *,
        loads_at_start: bool = False,
    ) -> None:
        self.behaviour = behaviour
        self.loads_at_start = loads_at_start
        """Whether all its sources were fixed when it was built."""
        self.limits = limits
        self.output = Output(limits.output_head, limits.output_tail)
        self.last_output = LastOutput(behaviour.output)
        self.links: list[Link] = []
        self.current: Link | None = None
        """The link of the last stop."""
        self.loaded: set[str] = set()
        """Paths of sources that the program is known to have loaded."""
        self.end_problem: str | None = None
        """Why the session ended, in words, when it has."""
        self.asked_for: Literal["pause", "step"] | None = None
        """The stop that is expected, if one is."""
        self._state = DebugState.STARTING
        self._bell: asyncio.Future[None] | None = None
        self._listeners = listeners
        self._rest: asyncio.TimerHandle | None = None
        self._rest_is_due = False

    @property
    def state(self) -> DebugState:
        return self._state

    @property
    def exit_code(self) -> int | None:
        """The exit code of the program, None where no adapter reports it."""
        codes = [link.exit_code for link in self.links if link.exit_code is not None]
        return codes[0] if codes else None

    def changed(self) -> asyncio.Future[None]:
        """Return a future that is done when something changes; it is never cancelled here."""
        if self._bell is None or self._bell.done():
            self._bell = asyncio.get_running_loop().create_future()
        return self._bell

    def new_link(self) -> Link:
        """Make a further link. Where child sessions are the program, the first takes its parent's place
        and its ids."""
        number = len(self.links)
        shift = max(number - 1, 0) if self.behaviour.children.are_program else number
        link = Link(number, self.behaviour, shift=shift * STRIDE)
        self.links.append(link)
        return link

    def handlers(self, link: Link) -> Handlers:
        """Return what a link's connection is opened with."""
        return Handlers(
            on_event=lambda event, body: self._happened(link, event, body),
            on_request=lambda command, arguments: self._listeners.request(link, command, arguments),
            on_output=lambda channel, text: self._wrote(channel, text),
        )

    def speakers(self) -> list[Link]:
        """Return the links that have the program's threads and are there, the first one first."""
        alive = [link for link in self.links if link.alive]
        if self.behaviour.children.are_program:
            alive = [link for link in alive if link.number > 0] or alive
        return alive

    def front(self) -> Link:
        """Return the link of the last stop, or the first that is there."""
        speakers = self.speakers()
        if self.current in speakers:
            return self.current
        return speakers[0] if speakers else self.links[0]

    def unreported(self) -> Link | None:
        """Return the link of a stop that has not been reported."""
        for link in self.speakers():
            if link.standing is not None and not link.standing.reported:
                return link
        return None

    def started(self) -> None:
        """The handshake is over: from now on the state is that of the program."""
        if self._state is DebugState.STARTING:
            self._become(DebugState.RUNNING)
        self.settle()

    def settle(self) -> None:
        """Bring the state in line with what is known, and wake who waits."""
        if self._state in _ACTIVE:
            if self._is_over():
                self._become(DebugState.EXITED)
                self._listeners.over()
            elif any(link.standing is not None for link in self.speakers()):
                self._become(DebugState.STOPPED)
                self._pass_on()
            else:
                self._become(DebugState.RUNNING)
        self._ring()

    def _pass_on(self) -> None:
        """Pass on each stop that has come, and again when more of it has."""
        for link in self.speakers():
            standing = link.standing
            if standing is not None and standing.noticed != standing.count:
                standing.noticed = standing.count
                self._listeners.stop(link, standing)

    def end(self, problem: str) -> None:
        """The session is over, whatever the program does; the first reason counts."""
        if self._state is DebugState.ENDED:
            return
        self.end_problem = problem
        self._become(DebugState.ENDED)
        if self._rest is not None:
            self._rest.cancel()
        self._ring()

    def closed(self, link: Link, account: str, exit_code: int | None = None) -> None:
        """A conversation has ended, and its adapter with the exit code, when that is known."""
        link.finished.set()
        if self.behaviour.process.is_program and self._state in _ACTIVE:
            link.exited, link.terminated, link.standing = True, True, None
            link.exit_code = exit_code
        if link.number == 0 and self._state in _ACTIVE and not (link.exited or link.terminated):
            self.end(account)
            self._listeners.crash()
        else:
            self._rest_is_due = self._rest_is_due or link.number == 0
            self.settle()

    def ended_error(self) -> ToolError:
        """Return the error of who needs a session that is over."""
        problem = self.end_problem or "the session is over"
        output = self.output.peek(MAX_LAST_OUTPUT)
        return ToolError(
            "dap_session_ended",
            f"the debug session has ended ({problem}): call launch again; breakpoints are kept",
            detail={"problem": problem, **({"output": output} if output else {})},
        )

    def _happened(self, link: Link, event: str, body: dict[str, Any]) -> None:  # noqa: C901
        match event:
            case "output":
                body = self.last_output.before_mark(body)
                if not self._is_chatter(body.get("output")):
                    self.output.event(self._whole_line(body))
                if not self._look_for_exit_code(link, body.get("output")):
                    return
            case "initialized":
                link.initialized.set()
            case "stopped":
                link.stopped(body)
            case "continued":
                link.continued(body)
            case "thread":
                link.thread(body)
                return
            case "capabilities":
                link.advertise(body.get("capabilities"))
            case "breakpoint":
                self._listeners.breakpoint(link, body)
            case "process":
                link.process = whole(body.get("systemProcessId"))
                return
            case "loadedSource":
                self._has_loaded(body.get("source"))
            case "module":
                self._has_loaded(body.get("module"))
            case "exited":
                code = whole(body.get("exitCode"))
                link.exited, link.exit_code = True, link.exit_code if code is None else code
            case "terminated":
                link.terminated, link.standing = True, None
                link.finished.set()
                self._ask_for_exit_code(link)
        if (link.exited or link.terminated) and link.number == 0:
            self._wait_for_rest()
        self.settle()

    def _is_chatter(self, text: Any) -> bool:
        chatter = self.behaviour.output.chatter
        if not chatter or not isinstance(text, str):
            return False
        return re.match(chatter, text[:MAX_EXIT_TEXT]) is not None

    def _whole_line(self, body: dict[str, Any]) -> dict[str, Any]:
        text = body.get("output")
        if (
            not self.behaviour.output.bare_lines
            or body.get("category") != "console"
            or not isinstance(text, str)
        ):
            return body
        return body if text.endswith("\n") else {**body, "output": text + "\n"}

    def _look_for_exit_code(self, link: Link, text: Any) -> bool:
        """Some adapters tell the exit code in words only; return whether this is it."""
        pattern = self.behaviour.end.exit_pattern
        if not pattern or not isinstance(text, str):
            return False
        found = re.search(pattern, text[:MAX_EXIT_TEXT])
        if found is None or link.exit_code is not None:
            return False
        link.exit_code, link.exited = int(found["code"]), True
        return True

    def _ask_for_exit_code(self, link: Link) -> None:
        if self.behaviour.end.exit_code_at_parting and link.number == 0 and not (link.exited or link.closed):
            answer = link.send("disconnect", {})
            answer.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _wrote(self, channel: str, text: str) -> None:
        """Take what the adapter's process wrote beside the protocol: with some, the program's output."""
        if channel in self.behaviour.output.program_streams:
            lines = text.splitlines(keepends=True)
            self.output.add("".join(line for line in lines if not self._is_chatter(line)))

    def _has_loaded(self, source: Any) -> None:
        path = source.get("path") if isinstance(source, dict) else None
        if isinstance(path, str) and len(path) < 4_096 and len(self.loaded) < MAX_LOADED:
            self.loaded.add(path)

    def has_loaded(self, path: str) -> None:
        """The program has loaded a source, by another way than an event."""
        if len(self.loaded) < MAX_LOADED:
            self.loaded.add(path)

    @property
    def is_over(self) -> bool:
        """Whether the program itself has reported its end."""
        return bool(self.links) and (self.links[0].exited or self.links[0].terminated)

    def _is_over(self) -> bool:
        """Both halves of the end are reported, or the other half does not come; no child is left."""
        root = self.links[0]
        nothing_follows = (
            self.behaviour.children.are_program and root.terminated and not self.behaviour.end.exit_pattern
        )
        data = (
            nothing_follows
            or (root.exited and root.terminated)
            or ((root.exited or root.terminated) and (self._rest_is_due or root.closed))
        )
        return data and not any(link.alive for link in self.links[1:])

    def _wait_for_rest(self) -> None:
        if self._rest is None:
            loop = asyncio.get_running_loop()
            self._rest = loop.call_later(self.limits.exit_seconds, self._no_rest)

    def _no_rest(self) -> None:
        self._rest_is_due = True
        self.settle()

    def _become(self, state: DebugState) -> None:
        if state is not self._state:
            self._state = move(self._state, state)

    def _ring(self) -> None:
        if self._bell is not None and not self._bell.done():
            self._bell.set_result(None)
