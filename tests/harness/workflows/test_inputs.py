"""Inputs of every type, checked field by field; and how they are shown to the model."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import ValidationFailed
from app.harness.dsl.inputs import PlacedFile, checked_inputs, fenced, first_message
from app.harness.dsl.spec_sections import WorkflowInput

pytestmark = pytest.mark.requirement("workflows.inputs")

UPLOAD = "upl_01KAVR5H800000000000000001"


def declared(kind: str, **values: Any) -> dict[str, WorkflowInput]:
    return {"x": WorkflowInput(type=kind, **values)}


def problem(spec: dict[str, WorkflowInput], given: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(ValidationFailed) as failed:
        checked_inputs(spec, given)
    fields: dict[str, str] = failed.value.details["fields"]
    return fields


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", "a"),
        ("text", "a\nb"),
        ("number", 1),
        ("number", -1.5),
        ("integer", 7),
        ("boolean", False),
        ("url", "https://example.com/a?b=c#d"),
        ("url", "http://[::1]:8080/"),
        ("file", UPLOAD),
    ],
)
def test_a_value_that_fits_is_taken_as_it_is(kind: str, value: Any) -> None:
    assert checked_inputs(declared(kind, required=True), {"x": value}) == {"x": value}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", 1),
        ("string", ""),
        ("text", ["a"]),
        ("number", "1"),
        ("number", True),
        ("number", math.inf),
        ("number", math.nan),
        ("number", 10**400),
        ("integer", 1.5),
        ("integer", "1"),
        ("integer", False),
        ("integer", 2**60),
        ("boolean", 1),
        ("boolean", "true"),
        ("url", "ftp://example.com"),
        ("url", "javascript:alert(1)"),
        ("url", "https://"),
        ("url", "https://exa mple.com"),
        ("url", "http://[::1"),
        ("url", "https://example.com:99999/"),
        ("file", "picture.png"),
        ("file", "ses_01JZ0000000000000000000000"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_its_field(kind: str, value: Any) -> None:
    assert set(problem(declared(kind, required=True), {"x": value})) == {"inputs.x"}


def test_a_whole_number_may_be_written_with_a_point() -> None:
    values = checked_inputs(declared("integer"), {"x": 3.0})
    assert values == {"x": 3}
    assert type(values["x"]) is int


def test_choices_lengths_defaults_and_unknown_names() -> None:
    choice = {"x": WorkflowInput(type="enum", options=["ui", "api"], required=True)}
    assert checked_inputs(choice, {"x": "ui"}) == {"x": "ui"}
    assert "ui, api" in problem(choice, {"x": "db"})["inputs.x"]
    assert "required" in problem(choice, {})["inputs.x"]
    assert "required" in problem(choice, {"x": None})["inputs.x"]
    short = declared("text", max_length=3)
    assert checked_inputs(short, {"x": "abc"}) == {"x": "abc"}
    assert "4 characters" in problem(short, {"x": "abcd"})["inputs.x"]
    assert checked_inputs(short, {}) == {}
    assert checked_inputs(declared("integer", default=3), {}) == {"x": 3}
    assert checked_inputs(declared("boolean", default=False, required=True), {}) == {"x": False}
    both = problem(choice, {"y": 1})
    assert set(both) == {"inputs.x", "inputs.y"}


@given(st.dictionaries(st.text(max_size=8), st.recursive(st.none() | st.booleans() | st.text(), st.lists)))
@settings(max_examples=200, deadline=None)
def test_no_value_ends_the_block_that_it_stands_in(values: dict[str, Any]) -> None:
    text = fenced("inputs", values)
    lines = text.splitlines()
    assert (lines[0], lines[-1]) == ("<inputs>", "</inputs>")
    inside = "\n".join(lines[1:-1])
    assert "<" not in inside and ">" not in inside
    assert json.loads(inside) == values


def test_a_file_is_shown_with_where_it_lies() -> None:
    file = PlacedFile(".kaged/tmp/wfr_1/a.png", "a.png", "image/png", 12)
    message = first_message("look", "Look.", {"picture": file})
    block = json.loads(message.split("<inputs>\n")[1].split("\n</inputs>")[0])
    assert block["picture"] == {
        "path": ".kaged/tmp/wfr_1/a.png",
        "name": "a.png",
        "media_type": "image/png",
        "size_bytes": 12,
    }


def test_of_many_names_that_no_input_has_the_first_are_reported() -> None:
    spec = {f"a_long_name_of_an_input_{n}": declared("string")["x"] for n in range(64)}
    fields = problem(spec, {f"n{n}": 1 for n in range(10_000)})
    assert len(fields) == 20
    assert len(str(fields)) < 100_000
