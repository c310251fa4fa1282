"""The change that a server is sent turns the old text into the new one, in the server's own units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bridges.lsp.changed_part import changed_part
from app.bridges.lsp.positions import Encoding, LineIndex
from app.bridges.lsp.workspace_edit import TextEdits, apply_text_edits, parse_workspace_edit

TEXTS = st.lists(
    st.sampled_from(["a", "b", "é", "👩‍🔬", "\t", "\n", "\r\n", "\r", "e\u0301", "x = 1\n", "def f():\n"]),
    max_size=40,
).map("".join)


@pytest.mark.requirement("language_servers.freshness.incremental")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@given(old=TEXTS, new=TEXTS, start=st.integers(0, 40), length=st.integers(0, 10))
def test_applying_the_change_gives_the_new_text(
    encoding: Encoding, old: str, new: str, start: int, length: int
):
    for after in (new, old[:start] + new[:length] + old[start + length :]):
        change = changed_part(LineIndex(old), LineIndex(after), encoding)
        edit = {"range": change["range"], "newText": change["text"]}
        (changed,) = parse_workspace_edit({"changes": {"file:///p/a": [edit]}}).operations
        assert isinstance(changed, TextEdits)
        assert apply_text_edits(old, changed.edits, encoding) == after


@pytest.mark.requirement("language_servers.freshness.incremental")
def test_only_the_lines_that_changed_are_sent():
    lines = [f"line {number}\n" for number in range(10_000)]
    old = "".join(lines)
    lines[5_000] = "another\n"
    change = changed_part(LineIndex(old), LineIndex("".join(lines)), "utf-16")
    assert change == {
        "range": {"start": {"line": 5_000, "character": 0}, "end": {"line": 5_001, "character": 0}},
        "text": "another\n",
    }
