"""The replay driver: transcripts played from files, by the conversation alone."""

from __future__ import annotations

import asyncio
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from app.config import ProviderSettings
from app.errors import ConfigError
from app.harness.conversation.session_rows import NUDGE
from app.harness.providers.attempts import RetryPolicy
from app.harness.providers.deltas import (
    Delta,
    Finished,
    TextDelta,
    ThinkingClosed,
    ThinkingDelta,
    ToolCallReady,
)
from app.harness.providers.drivers.replay.adapter import ReplayProvider
from app.harness.providers.drivers.replay.transcript import load_transcript
from app.harness.providers.errors import ProviderError
from app.harness.providers.provider import ModelRequest
from app.harness.providers.router import AttemptFailed, ProviderRouter
from app.messages import (
    AssistantMessage,
    ModelMessage,
    SystemBlock,
    TextBlock,
    ToolCallBlock,
    ToolResult,
    ToolResultsMessage,
    Usage,
    UserMessage,
)
from tests.driver.sessions import WAIT_SECONDS

pytestmark = pytest.mark.requirement("providers.replay")

DEMO = """
description: A short one
conversations:
  - when: "(?i)fix"
    steps:
      - answer:
          - thinking: Look first.
          - text: Let me look.
          - tool_call: {name: file.read, arguments: {path: a.py}}
          - tool_call: {name: file.read, arguments: {path: b.py}}
        usage: {input_tokens: 100, output_tokens: 20, cache_read_tokens: 50}
      - expect: {tool_result: "def broken"}
        answer:
          - text: Fixed.
  - says: hello
    steps:
      - answer: [text: First hello.]
  - says: hello
    steps:
      - answer: [text: Second hello.]
  - when: long
    steps:
      - answer: [text: half]
        stop_reason: length
fallback:
  steps:
    - answer: [text: I only know a few things.]
"""


def user(text: str) -> UserMessage:
    return UserMessage(blocks=(TextBlock(text=text),))


def said(text: str) -> AssistantMessage:
    return AssistantMessage(blocks=(TextBlock(text=text),))


def called(*ids: str) -> AssistantMessage:
    return AssistantMessage(blocks=tuple(ToolCallBlock(id=one, name="file.read") for one in ids))


def results(content: str, *ids: str) -> ToolResultsMessage:
    return ToolResultsMessage(
        results=tuple(ToolResult(tool_call_id=one, name="file.read", content=content) for one in ids)
    )


def write(folder: Path, text: str, name: str = "demo.yaml") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def provider(where: Path | None, timeout: float = WAIT_SECONDS, **options: Any) -> ReplayProvider:
    settings = ProviderSettings(
        driver="replay", transcript=where, timeout_seconds=timeout, options={"speed": 0, **options}
    )
    return ReplayProvider("replay", settings)


async def play(
    source: ReplayProvider, *messages: ModelMessage, model: str = "demo", session_id: str = "s"
) -> tuple[list[Delta], Finished]:
    request = ModelRequest(
        model=model,
        system=(SystemBlock(name="agent", text="You help."),),
        messages=list(messages),
        session_id=session_id,
    )
    async with asyncio.timeout(WAIT_SECONDS):
        deltas = [delta async for delta in source.stream(source.encode(request), request)]
    finished = deltas.pop()
    assert isinstance(finished, Finished)
    return deltas, finished


async def text(source: ReplayProvider, *messages: ModelMessage, **more: Any) -> str:
    deltas, _ = await play(source, *messages, **more)
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


