"""One provider's HTTP connection: sends sealed bytes, reads the stream, names what went wrong.

Owns: the HTTP client of one provider, its time-outs, the check of the status, transport failures as
`ProviderError`. Never: what the JSON means, repeating a call, or changing a byte of it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from app.config import ProviderSettings, url_password, without_credentials
from app.harness.providers import wire_json
from app.harness.providers.classification import provider_error, redact, shortened
from app.harness.providers.errors import ProviderError, ProviderErrorKind
from app.harness.providers.provider import WireRequest
from app.harness.providers.sse import MAX_EVENT_BYTES, EventSplitter, EventTooLarge, ServerSentEvent

log = logging.getLogger("kaged.providers")

CONNECTION_OPTIONS = frozenset(
    {"connect_timeout_seconds", "first_byte_timeout_seconds", "idle_timeout_seconds", "trust_env"}
)
"""Names of `providers.NAME.options` that every HTTP driver understands."""

MAX_ANSWER_BYTES = 128 * 1024 * 1024
"""What one answer may take on the wire, where each token can cost hundreds of bytes."""

LONGEST_BEGIN_SECONDS = 60.0
"""How long a provider may take to begin an answer, unless its options say otherwise."""

_KEEP_ALIVES = frozenset({"ping", "keepalive", "keep-alive", "heartbeat"})
_DONE = b"[DONE]"
_ERROR_BODY_LIMIT = 256 * 1024
_LOOK_BYTES = 1000
_MOST_NOTES = 100
_LONGEST_NAME = 80
_TURN_SECONDS = 0.005
"""How long one answer keeps the event loop."""
_DRAIN_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One decoded event: its SSE name (empty when the server sent none) and its JSON object."""

    name: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Look:
    """How a server answered a request without content. `is_api` is false for a page for people; `start` are
    its first words in lower case."""

    status: int
    is_api: bool
    start: str


@dataclass(slots=True)
class _Begin:
    """By when (on the loop's clock) an answer must have begun, and whether it has."""

    by: float
    seen: bool = False

    def take(self, event: StreamEvent) -> None:
        """Take an event. One that only keeps the connection alive begins no answer."""
        kind = event.name or event.payload.get("type")
        self.seen = self.seen or not isinstance(kind, str) or kind not in _KEEP_ALIVES


