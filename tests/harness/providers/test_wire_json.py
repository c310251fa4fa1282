"""Requests survive odd text, and whatever a model writes as arguments becomes a call."""

import json

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.harness.providers.wire_json import (
    ToolNames,
    arguments_to_send,
    clean_text,
    dump,
    load,
    read_arguments,
    read_call,
    wire_id,
)
from app.messages import ToolSpec

TOOLS = ToolNames([ToolSpec(name="file.read", wire_name="file_read", description="", parameters={})])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@settings(deadline=None)
@given(JSON)
def test_what_is_dumped_loads_again_even_with_integers_beyond_64_bits(value: object) -> None:
    assert json.loads(dump(value)) == value


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_with_lone_surrogates_can_be_sent(text: str) -> None:
    assert orjson.loads(dump({"text": text}))["text"] == clean_text(text)


def test_two_surrogate_halves_become_the_character_they_meant() -> None:
    assert clean_text("\ud83d\ude00 \ud83d") == "😀 �"


def test_an_escaped_lone_surrogate_on_the_wire_is_replaced() -> None:
    assert load(b'{"delta":"a\\ud83d"}') == {"delta": "a�"}


@settings(deadline=None)
@given(st.text(max_size=60))
def test_no_argument_text_raises(raw: str) -> None:
    arguments, error = read_arguments(raw)
    assert isinstance(arguments, dict)
    assert error is None or arguments == {}


@settings(deadline=None)
@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_a_json_object_is_read_as_it_was_written(value: dict[str, object]) -> None:
    arguments, error = read_arguments(json.dumps(value))
    assert error is None
    assert json.loads(dump(arguments)) == json.loads(orjson.dumps(orjson.loads(json.dumps(value))))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"path": "a.py",\n "line": }', "line 2 column 10"),
        ("[1]", "expected a JSON object, got an array"),
        ('"x"', "got a string"),
        ("null", "got null"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a":' * 300 + "1" + "}" * 300, "nested deeper"),
        ('{"a":' * 100_000, "nested deeper"),
    ],
)
def test_what_is_wrong_with_arguments_is_said(raw: str, expected: str) -> None:
    call = read_call("c1", "file_read", raw, TOOLS)
    assert call.argument_error is not None
    assert expected in call.argument_error
    assert call.raw_arguments == raw
    assert arguments_to_send(call) == {"INVALID_JSON": raw}


def test_blank_arguments_are_an_empty_object() -> None:
    assert read_arguments("  \n") == ({}, None)


def test_tool_names_map_both_ways_and_unknown_ones_stay() -> None:
    assert read_call("c", "file_read", "{}", TOOLS).name == "file.read"
    assert read_call("c", "file_erase", "{}", TOOLS).name == "file_erase"
    assert TOOLS.to_wire("file.read") == "file_read"
    assert TOOLS.to_wire("no.such(tool") == "no_such_tool"
    assert TOOLS.to_wire("") == "_"


def test_ids_of_calls_are_made_legal_everywhere() -> None:
    assert wire_id("call:1|fc_2") == "call_1_fc_2"
    assert wire_id("") == "call"
    assert len(wire_id("x" * 200)) == 64
    assert wire_id("x" * 200) == wire_id("x" * 200) != wire_id("x" * 200 + "_2")
