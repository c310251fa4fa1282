"""`task`: the same machinery by the portable name, and tasks that nobody waits for."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.harness.delegation.delegations import Delegations
from tests.driver.family import Cast, agent, calling, enabled
from tests.driver.sessions import check_stream, restarted
from tests.fakes.provider_script import Hold, Reply, Stall, Text, text_reply
from tests.harness.delegation.conftest import Drive

FAMILY = agent("primary", tools=enabled("task"), subagents={"coder": agent("coder")})
CODER = "primary.subagents.coder"


def task(**more: Any) -> Reply:
    return calling(("task", {"agent": "coder", "prompt": "Write it.", **more}))


@pytest.mark.requirement("delegation.task", "locked.task")
async def test_a_task_is_a_delegation(drive: Drive, cast: Cast) -> None:
    cast.script("primary", task(), text_reply("Thanks."))
    cast.script("coder", text_reply("Written."))
    async with drive(FAMILY) as driver:
        await driver.run("Go")
        run = await driver.call("GET", f"/runs/{(await driver.last_run())['id']}")

    assert cast.messages("coder")[-1]["content"] == "Write it."
    assert cast.messages("primary")[-1]["content"].endswith("Written.")
    assert [(child["agent_path"], child["call_id"]) for child in run["children"]] == [(CODER, "call_1")]


@pytest.mark.requirement("delegation.task")
async def test_a_task_for_nobody_names_the_subagents(drive: Drive, cast: Cast) -> None:
    cast.script("primary", calling(("task", {"agent": "writer", "prompt": "x"})), text_reply("Oh."))
    async with drive(FAMILY) as driver:
        await driver.run("Go")
    assert "Subagents: coder." in cast.messages("primary")[-1]["content"]


@pytest.mark.requirement("delegation.background")
async def test_a_background_task_is_reported_at_the_next_boundary(drive: Drive, cast: Cast) -> None:
    hold, thinking = Hold(), Hold()
    cast.script("primary", task(background=True), Reply((thinking, Text("Meanwhile."))), text_reply("I see."))
    cast.script("coder", Reply((hold, Text("Written."))))
    async with drive(FAMILY) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until(lambda f: f["type"] == "message.tool_result")
        detail = await driver.session_call("GET")
        hold.gate.set()
        await watch.until(lambda f: f["type"] == "run.ended" and f.get("agent_path") == CODER)
        await driver.rename("The end of the task is known to the agent")
        thinking.gate.set()
        await watch.until_state("idle")
        runs = (await driver.session_call("GET", "/runs"))["items"]

    assert len(detail["background_runs"]) == 1
    assert '"state":"running"' in cast.messages("primary", 1)[-1]["content"]
    assert cast.messages("primary", 2)[-1]["content"].endswith("is done.\nWritten.")
    assert len(runs) == 1
    check_stream(watch.frames)


@pytest.mark.requirement("delegation.background")
async def test_a_background_task_goes_on_after_its_starter_and_wakes_it(drive: Drive, cast: Cast) -> None:
    hold = Hold()
    cast.script("primary", task(background=True), text_reply("Later."), text_reply("I see."))
    cast.script("coder", Reply((hold, Text("Written."))))
    async with drive(FAMILY) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until_state("idle")
        busy = await driver.session_call("POST", "/archive", status=409)
        hold.gate.set()
        at = len(watch.frames)
        await watch.until_state("running", start=at - 1)
        await watch.until_state("idle", start=at)
        runs = (await driver.session_call("GET", "/runs?all=true"))["items"]
        messages = (await driver.session_call("GET", "/messages?agent_path=primary"))["items"]

    assert busy["error"]["details"]["state"] == "idle"
    assert [run["state"] for run in runs] == ["succeeded"] * 3
    told = next(m for m in messages if m["details"].get("kind") == "task_result")
    assert (told["role"], told["details"]["runId"]) == (
        "system",
        next(r["id"] for r in runs if r["background"]),
    )
    assert cast.messages("primary", 2)[-1]["content"] == told["content"]


@pytest.mark.requirement("delegation.background", "delegation.cancel")
async def test_a_cancel_ends_a_background_task_of_an_idle_session(drive: Drive, cast: Cast) -> None:
    cast.script("primary", task(background=True), text_reply("Later."), text_reply("Oh."))
    cast.script("coder", Reply((Text("Wr"), Stall())))
    async with drive(FAMILY) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until_state("idle")
        await watch.until(lambda f: "Wr" in watch.text())
        await driver.session_call("POST", "/cancel")
        runs = (await driver.session_call("GET", "/runs?all=true"))["items"]
        state = await driver.state()
        await driver.session_call("POST", "/cancel", status=409)
        await watch.until_as_far_as(await driver.run("And?"))

    assert state == "idle" and [run["state"] for run in runs if run["background"]] == ["cancelled"]
    sent = [m["content"] for m in cast.messages("primary") if m["role"] == "user"]
    assert "agent_stopped" in sent[-2] and sent[-1] == "And?"
    check_stream(watch.frames)


@pytest.mark.requirement("delegation.background")
async def test_a_background_task_that_a_restart_cut_off_is_reported(
    drive: Drive, cast: Cast, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    cast.script("primary", task(background=True), text_reply("Later."), text_reply("I see."))
    cast.script("coder", Reply((Text("Wr"), Stall())))
    async with drive(FAMILY) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until_state("idle")
        await watch.until(lambda f: "Wr" in watch.text())
        session_id = driver.session_id
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        driver.session_id = session_id
        async with driver.watching() as watch:
            await cast.until(lambda: len(cast.requests["primary"]) == 3)
            await watch.until_state("idle")
        runs = (await driver.session_call("GET", "/runs?all=true"))["items"]

    assert [run["state"] for run in runs if run["background"]] == ["interrupted"]
    assert "was not done" in cast.messages("primary", 2)[-1]["content"]


def nested(*, background_lead: bool = False) -> dict[str, Any]:
    lead = agent("lead", tools=enabled("task"), subagents={"coder": agent("coder")})
    more = {"tools": enabled("task")} if background_lead else {}
    return agent("primary", subagents={"lead": lead}, **more)


@pytest.mark.requirement("delegation.background")
async def test_a_child_gets_the_result_of_its_own_background_task(drive: Drive, cast: Cast) -> None:
    hold, thinking = Hold(), Hold()
    cast.script("primary", calling(("agent-lead", {"task": "lead"})), text_reply("Done."))
    cast.script("lead", task(background=True), Reply((thinking, Text("Hm."))), text_reply("I see."))
    cast.script("coder", Reply((hold, Text("Written."))))
    async with drive(nested()) as driver, driver.watching() as watch:
        await driver.post("Go")
        await cast.until(lambda: len(cast.requests["lead"]) == 2)
        hold.gate.set()
        await watch.until(lambda f: f["type"] == "run.ended" and "coder" in f["agent_path"])
        await driver.rename("The end of the task is known to the lead")
        thinking.gate.set()
        await watch.until_state("idle")
        told = (await driver.session_call("GET", "/messages?agent_path=primary.subagents.lead"))["items"]

    assert cast.messages("lead", 2)[-1]["content"].endswith("is done.\nWritten.")
    assert [m["details"]["kind"] for m in told if m["role"] == "system"][-1] == "task_result"
    assert cast.messages("primary")[-1]["content"].endswith("I see.")
    check_stream(watch.frames)


@pytest.mark.requirement("delegation.background")
async def test_the_root_gets_the_result_when_the_one_who_gave_the_task_has_ended(
    drive: Drive, cast: Cast
) -> None:
    hold = Hold()
    cast.script("primary", calling(("agent-lead", {"task": "lead"})), text_reply("Done."), text_reply("Ah."))
    cast.script("lead", task(background=True), text_reply("I go."))
    cast.script("coder", Reply((hold, Text("Written."))))
    async with drive(nested()) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until_state("idle")
        seen = len(watch.frames)
        hold.gate.set()
        await watch.until_state("running", start=seen)
        await watch.until_state("idle", start=seen)

    last = cast.messages("primary", 2)[-1]["content"]
    assert "primary.subagents.lead gave to primary.subagents.lead.subagents.coder" in last
    check_stream(watch.frames)


@pytest.mark.requirement("delegation.background")
async def test_what_comes_too_late_for_a_child_goes_to_the_root(
    drive: Drive, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold, thinking = Hold(), Hold()
    monkeypatch.setattr("app.harness.delegation.delegations.ChildRun.drain_late", lambda _: [])
    cast.script("primary", calling(("agent-lead", {"task": "lead"})), text_reply("Done."), text_reply("Ah."))
    cast.script("lead", task(background=True), Reply((thinking, Text("Hm."))))
    cast.script("coder", Reply((hold, Text("Written."))))
    async with drive(nested()) as driver, driver.watching() as watch:
        await driver.post("Go")
        await cast.until(lambda: len(cast.requests["lead"]) == 2)
        hold.gate.set()
        await watch.until(lambda f: f["type"] == "run.ended" and "coder" in f["agent_path"])
        await driver.rename("The end of the task is known to the lead")
        thinking.gate.set()
        await cast.until(lambda: len(cast.requests["primary"]) >= 2)
        await watch.until_state("idle")
        everything = str([message["content"] for message in await driver.messages()])
        waiting = (await driver.session_call("GET"))["queued_messages"]

    sent = [
        m["content"] for n in (1, 2) if n < len(cast.requests["primary"]) for m in cast.messages("primary", n)
    ]
    assert everything.count("is done.\\nWritten.") == 1 and waiting == 0
    assert any("is done.\nWritten." in str(one) for one in sent)


@pytest.mark.requirement("delegation.background")
async def test_what_is_stored_while_its_reader_ends_goes_to_the_root(
    drive: Drive, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold, thinking, over = Hold(), Hold(), asyncio.Event()
    propose = Delegations.propose

    async def while_the_lead_ends(self: Delegations, delegation: Any, *more: Any) -> None:
        """The end of the task is stored, and not yet given to the lead."""
        if delegation.background:
            thinking.gate.set()
            await over.wait()
        await propose(self, delegation, *more)

    monkeypatch.setattr(Delegations, "propose", while_the_lead_ends)
    cast.script("primary", calling(("agent-lead", {"task": "lead"})), text_reply("Done."), text_reply("Ah."))
    cast.script("lead", task(background=True), Reply((thinking, Text("Hm."))))
    cast.script("coder", Reply((hold, Text("Written."))))
    async with drive(nested()) as driver, driver.watching() as watch:
        await driver.post("Go")
        await cast.until(lambda: len(cast.requests["lead"]) == 2)
        hold.gate.set()
        await watch.until(lambda f: f["type"] == "run.ended" and f.get("agent_path", "").endswith(".lead"))
        over.set()
        await cast.until(lambda: any("Written." in str(one.json) for one in cast.requests["primary"]))
        await driver.rename("The root has read it")  # in the run that began it all, or in one for this alone
        await watch.until(lambda f: f["payload"].get("title") == "The root has read it")
        await watch.until(lambda _: watch.of("session.state")[-1]["payload"]["state"] == "idle")
        waiting = (await driver.session_call("GET"))["queued_messages"]

    assert waiting == 0
    check_stream(watch.frames)


@pytest.mark.requirement("delegation.background", "delegation.cancel")
@pytest.mark.parametrize("how", ["cancel", "rollback"])
async def test_what_a_stopped_agent_had_not_read_starts_no_run(drive: Drive, cast: Cast, how: str) -> None:
    """The operator has stopped everything: the root agent is told with the next message."""
    hold = Hold()
    cast.script("primary", calling(("task", {"agent": "lead", "prompt": "Go.", "background": True})))
    cast.script("lead", task(background=True), Reply((Text("Thinking"), Stall())))
    cast.script("coder", Reply((hold, Text("coder is done."))))
    async with drive(nested(background_lead=True)) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until_state("idle")
        await watch.until(lambda _: "Thinking" in watch.text())
        hold.gate.set()
        await watch.until(
            lambda f: f["type"] == "run.ended" and f.get("agent_path", "").endswith("subagents.coder")
        )
        first = (await driver.session_call("GET", "/messages?agent_path=primary"))["items"][0]["id"]
        asked = len(cast.requests["primary"])
        if how == "cancel":
            await driver.session_call("POST", "/cancel")
        else:
            await driver.session_call("POST", "/rollback", {"message_id": first}, status=201)
        await driver.rename("Everything that was set going before has had its turn")
        assert (await driver.state(), len(cast.requests["primary"])) == ("idle", asked)
        await driver.run("And?")
    told = "".join(str(m["content"]) for m in cast.messages("primary"))
    assert "coder is done." in told and "primary.subagents.lead" in told
