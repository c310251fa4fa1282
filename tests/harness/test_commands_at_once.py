"""Commands that come at a bad moment, or do not fit: they cost no work, and leave no session behind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.harness.delegation import delegations
from app.harness.loop.active_run import ActiveRun
from app.harness.sessions import live_sessions, session_runs
from app.harness.transfer import transfer
from tests.driver.family import Cast, agent, calling, enabled, write_family
from tests.driver.sessions import Driver, Watch, driven
from tests.fakes.provider_script import Hold, Reply, Stall, Text, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.hooks.plugged import until

FAMILY = agent("primary", tools=enabled("task"), subagents={"coder": agent("coder")})
BACKGROUND = calling(("task", {"agent": "coder", "prompt": "Write it.", "background": True}))


@pytest.fixture
def cast(fake: FakeProvider) -> Cast:
    cast = Cast()
    fake.respond = cast.respond
    return cast


@pytest.fixture
async def family(tmp_path: Path, settings_overrides: dict[str, Any]) -> Any:
    root = write_family(tmp_path / "family", FAMILY)
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        yield driver


async def a_task_at_work(driver: Driver, watch: Watch, cast: Cast, *then: Any) -> None:
    """Have a task in the background at work in an idle session."""
    cast.script("primary", BACKGROUND, text_reply("Later."))
    cast.script("coder", Reply((Text("Wr"), *(then or (Stall(),)))))
    await driver.post("Go")
    await watch.until_state("idle")
    await watch.until(lambda _: "Wr" in watch.text())


def runs_of(driver: Driver) -> session_runs.SessionRuns:
    found = driver.daemon.services.sessions._live.find(driver.session_id)
    assert found is not None
    return found.runs


async def at_work(driver: Driver) -> int:
    return len((await driver.session_call("GET"))["background_runs"])


@pytest.mark.requirement("delegation.background", "checkpoint.rollback")
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"message_id": "msg_none"}, 404),
        ({"checkpoint_id": "ckp_none"}, 404),
        ({"files": True, "plan": "an older one"}, 409),
    ],
)
async def test_a_rollback_that_is_refused_stops_no_task_in_the_background(
    family: Driver, cast: Cast, body: dict[str, Any], status: int
) -> None:
    async with family.watching() as watch:
        await a_task_at_work(family, watch, cast)
        if "files" in body:
            body = {**body, "message_id": (await family.messages())[0]["id"]}
        await family.session_call("POST", "/rollback", body, status=status)
        assert await at_work(family) == 1
        first = (await family.messages())[0]["id"]
        await family.session_call("POST", "/rollback", {"message_id": first}, status=201)
        assert await at_work(family) == 0


@pytest.mark.requirement("command_line.session")
async def test_a_session_with_a_task_in_the_background_is_not_exported(family: Driver, cast: Cast) -> None:
    """Its file could not be imported: what a run is doing cannot be carried over."""
    held = Hold()
    async with family.watching() as watch:
        await a_task_at_work(family, watch, cast, held)
        refused = await family.session_call("GET", "/export", status=409)
        assert refused["error"]["details"]["reason"] == "run_in_progress"
        at = len(watch.frames)
        held.gate.set()
        await watch.until_state("running", start=at)
        await watch.until_state("idle", start=at)
    exported = await family.client.get(f"/api/v1/sessions/{family.session_id}/export")
    await family.session_call("DELETE")
    assert exported.status_code == 200
    taken = await family.client.post("/api/v1/sessions/import", content=exported.content)
    assert taken.status_code == 201, taken.text


@pytest.mark.requirement("command_line.session")
async def test_an_export_that_a_new_run_overtakes_breaks_off(
    family: Driver, cast: Cast, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its parts are of two states of the session; what has come of it is seen to be no whole file."""
    cast.script("primary", text_reply("One."), Reply((Text("Tw"), Stall())))
    await family.run("First")
    whole = transfer.export_session

    async def overtaken(*arguments: Any) -> Any:
        async for line in whole(*arguments):
            yield line
            if b'"kind":"run"' in line:
                await family.post("Second")

    monkeypatch.setattr(transfer, "export_session", overtaken)
    with pytest.raises(httpx2.RemoteProtocolError):
        await family.client.get(f"/api/v1/sessions/{family.session_id}/export")
    assert "has changed while it was exported" in caplog.text
    assert "unhandled error" not in caplog.text