async def failure(source: ReplayProvider, *messages: ModelMessage, **more: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await play(source, *messages, **more)
    return caught.value


async def test_a_step_streams_thinking_text_and_calls(tmp_path: Path) -> None:
    write(tmp_path, DEMO)
    deltas, finished = await play(provider(tmp_path), user("Please fix it"))
    first, second = (delta.call.id for delta in deltas if isinstance(delta, ToolCallReady))
    assert first != second
    assert deltas == [
        ThinkingDelta("Look "),
        ThinkingDelta("first."),
        ThinkingClosed(provider="replay"),
        TextDelta("Let "),
        TextDelta("me "),
        TextDelta("look."),
        ToolCallReady(ToolCallBlock(id=first, name="file.read", arguments={"path": "a.py"})),
        ToolCallReady(ToolCallBlock(id=second, name="file.read", arguments={"path": "b.py"})),
    ]
    usage = Usage(input_tokens=100, output_tokens=20, cache_read_tokens=50)
    assert finished == Finished("toolUse", usage, model="demo")


async def test_the_same_conversation_gives_the_same_answer_to_anyone(tmp_path: Path) -> None:
    write(tmp_path, DEMO)
    talk = (user("fix"), called("a"), results("def broken", "a"))
    first = await play(provider(tmp_path), *talk, session_id="one")
    shared = provider(tmp_path)
    again = await asyncio.gather(*(play(shared, *talk, session_id=f"s{number}") for number in range(5)))
    assert again == [first] * 5
    assert first[0] == [TextDelta("Fixed.")]


async def test_each_message_of_the_operator_starts_again(tmp_path: Path) -> None:
    write(tmp_path, DEMO)
    source = provider(tmp_path)
    talk = [user("fix"), called("a"), results("def broken", "a"), said("Fixed."), user(" hello\n")]
    assert await text(source, *talk) == "First hello."
    talk += [said("First hello."), user("hello")]
    assert await text(source, *talk) == "Second hello."
    talk += [said("Second hello."), user("hello")]
    assert await text(source, *talk) == "Second hello."
    talk += [said("Second hello."), user("what?")]
    assert await text(source, *talk) == "I only know a few things."
    talk += [said("I only know a few things."), user("do it for long")]
    assert (await play(source, *talk))[1].stop_reason == "length"


async def test_attachments_do_not_hide_the_operators_words(tmp_path: Path) -> None:
    write(tmp_path, DEMO)
    message = UserMessage(
        blocks=(TextBlock(text="<attachment>please fix</attachment>"), TextBlock(text="hello"))
    )
    assert await text(provider(tmp_path), message) == "First hello."


async def test_a_steering_message_does_not_lose_the_place(tmp_path: Path) -> None:
    write(tmp_path, DEMO)
    talk = (user("fix"), called("a"), results("def broken", "a"), user("and be quick"))
    assert await text(provider(tmp_path), *talk) == "Fixed."
    write(tmp_path, DEMO.replace('expect: {tool_result: "def broken"}', 'expect: {user: "quick$"}'))
    assert await text(provider(tmp_path), *talk) == "Fixed."


async def test_without_a_fallback_the_known_messages_are_reported(tmp_path: Path) -> None:
    write(tmp_path, DEMO.partition("fallback:")[0])
    answer = await text(provider(tmp_path), user("what?"))
    assert "(?i)fix" in answer
    assert "- hello" in answer


async def test_an_expectation_that_fails_says_what_came(tmp_path: Path) -> None:
    write(tmp_path, DEMO)
    error = await failure(provider(tmp_path), user("fix"), called("a"), results("no such file", "a"))
    assert error.kind == "bad_request"
    for part in ("step 2", "def broken", "no such file"):
        assert part in error.message


async def test_a_step_may_say_what_to_answer_when_its_expectation_is_not_met(tmp_path: Path) -> None:
    expect = 'expect: {tool_result: "def broken"}'
    write(tmp_path, DEMO.replace(expect, f"{expect}\n        otherwise: [text: It is not there.]"))
    talk = (user("fix"), called("a"))
    assert await text(provider(tmp_path), *talk, results("no such file", "a")) == "It is not there."
    assert await text(provider(tmp_path), *talk, results("def broken", "a")) == "Fixed."


async def test_an_answer_may_name_what_its_expectation_has_found(tmp_path: Path) -> None:
    expect = 'expect: {user: "fix #(?P<number>[0-9]+)", tool_result: "def (?P<name>broken)"}'
    demo = DEMO.replace('expect: {tool_result: "def broken"}', expect)
    write(tmp_path, demo.replace("text: Fixed.", 'text: "Fixed ${name}, #${number}."'))
    talk = (user("fix #42"), called("a"), results("def broken", "a"))
    assert await text(provider(tmp_path), *talk) == "Fixed broken, #42."


async def test_a_step_that_was_cut_off_is_played_again_when_the_run_goes_on(tmp_path: Path) -> None:
    write(tmp_path, DEMO)
    cut_off = (user("fix"), called("a"), results("def broken", "a"), said("Fi"), user(NUDGE))
    assert await text(provider(tmp_path), *cut_off) == "Fixed."
    assert await text(provider(tmp_path), *cut_off, said("Fix"), user(NUDGE)) == "Fixed."
    ended_for_its_length = """
        conversations:
          - when: long
            steps:
              - answer: [text: Half]
                stop_reason: length
              - answer: [text: the rest.]
    """
    write(tmp_path, ended_for_its_length)
    assert await text(provider(tmp_path), user("long"), said("Half"), user(NUDGE)) == "the rest."


async def test_past_the_last_step_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, DEMO)
    error = await failure(provider(tmp_path), user("long"), called("a"), results("x", "a"))
    assert "no step 2 for 'long'" in error.message


