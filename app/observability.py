"""Logging: one line for each event on standard error, without secrets and without blocking.

Owns: the set-up of the root logger, the two line formats (JSON, human) and the redactor that also
cleans what goes to audit rows and events. Never: deciding what is logged.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import queue
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson

MASK = "********"
_FIELDS = "fields"
_SECRET_KEY = re.compile(
    r"^(authorization|proxy-authorization|cookie|set-cookie|password|passwd|secret|token|nonce"
    r"|.*[_-](token|key|secret|password|nonce)|apikey)$",
    re.IGNORECASE,
)
_NOT_SECRET_KEY = frozenset({"idempotency_key", "idempotency-key", "cache_key", "sort_key", "public_key"})
_SECRET_SHAPE = re.compile(
    r"(?P<keep>\bBearer\s+|\bkaged\.bearer\.|[?&](?:token|key|api_key|access_token)=|://[^/@\s:]*:(?=[^/@\s]+@))"
    r"(?P<drop>[^\s&\"'@,;<>]{4,})"
    r"|\bsk-[A-Za-z0-9_-]{16,}|\bAIza[A-Za-z0-9_-]{30,}|\bkgd_[A-Za-z0-9_-]{20,}",
    re.IGNORECASE,
)
_CONTROLS = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}


def without_controls(text: str) -> str:
    """Return `text` without the characters that steer a terminal; line ends and tabs stay.

    What files, models and clients say ends up in terminals."""
    return text.translate(_CONTROLS)


class Redactor:
    """Replaces secrets by a mask: the values it was told, and what has the shape of a credential."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        self._known: re.Pattern[str] | None = None
        self.add(*secrets)

    def add(self, *secrets: str) -> None:
        """Remember further secret values; empty ones are ignored."""
        self._secrets.update(secret for secret in secrets if secret)
        longest_first = sorted(self._secrets, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, value: str) -> str:
        """Return `value` without secrets."""
        if self._known is not None:
            value = self._known.sub(MASK, value)
        return _SECRET_SHAPE.sub(lambda found: (found["keep"] or "") + MASK, value)

    def data(self, value: Any) -> Any:
        """Return JSON-ready `value` without secrets; a key such as `authorization` masks its value."""
        match value:
            case str():
                return self.text(value)
            case Mapping():
                return {key: self._entry(str(key), item) for key, item in value.items()}
            case list() | tuple():
                return [self.data(item) for item in value]
            case _:
                return value

    def _entry(self, key: str, value: Any) -> Any:
        if isinstance(value, str) and value and _SECRET_KEY.match(key) and key.lower() not in _NOT_SECRET_KEY:
            return MASK
        return self.data(value)


def log_event(logger: logging.Logger, event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log one structured event, such as `agent.generation`; `fields` are JSON-ready."""
    if logger.isEnabledFor(level):
        logger.log(level, "%s", event, extra={_FIELDS: fields})


class LineFormatter(logging.Formatter, ABC):
    """One line for each record: the event's name and fields, or the message of an ordinary record."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = dict(getattr(record, _FIELDS, {}))
        event = fields.pop("event", None) or record.getMessage()
        if not hasattr(record, _FIELDS):
            fields = {"logger": record.name, "message": event}
            event = "log"
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return self._line(record, event, self._redactor.data(fields))

    @abstractmethod
    def _line(self, record: logging.LogRecord, event: str, fields: dict[str, Any]) -> str:
        """Return the line; `fields` is already without secrets."""


class JsonLines(LineFormatter):
    """`{"level", "event", "timestamp", ...fields}`"""

    def _line(self, record: logging.LogRecord, event: str, fields: dict[str, Any]) -> str:
        line = {"level": record.levelname.lower(), "event": event, "timestamp": _timestamp(record), **fields}
        try:
            return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        except TypeError:  # a lone surrogate, or an integer beyond 64 bits
            return json.dumps(line, default=str, skipkeys=True)


class HumanLines(LineFormatter):
    """`12:30:01 info  agent.generation session_id=ses_... model=...`"""

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
