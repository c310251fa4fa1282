"""Many places of one answer: each once, in order, whatever a server puts among them."""

from __future__ import annotations

from typing import Any, cast

import orjson
from hypothesis import given
from hypothesis import strategies as st

from app.tools.code.place_list import PlaceList
from app.tools.code.places import Files, Found
from app.tools.project_files.view import Verdict

_SHOWN: dict[str, tuple[str, Verdict]] = {
    "file:///p/a.py": ("./a.py", "inside"),
    "file:///p/%61.py": ("./a.py", "inside"),
    "file:///p/b.py": ("./b.py", "inside"),
    "file:///p/far.py": ("./far.py", "outside"),
}


class _Judged:
    """Says of each URI what is known of it; every other one may not be mentioned."""

    def of_uri(self, uri: str) -> Found | None:
        told = _SHOWN.get(uri)
        return None if told is None else Found(told[0], (told[0][2:],), told[1])


FILES = cast(Files, _Judged())
NONSENSE: st.SearchStrategy[Any] = st.sampled_from([None, True, -1, 2**31, 2**70, 1.5, "3", [], {}])
NUMBERS = st.one_of(st.integers(0, 3), NONSENSE)
POSITIONS = st.one_of(st.fixed_dictionaries({"line": NUMBERS}, optional={"character": NUMBERS}), NONSENSE)
RANGES = st.one_of(st.fixed_dictionaries({"start": POSITIONS}), NONSENSE)
URIS = st.one_of(st.sampled_from([*_SHOWN, "file:///p/hidden.py"]), NONSENSE)
PLAIN = st.fixed_dictionaries(
    {
        "uri": st.sampled_from([*_SHOWN, "file:///p/hidden.py"]),
        "range": st.fixed_dictionaries(
            {"start": st.fixed_dictionaries({"line": st.integers(0, 4), "character": st.integers(0, 2)})}
        ),
    }
)
STRANGE = st.one_of(
    st.fixed_dictionaries({}, optional={"uri": URIS, "range": RANGES}),
    st.fixed_dictionaries(
        {"targetUri": URIS}, optional={"targetSelectionRange": RANGES, "targetRange": RANGES}
    ),
    NONSENSE,
)


def _model(answer: list[Any]) -> list[tuple[str, int, int]]:
    """The same, one place after the other."""
    told = set()
    for one in answer:
        if type(one) is not dict:
            continue
        linked = "targetUri" in one
        span = one.get("targetSelectionRange") or one.get("targetRange") if linked else one.get("range")
        start = span.get("start") if isinstance(span, dict) else None
        position = start if type(start) is dict else {}
        uri, line = one.get("targetUri" if linked else "uri"), position.get("line")
        if type(uri) is not str or uri not in _SHOWN or type(line) is not int or not 0 <= line < 2**31:
            continue
        shown, verdict = _SHOWN[uri]
        column = position.get("character")
        told.add((shown, line, column if verdict == "inside" and type(column) is int else 0))
    return sorted(told)


@given(st.lists(st.one_of(PLAIN, STRANGE), max_size=12), st.integers(0, 8), st.integers(1, 8))
def test_every_place_comes_once_and_in_order(answer: list[Any], offset: int, most: int) -> None:
    places, expected = PlaceList(FILES, answer), _model(answer)
    assert [(found.shown, *point) for found, *point in places.part(0, 100)] == expected
    assert len(places) == len(expected)
    part = [(found.shown, *point) for found, *point in places.part(offset, most)]
    assert part == expected[offset : offset + most]
    lines = [orjson.loads(line) for line in places.as_lines().splitlines()]
    assert [(one["path"], number) for one in lines for number in one["lines"]] == [
        (path, line + 1) for path, line, _ in expected
    ]


@given(st.lists(PLAIN, max_size=12), st.lists(PLAIN, max_size=3))
def test_the_one_declaration_is_left_out(answer: list[Any], declared: list[Any]) -> None:
    places = PlaceList(FILES, answer)
    places.leave_out(PlaceList(FILES, declared))
    """It may begin before its name: then the first place in its line is meant."""
    unwanted, expected = _model(declared), _model(answer)
    if len(unwanted) == 1:
        (path, line, column) = unwanted[0]
        named = [one for one in expected if one[:2] == (path, line) and one[2] >= column]
        expected = [one for one in expected if one not in named[:1]]
    assert [(found.shown, *point) for found, *point in places.part(0, 100)] == expected


def test_an_answer_that_is_one_place_or_none() -> None:
    one = {"uri": "file:///p/b.py", "range": {"start": {"line": 2, "character": 1}}}
    assert [(found.shown, *point) for found, *point in PlaceList(FILES, one).part(0, 9)] == [("./b.py", 2, 1)]
    for nothing in cast(tuple[Any, ...], (None, [], {}, "x", 3)):
        assert len(PlaceList(FILES, nothing)) == 0
