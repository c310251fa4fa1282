"""The runs of the compiler behind rust-analyzer's diagnostics, each of them for a request of ours.

Owns: when a run is asked for, and which request the end of a run answers. Never: what the runs find.

The server says the same when it stops a run for a newer request and when a run has ended. So it starts none
by itself (`checkOnSave` is off), and no request is sent while another has not led to a run. What ends then is
known.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from app.bridges.lsp.connection import Connection
from app.bridges.lsp.readiness import Bell, Readiness

QUIET_SECONDS = 0.15
"""How long after the end of a run that of another workspace may begin."""
LOST_SECONDS = 4.0
"""After how long without a run a request counts as lost: the project was loaded again."""
MAX_RUNNING = 100
MAX_TOKEN = 200


class Flychecks:
    """Follows the runs of one run of the server."""

    def __init__(self, client: Connection, bell: Bell, readiness: Readiness) -> None:
        self._client = client
        self._bell = bell
        self._readiness = readiness
        self._running: dict[str, float] = {}
        """What runs by its token, with when the request was sent that it answers (monotonic)."""
        self._asked_at = 0.0
        self._unbegun = False
        """Whether the newest request has not led to a run yet."""
        self._uncertain = False
        """Whether one before it may still do."""
        self._of_all = True
        """Whether the request names no file: a run for all workspaces, which the settings may exclude."""
        self._answered_at = 0.0
        """When the newest request was sent whose run has ended."""
        self._over_at = 0.0
        self._reloaded_at = 0.0

    def notified(self, method: str, params: dict[str, Any]) -> None:
        """Take a notification."""
        if method == "$/progress" and "flycheck" in (token := str(params.get("token"))[:MAX_TOKEN]).lower():
            value = params.get("value")
            self._progress(token, value.get("kind") if isinstance(value, dict) else None)
        elif method == "experimental/serverStatus" and params.get("quiescent") is False:
            # The project is loaded again. A run may have been stopped for it, and may not report its end.
            self._running.clear()
            self._reloaded_at = time.monotonic()

    def _progress(self, token: str, kind: Any) -> None:
        if kind == "begin" and len(self._running) < MAX_RUNNING:
            self._running[token] = self._asked_at
            self._unbegun = False
        elif kind == "end":
            self._answered_at = max(self._answered_at, self._running.pop(token, 0.0))
            self._over_at = time.monotonic()
        self._bell.ring()

    def cover(self, changed_at: float) -> bool:
        """Tell whether the compiler has looked at what was there at `changed_at` (monotonic)."""
        return not self._running and self._answered_at > max(changed_at, self._reloaded_at)

    async def run(self, uri: str, changed_at: Callable[[], float], deadline: float) -> bool:
        """Have the compiler look at what the files hold now, that of the URI at least, and return whether it
        has by the `deadline` (monotonic). A project that cannot be loaded is not looked at."""
        while not await self._is_over(changed_at, deadline):
            if time.monotonic() >= deadline:
                return False
            if self._may_ask(changed_at()):
                self._ask(uri)
            lost_at = self._asked_at + LOST_SECONDS if self._unbegun else deadline
            await self._bell.until(
                lambda: self._ends(changed_at()) or self._may_ask(changed_at()), min(deadline, lost_at)
            )
        return True

    async def _is_over(self, changed_at: Callable[[], float], deadline: float) -> bool:
        """Tell whether nothing more is to be waited for."""
        if not self._ends(changed_at()):
            return False
        rest = self._over_at + (LOST_SECONDS if self._uncertain else QUIET_SECONDS)
        return not await self._bell.until(lambda: not self._ends(changed_at()), min(rest, deadline))

    def _ends(self, changed_at: float) -> bool:
        return (self._readiness.ready and bool(self._readiness.trouble)) or self.cover(changed_at)

    def _may_ask(self, changed_at: float) -> bool:
        if not self._readiness.ready:
            return False
        if self._unbegun:
            return time.monotonic() >= self._asked_at + LOST_SECONDS
        return self._asked_at <= max(changed_at, self._reloaded_at)

    def _ask(self, uri: str) -> None:
        if self._unbegun:
            self._of_all = not self._of_all
        self._uncertain = self._unbegun
        self._unbegun = True
        self._asked_at = time.monotonic()
        document = None if self._of_all else {"uri": uri}
        self._client.notify("rust-analyzer/runFlycheck", {"textDocument": document})
