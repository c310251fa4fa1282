"""What `watch` takes for certain to change something, and what for perhaps, by the language's text."""

from __future__ import annotations

import pytest

from app.tools.debug.evaluation import certainly_changes, may_change

ASSIGNS = {
    "python": ["x = 1", "x += 1", "del x", "import os", "(x := 1)", "x: int = 1", "for a in b: pass"],
    "node": ["x = 1", "x++", "--x", "x ||= 2", "this.a = {}", "x >>= 1", "x **= 2"],
    "c": ["x = 1", "*p = 0", "a[3] = 1", "x++", "++i", "x <<= 2", "p->x = 5", "x -= 1"],
    "cpp": ["x = 1", "this->x = 2"],
    "rust": ["x = 1", "x += 1"],
    "go": ["x = 1", "x := 1", "x++", "a.b = 2"],
    "java": ["x = 1", "x--"],
}
LOOKS = {
    "python": ["x", "x.y", "x == 1", "a[1:2]", "'x = 1'", "x if y else z", "-x", "[a for a in b]", "x >= 1"],
    "node": ["x", "x.y", "x === 1", "x !== 1", "x <= 1", "'a = b'", "`x`.length", "a => 1", "a - -b"],
    "c": ["x", "*p", "p->x", "x == 1", "x != 1", "x <= 1", "x >= 1", "a[3]", '"a = b"', "&x", "x - -1"],
    "rust": ["x", "x.0", "x == y", "x <= 2"],
    "go": ["x", "x.y", "x != nil", "a[1]"],
    "ruby": ["x", "@x", "@@x", "x[0]", "x[:key]"],
    "bash": ["x", "$x", "${x}"],
    "perl": ["$x", "@list"],
}
CALLS = {
    "python": ["f()", "x.f(1)", "await f", "a[f()]"],
    "node": ["f()", "new Date", "a.b(c)", "delete x.y", "f`x`", "x?.f (1)"],
    "c": ["f()", "strlen(s)", "p->f (1)"],
    "go": ["call f()", "len(x)"],
    "bash": ["$(ls)", "`ls`", "x=1", "rm -r x"],
    "perl": ["$x = 1", "f()"],
    "ruby": ["x.save!", "x = 1", "x.delete 1", "x.save"],
}


def each(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(language, one) for language, expressions in table.items() for one in expressions]


@pytest.mark.requirement("debugger.variables.watch")
@pytest.mark.parametrize(("language", "expression"), each(ASSIGNS))
def test_assignments_are_refused(language: str, expression: str) -> None:
    assert certainly_changes(language, expression)


@pytest.mark.requirement("debugger.variables.watch")
@pytest.mark.parametrize(("language", "expression"), each(LOOKS))
def test_what_only_looks_is_neither_refused_nor_warned_of(language: str, expression: str) -> None:
    assert not certainly_changes(language, expression)
    if "`" not in expression:
        assert not may_change(language, expression)


@pytest.mark.requirement("debugger.variables.watch")
@pytest.mark.parametrize(("language", "expression"), each(CALLS))
def test_calls_may_change_something(language: str, expression: str) -> None:
    assert not certainly_changes(language, expression)
    assert may_change(language, expression)


@pytest.mark.requirement("debugger.variables.watch")
@pytest.mark.parametrize("expression", ["(", "x = = 1", "\0", "(" * 5_000, "1 +" * 3_000 + "1", "é" * 10_000])
def test_what_is_no_expression_is_left_to_the_adapter(expression: str) -> None:
    for language in ("python", "node", "bash"):
        assert certainly_changes(language, expression) in {True, False}
        assert may_change(language, expression) in {True, False}
