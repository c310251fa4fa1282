"""The audit rows of one debug session.

Owns: the events and their data. Never: keeping them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.bridges.dap.breakpoints import Breakpoints
from app.bridges.dap.requests import DebugOwner
from app.bridges.processes.audit import Record


class SessionAudit:
    """The audit rows of the session `session_id`. Paths below the project's root are relative to that."""

    def __init__(self, session_id: str, owner: DebugOwner, breakpoints: Breakpoints, record: Record) -> None:
        self._session_id = session_id
        self._owner = owner
        self._breakpoints = breakpoints
        self._record = record
        self._is_started = False
        self._has_ended = False

    def started(self, runtime: str, script: str) -> None:
        """The program is under the debugger."""
        self._is_started = True
        self._note(
            "debug.session_started",
            {"runtime": runtime, "script": self._shown(script), "caller": self._owner.agent_path},
        )

    def ended(self, reason: str) -> None:
        """Record the end of the session, if it had started."""
        self._has_ended = True
        if self._is_started:
            self._note("debug.session_ended", {"reason": reason})

    def hit(self, frame: Mapping[str, Any], numbers: Iterable[int]) -> None:
        """The program stands at breakpoints; `frame` is empty where it is not known."""
        if self._has_ended:
            return
        source = frame.get("source")
        path = source.get("path") if isinstance(source, dict) else None
        line = frame.get("line")
        for number in numbers:
            one = self._breakpoints.get(number)
            at, there = path, line
            if one is not None and one.path is not None:
                at, there = str(one.path), one.actual_line
            self._note(
                "debug.breakpoint_hit",
                {
                    "breakpoint_id": number,
                    "path": self._shown(at) if isinstance(at, str) else None,
                    "line": there if isinstance(there, int) else None,
                },
            )

    def _note(self, event: str, data: dict[str, Any]) -> None:
        self._record(event, self._owner.project_id, {"debug_session_id": self._session_id, **data})

    def _shown(self, path: str) -> str:
        root = f"{self._owner.project_root}/"
        return f"./{path.removeprefix(root)}" if path.startswith(root) else path
