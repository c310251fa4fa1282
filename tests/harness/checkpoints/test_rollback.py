"""Going back to a checkpoint or a message, and taking that back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import Driver, driven, restarted
from tests.fakes.provider_script import Reply, Stall, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("checkpoint.rollback")


async def say(driver: Driver, fake: FakeProvider, text: str, answer: str) -> None:
    fake.script(text_reply(answer))
    await driver.run(text)


async def paused(driver: Driver, fake: FakeProvider, text: str, partial: str) -> dict[str, Any]:
    """Post a message and pause while it is answered; return the checkpoint."""
    fake.script(Reply((Text(partial), Stall())))
    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        await driver.post(text)
        await watch.until_text(partial)
        await driver.session_call("POST", "/pause")
    return (await driver.session_call("GET", "/checkpoints"))["items"][0]


async def shown(driver: Driver) -> list[str]:
    return [message["content"] for message in await driver.messages()]


async def everything(driver: Driver) -> list[dict[str, Any]]:
    path = "/messages?include_superseded=true&limit=100"
    return (await driver.session_call("GET", path))["items"]


def sent(fake: FakeProvider, at: int = -1) -> list[Any]:
    return [m["content"] for m in fake.requests[at].json["messages"] if m["role"] != "system"]


async def test_rollback_supersedes_what_came_after_the_checkpoint_and_keeps_it(
    driver: Driver, fake: FakeProvider
) -> None:
    await say(driver, fake, "One", "First.")
    checkpoint = await paused(driver, fake, "Two", "Half")
    fake.script(text_reply(" done."))
    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        await driver.session_call("POST", "/resume", status=201)
        await watch.until_state("idle")
    await say(driver, fake, "Three", "Third.")
    later = await paused(driver, fake, "Four", "Fo")
    assert await driver.state() == "paused"

    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        body = {"checkpoint_id": checkpoint["id"]}
        rollback = await driver.session_call("POST", "/rollback", body, status=201)
        await watch.until_state("idle")
    (told,) = watch.of("session.rolled_back")
    assert told["payload"]["rollback_id"] == rollback["id"]
    assert told["payload"]["message_cursor"] == checkpoint["message_cursor"]

    assert await driver.state() == "idle"
    assert await shown(driver) == ["One", "First.", "Two", "Half"]
    gone = [message for message in await everything(driver) if message["superseded"]]
    assert [message["content"] for message in gone] == [
        "Continue where you stopped.", " done.", "Three", "Third.", "Four", "Fo",
    ]  # fmt: skip
    assert {message["superseded_by"] for message in gone} == {rollback["id"]}
    assert rollback["messages"] == len(gone)
    rows = {row["id"]: row for row in (await driver.session_call("GET", "/checkpoints"))["items"]}
    assert rows[checkpoint["id"]]["rolled_back"] is True
    assert rows[later["id"]]["superseded_by"] == rollback["id"]
    (listed,) = (await driver.session_call("GET", "/rollbacks"))["items"]
    assert listed == rollback

    await say(driver, fake, "Else", "Other.")
    assert sent(fake) == ["One", "First.", "Two", "Half", "Else"]


async def test_a_rollback_to_a_message_works_while_nothing_runs_and_continue_asks_again(
    driver: Driver, fake: FakeProvider
) -> None:
    await say(driver, fake, "One", "First.")
    await say(driver, fake, "Two", "Second.")
    two = (await driver.messages())[2]
    await driver.session_call("POST", "/rollback", {"message_id": two["id"]}, status=201)
    assert await shown(driver) == ["One", "First.", "Two"]
    fake.script(text_reply("Better."))
    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        await driver.session_call("POST", "/continue", status=201)
        await watch.until_state("idle")
    assert sent(fake) == ["One", "First.", "Two"]
    assert await shown(driver) == ["One", "First.", "Two", "Better."]


async def test_a_rollback_to_before_a_message_takes_the_message_out_as_well(
    driver: Driver, fake: FakeProvider
) -> None:
    await say(driver, fake, "One", "First.")
    await say(driver, fake, "Two", "Second.")
    one, _, two, _ = await driver.messages()
    alone = await driver.session_call(
        "POST", "/rollback", {"checkpoint_id": "ckp_x", "before": True}, status=400
    )
    await driver.session_call("POST", "/rollback", {"message_id": two["id"], "before": True}, status=201)
    assert await shown(driver) == ["One", "First."]
    await say(driver, fake, "2", "Other.")
    assert sent(fake) == ["One", "First.", "2"]
    # What was rolled back before is no message that stands before another one.
    three = (await driver.messages())[2]
    await driver.session_call("POST", "/rollback", {"message_id": three["id"], "before": True}, status=201)
    assert await shown(driver) == ["One", "First."]
    await driver.session_call("POST", "/rollback", {"message_id": one["id"], "before": True}, status=201)
    assert await shown(driver) == []
    await say(driver, fake, "1", "New.")
    assert sent(fake) == ["1"]
    assert alone["error"]["code"] == "validation_failed"


async def test_a_step_with_tools_is_kept_with_all_its_results(driver: Driver, fake: FakeProvider) -> None:
    calls = tuple(ToolCall("file_read", {"path": "README.md"}, id=f"c{n}") for n in range(2))
    fake.script(Reply((Text("Looking."), *calls)), text_reply("Seen."))
    await driver.run("Look")
    for place in (1, 2):
        message = (await driver.messages())[place]
        await driver.session_call("POST", "/rollback", {"message_id": message["id"]}, status=201)
        assert [m["role"] for m in await driver.messages()] == ["operator", "primary", "tool", "tool"]
    fake.script(text_reply("Again."))
    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        await driver.session_call("POST", "/continue", status=201)
        await watch.until_state("idle")
    roles = [m["role"] for m in fake.requests[-1].json["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool"]


@pytest.mark.requirement("checkpoint.undo")
async def test_a_rollback_is_undone_and_everything_is_as_it_was(driver: Driver, fake: FakeProvider) -> None:
    await say(driver, fake, "One", "First.")
    await say(driver, fake, "Two", "Second.")
    before = await everything(driver)
    first = before[0]["id"]
    rollback = await driver.session_call("POST", "/rollback", {"message_id": first}, status=201)
    again = await driver.session_call("POST", "/rollback", {"message_id": first}, status=201)
    refused = await driver.session_call("POST", f"/rollbacks/{rollback['id']}/undo", status=409)
    assert refused["error"]["details"]["rollback_id"] == again["id"]
    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        await driver.session_call("POST", f"/rollbacks/{again['id']}/undo")
        undone = await driver.session_call("POST", f"/rollbacks/{rollback['id']}/undo")
        await watch.until_type("session.rollback_undone")
    assert undone["undone_at"] is not None
    assert await everything(driver) == before
    refused = await driver.session_call("POST", f"/rollbacks/{rollback['id']}/undo", status=409)
    assert refused["error"]["details"]["reason"] == "already_undone"
    await say(driver, fake, "Three", "Third.")
    assert sent(fake) == ["One", "First.", "Two", "Second.", "Three"]


@pytest.mark.requirement("checkpoint.undo")
async def test_what_was_posted_after_a_rollback_stands_in_the_way_of_undoing_it(
    driver: Driver, fake: FakeProvider
) -> None:
    await say(driver, fake, "One", "First.")
    one, first = await driver.messages()
    rollback = await driver.session_call("POST", "/rollback", {"message_id": one["id"]}, status=201)
    await say(driver, fake, "Else", "Other.")
    refused = await driver.session_call("POST", f"/rollbacks/{rollback['id']}/undo", status=409)
    assert refused["error"]["details"]["reason"] == "posted_after"
    assert "after this rollback" in refused["error"]["message"]
    # What was taken back is no place to go back to, either.
    refused = await driver.session_call("POST", "/rollback", {"message_id": first["id"]}, status=409)
    assert refused["error"]["details"]["rollback_id"] == rollback["id"]
    assert await shown(driver) == ["One", "Else", "Other."]


async def test_places_that_are_no_places_and_a_running_session_are_refused(
    driver: Driver, fake: FakeProvider
) -> None:
    missing = "01JZ0000000000000000000000"
    await driver.session_call("POST", "/rollback", {"message_id": f"msg_{missing}"}, status=404)
    await driver.session_call("POST", "/rollback", {"checkpoint_id": f"ckp_{missing}"}, status=404)
    await driver.session_call("POST", f"/rollbacks/rbk_{missing}/undo", status=404)
    await driver.session_call("POST", "/rollback", {}, status=400)
    both = {"checkpoint_id": f"ckp_{missing}", "message_id": f"msg_{missing}"}
    await driver.session_call("POST", "/rollback", both, status=400)
    fake.script(Reply((Text("Half"), Stall())))
    async with driver.watching() as watch:
        posted = await driver.post("One")
        await watch.until_text("Half")
        waiting = await driver.post("Waits")
        body = {"message_id": posted["message"]["id"]}
        refused = await driver.session_call("POST", "/rollback", body, status=409)
        assert refused["error"]["details"]["state"] == "running"
        await driver.session_call("POST", "/pause")
    body = {"message_id": waiting["message"]["id"]}
    refused = await driver.session_call("POST", "/rollback", body, status=409)
    assert refused["error"]["details"]["reason"] == "not_a_point"


async def test_what_waits_does_not_start_by_itself_after_a_rollback(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((Text("Half"), Stall())))
    async with driver.watching() as watch:
        one = await driver.post("One")
        await watch.until_text("Half")
        await driver.post("Waits")
        await driver.session_call("POST", "/pause")
    body = {"message_id": one["message"]["id"]}
    await driver.session_call("POST", "/rollback", body, status=201)
    assert await driver.state() == "idle"
    assert (await driver.session_call("GET"))["queued_messages"] == 1
    await say(driver, fake, "Now", "Yes.")
    assert sent(fake) == ["One", "Waits", "Now"]


@pytest.mark.requirement("checkpoint.undo")
async def test_a_rollback_holds_over_a_restart_and_can_be_undone_after_it(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        session_id = driver.session_id
        await say(driver, fake, "One", "First.")
        await say(driver, fake, "Two", "Second.")
        first = (await driver.messages())[1]["id"]
        rollback = await driver.session_call("POST", "/rollback", {"message_id": first}, status=201)
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        await driver.load(project_root)
        driver.session_id = session_id
        assert await shown(driver) == ["One", "First."]
        await driver.session_call("POST", f"/rollbacks/{rollback['id']}/undo")
        await say(driver, fake, "Three", "Third.")
    assert sent(fake) == ["One", "First.", "Two", "Second.", "Three"]


async def test_the_mark_of_a_context_that_is_too_long_goes_with_a_rollback_and_comes_back(
    driver: Driver, fake: FakeProvider
) -> None:
    await say(driver, fake, "One", "First.")
    storage = driver.daemon.services.storage
    await storage.write(lambda uow: uow.sessions.update(driver.session_id, context_overflow=True))
    session = await driver.daemon.services.sessions._session(driver.session_id)
    session._record.row = session._record.row.model_copy(update={"context_overflow": True})
    one = (await driver.messages())[0]["id"]
    rollback = await driver.session_call("POST", "/rollback", {"message_id": one}, status=201)
    assert (await driver.session_call("GET"))["context_overflow"] is False
    await driver.session_call("POST", f"/rollbacks/{rollback['id']}/undo")
    assert (await driver.session_call("GET"))["context_overflow"] is True
