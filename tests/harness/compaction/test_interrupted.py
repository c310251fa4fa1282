"""A compaction that is stopped, or that cannot be stored, has changed nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.errors import StorageError
from app.harness.compaction import compactor as compactor_module
from app.harness.compaction.compactor import Compactor
from app.harness.conversation.session_conversation import SessionConversation
from tests.driver.conversations import traffic
from tests.driver.small_window import LIMITS, SUMMARIZE, compactions, reads, small, to, verified
from tests.fakes.provider_script import Hold, RecordedRequest, Reply, Text, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.compaction.test_estimates import context_of

pytestmark = pytest.mark.requirement("compaction.records")


@pytest.mark.parametrize("how", ["pause", "cancel"])
async def test_a_run_is_stopped_while_a_summary_is_written(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], how: str
) -> None:
    held, agent = Hold(), [*reads(20), text_reply("Done.", usage=None)]

    def respond(request: RecordedRequest) -> Reply:
        return Reply((Text("Sum"), held)) if request.json["model"] == "sum" else agent.pop(0)

    fake.respond = respond
    async with small(tmp_path, settings_overrides, "strategy: summarize, " + SUMMARIZE) as driver:
        async with driver.watching() as watch:
            await driver.post("Read")
            await watch.until_type("compaction.triggered")
            while not to("sum", fake):
                await fake.changed()
            await driver.session_call("POST", f"/{how}")
            await watch.until_type("run.ended")
        await fake.until_disconnects(1)
        assert await compactions(driver) == []
        everything = await driver.session_call("GET", "/messages?limit=100&include_superseded=true")
        assert not [m for m in everything["items"] if m["superseded"]]
        assert await driver.state() == ("paused" if how == "pause" else "idle")
        await verified(driver, fake)


async def test_when_storing_fails_the_conversation_in_memory_is_as_before(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise StorageError("the disk is full")

    async with small(tmp_path, settings_overrides, "", LIMITS) as driver:
        rows = traffic(60, session_id=driver.session_id)
        await driver.daemon.services.storage.write(lambda uow: uow.messages.add_many(rows))
        run = await context_of(driver)
        before = list(run.history.visible)
        compactor = Compactor(run, driver.daemon.services.sessions._services.runs.compaction)
        with monkeypatch.context() as patched:
            patched.setattr(compactor_module, "apply", broken)
            with pytest.raises(StorageError):
                await compactor.compact("operator_manual", "drop")
        assert run.history.visible == before
        run.journal._writes.clear()
        done = await compactor.compact("operator_manual", "drop")
        await run.journal.settle()
        assert done.outcome == "completed"
        again = await SessionConversation(driver.daemon.services.storage, driver.session_id).load()
        assert again.visible == run.history.visible


async def test_a_cancelled_waiter_does_not_undo_what_is_being_stored(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with small(tmp_path, settings_overrides, "", LIMITS) as driver:
        rows = traffic(60, session_id=driver.session_id)
        await driver.daemon.services.storage.write(lambda uow: uow.messages.add_many(rows))
        run = await context_of(driver)
        swapped, supersede = asyncio.Event(), run.history.supersede

        def noticed(*arguments: Any) -> Any:
            swapped.set()
            return supersede(*arguments)

        monkeypatch.setattr(run.history, "supersede", noticed)
        compactor = Compactor(run, driver.daemon.services.sessions._services.runs.compaction)
        compacting = asyncio.create_task(compactor.compact("operator_manual", "drop"))
        await swapped.wait()
        compacting.cancel()
        await asyncio.gather(compacting, return_exceptions=True)
        await run.journal.settle()
        again = await SessionConversation(driver.daemon.services.storage, driver.session_id).load()
        assert again.visible == run.history.visible
        assert len(again.visible) < 121