async def test_calls_with_malformed_arguments_are_played(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        conversations:
          - when: .
            steps:
              - answer:
                  - tool_call: {name: file.read, raw_arguments: '{"path": a.py'}
                  - tool_call: {name: file.read, raw_arguments: '{"path": "b.py"}', id: mine}
        """,
    )
    deltas, _ = await play(provider(tmp_path), user("x"))
    first, second = (delta.call for delta in deltas if isinstance(delta, ToolCallReady))
    assert first.arguments == {}
    assert first.raw_arguments == '{"path": a.py'
    assert "line 1 column 10" in (first.argument_error or "")
    assert second == ToolCallBlock(id="mine", name="file.read", arguments={"path": "b.py"})


async def test_errors_are_raised_after_what_stands_before_them(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        conversations:
          - when: .
            steps:
              - answer:
                  - text: half
                  - error: {kind: rate_limited, message: slow down, status: 429, retry_after: 3}
        """,
    )
    source = provider(tmp_path)
    request = ModelRequest(model="demo", system=(), messages=[user("x")])
    stream = source.stream(source.encode(request), request)
    assert await anext(stream) == TextDelta("half")
    with pytest.raises(ProviderError) as caught:
        await anext(stream)
    error = caught.value
    assert (error.kind, error.status, error.retry_after) == ("rate_limited", 429, 3)
    assert "slow down" in error.message


