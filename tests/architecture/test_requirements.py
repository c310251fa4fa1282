"""Requirements and tests know each other: every id has a test, every marker an id."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from tests.architecture.source_tree import SourceFile, dotted, sources
from tests.requirements import REQUIREMENTS
from tests.speeds import ONLY_NIGHTLY, speed


def shown(source: SourceFile) -> Iterator[tuple[str, str]]:
    """Yield `(requirement, test)` of one file; what is marked for a whole file has the file as its test."""
    tests = {
        id(node): f"{source.path}::{function.name}"
        for function in source.nodes
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for decorator in function.decorator_list
        for node in ast.walk(decorator)
    }
    for node in source.nodes:
        if isinstance(node, ast.Call) and dotted(node.func) == "pytest.mark.requirement":
            for argument in node.args:
                if isinstance(argument, ast.Constant):
                    yield str(argument.value), tests.get(id(node), source.path)


@cache
def shown_by() -> dict[str, list[str]]:
    """Return the tests of every requirement that a marker names."""
    found: dict[str, list[str]] = {}
    for source in sources("tests"):
        for requirement, test in shown(source):
            found.setdefault(requirement, []).append(test)
    return found


def test_every_marker_names_a_requirement() -> None:
    unknown = {name: tests for name, tests in shown_by().items() if name not in REQUIREMENTS}
    assert not unknown


def test_every_requirement_has_a_test() -> None:
    assert not REQUIREMENTS.keys() - shown_by().keys()


def test_every_requirement_is_shown_by_day() -> None:
    at_night = {name for name, tests in shown_by().items() if all(speed(test) == "nightly" for test in tests)}
    assert at_night == ONLY_NIGHTLY.keys()
    assert all(reason.strip() for reason in ONLY_NIGHTLY.values())
