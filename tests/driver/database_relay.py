"""A network between one daemon and its database that can stall: nothing passes, and nothing is closed."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.driver.postgres import PostgresServer


class DatabaseRelay:
    """Passes bytes on in both directions while it is open. `url` is the database behind it."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.url = f"postgresql://kaged@/postgres?host={folder}&port={server.port}"
        self._name = f".s.PGSQL.{server.port}"
        self._server, self._folder = server, folder
        self._open = asyncio.Event()
        self._open.set()
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    @asynccontextmanager
    async def before(cls, server: PostgresServer) -> AsyncIterator[DatabaseRelay]:
        # Not under pytest's folder: the path of a socket may have 107 bytes.
        folder = Path(tempfile.mkdtemp(prefix="kaged-relay-", dir="/tmp"))
        relay = cls(server, folder)
        listener = await asyncio.start_unix_server(relay._accept, folder / relay._name)
        try:
            yield relay
        finally:
            listener.close()
            for task in list(relay._tasks):
                task.cancel()
            await asyncio.gather(*relay._tasks, return_exceptions=True)
            shutil.rmtree(folder, ignore_errors=True)

    def stall(self) -> None:
        self._open.clear()

    def resume(self) -> None:
        self._open.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with suppress(OSError, asyncio.CancelledError):
            await self._open.wait()
            there, back = await asyncio.open_unix_connection(self._server.folder / self._name)
            try:
                await asyncio.wait(
                    [
                        asyncio.ensure_future(self._pass_on(reader, back)),
                        asyncio.ensure_future(self._pass_on(there, writer)),
                    ],
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                back.close()
        writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                await self._open.wait()
                writer.write(data)
                await writer.drain()
