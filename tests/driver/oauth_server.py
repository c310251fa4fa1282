"""An MCP server that asks for a sign-in, as a process of its own, and what a browser does at it.

Owns: starting and steering it. Never: calling into `app`.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2

from tests.driver.ports import steady_port

SCRIPT = Path(__file__).parents[1] / "fakes" / "oauth_mcp_server.py"
START_SECONDS = 60.0
BROWSER = """\
#!{python}
import sys
import httpx2

answer = httpx2.get(sys.argv[1], follow_redirects=True, trust_env=False, verify=False, timeout=30)
open({seen!r}, "a").write(f"{{answer.status_code}} {{answer.text}}\\n")
"""


class OAuthServer:
    """The server, until the block ends."""

    def __init__(self, *options: str) -> None:
        self.port = steady_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self._options = options

    def __enter__(self) -> OAuthServer:
        self._process = subprocess.Popen([sys.executable, str(SCRIPT), str(self.port), *self._options])
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
            except OSError:
                assert self._process.poll() is None, "it has ended"
                assert time.monotonic() < deadline, "it does not listen"
                self._process_waits()
                continue
            return self

    def _process_waits(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0.05)

    def __exit__(self, *_how: object) -> None:
        self._process.kill()
        self._process.wait()

    def control(self, **wish: Any) -> dict[str, Any]:
        """Steer it, and return what it has seen since the call before: `grants`, the tokens that it was
        `sent` and those that were `revoked`; and all that it has `issued`, and its `clients`."""
        answer = httpx2.post(
            f"http://127.0.0.1:{self.port}/control", json=wish, trust_env=False, verify=False, timeout=30
        )
        found: dict[str, Any] = answer.raise_for_status().json()
        return found


def write_browser(file: Path, seen: Path) -> Path:
    """Write a program that opens a page as a browser does, and writes down where that ended."""
    file.write_text(BROWSER.format(python=sys.executable, seen=str(seen)))
    file.chmod(0o755)
    return file


async def redirected(page: str) -> dict[str, str]:
    """Return the parameters with which a page sends the browser back."""
    async with httpx2.AsyncClient(trust_env=False, verify=False, timeout=30) as client:
        answer = await client.get(page)
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))
