"""An MCP server with a sign-in, and its authorization server, both by the official library, on one port.

Its arguments: PORT, then what it does otherwise. `static` answers 401 and has no OAuth; `names=URL` names
URL as its authorization server; `open` asks nobody for a token. `/control` steers it: it takes `deny`,
`expire` (access tokens), `revoke` (all tokens), `down` (the token endpoint), `static_client` and `methods`
(how a client proves who it is, in the metadata), and returns what it has seen.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.responses import JSONResponse

PORT, OPTIONS = int(sys.argv[1]), sys.argv[2:]
BASE = f"http://127.0.0.1:{PORT}"
SCOPE = "notes"


class Issuer:
    """Issues tokens to whoever asks, unless it is told to deny."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.issued: list[str] = []
        self.deny = False

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if self.deny:
            raise AuthorizeError("access_denied", "the owner said no")
        code = secrets.token_urlsafe(24)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [SCOPE],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issue(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refresh[refresh_token.token]
        return self._issue(client.client_id, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.clear()
        self.refresh.clear()

    async def exchange_identity_assertion(self, client: Any, params: Any) -> OAuthToken:
        raise NotImplementedError

    def _issue(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = f"access-{secrets.token_urlsafe(24)}", f"refresh-{secrets.token_urlsafe(24)}"
        self.issued += [access, refresh]
        self.access[access] = AccessToken(token=access, client_id=client_id, scopes=scopes, resource=resource)
        self.refresh[refresh] = RefreshToken(
            token=refresh, client_id=client_id, scopes=scopes, resource=resource
        )
        return OAuthToken(access_token=access, expires_in=3600, scope=" ".join(scopes), refresh_token=refresh)


class Watched:
    """The library's application, with what the tests steer and see."""

    def __init__(self, issuer: Issuer, inner: Any) -> None:
        self.issuer = issuer
        self.inner = inner
        self.down = False
        self.methods: list[str] | None = None
        self.grants: list[str] = []
        self.sent: list[str | None] = []
        """The header `Authorization` of each request to the MCP server."""
        self.revoked: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        path, headers = scope["path"], dict(scope["headers"])
        if path == "/mcp":
            self.sent.append(headers.get(b"authorization", b"").decode() or None)
            if "static" in OPTIONS:
                await JSONResponse({"error": "no"}, 401)(scope, receive, send)
                return
        if path in ("/control", "/token", "/revoke"):
            body = await _body(receive)
            if path == "/control":
                await JSONResponse(self._steer(json.loads(body or b"{}")))(scope, receive, send)
                return
            form = parse_qs(body.decode())
            if path == "/revoke":
                self.revoked += form["token"]
                await self.issuer.revoke_token(self.issuer.refresh[form["token"][0]])
                await JSONResponse({})(scope, receive, send)
                return
            self.grants += form["grant_type"]
            if self.down:
                await JSONResponse({"error": "temporarily_unavailable"}, 503)(scope, receive, send)
                return
            receive = _again(body)
        named = next((one.partition("=")[2] for one in OPTIONS if one.startswith("names=")), None)
        if named is not None and path.startswith("/.well-known/oauth-protected-resource"):
            found = {"resource": f"{BASE}/mcp", "authorization_servers": [named]}
            await JSONResponse(found)(scope, receive, send)
            return
        if path == "/.well-known/oauth-authorization-server" and self.methods is not None:
            found = {
                "issuer": BASE,
                "authorization_endpoint": f"{BASE}/authorize",
                "token_endpoint": f"{BASE}/token",
                "token_endpoint_auth_methods_supported": self.methods,
            }
            await JSONResponse(found)(scope, receive, send)
            return
        if "static" in OPTIONS:
            await JSONResponse({"error": "nothing is here"}, 404)(scope, receive, send)
            return
        await self.inner(scope, receive, send)

    def _steer(self, wish: dict[str, Any]) -> dict[str, Any]:
        issuer = self.issuer
        issuer.deny = wish.get("deny", issuer.deny)
        self.down = wish.get("down", self.down)
        self.methods = wish.get("methods", self.methods)
        if wish.get("expire") or wish.get("revoke"):
            issuer.access.clear()
        if wish.get("revoke"):
            issuer.refresh.clear()
        if "static_client" in wish:
            client = OAuthClientInformationFull.model_validate(wish["static_client"])
            issuer.clients[client.client_id] = client
        seen = {
            "grants": self.grants,
            "sent": self.sent,
            "revoked": self.revoked,
            "issued": issuer.issued,
            "clients": list(issuer.clients),
        }
        self.grants, self.sent, self.revoked = [], [], []
        return seen


def _again(body: bytes) -> Any:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def _body(receive: Any) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


def application() -> Watched:
    issuer = Issuer()
    auth = AuthSettings(
        issuer_url=BASE,
        resource_server_url=f"{BASE}/mcp",
        required_scopes=[SCOPE],
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=[SCOPE], default_scopes=[SCOPE]
        ),
        revocation_options=RevocationOptions(enabled=True),
    )
    signs_in: dict[str, Any] = {"auth_server_provider": issuer, "auth": auth}
    server = MCPServer("signed", version="1.0.0", **({} if "open" in OPTIONS else signs_in))

    @server.tool(description="Repeats a text.")
    def echo(text: str) -> str:
        return text

    return Watched(issuer, server.streamable_http_app())


if __name__ == "__main__":
    uvicorn.run(application(), host="127.0.0.1", port=PORT, log_level="error")
