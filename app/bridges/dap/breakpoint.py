"""One breakpoint, as the agent set it and as the adapter took it.

Owns: this type, and how it is written for the protocol. Never: sending it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from app.bridges.dap.adapter_entry import AdapterBehaviour
from app.bridges.dap.breakpoint_lines import Anchor

Kind = Literal["line", "function", "instruction", "data"]
Access = Literal["read", "write", "readWrite"]

NO_SESSION = "not bound: no program is being debugged"


@dataclass(slots=True, kw_only=True)
class Breakpoint:
    """`id` is ours and stays; `line` follows the text that it stood on, `actual_line` is where the adapter
    put it. Without a session nothing is verified and `message` says so. `hit_count` N: it stops at the
    N-th time and from then on. `reference`: of an instruction; `offset` bytes from there."""

    id: int
    kind: Kind
    path: Path | None = None
    line: int | None = None
    function: str | None = None
    reference: str | None = None
    offset: int | None = None
    data_id: str | None = None
    access: Access | None = None
    condition: str | None = None
    hit_count: int | None = None
    log_message: str | None = None
    verified: bool = False
    actual_line: int | None = None
    message: str | None = NO_SESSION
    anchor: Anchor | None = field(default=None, repr=False)
    """How its line is found again."""
    sent_line: int | None = field(default=None, repr=False)
    """The line that a running program has; it counts in the content that the program has loaded."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes it the same breakpoint when it is set again."""
        match self.kind:
            case "line":
                return "line", self.path, self.line
            case "function":
                return "function", self.function
            case "instruction":
                return "instruction", self.reference, self.offset or 0
            case "data":
                return "data", self.data_id

    def unbound(self, message: str | None = NO_SESSION) -> None:
        """Forget what an adapter made of it."""
        self.verified, self.actual_line, self.message, self.sent_line = False, None, message, None


def lacking(breakpoint_: Breakpoint, capabilities: frozenset[str], behaviour: AdapterBehaviour) -> str | None:
    """Return the capability that a breakpoint needs and an adapter has not, None when it can be set."""
    needed = {
        "line": "setBreakpoints",
        "function": "supportsFunctionBreakpoints",
        "instruction": "supportsInstructionBreakpoints",
        "data": "supportsDataBreakpoints",
    }[breakpoint_.kind]
    if needed not in capabilities:
        return needed
    if breakpoint_.condition is not None and "supportsConditionalBreakpoints" not in capabilities:
        return "supportsConditionalBreakpoints"
    if _counts(breakpoint_) and (
        "supportsHitConditionalBreakpoints" not in capabilities or behaviour.hit_count is None
    ):
        return "supportsHitConditionalBreakpoints"
    if breakpoint_.log_message is not None and (
        "supportsLogPoints" not in capabilities
        or not behaviour.log_points
        or (behaviour.plain_log_points and (breakpoint_.condition is not None or _counts(breakpoint_)))
    ):
        return "supportsLogPoints"
    return None


def as_sent(breakpoint_: Breakpoint, behaviour: AdapterBehaviour) -> dict[str, Any]:
    """Return a breakpoint in the protocol's form, with the hit count in the adapter's dialect."""
    fields: dict[str, Any] = {
        "line": breakpoint_.sent_line,
        "name": breakpoint_.function,
        "instructionReference": breakpoint_.reference,
        "offset": breakpoint_.offset,
        "dataId": breakpoint_.data_id,
        "accessType": breakpoint_.access,
        "condition": breakpoint_.condition,
        "logMessage": breakpoint_.log_message,
    }
    if _counts(breakpoint_) and behaviour.hit_count is not None:
        count = breakpoint_.hit_count or 1
        fields["hitCondition"] = behaviour.hit_count.format(count=count, before=count - 1)
    return {name: value for name, value in fields.items() if value is not None}


def _counts(breakpoint_: Breakpoint) -> bool:
    """The first hit is any breakpoint's."""
    return breakpoint_.hit_count is not None and breakpoint_.hit_count > 1
