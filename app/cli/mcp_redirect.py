"""The end of a sign-in in the operator's browser: the redirect to a port of this machine.

Owns: listening for it, or reading its address from the terminal; that it belongs to this sign-in. Never:
OAuth.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlsplit

from app.cli.output import CommandFailed, print_warning

PATH = "/callback"
_REQUEST_SECONDS = 10.0
_MOST_BYTES = 16 * 1024
_PAGE = "<!doctype html><meta charset=utf-8><title>kaged</title><p>{}"
_HEAD = (
    "HTTP/1.1 {}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n"
    "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
    "Content-Security-Policy: default-src 'none'\r\nConnection: close\r\n\r\n"
)


class Redirect:
    """Waits for one redirect. An answer without the right state is not the one, and is not taken."""

    def __init__(self) -> None:
        self.uri = ""
        self._state: str | None = None
        self._typed = b""
        self._found: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    @classmethod
    @asynccontextmanager
    async def listening(cls, port: int) -> AsyncIterator[Redirect]:
        """Listen on a port of the loopback address; 0 takes a free one. Raises CommandFailed."""
        redirect = cls()
        try:
            server = await asyncio.start_server(redirect._serve, "127.0.0.1", port, limit=_MOST_BYTES)
        except OSError as problem:
            raise CommandFailed("failed", f"port {port} cannot be listened on: {problem.strerror}") from None
        async with server:
            redirect.uri = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{PATH}"
            try:
                yield redirect
            finally:
                redirect._stop_reading()

    def expect(self, state: str) -> None:
        self._state = state

    async def answer(self) -> dict[str, str]:
        """Return the parameters of the redirect."""
        return await asyncio.shield(self._found)

    def read_pasted(self) -> None:
        """Also take the address of the redirect from the terminal, a line each, until one is right."""
        # Not by a thread: a read from a terminal cannot be cancelled, and keeps the command from its end.
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read)

    def _read(self) -> None:
        piece = os.read(sys.stdin.fileno(), _MOST_BYTES)
        *lines, self._typed = (self._typed + piece).split(b"\n")
        for line in lines:
            self._take_pasted(line.decode("utf-8", "replace").strip())
        if not piece or len(self._typed) > _MOST_BYTES:
            self._stop_reading()

    def _stop_reading(self) -> None:
        if sys.stdin.isatty():
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())

    def _take_pasted(self, line: str) -> None:
        if line and not self._take(line) and not self._found.done():
            print_warning("this is not the address at which this sign-in ends; copy all of it")

    def _take(self, address: str) -> bool:
        """Take the parameters of an address with the right state; tell whether it has that."""
        try:
            found = dict(parse_qsl(urlsplit(address).query, max_num_fields=50))
        except ValueError:
            return False
        state = found.get("state", "")
        if self._state is None or not secrets.compare_digest(state.encode(), self._state.encode()):
            return False
        if "code" not in found and "error" not in found:
            return False
        if not self._found.done():
            self._found.set_result(found)
        return True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                line = (await reader.readline()).decode("latin-1").split(" ")
                while (await reader.readline()).strip():
                    pass
                method, address = (*line, "", "")[:2]
                if method != "GET" or urlsplit(address).path != PATH:
                    status, text = "404 Not Found", "There is nothing here."
                elif self._take(address):
                    status, text = "200 OK", "kaged has the answer. Close this page, and see the terminal."
                else:
                    status, text = (
                        "400 Bad Request",
                        "This is not the answer to the sign-in that is under way.",
                    )
                page = _PAGE.format(text).encode()
                writer.write(_HEAD.format(status, len(page)).encode() + page)
                await writer.drain()
        except (TimeoutError, ValueError, OSError):
            pass
        finally:
            writer.close()
