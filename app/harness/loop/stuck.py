"""Notices a model that asks for the same thing again and again without getting further.

Pure: fed with each step's calls and results, says when to stop. Never: stops anything itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson
import xxhash

from app.messages import AssistantMessage, ModelMessage, ToolCallBlock, ToolResultsMessage

SAME_STEPS = 6
"""So many identical steps in a row (same calls, same results) are a loop."""


class StuckDetector:
    """Counts identical steps in a row."""

    def __init__(self) -> None:
        self._last = b""
        self._count = 0

    def observe(self, messages: Sequence[ModelMessage]) -> bool:
        """Look at the newest answer and its results; return True when the run goes in circles."""
        if len(messages) < 2:
            return False
        asked, answered = messages[-2], messages[-1]
        if not (isinstance(asked, AssistantMessage) and isinstance(answered, ToolResultsMessage)):
            return False
        calls = [(b.name, b.arguments, b.raw_arguments) for b in asked.blocks if isinstance(b, ToolCallBlock)]
        results = [(r.content, r.is_error) for r in answered.results]
        digest = xxhash.xxh3_128_digest(orjson.dumps([calls, results]))
        self._count = self._count + 1 if digest == self._last else 1
        self._last = digest
        return self._count >= SAME_STEPS
