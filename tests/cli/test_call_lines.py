"""The line of a tool call in the terminal says what it is about."""

from __future__ import annotations

from typing import Any

import pytest

from app.cli.stream_view import _summary


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"path": "a.py", "limit": 3}, "a.py"),
        ({"action": "rename", "path": "a.py", "new_name": "x"}, "rename a.py"),
        ({"action": "launch", "runtime": "python", "script": "a.py"}, "launch a.py"),
        ({"action": "evaluate", "context": "watch", "expression": "x + 1"}, "evaluate x + 1"),
        ({"action": "continue"}, "continue"),
        ({"action": "status"}, "status"),
        ({"limit": 3}, "3"),
        ({}, ""),
        ("no object", ""),
    ],
)
def test_the_line_names_the_action_and_its_object(arguments: Any, line: str) -> None:
    assert _summary(arguments) == line