@pytest.mark.requirement("http.queue")
async def test_a_session_that_is_let_go_of_while_a_command_holds_it_stays_one(
    family: Driver, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two objects of a session would each begin a run, and each know nothing of the other's."""
    monkeypatch.setattr(live_sessions, "MAX_LIVE_SESSIONS", 1)
    live, first = family.daemon.services.sessions._live, family.session_id
    await family.rename("First")
    held = live.find(first)
    assert held is not None
    await family.new_session()
    await family.rename("Second")
    assert live.find(first) is None
    family.session_id = first
    cast.script("primary", Reply((Text("Wor"), Stall())))
    async with family.watching() as watch:
        await held.post("Go", attachments=(), model=None, mode="queue", actor="operator")
        await watch.until(lambda _: "Wor" in watch.text())
        assert (await family.post("Also"))["queued"] is True
        await family.session_call("POST", "/cancel", status=200)
        await watch.until_state("idle")


@pytest.mark.requirement("http.queue")
async def test_a_queued_message_whose_run_breaks_down_leaves_an_idle_session(
    family: Driver, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stayed `running` without a run: nothing could be posted, cancelled or archived before a restart."""
    held = Hold()
    cast.script("primary", Reply((Text("One"), held)), text_reply("Two"))

    async def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("a defect")

    async with family.watching() as watch:
        await family.post("First")
        await watch.until(lambda _: "One" in watch.text())
        await family.post("Second")
        with monkeypatch.context() as patched:
            patched.setattr(session_runs, "build_run", broken)
            held.gate.set()
            await watch.until_state("idle")
        at = len(watch.frames)
        await family.post("Third")
        await watch.until_state("idle", start=at)
    shown = [m["content"] for m in await family.messages()]
    assert shown == ["First", "One", "Second", "Third", "Two"]


@pytest.mark.requirement("http.runs")
async def test_a_cancel_beats_a_pause_that_a_run_is_just_ending_in(
    family: Driver, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What tools keep for a run is let go of before its end is told; that takes a while."""
    ending, let_go = asyncio.Event(), asyncio.Event()

    async def slowly(_: ActiveRun) -> None:
        ending.set()
        await let_go.wait()

    monkeypatch.setattr(ActiveRun, "_let_go", slowly)
    cast.script("primary", calling(("kaged_checkpoint", {"reason": "Look."})))
    await family.post("Go")
    await ending.wait()
    cancelling = asyncio.create_task(family.session_call("POST", "/cancel"))
    await until(lambda: runs_of(family).parts.inbox.stops)
    let_go.set()
    assert (await cancelling)["state"] == "idle"
    assert await family.state() == "idle"


@pytest.mark.requirement("delegation.parallel")
async def test_children_that_are_called_at_once_are_no_more_than_may_be(
    family: Driver, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delegations, "MAX_LIVE", 3)
    hold, begun = Hold(), []
    cast.script("primary", calling(*(("agent-coder", {"task": f"Part {n}"}) for n in range(8))))
    cast.script("coder", *(Reply((Text("Wr"), hold)) for _ in range(8)))
    async with family.watching() as watch:
        await family.post("Go")
        await watch.until(lambda _: len(cast.requests["coder"]) >= 3)
        await watch.until(lambda _: len(watch.of("message.tool_result")) == 5)
        begun = cast.requests["coder"]
        hold.gate.set()
        await watch.until_state("idle")
    assert len(begun) == 3
    refused = [f for f in watch.of("message.tool_result") if "too_many_agents" in f["payload"]["content"]]
    assert len(refused) == 5


@pytest.mark.requirement("http.sessions", "delegation.background")
@pytest.mark.parametrize(("method", "path"), [("POST", "/archive"), ("DELETE", "")])
async def test_what_a_task_in_the_background_forbids_says_so(
    family: Driver, cast: Cast, method: str, path: str
) -> None:
    """It said that archiving was not possible while the session is idle, and possible: archiving."""
    async with family.watching() as watch:
        await a_task_at_work(family, watch, cast)
        refused = (await family.session_call(method, path, status=409))["error"]
        assert "A task in the background is active; cancel it" in refused["message"]
        assert refused["details"] == {"reason": "run_in_progress", "state": "idle"}


@pytest.mark.requirement("delegation.background", "http.runs")
async def test_a_task_that_is_just_ending_when_it_is_cancelled_starts_no_run(
    family: Driver, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending, let_go = asyncio.Event(), asyncio.Event()

    async def slowly(run: ActiveRun) -> None:
        if run.row.background:
            ending.set()
            await let_go.wait()

    monkeypatch.setattr(ActiveRun, "_let_go", slowly)
    cast.script("primary", BACKGROUND, text_reply("Later."))
    async with family.watching() as watch:
        await family.post("Go")
        await watch.until_state("idle")
        await ending.wait()
        cancelling = asyncio.create_task(family.session_call("POST", "/cancel"))
        await until(lambda: runs_of(family).parts.inbox.stops)
        let_go.set()
        assert (await cancelling)["state"] == "idle"
        await family.rename("What was set going before has had its turn")
        assert (await family.state(), len(cast.requests["primary"])) == ("idle", 2)
        await family.run("And?")
    assert "is done." in str(cast.messages("primary")[-2]["content"])
