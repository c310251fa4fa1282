"""Ports for servers of tests that are told where to listen, and come back to where they were."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 10_000


def steady_port() -> int:
    """Return a port that nobody listens on, and that the system gives to nobody who asks for any: between the
    choice and the use, or while a server is started again, another process could get it."""
    system = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 49_152
    while True:
        port = _LOWEST + secrets.randbelow(system - _LOWEST) if system > _LOWEST else 0
        with suppress(OSError), socket.socket() as trial:
            trial.bind(("127.0.0.1", port))
            found: int = trial.getsockname()[1]
            return found
