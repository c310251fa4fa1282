"""A real local HTTP server that speaks the providers' wire protocols from a script.

Owns: sockets, HTTP/1.1 with keep-alive, what was received and when connections ended. Never: a
provider's JSON (each `wire_*` module has `handles(path)` and `frames(reply, request)`).

In tests: `async with FakeProvider() as fake: fake.script(Reply(...))`, then point a provider at
`fake.base_url`. For benches and kill tests: `python -m tests.fakes.provider_server --port 0
--loop file.read:README.md --turns 20`, which prints `{"port": N}` and answers each request with one
tool call, and each 21st with text. It is light on purpose: what is measured is the client.
"""

from __future__ import annotations

import asyncio
import importlib
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol

import click
import orjson

from tests.fakes.provider_script import (
    Answer,
    Control,
    Delay,
    Disconnect,
    Document,
    Hold,
    RecordedRequest,
    Reply,
    Responder,
    Stall,
    ToolCall,
    text_reply,
)

_WIRE_MODULES = {
    "/chat/completions": "tests.fakes.wire_openai",
    "/responses": "tests.fakes.wire_openai_responses",
    "/messages": "tests.fakes.wire_anthropic",
    "GenerateContent": "tests.fakes.wire_google",
}


class Wire(Protocol):
    """What a `wire_*` module offers. `frames` yields server-sent events as bytes, and passes the
    script's `Control` parts through where they stand."""

    @staticmethod
    def frames(reply: Reply, request: RecordedRequest) -> Iterator[bytes | Control]: ...


def wire_for(path: str) -> Wire | None:
    """Return the wire module that speaks the protocol of `path`."""
    bare = path.partition("?")[0]
    for ending, module in _WIRE_MODULES.items():
        if bare.endswith(ending):
            return importlib.import_module(module)  # type: ignore[return-value]
    return None


class FakeProvider:
    """The server. Answers come from the queue (`script`), then from `respond`, then as a plain
    500 that says the script is empty."""

    def __init__(self, respond: Responder | None = None, *, keep_requests: int | None = None) -> None:
        self.respond = respond
        self.requests: deque[RecordedRequest] = deque(maxlen=keep_requests)
        self.request_count = 0
        self.connection_count = 0
        self.disconnects: list[float] = []
        self.models: tuple[str, ...] = ("model-a", "model-b")
        self._queue: deque[Answer | Responder] = deque()
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()
        self._changed = asyncio.Event()

    async def __aenter__(self) -> FakeProvider:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self, port: int = 0) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", port)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in tuple(self._connections):
            connection.abort()
        while self._connections:
            await self.changed()

    @property
    def port(self) -> int:
        assert self._server is not None, "the server is not running"
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def script(self, *answers: Answer | Responder) -> None:
        """Queue answers, one for each coming request."""
        self._queue.extend(answers)

    async def changed(self) -> None:
        """Wait until a request arrived or a connection ended."""
        self._changed.clear()
        await self._changed.wait()

    async def until_requests(self, count: int, seconds: float = 45.0) -> None:
        """Wait until `count` requests have arrived in all."""
        async with asyncio.timeout(seconds):
            while self.request_count < count:
                await self.changed()

    async def until_disconnects(self, count: int = 1, seconds: float = 45.0) -> float:
        """Wait until `count` clients left in the middle of an answer; return the (monotonic) time
        of the last one."""
        async with asyncio.timeout(seconds):
            while len(self.disconnects) < count:
                await self.changed()
        return self.disconnects[count - 1]

    def answer(self, request: RecordedRequest) -> Answer:
        self.request_count += 1
        self.requests.append(request)
        self._changed.set()
        if request.method == "GET":
            return self._get(request)
        answer = self._queue.popleft() if self._queue else self.respond
        if answer is None:
            return Document(500, {"error": {"message": "the fake provider's script is empty"}})
        return answer if isinstance(answer, Reply | Document) else answer(request)

    def opened(self, connection: _Connection) -> None:
        self.connection_count += 1
        self._connections.add(connection)

    def closed(self, connection: _Connection, *, during_answer: bool) -> None:
        self._connections.discard(connection)
        if during_answer:
            self.disconnects.append(time.monotonic())
        self._changed.set()

    def _get(self, request: RecordedRequest) -> Document:
        if request.path == "/_fake/stats":
            return Document(200, {"requests": self.request_count, "connections": self.connection_count})
        if not request.path.partition("?")[0].endswith("/models"):
            return Document(404, {"error": {"message": f"nothing at {request.path}"}})
        if "x-goog-api-key" in request.headers:
            return Document(200, {"models": [{"name": f"models/{name}"} for name in self.models]})
        return Document(200, {"object": "list", "data": [{"id": name} for name in self.models]})