async def test_an_error_can_be_limited_so_that_the_retry_succeeds(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        conversations:
          - when: .
            steps:
              - answer:
                  - error: {kind: overloaded, times: 2}
                  - text: Now.
        """,
    )
    settings = ProviderSettings(driver="replay", transcript=path, options={"speed": 0})
    router = ProviderRouter({"m": ("r:demo",)}, {"r": settings}, {}, retry=RetryPolicy(base_seconds=0.01))
    for session in ("a", "b"):

        def build(candidate: Any, session: str = session) -> ModelRequest:
            return ModelRequest(model=candidate.model, system=(), messages=[user("x")], session_id=session)

        items = [item async for item in router.stream(router.resolve("m"), build)]
        assert sum(isinstance(item, AttemptFailed) for item in items) == 2
        assert TextDelta("Now.") in items
    await router.aclose()


async def test_delays_are_real_and_scale_with_the_speed(tmp_path: Path) -> None:
    answer = "[{{pause: {1}}}, {{text: a b}}]"
    transcript = "{{chunk_delay: {0}, conversations: [{{when: ., steps: [{{answer: " + answer + "}}]}}]}}"
    write(tmp_path, transcript.format(0.1, 0.2))
    for speed, seconds in ((1, 0.4), (4, 0.1)):
        started = time.monotonic()
        await play(provider(tmp_path, speed=speed), user("x"))
        assert time.monotonic() - started >= seconds
    write(tmp_path, transcript.format(600, 600))
    await play(provider(tmp_path, speed=0), user("x"))


async def test_a_stall_ends_with_the_time_out_or_the_cancel(tmp_path: Path) -> None:
    write(tmp_path, "conversations: [{when: ., steps: [{answer: [{stall: true}]}]}]")
    assert (await failure(provider(tmp_path, timeout=0.05), user("x"))).kind == "network"
    task = asyncio.create_task(play(provider(tmp_path), user("x")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 20)


async def test_an_edited_transcript_is_read_again(tmp_path: Path) -> None:
    source = provider(write(tmp_path, DEMO))
    assert await text(source, user("hello")) == "First hello."
    write(tmp_path, DEMO.replace("First hello.", "Good morning to you."))
    assert await text(source, user("hello")) == "Good morning to you."


async def test_counts_are_estimated_when_the_transcript_has_none(tmp_path: Path) -> None:
    write(tmp_path, DEMO)
    source = provider(tmp_path)
    short = (await play(source, user("hello")))[1].usage
    long = (await play(source, user("x" * 4_000), said("?"), user("hello")))[1].usage
    assert short.input_tokens > 0
    assert 990 < long.input_tokens - short.input_tokens < 1_100


def test_the_encoded_request_is_the_same_every_time(tmp_path: Path) -> None:
    request = ModelRequest(
        model="demo", system=(), messages=[user("a \ud83d"), called("c"), results("r", "c")]
    )
    wire = provider(tmp_path).encode(request)
    assert wire == provider(tmp_path).encode(request)
    assert b'"content":"r"' in wire.body


@pytest.mark.parametrize("model", ["other", "../demo", "", "a/b", ".hidden"])
async def test_a_transcript_that_is_not_there_names_those_that_are(tmp_path: Path, model: str) -> None:
    write(tmp_path, DEMO)
    error = await failure(provider(tmp_path), user("x"), model=model)
    assert error.kind == "bad_request"
    if model == "other":
        assert "(there: demo)" in error.message


async def test_a_file_can_be_named_in_place_of_a_folder(tmp_path: Path) -> None:
    path = write(tmp_path, DEMO, "one.yaml")
    write(tmp_path, DEMO.replace("First", "Another"), "two.yml")
    assert await text(provider(path), user("hello"), model="one") == "First hello."
    assert await text(provider(path), user("hello"), model="two") == "Another hello."
    assert await provider(path).models() == ["one"]
    assert await provider(tmp_path).models() == ["one", "two"]


async def test_a_missing_setting_is_reported() -> None:
    error = await failure(provider(None), user("x"))
    assert "providers.replay.transcript is not set" in error.message
    assert await provider(None).models() == []


def test_a_wrong_option_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"providers\.replay\.options\.sped"):
        provider(tmp_path, sped=1)


BAD = (
    ("conversations: [", 1, "expected"),
    ("conversation:\n  - when: x\n", 1, "conversation"),
    ("conversations:\n  - when: x\n    steps:\n      - answer:\n          - txt: a\n", 5, "txt"),
    (
        "conversations:\n  - when: x\n    steps:\n      - answer:\n          - {text: a, pause: 1}\n",
        5,
        "exactly one",
    ),
    ("conversations:\n  - when: x\n    steps: []\n", 3, "at least 1"),
    ("conversations:\n  - when: '('\n    steps:\n      - answer: [text: a]\n", 2, "regular expression"),
    ("conversations:\n  - steps:\n      - answer: [text: a]\n", 2, "exactly one of when, says"),
    (
        "conversations:\n  - when: x\n    steps:\n      - answer: [text: a]\n        usage: {input: 3}\n",
        5,
        "usage.input",
    ),
    (
        "conversations:\n  - when: x\n    steps:\n      - answer:\n          - error: {kind: broken}\n",
        5,
        "rate_limited",
    ),
    (
        (
            "conversations:\n  - when: x\n    steps:\n      - answer:\n          - tool_call:\n"
            "              name: t\n              arguments: {day: 2024-01-01}\n"
        ),
        7,
        "quote dates",
    ),
    ("conversations: 3\n", 1, "conversations"),
    ("- a\n- b\n", 1, "the file"),
    ("a: 1\na: 2\n", 2, "duplicate"),
)


@pytest.mark.parametrize(("source", "line", "words"), BAD)
def test_a_bad_transcript_is_reported_with_file_and_line(
    tmp_path: Path, source: str, line: int, words: str
) -> None:
    path = write(tmp_path, source)
    with pytest.raises(ConfigError) as caught:
        load_transcript(path)
    message = caught.value.message
    assert f"{path}, line {line}:" in message
    assert words in message
    assert message.count("\n") == 0


async def test_a_bad_transcript_fails_the_call_with_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path, "conversations: 3\n")
    error = await failure(provider(tmp_path), user("x"))
    assert error.kind == "bad_request"
    assert f"{path}, line 1" in error.message


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a: \x07"])
def test_bytes_that_are_no_text_are_reported(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "demo.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="demo"):
        load_transcript(path)
