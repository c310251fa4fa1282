"""How long and how much: the bounds on debug sessions.

Owns: the figures and what they mean. Never: keeping to them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugLimits:
    """Times in seconds, output in characters.

    `launch_seconds`: from the start of the adapter until the program runs under it. `request_seconds`: for
    one answer. `disconnect_seconds`: for an adapter to part from a program that goes on; `terminate_seconds`:
    to end one by itself, before it is ended by force; `over_seconds`: to part from one that has ended.
    `exit_seconds`: how long to wait for the rest when an adapter has reported half of the program's end.
    `running_seconds`: how long a program must run without a stop before an adapter detaches that would end a
    stopped one. `attach_seconds`: how long a program that was attached to may take to stop, if it does.
    `output_head` and `output_tail`: what is kept of the output since the last stop.
    """

    launch_seconds: float = 60.0
    initialize_seconds: float = 30.0
    request_seconds: float = 30.0
    frame_seconds: float = 10.0
    disconnect_seconds: float = 3.0
    terminate_seconds: float = 1.0
    over_seconds: float = 0.5
    exit_seconds: float = 1.0
    running_seconds: float = 2.0
    attach_seconds: float = 0.5
    output_head: int = 8_000
    output_tail: int = 24_000
    breakpoints: int = 500
    child_sessions: int = 32
