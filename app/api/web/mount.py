"""The web page at `/` and the reference at `/docs`: pages, modules and styles, as plain files.

Owns: which files are served and under which address. Never: data; the page asks the same
interface as every other client. Proven by `tests/e2e/test_web_page.py`.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from app.api.base_path import base_path_of
from app.api.dependencies import PrincipalDep, ServicesDep
from app.daemon.services import Services
from app.errors import NotFound

router = APIRouter(include_in_schema=False)

_FOLDER = Path(__file__).parent
_FILE_NAME = re.compile(r"^[a-z_]+\.(js|css|svg)$")
_TIERS = {"off": ("no sandbox", "bad"), "none": ("no cages", "plain"), "landlock": ("landlock", "plain")}
_MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@router.get("/")
async def get_page(request: Request, principal: PrincipalDep, services: ServicesDep) -> HTMLResponse:
    """The page, with the name of its user, the size limit of uploads, the base path and the warnings of the
    daemon. Its links are relative."""
    page = await asyncio.to_thread((_FOLDER / "templates" / "index.html").read_text, encoding="utf-8")
    largest = str(services.management.uploads.max_bytes)
    warnings = "".join(_warnings(services))
    page = page.replace("{warnings}", warnings).replace("{largest}", largest)
    page = page.replace("{base_path}", base_path_of(request.scope))
    return HTMLResponse(page.replace("{actor}", escape(principal.actor)))


@router.get("/docs")
async def get_reference() -> HTMLResponse:
    """The reference of the interface, for which nobody needs to sign in: it holds no data of a user."""
    page = _FOLDER / "templates" / "reference.html"
    return HTMLResponse(await asyncio.to_thread(page.read_text, encoding="utf-8"))


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


@router.get("/static/{name}")
async def get_static_file(name: str, request: Request) -> Response:
    """One file of the page. Only names of the page's own alphabet are looked for.

    A browser keeps it and asks each time whether it has changed, by its digest: another release of the daemon
    is seen at once, and a reload moves no bytes. It is compressed for who takes that; it holds no secret."""
    found = await asyncio.to_thread(_static_file, name) if _FILE_NAME.match(name) else None
    if found is None:
        raise NotFound(f"There is nothing at /static/{name}.", reason="no_such_route")
    headers = {"cache-control": "no-cache", "etag": found.tag, "vary": "accept-encoding"}
    known = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if found.tag.removeprefix("W/") in known:
        return Response(status_code=304, headers=headers)
    media_type = _MEDIA_TYPES[f".{name.rpartition('.')[2]}"]
    if _takes_gzip(request.headers.get("accept-encoding", "")):
        headers["content-encoding"] = "gzip"
        return Response(found.compressed, headers=headers, media_type=media_type)
    return Response(found.content, headers=headers, media_type=media_type)


@dataclass(frozen=True, slots=True)
class _StaticFile:
    content: bytes
    compressed: bytes
    tag: str


def _static_file(name: str) -> _StaticFile | None:
    """Blocks: reads the file when it is another than before."""
    path = _FOLDER / "static" / name
    try:
        status = path.stat()
    except OSError:
        return None
    return _read(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=256)
def _read(path: Path, _changed: int, _size: int) -> _StaticFile:
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:32]
    # Weak: the same file in two codings.
    return _StaticFile(content, gzip.compress(content, mtime=0), f'W/"{digest}"')


def _takes_gzip(accepted: str) -> bool:
    """Tell whether a client takes gzip, by its header `Accept-Encoding`."""
    for one in accepted.lower().split(","):
        coding, _, quality = one.strip().partition(";")
        if coding.strip() in ("gzip", "*"):
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
