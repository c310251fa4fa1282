"""What else happens while an operator's compaction is under way."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.harness.sessions import compactions as commands
from tests.driver.loop_clock import put_forward
from tests.driver.sessions import WAIT_SECONDS, Driver
from tests.driver.small_window import SUMMARIZE, compactions, reads, runs_of, small, texts, to
from tests.fakes.provider_script import Hold, RecordedRequest, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.hooks.plugged import until

SUMMARY = "The files were read, one after the other."


class SlowSummarizer:
    """Answers the agent from a script; the summarizer says nothing before `held` is let go."""

    def __init__(self, *agent: Reply) -> None:
        self.agent, self.held = [*agent], Hold()

    def __call__(self, request: RecordedRequest) -> Reply:
        if request.json["model"] == "sum":
            return Reply((self.held, Text(SUMMARY)))
        return self.agent.pop(0)


def asking_for_a_summary(driver: Driver, *, status: int | None = None) -> asyncio.Task[Any]:
    body = {"strategy": "summarize"}
    return asyncio.create_task(driver.session_call("POST", "/compact", body, status=status))


@pytest.mark.requirement("compaction.manual")
async def test_a_compaction_that_has_begun_at_a_boundary_is_waited_for(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the boundary has a minute to come: whoever was told that nothing was done compacted twice."""
    answering = Hold()
    models = SlowSummarizer(
        *reads(6),
        Reply((Text("Mo"), answering, ToolCall("file_read", {"path": "file9.txt"}, id="c9"))),
        text_reply("Done.", usage=None),
    )
    fake.respond = models
    async with small(tmp_path, settings_overrides, SUMMARIZE) as driver, driver.watching() as watch:
        driver.client.timeout = None
        await driver.post("Read")
        await watch.until(lambda f: f["type"] == "message.delta" and f["payload"]["delta"] == "Mo")
        asking = asking_for_a_summary(driver)
        await until(lambda: runs_of(driver).active.context.controls.compactions._waiting)
        answering.gate.set()
        while not to("sum", fake):
            await fake.changed()
        put_forward(monkeypatch, commands.BOUNDARY_SECONDS + 1)
        done, _ = await asyncio.wait({asking}, timeout=0.5)
        assert not done, asking.result()
        models.held.gate.set()
        assert (await asking)["outcome"] == "completed"
        await watch.until_type("run.ended")
        assert len(await compactions(driver)) == 1


@pytest.mark.requirement("compaction.manual")
async def test_a_compaction_that_a_cancel_cuts_off_at_a_boundary_is_not_done_after_it(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    answering = Hold()
    models = SlowSummarizer(
        *reads(6), Reply((Text("Mo"), answering, ToolCall("file_read", {"path": "file9.txt"}, id="c9")))
    )
    fake.respond = models
    async with small(tmp_path, settings_overrides, SUMMARIZE) as driver, driver.watching() as watch:
        await driver.post("Read")
        await watch.until(lambda f: f["type"] == "message.delta" and f["payload"]["delta"] == "Mo")
        asking = asking_for_a_summary(driver, status=409)
        await until(lambda: runs_of(driver).active.context.controls.compactions._waiting)
        answering.gate.set()
        while not to("sum", fake):
            await fake.changed()
        await driver.session_call("POST", "/cancel")
        refused = await asking
        assert refused["error"]["details"]["reason"] == "compaction_stopped"
        assert (await compactions(driver), len(to("sum", fake))) == ([], 1)


@pytest.mark.requirement("compaction.manual")
async def test_a_cancel_gives_up_a_compaction_of_a_session_at_rest(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    models = SlowSummarizer(*reads(6), text_reply("Done.", usage=None), text_reply("Yes.", usage=None))
    fake.respond = models
    async with small(tmp_path, settings_overrides, SUMMARIZE) as driver:
        await driver.run("Read")
        before = await driver.messages()
        asking = asking_for_a_summary(driver, status=409)
        while not to("sum", fake):
            await fake.changed()
        async with asyncio.timeout(WAIT_SECONDS):
            assert (await driver.session_call("POST", "/cancel", status=200))["state"] == "idle"
        refused = await asking
        assert refused["error"]["details"]["reason"] == "compaction_stopped"
        assert (await compactions(driver), await driver.messages()) == ([], before)
        await driver.session_call("POST", "/cancel", status=409)  # nothing is left to cancel
        await driver.run("Still there?")
        assert texts(to("small", fake)[-1])[1] == "Read"


@pytest.mark.requirement("compaction.manual")
async def test_the_daemon_stops_while_a_session_at_rest_is_compacted(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    """It waited for the summary, a quarter of an hour at most."""
    fake.respond = SlowSummarizer(*reads(6), text_reply("Done.", usage=None))
    async with small(tmp_path, settings_overrides, SUMMARIZE) as driver:
        await driver.run("Read")
        asking = asking_for_a_summary(driver, status=409)
        while not to("sum", fake):
            await fake.changed()
        async with asyncio.timeout(WAIT_SECONDS):
            await driver.daemon.services.sessions.drain(1.0)
            refused = await asking
        assert refused["error"]["details"]["reason"] == "compaction_stopped"
        late = await driver.session_call("POST", "/compact", {"strategy": "drop"}, status=503)
        assert late["error"]["details"]["reason"] == "stopping"
