"""Whether a language server has loaded its project, by its own signals.

Owns: what each kind of signal means. Never: a guess by time alone, except that a signal which does
not come at all is not waited for without end.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from typing import Any

from app.bridges.lsp.language_entry import Behaviour

MAX_TOKENS = 1_000
MAX_TOKEN = 200
MAX_LOG_TEXT = 10_000
MAX_TROUBLE = 500
UNANNOUNCED_SECONDS = {"none": 0.0, "log": 15.0, "progress": 3.0, "server_status": 20.0, "index": 1.5}
"""How long after the first document a signal that never began is waited for, by its kind."""
_WHOLE_PROJECT = frozenset(
    {
        "textDocument/references",
        "textDocument/implementation",
        "textDocument/rename",
        "textDocument/prepareRename",
        "textDocument/prepareCallHierarchy",
        "callHierarchy/incomingCalls",
        "workspace/symbol",
        "workspace/willRenameFiles",
        "workspace/diagnostic",
    }
)
_INDEX_TOKEN = "backgroundIndexProgress"


class Bell:
    """Wakes whoever waits for news; a condition is looked at anew after each ring."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()
        self._over: Exception | None = None

    def end(self, reason: Exception) -> None:
        """There will be no more news: whoever waits, or comes to wait, gets `reason` raised."""
        self._over = reason
        self.ring()

    def ring(self) -> None:
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def until(self, holds: Callable[[], bool], deadline: float) -> bool:
        """Wait until `holds()`, at most until `deadline` (monotonic); return whether it holds."""
        loop = asyncio.get_running_loop()
        while not holds():
            if self._over is not None:
                raise self._over
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.add(future)
            try:
                await asyncio.wait({future}, timeout=left)
            finally:
                self._waiting.discard(future)
        return True


class Readiness:
    """Follows the signals of one run of a server."""

    def __init__(self, behaviour: Behaviour, bell: Bell) -> None:
        self._kind = behaviour.ready
        self._pattern = re.compile(behaviour.ready_pattern) if behaviour.ready_pattern else None
        self._bell = bell
        self._loads_first = behaviour.loads_first
        self._active: dict[str, str] = {}
        self._announced = False
        self._quiescent = False
        self._logged = False
        self._first_document: float | None = None
        self.trouble = ""
        """Why the server cannot work on the project, in its own words; empty while it can."""

    @property
    def ready(self) -> bool:
        match self._kind:
            case "log":
                return self._logged or self._overdue
            case "server_status":
                return self._quiescent or (self._overdue and not self._announced)
            case "progress":
                return not self._active and (self._announced or self._overdue)
            case "index":
                return _INDEX_TOKEN not in self._active and (self._announced or self._overdue)
        return True

    @property
    def doing(self) -> str:
        """What the server says that it is doing, empty when it says nothing."""
        return next(iter(list(self._active.values())), "")

    def document_opened(self) -> None:
        if self._first_document is None:
            self._first_document = time.monotonic()

    def needed_for(self, method: str) -> bool:
        """Tell whether answers to `method` are incomplete before the project is loaded."""
        return self._loads_first or self._kind == "server_status" or method in _WHOLE_PROJECT

    async def wait(self, deadline: float) -> bool:
        """Wait until the server is ready, and return whether it is."""
        self.document_opened()
        while not self.ready:
            soonest = min(deadline, self._due) if not self._overdue else deadline
            await self._bell.until(lambda: self.ready, soonest)
            if time.monotonic() >= deadline:
                return self.ready
        return True

    def notified(self, method: str, params: Any) -> None:
        if not isinstance(params, dict):
            return
        if method == "$/progress":
            self._progress(str(params.get("token"))[:MAX_TOKEN], params.get("value"))
        elif method == "experimental/serverStatus":
            self._announced = True
            self._quiescent = params.get("quiescent") is True
            failed = params.get("health") == "error"
            self.trouble = (_words(params.get("message")) or "it cannot load the project") if failed else ""
            self._bell.ring()
        elif method == "window/showMessage" and params.get("type") == 1:
            self.trouble = self.trouble or _words(params.get("message"))
        elif method == "window/logMessage" and self._pattern is not None:
            text = params.get("message")
            if isinstance(text, str) and self._pattern.search(text[:MAX_LOG_TEXT]):
                self._logged = True
                self._bell.ring()

    def _progress(self, token: str, value: Any) -> None:
        kind = value.get("kind") if isinstance(value, dict) else None
        if kind == "begin":
            if self._kind == "progress" or token == _INDEX_TOKEN:
                self._announced = True
            if len(self._active) < MAX_TOKENS:
                self._active[token] = str(value.get("title", ""))[:200]
        elif kind == "end":
            self._active.pop(token, None)
            self._bell.ring()

    @property
    def _due(self) -> float:
        assert self._first_document is not None
        return self._first_document + UNANNOUNCED_SECONDS[self._kind]

    @property
    def _overdue(self) -> bool:
        return self._first_document is not None and time.monotonic() >= self._due


def _words(value: Any) -> str:
    return " ".join(value[:MAX_TROUBLE].split()) if isinstance(value, str) else ""
