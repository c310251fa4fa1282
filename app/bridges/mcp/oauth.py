"""Signs the requests to an MCP server with the tokens of `kaged mcp login`, and refreshes them.

Owns: which token goes with a request, the refresh. Never: asking a person, or opening a page.
Imports the protocol's library: import it lazily.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, ValidationError

from app.bridges.mcp.oauth_requests import SignInTransport
from app.bridges.mcp.problems import ServerEnded, SignInNeeded
from app.bridges.mcp.sign_ins import SignIn, SignIns
from app.bridges.network.exchange import Refusal

Remember = Callable[[str, list[str]], None]
"""Takes the owner of secrets, and the secrets: what keeps them out of logs."""

# The library logs what authorization servers answer, tokens included.
logging.getLogger("mcp.client.auth").disabled = True
logging.getLogger("mcp.client.auth.oauth2").disabled = True

_REFUSALS = (400, 401)


class MemoryStorage:
    """What the library is given of a sign-in, and what it adds."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self.tokens: OAuthToken | None = None
        self.client = client

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class StoredSignIn(httpx2.Auth):
    """Signs the requests of one connection. `needed` is set when the server asked for a sign-in last."""

    def __init__(self, name: str, url: str, sign_ins: SignIns, remember: Remember) -> None:
        self._name = name
        self._url = url
        self._origin = _origin(httpx2.URL(url))
        self._sign_ins = sign_ins
        self._remember = remember
        self.needed: SignInNeeded | None = None

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Sign a request, once more with a new token when the server refuses the first. Raises SignInNeeded,
        and ServerEnded when a token cannot be refreshed now."""
        sign_in = await self._current(None) if _origin(request.url) == self._origin else None
        for is_last in (False, True):
            token = sign_in.access_token if sign_in is not None else None
            if token is not None:
                request.headers["Authorization"] = f"Bearer {token}"
            response = yield request
            if response.status_code != httpx2.codes.UNAUTHORIZED:
                await self._note(sign_in, refused=False)
                self.needed = None
                return
            again = await self._current(token) if token is not None and not is_last else None
            if again is None or again.access_token == token:
                break
            sign_in = again
        await self._note(sign_in, refused=True)
        self.needed = SignInNeeded(self._name)
        raise self.needed

    async def _current(self, refused: str | None) -> SignIn | None:
        """Return the sign-in with a token that may be valid, refreshed where it has to be; None without one.
        `refused` is a token that the server does not take."""
        sign_in = await self._read()
        if sign_in is None or sign_in.access_token is None:
            return None
        if sign_in.access_token != refused and not sign_in.is_past:
            return sign_in
        if not sign_in.can_refresh:
            return None if sign_in.access_token == refused else sign_in
        async with self._sign_ins.changing(self._name, self._url):
            now = await self._read()
            if now is None or now.access_token != sign_in.access_token:
                return now  # another process has changed it meanwhile
            fresh = await refreshed(now)
            await self._keep(fresh)
        return fresh if fresh.access_token is not None else None

    async def _note(self, sign_in: SignIn | None, *, refused: bool) -> None:
        """Keep it with the sign-in when the server's opinion of it has changed."""
        if sign_in is None and not refused:
            return
        if sign_in is not None and sign_in.refused == refused:
            return
        async with self._sign_ins.changing(self._name, self._url):
            now = await self._read()
            if sign_in is not None and (now is None or now.access_token != sign_in.access_token):
                return
            if now is None or now.refused != refused:
                now = now or SignIn(name=self._name, url=self._url)
                await self._keep(now.model_copy(update={"refused": refused}))

    async def _read(self) -> SignIn | None:
        sign_in = await asyncio.to_thread(self._sign_ins.of, self._name, self._url)
        if sign_in is not None:
            self._remember(f"sign-in {self._name} {self._url}", sign_in.secrets())
        return sign_in

    async def _keep(self, sign_in: SignIn) -> None:
        self._remember(f"sign-in {self._name} {self._url}", sign_in.secrets())
        await asyncio.to_thread(self._sign_ins.put, sign_in)


async def refreshed(sign_in: SignIn) -> SignIn:
    """Return the sign-in with new tokens, without any when the authorization server gives none to it any
    more. Raises ServerEnded when that server cannot be asked."""
    storage = MemoryStorage()
    provider = _provider(sign_in, storage)
    request = await provider._refresh_token()
    transport = SignInTransport(sign_in.url, sign_in.allowed)
    try:
        async with httpx2.AsyncClient(transport=transport, trust_env=False) as client:
            response = await client.send(request)
    except Refusal as refusal:
        raise ServerEnded(f"its sign-in cannot be refreshed: {refusal.message}") from None
    if response.status_code in _REFUSALS:
        return SignIn(name=sign_in.name, url=sign_in.url, refused=True)
    if not await provider._handle_refresh_response(response) or storage.tokens is None:
        said = f"the authorization server answers with status {response.status_code} and no token"
        raise ServerEnded(f"its sign-in cannot be refreshed: {said}")
    return with_tokens(sign_in, storage.tokens, provider.context.token_expiry_time)


async def revoke(sign_in: SignIn) -> None:
    """Have the authorization server end the tokens, where it says how. Raises ServerEnded when it does not
    answer."""
    endpoint = (sign_in.server or {}).get("revocation_endpoint")
    if endpoint is None or sign_in.tokens is None:
        return
    provider = _provider(sign_in, MemoryStorage())
    hint = "refresh_token" if sign_in.can_refresh else "access_token"
    data = {"token": sign_in.tokens[hint], "token_type_hint": hint}
    data["client_id"] = (sign_in.client or {}).get("client_id", "")
    data, headers = provider.context.prepare_token_auth(data, {})
    transport = SignInTransport(sign_in.url, sign_in.allowed)
    try:
        async with httpx2.AsyncClient(transport=transport, trust_env=False) as client:
            answer = await client.post(endpoint, data=data, headers=headers)
    except Refusal as refusal:
        raise ServerEnded(refusal.message) from None
    if answer.is_error:
        raise ServerEnded(f"its authorization server answers with status {answer.status_code}")


def with_tokens(sign_in: SignIn, tokens: OAuthToken, expires_at: float | None) -> SignIn:
    plain = tokens.model_dump(mode="json", exclude_none=True)
    return sign_in.model_copy(update={"tokens": plain, "expires_at": expires_at, "refused": False})


def _provider(sign_in: SignIn, storage: MemoryStorage) -> OAuthClientProvider:
    """Return the library's client in the state in which the sign-in was kept. Raises ServerEnded."""
    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl("http://127.0.0.1/callback")])
    provider = OAuthClientProvider(sign_in.url, metadata, storage)
    context = provider.context
    try:
        context.current_tokens = OAuthToken.model_validate(sign_in.tokens)
        context.client_info = OAuthClientInformationFull.model_validate(sign_in.client)
        context.oauth_metadata = _validated(OAuthMetadata, sign_in.server)
        context.protected_resource_metadata = _validated(ProtectedResourceMetadata, sign_in.resource)
    except ValidationError:
        raise ServerEnded("its sign-in is damaged; make it again") from None
    return provider


def _validated(model: Any, plain: dict[str, Any] | None) -> Any:
    return None if plain is None else model.model_validate(plain)


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
