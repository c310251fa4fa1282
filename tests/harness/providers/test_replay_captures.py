"""What a step of a transcript takes over from the conversation."""

from __future__ import annotations

from typing import Any

import pytest

from app.harness.providers.drivers.replay.captures import captured, filled
from app.harness.providers.drivers.replay.transcript import Part

pytestmark = pytest.mark.requirement("providers.replay")


def part(**values: Any) -> Part:
    return Part.model_validate(values)


def test_named_groups_stand_in_texts_thoughts_and_arguments_at_any_depth() -> None:
    groups = captured(r"issue #(?P<number>\d+) of (?P<shop>\w+)", "It is for issue #42 of bakery, see there")
    assert groups == {"number": "42", "shop": "bakery"}
    call = {"name": "x", "arguments": {"number": "${number}", "deep": [{"of": "a ${shop}'s"}, 7, None, True]}}
    said = filled(
        [
            part(thinking="#${number}?"),
            part(text="#${number} of ${shop}"),
            part(tool_call=call),
            part(pause=1),
        ],
        groups,
    )
    assert [one.model_dump(exclude_none=True) for one in said] == [
        {"thinking": "#42?"},
        {"text": "#42 of bakery"},
        {
            "tool_call": {
                "name": "x",
                "arguments": {"number": "42", "deep": [{"of": "a bakery's"}, 7, None, True]},
            }
        },
        {"pause": 1.0},
    ]


def test_what_is_no_name_of_a_group_stays_as_it_is() -> None:
    parts = [part(text="costs ${price}, $number, ${number, {number} and $${number}")]
    assert filled(parts, {"number": "${price}"})[0].text == (
        "costs ${price}, $number, ${number, {number} and $${price}"
    )
    assert filled(parts, {})[0].text == parts[0].text


def test_a_group_that_took_no_part_is_empty_and_a_pattern_that_is_not_there_says_so() -> None:
    assert captured("a(?P<more>b)?", "ac") == {"more": ""}
    assert captured("(a)(?:b)", "ab") == {}
    assert captured("a(?P<more>b)", "ac") is None
