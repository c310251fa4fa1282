"""Server-sent events, read from raw bytes.

Owns: finding where events end in bytes that may be cut anywhere. Never: I/O, JSON, or what an event means.
Bytes, because decoding every line costs more than all the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_EVENT_BYTES = 16 * 1024 * 1024
_LINE_COST = 64
"""What a held line takes beside its bytes: an event of millions of empty lines is stopped, too."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLarge(Exception):
    """An event has no end within `MAX_EVENT_BYTES`."""


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event. `name` is empty when the server sent no `event:` field; the lines of `data`
    are joined with a line feed."""

    name: str
    data: bytes


class EventSplitter:
    """Turns chunks of bytes into events. Lines may end in LF, CR LF or CR; comments, `id` and
    `retry` are dropped, and so are events without data. A field `error`, which the standard does not
    know, is the data of an event of that name: so older servers of llama.cpp report a failure."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._held = 0
        self._data_size = 0
        self._name = ""
        self._data: list[bytes] = []
        self._started = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Take the next bytes and return the events that they complete. Raises `EventTooLarge`."""
        self._held += len(chunk)
        if self._is_middle_of_line(chunk):
            # Joined when the line ends: else each piece of a long line would cost all before it.
            self._rest.append(chunk)
            self._check_size()
            return []
        buffer = b"".join((*self._rest, chunk)) if self._rest else chunk
        if not self._started:
            if len(buffer) < 3 and _BYTE_ORDER_MARK.startswith(buffer):
                self._rest = [buffer]
                return []
            self._started = True
            buffer = buffer.removeprefix(_BYTE_ORDER_MARK)
        # A CR at the very end may be the first half of CR LF: keep it for the next chunk.
        held = b"\r" if buffer.endswith(b"\r") else b""
        text = buffer[:-1] if held else buffer
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = text.split(b"\n")
        rest = lines.pop() + held
        self._rest = [rest] if rest else []
        events = self._take(lines)
        self._held = len(rest) + self._data_size
        self._check_size()
        return events

    def finish(self) -> list[ServerSentEvent]:
        """Return what the end of the stream completes: an event whose blank line is missing."""
        last, self._rest = b"".join(self._rest).rstrip(b"\r"), []
        return self._take([last, b""])

    def _is_middle_of_line(self, chunk: bytes) -> bool:
        begun = self._started and bool(self._rest) and not self._rest[-1].endswith(b"\r")
        return begun and b"\n" not in chunk and b"\r" not in chunk

    def _check_size(self) -> None:
        if self._held > MAX_EVENT_BYTES:
            raise EventTooLarge

    def _take(self, lines: list[bytes]) -> list[ServerSentEvent]:
        events: list[ServerSentEvent] = []
        data = self._data
        for line in lines:
            if not line:
                if data:
                    events.append(
                        ServerSentEvent(self._name, data[0] if len(data) == 1 else b"\n".join(data))
                    )
                    data.clear()
                    self._data_size = 0
                self._name = ""
            elif line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
                self._data_size += len(line) + _LINE_COST
            elif line.startswith(b"event:"):
                self._name = line[6:].strip().decode("utf-8", "replace")
            elif line.startswith(b"error:"):
                self._name = "error"
                data.append(line[6:].strip())
                self._data_size += len(line) + _LINE_COST
        return events
