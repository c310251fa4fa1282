"""People asked by subagents, and by a root agent whose subagents are at work."""

from __future__ import annotations

from typing import Any

import pytest

from tests.driver.family import Cast, agent, calling, enabled
from tests.driver.sessions import check_stream
from tests.fakes.provider_script import Hold, Reply, Text, text_reply
from tests.harness.delegation.conftest import Drive
from tests.harness.interactions.asking import DATABASE, answer, until_asked


@pytest.mark.requirement("interactions.question")
async def test_a_subagents_question_waits_as_its_parent_waits_for_it(drive: Drive, cast: Cast) -> None:
    family = agent("primary", subagents={"coder": agent("coder", tools=enabled("question"))})
    cast.script("primary", calling(("agent-coder", {"task": "Write."})), text_reply("Thanks."))
    cast.script("coder", calling(("question", {"questions": [{"question": "Why?"}]})), text_reply("I see."))
    async with drive(family) as driver, driver.watching() as watch:
        await driver.post("Go")
        (asked_for,) = await until_asked(watch)
        (frame,) = watch.of("interaction.requested")
        await watch.until_state("paused")
        waiting = await driver.session_call("GET")
        wrong = await answer(driver, asked_for, status=400, answers=[[]])
        closed = await answer(driver, asked_for, answers=[["Because."]])
        late = await answer(driver, asked_for, status=409, answers=[["No."]])
        await watch.until_state("idle")
    check_stream(watch.frames)
    assert frame["agent_path"] == "primary.subagents.coder"
    assert (waiting["state"], waiting["pending_interactions"]) == ("paused", 1)
    assert set(wrong["error"]["details"]["fields"]) == {"answers.0"}
    assert closed["state"] == "answered"
    assert late["error"]["details"]["reason"] == "already_answered"
    assert cast.messages("coder")[-1]["content"] == '{"answers":[["Because."]]}'


@pytest.mark.requirement("interactions.question", "interactions.ended")
async def test_a_subagents_question_ends_with_its_run(drive: Drive, cast: Cast) -> None:
    family = agent("primary", subagents={"coder": agent("coder", tools=enabled("question"))})
    cast.script("primary", calling(("agent-coder", {"task": "Write."})), text_reply("Thanks."))
    cast.script("coder", calling(("question", {"questions": [{"question": "Why?"}]})))
    async with drive(family) as driver, driver.watching() as watch:
        await driver.post("Go")
        (asked_for,) = await until_asked(watch)
        await driver.session_call("POST", "/cancel")
        await watch.until_state("idle")
        closed: Any = await driver.session_call("GET", f"/interactions/{asked_for['interaction_id']}")
        await answer(driver, asked_for, status=409, answers=[["Because."]])
    check_stream(watch.frames)
    assert closed["state"] == "cancelled"


@pytest.mark.requirement("durability.waiting_session")
async def test_a_pause_that_would_end_a_subagents_question_is_refused_and_the_question_stays(
    drive: Drive, cast: Cast
) -> None:
    family = agent("primary", subagents={"coder": agent("coder", tools=enabled("question"))})
    cast.script("primary", calling(("agent-coder", {"task": "Write."})), text_reply("Thanks."))
    cast.script("coder", calling(("question", {"questions": [{"question": "Why?"}]})), text_reply("I see."))
    async with drive(family) as driver, driver.watching() as watch:
        await driver.post("Go")
        (asked_for,) = await until_asked(watch)
        await watch.until_state("paused")
        refused = await driver.session_call("POST", "/pause", status=409)
        details = refused["error"]["details"]
        assert (details["reason"], details["interaction_ids"]) == (
            "subagent_asks",
            [asked_for["interaction_id"]],
        )
        assert (await answer(driver, asked_for, answers=[["Because."]]))["state"] == "answered"
        await watch.until_state("idle")
    check_stream(watch.frames)


@pytest.mark.requirement("durability.waiting_session")
async def test_a_session_in_which_only_a_task_in_the_background_asks_is_among_those_that_ask(
    drive: Drive, cast: Cast
) -> None:
    family = agent(
        "primary", tools=enabled("task"), subagents={"coder": agent("coder", tools=enabled("question"))}
    )
    task = {"agent": "coder", "prompt": "Write it.", "background": True}
    cast.script("primary", calling(("task", task)), text_reply("Started."), text_reply("Good."))
    cast.script("coder", calling(("question", {"questions": [{"question": "Why?"}]})), text_reply("I see."))
    async with drive(family) as driver, driver.watching() as watch:
        await driver.post("Go")
        (asked_for,) = await until_asked(watch)
        await watch.until_state("idle")
        (listed,) = (await driver.call("GET", "/sessions?asks=true"))["items"]
        assert (listed["id"], listed["state"], listed["pending_interactions"]) == (
            driver.session_id,
            "idle",
            1,
        )
        await answer(driver, asked_for, answers=[["Because."]])
        assert (await driver.call("GET", "/sessions?asks=true"))["items"] == []


@pytest.mark.requirement("interactions.pause")
async def test_tasks_in_the_background_go_on_while_the_root_agent_waits(drive: Drive, cast: Cast) -> None:
    hold = Hold()
    family = agent("primary", tools=enabled("task"), subagents={"coder": agent("coder")})
    started = {"agent": "coder", "prompt": "Write it.", "background": True}
    cast.script(
        "primary",
        calling(("task", started), ("kaged_ask", {"summary": "Before.", "questions": [DATABASE]})),
        text_reply("Both."),
        text_reply("Good."),
    )
    cast.script("coder", Reply((hold, Text("Written."))))
    async with drive(family) as driver, driver.watching() as watch:
        await driver.post("Go")
        (asked_for,) = await until_asked(watch)
        await watch.until_state("paused")
        assert len((await driver.session_call("GET"))["background_runs"]) == 1
        hold.gate.set()
        coder = "primary.subagents.coder"
        ended = await watch.until(lambda f: f["type"] == "run.ended" and f.get("agent_path") == coder)
        assert ended["payload"]["state"] == "succeeded"
        assert await driver.state() == "paused"
        await answer(driver, asked_for, answers={"database": ["SQLite"]})
        await watch.until_state("idle")
    check_stream(watch.frames)
    assert any("is done" in str(message["content"]) for message in cast.messages("primary"))
