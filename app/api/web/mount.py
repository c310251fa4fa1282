"""The web page at `/`: one page, its modules and styles, as plain files.

Owns: which files are served and under which address. Never: data; the page asks the same
interface as every other client. Proven by `tests/e2e/test_web_page.py`.
"""

from __future__ import annotations

import asyncio
import re
from html import escape
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse, HTMLResponse

from app.api.dependencies import PrincipalDep, ServicesDep
from app.errors import NotFound

router = APIRouter(include_in_schema=False)

_FOLDER = Path(__file__).parent
_FILE_NAME = re.compile(r"^[a-z_]+\.(js|css|svg)$")
_MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@router.get("/")
async def get_page(principal: PrincipalDep, services: ServicesDep) -> HTMLResponse:
    """The page; all that it is told beforehand is who is looking at it, and how large a file may be."""
    page = await asyncio.to_thread((_FOLDER / "templates" / "index.html").read_text, encoding="utf-8")
    largest = str(services.management.uploads.max_bytes)
    return HTMLResponse(page.replace("{largest}", largest).replace("{actor}", escape(principal.actor)))


@router.get("/static/{name}")
async def get_static_file(name: str) -> FileResponse:
    """One file of the page. Only names of the page's own alphabet are looked for."""
    path = _FOLDER / "static" / name
    if not _FILE_NAME.match(name) or not path.is_file():
        raise NotFound(f"There is nothing at /static/{name}.", reason="no_such_route")
    return FileResponse(path, media_type=_MEDIA_TYPES[path.suffix])
