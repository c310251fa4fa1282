"""One breakpoint, as the agent set it and as the adapter took it.

Owns: this type, and how it is written for the protocol. Never: sending it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from app.bridges.dap.adapter_behaviour import AdapterBehaviour
from app.bridges.dap.breakpoint_lines import Anchor

Kind = Literal["line", "function", "instruction", "data"]
Access = Literal["read", "write", "readWrite"]

NO_SESSION = "not bound: no program is being debugged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """When a breakpoint stops the program. `hit_count` N: at the N-th time and from then on. With a
    `log_message` it logs and does not stop."""

    condition: str | None = None
    hit_count: int | None = None
    log_message: str | None = None

    @property
    def counts(self) -> bool:
        """The first hit is any breakpoint's."""
        return self.hit_count is not None and self.hit_count > 1


ALWAYS = Terms()


@dataclass(slots=True, kw_only=True)
class Breakpoint:
    """`id` is ours and stays; `line` follows the text that it stood on, `actual_line` is where the adapter
    put it. Without a session nothing is verified and `message` says so. `reference`: of an instruction;
    `offset` bytes from there."""

    id: int = 0
    kind: Kind
    path: Path | None = None
    line: int | None = None
    function: str | None = None
    reference: str | None = None
    offset: int | None = None
    data_id: str | None = None
    access: Access | None = None
    terms: Terms = ALWAYS
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

    def is_where(self, other: Breakpoint) -> bool:
        """Tell whether it is on what another is on; any offset is meant where that has none."""
        if self.kind == other.kind == "instruction" and other.offset is None:
            return self.reference == other.reference
        return self.key == other.key

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
    terms = breakpoint_.terms
    if terms.condition is not None and "supportsConditionalBreakpoints" not in capabilities:
        return "supportsConditionalBreakpoints"
    if terms.counts and (
        "supportsHitConditionalBreakpoints" not in capabilities or behaviour.breakpoints.hit_count is None
    ):
        return "supportsHitConditionalBreakpoints"
    if terms.log_message is not None and (
        "supportsLogPoints" not in capabilities
        or not behaviour.breakpoints.log_points
        or (behaviour.breakpoints.plain_log_points and (terms.condition is not None or terms.counts))
    ):
        return "supportsLogPoints"
    return None


def as_sent(breakpoint_: Breakpoint, behaviour: AdapterBehaviour) -> dict[str, Any]:
    """Return a breakpoint in the protocol's form, with the hit count in the adapter's dialect."""
    terms = breakpoint_.terms
    fields: dict[str, Any] = {
        "line": breakpoint_.sent_line,
        "name": breakpoint_.function,
        "instructionReference": breakpoint_.reference,
        "offset": breakpoint_.offset,
        "dataId": breakpoint_.data_id,
        "accessType": breakpoint_.access,
        "condition": terms.condition,
        "logMessage": terms.log_message,
    }
    if terms.counts and behaviour.breakpoints.hit_count is not None:
        count = terms.hit_count or 1
        fields["hitCondition"] = behaviour.breakpoints.hit_count.format(count=count, before=count - 1)
    return {name: value for name, value in fields.items() if value is not None}
