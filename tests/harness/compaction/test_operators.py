"""What operators do: compact at will, look before, decide on proposals, judge afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import Driver, restarted
from tests.driver.small_window import (
    SUMMARIZE,
    asked_and_answered,
    compactions,
    events,
    reads,
    runs_of,
    small,
    texts,
    to,
    verified,
)
from tests.fakes.provider_script import Hold, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.compaction.test_summarize import both
from tests.harness.hooks.plugged import until

CHECKPOINT = "strategy: checkpoint"


async def everything(driver: Driver) -> dict[str, list[Any]]:
    """Return every row of every table but those that note this very look."""
    storage = driver.daemon.services.storage

    def read(uow: Any) -> dict[str, list[Any]]:
        tables = (
            "sessions",
            "runs",
            "messages",
            "tool_calls",
            "checkpoints",
            "compactions",
            "events",
            "blobs",
        )
        found = {
            name: [tuple(row) for row in uow.connection.exec_driver_sql(f"SELECT * FROM {name}")]
            for name in tables
        }
        found["audit"] = [row.event for row in uow.audit.list(limit=1000).items]
        return found

    return await storage.read(read)


@pytest.mark.requirement("compaction.manual", "compaction.records")
async def test_an_operator_compacts_a_session_at_rest_with_a_strategy_of_choice(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.respond = both(reads(6))
    async with small(tmp_path, settings_overrides, SUMMARIZE) as driver:
        await driver.run("Read")
        made = await driver.session_call("POST", "/compact", {"strategy": "summarize"}, status=200)
        record = made["compaction"]
        assert (made["outcome"], record["trigger"], record["strategy"], record["run_id"]) == (
            "completed",
            "operator_manual",
            "summarize",
            None,
        )
        assert await driver.session_call("GET", f"/compactions/{record['id']}") == record
        fake.script(text_reply("Yes.", usage=None))
        await driver.run("Still there?")
        shown = texts(to("small", fake)[-1])
        assert shown[2] == record["summary"]
        again = await driver.session_call("POST", "/compact", {"strategy": "drop"})
        assert again["outcome"] == "completed"
        for _ in range(10):
            last = await driver.session_call("POST", "/compact", {"strategy": "drop"})
            if last["outcome"] == "noop":
                break
        assert last == {"outcome": "noop", "compaction": None}
        shown = [m["content"] for m in await driver.messages()]
        assert "earlier messages of this conversation" in shown.pop(1)
        assert shown == ["Read", "Still there?", "Yes."]
        await verified(driver, fake)


@pytest.mark.requirement("compaction.manual")
async def test_while_a_run_is_active_it_is_done_at_the_next_boundary(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    held = Hold()
    answering = Reply((Text("Mo"), held, Text("re."), ToolCall("file_read", {"path": "file9.txt"}, id="c9")))
    async with small(tmp_path, settings_overrides) as driver:
        fake.script(*reads(6), answering, text_reply("Done.", usage=None))
        async with driver.watching() as watch:
            await driver.post("Read")
            await watch.until(lambda f: f["type"] == "message.delta" and f["payload"]["delta"] == "Mo")
            asking = asyncio.create_task(driver.session_call("POST", "/compact"))
            await until(lambda: runs_of(driver).active.context.controls.compactions._waiting)
            preview = await driver.session_call("POST", "/compactions/dry-run")
            assert preview["record"]["superseded_message_ids"]
            assert not asking.done()
            held.gate.set()
            made = await asking
            await watch.until_type("run.ended")
        assert made["outcome"] == "completed"
        assert made["compaction"]["run_id"] == (await driver.last_run())["id"]
        types = [frame["type"] for frame in watch.frames]
        done = types.index("compaction.completed")
        assert types[:done].count("message.end") == 7  # never during an answer
        asked, answered = asked_and_answered(fake.requests[-1])
        assert asked == answered and asked[-1] == "c9"
        await verified(driver, fake)


@pytest.mark.requirement("compaction.manual")
async def test_what_cannot_be_done_is_refused_with_what_to_do(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with small(tmp_path, settings_overrides) as driver:
        for body, status, reason in (
            ({"strategy": "summarize"}, 400, "strategy_not_configured"),
            ({"strategy": "delegate"}, 400, "strategy_not_configured"),
            ({"strategy": "shrink"}, 400, None),
            ({"agent_path": "primary.subagents.none"}, 404, None),
        ):
            answer = await driver.session_call("POST", "/compact", body, status=status)
            assert reason in (None, answer["error"].get("details", {}).get("reason"))
        empty = await driver.session_call("POST", "/compact")
        assert empty["outcome"] == "noop"
        await driver.session_call("GET", "/compactions/cmp_none", status=404)
        await driver.session_call("POST", "/compactions/cmp_none/approve", status=404)


@pytest.mark.requirement("compaction.dry_run")
@pytest.mark.parametrize("strategy", ["drop", "summarize", "checkpoint"])
async def test_a_dry_run_shows_what_would_happen_and_touches_nothing(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], strategy: str
) -> None:
    fake.respond = both(reads(6))
    block = "" if strategy == "drop" else SUMMARIZE + ", checkpoint: { fallback: summarize }"
    async with small(tmp_path, settings_overrides, block) as driver:
        await driver.run("Read")
        before = await everything(driver)
        shown = await driver.session_call("POST", "/compactions/dry-run", {"strategy": strategy}, status=200)
        after = await everything(driver)
        assert after.pop("audit").count("operator.preview_compaction") == 1
        before.pop("audit")
        assert after == before
        gone = set(shown["record"]["superseded_message_ids"])
        left = [message["id"] for message in shown["messages"]]
        assert gone and not gone & set(left)
        everyone = [m["id"] for m in await driver.messages()]
        assert [i for i in left if i is not None] == [i for i in everyone if i not in gone]
        assert left.count(None) == 1  # the summary, or the line that tells what was dropped
        assert shown["record"]["after_estimate"] < shown["record"]["threshold_estimate"]
        made = await driver.session_call("POST", "/compact", {"strategy": "drop"})
        if strategy == "drop":
            assert made["compaction"]["superseded_message_ids"] == shown["record"]["superseded_message_ids"]
            assert made["compaction"]["after_estimate"] == shown["record"]["after_estimate"]


async def proposed(driver: Driver, fake: FakeProvider) -> dict[str, Any]:
    """Run until an operator is asked; return the proposal."""
    await driver.run("Read them all")
    run = await driver.last_run()
    assert (run["state"], run["reason"]) == ("interrupted", "awaiting_compaction")
    session = await driver.session_call("GET")
    assert (session["state"], session["state_reason"]) == ("paused", "compaction_pending")
    (found,) = await compactions(driver)
    (checkpoint,) = (await driver.session_call("GET", "/checkpoints"))["items"]
    assert checkpoint["reason"] == "compaction_pending"
    assert found["checkpoint_id"] == checkpoint["id"]
    assert (found["state"], found["strategy"]) == ("proposed", "checkpoint")
    assert not [m for m in await driver.messages() if m["superseded"]]
    return found


async def resumed(driver: Driver) -> dict[str, Any]:
    seq = (await driver.session_call("GET"))["last_seq"]
    async with driver.watching(seq) as watch:
        await driver.session_call("POST", "/resume", status=201)
        await watch.until_type("run.ended")
        await watch.until(lambda f: f["type"] == "session.state" and f["payload"]["previous"] == "running")
    run: dict[str, Any] = await driver.last_run()
    return run


@pytest.mark.requirement("compaction.checkpoint")
async def test_an_approved_proposal_is_what_the_resumed_run_sends_also_after_a_restart(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with small(tmp_path, settings_overrides, CHECKPOINT) as driver:
        fake.script(*reads(13), text_reply("Done.", usage=None))
        proposal = await proposed(driver, fake)
        asked = fake.request_count
        again = await resumed(driver)  # nobody has decided: it waits again, and nothing is sent
        assert (again["reason"], fake.request_count) == ("awaiting_compaction", asked)
        assert len(await compactions(driver)) == 1
        done = await driver.session_call("POST", f"/compactions/{proposal['id']}/approve", status=200)
        assert (done["state"], done["superseded_message_ids"]) == (
            "applied",
            proposal["superseded_message_ids"],
        )
        assert (await driver.session_call("GET"))["state"] == "paused"
        assert (await resumed(driver))["state"] == "succeeded"
        asked_ids, answered = asked_and_answered(fake.requests[-1])
        assert asked_ids == answered and "c0" not in asked_ids
        await driver.session_call("POST", f"/compactions/{proposal['id']}/reject", status=409)
        await verified(driver, fake)
        session_id, sent = driver.session_id, fake.requests[-1].json["messages"]
    settings = {**settings_overrides, "models": {"main": ["fake:small"]}, "prices": {}}
    async with restarted(tmp_path / "data", **settings) as later:
        later.session_id = session_id
        fake.script(text_reply("Yes.", usage=None))
        await later.run("Sure?")
        assert fake.requests[-1].json["messages"][: len(sent)] == sent


@pytest.mark.requirement("compaction.checkpoint")
async def test_a_proposal_is_edited_and_then_approved(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.respond = both(reads(13), "Ten files.")
    settings = CHECKPOINT + ", checkpoint: { fallback: summarize }, " + SUMMARIZE
    async with small(tmp_path, settings_overrides, settings) as driver:
        proposal = await proposed(driver, fake)
        address = f"/compactions/{proposal['id']}"
        assert "Ten files." in proposal["summary"]
        ids = proposal["superseded_message_ids"]
        first = (await driver.messages())[0]["id"]
        for wrong in ([ids[0]], [*ids, first], ["msg_none"]):  # half a pair, the task, a stranger
            body = {"superseded_message_ids": wrong}
            await driver.session_call("POST", f"{address}/edit", body, status=400)
        await driver.session_call("POST", f"{address}/edit", {}, status=400)
        body = {"superseded_message_ids": ids[2:], "summary": "Some files."}
        edited = await driver.session_call("POST", f"{address}/edit", body, status=200)
        assert (edited["state"], edited["summary"]) == ("proposed", "Some files.")
        assert edited["after_estimate"] != proposal["after_estimate"]
        await driver.session_call("POST", f"{address}/approve", status=200)
        assert (await resumed(driver))["state"] == "succeeded"
        last = to("small", fake)[-1]
        assert texts(last)[4] == "Some files."
        assert asked_and_answered(last)[0][0] == "c0"
        told = [row["data"]["decision"] for row in await events(driver, "compaction.decided")]
        assert told == ["edited", "approved"]
        await verified(driver, fake)


@pytest.mark.requirement("compaction.checkpoint")
async def test_after_a_rejection_the_run_goes_on_and_asks_again_only_when_it_has_grown_by_a_tenth(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with small(tmp_path, settings_overrides, CHECKPOINT) as driver:
        fake.script(*reads(20), text_reply("Done.", usage=None))
        proposal = await proposed(driver, fake)
        asked = fake.request_count
        done = await driver.session_call("POST", f"/compactions/{proposal['id']}/reject", status=200)
        assert (done["state"], done["superseded_message_ids"]) == (
            "rejected",
            proposal["superseded_message_ids"],
        )
        run = await resumed(driver)
        assert run["reason"] == "awaiting_compaction"
        assert fake.request_count > asked
        second = (await compactions(driver))[-1]
        assert second["threshold_estimate"] >= 1.1 * proposal["threshold_estimate"]
        assert len(fake.requests[-1].json["messages"]) > len(fake.requests[asked - 1].json["messages"])


@pytest.mark.requirement("compaction.checkpoint")
async def test_where_nobody_is_there_the_fallback_is_applied(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with small(tmp_path, settings_overrides, CHECKPOINT, session={"headless": True}) as driver:
        fake.script(*reads(13), text_reply("Done.", usage=None))
        await driver.run("Read")
        assert (await driver.last_run())["state"] == "succeeded"
        assert [(r["strategy"], r["state"]) for r in await compactions(driver)] == [("drop", "applied")]


@pytest.mark.requirement("compaction.records")
async def test_a_compaction_is_judged(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with small(tmp_path, settings_overrides) as driver:
        fake.script(*reads(13), text_reply("Done.", usage=None))
        await driver.run("Read")
        (record,) = await compactions(driver)
        address = f"/compactions/{record['id']}/flag"
        judged = await driver.session_call("POST", address, {"flag": "bad", "notes": "Too much."}, status=200)
        assert (judged["operator_flag"], judged["operator_notes"]) == ("bad", "Too much.")
        assert (await compactions(driver))[0] == judged
        (row,) = await events(driver, "compaction.flagged")
        assert row["data"] == {"compaction_id": record["id"], "flag": "bad", "notes_length": 9}
        await driver.session_call("POST", address, {"flag": "superb"}, status=400)
        assert (await driver.session_call("POST", address, {"flag": None}))["operator_flag"] is None


@pytest.mark.requirement("compaction.rollback")
async def test_a_rollback_before_a_compaction_brings_the_originals_back_and_its_undoing_the_summary(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.respond = both(reads(6))
    async with small(tmp_path, settings_overrides, SUMMARIZE) as driver:
        await driver.run("Read")
        before = await driver.messages()
        made = (await driver.session_call("POST", "/compact"))["compaction"]
        fake.script(text_reply("More.", usage=None))
        await driver.run("And more?")
        later = await driver.messages()
        at = before[4]["id"]
        assert at in made["superseded_message_ids"]
        rollback = await driver.session_call("POST", "/rollback", {"message_id": at}, status=201)
        assert await driver.messages() == before[:5]
        assert (await compactions(driver))[0]["undone_by"] == rollback["id"]
        await driver.session_call("POST", f"/rollbacks/{rollback['id']}/undo")
        assert await driver.messages() == later
        assert (await compactions(driver))[0]["undone_by"] is None
        fake.script(text_reply("Yes.", usage=None))
        await driver.run("All there?")
        assert texts(to("small", fake)[-1])[2] == made["summary"]
        await verified(driver, fake)


@pytest.mark.requirement("compaction.records", "compaction.readable")
async def test_an_exported_session_keeps_its_compactions_and_what_the_model_sees(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.respond = both(reads(6))
    async with small(tmp_path, settings_overrides, SUMMARIZE) as driver:
        await driver.run("Read")
        made = (await driver.session_call("POST", "/compact"))["compaction"]
        shown = await driver.messages()
        lines = (await driver.client.get(f"/api/v1/sessions/{driver.session_id}/export")).content
        await driver.session_call("DELETE", status=204)
        bad = lines.replace(b'"state":"applied"', b'"state":"forgotten"')
        for content, status in ((bad, 400), (lines, 201)):
            answer = await driver.client.post("/api/v1/sessions/import", content=content)
            assert answer.status_code == status, answer.text
        assert await compactions(driver) == [made]
        assert await driver.messages() == shown
        fake.script(text_reply("Yes.", usage=None))
        await driver.run("Still there?")
        assert texts(to("small", fake)[-1])[2] == made["summary"]
