"""A debug client with nothing but the protocol: blocking streams and the standard library.

`debug` is measured against it: it starts an adapter, launches a program in it, waits for the stop, requests
the place and the locals, and does nothing else.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

PATIENCE_SECONDS = 30.0
_CAPABILITIES = {
    "clientID": "bench",
    "adapterID": "bench",
    "pathFormat": "path",
    "linesStartAt1": True,
    "columnsStartAt1": True,
    "supportsVariableType": True,
    "supportsRunInTerminalRequest": False,
    "supportsStartDebuggingRequest": True,
}


class Channel:
    """One conversation with an adapter, over its streams or a connection."""

    def __init__(self, into: IO[bytes], from_: IO[bytes]) -> None:
        self._into, self._from = into, from_
        self._number = 0
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[int, dict[str, Any]] = {}
        self.children: list[dict[str, Any]] = []

    def send(self, command: str, arguments: Mapping[str, Any]) -> int:
        """Send a request and return its number."""
        self._number += 1
        message = {"seq": self._number, "type": "request", "command": command, "arguments": dict(arguments)}
        self._write(message)
        return self._number

    def answer(self, number: int) -> dict[str, Any]:
        """Wait for the answer to the request with this number and return its body."""
        self._until(lambda: number in self.answers)
        message = self.answers.pop(number)
        if not message.get("success"):
            raise RuntimeError(f"{message.get('command')}: {message.get('message')}")
        body: dict[str, Any] = message.get("body") or {}
        return body

    def ask(self, command: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self.answer(self.send(command, arguments))

    def wait(self, event: str) -> dict[str, Any]:
        """Wait for an event, forget what came before it, and return its body."""
        self._until(lambda: any(name == event for name, _ in self.events))
        while True:
            name, body = self.events.pop(0)
            if name == event:
                return body

    def wait_for_child(self) -> dict[str, Any]:
        """Wait until the adapter asks for another session; return what that is to be launched with."""
        self._until(lambda: bool(self.children))
        return self.children.pop(0)

    def close(self) -> None:
        self._into.close()
        self._from.close()

    def _until(self, done: Callable[[], bool]) -> None:
        while not done():
            self._take(self._read())

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "event":
            self.events.append((message["event"], message.get("body") or {}))
        elif message["type"] == "response":
            self.answers[message["request_seq"]] = message
        else:
            if message["command"] == "startDebugging":
                self.children.append(message["arguments"])
            self._number += 1
            self._write(
                {
                    "seq": self._number,
                    "type": "response",
                    "request_seq": message["seq"],
                    "command": message["command"],
                    "success": message["command"] == "startDebugging",
                    "body": {},
                }
            )

    def _write(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        self._into.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._into.flush()

    def _read(self) -> dict[str, Any]:
        length = 0
        while (line := self._from.readline()).strip() or not length:
            if not line:
                raise RuntimeError("the adapter has ended")
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                length = int(value)
        message: dict[str, Any] = json.loads(self._from.read(length))
        return message


class RawDebugger:
    """One adapter with one program in it; the session that stops is a child's where the adapter has such."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        cwd: Path,
        *,
        port_pattern: str = "",
        child_sessions: bool = False,
    ) -> None:
        """Start the adapter. With a `port_pattern` it prints the port that it listens on (the pattern's group
        `port`), else it speaks over its streams."""
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._port = self._announced(port_pattern) if port_pattern else None
        self._child_sessions = child_sessions
        self._channels = [self._connected()]
        self.channel = self._channels[0]
        self.thread = 0

    def launch(self, configuration: Mapping[str, Any], stop_at: tuple[Path, int] | None = None) -> None:
        """Launch a program and wait until it has stopped, at its entry or at one line.

        `configuration` has the arguments of the request `launch` as the adapter takes them.
        """
        self._handshake(self._channels[0], "launch", configuration, stop_at)
        if self._child_sessions:
            child = self._channels[0].wait_for_child()
            self._channels.append(self._connected())
            self.channel = self._channels[-1]
            self._handshake(self.channel, child["request"], child["configuration"], stop_at)
        self._stopped()

    def forget_breakpoints(self, path: Path) -> None:
        """Remove all breakpoints of a file."""
        self.channel.ask("setBreakpoints", {"source": {"path": str(path)}, "breakpoints": []})

    def step(self) -> None:
        """Step over one line and wait for the stop."""
        self.channel.ask("next", {"threadId": self.thread})
        self._stopped()

    def look(self) -> tuple[int, int]:
        """Ask where the program stands and for its locals; return the line and the number of locals."""
        asked = {"threadId": self.thread, "startFrame": 0, "levels": 1}
        frame = self.channel.ask("stackTrace", asked)["stackFrames"][0]
        scopes = self.channel.ask("scopes", {"frameId": frame["id"]})["scopes"]
        reference = scopes[0]["variablesReference"]
        found = self.channel.ask("variables", {"variablesReference": reference})["variables"]
        return frame["line"], len(found)

    def close(self) -> None:
        """End the adapter, and with it the program."""
        with contextlib.suppress(OSError, RuntimeError):  # it has ended already, or refuses
            self.channel.ask("disconnect", {"terminateDebuggee": True})
        self._process.kill()
        self._process.wait()
        for channel in self._channels:
            channel.close()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _announced(self, pattern: str) -> int:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            found = re.search(pattern, line.decode())
            if found is not None:
                return int(found["port"])
        raise RuntimeError("the adapter has ended without saying where it listens")

    def _connected(self) -> Channel:
        if self._port is None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            return Channel(self._process.stdin, self._process.stdout)
        with socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE_SECONDS) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return Channel(connection.makefile("wb"), connection.makefile("rb"))

    def _handshake(
        self,
        channel: Channel,
        request: str,
        configuration: Mapping[str, Any],
        stop_at: tuple[Path, int] | None,
    ) -> None:
        channel.ask("initialize", _CAPABILITIES)
        launched = channel.send(request, configuration)
        channel.wait("initialized")
        if stop_at is not None:
            path, line = stop_at
            channel.ask("setBreakpoints", {"source": {"path": str(path)}, "breakpoints": [{"line": line}]})
        channel.ask("configurationDone", {})
        channel.answer(launched)

    def _stopped(self) -> None:
        self.thread = self.channel.wait("stopped")["threadId"]
