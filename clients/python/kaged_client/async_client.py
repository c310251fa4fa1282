"""The asynchronous client: `AsyncKaged`."""

from __future__ import annotations

import weakref
from pathlib import Path
from types import TracebackType
from typing import Self

from kaged_client._async import AsyncTransport
from kaged_client._async_stream import AsyncEventStream
from kaged_client._call import Call, Settings, part
from kaged_client._generated.async_resources import AsyncResources
from kaged_client._generated.models import UploadAnswer
from kaged_client._position import Position, Snapshots
from kaged_client.async_session import AsyncSession
from kaged_client.client import RETRY_SECONDS, TIMEOUT_SECONDS


class AsyncKaged(AsyncResources):
    """A client of one daemon. Close it, or use it in a `async with` statement.

    Every operation is a method of a resource: `await kaged.sessions.create(...)`. Requests and streams
    survive a lost connection and a restarted daemon for `retry_seconds`. A request is repeated only when that
    has no second effect: an `Idempotency-Key`, made for each call, ensures it. `timeout` is how long one
    answer may take, in seconds."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:7777",
        *,
        token: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self.settings = Settings.checked(url, token, timeout, retry_seconds)
        self.transport = AsyncTransport(self.settings)
        self.transport.make_session = lambda data: AsyncSession(self, data)
        self._streams: weakref.WeakSet[AsyncEventStream] = weakref.WeakSet()
        super().__init__(self.transport)

    def __repr__(self) -> str:
        return f"AsyncKaged({self.settings.url!r})"

    def events(self, *, timeout: float | None = None) -> AsyncEventStream:
        """Follow the state changes of all sessions, without end. Events during a lost connection are not
        replayed; a `sync` event marks each connection: read there what may have changed."""
        return self.follow("/api/v1/ws", None, timeout)

    def follow(
        self, path: str, after_seq: int | None, timeout: float | None, snapshots: Snapshots = "missed"
    ) -> AsyncEventStream:
        """Follow a WebSocket by its path; `AsyncSession.events` and `events` do it."""
        return AsyncEventStream(self.settings, path, Position(after_seq, timeout, snapshots), self._streams)

    async def upload(self, project_id: str, path: Path | str) -> UploadAnswer:
        """Upload a file for a form, an issue or a workflow."""
        file = Path(path)
        return await self.uploads.upload_file(file, project_id=project_id, name=file.name)

    async def download(self, upload_id: str, to: Path | str) -> int:
        """Write the content of an upload to a file; return its size."""
        return await self.transport.download(
            Call("GET", f"/api/v1/uploads/{part(upload_id)}/content"), Path(to)
        )

    async def export(self, session_id: str, to: Path | str) -> int:
        """Write the export of a session to a file; return its size."""
        return await self.transport.download(
            Call("GET", f"/api/v1/sessions/{part(session_id)}/export"), Path(to)
        )

    async def close(self) -> None:
        """Close the connections and end all streams. Runs continue."""
        for stream in list(self._streams):
            await stream.close()
        await self.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
