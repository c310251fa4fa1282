"""Listeners that nobody may reach from a cage: they take what comes and keep it.

Owns: TCP on loopback and on the machine's own address, UDP, and unix sockets with and without a path.
Never: answering.
"""

from __future__ import annotations

import os
import secrets
import selectors
import socket
import threading
import time
from pathlib import Path

Address = tuple[str, int]


class Listeners:
    """Listening from the beginning; `hits` is whoever came, and to which of them."""

    def __init__(self, folder: Path) -> None:
        self.hits: list[str] = []
        self._selector = selectors.DefaultSelector()
        self._sockets: list[socket.socket] = []
        self.own_address = own_address()
        self.tcp = self._tcp("127.0.0.1")
        self.tcp_outward = self._tcp(self.own_address)
        self.udp = self._udp("127.0.0.1")
        self.path = folder / "listener.sock"
        self._unix(str(self.path))
        self.path.chmod(0o777)
        self.abstract = f"kaged-attack-{secrets.token_hex(6)}"
        self._unix(f"\0{self.abstract}")
        self._wake, self._waker = os.pipe()
        self._selector.register(self._wake, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _tcp(self, host: str) -> Address:
        server = socket.create_server((host, 0))
        return self._add(server, "tcp").getsockname()

    def _udp(self, host: str) -> Address:
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind((host, 0))
        return self._add(server, "udp").getsockname()

    def _unix(self, address: str) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.bind(address)
        server.listen()
        self._add(server, "unix")

    def _add(self, server: socket.socket, kind: str) -> socket.socket:
        server.setblocking(False)
        self._sockets.append(server)
        self._selector.register(server, selectors.EVENT_READ, kind)
        return server

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                server = key.fileobj
                assert isinstance(server, socket.socket)
                if key.data == "udp":
                    said, peer = server.recvfrom(2048)
                    self.hits.append(f"udp from {peer}: {said!r}")
                    continue
                connection, peer = server.accept()
                self.hits.append(f"{key.data} {server.getsockname()} from {peer}")
                connection.close()

    def settle(self, count: int, seconds: float = 30) -> None:
        """Wait until so many have come."""
        deadline = time.monotonic() + seconds
        while len(self.hits) < count and time.monotonic() < deadline:
            time.sleep(0.005)

    def close(self) -> None:
        os.write(self._waker, b"x")
        self._thread.join()
        self._selector.close()
        for one in self._sockets:
            one.close()
        os.close(self._wake)
        os.close(self._waker)


def own_address() -> str:
    """Return an address of this machine that is not loopback, or loopback where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])
