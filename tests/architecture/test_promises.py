"""The documents promise what the code holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.harness.loop.turn import PARTIAL_SAVE_CHARACTERS, PARTIAL_SAVE_SECONDS, partial_save_pause

ROOT = Path(__file__).parents[2]


@pytest.mark.requirement("R16.B26")
@pytest.mark.parametrize("name", ["README.md", "docs/operations.md", "docs/getting-started.md"])
def test_where_a_document_says_that_nothing_is_lost_it_says_what_a_kill_may_cost(name: str) -> None:
    text = " ".join((ROOT / name).read_text().split())
    assert "the last quarter of a second of an answer that is not finished" in text
    assert "killed daemon loses nothing." not in text
    assert PARTIAL_SAVE_SECONDS == 0.25
    assert partial_save_pause(4 * PARTIAL_SAVE_CHARACTERS) == 1.0
