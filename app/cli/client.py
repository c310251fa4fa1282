"""A client of the daemon: REST requests, and the frames of a session over reconnects.

Owns: the two protocols as commands use them. Never: arguments or terminal output.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from app.cli.daemon_address import DaemonAddress, path_part
from app.cli.output import CommandFailed

_COMMANDS = {
    "GET /api/v1/workflow-runs": "`kaged runs list` lists those there are.",
    "POST /api/v1/projects/load": "`kaged send --project FOLDER` does.",
    "PATCH /api/v1/sessions/{session_id}": "`kaged send --issue N` begins a bound one.",
}
"""What does in a terminal what a route does that an error names in `details.route`."""


def with_command(message: str, details: Mapping[str, Any]) -> str:
    """Return a message of the daemon, with the command that helps where there is one."""
    return f"{message} {_COMMANDS.get(str(details.get('route')), '')}".rstrip()


API = "/api/v1"
MAX_FRAME_BYTES = 16 * 1024 * 1024
RECONNECT_SECONDS = 30.0
RECONNECT_PAUSE_SECONDS = 0.1
_PAGE = 100
_UNNUMBERED = frozenset({"sync", "resync", "heartbeat", "message.snapshot"})
_FINAL_CLOSE_CODES = {
    4401: ("unauthenticated", "the daemon does not accept the token"),
    4403: ("forbidden", "the daemon refuses this client"),
    4404: ("not_found", "there is no such session"),
}


@dataclass(frozen=True, slots=True)
class ReceivedFrame:
    """One frame: the exact text that came, and its parts."""

    text: str
    seq: int
    type: str
    payload: dict[str, Any]
    run_id: str | None
    agent_path: str | None

    @property
    def of_subagent(self) -> bool:
        """Whether the frame is about a subagent."""
        return self.agent_path not in (None, "primary")


class DaemonClient:
    """Use as an async context manager. Every method raises `CommandFailed` with the daemon's words."""

    def __init__(
        self, find: Callable[[], DaemonAddress], *, keeps_connections: bool = True, seconds: float = 60.0
    ) -> None:
        """`find` is called at the first request. A client that lives long and rests between requests keeps no
        connections, since the daemon closes idle ones. `seconds` is how long an answer may take."""
        self._find, self._seconds = find, seconds
        self._limits = httpx2.Limits(max_keepalive_connections=None if keeps_connections else 0)

    @functools.cached_property
    def _address(self) -> DaemonAddress:
        return self._find()

    @functools.cached_property
    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._address.token}"} if self._address.token else {}

    @functools.cached_property
    def _http(self) -> httpx2.AsyncClient:
        return self._client(self._seconds)

    def _client(self, seconds: float | None) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            base_url=self._address.url,
            headers=self._headers,
            timeout=httpx2.Timeout(seconds, connect=5.0),
            limits=self._limits,
            trust_env=False,
            # Loading certificates takes tens of milliseconds: only for a daemon that speaks TLS.
            verify=not self._address.url.startswith("http:"),
        )

    async def __aenter__(self) -> DaemonClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        if "_http" in vars(self):
            await self._http.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        content: bytes | AsyncIterator[bytes] | None = None,
        content_type: str = "application/jsonl",
        params: Mapping[str, Any] | None = None,
        seconds: float | None = None,
    ) -> Any:
        """Send one request below `/api/v1` and return the decoded answer (None when it is empty). `seconds`
        is how long the answer may take, where that is not as usual."""
        headers = {}
        if body is not None:
            content = _encoded(body)
            headers["content-type"] = "application/json"
        elif content is not None:
            headers["content-type"] = content_type
        try:
            response = await self._http.request(
                method,
                _api_path(path),
                content=content,
                params=_present(params),
                headers=headers,
                timeout=httpx2.Timeout(self._seconds if seconds is None else seconds, connect=5.0),
            )
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error
        if response.status_code >= 400:
            raise _refusal(response.status_code, response.content)
        return orjson.loads(response.content) if response.content else None

    async def readiness(self) -> dict[str, Any]:
        """Return the answer of `/readyz`, also of a daemon that is not ready."""
        try:
            response = await self._http.get("/readyz")
            answer: Any = orjson.loads(response.content)
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error
        except orjson.JSONDecodeError:
            answer = {}
        if not isinstance(answer, dict) or not isinstance(answer.get("checks"), dict):
            raise CommandFailed("unreachable", f"no daemon of kaged answers at {self._address.url}")
        return dict(answer)

    def patient(self) -> httpx2.AsyncClient:
        """Return another client of this daemon, for answers that take as long as their work; close it."""
        return self._client(None)

    async def items(
        self, path: str, *, params: Mapping[str, Any] | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield every item of a list, page by page."""
        cursor: str | None = None
        while True:
            page = await self.request(
                "GET", path, params={**(params or {}), "limit": _PAGE, "cursor": cursor}
            )
            for item in page["items"]:
                yield item
            cursor = page["next_cursor"]
            if cursor is None:
                return

    async def whole_list(self, path: str) -> dict[str, Any]:
        """Return a whole list in the shape of one page."""
        items = [item async for item in self.items(path)]
        return {"items": items, "next_cursor": None, "total": len(items)}

    async def download(
        self, path: str, params: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the body of an answer piece by piece."""
        try:
            async with self._http.stream("GET", _api_path(path), params=_present(params)) as response:
                if response.status_code >= 400:
                    raise _refusal(response.status_code, await response.aread())
                async for chunk in response.aiter_bytes():
                    yield chunk
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error

    async def frames(
        self, session_id: str, *, after_seq: int, reconnect_seconds: float = RECONNECT_SECONDS
    ) -> AsyncGenerator[ReceivedFrame, None]:
        """Yield a session's frames after `after_seq`, for ever; a lost connection resumes where it broke.
        Each connection begins with the text so far of every message in flight."""
        last_seq = after_seq
        while True:
            socket = await self._connect(session_id, last_seq, reconnect_seconds)
            try:
                async for text in socket:
                    frame = _parse(text)
                    if frame.type not in _UNNUMBERED:
                        last_seq = max(last_seq, frame.seq)
                    yield frame
            except ConnectionClosed:
                pass  # the code says why
            finally:
                await socket.close()
            _raise_if_final(socket.close_code)
            await asyncio.sleep(RECONNECT_PAUSE_SECONDS)

    async def _connect(self, session_id: str, after_seq: int, seconds: float) -> ClientConnection:
        base = "ws" + self._address.url.removeprefix("http")
        uri = f"{base}{API}/sessions/{path_part(session_id)}/ws?after_seq={after_seq}&snapshots=all"
        deadline = asyncio.get_running_loop().time() + seconds
        pause = RECONNECT_PAUSE_SECONDS
        while True:
            try:
                return await connect(
                    uri,
                    additional_headers=self._headers,
                    max_size=MAX_FRAME_BYTES,
                    proxy=None,
                    user_agent_header=None,
                )
            except InvalidStatus as error:
                if error.response.status_code < 500:
                    raise _refusal(error.response.status_code, bytes(error.response.body or b"")) from error
                failure: Exception = error
            except (OSError, TimeoutError, WebSocketException) as error:
                failure = error
            if asyncio.get_running_loop().time() + pause > deadline:
                raise self._unreachable(failure) from failure
            await asyncio.sleep(pause)
            pause = min(pause * 2, 2.0)

    def _unreachable(self, error: Exception) -> CommandFailed:
        return CommandFailed(
            "unreachable",
            f"the daemon at {self._address.url} does not answer ({type(error).__name__}); is it running?",
        )


def _api_path(path: str) -> str:
    """Return the whole path of a route. Raises `CommandFailed` for one that would lead to another route."""
    for part in path.split("/")[1:]:
        path_part(part)
    return API + path


def _parse(text: str | bytes) -> ReceivedFrame:
    data = orjson.loads(text)
    return ReceivedFrame(
        text=text if isinstance(text, str) else text.decode(),
        seq=int(data.get("seq", 0)),
        type=str(data.get("type", "")),
        payload=data.get("payload") or {},
        run_id=data.get("run_id"),
        agent_path=data.get("agent_path"),
    )


def _encoded(body: Any) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError as error:  # bytes of an argument or a file that are no text
        raise CommandFailed(
            "usage", f"the input is not UTF-8 text ({error}); convert it first", exit_code=2
        ) from error


def _refusal(status: int, body: bytes) -> CommandFailed:
    try:
        error = orjson.loads(body)["error"]
        code, message, details = str(error["code"]), str(error["message"]), error.get("details") or {}
    except (orjson.JSONDecodeError, KeyError, TypeError):
        code, message, details = "failed", f"the daemon answered with status {status}", {}
    message = with_command(message, details)
    if status == 401:
        message += " Set a token with --token, or the data folder of the daemon with --data-dir."
    return CommandFailed(code, message, details=details)


def _raise_if_final(close_code: int | None) -> None:
    if close_code in _FINAL_CLOSE_CODES:
        code, message = _FINAL_CLOSE_CODES[close_code]
        raise CommandFailed(code, message)


def _present(params: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (params or {}).items() if value is not None}
