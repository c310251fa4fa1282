"""The documents promise what the code holds."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from app.harness.loop.turn import PARTIAL_SAVE_CHARACTERS, PARTIAL_SAVE_SECONDS, partial_save_pause
from tests.architecture.source_tree import sources

ROOT = Path(__file__).parents[2]
_KEEPS = re.compile(r"^Keeps (.*) of docs/security\.md\.$", re.MULTILINE)


@pytest.mark.requirement("durability.documents")
@pytest.mark.parametrize("name", ["README.md", "docs/operations.md", "docs/getting-started.md"])
def test_where_a_document_says_that_nothing_is_lost_it_says_what_a_kill_may_cost(name: str) -> None:
    text = " ".join((ROOT / name).read_text().split())
    assert "the last quarter of a second of an answer that is not finished" in text
    assert "killed daemon loses nothing." not in text
    assert PARTIAL_SAVE_SECONDS == 0.25
    assert partial_save_pause(4 * PARTIAL_SAVE_CHARACTERS) == 1.0


def test_each_guarantee_of_the_security_page_is_named_where_it_is_kept() -> None:
    page = (ROOT / "docs/security.md").read_text()
    promised = re.findall(r"^\| (S\d+) \|", page, re.MULTILINE)
    assert len(promised) == len(set(promised)) > 20
    headers = [ast.get_docstring(source.tree) or "" for source in sources("app")]
    kept = {one for header in headers for line in _KEEPS.findall(header) for one in re.findall(r"S\d+", line)}
    assert kept == set(promised)
