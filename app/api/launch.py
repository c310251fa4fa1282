"""Signing a browser in.

Owns: the exchange of the launch link for cookies. Never: tokens (`access.tokens`) or the page (`web.mount`).
Keeps S17 of docs/security.md.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from app.access.tokens import BROWSER_SESSION_DAYS, csrf_token
from app.api.access_rules import cookie_names
from app.api.base_path import base_path_of
from app.api.dependencies import ServicesDep
from app.api.kaged_route import noun_router
from app.api.sign_in import asks_first, sign_in_button
from app.errors import Unauthenticated

router: APIRouter = noun_router("Access", prefix="")

_COOKIE_SECONDS = BROWSER_SESSION_DAYS * 24 * 60 * 60
_PAGE = "./"
"""Relative: it leads to the page also where the daemon does not know its base path, and the page says so."""


@router.get(
    "/launch",
    summary="Sign in a browser with the launch link",
    response_class=RedirectResponse,
    status_code=303,
)
async def launch(
    request: Request,
    services: ServicesDep,
    token: Annotated[str, Query(max_length=200, description="The code from the launch link.")] = "",
) -> Response:
    """Exchanges the code for an HttpOnly session cookie and a CSRF cookie that pages can read, then redirects
    to the page. A code works once. When another site opened the link (`Sec-Fetch-Site`), the answer is a page
    with a button, and the code stays valid."""
    answer = RedirectResponse(_PAGE, status_code=303)
    if services.access.settings.mode != "token":
        return answer
    if asks_first(request.headers):
        return sign_in_button(token)
    try:
        created = await services.access.exchange(token)
    except Unauthenticated:
        request.app.state.limits.failed(request.scope)
        raise
    session_cookie, csrf_cookie = cookie_names(request)
    path, secure = base_path_of(request.scope) or "/", request.url.scheme == "https"
    answer.set_cookie(
        session_cookie,
        created.secret,
        max_age=_COOKIE_SECONDS,
        path=path,
        httponly=True,
        samesite="strict",
        secure=secure,
    )
    answer.set_cookie(
        csrf_cookie,
        csrf_token(created.secret),
        max_age=_COOKIE_SECONDS,
        path=path,
        samesite="strict",
        secure=secure,
    )
    return answer
