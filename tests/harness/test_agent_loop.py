"""The agent loop against a model that speaks the wire protocol: what is streamed, stored and sent."""

from __future__ import annotations

from pathlib import Path

import orjson

from app.messages import Usage
from tests.driver.sessions import Driver
from tests.fakes.provider_script import Reply, Text, Thinking, ToolCall
from tests.fakes.provider_server import FakeProvider


async def test_text_and_thinking_are_streamed_and_stored(driver: Driver, fake: FakeProvider) -> None:
    fake.script(Reply((Thinking("Let me think. "), Text("Hello "), Text("there."))))
    watch = await driver.run("Say hello")

    assert watch.text() == "Hello there."
    start = watch.of("message.start")[0]["payload"]
    assert (start["provider"], start["model"]) == ("fake", "model-a")
    end = watch.of("message.end")[0]["payload"]
    assert end["stopReason"] == "stop"
    assert end["usage"]["inputTokens"] == 10
    assert set(end["stats"]) == {"ttft", "duration", "tps", "cost"}
    operator, primary = await driver.messages()
    assert (operator["role"], operator["content"]) == ("operator", "Say hello")
    assert (primary["role"], primary["content"]) == ("primary", "Hello there.")
    assert [block["type"] for block in primary["details"]["contentBlocks"]] == ["thinking", "text"]
    run = (await driver.session_call("GET", "/runs"))["items"][0]
    assert (run["state"], run["reason"], run["step_count"]) == ("succeeded", "stop", 1)


async def test_a_tool_call_reads_the_real_file_and_its_result_goes_back(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(
        Reply((Text("I read it."), ToolCall("file_read", {"path": "README.md"}, id="call_a"))),
        Reply((Text("It sells things."),)),
    )
    watch = await driver.run("What does it do?")

    result = watch.of("message.tool_result")[0]["payload"]
    assert result["toolCallId"] == "call_a"
    assert not result["isError"]
    assert "It sells things." in result["content"]
    assert [f["payload"]["stopReason"] for f in watch.of("message.end")] == ["toolUse", "stop"]
    second = orjson.loads(fake.requests[1].body)
    tool_message = second["messages"][-1]
    assert tool_message["role"] == "tool"
    assert tool_message["tool_call_id"] == "call_a"
    assert tool_message["content"] == result["content"]


async def test_parallel_calls_are_answered_in_the_order_asked(
    driver: Driver, fake: FakeProvider, project_root: Path
) -> None:
    (project_root / "a.txt").write_text("alpha\n")
    (project_root / "b.txt").write_text("beta\n")
    fake.script(
        Reply(
            (
                ToolCall("file_read", {"path": "a.txt"}, id="c1"),
                ToolCall("file_read", {"path": "missing.txt"}, id="c2"),
                ToolCall("file_read", {"path": "b.txt"}, id="c3"),
            )
        ),
        Reply((Text("Done."),)),
    )
    watch = await driver.run("Read all")

    assert len(watch.of("message.tool_result")) == 3
    sent = [m for m in orjson.loads(fake.requests[1].body)["messages"] if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in sent] == ["c1", "c2", "c3"]
    assert "alpha" in sent[0]["content"] and "beta" in sent[2]["content"]
    assert "file_not_found" in sent[1]["content"]


async def test_malformed_arguments_are_answered_with_the_place_of_the_mistake(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(
        Reply((ToolCall("file_read", '{"path": "README.md', id="c1"),)),
        Reply((Text("Sorry."),)),
    )
    watch = await driver.run("Read")

    result = watch.of("message.tool_result")[0]["payload"]
    assert result["isError"]
    assert "invalid_params" in result["content"]


async def test_an_unknown_tool_is_an_error_that_names_the_closest(driver: Driver, fake: FakeProvider) -> None:
    fake.script(Reply((ToolCall("file_reed", {"path": "x"}, id="c1"),)), Reply((Text("Sorry."),)))
    watch = await driver.run("Read")

    result = watch.of("message.tool_result")[0]["payload"]
    assert result["isError"]
    assert "tool_not_found" in result["content"] and "file.read" in result["content"]


async def test_a_file_is_edited_for_real(driver: Driver, fake: FakeProvider, project_root: Path) -> None:
    fake.script(
        Reply((ToolCall("file_read", {"path": "README.md"}, id="c1"),)),
        Reply(
            (
                ToolCall(
                    "edit_text",
                    {"path": "README.md", "old_string": "sells", "new_string": "buys"},
                    id="c2",
                ),
            )
        ),
        Reply((Text("Done."),)),
    )
    watch = await driver.run("Edit")

    assert (project_root / "README.md").read_text() == "# Shop\n\nIt buys things.\n"
    assert [f["payload"]["isError"] for f in watch.of("message.tool_result")] == [False, False]
    events = {row["event"] for row in (await driver.call("GET", "/audit?limit=100"))["items"]}
    assert {"tool.called", "tool.completed", "file.edited", "agent.pre_generation_step"} <= events


async def test_usage_of_all_steps_is_added_up(driver: Driver, fake: FakeProvider) -> None:
    first = Usage(input_tokens=100, output_tokens=20, cache_read_tokens=30, reasoning_tokens=5)
    second = Usage(input_tokens=50, output_tokens=7)
    fake.script(
        Reply((ToolCall("file_read", {"path": "README.md"}),), usage=first),
        Reply((Text("Done."),), usage=second),
    )
    watch = await driver.run("Go")

    usage = watch.of("run.ended")[0]["payload"]["usage"]
    assert usage["input_tokens"] == 150
    assert usage["output_tokens"] == 27
    assert usage["cache_read_tokens"] == 30
    detail = await driver.session_call("GET")
    assert detail["tokens"]["input"] == 150


async def test_what_is_too_long_for_a_frame_is_named_by_an_address_that_answers(
    driver: Driver, fake: FakeProvider, project_root: Path
) -> None:
    long = "all work and no play " * 8_000
    fake.script(
        Reply((ToolCall("file_create", {"path": "long.txt", "content": long}, id="c1"),)),
        Reply((Text("Done."),)),
    )
    watch = await driver.run(long)

    assert (project_root / "long.txt").read_text() == long
    posted = watch.of("message.posted")[0]["payload"]
    assert len(posted["content"]) == 64 * 1024
    whole = await driver.call("GET", posted["content_ref"].removeprefix("/api/v1"))
    assert whole["content"] == long
    call = watch.of("message.tool_call")[0]["payload"]
    assert call["arguments"] is None
    asked = await driver.call("GET", call["argumentsRef"].removeprefix("/api/v1"))
    assert asked["details"]["contentBlocks"][0]["arguments"]["content"] == long
    assert all(len(orjson.dumps(frame)) < 70_000 for frame in watch.frames)
