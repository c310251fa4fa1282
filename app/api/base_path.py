"""The path prefix of the daemon's address, `daemon.base_path`, where a proxy serves several below one name.

Owns: taking the prefix off a request, and refusing requests that lack it or have another. Never: routes,
which know paths without the prefix only, or who is let in (`access_rules`).

The proxy passes paths on unchanged. Everything else learns the prefix from `base_path_of`, or from
`request.base_url`, which Starlette builds from the same key.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from app.config import is_base_path
from app.errors import NotFound

PROBED_PATHS = frozenset({"/healthz", "/readyz"})
"""They answer without the prefix, too: a container's probe asks the daemon, not the proxy."""

_PREFIX_KEY = "app_root_path"
_OUTSIDE_KEY = "kaged.outside_base_path"

_AREAS = ("/api/v1/", "/static/", "/v1/")
_PAGES = ("/launch", "/docs", "/mcp", *sorted(PROBED_PATHS))
"""How addresses of a daemon go on behind a prefix."""


class BasePath:
    """Pure ASGI, around the whole application."""

    def __init__(self, app: ASGIApp, base_path: str) -> None:
        self._app = app
        self._base_path = base_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._base_path and scope["type"] in ("http", "websocket"):
            scope = self._below(scope)
        await self._app(scope, receive, send)

    def _below(self, scope: Scope) -> Scope:
        path: str = scope["path"]
        if path in PROBED_PATHS:
            return scope
        rest = path.removeprefix(self._base_path)
        if rest == path or rest[:1] not in ("", "/"):
            return {**scope, _OUTSIDE_KEY: self._base_path}
        return {**scope, "path": rest, _PREFIX_KEY: self._base_path}


def base_path_of(scope: Scope) -> str:
    """Return the prefix of a request's address, without a slash at its end; empty at the root of a host."""
    prefix: str = scope.get(_PREFIX_KEY, "")
    return prefix


def without_slash(scope: Scope) -> ASGIApp | None:
    """Return the redirect for the bare prefix: links of the page are relative to the address with a slash."""
    if scope["path"] or not base_path_of(scope):
        return None
    from starlette.responses import RedirectResponse  # the start of the daemon does without it

    query: bytes = scope.get("query_string", b"")
    return RedirectResponse(f"{base_path_of(scope)}/" + (f"?{query.decode('latin-1')}" if query else ""), 308)


def check_prefix(scope: Scope) -> None:
    """Refuse an address without the prefix, or with a prefix that is not set. Raises `NotFound`, which says
    what to change."""
    own = scope.get(_OUTSIDE_KEY)
    if own is not None:
        raise NotFound(
            f"This daemon is served below {own} (daemon.base_path), and the path of this request does not "
            "begin with that. A proxy must pass paths on unchanged; any other client needs the prefix in its "
            "address.",
            reason="outside_base_path",
            details={"base_path": own},
        )
    foreign = _foreign_prefix(scope["path"])
    if foreign is not None:
        known = base_path_of(scope)
        raise NotFound(
            f"The path of this request begins with {known}{foreign}, and daemon.base_path is "
            f"{known or 'not set'}. Set it to {known}{foreign} if a proxy serves the daemon there; otherwise "
            "use an address without that prefix.",
            reason="base_path_not_set",
            details={"base_path": known},
        )


def _foreign_prefix(path: str) -> str | None:
    """Return what stands before a path of the daemon, when it could be a prefix."""
    if path.startswith(_AREAS):
        return None
    found = [path.partition(area)[0] for area in _AREAS if area in path]
    found += [path.removesuffix(page) for page in _PAGES if path.endswith(page)]
    return next((before for before in found if before and is_base_path(before)), None)
