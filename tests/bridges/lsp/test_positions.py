"""Columns in code points and in a server's units: there, back, and for whatever a server may send."""

from __future__ import annotations

import math
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bridges.lsp.positions import LineIndex, convert_line

pytestmark = pytest.mark.requirement("language_servers.positions.encodings")

ENCODINGS = ("utf-8", "utf-16", "utf-32")
PIECES = st.sampled_from(
    ["a", "\t", " ", "é", "e\u0301", "ß", "\uffff", "\u2028", "\x85", "\x0b", "\ud83d", "\ude00",
     "😀", "👩‍👩‍👧", "𝒳", "漢"]
)  # fmt: skip
LINES = st.lists(PIECES, max_size=12).map("".join)
TEXTS = st.lists(st.one_of(PIECES, st.sampled_from(["\n", "\r\n", "\r", "\n\r"])), max_size=30).map("".join)
encodings = st.sampled_from(ENCODINGS)
HOSTILE = st.one_of(
    st.none(), st.booleans(), st.text(max_size=3), st.floats(), st.integers(),
    st.lists(st.integers(), max_size=2),
)  # fmt: skip


def width(character: str, encoding: str) -> int:
    if encoding == "utf-32":
        return 1
    if encoding == "utf-16":
        return 2 if ord(character) > 0xFFFF else 1
    return next(size for size, end in enumerate([0x80, 0x800, 0x10000, 0x110000], 1) if ord(character) < end)


def plain_lines(text: str) -> list[tuple[int, str]]:
    """Each line with where it starts, character by character."""
    lines, start, at = [], 0, 0
    while at < len(text):
        if text[at] in "\r\n":
            lines.append((start, text[start:at]))
            at += 1 if text[at : at + 2] == "\r\n" else 0
            start = at + 1
        at += 1
    return [*lines, (start, text[start:])]


@given(TEXTS)
def test_lines_end_as_the_protocol_says_and_nowhere_else(text):
    index, expected = LineIndex(text), plain_lines(text)
    assert index.line_count == len(expected)
    assert [index.line(number) for number in range(len(expected))] == [line for _, line in expected]
    assert index.line_count == len(expected)
    assert (index.line(-1), index.line(len(expected))) == ("", "")


@given(TEXTS, encodings, st.data())
def test_every_place_goes_to_the_server_and_comes_back(text, encoding, data):
    index, lines = LineIndex(text), plain_lines(text)
    number = data.draw(st.integers(0, len(lines) - 1))
    start, line = lines[number]
    column = data.draw(st.integers(0, len(line)))
    position = index.to_server(number, column, encoding)
    expected = sum(width(character, encoding) for character in line[:column])
    assert position == {"line": number, "character": expected}
    assert index.from_server(position, encoding) == (number, column)
    assert index.offset(position, encoding) == index.offset_of(number, column) == start + column


@given(LINES, encodings, st.integers(-3, 80))
def test_a_count_of_units_is_the_characters_that_fit_whole_into_it(line, encoding, character):
    fitting, taken = 0, 0
    for one in line:
        taken += width(one, encoding)
        if taken > character:
            break
        fitting += 1
    assert convert_line(line, character, encoding) == fitting


@given(TEXTS, encodings, st.integers(), st.integers())
def test_a_place_outside_the_text_is_moved_into_it(text, encoding, line, column):
    index, lines = LineIndex(text), plain_lines(text)
    position = index.to_server(line, column, encoding)
    if line < 0:
        assert position == {"line": 0, "character": 0}
    elif line >= len(lines):
        assert index.offset(position, encoding) == len(text)
    else:
        assert index.from_server(position, encoding) == (line, min(max(column, 0), len(lines[line][1])))
    there = index.from_server({"line": line, "character": column}, encoding)
    assert 0 <= there[0] < len(lines) and 0 <= there[1] <= len(lines[there[0]][1])


@given(TEXTS, encodings, HOSTILE, HOSTILE)
def test_whatever_a_server_sends_as_position_is_a_place_in_the_text(text, encoding, line, character):
    index = LineIndex(text)
    for position in ({"line": line, "character": character}, {"line": line}, {}, line):
        found = index.from_server(position, encoding)
        assert found == index.from_server(index.to_server(*found, encoding), encoding)
        assert 0 <= index.offset(position, encoding) <= len(text)


@pytest.mark.parametrize("value", [None, True, "1", 1.0, math.inf, math.nan, [1], {}, 10**400, -1])
def test_a_number_that_is_none_is_no_crash(value):
    index = LineIndex("a\nbc")
    assert index.from_server({"line": 0, "character": value}, "utf-16")[1] == (1 if value == 10**400 else 0)
    assert index.from_server({"line": value, "character": 1}, "utf-16") in {(0, 1), (0, 0), (1, 2)}


def test_a_place_within_a_character_is_its_start():
    line = "a😀b"
    assert [convert_line(line, at, "utf-16") for at in range(6)] == [0, 1, 1, 2, 3, 3]
    assert [convert_line(line, at, "utf-8") for at in range(8)] == [0, 1, 1, 1, 1, 2, 3, 3]
    assert [convert_line(line, at, "utf-32") for at in range(5)] == [0, 1, 2, 3, 3]


@pytest.mark.parametrize("name", ["x = 1\n", "x = 1\r\n", "x = '😀'\n", "x\ry\n"])
def test_a_large_file_costs_little(name):
    """Far above what it takes, so that a busy machine passes, and far below a loop in Python."""
    text = name * (1024 * 1024 // len(name.encode()))

    def once() -> float:
        began = time.thread_time()
        index = LineIndex(text)
        index.from_server({"line": 9_000, "character": 5}, "utf-16")
        assert index.line_count > 9_000
        return time.thread_time() - began

    def made() -> float:
        began = time.thread_time()
        LineIndex(text)
        return time.thread_time() - began

    assert min(once() for _ in range(5)) < 0.05
    assert min(made() for _ in range(5)) < 0.002


def test_a_long_line_of_wide_characters_is_converted_without_a_loop_over_it():
    line = "😀" * 300_000

    def once() -> float:
        began = time.thread_time()
        assert convert_line(line, 300_001, "utf-16") == 150_000
        return time.thread_time() - began

    assert min(once() for _ in range(5)) < 0.01
    assert re.fullmatch("😀+", line)
