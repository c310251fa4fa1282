"""Which connections are accepted: hosts, origins, cookies, CSRF, the three modes.

Owns: the rules as functions over headers, which raise a `KagedError`. Never: tokens (`access.tokens`) or
answers.
Keeps S16 of docs/security.md.
"""

from __future__ import annotations

import hmac
import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from app.access.scopes import Principal
from app.access.tokens import AccessControl, csrf_token
from app.api.base_path import PROBED_PATHS, base_path_of
from app.api.built_page import BUILT_PAGE
from app.config import AuthSettings, Settings
from app.errors import Forbidden, Unauthenticated

SIGN_IN_FILES = BUILT_PAGE.needed_by("sign_in", "sign_in_button")
"""Files of the sign-in page."""

REFERENCE_FILES = BUILT_PAGE.needed_by("reference") | {"/api/v1/openapi.json", "/docs"}
"""The OpenAPI document, and the page that shows it."""

PUBLIC_PATHS = (
    SIGN_IN_FILES | REFERENCE_FILES | PROBED_PATHS | {"/api/v1/versions", "/api/v1/dsl/schema", "/launch"}
)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

BEARER_SUBPROTOCOL = "kaged.bearer."
CSRF_HEADER = "x-kaged-csrf"
USER_HEADER = "x-kaged-user-id"
NONCE_HEADER = "x-kaged-auth-nonce"

_AUTHORITY = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_LARGEST_PORT = 65_535
_LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
_EVERY_INTERFACE = frozenset({"0.0.0.0", "::", ""})
_MAX_USER_ID = 128


def host_name(authority: str) -> str:
    """Return the name in `name:port`, `[v6]:port` or either without a port; lower case."""
    if authority.startswith("["):
        return authority[1:].partition("]")[0].lower()
    return authority.rpartition(":")[0].lower() if authority.count(":") == 1 else authority.lower()


def allowed_hosts(settings: Settings) -> frozenset[str]:
    """Return the names by which this daemon may be addressed."""
    bound = {settings.daemon.host.lower()} - _EVERY_INTERFACE
    configured = {host_name(host) for host in settings.auth.allowed_hosts}
    return _LOOPBACK_NAMES | bound | configured


def check_host(headers: Headers, allowed: frozenset[str]) -> None:
    """Refuse a `Host` that is not ours, so that a rebound DNS name cannot reach the daemon."""
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not _is_authority(hosts[0]) or host_name(hosts[0]) not in allowed:
        raise Forbidden(
            "The Host header is not allowed. If the host is yours, add it to auth.allowed_hosts.",
            reason="host_not_allowed",
        )


def _is_authority(host: str) -> bool:
    found = _AUTHORITY.fullmatch(host)
    return found is not None and int(found[1] or 0) <= _LARGEST_PORT


def check_origin(headers: Headers, scheme: str, settings: AuthSettings) -> None:
    """Refuse a page of another site. Programs that are not browsers send no `Origin`."""
    origin = headers.get("origin")
    if origin is None:
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            raise Forbidden("Requests from other sites are not allowed.", reason="origin_not_allowed")
        return
    own = f"{_page_scheme(scheme)}://{headers.get('host', '')}".lower()
    if origin.lower() == own or origin.lower().rstrip("/") in _configured_origins(settings):
        return
    raise Forbidden(
        "The Origin header is not allowed. If the page is yours, add its origin to auth.allowed_origins.",
        reason="origin_not_allowed",
    )


def _page_scheme(scheme: str) -> str:
    return {"ws": "http", "wss": "https"}.get(scheme, scheme)


def _configured_origins(settings: AuthSettings) -> frozenset[str]:
    return frozenset(origin.lower().rstrip("/") for origin in settings.allowed_origins)


def cookie_names(connection: HTTPConnection) -> tuple[str, str]:
    """Return the names of the session and CSRF cookies.

    Cookies are shared by all ports of a host, and those of `/` are sent below `/shop` too. So the port and
    the base path are in the name: two daemons do not sign each other's browsers out."""
    port = urlsplit(f"//{connection.headers.get('host', '')}").port
    suffix = (f"_{port}" if port else "") + base_path_of(connection.scope).replace("/", "~")
    return f"kaged_session{suffix}", f"kaged_csrf{suffix}"


def presented_secret(connection: HTTPConnection) -> tuple[str, bool] | None:
    """Return the token that the client sent and whether it came in the cookie; None without one."""
    authorization = connection.headers.get("authorization")
    if authorization is not None:
        kind, _, value = authorization.partition(" ")
        if kind.lower() != "bearer" or not value.strip():
            raise Unauthenticated("Send `Authorization: Bearer <token>`.", reason="authorization_malformed")
        return value.strip(), False
    for subprotocol in connection.scope.get("subprotocols", ()):
        if subprotocol.startswith(BEARER_SUBPROTOCOL):
            return subprotocol.removeprefix(BEARER_SUBPROTOCOL), False
    cookie = connection.cookies.get(cookie_names(connection)[0])
    return (cookie, True) if cookie else None


async def authenticate(connection: HTTPConnection, access: AccessControl) -> tuple[Principal, str | None]:
    """Return who is asking and the secret that proves it (None when a secret does not)."""
    mode = access.settings.mode
    if mode == "insecure":
        return Principal("operator", "operator", "insecure"), None
    if mode == "proxy" and USER_HEADER in connection.headers:
        return _proxied(connection.headers, access.settings), None
    presented = presented_secret(connection)
    if presented is None:
        raise Unauthenticated(
            "Send `Authorization: Bearer <token>`, or open the launch link that the daemon printed.",
            reason="token_missing",
        )
    secret, from_cookie = presented
    return await access.verify(secret, via="cookie" if from_cookie else "bearer"), secret


def _proxied(headers: Headers, settings: AuthSettings) -> Principal:
    nonce = settings.proxy_nonce.get_secret_value() if settings.proxy_nonce is not None else ""
    sent = headers.get(NONCE_HEADER, "")
    if not nonce or not hmac.compare_digest(sent.encode("latin-1"), nonce.encode()):
        raise Unauthenticated("The nonce of the proxy is missing or wrong.", reason="proxy_nonce_invalid")
    users = headers.getlist(USER_HEADER)
    user = users[0].strip()
    # Two: one of them is what a client wrote and the proxy let through.
    if len(users) != 1 or not user or len(user) > _MAX_USER_ID or not user.isprintable():
        raise Unauthenticated("The proxy sent no valid user id.", reason="proxy_user_invalid")
    return Principal(user, "operator", "proxy")


def check_write(connection: HTTPConnection, principal: Principal, secret: str | None) -> None:
    """Refuse a write by a read-only token, or by a cookie without the CSRF header. Which writes a token
    that is bound may make is decided before (`scope_rules`)."""
    if not principal.may_write and not principal.is_bound:
        raise Forbidden("This token is read-only.", reason="read_only")
    if principal.via != "cookie" or secret is None:
        return
    sent = connection.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(sent.encode("latin-1"), csrf_token(secret).encode()):
        raise Forbidden(
            "A write with the session cookie needs the CSRF cookie's value in the X-Kaged-CSRF header.",
            reason="csrf_invalid",
        )