class _Connection(asyncio.Protocol):
    """One client connection: reads requests one after the other and plays each answer."""

    def __init__(self, server: FakeProvider) -> None:
        self._fake = server
        self._buffer = bytearray()
        self._needed = 0
        self._transport: asyncio.Transport | None = None
        self._playing: asyncio.Task[None] | None = None
        self._leaving = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._fake.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        playing = self._playing is not None and not self._playing.done()
        if self._playing is not None and playing:
            self._playing.cancel()
        self._fake.closed(self, during_answer=playing and not self._leaving)

    def abort(self) -> None:
        self._leaving = True
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= self._needed and (request := self._take_request()) is not None:
            self._start(request)

    def _take_request(self) -> RecordedRequest | None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        first, *lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self._needed = end + 4 + int(headers.get("content-length", "0"))
        if len(self._buffer) < self._needed:
            return None
        body = bytes(memoryview(self._buffer)[end + 4 : self._needed])
        del self._buffer[: self._needed]
        self._needed = 0
        method, path, _ = first.split(" ", 2)
        return RecordedRequest(method, path, headers, body, time.monotonic())

    def _start(self, request: RecordedRequest) -> None:
        answer = self._fake.answer(request)
        wire = wire_for(request.path)
        if isinstance(answer, Document):
            self._send_document(answer)
        elif wire is None:
            self._send_document(Document(404, {"error": {"message": f"no wire protocol at {request.path}"}}))
        else:
            self._send_stream(answer, wire.frames(answer, request))

    def _send_document(self, document: Document) -> None:
        body, media_type = document.encoded()
        headers = {"content-type": media_type, **document.headers, "content-length": str(len(body))}
        self._write(_head(document.status, headers) + body)

    def _send_stream(self, reply: Reply, frames: Iterator[bytes | Control]) -> None:
        headers = {"content-type": "text/event-stream", **reply.headers, "transfer-encoding": "chunked"}
        waiting = [_head(200, headers)]
        for frame in frames:
            if isinstance(frame, bytes):
                waiting.append(b"%x\r\n%b\r\n" % (len(frame), frame))
                continue
            self._write(b"".join(waiting))
            self._playing = asyncio.get_running_loop().create_task(self._play(frame, frames))
            return
        self._write(b"".join(waiting) + b"0\r\n\r\n")

    async def _play(self, control: Control, frames: Iterator[bytes | Control]) -> None:
        await self._obey(control)
        for frame in frames:
            if self._leaving:
                return
            if isinstance(frame, bytes):
                self._write(b"%x\r\n%b\r\n" % (len(frame), frame))
            else:
                await self._obey(frame)
        if not self._leaving:
            self._write(b"0\r\n\r\n")

    async def _obey(self, control: Control) -> None:
        match control:
            case Hold():
                await control.gate.wait()
            case Delay(seconds):
                await asyncio.sleep(seconds)
            case Stall():
                await asyncio.Event().wait()
            case Disconnect():
                self._leaving = True
                if self._transport is not None:
                    self._transport.close()

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def loop_responder(call: str, turns: int) -> Responder:
    """Return a responder that asks for `file.read:PATH` again and again: `turns` tool calls, then
    one text answer, and so on. The request body is not even parsed."""
    tool, _, path = call.partition(":")
    count = 0

    def respond(_: RecordedRequest) -> Answer:
        nonlocal count
        count += 1
        if count % (turns + 1) == 0:
            return text_reply("All done.")
        arguments = {"path": path, "limit": 1000 + count % 1000}  # alike calls in a row look like a loop
        return Reply((ToolCall(tool.replace(".", "_"), arguments, id=f"call_{count}"),))

    return respond


async def _serve(port: int, respond: Responder, announce: Iterable[str]) -> None:
    fake = FakeProvider(respond, keep_requests=0)
    await fake.start(port)
    click.echo(orjson.dumps({"port": fake.port, "speaks": list(announce)}))
    await asyncio.Event().wait()


@click.command()
@click.option("--port", default=0, help="0 takes any free port.")
@click.option("--loop", "call", default="file.read:README.md", help="TOOL:PATH that every answer calls.")
@click.option("--turns", default=1_000_000_000, help="Tool calls before each text answer.")
def main(port: int, call: str, turns: int) -> None:
    """Serve until killed; the first line of output is JSON with the port."""
    asyncio.run(_serve(port, loop_responder(call, turns), _WIRE_MODULES))


if __name__ == "__main__":
    main()
