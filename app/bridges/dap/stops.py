"""What stopped a program: joins the events of one stop into one report.

Owns: which of the events counts, the program's two ways to tell its end. Never: asking the adapter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

StopStatus = Literal["stopped", "running", "exited"]

MAX_EVENTS = 64
MAX_TEXT = 4_000
MAX_HITS = 64
_RANKS: Mapping[str, int] = {
    "exception": 0,
    "data breakpoint": 1,
    "breakpoint": 1,
    "function breakpoint": 1,
    "instruction breakpoint": 1,
    "goto": 2,
    "step": 2,
    "entry": 3,
    "pause": 3,
}
_UNKNOWN_RANK = 4
BREAKPOINT_REASONS = frozenset(
    {"breakpoint", "data breakpoint", "function breakpoint", "instruction breakpoint"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """How a program stands after it was let run.

    `stopped`: `reason` is the protocol's word (`entry`, `breakpoint`, `step`, `pause`, `exception`, `goto`,
    `data breakpoint`, ...), `description` and `text` are the adapter's, `breakpoint_ids` are ours, `frame`
    is the protocol's StackFrame at the top with ids of ours, None without one. `removed`: the
    adapter stopped at a breakpoint after its removal.
    `running`: it did not stop in time (`timed_out`), or was attached to and runs on.
    `exited`: `exit_code` where it is known. `output` is what came since the last answer that had output,
    bounded; `output_truncated` when a part is left out.
    """

    status: StopStatus
    reason: str | None = None
    description: str | None = None
    text: str | None = None
    thread_id: int | None = None
    breakpoint_ids: tuple[int, ...] = ()
    exit_code: int | None = None
    frame: dict[str, Any] | None = None
    output: str = ""
    output_truncated: bool = False
    timed_out: bool = False
    removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StopEvent:
    """One `stopped` event, its fields checked. `hits` are the adapter's ids of breakpoints."""

    reason: str
    description: str | None
    text: str | None
    thread: int | None
    all_threads: bool
    aside: bool
    hits: tuple[int, ...]

    @property
    def rank(self) -> tuple[bool, int]:
        """The smaller, the more it says of why the program stands."""
        return self.aside, _RANKS.get(self.reason, _UNKNOWN_RANK)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found out of a stop when it had `count` events: the most telling one, the adapter's id of
    the thread, the frame at its top, and our ids of the breakpoints that were hit."""

    count: int
    event: StopEvent
    thread: int | None
    frame: dict[str, Any] | None
    hits: tuple[int, ...]


@dataclass(slots=True)
class Standing:
    """The stop that a program stands at: all its events since it was last let run. `reported`: a
    caller has got it. `recorded` are our ids of the breakpoints that have an audit row for it."""

    events: list[StopEvent] = field(default_factory=list)
    reported: bool = False
    count: int = 0
    """How many events there were, those included that are not kept."""
    noticed: int = 0
    """How many of them have been passed on to be recorded."""
    seen: Seen | None = None
    recorded: set[int] = field(default_factory=set)

    def add(self, event: StopEvent) -> None:
        self.count += 1
        if len(self.events) < MAX_EVENTS:
            self.events.append(event)

    @property
    def best(self) -> StopEvent:
        """The most telling event; of equals the first."""
        return min(self.events, key=lambda event: event.rank)

    def hits(self) -> tuple[int, ...]:
        """Return the adapter's ids of the breakpoints that were hit, each once."""
        return tuple(dict.fromkeys(number for event in self.events for number in event.hits))[:MAX_HITS]


def stop_event(body: Mapping[str, Any]) -> StopEvent:
    """Make the event of a body that may have anything in it."""
    hits = body.get("hitBreakpointIds")
    return StopEvent(
        reason=_text(body.get("reason")) or "unknown",
        description=_text(body.get("description")),
        text=_text(body.get("text")),
        thread=whole(body.get("threadId")),
        all_threads=body.get("allThreadsStopped") is True,
        aside=body.get("preserveFocusHint") is True,
        hits=tuple(
            number
            for one in (hits if isinstance(hits, list) else [])[:MAX_HITS]
            if (number := whole(one)) is not None
        ),
    )


def whole(value: Any) -> int | None:
    """Return a value that is a whole number of a sensible size, else None."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        return value
    return None


def _text(value: Any) -> str | None:
    return value[:MAX_TEXT] if isinstance(value, str) and value else None
