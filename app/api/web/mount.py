"""The web page at `/` and the reference at `/docs`, as they are built from `web/`.

Owns: which files are served and under which address. Never: data; the page asks the same
interface as every other client. Proven by `tests/e2e/test_web_page.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from html import escape

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.base_path import base_path_of
from app.api.built_page import BUILT_PAGE
from app.api.dependencies import PrincipalDep, ServicesDep
from app.daemon.services import Services
from app.errors import NotFound

router = APIRouter(include_in_schema=False)

_TIERS = {"off": ("no sandbox", "bad"), "none": ("no cages", "plain"), "landlock": ("landlock", "plain")}


@router.get("/")
async def get_page(request: Request, principal: PrincipalDep, services: ServicesDep) -> Response:
    """The page, with the name of its user, the size limit of uploads, the base path and the warnings of the
    daemon. Its links are relative."""
    page = await asyncio.to_thread(BUILT_PAGE.text, "index")
    largest = str(services.management.uploads.max_bytes)
    warnings = "".join(_warnings(services))
    page = page.replace("{warnings}", warnings).replace("{largest}", largest)
    page = page.replace("{base_path}", base_path_of(request.scope))
    return BUILT_PAGE.html(page.replace("{actor}", escape(principal.actor)), request)


@router.get("/docs")
async def get_reference(request: Request) -> Response:
    """The reference of the interface, for which nobody needs to sign in: it holds no data of a user."""
    return BUILT_PAGE.html(await asyncio.to_thread(BUILT_PAGE.text, "reference"), request)


def _warnings(services: Services) -> Iterator[str]:
    """Yield the warnings beside the daemon's name: no sign-in, no cages, or weaker ones."""
    if services.settings.auth.mode == "insecure":
        yield _pill(
            "no sign-in", "bad", "Anyone who reaches this address can use the daemon (auth.mode is insecure)."
        )
    tier = services.machine.tier
    if tier.name != "full":
        words, tone = _TIERS[tier.name]
        yield _pill(words, tone, f"{tier.reason}. {tier.advice or ''}".strip())


def _pill(words: str, tone: str, title: str) -> str:
    return f'<span class="pill" data-tone="{tone}" title="{escape(title)}">{words}</span>'


@router.get("/service_worker.js")
async def get_service_worker(request: Request) -> Response:
    """The worker that keeps the files of the page; it is beside the page so that it may."""
    answer = await BUILT_PAGE.worker(request)
    if answer is None:
        raise NotFound("There is nothing at /service_worker.js.", reason="no_such_route")
    return answer


@router.get("/static/{name}")
async def get_static_file(name: str, request: Request) -> Response:
    """One file of the page."""
    answer = await BUILT_PAGE.answer(name, request)
    if answer is None:
        raise NotFound(f"There is nothing at /static/{name}.", reason="no_such_route")
    return answer
