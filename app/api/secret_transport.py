"""Whether a request may carry a secret: what it sends must be encrypted, or must not leave the machine.

Owns: that decision, by the connection and by what a trusted proxy says. Never: who may ask
(`access_rules`).
"""

from __future__ import annotations

from starlette.requests import HTTPConnection

from app.access.scopes import Principal
from app.api.access_rules import host_name
from app.config import is_loopback
from app.errors import Forbidden

_BY_PROXIES = ("forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip")


def refuse_readable_secret(connection: HTTPConnection, principal: Principal, instead: str) -> None:
    """Raise `Forbidden` when others on the network can read the request; `instead` says what to do.

    The daemon has no TLS of its own. A proxy on this machine, or one that has shown the nonce, says with
    X-Forwarded-Proto how the client has reached it."""
    scope, headers = connection.scope, connection.headers
    if scope["scheme"] == "https":
        return
    here = is_loopback(str((scope.get("client") or ("",))[0]))
    proxied = principal.via == "proxy" or any(name in headers for name in _BY_PROXIES)
    if here and not proxied and is_loopback(host_name(headers.get("host", ""))):
        return
    trusted = here or principal.via == "proxy"
    if trusted and headers.getlist("x-forwarded-proto") == ["https"]:
        return
    raise Forbidden(
        "A key is not accepted over an unencrypted connection. Open the page over https, through a proxy "
        f"that sends X-Forwarded-Proto, or {instead}.",
        reason="not_encrypted",
    )
