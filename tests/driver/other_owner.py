"""A server that stands for another daemon, which owns a project: it notes the bytes that it is sent, and
answers with those of the test.

Owns: the socket, and the rows by which a daemon takes the server for the owner. Never: any rule of HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import text

from app.ids import new_id, now_ms
from app.storage.models import Project
from app.storage.repositories.leases import Owner
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

Talk = Callable[["Call"], Awaitable[None]]


@dataclass
class Call:
    """One connection: `head` and `body` are what was sent, `left` is set once the other side has closed."""

    writer: asyncio.StreamWriter
    head: list[bytes]
    body: bytes
    left: asyncio.Event = field(default_factory=asyncio.Event)

    def header(self, name: str) -> str | None:
        values = [
            line.partition(b": ")[2]
            for line in self.head[1:]
            if line.lower().startswith(name.encode() + b":")
        ]
        return None if not values else ", ".join(value.decode("latin-1") for value in values)

    async def say(self, status: str, body: bytes, *headers: str, whole: bool = True) -> None:
        """Answer as a kaged daemon does; not `whole`: one byte more is announced than is sent."""
        lines = [f"HTTP/1.1 {status}", f"content-length: {len(body) + (not whole)}", *headers]
        lines.append(f"x-request-id: {self.header('x-request-id')}")
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await self.writer.drain()


class OtherOwner:
    """Use `running`. `talk` is what it does with each request."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.connections = 0
        self.talk: Talk = lambda call: call.say("200 OK", b"{}", "content-type: application/json")
        self.url = ""
        self.project_id = ""

    async def owns(self, storage: Storage, root: Path) -> str:
        """Store a project as one that this server owns, for as long as the test lasts; return its id."""
        at, project_id = now_ms(), new_id("prj")
        row = Project(id=project_id, root=str(root), slug="shop", created_at=at, loaded_at=at)
        url = self.url

        def store(uow: UnitOfWork) -> None:
            uow.projects.add(row)
            assert uow.leases.take(project_id, Owner(new_id("dmn"), url), "marker") is not None
            lasting = text("UPDATE project_leases SET expires_at = :at WHERE project_id = :id")
            uow.connection.execute(lasting, {"at": at + 86_400_000, "id": project_id})

        await storage.write(store, durable=True)
        self.project_id = project_id
        return project_id

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[:-2]
            call = Call(writer, head, b"")
            call.body = await _body(call, reader)
        except asyncio.IncompleteReadError:
            writer.close()
            return
        self.calls.append(call)
        watching = asyncio.create_task(_until_closed(reader, call))
        try:
            await self.talk(call)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            writer.close()


async def _body(call: Call, reader: asyncio.StreamReader) -> bytes:
    if call.header("transfer-encoding") != "chunked":
        return await reader.readexactly(int(call.header("content-length") or 0))
    found = b""
    while size := int(await reader.readline(), 16):
        found += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return found


async def _until_closed(reader: asyncio.StreamReader, call: Call) -> None:
    with suppress(OSError):
        await reader.read(1)
    call.left.set()


@asynccontextmanager
async def running_owner() -> AsyncIterator[OtherOwner]:
    owner = OtherOwner()
    server = await asyncio.start_server(owner.serve, "127.0.0.1", 0)
    owner.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield owner
