"""What is left of a terminal's bytes for a reader."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bridges.pty.plain_text import MAX_LINE, PlainText


def plain(*chunks: bytes) -> bytes:
    text = PlainText()
    return b"".join(text.feed(chunk) for chunk in chunks) + text.finish()


@pytest.mark.parametrize(
    ("sent", "left"),
    [
        (b"plain \xc3\xa9\ttext\n", b"plain \xc3\xa9\ttext\n"),
        (b"\x1b[1;31mred\x1b[0m\n", b"red\n"),
        (b"\x1b[38;2;1;2;3mrgb\x1b[m \x1b[?25l\x1b[2Jgone", b"rgb gone"),
        (b"\x1b]0;a title\x07text", b"text"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", b"link"),
        (b"\x1b]no end\ntext", b"no end\ntext"),
        (b"\x1bPdevice control\x1b\\text", b"text"),
        (b"\x1b(Bcharset\x1b7\x1b8\x1b=\x1bM", b"charset"),
        (b"bell\x07 null\x00 delete\x7f\n", b"bell null delete\n"),
        (b"dos\r\nlines\r\r\n", b"dos\nlines\n"),
        (b" 10%\r 50%\r100%\n", b"100%\n"),
        (b"a long line\rshort\x1b[K\n", b"short\n"),
        (b"left over\rshort\n", b"shortover\n"),
        (b"old\x1b[2K\rnew\n", b"new\n"),
        (b"erased\x1b[1K.\n", b"      .\n"),
        (b"waiting...\r\n", b"waiting...\n"),
        (b"waiting...\r", b"waiting..."),
        (b"spin |\x08/\x08-\n", b"spin -\n"),
        (b"b\x08bo\x08ol\x08ld\n", b"bold\n"),
        (b"\xff\xfe broken\r\xff\n", b"\xff\xfe broken\n"),
        (b"\xf0\x9f\x98\x80 done\rX\n", b"X done\n"),
        (b"\x1b", b""),
        pytest.param(b"ok\n*\x1b[1G\x1b[0K", b"ok\n", marks=pytest.mark.requirement("usability.tools")),
        *(
            pytest.param(b"ok\n" + line, left, marks=pytest.mark.requirement("usability.tools"))
            for line, left in [
                (b"gone\x1b[2K", b"ok\n"),
                (b"gone\x1b[2K\n", b"ok\n\n"),
                (b"gone\x1b[1K", b"ok\n"),
                (b"gone\x1b[1J", b"ok\n"),
                (b"gone\x1b[1`\x1b[K", b"ok\n"),
                (b"gone\x1b[1000D\x1b[K", b"ok\n"),
                (b"gone\r\x1b[J", b"ok\n"),
                (b"gone\r\x1b[0J", b"ok\n"),
                (b"*\x08\x1b[X", b"ok\n"),
                (b"gone\x1b[G\x1b[4X", b"ok\n"),
                (b"gone\x1b[G\x1b[9P", b"ok\n"),
                (b"half gone\x1b[5D\x1b[K", b"ok\nhalf"),
                (b"1234\r\x1b[1C\x1b[2PX", b"ok\n1X"),
                (b"a\x1b[3Cb\x1b[C\x1b[Dc", b"ok\na   bc"),
                (b"stays\x1b[K\x1b[J\x1b[P\x1b[X", b"ok\nstays"),
            ]
        ),
        pytest.param(b"12345\x1b[3GX\x1b[GY\n", b"Y2X45\n", marks=pytest.mark.requirement("usability.tools")),
        pytest.param(
            b"a\x1b[9999Gb\n", b"a" + b" " * 999 + b"b\n", marks=pytest.mark.requirement("usability.tools")
        ),
        pytest.param(
            b"\xc2\x9b31mred\xc2\x9b0m\n",
            b"red\n",
            marks=pytest.mark.requirement("security.control_characters"),
        ),
        pytest.param(
            b"a\xc2\x9d0;title\x07b\xc2\x9c\n",
            b"ab\n",
            marks=pytest.mark.requirement("security.control_characters"),
        ),
        pytest.param(
            b"a\xc2\x85b\xc2\x90x\xc2\x9cc\n",
            b"abc\n",
            marks=pytest.mark.requirement("security.control_characters"),
        ),
        pytest.param(
            b"*\xc2\x9b2K\rdone\n", b"done\n", marks=pytest.mark.requirement("security.control_characters")
        ),
        pytest.param(
            b"\xc2\x1b[31m\x9bK",
            b"\xef\xbf\xbdK",
            marks=pytest.mark.requirement("security.control_characters"),
        ),
        pytest.param(
            b"\x9b\r\xc2\x1b[2G\x9b\n",
            b"\xef\xbf\xbd\n",
            marks=pytest.mark.requirement("security.control_characters"),
        ),
    ],
)
def test_control_sequences_go_and_lines_keep_their_last_state(sent: bytes, left: bytes) -> None:
    assert plain(sent) == left


PIECES = st.sampled_from(
    [
        b"word",
        b"\n",
        b"\r",
        b"\x08",
        b"\x1b[31m",
        b"\x1b[K",
        b"\x1b[2K",
        b"\x1b[3D",
        b"\x1b[P",
        b"\x1b]0;t\x07",
        b"\xc3\xa9",
        b"\xc2",
        b"\x9b",
        b"\x1b",
        b"[",
        b"\r\n",
    ]
)


@given(st.lists(PIECES, max_size=30).map(b"".join), st.integers(0, 60))
def test_where_the_bytes_are_cut_makes_no_difference(sent: bytes, cut: int) -> None:
    assert plain(sent[:cut], sent[cut:]) == plain(sent)


@given(st.binary(max_size=200) | st.lists(PIECES, max_size=30).map(b"".join))
def test_no_control_character_survives(sent: bytes) -> None:
    left = plain(sent)
    assert not set(left) & (set(range(32)) - set(b"\t\n"))
    assert not re.search("[\x80-\x9f]", left.decode("utf-8", "replace"))


def test_a_line_without_end_is_passed_on_in_bounded_parts() -> None:
    text = PlainText()
    passed = b"".join(text.feed(b"x" * 1000) for _ in range(1000))
    assert len(passed) >= 1_000_000 - MAX_LINE - 1000
    assert passed + text.finish() == b"x" * 1_000_000


@pytest.mark.requirement("security.control_characters")
@pytest.mark.parametrize("between", [b"", b"\x1b[31m", b"\x00"])
def test_a_control_that_is_cut_in_two_at_the_end_of_a_part_is_none_either(between: bytes) -> None:
    text = PlainText()
    passed = text.feed(b"x" * MAX_LINE + b"\xc2" + between) + text.feed(b"\x9b31mred\n")
    assert not re.search("[\x80-\x9f]", passed.decode("utf-8", "replace"))
    assert passed.endswith(b"red\n")


def test_a_progress_bar_without_end_takes_no_memory() -> None:
    text = PlainText()
    for step in range(20_000):
        assert text.feed(b"\r[%6d of 20000]" % step) == b""
        assert len(text._rest) <= 2 * MAX_LINE
    assert text.finish() == b"[ 19999 of 20000]"


@pytest.mark.requirement("security.linear_patterns")
@pytest.mark.parametrize("step", [b"\x1b[1K", b"\x1b[9999G\x1b[1Kx\r", b"\x1b[2G\x1b[P", b"\r\x1b[9999X"])
def test_what_is_erased_again_and_again_takes_little_time(step: bytes) -> None:
    line = b"\r" + b"x" * (MAX_LINE // 2)
    line += step * ((MAX_LINE - len(line)) // len(step))
    began = time.thread_time()
    plain(line, b"\n")
    assert time.thread_time() - began < 0.5
