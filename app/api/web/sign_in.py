"""The page that a browser gets in place of an error body when it is not signed in.

Owns: when that page is the right answer. Never: deciding who is signed in (`access_rules`).
"""

from __future__ import annotations

from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from app.errors import KagedError

_PAGES = frozenset({"/", "/launch"})
_TEMPLATE = Path(__file__).parent / "templates" / "sign_in.html"


def sign_in_page(scope: Scope, error: KagedError) -> Response | None:
    """Return the page when a person at a browser asked for one of ours and is not signed in."""
    if error.status != 401 or scope["path"] not in _PAGES:
        return None
    if "text/html" not in Headers(scope=scope).get("accept", ""):
        return None
    return HTMLResponse(_TEMPLATE.read_text(encoding="utf-8"), status_code=401)
