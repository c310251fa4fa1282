"""debugpy's adapter, without the pause of 40 ms before each answer of the program.

Owns: how the adapter reads from the debugged program. The program's side sends the head and the body of
a message apart and leaves Nagle's algorithm on, so that the body waits until the head is acknowledged,
and Linux puts that off for 40 ms: a stop with its place and its variables takes 180 ms instead of 5.
Here what was received is acknowledged at once. Never: anything else of this package. It is run as a
file, with `-P`, by the interpreter that has debugpy.
"""

from __future__ import annotations

import contextlib
import runpy
import socket
import sys
from typing import Any

CHUNK_BYTES = 64 * 1024

_usual_stream = socket.socket.makefile


class PromptStream(socket.SocketIO):
    """A stream over a connection that acknowledges what it receives at once."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection, "rwb")
        self._connection = connection
        self._received = b""

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return the next line with its end; what is left before the end of the stream; nothing at it."""
        while b"\n" not in self._received:
            more = self._receive()
            if not more:
                break
            self._received += more
        return self._take(self._received.find(b"\n") + 1 or len(self._received))

    def read(self, size: int = -1, /) -> bytes:
        """Return at least one byte and at most `size`; nothing at the end of the stream."""
        if not self._received:
            self._received = self._receive()
        return self._take(size if size >= 0 else len(self._received))

    def _take(self, count: int) -> bytes:
        taken, self._received = self._received[:count], self._received[count:]
        return taken

    def _receive(self) -> bytes:
        received = self._connection.recv(CHUNK_BYTES)
        # The system forgets it with the next packet that is sent, therefore each time.
        with contextlib.suppress(OSError):
            self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return received


def _stream(connection: socket.socket, mode: str = "r", buffering: int | None = None, **others: Any) -> Any:
    """Stand in for `socket.makefile`: debugpy's conversations are over unbuffered streams of both ways."""
    if mode != "rwb" or buffering != 0:
        return _usual_stream(connection, mode, buffering, **others)  # type: ignore[call-overload]
    stream = PromptStream(connection)
    connection._io_refs += 1  # type: ignore[attr-defined]  # as `makefile` counts its streams
    return stream


def main() -> None:
    if hasattr(socket, "TCP_QUICKACK"):
        socket.socket.makefile = _stream  # type: ignore[assignment]
    sys.argv[0] = "debugpy.adapter"
    runpy.run_module("debugpy.adapter", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
