"""Requests of the asynchronous client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2

from kaged_client._answer import client_options, decoded, may_repeat, pause_after, refusal, unreachable
from kaged_client._call import Attempts, Call, Settings
from kaged_client._model import Model
from kaged_client._pages import AsyncItems

if TYPE_CHECKING:
    from kaged_client.async_session import AsyncSession

M = TypeVar("M", bound=Model)
_PIECE_BYTES = 256 * 1024


class AsyncTransport:
    """Sends calls, and repeats those that may be repeated."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.make_session: Callable[[dict[str, Any]], AsyncSession] | None = None
        """What binds a session to its client; the client sets it."""
        self._http = httpx2.AsyncClient(**client_options(settings))

    async def close(self) -> None:
        await self._http.aclose()

    async def send(self, call: Call) -> httpx2.Response:
        """Return the answer. Raises `ApiError` or `ConnectionFailed`."""
        headers, attempts = call.headers(), Attempts(self.settings.retry_seconds)
        while True:
            try:
                response = await self._http.request(
                    call.method, call.path, params=call.parameters(), content=_body(call), headers=headers
                )
            except httpx2.TransportError as failure:
                pause = attempts.pause() if may_repeat(call, failure) else None
                if pause is None:
                    raise unreachable(self.settings, failure) from None
            else:
                error = refusal(response)
                if error is None:
                    return response
                least = pause_after(call, response)
                pause = attempts.pause(least) if least is not None else None
                if pause is None:
                    raise error
            await asyncio.sleep(pause)

    async def download(self, call: Call, to: Path) -> int:
        """Write an answer to a file; return its size. The file appears when it is complete."""
        draft, size = to.with_name(f"{to.name}.part"), 0
        try:
            async with self._http.stream(call.method, call.path, params=call.parameters()) as response:
                if response.status_code >= 400:
                    await response.aread()
                    raise refusal(response) or AssertionError
                with await asyncio.to_thread(draft.open, "wb") as file:
                    async for piece in response.aiter_bytes():
                        size += await asyncio.to_thread(file.write, piece)
            await asyncio.to_thread(draft.replace, to)
        except httpx2.TransportError as failure:
            raise unreachable(self.settings, failure) from None
        finally:
            await asyncio.to_thread(draft.unlink, missing_ok=True)
        return size

    async def model(self, call: Call, cls: type[M]) -> M:
        return cls.from_json(decoded(await self.send(call)))

    async def session(self, call: Call) -> AsyncSession:
        assert self.make_session is not None
        return self.make_session(decoded(await self.send(call)))

    async def either(self, call: Call, classes: Mapping[int, type[Any]]) -> Any:
        response = await self.send(call)
        return classes[response.status_code].from_json(decoded(response))

    async def mapping(self, call: Call) -> dict[str, Any]:
        answer: dict[str, Any] = decoded(await self.send(call))
        return answer

    async def text(self, call: Call) -> str:
        return (await self.send(call)).text

    async def data(self, call: Call) -> bytes:
        return (await self.send(call)).content

    async def nothing(self, call: Call) -> None:
        await self.send(call)

    def items(self, call: Call, cls: type[M]) -> AsyncItems[M]:
        return AsyncItems(self.mapping, call, cls)


def _body(call: Call) -> bytes | AsyncIterator[bytes] | None:
    if isinstance(call.content, Path):
        return _pieces(call.content)
    return call.content if call.content is not None else call.encoded()


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    with await asyncio.to_thread(path.open, "rb") as file:
        while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
            yield piece
