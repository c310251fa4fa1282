"""Signs an operator in at an MCP server: OAuth 2.1 by the protocol's library.

Owns: one run of the authorization code flow, and what went wrong in it in words. Never: the page of the
operator's browser, or keeping the tokens. Imports the protocol's library: import it lazily.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import httpx2
import orjson
from mcp.client.auth import (
    AuthorizationCodeResult,
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl, ValidationError

from app.bridges.mcp.content import one_line
from app.bridges.mcp.oauth import MemoryStorage, with_tokens
from app.bridges.mcp.oauth_requests import SignInTransport, is_confidential, is_loopback
from app.bridges.mcp.sign_ins import SignIn
from app.bridges.network.exchange import Refusal
from app.bridges.network.web_target import WebTarget
from app.errors import Failure

Show = Callable[[str, str], Awaitable[None]]
"""Takes the address of the page on which the operator agrees, and the state that its answer must have."""
Answer = Callable[[], Awaitable[dict[str, str]]]
"""Returns the parameters of the redirect."""

_PROTOCOL = "2025-11-25"
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": _PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "kaged", "version": "1"},
    },
}
_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": _PROTOCOL}
_MOST_SAID = 300


class SignInFailed(Failure):
    """There is no sign-in; `reason` says why. `denied`: the authorization server or the operator said no."""

    def __init__(self, reason: str, *, denied: bool = False) -> None:
        super().__init__(reason)
        self.denied = denied


@dataclass(frozen=True, slots=True)
class KnownClient:
    """A client that the operator has registered at the authorization server."""

    identifier: str
    secret: str | None = None


async def sign_in(
    name: str,
    url: str,
    redirect_uri: str,
    show: Show,
    answer: Answer,
    *,
    known: KnownClient | None = None,
    allowed: Collection[str] = (),
) -> SignIn:
    """Return a new sign-in at the server `name` with the address `url`. Raises SignInFailed."""
    flow = _Flow(url, redirect_uri, show, answer, known, allowed)
    transport = SignInTransport(url, allowed)
    status = 0
    try:
        async with httpx2.AsyncClient(transport=transport, auth=flow.provider, trust_env=False) as client:
            status = (await client.post(url, json=_HELLO, headers=_HEADERS)).status_code
    except Refusal as refusal:
        if flow.storage.tokens is None:
            raise SignInFailed(refusal.message) from None
    except OAuthFlowError as problem:
        raise SignInFailed(flow.in_words(problem)) from None
    except ValidationError as problem:
        raise SignInFailed(f"its metadata has {problem.error_count()} values that do not fit") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as problem:
        raise SignInFailed(f"an answer cannot be used: {type(problem).__name__}") from None
    tokens = flow.storage.tokens
    if tokens is None:
        raise SignInFailed(f"it asks for no sign-in (it answers with status {status})")
    if status == httpx2.codes.UNAUTHORIZED:
        raise SignInFailed("it refuses the token that its authorization server has issued for it")
    context = flow.provider.context
    client_info, server, resource = (
        one and one.model_dump(mode="json", exclude_none=True)
        for one in (flow.storage.client, context.oauth_metadata, context.protected_resource_metadata)
    )
    empty = SignIn(
        name=name, url=url, client=client_info, server=server, resource=resource, allowed=sorted(allowed)
    )
    return with_tokens(empty, tokens, context.token_expiry_time)


class _Flow:
    """One run of the flow, as the library asks for it."""

    def __init__(
        self,
        url: str,
        redirect_uri: str,
        show: Show,
        answer: Answer,
        known: KnownClient | None,
        allowed: Collection[str],
    ) -> None:
        self._host = _confidential(url).host
        self._allowed = allowed
        self._show = show
        self._answer = answer
        redirects = [AnyUrl(redirect_uri)]
        self._registers = known is None
        self.storage = MemoryStorage()
        if known is not None:
            method = "client_secret_basic" if known.secret is not None else "none"
            self.storage.client = OAuthClientInformationFull(
                client_id=known.identifier,
                client_secret=known.secret,
                redirect_uris=redirects,
                token_endpoint_auth_method=method,
            )
        metadata = OAuthClientMetadata(
            client_name="kaged", redirect_uris=redirects, token_endpoint_auth_method="none"
        )
        self.provider = OAuthClientProvider(
            url, metadata, self.storage, redirect_handler=self._redirect, callback_handler=self._callback
        )

    async def _redirect(self, address: str) -> None:
        page = _confidential(address)
        if is_loopback(page.host) and not is_loopback(self._host) and page.place not in self._allowed:
            raise SignInFailed(f"it names a page of this machine, `{page.place}`, which `--allow` does not")
        server, client = self.provider.context.oauth_metadata, self.provider.context.client_info
        methods = server.token_endpoint_auth_methods_supported if server is not None else None
        if client is not None and client.client_secret is not None and not self._registers:
            basic = methods is None or "client_secret_basic" in methods
            client.token_endpoint_auth_method = "client_secret_basic" if basic else "client_secret_post"
        await self._show(address, parse_qs(urlsplit(address).query)["state"][-1])

    async def _callback(self) -> AuthorizationCodeResult:
        found = await self._answer()
        if "code" not in found:
            said = (found.get("error", ""), found.get("error_description", ""))
            words = one_line(": ".join(one for one in said if one), _MOST_SAID) or "no reason is given"
            raise SignInFailed(f"the authorization server refuses the sign-in: {words}", denied=True)
        return AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found.get("iss"))

    def in_words(self, problem: OAuthFlowError) -> str:
        """Return why the flow failed, of a server's answer only what the standard says of errors."""
        if isinstance(problem, OAuthRegistrationError):
            if self.provider.context.oauth_metadata is None:
                return "it asks for a sign-in, but has none by OAuth; give its token with `--header`"
            return (
                "its authorization server does not register this client; register one there, "
                f"and give it with `--client-id`{_error_in(problem)}"
            )
        if isinstance(problem, OAuthTokenError):
            return f"its authorization server issues no token{_error_in(problem)}"
        return one_line(str(problem), _MOST_SAID)


def _confidential(url: str) -> WebTarget:
    try:
        target = WebTarget.parse(url)
    except ValueError as problem:
        raise SignInFailed(f"an address of the sign-in cannot be used: {problem}") from None
    if not is_confidential(target):
        raise SignInFailed(f"`{target.place}` is named with http; a sign-in needs https")
    return target


def _error_in(problem: OAuthFlowError) -> str:
    """Return the error that an answer within a message of the library names, in brackets."""
    _, brace, rest = str(problem).partition("{")
    try:
        found = orjson.loads(brace + rest)
    except orjson.JSONDecodeError:
        return ""
    said = [found.get(name) for name in ("error", "error_description")] if isinstance(found, dict) else []
    words = one_line(": ".join(one for one in said if isinstance(one, str)), _MOST_SAID)
    return f" ({words})" if words else ""
