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
        self._again: str | None = None
        self._sent_any = False

    def begin(self, message_id: str) -> None:
        """A message begins; another attempt at it is the same message."""
        if message_id == self.message_id:
            return
        self.message_id = message_id
        self._attempt, self._sent, self._again = 1, [], None

    def end(self) -> None:
        """The message at work has ended; nothing of it is sent any more."""
        self.message_id = None

    def add(self, attempt: int, delta: str) -> str:
        """Return what is new to the client in the next piece of a text."""
        self._reach(attempt)
        if self._again is None:
            return self._send(delta)
        self._again += delta
        return self._caught_up()

    def whole(self, attempt: int, text: str) -> str:
        """Return what is new to the client in a text from its beginning."""
        self._reach(attempt)
        self._again = text
        return self._caught_up()

    def rest(self, stored: str) -> str:
        """Return what the client has not got of a message that has ended. Deltas may differ from what is
        stored in what was taken out of it: then nothing."""
        sent = "".join(self._sent)
        if self._again is not None or stored.startswith(sent):
            return self.whole(self._attempt, stored)
        return ""

    def _reach(self, attempt: int) -> None:
        if attempt > self._attempt:
            self._attempt = attempt
            self._again = "" if self._sent else None

    def _caught_up(self) -> str:
        again, sent = self._again or "", "".join(self._sent)
        if sent.startswith(again):
            if len(again) == len(sent):
                self._again = None
            return ""
        self._again = None
        if again.startswith(sent):
            return self._send(again[len(sent) :])
        self._sent = []
        return self._send(again)

    def _send(self, text: str) -> str:
        if not text:
            return ""
        first = not self._sent and self._sent_any
        self._sent.append(text)
        self._sent_any = True
        return BETWEEN + text if first else text
