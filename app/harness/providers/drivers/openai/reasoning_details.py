"""OpenRouter's `reasoning_details`: collected from a stream, and given back as they were.

Owns: putting the pieces of one detail together again, and the text that keeps all of them in a thinking
block. Never: what a detail says; signatures and encrypted parts are opaque. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.harness.providers.wire_json import as_objects, as_text, dump, load

_TEXT_FIELDS = {"reasoning.text": "text", "reasoning.summary": "summary"}


class ReasoningDetails:
    """The details of one answer. Each comes in pieces of the same type, one after the other (their
    index is the same for all); a signature ends one."""

    def __init__(self) -> None:
        self._details: list[tuple[dict[str, Any], list[str]]] = []

    def add(self, pieces: Iterable[Mapping[str, Any]]) -> None:
        """Take what one event adds."""
        for piece in pieces:
            field = _TEXT_FIELDS.get(as_text(piece.get("type")))
            rest = {key: value for key, value in piece.items() if key != field and value is not None}
            text = as_text(piece.get(field)) if field is not None else ""
            last = self._details[-1] if self._details else None
            if (
                last is None
                or field is None
                or last[0].get("type") != piece["type"]
                or "signature" in last[0]
            ):
                self._details.append((rest, [text]))
            else:
                last[0].update(rest)
                last[1].append(text)

    def kept(self) -> str | None:
        """Return the details as text, None when there are none."""
        details = [self._whole(detail, pieces) for detail, pieces in self._details]
        return dump(details).decode() if details else None

    @staticmethod
    def _whole(detail: dict[str, Any], pieces: list[str]) -> dict[str, Any]:
        field = _TEXT_FIELDS.get(as_text(detail.get("type")))
        return detail if field is None else {**detail, field: "".join(pieces)}


def given_back(kept: Iterable[str]) -> list[dict[str, Any]]:
    """Return the details of one answer from the text that kept them."""
    details: list[dict[str, Any]] = []
    for text in kept:
        try:
            details += [dict(detail) for detail in as_objects(load(text))]
        except (ValueError, RecursionError):
            continue
    return details
