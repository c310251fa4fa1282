"""Requirements and tests know each other: every id has a test or a reason, every marker an id."""

from __future__ import annotations

import ast

from tests.architecture.source_tree import SourceFile, dotted, sources
from tests.requirements import DEFERRED, PENDING, REQUIREMENTS


def marked_ids(source: SourceFile) -> set[str]:
    """Return the ids in `pytest.mark.requirement(...)` of one test file."""
    return {
        str(argument.value)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and dotted(node.func) == "pytest.mark.requirement"
        for argument in node.args
        if isinstance(argument, ast.Constant)
    }


def all_marked_ids() -> dict[str, str]:
    return {identifier: source.path for source in sources("tests") for identifier in marked_ids(source)}


def test_every_marker_names_a_requirement() -> None:
    unknown = {
        identifier: path for identifier, path in all_marked_ids().items() if identifier not in REQUIREMENTS
    }
    assert not unknown


def test_every_requirement_has_a_test_or_a_reason_why_not() -> None:
    excused = DEFERRED.keys() | PENDING.keys()
    unshown = REQUIREMENTS.keys() - all_marked_ids().keys() - excused
    assert not unshown


def test_no_requirement_is_excused_that_has_a_test() -> None:
    assert not (DEFERRED.keys() | PENDING.keys()) & all_marked_ids().keys()


def test_every_excuse_is_for_a_requirement_and_says_why() -> None:
    excuses = {**DEFERRED, **PENDING}
    assert excuses.keys() <= REQUIREMENTS.keys()
    assert all(reason.strip() for reason in excuses.values())
    assert not DEFERRED.keys() & PENDING.keys()
