"""Where a stream is: which frames are new, from where it resumes, what a close code means.

Owns: the rules of `docs/api.md#websockets`, without input or output. Never: sockets.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Literal

from kaged_client._event import UnknownEvent
from kaged_client._generated.events import EVENT_TYPES, Event, ResyncEvent
from kaged_client.errors import DeadlineExceeded, KagedError, StreamRefused, api_error

Snapshots = Literal["missed", "all"]
"""Which messages in flight get a `message.snapshot` when a stream connects."""
PING_SECONDS = 20.0
"""How often the client sends `ping`: the daemon closes a socket on which both sides are silent (4408)."""
PING = '{"type":"ping"}'
MAX_FRAME_BYTES = 16 * 1024 * 1024
OPEN_SECONDS = 10.0
CLOSE_SECONDS = 1.0
_OWN = ("pong", "error", "heartbeat")
"""Frames of the connection, which tell a user nothing."""
_REFUSED = {
    4401: (401, "unauthenticated", "The daemon does not accept the token any more."),
    4403: (403, "forbidden", "The token does not allow this stream."),
    4404: (404, "not_found", "There is no such session."),
}
_RECONNECT = {
    1000: 0.0,
    1001: 0.0,
    1005: 0.0,
    1006: 0.0,
    1011: 0.0,
    1012: 0.0,
    1013: 1.0,
    4008: 0.0,
    4408: 0.0,
    4429: 1.0,
}
"""Codes after which a client connects again, and the least pause before."""


def event_from(frame: Mapping[str, Any]) -> Event:
    """Return the event of a frame. A type that this version does not know is an `UnknownEvent`."""
    known = EVENT_TYPES.get(str(frame.get("type")))
    if known is not None:
        return known.from_json(frame)  # type: ignore[return-value]
    return UnknownEvent.from_json(
        {**frame, "type": "unknown", "name": frame.get("type"), "payload": _payload(frame)}
    )


def _payload(frame: Mapping[str, Any]) -> dict[str, Any]:
    payload = frame.get("payload")
    return payload if isinstance(payload, dict) else {"value": payload}


class Position:
    """The place in a session's events, and the deadline. `last_seq` is the newest durable event that was
    handed on; `None`: a stream without replay."""

    def __init__(
        self, last_seq: int | None, timeout: float | None = None, snapshots: Snapshots = "missed"
    ) -> None:
        self.last_seq = last_seq
        self._snapshots = snapshots
        self._ends = None if timeout is None else time.monotonic() + timeout

    def query(self) -> str:
        if self.last_seq is None:
            return ""
        # A daemon from before this parameter is not asked for it without need.
        return f"?after_seq={self.last_seq}" + ("&snapshots=all" if self._snapshots == "all" else "")

    def wait_seconds(self) -> float:
        """Return how long to wait for the next frame. Raises `DeadlineExceeded`."""
        if self._ends is None:
            return PING_SECONDS
        left = self._ends - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded("The time for this stream is over. The run continues in the daemon.")
        return min(left, PING_SECONDS)

    def take(self, text: str | bytes) -> Event | None:
        """Return the event of a frame; None for one that was handed on before or belongs to the connection.

        A stream resumes after the newest durable event: what is not durable is not replayed, and its number
        may be given again after a crash."""
        frame = json.loads(text)
        if frame.get("type") in _OWN:
            return None
        event = event_from(frame)
        if self.last_seq is None or "seq" not in frame:
            return event
        if isinstance(event, ResyncEvent):
            self.last_seq = event.payload.from_seq - 1
        elif event.durable:
            if event.seq <= self.last_seq:
                return None
            self.last_seq = event.seq
        return event


def pause_after_close(code: int | None, reason: str) -> float:
    """Return the least pause before the next connection. Raises for codes after which there is none."""
    code = 1006 if code is None else code
    if code in _RECONNECT:
        return _RECONNECT[code]
    if code in _REFUSED:
        status, name, message = _REFUSED[code]
        raise api_error(status, {"error": {"code": name, "message": message}})
    raise StreamRefused(
        f"The daemon closed the stream ({code}{f': {reason}' if reason else ''}).", close_code=code
    )


def refused_handshake(status: int, body: bytes | None) -> KagedError | None:
    """Return the error of an answer to the handshake; None when the client should try again."""
    if status == 429 or status >= 500:
        return None
    try:
        return api_error(status, json.loads(body or b""))
    except ValueError:
        return api_error(status, None)
