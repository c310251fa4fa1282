"""A sign-in service as a proxy asks it: the two addresses of oauth2-proxy that the examples name.

Owns: its cookie, and who is signed in. Never: an identity provider; whoever starts is signed in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

USER = "ada@example.org"
_COOKIE = "signed_in=ada"


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/oauth2/auth":
            signed_in = _COOKIE in self.headers.get("Cookie", "")
            self._answer(202 if signed_in else 401, {"X-Auth-Request-Email": USER} if signed_in else {})
        elif parts.path == "/oauth2/start":
            back = parse_qs(parts.query)["rd"][0]
            self._answer(302, {"Location": back, "Set-Cookie": f"{_COOKIE}; Path=/; HttpOnly; Secure"})
        else:
            self._answer(404, {})

    def _answer(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": "0"}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def sign_in_service() -> Iterator[int]:
    """Run the service; gives its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        server.daemon_threads = True
        serving = Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            serving.join()
