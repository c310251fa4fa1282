"""What stopped a program, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

StopStatus = Literal["stopped", "running", "exited"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """How a program stands after it was let run.

    `stopped`: `reason` is the protocol's word (`entry`, `breakpoint`, `step`, `pause`, `exception`, `goto`,
    `data breakpoint`, ...), `description` and `text` are the adapter's, `breakpoint_ids` are ours, `frame`
    is the protocol's StackFrame at the top with ids of ours, None when the adapter told none.
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
