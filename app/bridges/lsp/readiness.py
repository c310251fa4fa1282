"""Whether a language server has loaded its project, by its own signals.

Owns: what each kind of signal means. Never: a guess by time alone, except that a signal which does
not come at all is not waited for without end.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.bridges.lsp.language_entry import Behaviour

MAX_TOKENS = 1_000
MAX_TOKEN = 200
MAX_LOG_TEXT = 10_000
MAX_TROUBLE = 500
MAX_PROBLEM = 1_500
MAX_DOING = 200
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
        "callHierarchy/outgoingCalls",
        "textDocument/prepareTypeHierarchy",
        "typeHierarchy/subtypes",
        "typeHierarchy/supertypes",
        "workspace/symbol",
        "workspace/willRenameFiles",
        "workspace/diagnostic",
    }
)
_INDEX_TOKEN = "backgroundIndexProgress"
_ADVICE = (
    (
        re.compile(r"failed to write \S*Cargo\.lock|lock file .{0,300} needs to be updated"),
        "The server may not write Cargo.lock: run `cargo generate-lockfile` in the folder of Cargo.toml.",
    ),
    (
        re.compile(
            r"attempting to make an HTTP request, but --offline|no matching package named .{0,300}offline"
        ),
        "The server has no network: run `cargo fetch` in the folder of Cargo.toml.",
    ),
)
"""What servers are known to complain of, and what to do about it."""


class Bell:
    """Wakes those who wait for news; each checks its condition again."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()
        self._over: Exception | None = None

    def end(self, reason: Exception) -> None:
        """There will be no more news: every waiter, now or later, gets `reason` raised."""
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


@dataclass(frozen=True, slots=True)
class _Progress:
    """Work that a server has announced, and how far it is."""

    title: str
    state: str


class Readiness:
    """Follows the signals of one run of a server."""

    def __init__(self, behaviour: Behaviour, bell: Bell) -> None:
        self._behaviour = behaviour
        self._pattern = re.compile(behaviour.ready_pattern) if behaviour.ready_pattern else None
        self._failed_check = re.compile(behaviour.signals.failed_check_pattern or r"(?!)")
        self._failed_load = re.compile(behaviour.signals.failed_load_pattern or r"(?!)")
        self._bell = bell
        self.begun_at = time.monotonic()
        self.unscanned: float | None = None
        """Since when the server has had notices of new files that it has not looked for (monotonic)."""
        self.loaded_at = 0.0
        """When a server that answers nothing rightly before had loaded the project last (monotonic)."""
        self._active: dict[str, _Progress] = {}
        self._announced = False
        self._quiescent = False
        self.scans = 0
        """How often the server has logged that it has looked for the project's files."""
        self._first_document: float | None = None
        self.trouble = ""
        """Why the server cannot work on the project, in its own words; empty while it can."""
        self._warning = ""

    @property
    def problem(self) -> str:
        """What the server complains of, in its own words: `trouble`, or why it knows the project only in
        part. Empty when it complains of nothing."""
        words = self.trouble or self._warning
        return f"{words} {advice}" if (advice := advice_for(words)) else words

    @property
    def check_failed(self) -> bool:
        """Whether the build that finds errors ended without having looked at the project."""
        return self._failed_check.search(self._warning or self.trouble) is not None

    @property
    def load_failed(self) -> bool:
        """Whether the server knows the project without what that depends on."""
        return self._failed_load.search(self.trouble or self._warning) is not None

    @property
    def ready(self) -> bool:
        match self._behaviour.ready:
            case "log":
                return self.scans > 0 or self._overdue
            case "server_status":
                return self._quiescent or (self._overdue and not self._announced)
            case "progress":
                return not self._active and (self._announced or self._overdue)
            case "index":
                return _INDEX_TOKEN not in self._active and (self._announced or self._overdue)
        return True

    @property
    def doing(self) -> str:
        """What the server says that it is doing, and how far it is; empty when it says nothing."""
        return next((f"{one.title} {one.state}".strip() for one in self._active.values()), "")

    def document_opened(self) -> None:
        if self._first_document is None:
            self._first_document = time.monotonic()

    def needed_for(self, method: str) -> bool:
        """Tell whether answers to `method` are incomplete before the project is loaded."""
        return (
            self._behaviour.signals.loads_first
            or self._behaviour.ready == "server_status"
            or method in _WHOLE_PROJECT
        )

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
            self._status(params.get("health"), _words(params.get("message"), MAX_PROBLEM))
            self._bell.ring()
        elif method == "window/showMessage" and params.get("type") == 1:
            self.trouble = self.trouble or _words(params.get("message"), MAX_TROUBLE)
        elif method == "window/logMessage" and self._pattern is not None:
            text = params.get("message")
            if isinstance(text, str) and self._pattern.search(text[:MAX_LOG_TEXT]):
                self.scans += 1
                self._bell.ring()

    def _status(self, health: Any, words: str) -> None:
        self.trouble = (words or "it cannot load the project") if health == "error" else ""
        self._warning = words if health == "warning" else ""

    def _progress(self, token: str, value: Any) -> None:
        kind = value.get("kind") if isinstance(value, dict) else None
        if kind == "begin":
            if self._behaviour.ready == "progress" or token == _INDEX_TOKEN:
                self._announced = True
            if len(self._active) < MAX_TOKENS:
                self._active[token] = _Progress(_words(value.get("title"), MAX_DOING), _state(value))
        elif kind == "report" and token in self._active:
            self._active[token] = replace(self._active[token], state=_state(value))
        elif kind == "end":
            self._active.pop(token, None)
            if self._behaviour.signals.loads_first and not self._active:
                self.loaded_at = time.monotonic()
            self._bell.ring()

    @property
    def _due(self) -> float:
        assert self._first_document is not None
        usual = UNANNOUNCED_SECONDS[self._behaviour.ready]
        return self._first_document + (self._behaviour.signals.unannounced_seconds or usual)

    @property
    def _overdue(self) -> bool:
        return self._first_document is not None and time.monotonic() >= self._due


def advice_for(problem: str) -> str:
    """Return what to do about a problem that servers are known to complain of, else nothing."""
    return next((advice for pattern, advice in _ADVICE if pattern.search(problem)), "")


def _state(value: Mapping[str, Any]) -> str:
    message, percentage = _words(value.get("message"), MAX_DOING), value.get("percentage")
    share = f"({percentage}%)" if type(percentage) is int and 0 <= percentage <= 100 else ""
    return f"{message} {share}".strip()


def _words(value: Any, most: int) -> str:
    return " ".join(value[:most].split()) if isinstance(value, str) else ""
