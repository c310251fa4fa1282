"""The web page at `/`: one page, its modules and styles, as plain files.

Owns: which files are served and under which address. Never: data; the page asks the same
interface as every other client. Proven by `tests/e2e/test_web_page.py`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse, HTMLResponse

from app.api.dependencies import PrincipalDep, ServicesDep
from app.errors import NotFound
from app.lifespan import Services

router = APIRouter(include_in_schema=False)

_FOLDER = Path(__file__).parent
_FILE_NAME = re.compile(r"^[a-z_]+\.(js|css|svg)$")
_TIERS = {"off": ("no sandbox", "bad"), "none": ("no cages", "plain"), "landlock": ("landlock", "plain")}
_MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@router.get("/")
async def get_page(principal: PrincipalDep, services: ServicesDep) -> HTMLResponse:
    """The page; all that it is told beforehand is who is looking at it, how large a file may be, and what
    does not protect whoever uses it."""
    page = await asyncio.to_thread((_FOLDER / "templates" / "index.html").read_text, encoding="utf-8")
    largest = str(services.management.uploads.max_bytes)
    warnings = "".join(_warnings(services))
    page = page.replace("{warnings}", warnings).replace("{largest}", largest)
    return HTMLResponse(page.replace("{actor}", escape(principal.actor)))


def _warnings(services: Services) -> Iterator[str]:
    """Yield what stands beside the daemon's name: that anybody may come in, or that cages hold less."""
    if services.settings.auth.mode == "insecure":
        yield _pill("no sign-in", "bad", "Everybody who reaches this address is let in (auth.mode).")
    tier = services.tier
    if tier.name != "full":
        words, tone = _TIERS[tier.name]
        yield _pill(words, tone, f"{tier.reason}. {tier.advice or ''}".strip())


def _pill(words: str, tone: str, title: str) -> str:
    return f'<span class="pill" data-tone="{tone}" title="{escape(title)}">{words}</span>'


@router.get("/static/{name}")
async def get_static_file(name: str) -> FileResponse:
    """One file of the page. Only names of the page's own alphabet are looked for."""
    path = _FOLDER / "static" / name
    if not _FILE_NAME.match(name) or not path.is_file():
        raise NotFound(f"There is nothing at /static/{name}.", reason="no_such_route")
    return FileResponse(path, media_type=_MEDIA_TYPES[path.suffix])
