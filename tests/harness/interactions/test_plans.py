"""`kaged.plan`: a plan is proposed in plan mode, and accepted, edited or rejected once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.errors import Conflict
from app.harness.questions.plans import PLAN_MOVES, PlanEvent, PlanState, move_plan
from tests.driver.sessions import Driver, check_stream, driven, write_project
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.interactions.asking import answer, read_by_model, until_asked

pytestmark = pytest.mark.requirement("modes.decision")

PLAN = "# Plan\n\n1. Write `note.txt`.\n"
WRITE = ToolCall("file_write", {"path": "note.txt", "content": "x\n"}, "w")


def propose(plan: str = PLAN, call_id: str = "p") -> ToolCall:
    return ToolCall("kaged_plan", {"plan": plan}, call_id)


@pytest.fixture
async def planning(tmp_path: Path, settings_overrides: dict[str, Any]) -> AsyncIterator[Driver]:
    root = write_project(tmp_path / "planned")
    async with driven(tmp_path / "data", root, session={"mode": "plan"}, **settings_overrides) as driver:
        yield driver


@pytest.mark.parametrize("state", PlanState)
@pytest.mark.parametrize("event", PlanEvent)
def test_every_decision_in_every_state_moves_by_the_table_or_is_a_conflict(
    state: PlanState, event: PlanEvent
) -> None:
    if (state, event) in PLAN_MOVES:
        assert state is PlanState.PROPOSED and move_plan(state, event) is PLAN_MOVES[state, event]
        return
    with pytest.raises(Conflict):
        move_plan(state, event)


@pytest.mark.parametrize(
    ("decision", "state", "changed"),
    [
        ({"decision": "accept", "mode": "edits"}, "accepted", None),
        ({"decision": "edit", "mode": "full", "plan": "# Less"}, "edited", "# Less"),
        ({"decision": "accept", "mode": "ask", "comment": "Quickly."}, "accepted", None),
    ],
)
async def test_an_accepted_plan_is_carried_out_in_the_mode_that_was_chosen(
    decision: dict[str, Any],
    state: str,
    changed: str | None,
    planning: Driver,
    fake: FakeProvider,
    tmp_path: Path,
) -> None:
    fake.script(Reply((propose(),)), Reply((WRITE,)), text_reply("Done."))
    async with planning.watching() as watch:
        await planning.post("Plan a note")
        (asked,) = await until_asked(watch)
        await watch.until_state("paused")
        closed = await answer(planning, asked, **decision)
        await watch.until_state("idle")
        detail = await planning.session_call("GET")
    check_stream(watch.frames)
    assert (asked["kind"], asked["request"]) == ("plan", {"plan": PLAN})
    assert closed["answer"]["state"] == state
    assert detail["mode"] == decision["mode"]
    assert [frame["payload"]["mode"] for frame in watch.of("session.updated")][-1] == decision["mode"]
    told = orjson.loads(read_by_model(fake, 1)[0])
    assert (told["state"], told["mode"], told.get("plan")) == (state, decision["mode"], changed)
    assert told.get("comment") == decision.get("comment")
    assert (tmp_path / "planned" / "note.txt").read_text() == "x\n"
    audit = await planning.call("GET", f"/audit?session_id={planning.session_id}&event=session.mode_changed")
    assert [row["data"] for row in audit["items"]] == [{"mode": decision["mode"], "previous": "plan"}]
    again = await answer(planning, asked, status=409, decision="reject")
    assert again["error"]["details"]["reason"] == "already_answered"


async def test_a_rejected_plan_goes_back_to_the_model_with_the_comment_and_the_mode_stays(
    planning: Driver, fake: FakeProvider, tmp_path: Path
) -> None:
    fake.script(Reply((propose(),)), Reply((WRITE,)), text_reply("I think again."))
    async with planning.watching() as watch:
        await planning.post("Plan a note")
        (asked,) = await until_asked(watch)
        await answer(planning, asked, decision="reject", comment="Too much.")
        await watch.until_state("idle")
    told = orjson.loads(read_by_model(fake, 1)[0])
    assert (told["state"], told["comment"], told.get("mode")) == ("rejected", "Too much.", None)
    assert (await planning.session_call("GET"))["mode"] == "plan"
    assert not (tmp_path / "planned" / "note.txt").exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"decision": "accept"}, "mode"),
        ({"decision": "accept", "mode": "plan"}, "mode"),
        ({"decision": "accept", "mode": "all"}, "mode"),
        ({"decision": "accept", "mode": "edits", "plan": "x"}, "plan"),
        ({"decision": "edit", "mode": "edits"}, "plan"),
        ({"decision": "edit", "mode": "edits", "plan": "  \n"}, "plan"),
        ({"decision": "edit", "mode": "edits", "plan": "x" * 50_001}, "plan"),
        ({"decision": "reject", "mode": "full"}, "mode"),
        ({"decision": "later"}, "decision"),
        ({"decision": "accept", "mode": "edits", "answer": "once"}, "decision"),
        ({"answer": "once"}, "decision"),
        ({"answers": {"plan": ["accept"]}}, "decision"),
        ({"mode": "edits"}, "mode"),
        ({}, "answer"),
    ],
)
async def test_a_decision_that_is_not_complete_is_refused_by_field_and_the_plan_stays_open(
    body: dict[str, Any], field: str, planning: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((propose(),)), text_reply("Well."))
    async with planning.watching() as watch:
        await planning.post("Plan a note")
        (asked,) = await until_asked(watch)
        await watch.until_state("paused")
        refused = await answer(planning, asked, status=400, **body)
        assert field in refused["error"]["details"]["fields"], refused
        detail = await planning.session_call("GET")
    assert (detail["mode"], detail["pending_interactions"]) == ("plan", 1)


async def test_outside_of_plan_mode_and_without_a_person_no_plan_is_proposed(
    planning: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((propose(),)), text_reply("Well."))
    await planning.session_call("PATCH", "", {"mode": "ask"})
    await planning.run("Plan")
    assert "not_in_plan_mode" in read_by_model(fake)[0]
    fake.script(Reply((propose(),)), text_reply(PLAN))
    await planning.new_session(mode="plan", headless=True)
    await planning.run("Plan")
    assert "nobody_to_ask" in read_by_model(fake)[0]


async def test_a_plan_that_nobody_decides_about_is_closed_by_resume(
    planning: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((propose(),)), text_reply("I go on planning."))
    async with planning.watching() as watch:
        await planning.post("Plan a note")
        (asked,) = await until_asked(watch)
        await watch.until_state("paused")
        await planning.session_call("POST", "/resume")
        await watch.until_state("idle")
    (closed,) = (await planning.session_call("GET", "/interactions"))["items"]
    assert (closed["state"], closed["answer"]) == ("cancelled", None)
    late = await answer(planning, asked, status=409, decision="accept", mode="full")
    assert late["error"]["details"]["reason"] == "not_waiting"
    assert (await planning.session_call("GET"))["mode"] == "plan"
