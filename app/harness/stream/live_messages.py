"""Messages that are being streamed right now, as a client that joins late must see them.

Owns: the text so far of each message in flight. Never: storage. Fed with published frames only,
so that a snapshot and the frames after it fit together without a gap or an overlap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from app.events.union import MessageDelta, MessageEnd, MessageSnapshot, MessageStart, MessageToolCall
from app.harness.stream.frames import Frame


@dataclass(slots=True)
class LiveMessage:
    start: Frame
    attempt: int = 1
    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    tool_calls: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    last_delta_seq: int = 0
    last_delta_at: int = 0

    def reach(self, attempt: int) -> None:
        """Forget what an earlier attempt has said once a later one says something."""
        if attempt > self.attempt:
            self.attempt = attempt
            self.text.clear()
            self.thinking.clear()
            self.tool_calls.clear()


class LiveMessages:
    """The messages in flight of one session, by message id."""

    def __init__(self) -> None:
        self._messages: dict[str, LiveMessage] = {}

    def any(self) -> bool:
        return bool(self._messages)

    def observe(self, frame: Frame) -> None:
        """Take one published frame into account."""
        payload = frame.payload
        if isinstance(payload, MessageDelta):
            live = self._messages.get(payload.message_id)
            if live is None:
                return
            live.reach(payload.attempt)
            (live.text if payload.kind == "text" else live.thinking).append(payload.delta)
            live.last_delta_seq = frame.seq
            live.last_delta_at = frame.created_at
        elif isinstance(payload, MessageStart):
            self._messages[payload.message_id] = LiveMessage(start=frame, attempt=payload.attempt)
        elif isinstance(payload, MessageToolCall):
            live = self._messages.get(payload.message_id)
            if live is not None:
                live.reach(payload.attempt)
                call = {"id": payload.id, "name": payload.name, "arguments": payload.arguments}
                live.tool_calls.append((frame.seq, call))
        elif isinstance(payload, MessageEnd):
            self._messages.pop(payload.message_id, None)

    def missed(self, session_id: str, after_seq: int) -> list[Frame]:
        """Return a snapshot of each message whose deltas a client at `after_seq` has missed.

        A snapshot bears the `seq` of the last delta that it includes, so that it has a place of
        its own among the replayed frames; calls asked for after that delta come as their own
        frames behind it."""
        found = self._messages.items()
        frames = [
            _snapshot(session_id, message_id, live, live.last_delta_seq)
            for message_id, live in found
            if live.last_delta_seq > after_seq
        ]
        return sorted(frames, key=lambda frame: frame.seq)

    def all(self, session_id: str, after_seq: int) -> list[Frame]:
        """Return a snapshot of each message that a client at `after_seq` may have seen nothing of.

        A snapshot bears `after_seq` where nothing of its message is newer. Messages that start
        later and have no delta yet have no snapshot: their own frames tell everything."""
        frames = [
            _snapshot(session_id, message_id, live, max(live.last_delta_seq, after_seq))
            for message_id, live in self._messages.items()
            if live.last_delta_seq or live.start.seq <= after_seq
        ]
        return sorted(frames, key=lambda frame: frame.seq)


def _snapshot(session_id: str, message_id: str, live: LiveMessage, through_seq: int) -> Frame:
    payload = MessageSnapshot(
        message_id=message_id,
        attempt=live.attempt,
        text="".join(live.text),
        thinking="".join(live.thinking),
        tool_calls=tuple(call for seq, call in live.tool_calls if seq <= through_seq),
    )
    return Frame.make(
        through_seq,
        payload,
        session_id=session_id,
        created_at=live.last_delta_at or live.start.created_at,
        origin=live.start.origin,
    )
