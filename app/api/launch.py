"""Signing a browser in, and the page that it lands on.

Owns: the launch link's exchange for cookies, and the page at `/`. Never: tokens themselves
(`access_tokens`).
"""

from __future__ import annotations

from html import escape
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app import __version__
from app.access_tokens import BROWSER_SESSION_DAYS, csrf_token
from app.api.access_rules import cookie_names
from app.api.dependencies import PrincipalDep, ServicesDep
from app.api.kaged_route import noun_router

router: APIRouter = noun_router("Access")

_COOKIE_SECONDS = BROWSER_SESSION_DAYS * 24 * 60 * 60

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>kaged</title></head>
<body>
<h1>kaged {version}</h1>
<p>The daemon is running and you are signed in as {actor}.</p>
<ul>
<li><a href="/api/v1/projects">Projects</a></li>
<li><a href="/api/v1/sessions">Sessions</a></li>
<li><a href="/api/v1/openapi.json">Description of the interface (OpenAPI)</a></li>
</ul>
</body>
</html>
"""


@router.get(
    "/launch",
    operation_id="launch",
    summary="Sign a browser in with the launch link",
    response_class=RedirectResponse,
    status_code=303,
)
async def launch(
    request: Request,
    services: ServicesDep,
    token: Annotated[str, Query(max_length=200, description="The code from the launch link.")] = "",
) -> Response:
    """Trades the code for an HttpOnly session cookie and a CSRF cookie that pages can read, then
    goes on to `/`. A code is good for one exchange."""
    answer = RedirectResponse("/", status_code=303)
    if services.access.settings.mode != "token":
        return answer
    created = await services.access.exchange(token)
    session_cookie, csrf_cookie = cookie_names(request.headers)
    secure = request.url.scheme == "https"
    answer.set_cookie(
        session_cookie,
        created.secret,
        max_age=_COOKIE_SECONDS,
        httponly=True,
        samesite="strict",
        secure=secure,
    )
    answer.set_cookie(
        csrf_cookie, csrf_token(created.secret), max_age=_COOKIE_SECONDS, samesite="strict", secure=secure
    )
    return answer


@router.get("/", include_in_schema=False)
async def get_page(principal: PrincipalDep) -> HTMLResponse:
    return HTMLResponse(_PAGE.format(version=escape(__version__), actor=escape(principal.actor)))
