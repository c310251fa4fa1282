"""Texts of a session as they may leave: without secrets, and without what steers a terminal or a reader.

Owns: the order of cleaning, and finding secrets that Markdown hides. Never: which secrets are known
(`observability.redactor`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from app.harness.sharing.markdown_text import LONGEST, parsed, plain, words_of
from app.observability import Redactor, without_controls
from app.observability.credential_shapes import MASK

MOST_CHARACTERS = 200_000
"""Of one text; what is longer is cut, and the file says so."""
SHOWN = "[redacted]"
"""What stands for a secret in the file: asterisks mean something in Markdown."""
_BEYOND = 4_096
"""Characters that are looked at beyond the cut: a secret that it halves is still found."""

_STEERING = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"
    r"|\x1b[ -/]*[0-~]?"
)
_UNSEEN = re.compile(
    "[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Characters that change the order of others, or that nobody sees."""


_MASKED = "\ue000"
_MARKS = dict.fromkeys(map(ord, "*_`~\\"))
"""What Markdown may take away between two letters; readers disagree on when it does."""


class Cleaner:
    """Cleans the texts of one file, and counts what it redacts until `taken` is called."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._redactions = 0

    def taken(self) -> int:
        """Return the redactions since the last call."""
        count, self._redactions = self._redactions, 0
        return count

    def text(self, text: str) -> str:
        """Return a text that is shown as it is."""
        return self._masked(text).replace(MASK, SHOWN)

    def _masked(self, text: str) -> str:
        return _cut(self._redacted(_readable(text[: MOST_CHARACTERS + _BEYOND])), len(text))

    def line(self, text: str, most: int) -> str:
        """Return a text as one line of at most `most` characters."""
        line = " ".join(self._redacted(_readable(text[: most + _BEYOND])).replace(MASK, SHOWN).split())
        return line if len(line) <= most else f"{line[: most - 1]}…"

    def data(self, value: Any) -> str:
        """Return JSON-ready data as text; what names a secret loses its value."""
        masked = self._redactor.data(value)
        before, shown = _json(value), _json(masked)
        self._count(before, shown)
        return self.text(shown)

    def markdown(self, text: str) -> str:
        """Return Markdown in which no secret can be read, neither in its source nor in what it shows."""
        cleaned = self._masked(text)
        if len(cleaned) > LONGEST:
            return cleaned.replace(MASK, SHOWN)
        for _ in range(2):
            shown = self._hidden(cleaned)
            if not shown:
                return cleaned.replace(MASK, SHOWN)
            lines = cleaned.split("\n")
            for (start, end), words in sorted(shown.items(), reverse=True):
                lines[start:end] = [plain(words).replace(plain(MASK), MASK)] + [""] * (end - start - 1)
            cleaned = "\n".join(lines)
        return SHOWN if self._hidden(cleaned) else cleaned.replace(MASK, SHOWN)

    def _hidden(self, text: str) -> dict[tuple[int, int], str]:
        """Return the lines whose source says something else than they show, with the words that may be shown:
        a secret that is written with escapes, entities or emphasis in it."""
        found: dict[tuple[int, int], list[str]] = {}
        reveals: set[tuple[int, int]] = set()
        for token in parsed(text):
            if token.type != "inline" or token.map is None:
                continue
            words = _readable(words_of(token))
            place = (token.map[0], token.map[1])
            redacted = self._redactor.text(words)
            bare = _without_marks(redacted)
            if (known := self._redactor.known(bare)) != bare:
                redacted = known
            if redacted != words:
                self._count(words, redacted)
                reveals.add(place)
            found.setdefault(place, []).append(redacted)
        return {place: " | ".join(found[place]) for place in reveals}

    def _redacted(self, text: str) -> str:
        redacted = self._redactor.text(text)
        self._count(text, redacted)
        return redacted

    def _count(self, before: str, after: str) -> None:
        if after != before:
            self._redactions += max(after.count(MASK) - before.count(MASK), 1)


def _without_marks(text: str) -> str:
    """Return a text without the marks of Markdown; what is masked already stays masked."""
    return text.replace(MASK, _MASKED).translate(_MARKS).replace(_MASKED, MASK)


def _readable(text: str) -> str:
    """Return a text without colours of terminals, control characters and what turns the order of others."""
    plain_ends = text.replace("\r\n", "\n")
    return without_controls(_UNSEEN.sub("", _STEERING.sub("", plain_ends)).replace("\r", "\n"))


def _cut(text: str, length: int) -> str:
    if length <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}\n[{length - MOST_CHARACTERS:,} more characters are left out]"


def _json(value: Any) -> str:
    if isinstance(value, Mapping) and not value:
        return ""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
