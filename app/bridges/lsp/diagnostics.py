"""Diagnostics that are for a file's present content, or say that they are not.

Owns: what was published, and the ways in which servers are known to tell that an answer is current.
Never: opening documents, or cutting and sorting for a reader.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from app.bridges.lsp import clangd, tsserver
from app.bridges.lsp.connection import Connection
from app.bridges.lsp.documents import OpenDocuments, OpenText
from app.bridges.lsp.file_uris import ForeignUri, path_to_uri, uri_to_path
from app.bridges.lsp.flychecks import Flychecks
from app.bridges.lsp.language_entry import Behaviour
from app.bridges.lsp.readiness import Bell, Readiness
from app.bridges.rpc.peer import ResponseError

T = TypeVar("T")
MAX_ITEMS = 20_000
MAX_KEPT_BYTES = 8 * 1024 * 1024
"""What is published is kept up to this size in all; beyond it what came first is dropped."""
_OVERHEAD = 1_000
"""What a publication costs beside its content, in bytes."""
MAX_LOST = 10_000
_NO_ITEMS = b"[]"
QUIET_SECONDS = 0.3
_RETRIED_CODES = frozenset({-32802, -32801, -32800})
"""ServerCancelled, ContentModified and RequestCancelled: ask again."""
_RETRY_SECONDS = 0.05
_LOOK_SECONDS = 0.05
_LATER = "textDocument/semanticTokens/full"


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """Diagnostics as the server gave them, in its encoding. `fresh`: they are for `text`, which was
    what the file held when they came."""

    items: tuple[dict[str, Any], ...]
    fresh: bool
    text: OpenText


@dataclass(frozen=True, slots=True)
class _Publish:
    """`packed` are the items as JSON: objects take ten times the memory, and most are never asked for."""

    version: int | None
    packed: bytes
    at: float

    @property
    def items(self) -> tuple[dict[str, Any], ...]:
        return tuple(orjson.loads(self.packed))

    @property
    def size(self) -> int:
        return len(self.packed) + _OVERHEAD


class Unanswered(Exception):
    """The server has left a request without an answer since `since` (monotonic seconds)."""

    def __init__(self, method: str, since: float) -> None:
        super().__init__(method)
        self.method = method
        self.since = since


class Diagnostics:
    """The diagnostics of one run of a server."""

    def __init__(
        self,
        client: Connection,
        documents: OpenDocuments,
        behaviour: Behaviour,
        bell: Bell,
        readiness: Readiness,
    ) -> None:
        self._client = client
        self._documents = documents
        self._behaviour = behaviour
        self._bell = bell
        self._readiness = readiness
        self._published: dict[str, _Publish] = {}
        self._lost: set[str] = set()
        """URIs of files of which something was published that is kept no more."""
        self._headers = clangd.UnseenHeaders()
        self.kept_bytes = 0
        self._changed_at = 0.0
        self._checks = Flychecks(client, bell, readiness)

    def something_changed(self, paths: Iterable[str]) -> None:
        """Note that the server was notified of a change of these files; what came before may be outdated."""
        self._changed_at = time.monotonic()
        for path in paths:
            self._headers.changed(path, self._changed_at)

    @property
    def changed_at(self) -> float:
        """When the server was notified of a change last (monotonic seconds)."""
        return self._changed_at

    def published(self) -> Iterator[tuple[str, bytes, bool]]:
        """Yield what was published for each file: its URI, the items as JSON, and whether nothing has changed
        since."""
        for uri, known in self._published.items():
            yield uri, known.packed, known.at >= self._changed_at

    def lost(self) -> frozenset[str] | None:
        """Return the URIs of files of which something was published that is kept no more; None where these
        are too many to know."""
        return frozenset(self._lost) if len(self._lost) < MAX_LOST else None

    def closed(self, text: OpenText) -> None:
        self._headers.closed(text.path)
        if self._behaviour.freshness != "flycheck":  # what a compiler said of a file is not said again
            self._lose(text.uri)

    def notified(self, method: str, params: Any) -> None:
        """Take a notification."""
        if not isinstance(params, dict):
            return
        if method == "textDocument/publishDiagnostics" and isinstance(params.get("uri"), str):
            self._keep(_as_sent(params["uri"]), params)
            self._bell.ring()
        else:
            self._checks.notified(method, params)

    def _keep(self, uri: str, params: Mapping[str, Any]) -> None:
        stated = params.get("version")
        version = stated if isinstance(stated, int) else None
        newest = self._newest_version(uri)
        if version is not None and newest is not None and version < newest:
            return  # of a text that was there before
        self._forget(uri)
        self._lost.discard(uri)
        packed = orjson.dumps(_dictionaries(params.get("diagnostics")))
        self._published[uri] = kept = _Publish(version, packed, time.monotonic())
        self.kept_bytes += kept.size
        while self.kept_bytes > MAX_KEPT_BYTES:
            self._lose(next(iter(self._published)))

    def _newest_version(self, uri: str) -> int | None:
        known = self._published.get(uri)
        return None if known is None else known.version

    def _lose(self, uri: str) -> None:
        if uri in self._published and self._published[uri].packed != _NO_ITEMS and len(self._lost) < MAX_LOST:
            self._lost.add(uri)
        self._forget(uri)

    def _forget(self, uri: str) -> None:
        known = self._published.pop(uri, None)
        if known is not None:
            self.kept_bytes -= known.size

    async def of(self, path: str, deadline: float, *, hints: bool = True) -> Diagnosed:
        """Return the diagnostics of a file, as fresh as can be had until `deadline` (monotonic). Without
        `hints`, those that are no errors or warnings may be missing.

        Raises ToolError as opening does, Unanswered, ResponseError and ServerEnded.
        """
        with self._documents.holding(path):
            while True:
                text = await self._renewed(await self._documents.get(path))
                items, fresh = await self._for(text, deadline, hints=hints)
                # Whoever wrote meanwhile: an answer for what was there before is not given.
                now = await self._documents.get(path)
                if not fresh or now.version == text.version:
                    return Diagnosed(items, fresh and now.version == text.version, text)
                if time.monotonic() >= deadline:
                    return Diagnosed(items, False, text)

    async def _renewed(self, text: OpenText) -> OpenText:
        """Have the server judge a text again after something else has changed."""
        newest = self._published.get(text.uri)
        if not self._behaviour.answers_again or newest is None or newest.at >= self._changed_at:
            return text
        if newest.at < self._documents.changed_at(text.path):
            return text  # it has not judged this one yet
        return await self._documents.touch(text.path) or text

    async def _for(
        self, text: OpenText, deadline: float, *, hints: bool
    ) -> tuple[tuple[dict[str, Any], ...], bool]:
        way = self._behaviour.freshness
        if way == "tsserver":
            absolute = self._documents.absolute(text.path)
            asked = tsserver.diagnostics(self._client, absolute, hints=hints)
            found = await _answered(asked, tsserver.COMMAND, deadline)
            if found is not None:
                return found, True
            way = "settled"
        if way == "clangd":
            return await self._all_published(text, deadline)
        if way == "flycheck":
            return await self._checked(text, deadline)
        if way == "in_order":
            question = self._client.request(_LATER, {"textDocument": {"uri": text.uri}})
            await _answered(question, _LATER, deadline)
            newest = self._published.get(text.uri)
            return self._last(text), newest is not None and newest.at >= self._documents.changed_at(text.path)
        offers = self._client.capabilities.offers
        if way != "unoffered" and not offers("textDocument/diagnostic"):
            settled = way == "settled"

            def known() -> bool:
                return offers("textDocument/diagnostic") or self._is_current(text, settled)

            held = await self._wait_for_publish(known, text, deadline)
            if not offers("textDocument/diagnostic"):
                return self._last(text), held
        return await self._pull(text, deadline)

    async def _wait_for_publish(self, known: Callable[[], bool], text: OpenText, deadline: float) -> bool:
        while not known():
            # Quiet is reached by the passing of time, which rings no bell.
            newest = self._published.get(text.uri)
            soon = deadline if newest is None else min(deadline, time.monotonic() + _LOOK_SECONDS)
            await self._bell.until(lambda: known() or self._published.get(text.uri) is not newest, soon)  # noqa: B023
            if time.monotonic() >= deadline:
                return known()
        return True

    def _is_current(self, text: OpenText, settled: bool) -> bool:
        newest = self._published.get(text.uri)
        if newest is None:
            return False
        settle: float = self._behaviour.settle_ms / 1000
        quiet = settle if settled else QUIET_SECONDS
        if newest.version is not None:
            if newest.version < text.version:
                return False
            if newest.at >= self._changed_at:
                return True
            # For this content, but another file has changed since: the server may think again.
            return time.monotonic() - max(newest.at, self._changed_at) >= quiet
        if newest.at < self._documents.changed_at(text.path):
            return False
        latest = max(newest.at, self._changed_at, self._readiness.loaded_at)
        return time.monotonic() - latest >= max(quiet, settle)

    def _last(self, text: OpenText) -> tuple[dict[str, Any], ...]:
        newest = self._published.get(text.uri)
        return () if newest is None else newest.items

    async def _pull(self, text: OpenText, deadline: float) -> tuple[tuple[dict[str, Any], ...], bool]:
        options: Mapping[str, Any] = self._client.capabilities.options("textDocument/diagnostic") or {}
        params: dict[str, Any] = {"textDocument": {"uri": text.uri}}
        if isinstance(options.get("identifier"), str):
            params["identifier"] = options["identifier"]
        while True:
            try:
                asked = self._client.request("textDocument/diagnostic", params)
                answer = await _answered(asked, "textDocument/diagnostic", deadline)
            except ResponseError as refusal:
                if refusal.code not in _RETRIED_CODES or time.monotonic() >= deadline:
                    raise
                await self._bell.until(lambda: False, min(deadline, time.monotonic() + _RETRY_SECONDS))
                continue
            if isinstance(answer, dict) and answer.get("kind") == "full":
                return _dictionaries(answer.get("items")), True
            return (), answer is None

    async def _all_published(
        self, text: OpenText, deadline: float
    ) -> tuple[tuple[dict[str, Any], ...], bool]:
        """What clangd has published once it has said all. What it has said before it does not say again."""
        lost = False
        while time.monotonic() < deadline:
            began = time.monotonic()
            rebuild = lost or self._headers.has(text.path, self._documents)
            if rebuild:
                self._headers.read(text.path, began)
            asked = clangd.published_all(self._client, self._documents, text, rebuild=rebuild)
            try:
                if not await _answered(asked, clangd.QUESTION, deadline):
                    break
            except Unanswered:
                break
            except ResponseError as refusal:
                if refusal.code not in _RETRIED_CODES:
                    break
                # The text has changed meanwhile.
                await self._bell.until(lambda: False, min(deadline, time.monotonic() + _RETRY_SECONDS))
                continue
            if text.uri not in self._published:
                if lost:
                    break
                lost = True
            elif self._changed_at <= began:
                self._headers.read(text.path, began)
                return self._last(text), True
        return self._last(text), False

    async def _checked(self, text: OpenText, deadline: float) -> tuple[tuple[dict[str, Any], ...], bool]:
        """The server's own analysis, and what the compiler says once it has run."""
        native: tuple[dict[str, Any], ...] = ()
        if self._client.capabilities.offers("textDocument/diagnostic"):
            native, _ = await self._pull(text, deadline)
        done = await self.check(text.uri, deadline)
        if done and self._client.capabilities.offers("textDocument/diagnostic"):
            # By now it has read the files that changed. It reports the end of a check before what
            # the check has found, and answers this only afterwards.
            native, _ = await self._pull(text, deadline)
        done = done and self._checks.cover(self._changed_at) and not self._readiness.check_failed
        return _without_duplicates((*native, *self._last(text))), done

    async def check(self, uri: str, deadline: float) -> bool:
        """Have the compiler of a server that has one look at what the files hold now, and return whether it
        has by the `deadline` (monotonic). The server tells what it has found afterwards."""
        return await self._checks.run(uri, lambda: self._changed_at, deadline)


async def _answered(request: Coroutine[Any, Any, T], method: str, deadline: float) -> T:
    """Wait for the answer to a request. Raises Unanswered."""
    since = time.monotonic()
    try:
        async with asyncio.timeout(max(0.0, deadline - since)):
            return await request
    except TimeoutError:
        raise Unanswered(method, since) from None


def _as_sent(uri: str) -> str:
    """Return a file's URI as it was sent: servers escape more characters, or fewer."""
    try:
        return path_to_uri(uri_to_path(uri))
    except ForeignUri:
        return uri


def _dictionaries(value: Any) -> tuple[dict[str, Any], ...]:
    if not isinstance(value, list):
        return ()
    return tuple(item for item in value[:MAX_ITEMS] if isinstance(item, dict))


def _without_duplicates(items: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    seen: dict[tuple[str, str, str], dict[str, Any]] = {}
    for item in items:
        with suppress(TypeError):
            seen.setdefault((str(item.get("range")), str(item.get("message")), str(item.get("code"))), item)
    return tuple(seen.values())
