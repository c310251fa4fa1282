"""Whatever a server sends, reading it ends in deltas or in a `ProviderError`, never in a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.config import ProviderSettings
from app.harness.providers.connection import Connection
from app.harness.providers.deltas import BlockAssembler, Finished
from app.harness.providers.drivers.anthropic.events import AnthropicFold
from app.harness.providers.drivers.google.events import GoogleFold
from app.harness.providers.drivers.openai_responses.events import ResponsesFold
from app.harness.providers.errors import ProviderError
from app.harness.providers.folding import Fold
from app.harness.providers.provider import ModelRequest
from tests.fakes import wire_anthropic, wire_google, wire_openai_responses
from tests.fakes.provider_script import RecordedRequest, Refusal, Reply, StreamError, Text, Thinking, ToolCall
from tests.harness.providers.contract import TOOLS

REPLIES = (
    Reply((Thinking("a\n\nb", "sig"), Text("x"), Thinking("", "s"), ToolCall("file_read", {"path": "a"}))),
    Reply((Text("x"), ToolCall("file_read", "{bad")), finish="length"),
    Reply((Refusal("no"),), finish="content_filter"),
    Reply((StreamError("gone"),)),
)
REQUEST = RecordedRequest("POST", "/", {}, b"", 0.0)
MODEL_REQUEST = ModelRequest("m", (), (), TOOLS)
CONNECTION = Connection("mine", ProviderSettings(driver="openai"), default_base_url="http://127.0.0.1:9")
FOLDS: dict[Any, tuple[Callable[[], Fold], bytes]] = {
    wire_anthropic: (lambda: AnthropicFold(CONNECTION, MODEL_REQUEST), b'"stop_reason":"'),
    wire_openai_responses: (lambda: ResponsesFold(CONNECTION, MODEL_REQUEST), b'"response.completed"'),
    wire_google: (lambda: GoogleFold(CONNECTION, MODEL_REQUEST, b"body"), b'"finishReason"'),
}
"""Each wire: how its reader is built, and the bytes that only the event that ends an answer has."""

each_wire = pytest.mark.parametrize("wire", FOLDS, ids=lambda wire: wire.__name__.rpartition(".")[2])
ODD = (
    st.sampled_from((None, True, -1, 3, 1.5, float("nan"), "", "text", [], {}, [None], [[]], {"x": [1]}))
    | st.just("tool_use")
    | st.just("STOP")
)


def events(wire: Any, reply: Reply) -> list[dict[str, Any]]:
    frames = wire.frames(reply, REQUEST)
    return [orjson.loads(frame.partition(b"data: ")[2]) for frame in frames if isinstance(frame, bytes)]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], odd)
    return copy


def read(fold: Fold, sent: list[dict[str, Any]]) -> None:
    assembler = BlockAssembler()
    try:
        for event in sent:
            for delta in fold.take(event):
                assembler.add(delta)
        for delta in fold.finish():
            assembler.add(delta)
    except ProviderError:
        return
    for block in assembler.blocks():
        block.model_dump_json()


@settings(deadline=None, max_examples=300)
@given(st.data())
@each_wire
def test_an_odd_value_anywhere_in_a_stream_crashes_nothing(wire: Any, data: st.DataObject) -> None:
    sent = events(wire, data.draw(st.sampled_from(REPLIES)))
    for _ in range(data.draw(st.integers(1, 3))):
        if sent:
            path = data.draw(st.sampled_from(list(places(sent))))
            sent = replaced(sent, path, data.draw(ODD))
            sent = [event for event in sent if isinstance(event, dict)]
    read(FOLDS[wire][0](), sent)


@each_wire
def test_a_stream_is_complete_only_when_its_end_was_reported(wire: Any) -> None:
    build, end = FOLDS[wire]
    sent = events(wire, Reply((Thinking("a", "s"), Text("x"), ToolCall("file_read", {"path": "a"}))))
    for length in range(len(sent) + 1):
        fold = build()
        for event in sent[:length]:
            list(fold.take(event))
        told = any(end in orjson.dumps(event) for event in sent[:length])
        assert (fold.stop_reason is not None) is told
        if told:
            assert isinstance([*fold.finish()][-1], Finished)
    assert told
