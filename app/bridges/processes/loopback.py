"""Ports of this machine's own loopback.

Owns: finding a free one, connecting to one. Never: who listens there, and other machines.
"""

from __future__ import annotations

import asyncio
import socket

LOOPBACK = "127.0.0.1"
NAMES = frozenset({"127.0.0.1", "::1", "localhost"})


def free_port() -> int:
    """Return a port that nobody listens on at this moment. Raises OSError."""
    with socket.socket() as trial:
        trial.bind((LOOPBACK, 0))
        port: int = trial.getsockname()[1]
        return port


async def connected(host: str, port: int) -> socket.socket:
    """Return a socket that does not block, connected to a port of the loopback; of `localhost` the first
    address that takes it. Raises OSError."""
    if host not in NAMES:
        raise ConnectionRefusedError(111, f"{host} is not this machine")
    problem: OSError | None = None
    for address in (LOOPBACK, "::1") if host == "localhost" else (host,):
        try:
            return await _connected(address, port)
        except OSError as failed:
            problem = problem or failed
    assert problem is not None
    raise problem


async def _connected(address: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, (address, port))
        # Where nobody listens, the system may give a socket of the same port, which it then meets itself.
        if made.getsockname() == made.getpeername():
            raise ConnectionRefusedError(111, "nobody listens there")
    except BaseException:
        made.close()
        raise
    return made
