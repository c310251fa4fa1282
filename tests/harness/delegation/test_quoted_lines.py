"""A line from outside a cage is known again within another line."""

from __future__ import annotations

import pytest

from app.harness.delegation.outside_cage import LEFT_OUT, Outside, SeenLines

pytestmark = pytest.mark.requirement("durability.forwarded_lines")
SECRET = "API_KEY = k-1234567890-abcdef"
OPEN = "def add(first, second): return first + second"


@pytest.fixture
def outside() -> Outside:
    seen = SeenLines()
    seen._add("secret.py", f"import os\n    {SECRET},\nshort\n")
    seen._add("src/open.py", f"{OPEN}\n")
    return Outside(seen, lambda path: path.startswith("src/"))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"The file says: {SECRET}", f"The file says: {LEFT_OUT}"),
        (f"It says `{SECRET}`, and more.", f"It says `{LEFT_OUT}`, and more."),
        (f"Two: {SECRET} and {SECRET}.", f"Two: {LEFT_OUT} and {LEFT_OUT}."),
        (f"({SECRET})", f"({LEFT_OUT})"),
        (f"says:{SECRET}", f"says:{LEFT_OUT}"),
        (SECRET, LEFT_OUT),
        (f"Known: {OPEN}; and {SECRET}", f"Known: {OPEN}; and {LEFT_OUT}"),
        (f"The file says: {OPEN}", f"The file says: {OPEN}"),
        ("The file says: import os", "The file says: import os"),
        ("API_KEY = k-1234567890-other", "API_KEY = k-1234567890-other"),
    ],
)
def test_what_is_quoted_within_a_line_is_left_out(outside: Outside, text: str, left: str) -> None:
    assert outside.without(text)[0] == left


def test_too_many_beginnings_leave_out_the_rest_of_the_line(outside: Outside) -> None:
    text = " ".join(["API_KEY = k-1234567890-x"] * 100)
    left, cut = outside.without(f"{text} {SECRET}")
    assert cut and SECRET not in left and left.endswith(LEFT_OUT)


def test_what_is_forgotten_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.harness.delegation.outside_cage.MAX_LINES", 1)
    seen = SeenLines()
    seen._add("secret.py", f"{SECRET}\nanother line that is long enough\n")
    outside = Outside(seen, lambda path: False)
    assert outside.without(f"says: {SECRET}") == (f"says: {SECRET}", 0)
    assert outside.without("says: another line that is long enough")[1] == 1
