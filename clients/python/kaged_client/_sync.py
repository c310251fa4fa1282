"""Requests of the synchronous client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2

from kaged_client._answer import client_options, decoded, may_repeat, pause_after, refusal, unreachable
from kaged_client._call import Attempts, Call, Settings
from kaged_client._model import Model
from kaged_client._pages import Items

if TYPE_CHECKING:
    from kaged_client.session import Session

M = TypeVar("M", bound=Model)
_PIECE_BYTES = 256 * 1024


class Transport:
    """Sends calls, and repeats those that may be repeated."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.make_session: Callable[[dict[str, Any]], Session] | None = None
        """What binds a session to its client; the client sets it."""
        self._http = httpx2.Client(**client_options(settings))

    def close(self) -> None:
        self._http.close()

    def send(self, call: Call) -> httpx2.Response:
        """Return the answer. Raises `ApiError` or `ConnectionFailed`."""
        headers, attempts = call.headers(), Attempts(self.settings.retry_seconds)
        while True:
            try:
                response = self._http.request(
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
            time.sleep(pause)

    def download(self, call: Call, to: Path) -> int:
        """Write an answer to a file; return its size. The file appears when it is complete."""
        draft, size = to.with_name(f"{to.name}.part"), 0
        try:
            with self._http.stream(call.method, call.path, params=call.parameters()) as response:
                if response.status_code >= 400:
                    response.read()
                    raise refusal(response) or AssertionError
                with draft.open("wb") as file:
                    for piece in response.iter_bytes():
                        size += file.write(piece)
            draft.replace(to)
        except httpx2.TransportError as failure:
            raise unreachable(self.settings, failure) from None
        finally:
            draft.unlink(missing_ok=True)
        return size

    def model(self, call: Call, cls: type[M]) -> M:
        return cls.from_json(decoded(self.send(call)))

    def session(self, call: Call) -> Session:
        assert self.make_session is not None
        return self.make_session(decoded(self.send(call)))

    def either(self, call: Call, classes: Mapping[int, type[Any]]) -> Any:
        response = self.send(call)
        return classes[response.status_code].from_json(decoded(response))

    def mapping(self, call: Call) -> dict[str, Any]:
        answer: dict[str, Any] = decoded(self.send(call))
        return answer

    def text(self, call: Call) -> str:
        return self.send(call).text

    def data(self, call: Call) -> bytes:
        return self.send(call).content

    def nothing(self, call: Call) -> None:
        self.send(call)

    def items(self, call: Call, cls: type[M]) -> Items[M]:
        return Items(self.mapping, call, cls)


def _body(call: Call) -> bytes | Iterator[bytes] | None:
    if isinstance(call.content, Path):
        return _pieces(call.content)
    return call.content if call.content is not None else call.encoded()


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece
