"""One conversation of a debug session: with the adapter itself, or with that of a child session.

Owns: what is known from its events (capabilities, the stop it stands at, its end), its requests with
their deadlines, and the ids that tell it from other links. Never: the session's state.

Frames, threads and variables of different conversations may have the same numbers. Those of all but the
first are moved by a multiple of `STRIDE`, so that a number says which conversation it belongs to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.bridges.dap.adapter_behaviour import AdapterBehaviour
from app.bridges.dap.capabilities import MAX_CAPABILITIES, effective
from app.bridges.dap.connection import AdapterConnection
from app.bridges.dap.peer import AdapterRefusal
from app.bridges.dap.stops import Standing, StopEvent, stop_event, whole
from app.errors import ToolError

STRIDE = 10_000_000_000
"""Beyond all numbers that the protocol allows, and few enough digits to be read."""
MAX_WORDS = 2_000
_IDS = ("threadId", "frameId", "variablesReference", "sourceReference")
_REFERENCES = frozenset({"variablesReference", "sourceReference"})
_LISTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "threads": ("threads", ("id",)),
    "stackTrace": ("stackFrames", ("id",)),
    "scopes": ("scopes", ("variablesReference",)),
    "variables": ("variables", ("variablesReference",)),
}
_OWN: Mapping[str, tuple[str, ...]] = {
    "evaluate": ("variablesReference",),
    "setVariable": ("variablesReference",),
    "setExpression": ("variablesReference",),
    "dataBreakpointInfo": (),
}


class Link:
    """Made by the session. `number` 0 is the adapter's own; `shift` is added to its ids."""

    def __init__(self, number: int, behaviour: AdapterBehaviour, *, shift: int = 0) -> None:
        self.number = number
        self.shift = shift
        self.behaviour = behaviour
        self.connection: AdapterConnection | None = None
        self.advertised: dict[str, Any] = {}
        self.initialized = asyncio.Event()
        self.finished = asyncio.Event()
        """Set when the program of this conversation, or the conversation, is over."""
        self.configured = False
        """Whether the handshake is done and breakpoints may be sent at any time."""
        self.standing: Standing | None = None
        self.process: int | None = None
        """The process id of the program, as it is known where the adapter runs."""
        self.exit_code: int | None = None
        self.exited = False
        self.terminated = False
        self.threads: dict[int, None] = {}
        """The adapter's ids of the reported threads that have not ended, in order."""

    @property
    def capabilities(self) -> frozenset[str]:
        return effective(self.advertised, self.behaviour)

    def advertise(self, capabilities: Any) -> None:
        """Take capabilities, which may come in parts."""
        if isinstance(capabilities, dict) and len(self.advertised) + len(capabilities) <= MAX_CAPABILITIES:
            self.advertised |= capabilities

    @property
    def closed(self) -> bool:
        """Whether there is no conversation (any more)."""
        return self.connection is None or self.connection.ended

    @property
    def over(self) -> bool:
        """Whether the program of this conversation is over, or the conversation is."""
        return self.terminated or self.closed

    @property
    def alive(self) -> bool:
        return self.configured and not self.over

    def owns(self, number: int) -> bool:
        """Tell whether an id belongs to this link."""
        return number // STRIDE == self.shift // STRIDE

    def let_run(self) -> Standing | None:
        """Forget the stop, which is returned: the program is about to go on."""
        standing, self.standing = self.standing, None
        return standing

    def stopped(self, body: dict[str, Any]) -> StopEvent:
        """Take a `stopped` event: the beginning of a stop, or more of the present one."""
        event = stop_event(body)
        if self.standing is None:
            self.standing = Standing()
        self.standing.add(event)
        if event.thread is not None:
            self._thread_is_there(event.thread)
        return event

    def continued(self, body: dict[str, Any]) -> None:
        """Take a `continued` event; of a thread that the stop was not about, nothing follows."""
        thread = whole(body.get("threadId"))
        if self.standing is None:
            return
        about = {event.thread for event in self.standing.events}
        if body.get("allThreadsContinued") is True or thread is None or thread in about:
            self.standing = None

    def thread(self, body: dict[str, Any]) -> None:
        """Take a `thread` event."""
        number = whole(body.get("threadId"))
        if number is None:
            return
        if body.get("reason") == "exited":
            self.threads.pop(number, None)
        else:
            self._thread_is_there(number)

    def _thread_is_there(self, number: int) -> None:
        if len(self.threads) < 10_000:
            self.threads[number] = None

    def send(self, command: str, arguments: Mapping[str, Any]) -> asyncio.Future[dict[str, Any]]:
        """Send a request at once; the future has the body as the adapter gave it, or fails as that of
        a peer does. Arguments have the session's ids."""
        assert self.connection is not None
        return self.connection.peer.send(command, self._inward(arguments))

    async def ask(self, command: str, arguments: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and return the body of its answer, with ids of the session's.

        Raises AdapterRefusal, PeerClosed, and TimeoutError after `seconds`."""
        async with asyncio.timeout(seconds):
            body = await self.send(command, arguments)
        return self.outward(command, body)

    async def request(self, command: str, arguments: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """As `ask`, but raises ToolError `debug_request_failed` or `debug_timeout`, and PeerClosed."""
        try:
            return await self.ask(command, arguments, seconds)
        except AdapterRefusal as refusal:
            raise self.refused(refusal) from None
        except TimeoutError:
            raise self.late(command, seconds) from None

    def refused(self, refusal: AdapterRefusal) -> ToolError:
        """Return the error for an answer that is one."""
        words = refusal.message[:MAX_WORDS]
        return ToolError(
            "debug_request_failed",
            f"{self.behaviour.name or 'the adapter'} refused {refusal.command}: {words}",
            detail={"command": refusal.command, "problem": words},
        )

    def late(self, command: str, seconds: float) -> ToolError:
        """Return the error for an answer that did not come."""
        return ToolError(
            "debug_timeout",
            f"{self.behaviour.name or 'the adapter'} did not answer {command} within {seconds:g} s; when it "
            "does not recover, disconnect and launch again",
            detail={"command": command, "seconds": seconds},
        )

    def outward(self, command: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return an answer's body with ids of the session's."""
        if self.shift == 0:
            return body
        if command in _LISTS:
            key, names = _LISTS[command]
            entries = body.get(key)
            for entry in entries if isinstance(entries, list) else ():
                self._shift(entry, names)
                if isinstance(entry, dict):
                    self._shift(entry.get("source"), ("sourceReference",))
        self._shift(body, _OWN.get(command, ()))
        return body

    def _shift(self, entry: Any, names: Iterable[str]) -> None:
        if not isinstance(entry, dict):
            return
        for name in names:
            number = whole(entry.get(name))
            # A reference of 0 is none.
            if number is not None and (number != 0 or name not in _REFERENCES):
                entry[name] = number + self.shift

    def _inward(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if self.shift == 0:
            return dict(arguments)
        plain = dict(arguments)
        for name in _IDS:
            number = plain.get(name)
            if isinstance(number, int) and number >= self.shift:
                plain[name] = number - self.shift
        return plain


def link_of(arguments: Mapping[str, Any], speakers: Sequence[Link], default: Link) -> Link:
    """Return the link that a request is for, by the ids in its arguments.

    Raises ToolError `debug_request_failed` when that is no longer there."""
    for name in _IDS:
        number = arguments.get(name)
        if not isinstance(number, int) or isinstance(number, bool) or (number == 0 and name in _REFERENCES):
            continue
        found = next((link for link in speakers if link.owns(number)), None)
        if found is not None:
            return found
        if number >= STRIDE:
            raise ToolError(
                "debug_request_failed",
                f"{name} {number} belongs to a child process that is no longer debugged: ask for threads and "
                "stack_trace again",
                detail={name: number},
            )
    return default
