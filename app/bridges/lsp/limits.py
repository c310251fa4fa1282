"""How long, how often and how much: the bounds on language servers.

Owns: the figures and what they mean. Never: keeping to them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """Times in seconds. `back_off` is what is waited before each restart after a crash; when it is
    used up the server is not started again until it is reloaded. A server that lived for
    `forgive_seconds` has its crashes forgiven. `wait_seconds` is how long a call waits for a start. The
    start continues without the call, and no attempt begins after `start_seconds`. `load_seconds` is how
    long a server may load the project, counted from its start; after that a caller has to ask again.
    `memory_mb` None: as the server's own entry says.
    """

    initialize_seconds: float = 45.0
    request_seconds: float = 30.0
    start_seconds: float = 60.0
    wait_seconds: float = 30.0
    load_seconds: float = 90.0
    idle_seconds: float = 600.0
    look_seconds: float = 5.0
    back_off: tuple[float, ...] = (0.25, 1.0, 4.0)
    forgive_seconds: float = 600.0
    memory_mb: int | None = None
    servers_per_project: int = 24
