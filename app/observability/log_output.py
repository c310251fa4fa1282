"""Logging: one line for each event on standard error, without secrets and without blocking.

Owns: the set-up of the root logger and the two line formats (JSON, human). Never: deciding what is
logged.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import queue
import sys
from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson

from app.observability.redactor import Redactor, without_controls

_FIELDS = "fields"
_EXCEPTIONS = logging.Formatter()


def log_event(logger: logging.Logger, event: str, *, level: int = logging.INFO, **fields: object) -> None:
    """Log one structured event, such as `agent.generation`; `fields` are JSON-ready."""
    if logger.isEnabledFor(level):
        logger.log(level, "%s", event, extra={_FIELDS: fields})


def event_of(record: logging.LogRecord) -> tuple[str, dict[str, Any]]:
    """Return the event's name and the fields of a record, not redacted yet. An ordinary record is the
    event `log` with its logger and message."""
    fields: dict[str, Any] = dict(getattr(record, _FIELDS, {}))
    event = fields.pop("event", None) or record.getMessage()
    if not hasattr(record, _FIELDS):
        fields = {"logger": record.name, "message": event}
        event = "log"
    if record.exc_info:
        fields["exception"] = _EXCEPTIONS.formatException(record.exc_info)
    return event, fields


class LineFormatter(logging.Formatter, ABC):
    """One line for each record: the event's name and fields, or the message of an ordinary record."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        event, fields = event_of(record)
        return self._line(record, self._redactor.text(event), self._redactor.data(fields))

    @abstractmethod
    def _line(self, record: logging.LogRecord, event: str, fields: dict[str, Any]) -> str:
        """Return the line; `fields` is already without secrets."""


class JsonLines(LineFormatter):
    """Writes `{"level", "event", "timestamp", ...fields}`."""

    def _line(self, record: logging.LogRecord, event: str, fields: dict[str, Any]) -> str:
        line = {"level": record.levelname.lower(), "event": event, "timestamp": _timestamp(record), **fields}
        try:
            return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        except TypeError:  # a lone surrogate, or an integer beyond 64 bits
            return json.dumps(line, default=str, skipkeys=True)


class HumanLines(LineFormatter):
    """Writes `12:30:01 info  agent.generation session_id=ses_... model=...`."""

    def _line(self, record: logging.LogRecord, event: str, fields: dict[str, Any]) -> str:
        exception = fields.pop("exception", None)
        if event == "log":
            event = fields.pop("message")
        words = " ".join(f"{key}={value}" for key, value in fields.items() if value is not None)
        moment = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        line = f"{moment} {record.levelname.lower():<8}{event} {words}".rstrip()
        whole = f"{line}\n{exception}" if exception else line
        # Indented, so that nothing that is quoted here can pass for a line of the log.
        return without_controls(whole).replace("\n", "\n    ").encode("utf-8", "replace").decode()


class LogOutput:
    """The running log output; `close` writes what is still queued and stops."""

    def __init__(self, listener: logging.handlers.QueueListener, handler: logging.Handler) -> None:
        self._listener = listener
        self._handler = handler

    def close(self) -> None:
        logging.getLogger().removeHandler(self._handler)
        self._listener.stop()


class _QueueHandler(logging.handlers.QueueHandler):
    """Hands records over as they are: formatting happens in the writing thread."""

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        return record


def start_logging(
    *, level: str, line_format: str, redactor: Redactor, stream: TextIO | None = None
) -> LogOutput:
    """Send the root logger's records to `stream` (standard error) from a thread of its own.

    `level` is `debug`, `info`, `warning` or `error`; `line_format` is `json`, `human` or `auto`
    (human lines on a terminal).
    """
    stream = stream if stream is not None else sys.stderr
    human = line_format == "human" or (line_format == "auto" and stream.isatty())
    writer = logging.StreamHandler(stream)
    writer.setFormatter(HumanLines(redactor) if human else JsonLines(redactor))
    records: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
    handler = _QueueHandler(records)
    root = logging.getLogger()
    root.setLevel(level.upper())
    root.addHandler(handler)
    for noisy in ("httpcore2", "httpx2", "watchfiles", "websockets", "alembic", "asyncio"):
        logging.getLogger(noisy).setLevel(max(root.level, logging.WARNING))
    listener = logging.handlers.QueueListener(records, writer)
    listener.start()
    return LogOutput(listener, handler)


def _timestamp(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
