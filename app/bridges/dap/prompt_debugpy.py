"""debugpy's adapter, without the pause of 40 ms before each answer of the program, and without the minute
that it waits for a program that is dead.

Owns: how the adapter reads from the debugged program, and how it waits for one. The program's side sends
the head and the body of a message apart and leaves Nagle's algorithm on, so that the body waits until the
head is acknowledged, and Linux puts that off for 40 ms: a stop with its place and its variables takes 180 ms
instead of 5. Here what was received is acknowledged at once. An interpreter that cannot start connects to
nobody; here its end is noticed. Never: anything else of this package. It is run as a file, with `-P`, by the
interpreter that has debugpy.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import runpy
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

CHUNK_BYTES = 64 * 1024
MAX_LAST_WORDS = 4_000
LAST_WORDS_SECONDS = 0.5
"""How long the output of a launcher may follow its end, when something else keeps it open."""
LOOK_SECONDS = 0.05
LET_IN_SECONDS = 0.001
"""How long the launcher's messages are let in, each time that is looked."""

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


class Launch:
    """The launch of a program by the adapter's own launcher, which the program's interpreter runs."""

    def __init__(self, subprocess: Any, session: Any, request: Any) -> None:
        self._subprocess = subprocess
        self._session = session
        self._request = request
        self._thread = threading.get_ident()
        self._words = bytearray()
        self._code: int | None = None

    def Popen(self, command: Any, **named: Any) -> Any:  # noqa: N802  (as the adapter calls it)
        """Start the launcher, and notice its end."""
        output = {"stdout": self._subprocess.PIPE, "stderr": self._subprocess.STDOUT}
        process = self._subprocess.Popen(command, **{**named, **output})
        reading = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
        reading.start()
        threading.Thread(target=self._wait, args=(process, reading), daemon=True).start()
        return process

    def refuse_if_over(self) -> bool:
        """Raise the error that answers the launch, once the program or its launcher has ended."""
        launcher, client = self._session.launcher, self._session.client
        code = launcher.exit_code if launcher else None
        if threading.get_ident() != self._thread or (code is None and self._code is None):
            return False
        for event in getattr(client, "_deferred_events", None) or ():
            if event.event == "output":
                client.channel.propagate(event)
        if code is None:
            text = self._words.decode("utf-8", "replace")
            client.channel.send_event("output", {"category": "stderr", "output": text})
        client.channel.send_event("exited", {"exitCode": self._code if code is None else code})
        raise self._request.cant_handle("the program ended before it could be debugged")

    def _read(self, stream: Any) -> None:
        while chunk := stream.read1(CHUNK_BYTES):
            self._words += chunk
            del self._words[:-MAX_LAST_WORDS]

    def _wait(self, process: Any, reading: threading.Thread) -> None:
        code = process.wait()
        reading.join(LAST_WORDS_SECONDS)
        self._code = code if code >= 0 else 128 - code
        self._session.notify_changed()


def _notice_ends() -> None:
    """Have the adapter answer a launch as soon as the program is dead, or what starts it. By itself it waits
    a minute for each of them to connect, without a look at their processes."""
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (as the adapter does before it loads these)
    launchers: Any = importlib.import_module("debugpy.adapter.launchers")
    servers: Any = importlib.import_module("debugpy.adapter.servers")
    subprocess, spawn, connection = (
        launchers.subprocess,
        launchers.spawn_debuggee,
        servers.wait_for_connection,
    )

    def spawned(session: Any, request: Any, *given: Any, **named: Any) -> Any:
        launch, wait_for = Launch(subprocess, session, request), session.wait_for

        def told(predicate: Callable[[], Any], timeout: float | None = None) -> Any:
            return wait_for(lambda: predicate() or launch.refuse_if_over(), timeout)

        def connected(of: Any, predicate: Callable[[Any], bool], timeout: float | None = None) -> Any:
            if of is not session:
                return connection(of, predicate, timeout)
            until = None if timeout is None else time.monotonic() + timeout
            while (found := connection(session, predicate, 0)) is None:
                launch.refuse_if_over()
                if until is not None and time.monotonic() > until:
                    break
                servers._connections_changed.wait(LOOK_SECONDS)
                with session:  # which is locked all the time that this waits
                    session._changed_condition.wait(LET_IN_SECONDS)
            return found

        session.wait_for, launchers.subprocess, servers.wait_for_connection = told, launch, connected
        try:
            return spawn(session, request, *given, **named)
        finally:
            del session.wait_for
            launchers.subprocess, servers.wait_for_connection = subprocess, connection

    launchers.spawn_debuggee = spawned


def main() -> None:
    if hasattr(socket, "TCP_QUICKACK"):
        socket.socket.makefile = _stream  # type: ignore[assignment]
    sys.argv[0] = "debugpy.adapter"
    _notice_ends()
    runpy.run_module("debugpy.adapter", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
