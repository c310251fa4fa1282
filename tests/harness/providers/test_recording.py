"""A stored session, written as a transcript, replays the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.config import ProviderSettings
from app.harness.providers.deltas import BlockAssembler, Delta, Finished
from app.harness.providers.drivers.replay.adapter import ReplayProvider
from app.harness.providers.drivers.replay.recording import transcript_from_messages
from app.harness.providers.errors import ProviderError
from app.harness.providers.provider import ModelRequest
from app.messages import (
    AssistantBlock,
    AssistantMessage,
    ModelMessage,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResult,
    ToolResultsMessage,
    Usage,
    UserMessage,
)

pytestmark = pytest.mark.requirement("providers.record")

ANSWER = {
    "contentBlocks": [
        {"type": "thinking", "text": "Where is it?\n  Here.\n\n", "signature": "opaque"},
        {"type": "text", "text": "Let me look:\n- one\n- two # not a comment\n"},
        {
            "type": "tool_call",
            "id": "toolu_1",
            "name": "file.read",
            "arguments": {"path": "a: b", "n": [1, None]},
        },
        {
            "type": "tool_call",
            "id": "toolu_2",
            "name": "edit.text",
            "raw_arguments": "{",
            "argument_error": "x",
        },
    ],
    "usage": {
        "inputTokens": 100,
        "outputTokens": 20,
        "reasoningTokens": 5,
        "cacheReadTokens": 7,
        "totalTokens": 127,
    },
    "stopReason": "toolUse",
}
ROWS: list[dict[str, Any]] = [
    {"role": "operator", "content": "Fix it:\n  now", "details": {}, "position": 1},
    {"role": "primary", "content": "Let me look", "details": ANSWER, "position": 2},
    {"role": "tool", "content": "text", "details": {"toolCallId": "toolu_1"}, "position": 3},
    {"role": "tool", "content": "bad", "details": {"toolCallId": "toolu_2"}, "position": 4},
    {"role": "operator", "content": "(steering)", "details": {}, "position": 5},
    {"role": "primary", "content": "Done. ", "details": {"stopReason": "length"}, "position": 6},
    {"role": "operator", "content": "old", "details": {}, "superseded": True, "position": 7},
    {"role": "primary", "content": "old", "details": {}, "superseded": True, "position": 8},
    {"role": "operator", "content": "again", "details": {}, "position": 9},
    {
        "role": "primary",
        "content": "hal",
        "details": {"errorKind": "overloaded", "errorMessage": "busy", "errorStatus": 529},
        "position": 10,
    },
    {"role": "operator", "content": "waiting in the queue", "details": {}, "position": None},
]


async def answer(
    path: Path, messages: Sequence[ModelMessage]
) -> tuple[tuple[AssistantBlock, ...], Finished | ProviderError]:
    source = ReplayProvider("r", ProviderSettings(driver="replay", transcript=path, options={"speed": 0}))
    request = ModelRequest(model=path.stem, system=(), messages=messages)
    assembler = BlockAssembler()
    last: Delta | None = None
    try:
        async for last in source.stream(source.encode(request), request):
            assembler.add(last)
    except ProviderError as error:
        return assembler.blocks(), error
    assert isinstance(last, Finished)
    return assembler.blocks(), last


def write(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path = folder / "recorded.yaml"
    path.write_text(transcript_from_messages(rows, description="From a session"), encoding="utf-8")
    return path


def user(text: str) -> UserMessage:
    return UserMessage(blocks=(TextBlock(text=text),))


async def test_a_recorded_session_replays_the_same(tmp_path: Path) -> None:
    path = write(tmp_path, ROWS)
    talk: list[ModelMessage] = [user("Fix it:\n  now")]
    blocks, finished = await answer(path, talk)
    thinking, text, first, second = blocks
    assert isinstance(thinking, ThinkingBlock)
    assert thinking.text == "Where is it?\n  Here.\n\n"
    assert text == TextBlock(text="Let me look:\n- one\n- two # not a comment\n")
    assert isinstance(first, ToolCallBlock)
    assert isinstance(second, ToolCallBlock)
    assert (first.name, first.arguments) == ("file.read", {"path": "a: b", "n": [1, None]})
    assert (second.raw_arguments, bool(second.argument_error)) == ("{", True)
    assert isinstance(finished, Finished)
    assert finished.usage == Usage(
        input_tokens=100, output_tokens=20, reasoning_tokens=5, cache_read_tokens=7
    )
    results = tuple(
        ToolResult(tool_call_id=call.id, name=call.name, content="new") for call in (first, second)
    )
    talk += [AssistantMessage(blocks=blocks), ToolResultsMessage(results=results)]
    unsteered, _ = await answer(path, talk)
    talk.append(user("(steering)"))
    blocks, finished = await answer(path, talk)
    assert blocks == unsteered == (TextBlock(text="Done. "),)
    assert isinstance(finished, Finished)
    assert finished.stop_reason == "length"
    talk += [AssistantMessage(blocks=blocks), user("again")]
    blocks, error = await answer(path, talk)
    assert blocks == (TextBlock(text="hal"),)
    assert isinstance(error, ProviderError)
    assert (error.kind, error.status) == ("overloaded", 529)


async def test_what_was_superseded_or_never_sent_is_left_out(tmp_path: Path) -> None:
    text = write(tmp_path, ROWS).read_text(encoding="utf-8")
    assert "old" not in text
    assert "waiting" not in text
    assert "toolu_" not in text


async def test_child_agents_have_conversations_of_their_own(tmp_path: Path) -> None:
    rows = [
        {"role": "operator", "content": "ask the child", "agent_path": "primary"},
        {
            "role": "primary",
            "content": "",
            "details": {"contentBlocks": [{"type": "tool_call", "id": "x", "name": "agent.helper"}]},
        },
        {"role": "operator", "content": "the task", "agent_path": "primary.subagents.helper"},
        {"role": "primary", "content": "child's answer", "agent_path": "primary.subagents.helper"},
        {"role": "tool", "content": "child's answer"},
        {"role": "primary", "content": "parent's answer"},
    ]
    path = write(tmp_path, rows)
    blocks, _ = await answer(path, [user("the task")])
    assert blocks == (TextBlock(text="child's answer"),)
    [call], _ = await answer(path, [user("ask the child")])
    assert isinstance(call, ToolCallBlock)
    results = ToolResultsMessage(results=(ToolResult(tool_call_id=call.id, name=call.name, content="r"),))
    blocks, _ = await answer(path, [user("ask the child"), AssistantMessage(blocks=(call,)), results])
    assert blocks == (TextBlock(text="parent's answer"),)


ODD_TEXT = st.text(
    st.one_of(
        st.characters(exclude_categories=("Cs",)),
        st.sampled_from("\n\t\r :#-'\"\\|>&*!%@`{}[]\x85\u2028\ufeff"),
    ),
    min_size=1,
    max_size=60,
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | ODD_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXT, inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=ODD_TEXT, arguments=st.dictionaries(ODD_TEXT, JSON, max_size=4), question=ODD_TEXT)
async def test_any_text_and_arguments_survive(
    tmp_path: Path, text: str, arguments: dict[str, Any], question: str
) -> None:
    call = {"type": "tool_call", "id": "i", "name": "file.read", "arguments": arguments}
    details = {"contentBlocks": [{"type": "text", "text": text}, call]}
    path = write(
        tmp_path,
        [{"role": "operator", "content": question}, {"role": "primary", "content": text, "details": details}],
    )
    blocks, _ = await answer(path, [user(question)])
    assert blocks[0] == TextBlock(text=text)
    assert isinstance(blocks[1], ToolCallBlock)
    assert blocks[1].arguments == arguments
