"""The calls under way: each a task of its own, which outlives the request that a question interrupts.

Owns: following a call, its question to the client's user, its cancellation. Never: what a call does.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

import anyio
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from app.api.mcp import consent
from app.errors import ToolError
from app.harness.sessions import remote_client
from app.tools.contract.rules import ConsentAnswer, ConsentRequest

Context: TypeAlias = ServerRequestContext[Any, Any]
_QUESTION = "consent"
MAX_CALLS = 200
MAX_UNREAD = 100
"""Reports of one call that its client has not read yet."""


class Asker(Protocol):
    """The way from a call to the user of its client."""

    def progress(self, text: str) -> None: ...

    async def consent(self, agent_path: str, request: ConsentRequest) -> ConsentAnswer | None: ...


Work: TypeAlias = Callable[[Asker], Awaitable[CallToolResult]]


class _Call:
    """One call. A client of the stateless protocol is asked by the result of its request, and answers with
    the next one; any other is asked while its request waits."""

    def __init__(self, owner: str, params: CallToolRequestParams, context: Context) -> None:
        self.key = secrets.token_urlsafe(32)
        self.owner = owner
        self.task: asyncio.Task[CallToolResult]
        self._asked_for = (params.name, params.arguments)
        self._context = context
        self._elicits = consent.can_ask(context.session.client_capabilities)
        self._turn = asyncio.Lock()
        self._open = asyncio.Event()
        self._question = ""
        self._answer: asyncio.Future[ElicitResult] | None = None
        self._reports = 0
        self._sending: set[asyncio.Task[None]] = set()
        self.followed = False

    def is_continued_by(self, owner: str, params: CallToolRequestParams) -> bool:
        return owner == self.owner and (params.name, params.arguments) == self._asked_for

    # -- what the call does with its client -------------------------------------------------

    def progress(self, text: str) -> None:
        """Report to the client, where it has asked for that. A client that does not read misses reports."""
        self._reports += 1
        if len(self._sending) >= MAX_UNREAD:
            return
        sending = asyncio.create_task(self._report(self._reports, text), name="mcp progress")
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)

    async def _report(self, number: int, text: str) -> None:
        try:
            await self._context.session.report_progress(number, None, text)
        except (MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # the client left; the call learns of that by its cancellation

    async def consent(self, agent_path: str, request: ConsentRequest) -> ConsentAnswer | None:
        """Return the user's answer; None when the client cannot ask.

        Raises ToolError when the user does not answer in time."""
        if not self._elicits:
            return None
        async with self._turn:
            text = consent.question(agent_path, request)
            try:
                async with asyncio.timeout(remote_client.CONSENT_SECONDS):
                    if self._context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                        return consent.answer_of(await self._asked_by_result(text))
                    return consent.answer_of(await self._asked_meanwhile(text))
            except MCPError:
                return None
            except TimeoutError:
                raise ToolError(
                    "permission_denied",
                    f"The user did not answer within {remote_client.CONSENT_SECONDS:.0f} s. {request.reason}",
                    detail={"needed": "the user's consent"},
                ) from None

    async def _asked_meanwhile(self, text: str) -> ElicitResult:
        context = self._context
        return await context.session.elicit_form(text, consent.SCHEMA, context.request_id)

    async def _asked_by_result(self, text: str) -> ElicitResult:
        self._question, self._answer = text, asyncio.get_running_loop().create_future()
        self._open.set()
        try:
            return await self._answer
        finally:
            self._open.clear()

    # -- what the requests of its client do with the call ------------------------------------

    def take(self, params: CallToolRequestParams, context: Context) -> None:
        """Go on with another request, and with the answers that it brings."""
        self._context = context
        given = (params.input_responses or {}).get(_QUESTION)
        if isinstance(given, ElicitResult) and self._answer is not None and not self._answer.done():
            self._open.clear()
            self._answer.set_result(given)

    async def follow(self) -> CallToolResult | InputRequiredResult:
        """Return the result, or the question that comes before it. Cancelled, the call is cancelled."""
        asked = asyncio.create_task(self._open.wait(), name="mcp question")
        self.followed = True
        try:
            await asyncio.wait({self.task, asked}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.task.cancel()
            raise
        finally:
            self.followed = False
            asked.cancel()
        if self.task.done():
            await asyncio.gather(*self._sending)
            return self.task.result()
        request = ElicitRequest(
            params=ElicitRequestFormParams(message=self._question, requested_schema=consent.SCHEMA)
        )
        return InputRequiredResult(input_requests={_QUESTION: request}, request_state=self.key)


class Calls:
    """All calls of one daemon. `close` cancels them."""

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}

    async def run(
        self, owner: str, params: CallToolRequestParams, context: Context, work: Work
    ) -> CallToolResult | InputRequiredResult:
        """Start a call, or continue the one that the request names, and follow it.

        Raises MCPError for a call that is not known: it ended, or is somebody else's."""
        if params.request_state is not None:
            call = self._calls.get(params.request_state)
            if call is None or not call.is_continued_by(owner, params):
                raise MCPError(INVALID_PARAMS, "This call is not under way any more. Call the tool again.")
            call.take(params, context)
        else:
            call = self._start(owner, params, context, work)
        try:
            return await call.follow()
        finally:
            if call.task.done():
                self._calls.pop(call.key, None)

    def _start(self, owner: str, params: CallToolRequestParams, context: Context, work: Work) -> _Call:
        if len(self._calls) >= MAX_CALLS:
            raise MCPError(INVALID_PARAMS, f"{MAX_CALLS} calls are under way. Wait until one has ended.")
        call = _Call(owner, params, context)
        self._calls[call.key] = call
        call.task = asyncio.create_task(_worked(work, call), name="mcp call")
        call.task.add_done_callback(lambda _: self._ended(call))
        return call

    def _ended(self, call: _Call) -> None:
        """Forget a call that nobody follows: its client did not come back with an answer."""
        if not call.followed:
            self._calls.pop(call.key, None)
            if not call.task.cancelled():
                call.task.exception()

    async def close(self) -> None:
        """Cancel every call, and wait until all have ended."""
        tasks = [call.task for call in self._calls.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._calls.clear()


async def _worked(work: Work, call: _Call) -> CallToolResult:
    return await work(call)
