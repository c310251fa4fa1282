"""The bytes of an open file as an answer: ranges, validators, and headers under which no browser runs it.

Owns: HTTP of one file. Never: opening it (`harness.files`).
"""

from __future__ import annotations

import asyncio
import re
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.errors import RangeNotSatisfiable
from app.harness.files.contents import FileChanged, OpenFile

NEVER_RUN = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "cross-origin-resource-policy": "same-origin",
}
_ONE_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._ -]+")


class FileBytes(Response):
    """Owns the open file from now on. Raises `RangeNotSatisfiable`."""

    def __init__(self, file: OpenFile, request: Headers) -> None:
        self._file = file
        self._whole = range(file.size)
        self._part = self._whole
        etag = f'"{file.validator}"'
        headers: dict[str, str] = {**NEVER_RUN, "etag": etag, "accept-ranges": "bytes"}
        headers["cache-control"] = "private, no-cache"
        headers["content-disposition"] = _disposition(file)
        status = 200
        if _names(request.get("if-none-match", ""), etag):
            status, self._part = 304, range(0)
        else:
            self._part = self._asked(request, etag)
            if self._part != self._whole:
                status = 206
                last = self._part.stop - 1
                headers["content-range"] = f"bytes {self._part.start}-{last}/{file.size}"
            headers["content-length"] = str(len(self._part))
        super().__init__(None, status, headers, file.media_type)
        if status == 304:
            del self.headers["content-type"], self.headers["content-disposition"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send(
                {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            )
            at, end = self._part.start, self._part.stop
            while at < end:
                # A changed file ends the connection: the client must not take two halves for one file.
                piece = await asyncio.to_thread(self._file.read, at, end - at)
                at += len(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": at < end})
            if not self._part:
                await send({"type": "http.response.body", "body": b""})
        except FileChanged:
            raise ClientDisconnect from None  # no status can be sent any more; the rest stays away
        finally:
            self._file.close()

    def _asked(self, request: Headers, etag: str) -> range:
        """Return the bytes that are asked for. A header that asks for several parts does not count, as the
        standard allows."""
        size = self._file.size
        found = _ONE_RANGE.fullmatch(request.get("range", ""))
        condition = request.get("if-range")
        if found is None or found[0] == "bytes=-" or (condition is not None and condition != etag):
            return self._whole
        first, last = found.groups()
        if not first:
            start, stop = max(size - int(last), 0), size
        else:
            start, stop = int(first), min(int(last) + 1, size) if last else size
            if last and int(last) < int(first):
                return self._whole
        if start >= stop:
            self._file.close()
            raise RangeNotSatisfiable(f"The file has {size} bytes.", size=size)
        return range(start, stop)


def _names(header: str, etag: str) -> bool:
    tags = [one.strip().removeprefix("W/") for one in header.split(",")]
    return etag in tags or tags == ["*"]


def _disposition(file: OpenFile) -> str:
    """Text may be shown in place; all else is a download."""
    kind = "inline" if file.is_text else "attachment"
    name = file.path.rpartition("/")[2]
    if _PLAIN_NAME.fullmatch(name):
        return f'{kind}; filename="{name}"'
    return f"{kind}; filename*=utf-8''{quote(name.encode('utf-8', 'surrogateescape'))}"
