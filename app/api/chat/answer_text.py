"""The text of an answer as its client gets it: only ever longer.

Owns: what is new in each piece, also when a model begins a message again. Never: events or storage.
"""

from __future__ import annotations

BETWEEN = "\n\n"
"""Stands between the texts of two messages of one run, and before a text that replaces a sent one."""


class AnswerText:
    """What has been sent of the message at work. A sent text cannot be taken back: when another attempt
    begins with the same words they are not sent twice, otherwise its text follows the abandoned one."""

    def __init__(self) -> None:
        self.message_id: str | None = None
        self._attempt = 1
        self._sent: list[str] = []
        self._repeated: int | None = None
        """How many characters of what was sent another attempt has said again; None when it is past them."""
        self._sent_any = False

    def begin(self, message_id: str) -> None:
        """A message begins; another attempt at it is the same message."""
        if message_id == self.message_id:
            return
        self.message_id = message_id
        self._attempt, self._sent, self._repeated = 1, [], None

    def end(self) -> None:
        """The message at work has ended; nothing of it is sent any more."""
        self.message_id = None

    def add(self, attempt: int, delta: str) -> str:
        """Return what is new to the client in the next piece of a text."""
        self._reach(attempt)
        return self._send(delta) if self._repeated is None else self._beyond(delta, self._repeated)

    def whole(self, attempt: int, text: str) -> str:
        """Return what is new to the client in a text from its beginning."""
        self._reach(attempt)
        return self._beyond(text, 0)

    def rest(self, stored: str) -> str:
        """Return what the client has not got of a message that has ended. Deltas may differ from what is
        stored in what was taken out of it: then nothing."""
        if self._repeated is not None or stored.startswith(self._sent_text()):
            return self.whole(self._attempt, stored)
        return ""

    def _reach(self, attempt: int) -> None:
        if attempt > self._attempt:
            self._attempt = attempt
            self._repeated = 0 if self._sent else None

    def _beyond(self, piece: str, repeated: int) -> str:
        """Return what of the piece, which follows what is `repeated`, has to be sent."""
        sent = self._sent_text()
        same = sent[repeated : repeated + len(piece)]
        if same == piece:
            self._repeated = repeated + len(piece)
            if self._repeated == len(sent):
                self._repeated = None
            return ""
        self._repeated = None
        if repeated + len(same) == len(sent) and piece.startswith(same):
            return self._send(piece[len(same) :])
        self._sent = []
        return self._send(sent[:repeated] + piece)

    def _sent_text(self) -> str:
        """Return what was sent; it is one string from then on, so that each piece is compared alone."""
        if len(self._sent) > 1:
            self._sent = ["".join(self._sent)]
        return self._sent[0] if self._sent else ""

    def _send(self, text: str) -> str:
        if not text:
            return ""
        first = not self._sent and self._sent_any
        self._sent.append(text)
        self._sent_any = True
        return BETWEEN + text if first else text
