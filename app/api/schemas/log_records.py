"""The daemon's log, on the wire."""

from __future__ import annotations

from typing import Any, Literal

from app.api.schemas.model import AnswerModel, Time
from app.storage.models import LogEntry

Level = Literal["debug", "info", "warning", "error", "critical"]

SEVERITIES: dict[Level, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}


class LogRecord(AnswerModel):
    """One record. `fields` are the event's own; those of the event `log` are a `message` in words."""

    id: int
    created_at: Time
    level: Level
    logger: str
    event: str
    session_id: str | None
    run_id: str | None
    fields: dict[str, Any]

    @classmethod
    def of(cls, row: LogEntry) -> LogRecord:
        return cls.model_validate({**row.model_dump(), "level": _level(row.severity)})


def _level(severity: int) -> Level:
    """Return the most serious level that the number reaches."""
    reached: Level = "debug"
    for level, number in SEVERITIES.items():
        if severity >= number:
            reached = level
    return reached
