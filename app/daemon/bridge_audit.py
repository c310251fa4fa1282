"""Events of language servers, plugins, MCP servers and debug sessions, counted and kept in the audit trail.

Owns: the row of such an event. Never: which events there are; the bridges say that.
"""

from __future__ import annotations

import logging
from asyncio import Future
from typing import Any

from app.ids import now_ms
from app.observability import Metrics, Redactor
from app.observability.metrics import BRIDGE_EVENTS
from app.storage.models.audit import AuditEvent
from app.storage.storage import Storage

log = logging.getLogger("kaged.bridges")


_NAMES = ("plugin", "language", "runtime", "mcp_server")
"""Where an event says whom it is about."""
_COLUMNS = ("session_id", "run_id", "agent_path", "request_id")


class BridgeAudit:
    """Called with an event's name, the project's id and the data; must not raise."""

    def __init__(self, storage: Storage, redactor: Redactor, metrics: Metrics) -> None:
        self._metrics = metrics
        self._storage = storage
        self._redactor = redactor

    def __call__(self, event: str, project_id: str, data: dict[str, Any]) -> None:
        self._metrics.count(BRIDGE_EVENTS, event, next((str(data[key]) for key in _NAMES if key in data), ""))
        row = AuditEvent(
            created_at=now_ms(),
            event=event,
            actor="daemon",
            project_id=project_id,
            **{name: data[name] for name in _COLUMNS if isinstance(data.get(name), str)},
            data=self._redactor.data({"project_id": project_id, **data}),
        )
        self._storage.submit(lambda uow: uow.audit.add_many([row])).add_done_callback(_note_failure)


def _note_failure(stored: Future[None]) -> None:
    problem = None if stored.cancelled() else stored.exception()
    if problem is not None:
        log.error("an event of a child process was not recorded: %s", problem)