class Connection:
    """The HTTP side of one configured provider. Built without I/O; the client starts with the
    first call and ends with `aclose`.

    `timeout_seconds` bounds the wait for the first event and each silence after it, the first one to at
    most `LONGEST_BEGIN_SECONDS`; comments and pings that keep a connection alive begin no answer. The
    options `connect_timeout_seconds`, `first_byte_timeout_seconds` and `idle_timeout_seconds` set them
    one by one, `trust_env` allows the proxies of the environment (never for this machine itself)."""

    def __init__(self, name: str, settings: ProviderSettings, *, default_base_url: str) -> None:
        self.name = name
        self.base_url = (settings.base_url or default_base_url).rstrip("/")
        self._headers = {
            "content-type": "application/json",
            "accept-encoding": "identity",
            "user-agent": "kaged",
            **{key.lower(): value for key, value in settings.headers.items()},
        }
        key = settings.api_key.get_secret_value() if settings.api_key else ""
        private = (value for name, value in settings.headers.items() if _is_private(name))
        password = url_password(self.base_url)
        self._shown_url = without_credentials(self.base_url)
        self._secrets = tuple(value for value in (key, *private, password) if value)
        options = settings.options
        self._connect_seconds = float(options.get("connect_timeout_seconds", 10.0))
        begin = min(settings.timeout_seconds, LONGEST_BEGIN_SECONDS)
        self._first_byte_seconds = float(options.get("first_byte_timeout_seconds", begin))
        self._idle_seconds = float(options.get("idle_timeout_seconds", settings.timeout_seconds))
        self._trust_env = bool(options.get("trust_env", False)) and not _is_loopback(self.base_url)
        self._client: httpx2.AsyncClient | None = None
        self._starting = asyncio.Lock()
        self._passed_over: set[str] = set()

    async def events(
        self, wire: WireRequest, *, model: str, headers: Mapping[str, str]
    ) -> AsyncGenerator[StreamEvent, None]:
        """POST the sealed bytes and yield each event of the answer, decoded.

        `headers` carries the credential. Ends at the end of the stream or at `[DONE]`; whether the
        answer was complete is for the adapter to judge. Raises `ProviderError`. Close the
        generator (or cancel its reader) to close the connection at once.
        """
        begin = _Begin(asyncio.get_running_loop().time() + self._first_byte_seconds)
        async with self._response("POST", wire.path, wire, model, headers) as response:
            await self._refuse_unless_stream(response, model)
            splitter, loop = EventSplitter(), asyncio.get_running_loop()
            turned = loop.time()
            async with aclosing(self._chunks(response, model, begin)) as chunks:
                async for chunk in chunks:
                    for event in self._split(splitter, chunk, model):
                        # What has arrived already is read without a wait: others have their turns, too.
                        if loop.time() - turned > _TURN_SECONDS:
                            await asyncio.sleep(0)
                            turned = loop.time()
                        data = event.data.strip()
                        if data == _DONE:
                            await self._drain(chunks)
                            return
                        if data:  # an empty one keeps the connection alive
                            decoded = self._decode(event, model)
                            begin.take(decoded)
                            yield decoded
            for event in splitter.finish():
                if event.data != _DONE and _loads(event.data) is not None:
                    yield self._decode(event, model)

    async def get_json(self, path: str, *, headers: Mapping[str, str]) -> Any:
        """GET a small JSON document. Raises `ProviderError`."""
        async with self._response("GET", path, None, "", headers) as response:
            body = await self._body(response, "", 8 * 1024 * 1024)
            if response.status_code >= 300:
                raise self._answer_error(response, body, "")
        try:
            return wire_json.load(body)
        except (ValueError, RecursionError) as error:
            raise self.error("unknown", f"answered with something that is not JSON: {error}", "") from error

    async def look(self, path: str) -> Look:
        """POST an empty object without any credential and say how the server answers. Raises
        `ProviderError`."""
        async with self._response("POST", path, WireRequest(path, b"{}"), "", {}) as response:
            is_api = "html" not in response.headers.get("content-type", "").lower()
            start = await self._body(response, "", _LOOK_BYTES)
            return Look(response.status_code, is_api, start[:_LOOK_BYTES].decode("utf-8", "replace").lower())

    def pass_over(self, what: str, name: Any) -> None:
        """Note, once for each name, what of an answer is not read: a vendor may add something any day."""
        shown = redact(f"{what} {str(name)[:_LONGEST_NAME]!r}", self._secrets)
        if shown not in self._passed_over and len(self._passed_over) < _MOST_NOTES:
            self._passed_over.add(shown)
            log.info("%s sent %s, which is not read; it is passed over", self.name, shown)

    def stream_error(self, payload: Any, model: str) -> ProviderError:
        """Classify an error that arrived inside a stream (the decoded event, or its error part)."""
        return provider_error(
            provider=self.name, model=model, status=None, body=payload, secrets=self._secrets
        )

    def error(
        self, kind: ProviderErrorKind, message: str, model: str, *, status: int | None = None
    ) -> ProviderError:
        """Build an error of this provider; the credential is removed from `message`."""
        text = redact(f"{self.name}: {shortened(message)}", self._secrets)
        return ProviderError(kind, text, provider=self.name, model=model, status=status)

    def truncated(self, model: str) -> ProviderError:
        """Build the error for a stream that ended before the provider said it was complete."""
        return self.error("truncated_stream", "the stream ended without a finish reason", model)

    async def aclose(self) -> None:
        """Close all connections; a later call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @asynccontextmanager
    async def _response(
        self, method: str, path: str, wire: WireRequest | None, model: str, headers: Mapping[str, str]
    ) -> AsyncIterator[httpx2.Response]:
        client = self._client or await self._start()
        sealed = dict(wire.headers) if wire is not None else {}
        every = {**self._headers, **sealed, **headers}
        self._refuse_unsendable(every, model)
        limit = self._first_byte_seconds
        try:
            request = client.build_request(
                method, self.base_url + path, content=wire.body if wire is not None else None, headers=every
            )
            async with asyncio.timeout(limit):
                response = await client.send(request, stream=True)
        except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._translated(error, model, limit) from error
        try:
            yield response
        finally:
            await response.aclose()

    async def _start(self) -> httpx2.AsyncClient:
        async with self._starting:
            if self._client is None:
                encrypted = not self.base_url.startswith("http:")
                # Loading the certificates takes tens of milliseconds: not on the loop.
                verify = await asyncio.to_thread(httpx2.create_ssl_context) if encrypted else False
                self._client = httpx2.AsyncClient(
                    verify=verify,
                    trust_env=self._trust_env,
                    timeout=httpx2.Timeout(None, connect=self._connect_seconds, pool=self._connect_seconds),
                    limits=httpx2.Limits(
                        max_connections=None, max_keepalive_connections=32, keepalive_expiry=60.0
                    ),
                )
            return self._client

    async def _chunks(
        self, response: httpx2.Response, model: str, begin: _Begin | None = None
    ) -> AsyncGenerator[bytes, None]:
        encoded = "content-encoding" in response.headers
        source = response.aiter_bytes() if encoded else response.aiter_raw()
        limit, loop = self._first_byte_seconds, asyncio.get_running_loop()
        received = 0
        try:
            while True:
                waits = begin is not None and not begin.seen
                async with asyncio.timeout_at(begin.by if begin and waits else loop.time() + limit):
                    chunk = await anext(source, None)
                if chunk is None:
                    return
                limit = self._first_byte_seconds if waits else self._idle_seconds
                received += len(chunk)
                if received > MAX_ANSWER_BYTES:
                    raise self.error("unknown", f"sent more than {MAX_ANSWER_BYTES:,} bytes", model)
                yield chunk
        except (TimeoutError, httpx2.HTTPError, httpx2.StreamError) as error:
            raise self._translated(error, model, limit) from error

    async def _drain(self, chunks: AsyncGenerator[bytes, None]) -> None:
        # The last bytes of the HTTP message must be read for the connection to be used again.
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                async for _ in chunks:
                    pass
        except (TimeoutError, ProviderError):
            return

    def _translated(self, error: Exception, model: str, seconds: float) -> ProviderError:
        if isinstance(error, TimeoutError):
            name = "first_byte" if seconds != self._idle_seconds else "idle"
            what = f"nothing arrived for {seconds:g} s (options.{name}_timeout_seconds of the provider)"
            return self.error("network", what, model)
        what = str(error) or type(error).__name__
        if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
            return self.error("bad_request", f"base_url {self._shown_url!r} is not usable: {what}", model)
        return self.error("network", f"connection to {self._shown_url} failed: {what}", model)

    def _split(self, splitter: EventSplitter, chunk: bytes, model: str) -> list[ServerSentEvent]:
        try:
            return splitter.feed(chunk)
        except EventTooLarge:
            what = f"sent an event of more than {MAX_EVENT_BYTES:,} bytes"
            raise self.error("unknown", what, model) from None

    def _refuse_unsendable(self, headers: Mapping[str, str], model: str) -> None:
        """Refuse what no header can hold by the header's name: the client's own words quote the value,
        and with it the credential."""
        for name, value in headers.items():
            if not (value.isascii() and value.isprintable()):
                what = f"the value of the header {name} has a line break or another character that no header"
                raise self.error("auth", f"{what} can have; look at the credential and the headers", model)

    async def _refuse_unless_stream(self, response: httpx2.Response, model: str) -> None:
        media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        status = response.status_code
        if 200 <= status < 300 and media_type not in (
            "application/json",
            "text/html",
            "application/problem+json",
        ):
            return
        body = await self._body(response, model, _ERROR_BODY_LIMIT)
        if status >= 300 or b'"error"' in body:
            raise self._answer_error(response, body, model)
        raise self.error(
            "unknown", f"answered with {media_type} in place of an event stream", model, status=status
        )

    async def _body(self, response: httpx2.Response, model: str, limit: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        async with aclosing(self._chunks(response, model)) as chunks:
            async for chunk in chunks:
                parts.append(chunk)
                size += len(chunk)
                if size > limit:
                    break
        return b"".join(parts)

    def _answer_error(self, response: httpx2.Response, body: bytes, model: str) -> ProviderError:
        return provider_error(
            provider=self.name,
            model=model,
            status=response.status_code,
            body=body,
            headers=response.headers,
            secrets=self._secrets,
        )

    def _decode(self, event: ServerSentEvent, model: str) -> StreamEvent:
        payload = _loads(event.data)
        if payload is None:
            start = event.data[:200].decode("utf-8", "replace")
            raise self.error("unknown", f"sent an event that is not a JSON object: {start}", model)
        if event.name == "error":
            raise self.stream_error(payload, model)
        return StreamEvent(event.name, payload)


def _loads(data: bytes) -> dict[str, Any] | None:
    try:
        value = wire_json.load(data)
    except UnicodeDecodeError:
        # An event stream is UTF-8, read with replacement: one broken character is no broken answer.
        return _loads(data.decode("utf-8", "replace").encode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_loopback(url: str) -> bool:
    host = httpx2.URL(url).host
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_private(header: str) -> bool:
    return any(word in header.lower() for word in ("auth", "key", "token", "secret", "cookie"))
