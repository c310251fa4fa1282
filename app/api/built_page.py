"""The files of the page as `make web` builds them, below `app/api/web/built`.

Owns: reading them, what is sent of each, and which files a page needs. Never: how they are built (`web/`), or
who may read them (`access_rules`).
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

_FILE_NAME = re.compile(r"^[A-Za-z0-9_-]+\.(js|css|svg|woff2|png|webmanifest)$")
_HASHED = re.compile(r"-[a-z0-9]{10}\.[a-z0-9]+$")
_NAMED = re.compile(r"static/([A-Za-z0-9_-]+\.[a-z0-9]+)")
_NAMED_BY_STYLES = re.compile(r"url\(\./([A-Za-z0-9_-]+\.[a-z0-9]+)\)")
_MEDIA_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
}
_WORKER = "service_worker.js"
_COMPRESSED = frozenset({".woff2", ".png"})
"""Files that are compressed already."""
_IMMUTABLE = "max-age=31536000, immutable"
"""For a file with its own digest in its name: another content has another name."""


@dataclass(frozen=True, slots=True)
class _StaticFile:
    content: bytes
    codings: dict[str, bytes]
    tag: str


class BuiltPage:
    """One folder with HTML files, and `static` beside them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def text(self, name: str) -> str:
        """Return an HTML file. Blocks."""
        return (self._folder / f"{name}.html").read_text(encoding="utf-8")

    def html(self, text: str, request: Request) -> Response:
        """Answer with HTML, compressed for who takes that: it holds no secret either."""
        content, headers = text.encode(), {"vary": "accept-encoding"}
        if _codings(request.headers.get("accept-encoding", "")) & {"gzip", "*"}:
            headers["content-encoding"] = "gzip"
            content = gzip.compress(content, mtime=0)
        return HTMLResponse(content, headers=headers)

    def needed_by(self, *pages: str) -> frozenset[str]:
        """Return the paths of the files that these pages load at once, with those that their styles name.
        Blocks."""
        names = _names(_NAMED, map(self.text, pages))
        styles = (self._folder / "static" / name for name in names if name.endswith(".css"))
        names |= _names(_NAMED_BY_STYLES, (style.read_text(encoding="utf-8") for style in styles))
        return frozenset(f"/static/{name}" for name in names)

    async def worker(self, request: Request) -> Response | None:
        """Return the worker of the page, None when there is none. It stands beside the page, because a worker
        looks after what lies below its own address; a browser asks each time whether it has changed."""
        return self._answered(await asyncio.to_thread(self._find, Path(_WORKER)), _WORKER, request)

    async def answer(self, name: str, request: Request) -> Response | None:
        """Return one file, None when there is none. Only names of the page's own alphabet are looked for.

        A browser keeps a file with a digest in its name. Of the others it asks each time whether they have
        changed: another release of the daemon is seen at once, and a reload moves no bytes. A file is
        compressed for who takes that; it holds no secret."""
        if not _FILE_NAME.match(name):
            return None
        return self._answered(await asyncio.to_thread(self._find, Path("static", name)), name, request)

    def _answered(self, found: _StaticFile | None, name: str, request: Request) -> Response | None:
        if found is None:
            return None
        kept = _IMMUTABLE if _HASHED.search(name) else "no-cache"
        headers = {"cache-control": kept, "etag": found.tag, "vary": "accept-encoding"}
        known = {
            tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")
        }
        if found.tag.removeprefix("W/") in known:
            return Response(status_code=304, headers=headers)
        media_type = _MEDIA_TYPES[f".{name.rpartition('.')[2]}"]
        accepted = _codings(request.headers.get("accept-encoding", ""))
        for coding, content in found.codings.items():
            if coding in accepted or "*" in accepted:
                headers["content-encoding"] = coding
                return Response(content, headers=headers, media_type=media_type)
        return Response(found.content, headers=headers, media_type=media_type)

    def _find(self, file: Path) -> _StaticFile | None:
        """Blocks: reads the file when it is another than before."""
        path = self._folder / file
        try:
            status = path.stat()
        except OSError:
            return None
        return _read(path, status.st_mtime_ns, status.st_size)


BUILT_PAGE = BuiltPage(Path(__file__).parent / "web" / "built")


@functools.lru_cache(maxsize=256)
def _read(path: Path, _changed: int, _size: int) -> _StaticFile:
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:32]
    codings: dict[str, bytes] = {}
    if path.suffix not in _COMPRESSED:
        brotli = path.with_name(f"{path.name}.br")
        if brotli.exists():
            codings["br"] = brotli.read_bytes()
        codings["gzip"] = gzip.compress(content, mtime=0)
    # Weak: the same file in several codings.
    return _StaticFile(content, codings, f'W/"{digest}"')


def _names(pattern: re.Pattern[str], texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in pattern.findall(text)}


def _codings(accepted: str) -> set[str]:
    """Return the codings that a client takes, by its header `Accept-Encoding`."""
    found = set()
    for one in accepted.lower().split(","):
        coding, _, quality = one.strip().partition(";")
        if quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            found.add(coding.strip())
    return found
