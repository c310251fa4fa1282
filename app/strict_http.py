"""Strict parsing of HTTP/1.1: what a proxy might parse differently is refused.

Owns: which request heads are malformed beyond what the parser refuses. Never: answering (the server sends
400).
Keeps S21 of docs/security.md.
"""

from __future__ import annotations

import re
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer

_MALFORMED = re.compile(rb"(?<!\r)\n|\r[^\n]|\r\n[ \t]")
"""A line that ends with a line feed alone, a carriage return by itself, a header that is folded."""
_END = b"\r\n\r\n"


class StrictBuffer(ReceiveBuffer):
    """What has arrived. Heads and trailers have the line ends that the standard asks for."""

    def __init__(self) -> None:
        super().__init__()
        self._looked_to = 0

    def _extract(self, count: int) -> bytearray:
        self._looked_to = 0
        return super()._extract(count)

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return the lines up to the next empty one. Raises `h11.RemoteProtocolError`."""
        if not self._data.startswith(b"\r\n"):
            end = self._data.find(_END, max(0, self._looked_to - len(_END)))
            until = len(self._data) if end < 0 else end + 2
            if self._data.startswith(b"\n") or _MALFORMED.search(
                self._data, max(0, self._looked_to - 2), until
            ):
                raise h11.RemoteProtocolError("lines end with CR and LF, and headers are not folded")
            self._looked_to = until
        return super().maybe_extract_lines()


class StrictConnection(h11.Connection):
    """The server's side of a connection."""

    def __init__(self, max_incomplete_event_size: int) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size)
        self._receive_buffer = StrictBuffer()

    def next_event(self) -> Any:
        """Return what h11 does. Raises `h11.RemoteProtocolError` for a body with two lengths (RFC
        9112, 6.1): a proxy in between may believe the other one."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            if b"transfer-encoding" in names and (b"content-length" in names or event.http_version < b"1.1"):
                raise h11.RemoteProtocolError("Content-Length and Transfer-Encoding exclude each other")
        return event
