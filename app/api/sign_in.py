"""The pages for a browser that is not signed in: in place of an error body, and before a launch link is used.

Owns: when such a page is the right answer. Never: deciding who is signed in (`access_rules`).
"""

from __future__ import annotations

from html import escape

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from app.api.built_page import BUILT_PAGE
from app.errors import KagedError

_PAGES = frozenset({"/", "/launch"})


def asks_first(headers: Headers) -> bool:
    """Tell whether another site has sent the browser here: then a person decides, not that site. A program
    says nothing, an address that was typed or opened by another program is of no site."""
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def sign_in_button(code: str) -> Response:
    """Return the page with the button that uses a launch link."""
    page = BUILT_PAGE.text("sign_in_button").replace("{{ code }}", escape(code, quote=True))
    return HTMLResponse(page)


def sign_in_page(scope: Scope, error: KagedError) -> Response | None:
    """Return the page when a person at a browser asked for one of ours and is not signed in."""
    if error.status != 401 or scope["path"] not in _PAGES:
        return None
    if "text/html" not in Headers(scope=scope).get("accept", ""):
        return None
    return HTMLResponse(BUILT_PAGE.text("sign_in"), status_code=401)
