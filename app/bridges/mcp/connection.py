"""One connection to an MCP server, of either era of the protocol.

Owns: the library's client, the handshake, requests with their errors in words, elicitation. Never: processes,
restarts, or the meaning of an answer. The only module that opens the library's client: import it lazily.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from mcp import MCPError, types
from mcp.client import Client, InputRequiredRoundsExceededError, Transport
from mcp.client.session import ClientRequestContext, ListRootsFnT
from mcp.shared.dispatcher import ProgressFnT
from pydantic import ValidationError

from app.bridges.mcp.content import answer_of, cleaned, one_line, prompt_of, resource_of, tools_of
from app.bridges.mcp.elicitation import Asked, Elicit, elicited
from app.bridges.mcp.entries import Answer, Listing
from app.bridges.mcp.limits import ListLimits, McpLimits
from app.bridges.mcp.problems import BadAnswer, ServerEnded

log = logging.getLogger("kaged.mcp")

T = TypeVar("T")
MAX_SAID = 1_000
_GONE = "Session terminated"
_caller: contextvars.ContextVar[_Call | None] = contextvars.ContextVar("mcp_call", default=None)


class Streams(Protocol):
    """A transport: over the pipes of a child, or over HTTP."""

    def streams(self) -> Transport: ...


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """A tool call that is under way. `ask` puts a question of the server to a person."""

    ask: Elicit | None


Progress = Callable[[str], Awaitable[None]]


class Connection:
    """An open connection. `broken` is set when nothing more can be asked over it."""

    def __init__(self, limits: McpLimits) -> None:
        self._limits = limits
        self._calls: list[_Call] = []
        self._client: Client | None = None
        self.broken = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, transport: Streams, limits: McpLimits, *, version: str, root: Path | None
    ) -> AsyncGenerator[Connection, None]:
        """Connect and initialize. The server gets `root` as its folder. Raises ServerEnded."""
        connection = cls(limits)
        client = Client(
            transport.streams(),
            client_info=types.Implementation(name="kaged", version=version),
            elicitation_callback=connection._elicit,
            list_roots_callback=None if root is None else _roots(root),
            cache=None,
        )
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(limits.start_seconds):
                    connection._client = await stack.enter_async_context(client)
            except TimeoutError:
                raise ServerEnded(f"it did not answer within {limits.start_seconds:g} s") from None
            except Exception as problem:
                log.debug("connecting to an mcp server failed", exc_info=problem)
                raise ServerEnded(in_words(problem)) from None
            try:
                yield connection
            finally:
                connection.broken.set()

    @property
    def ended(self) -> bool:
        return self.broken.is_set()

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    async def listing(self) -> Listing:
        """Return what the server offers now."""
        client, limits = self.client, self._limits.lists
        has = client.server_capabilities
        tools: list[types.Tool] = []
        if has.tools is not None:
            tools = await self._all(lambda cursor: client.list_tools(cursor=cursor), lambda page: page.tools)
        usable, left_out = tools_of(tools, limits)
        info = client.server_info
        return Listing(
            tools=tuple(usable),
            left_out=tuple(left_out),
            resources=has.resources is not None,
            prompts=has.prompts is not None,
            instructions=cleaned(client.instructions, limits.instructions) or None,
            protocol=client.protocol_version,
            server=one_line(f"{info.name} {info.version}", 200) if info is not None else "",
        )

    async def call(
        self, tool: str, arguments: Mapping[str, Any], progress: Progress, ask: Elicit | None
    ) -> Answer:
        """Call a tool. A cancelled call is cancelled in the server, too. Raises as `_asked` does."""
        call = _Call(ask)
        self._calls.append(call)
        token = _caller.set(call)
        try:
            asking = self.client.call_tool(tool, dict(arguments), progress_callback=_reporting(progress))
            return answer_of(await self._asked(asking))
        finally:
            _caller.reset(token)
            self._calls.remove(call)

    async def resources(self) -> list[dict[str, Any]]:
        """Return the resources, and the templates of addresses of more."""
        client = self.client
        listed = await self._all(
            lambda cursor: client.list_resources(cursor=cursor), lambda page: page.resources
        )
        templates = await self._all(
            lambda cursor: client.list_resource_templates(cursor=cursor),
            lambda page: page.resource_templates,
            optional=True,
        )
        rows = [("uri", one.uri, one) for one in listed]
        rows += [("uri_template", one.uri_template, one) for one in templates]
        return [
            {
                key: one_line(address, 2_000),
                "name": one_line(one.name, 200),
                "description": one_line(one.description, 500),
                "media_type": one_line(one.mime_type, 80),
            }
            for key, address, one in rows
        ]

    async def read(self, uri: str) -> Answer:
        return resource_of(await self._asked(self.client.read_resource(uri)))

    async def prompts(self) -> list[dict[str, Any]]:
        """Return the prompts with their arguments."""
        client = self.client
        listed = await self._all(lambda cursor: client.list_prompts(cursor=cursor), lambda page: page.prompts)
        return [
            {
                "name": cleaned(one.name, 200),
                "description": one_line(one.description, 500),
                "arguments": [
                    {
                        "name": cleaned(argument.name, 100),
                        "description": one_line(argument.description, 300),
                        "required": argument.required is True,
                    }
                    for argument in (one.arguments or [])[:50]
                ],
            }
            for one in listed
        ]

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> Answer:
        return prompt_of(await self._asked(self.client.get_prompt(name, dict(arguments))))

    # -- inside -----------------------------------------------------------------------------

    async def _all(
        self,
        page_of: Callable[[str | None], Awaitable[T]],
        entries: Callable[[T], list[Any]],
        *,
        optional: bool = False,
    ) -> list[Any]:
        """Return the entries of all pages, as many as are allowed."""
        limits: ListLimits = self._limits.lists
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(limits.pages):
            try:
                page = await self._asked(page_of(cursor))
            except BadAnswer:
                if optional:
                    break
                raise
            found += entries(page)
            cursor = getattr(page, "next_cursor", None)
            if cursor is None or len(found) >= limits.entries:
                break
        return found[: limits.entries]

    async def _asked(self, asking: Awaitable[T]) -> T:
        """Return what the server answers. Raises BadAnswer for an error, ServerEnded when it is gone."""
        try:
            return await asking
        except MCPError as refusal:
            if refusal.code == types.CONNECTION_CLOSED or refusal.message == _GONE:
                self.broken.set()
                raise ServerEnded("the connection was closed") from None
            raise BadAnswer(cleaned(refusal.message, MAX_SAID) or f"error {refusal.code}") from None
        except InputRequiredRoundsExceededError:
            raise BadAnswer("it asks for input again and again") from None
        except (ValidationError, RuntimeError) as problem:
            raise BadAnswer(f"its answer is not what the protocol says: {in_words(problem)}") from None

    async def _elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Ask a person for the call whose question it is. A server of the older era does not say which, and
        what `context` says of the request does not help."""
        call = _caller.get()
        if call is None and len(self._calls) == 1:
            call = self._calls[0]
        if call is None or call.ask is None:
            return types.ElicitResult(action="cancel")
        asked = Asked.of(params)
        if asked is None:
            return types.ElicitResult(action="decline")
        return elicited(asked, await call.ask(asked.form()))


def _roots(root: Path) -> ListRootsFnT:
    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": root.as_uri()})])

    return roots


def _reporting(show: Progress) -> ProgressFnT:
    async def report(progress: float, total: float | None, message: str | None) -> None:
        count = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        await show(f"{count} {one_line(message, 300)}".strip())

    return report


def in_words(problem: BaseException) -> str:
    """Return what a failure of the library says, of a group the first."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    if isinstance(problem, ValidationError):
        return f"{problem.error_count()} values do not fit"
    return one_line(str(problem), 300) or type(problem).__name__
