"""Server-sent events, cut anywhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.harness.providers.sse import EventSplitter, EventTooLarge, ServerSentEvent


def split(*chunks: bytes) -> list[ServerSentEvent]:
    splitter = EventSplitter()
    events = [event for chunk in chunks for event in splitter.feed(chunk)]
    return events + splitter.finish()


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [("", b"a"), ("", b"b")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [("", b"a"), ("", b"b")]),
        (b"data: a\r\rdata: b\r\r", [("", b"a"), ("", b"b")]),
        (b"event: ping\ndata: {}\n\ndata: x\n\n", [("ping", b"{}"), ("", b"x")]),
        (b"data: one\ndata: two\n\n", [("", b"one\ntwo")]),
        (b"event: e\r\ndata: one\r\ndata: two\r\n\r\n", [("e", b"one\ntwo")]),
        (b"data:tight\n\ndata:  wide\n\n", [("", b"tight"), ("", b" wide")]),
        (b": a comment\n\nid: 3\nretry: 10\ndata: x\n\n", [("", b"x")]),
        (b"event: empty\n\n\n\ndata: x\n\n", [("", b"x")]),
        (b"\xef\xbb\xbfdata: x\n\n", [("", b"x")]),
        (b"data: the blank line is missing", [("", b"the blank line is missing")]),
        (b"data: x\n", [("", b"x")]),
        (b"", []),
        (b"\n\n\n", []),
        (b"nonsense\ndata: x\n\n", [("", b"x")]),
        (b"data: \xff\xfe\n\n", [("", b"\xff\xfe")]),
        (b'error: {"code":400}\n\ndata: x\n\n', [("error", b'{"code":400}'), ("", b"x")]),
    ],
)
def test_events_are_the_same_wherever_the_bytes_are_cut(
    stream: bytes, expected: list[tuple[str, bytes]]
) -> None:
    wanted = [ServerSentEvent(name, data) for name, data in expected]
    assert split(stream) == wanted
    assert split(*(stream[place : place + 1] for place in range(len(stream)))) == wanted
    for cut in range(len(stream) + 1):
        assert split(stream[:cut], stream[cut:]) == wanted


@given(
    events=st.lists(
        st.binary(min_size=1, max_size=30).filter(lambda data: b"\n" not in data and b"\r" not in data)
    ),
    ending=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    cuts=st.lists(st.integers(min_value=0, max_value=400), max_size=8),
)
def test_any_cuts_give_the_events_that_were_sent(events: list[bytes], ending: bytes, cuts: list[int]) -> None:
    stream = b"".join(b"data: " + data + ending * 2 for data in events)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[start:end] for start, end in pairwise(places)]
    assert [event.data for event in split(*chunks)] == events


def test_an_event_is_given_out_as_soon_as_its_blank_line_is_there() -> None:
    splitter = EventSplitter()
    assert splitter.feed(b"data: a\n") == []
    assert splitter.feed(b"\n") == [ServerSentEvent("", b"a")]


def test_an_event_of_empty_lines_without_end_is_stopped() -> None:
    splitter = EventSplitter()
    with pytest.raises(EventTooLarge):
        for _ in range(400):
            splitter.feed(b"data:\n" * 1_000)
