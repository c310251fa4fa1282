"""A port for a server that another process opens later: nobody else is given it until then."""

from __future__ import annotations

import socket


class HeldPort:
    """Bound and not listened on, in a way that lets the server bind it by its number."""

    def __init__(self) -> None:
        self._held = socket.socket()
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", 0))
        self.number: int = self._held.getsockname()[1]

    def close(self) -> None:
        self._held.close()
