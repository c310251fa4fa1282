"""The last line of an exported session: how many lines came before it, and their digest.

Owns: counting and digesting the lines as bytes. Pure. Never: what a line says (`transfer_lines`).
"""

from __future__ import annotations

import hashlib
from typing import Any

SEAL = "end"
"""The kind of the last line."""


class Seal:
    """Takes the lines of an export in their order, each without its line feed."""

    def __init__(self) -> None:
        self._lines = 0
        self._digest = hashlib.sha256()

    def add(self, raw: bytes) -> None:
        """Take the next line; every byte of it counts."""
        self._lines += 1
        self._digest.update(raw)
        self._digest.update(b"\n")

    def data(self) -> dict[str, Any]:
        """Return what the last line says: `lines` before it, and `digest`, the SHA-256 of their bytes with a
        line feed after each."""
        return {"lines": self._lines, "digest": f"sha256:{self._digest.hexdigest()}"}

    def problem_with(self, data: dict[str, Any]) -> str | None:
        """Return what does not fit between the lines taken and a last line; None when all of it fits."""
        own = self.data()
        if data.get("lines") != own["lines"]:
            return f"it counts {data.get('lines')!r} lines before it, and {own['lines']} are there"
        if data != own:
            return "the digest of the lines before it is another one: the file was changed after its export"
        return None
