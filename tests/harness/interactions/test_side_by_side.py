"""Several calls in one step, of which some wait for a person; answers while others are still at work."""

from __future__ import annotations

import pytest

from tests.driver.sessions import Driver, check_stream
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.interactions.asking import answer, ask, question, read_by_model, until_asked
from tests.harness.laboratory import Laboratory

pytestmark = pytest.mark.requirement("interactions.pause")

SQLITE = {"database": ["SQLite"]}
READ = ToolCall("file_read", {"path": "README.md"}, "r")


def wait(name: str, call_id: str) -> ToolCall:
    return ToolCall("lab_wait", {"name": name}, call_id)


async def test_two_questions_of_one_step_wait_both_and_the_last_answer_goes_on(
    asked: Driver, fake: FakeProvider
) -> None:
    fake.script(
        Reply(
            (
                ask(),
                ToolCall("file_read", {"path": "README.md"}, "r"),
                question({"question": "Why?"}, call_id="q"),
            )
        ),
        text_reply("Good."),
    )
    async with asked.watching() as watch:
        await asked.post("Ask")
        asked_for = {one["kind"]: one for one in await until_asked(watch, 2)}
        await watch.until_state("paused")
        assert (await asked.session_call("GET"))["pending_interactions"] == 2
        await answer(asked, asked_for["question"], answers=[["Because."]])
        assert await asked.state() == "paused"
        assert len(fake.requests) == 1
        await answer(asked, asked_for["ask"], answers=SQLITE)
        await watch.until_state("idle")
    check_stream(watch.frames)
    results = read_by_model(fake)
    assert ["SQLite" in results[0], "Shop" in results[1], "Because" in results[2]] == [True, True, True]
    positions = [row["position"] for row in await asked.messages()]
    assert positions == sorted(set(positions))


async def test_other_calls_of_the_step_finish_before_the_session_pauses(
    asked: Driver, fake: FakeProvider, lab: Laboratory
) -> None:
    fake.script(Reply((ask(), wait("slow", "w"))), text_reply("Good."))
    async with asked.watching() as watch:
        await asked.post("Ask")
        (asked_for,) = await until_asked(watch)
        await lab.until_started("slow")
        assert await asked.state() == "running"
        lab.release("slow")
        await watch.until_state("paused")
        assert lab.ended == ["slow"]
        await answer(asked, asked_for, answers=SQLITE)
        await watch.until_state("idle")
    check_stream(watch.frames)
    assert '{"name":"slow"}' in read_by_model(fake)[1]


async def test_an_answer_while_another_call_is_at_work_lets_the_run_go_on_without_a_pause(
    asked: Driver, fake: FakeProvider, lab: Laboratory
) -> None:
    fake.script(Reply((ask(), wait("slow", "w"))), text_reply("Good."))
    async with asked.watching() as watch:
        await asked.post("Ask")
        (asked_for,) = await until_asked(watch)
        await lab.until_started("slow")
        await answer(asked, asked_for, answers=SQLITE)
        lab.release("slow")
        await watch.until_state("idle")
        runs = (await asked.session_call("GET", "/runs"))["items"]
    check_stream(watch.frames)
    assert [run["state"] for run in runs] == ["succeeded"]
    assert [frame["payload"]["state"] for frame in watch.of("session.state")] == ["running", "idle"]
    assert "SQLite" in read_by_model(fake)[0]
    assert (await asked.session_call("GET", "/checkpoints"))["items"] == []


async def test_a_session_that_an_operator_paused_is_not_resumed_by_an_answer(
    asked: Driver, fake: FakeProvider, lab: Laboratory
) -> None:
    fake.script(Reply((ask(), wait("slow", "w"))), text_reply("Good."))
    async with asked.watching() as watch:
        await asked.post("Ask")
        (asked_for,) = await until_asked(watch)
        await lab.until_started("slow")
        # The call at work goes on until its grace is over: the step cannot end before the operator's word.
        await asked.session_call("POST", "/pause")
        await watch.until_state("paused")
        assert (await asked.session_call("GET"))["state_reason"] == "operator"
        await answer(asked, asked_for, answers=SQLITE)
        assert (await asked.state(), len(fake.requests)) == ("paused", 1)
        await asked.session_call("POST", "/resume", status=201)
        await watch.until_state("idle")
    check_stream(watch.frames)
    assert "SQLite" in read_by_model(fake)[0]


async def test_a_checkpoint_that_the_model_asked_for_beside_a_question_waits_for_the_operator(
    asked: Driver, fake: FakeProvider
) -> None:
    checkpoint = ToolCall("kaged_checkpoint", {"reason": "look at the plan"}, "c")
    fake.script(Reply((ask(), checkpoint)), text_reply("Good."))
    async with asked.watching() as watch:
        await asked.post("Ask")
        (asked_for,) = await until_asked(watch)
        await watch.until_state("paused")
        (made,) = (await asked.session_call("GET", "/checkpoints"))["items"]
        assert (made["reason"], made["detail"]) == ("model", "look at the plan")
        await answer(asked, asked_for, answers=SQLITE)
        assert (await asked.state(), len(fake.requests)) == ("paused", 1)
        await asked.session_call("POST", "/resume", status=201)
        await watch.until_state("idle")
    check_stream(watch.frames)
    assert "SQLite" in read_by_model(fake)[0]


async def test_a_cancel_while_another_call_is_at_work_closes_the_question(
    asked: Driver, fake: FakeProvider, lab: Laboratory
) -> None:
    fake.script(Reply((ask(), wait("slow", "w"))), text_reply("Good."))
    async with asked.watching() as watch:
        await asked.post("Ask")
        (asked_for,) = await until_asked(watch)
        await lab.until_started("slow")
        await asked.session_call("POST", "/cancel")
        await watch.until_state("idle")
        late = await answer(asked, asked_for, status=409, answers=SQLITE)
        await watch.until_as_far_as(await asked.run("Go on"))
    check_stream(watch.frames)
    assert late["error"]["details"]["reason"] == "not_waiting"
    (told,) = watch.of("interaction.answered")
    assert told["payload"]["state"] == "cancelled"
    assert "before this was answered" in read_by_model(fake)[0]
