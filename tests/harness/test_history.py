"""The conversation in memory: the same whether it grew or was read back, and always well formed."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.harness.conversation.estimate import ConversationEstimate, estimate_message
from app.harness.conversation.history import MISSING_RESULT, History
from app.ids import new_id
from app.messages import (
    AssistantBlock,
    AssistantMessage,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResult,
    ToolResultsMessage,
    UserMessage,
)
from app.storage.models import Message

SESSION = "ses_01JZ0000000000000000000000"


def row(role: str, content: str, position: int | None, **details: Any) -> Message:
    return Message(
        id=new_id("msg"),
        session_id=SESSION,
        position=position,
        role=role,
        content=content,
        details=details,
        created_at=position or 0,
    )


def stored(blocks: tuple[AssistantBlock, ...], position: int, stop: str) -> Message:
    """Return the row of an answer, in the shape in which a turn stores it."""
    text = "".join(block.text for block in blocks if isinstance(block, TextBlock))
    details: dict[str, Any] = {"stopReason": stop}
    if not (len(blocks) == 1 and isinstance(blocks[0], TextBlock)):
        details["contentBlocks"] = [
            {"type": block.type, **block.model_dump(exclude_defaults=True)} for block in blocks
        ]
    return row("primary", text, position, **details)


def result_row(result: ToolResult, position: int) -> Message:
    details: dict[str, Any] = {"toolCallId": result.tool_call_id, "toolName": result.name}
    if result.is_error:
        details["isError"] = True
    return row("tool", result.content, position, **details)


texts = st.text(min_size=1, max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
calls = st.builds(
    ToolCallBlock,
    id=st.sampled_from(["a", "b", "c", "d"]),
    name=st.sampled_from(["file.read", "lab.wait"]),
    arguments=st.dictionaries(st.text(max_size=5), json_values, max_size=3),
    signature=st.none() | texts,
)
plain = st.builds(TextBlock, text=texts) | st.builds(
    ThinkingBlock, text=texts, signature=st.none() | texts, provider=st.none() | st.just("anthropic")
)


@st.composite
def answers(draw: st.DrawFn) -> tuple[tuple[AssistantBlock, ...], str]:
    said = draw(st.lists(plain, max_size=3))
    asked = draw(st.lists(calls, max_size=3, unique_by=lambda call: call.id))
    blocks = (*said, *asked)
    if asked:
        return blocks, "toolUse"
    return blocks, draw(st.sampled_from(["stop", "length", "error", "aborted"]))


turns = st.lists(st.tuples(texts, st.lists(answers(), max_size=3)), max_size=5)


def grown(
    conversation: list[tuple[str, list[tuple[tuple[AssistantBlock, ...], str]]]],
) -> tuple[History, list[Message]]:
    """Let a history grow as sessions do, and return it with the rows stored meanwhile."""
    history, rows = History(), []
    for words, following in conversation:
        posted = row("operator", words, history.take_position())
        history.add_user(posted)
        rows.append(posted)
        for blocks, stop in following:
            answer = stored(blocks, history.take_position(), stop)
            history.add_assistant(answer.id, blocks, complete=stop == "stop")
            rows.append(answer)
            asked = [block for block in blocks if isinstance(block, ToolCallBlock)]
            if not asked:
                continue
            first = history.take_position(len(asked))
            results = [
                ToolResult(tool_call_id=c.id, name=c.name, content=f"result of {c.id}", is_error=n % 2 == 1)
                for n, c in enumerate(asked)
            ]
            rows += [result_row(result, first + n) for n, result in enumerate(results)]
            history.add_results([made.id for made in rows[-len(results) :]], tuple(results))
    return history, rows


@settings(deadline=None)
@given(turns)
def test_a_conversation_read_back_from_its_rows_is_the_one_that_grew(conversation: Any) -> None:
    history, rows = grown(conversation)
    again = History(rows, positions=history.positions)

    assert again.messages == history.messages
    assert again.answered == history.answered
    assert again.last_message_id == history.last_message_id


@given(turns, st.randoms(use_true_random=False))
def test_whatever_rows_are_missing_every_call_has_one_result_in_the_order_asked(
    conversation: Any, random: Any
) -> None:
    _, rows = grown(conversation)
    left = [row for row in rows if random.random() < 0.6]
    check_pairs(History(left).messages)


def check_pairs(messages: Any) -> None:
    for before, after in zip([None, *messages], [*messages, None], strict=True):
        asked = (
            [block.id for block in before.blocks if isinstance(block, ToolCallBlock)]
            if isinstance(before, AssistantMessage)
            else []
        )
        answered = (
            [result.tool_call_id for result in after.results] if isinstance(after, ToolResultsMessage) else []
        )
        assert asked == answered
        assert len(set(asked)) == len(asked)


@given(turns, st.integers(0, 200))
@settings(max_examples=200)
def test_truncation_keeps_the_first_message_the_newest_ones_and_whole_pairs(
    conversation: Any, target: int
) -> None:
    history, _ = grown(conversation)
    if not history.messages:
        return
    whole = list(history.messages)
    shortened = history.truncate(target)

    assert history.messages == whole  # nothing is deleted
    assert history.visible[0] == whole[0]
    assert history.visible[-1] == whole[-1]
    check_pairs(history.visible)
    if shortened:
        assert len(history.visible) < len(whole)
    history.add_user(row("operator", "next", 10_000))
    assert isinstance(history.visible[-1], UserMessage)
    assert history.visible[-1] == history.messages[-1]


def test_truncation_leaves_as_much_as_fits() -> None:
    conversation: Any = [(f"question {n}", [((TextBlock(text=f"answer {n}"),), "stop")]) for n in range(20)]
    history, _ = grown(conversation)
    each = estimate_message(history.messages[0])
    assert history.truncate(each * 7)
    assert 5 <= len(history.visible) <= 7
    assert not history.truncate(each * 7)


def test_truncation_inside_one_long_run_keeps_its_newest_steps() -> None:
    steps: Any = [((ToolCallBlock(id=f"c{n}", name="file.read"),), "toolUse") for n in range(20)]
    history, _ = grown([("Work", steps)])
    size = sum(estimate_message(message) for message in history.messages)
    assert history.truncate(size // 2)
    assert 10 < len(history.visible) < len(history.messages)
    check_pairs(history.visible)


def test_results_without_a_call_are_left_out_and_a_call_without_a_result_is_answered() -> None:
    call = ToolCallBlock(id="a", name="file.read")
    history = History(
        [
            result_row(ToolResult(tool_call_id="ghost", name="x", content="nobody asked"), 1),
            row("operator", "Go", 2),
            stored((call,), 3, "toolUse"),
            result_row(ToolResult(tool_call_id="other", name="x", content="not this one"), 4),
            row("operator", "And?", 5),
        ]
    )
    assert [message.role for message in history.messages] == ["user", "assistant", "tool", "user"]
    results = history.messages[2]
    assert isinstance(results, ToolResultsMessage)
    assert [(r.tool_call_id, r.content, r.is_error) for r in results.results] == [("a", MISSING_RESULT, True)]


def test_of_two_calls_with_one_id_the_first_counts() -> None:
    twice = (
        ToolCallBlock(id="same", name="file.read", arguments={"path": "a"}),
        ToolCallBlock(id="same", name="file.read", arguments={"path": "b"}),
    )
    history = History(
        [
            row("operator", "Go", 1),
            stored(twice, 2, "toolUse"),
            result_row(ToolResult(tool_call_id="same", name="file.read", content="alpha"), 3),
        ]
    )
    answer = history.messages[1]
    assert isinstance(answer, AssistantMessage)
    assert answer.blocks == twice[:1]
    check_pairs(history.messages)


def test_a_message_that_was_sent_and_is_withheld_later_is_encoded_again() -> None:
    history = History([row("operator", "a secret", 1), stored((TextBlock(text="Yes."),), 2, "stop")])

    def sent() -> list[bytes]:
        return history.cache.encode("wire", history.visible, lambda one: one.model_dump_json().encode())

    assert b"a secret" in sent()[0]
    before = history.tokens()
    history.withhold(history.entries[0], UserMessage(blocks=(TextBlock(text="[withheld]"),)))
    assert b"[withheld]" in sent()[0] and len(sent()) == 2
    assert history.tokens() == sum(map(estimate_message, history.visible)) != before


@given(turns)
def test_tokens_that_grew_equal_those_counted_at_once(conversation: Any) -> None:
    history, rows = grown(conversation)
    growing = History()
    for entry in history.entries:
        growing._append(entry)
        growing.tokens()
    at_once = sum(estimate_message(message) for message in history.messages)
    assert growing.tokens() == history.tokens() == History(rows).tokens() == at_once
    assert ConversationEstimate().request(at_once, (), ()) == at_once
