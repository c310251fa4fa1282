"""A server that works only with a second one beside it: to its users they are one connection.

Owns: starting the second, the same documents for both, what the second asks of the first, which of the two
answers, and that neither outlives the other. Never: what an answer means.

From release 3 on, Vue's server knows templates and styles only. The TypeScript server, with Vue's plugin in
it, knows the scripts and what templates use of them. Vue's server asks it by the notification
`tsserver/request`, which a client passes on, and takes the answer as `tsserver/response`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.bridges.lsp import tsserver
from app.bridges.lsp.connection import Connection, Hooks, ServerEnded
from app.bridges.lsp.file_uris import path_to_uri
from app.bridges.lsp.language_entry import Behaviour
from app.bridges.lsp.resolution import ResolvedServer
from app.bridges.lsp.server_places import ServerPlace
from app.bridges.rpc.peer import ResponseError

MAX_PASSED_ON = 64
"""How many requests of the second server may wait for the first at once; further ones get no answer."""
PASSED_ON_SECONDS = 20.0
MAX_TRIES = 20
_RETRY_SECONDS = 0.05
_ASK_AGAIN = frozenset({-32800, -32801, -32802})
_ASKS, _TAKES = "tsserver/request", "tsserver/response"
_ALLOWED = "_vue:"
"""Requests that Vue's plugin answers begin so. All others would be the TypeScript server's own."""
_DIAGNOSTIC = "textDocument/diagnostic"
_FOR_SECOND = frozenset(
    {"textDocument/documentSymbol", "textDocument/foldingRange", "textDocument/documentLink"}
)
_FOR_EITHER = frozenset({"textDocument/hover", "textDocument/definition"})
"""Of these the second is asked when the first knows nothing."""


async def open_connection(
    place: ServerPlace,
    server: ResolvedServer,
    root: Path,
    hooks: Hooks,
    *,
    watches_files: bool,
    seconds: float,
) -> Connection:
    """Start a server, with its companion if it has one, and greet it, within `seconds` for each. Raises
    ServerEnded."""
    kind = AccompaniedConnection if server.companion else Connection
    first = await kind.open(place, server, root, hooks, watches_files=watches_files, seconds=seconds)
    if isinstance(first, AccompaniedConnection):
        try:
            await first.accompany(place, server, root, hooks, watches_files, seconds)
        except BaseException:
            await first.aclose()
            raise
    return first


class AccompaniedConnection(Connection):
    """A running server with its companion. The server's own process is the first."""

    _second: Connection | None = None

    @property
    def pids(self) -> tuple[int, ...]:
        return (*super().pids, *(self._second.pids if self._second is not None else ()))

    async def request(self, method: str, params: Any) -> Any:
        if method in _FOR_SECOND:
            return await self._of_second(method, params)
        answer = await super().request(method, params)
        if not answer and method in _FOR_EITHER:
            return await self._of_second(method, params)
        return answer

    def notify(self, method: str, params: Any) -> None:
        super().notify(method, params)
        # The first server gets a document before the second, which asks the first about it.
        if self._second is not None and method.startswith(("textDocument/did", "workspace/did")):
            self._second.notify(method, params)

    async def further_diagnostics(self, path: Path) -> tuple[dict[str, Any], ...]:
        params = {"textDocument": {"uri": path_to_uri(path)}}
        for _ in range(MAX_TRIES):
            try:
                answer = await self._of_second(_DIAGNOSTIC, params)
            except ResponseError as refusal:
                if refusal.code not in _ASK_AGAIN:
                    raise
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            items = answer.get("items") if isinstance(answer, dict) else None
            found = items[: tsserver.MAX_ITEMS] if isinstance(items, list) else []
            return tuple(item for item in found if isinstance(item, dict))
        raise ResponseError(-32802, "the server does not come to an answer")

    async def accompany(
        self,
        place: ServerPlace,
        server: ResolvedServer,
        root: Path,
        hooks: Hooks,
        watches_files: bool,
        seconds: float,
    ) -> None:
        """Start the companion and greet it. Raises ServerEnded."""
        passing = _PassingOn(self)
        second = await Connection.open(
            replace(place, end=_nothing, options={}),
            replace(server, command=server.companion, companion=(), behaviour=Behaviour()),
            root,
            Hooks(_ignore, passing.notified, hooks.refreshed),
            watches_files=watches_files,
            seconds=seconds,
        )
        self._second = passing.second = second
        self._passing = passing
        self._guard = asyncio.create_task(self._end_with(second), name=f"companion of {self.peer.name}")
        if _takes(second) != _takes(self):
            raise ServerEnded(f"{server.program.name} and its companion take changes in different ways")

    async def _of_second(self, method: str, params: Any) -> Any:
        assert self._second is not None
        return await self._second.request(method, params)

    async def _end_with(self, second: Connection) -> None:
        ended = await second.wait_until_ended()
        self.peer.close(f"its companion ended: {ended.reason}")

    async def _leave(self) -> None:
        try:
            if self._second is not None:
                self._guard.cancel()
                await self._passing.aclose()
                await self._second.aclose()
                await asyncio.gather(self._guard, return_exceptions=True)
        finally:
            await super()._leave()


class _PassingOn:
    """The requests of the second server to the first."""

    def __init__(self, first: AccompaniedConnection) -> None:
        self._first = first
        self._tasks: set[asyncio.Task[None]] = set()
        self.second: Connection | None = None

    def notified(self, method: str, params: Any, size: int) -> None:
        """Take a notification of the second server."""
        if method != _ASKS:
            return
        asked = _request_in(params)
        if asked is None:
            return
        number, command, arguments = asked
        if len(self._tasks) >= MAX_PASSED_ON or not command.startswith(_ALLOWED):
            self._answer(number, None)
            return
        task = asyncio.create_task(self._pass_on(number, command, arguments), name="request of a companion")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """Give up what is under way."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _pass_on(self, number: int, command: str, arguments: Any) -> None:
        asked = {"command": tsserver.COMMAND, "arguments": [command, arguments]}
        answer = None
        try:
            async with asyncio.timeout(PASSED_ON_SECONDS):
                answer = await self._first.request("workspace/executeCommand", asked)
        except (ResponseError, TimeoutError):
            pass  # without an answer it would wait for ever
        except ServerEnded:
            return
        self._answer(number, answer.get("body") if isinstance(answer, dict) else None)

    def _answer(self, number: int, body: Any) -> None:
        if self.second is not None:
            self.second.notify(_TAKES, [[number, body]])


def _request_in(params: Any) -> tuple[int, str, Any] | None:
    """Return number, command and arguments; the three are sent as one parameter, or as three."""
    fields = params[0] if isinstance(params, list) and len(params) == 1 else params
    if not isinstance(fields, list) or len(fields) < 2:
        return None
    number, command, *arguments = fields
    if not isinstance(number, int) or not isinstance(command, str):
        return None
    return number, command, arguments[0] if arguments else None


def _takes(one: Connection) -> tuple[str, int]:
    return one.encoding, one.capabilities.text_sync()


def _ignore() -> None:
    """The first server was started already."""


async def _nothing() -> None:
    """The place is the first server's; it ends with that."""
