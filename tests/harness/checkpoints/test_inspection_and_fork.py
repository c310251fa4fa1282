"""What a checkpoint shows later, and sessions that go on elsewhere from a message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.conversations import traffic
from tests.driver.loop_watch import watched_loop
from tests.driver.sessions import Driver
from tests.fakes.provider_script import Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.checkpoints.test_rollback import paused, say, sent, shown


async def at_checkpoint(driver: Driver, checkpoint: dict[str, Any]) -> list[str]:
    found = await driver.session_call("GET", f"/checkpoints/{checkpoint['id']}")
    return [message["content"] for message in found["messages"]]


@pytest.mark.requirement("checkpoint.inspect")
async def test_a_checkpoint_shows_its_conversation_whatever_becomes_of_it(
    driver: Driver, fake: FakeProvider
) -> None:
    await say(driver, fake, "One", "First.")
    checkpoint = await paused(driver, fake, "Two", "Half")
    then = ["One", "First.", "Two", "Half"]
    assert await at_checkpoint(driver, checkpoint) == then
    await driver.session_call("POST", "/cancel")
    await say(driver, fake, "Three", "Third.")
    assert await at_checkpoint(driver, checkpoint) == then
    one = (await driver.messages())[0]["id"]
    rollback = await driver.session_call("POST", "/rollback", {"message_id": one}, status=201)
    assert await shown(driver) == ["One"]
    assert await at_checkpoint(driver, checkpoint) == then
    await say(driver, fake, "Else", "Other.")
    later = await paused(driver, fake, "Last", "La")
    assert await at_checkpoint(driver, checkpoint) == then
    # What had been taken back before it is no part of the later one.
    assert await at_checkpoint(driver, later) == ["One", "Else", "Other.", "Last", "La"]
    assert rollback["id"]


@pytest.mark.requirement("checkpoint.inspect")
@pytest.mark.requirement("prompts.shown")
async def test_a_checkpoint_shows_the_prompts_that_were_sent_before_it(
    driver: Driver, fake: FakeProvider, project_root: Path
) -> None:
    checkpoint = await paused(driver, fake, "One", "Half")
    partial = (await driver.messages())[-1]
    path = f"/checkpoints/{checkpoint['id']}/prompts/primary"
    await driver.session_call("PUT", path, {"content": "Otherwise.\n"})
    fake.script(text_reply(" done."))
    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        await driver.session_call("POST", "/resume", status=201)
        await watch.until_state("idle")
    (then,) = (await driver.session_call("GET", f"/checkpoints/{checkpoint['id']}"))["prompts"]
    assert then["sent"]["blocks"][0]["text"] == "You keep the shop.\n"
    assert then["sent"]["digest"] == partial["details"]["systemDigest"]
    assert then["sent"]["message_id"] == partial["id"]
    (now,) = (await driver.session_call("GET", "/prompts"))["items"]
    last = (await driver.messages())[-1]
    assert now["sent"]["blocks"][0]["text"] == "Otherwise.\n"
    assert now["sent"]["digest"] == last["details"]["systemDigest"] != then["sent"]["digest"]
    names = [block["name"] for block in now["sent"]["blocks"]]
    assert names == ["agent", "environment"]
    assert f"Working directory: {project_root}" in now["sent"]["blocks"][-1]["text"]


@pytest.mark.requirement("checkpoint.fork")
async def test_a_fork_has_the_messages_as_they_were_then_and_goes_its_own_way(
    driver: Driver, fake: FakeProvider
) -> None:
    source = await driver.new_session(title="Plan", overrides={"max_steps": 7})
    await say(driver, fake, "One", "First.")
    await say(driver, fake, "Two", "Second.")
    one, first, two, second = await driver.messages()
    await driver.session_call("POST", "/rollback", {"message_id": one["id"]}, status=201)
    await say(driver, fake, "Else", "Other.")

    fork = await driver.session_call("POST", "/fork", {"message_id": second["id"]}, status=201)
    assert (fork["title"], fork["overrides"], fork["state"]) == ("Plan (fork)", {"max_steps": 7}, "idle")
    driver.session_id = fork["id"]
    assert await shown(driver) == ["One", "First.", "Two", "Second."]
    copies = await driver.messages()
    assert not {row["id"] for row in copies} & {row["id"] for row in (one, first, two, second)}
    await say(driver, fake, "Three", "Third.")
    assert sent(fake) == ["One", "First.", "Two", "Second.", "Three"]
    driver.session_id = source
    assert await shown(driver) == ["One", "Else", "Other."]
    await driver.session_call("POST", "/fork", {"message_id": copies[0]["id"]}, status=404)


@pytest.mark.requirement("checkpoint.fork")
async def test_a_fork_takes_a_step_with_all_its_results_and_can_go_on_from_a_question(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((Text("Look."), ToolCall("file_read", {"path": "README.md"}))), text_reply("Seen."))
    await driver.run("Look")
    operator, asking, _, _ = await driver.messages()
    fork = await driver.session_call("POST", "/fork", {"message_id": asking["id"]}, status=201)
    again = await driver.session_call("POST", "/fork", {"message_id": operator["id"]}, status=201)
    for made, roles in ((fork, ["operator", "primary", "tool"]), (again, ["operator"])):
        driver.session_id = made["id"]
        assert [row["role"] for row in await driver.messages()] == roles
        fake.script(text_reply("Gone on."))
        async with driver.watching() as watch:
            await driver.session_call("POST", "/continue", status=201)
            await watch.until_state("idle")
        assert (await shown(driver))[-1] == "Gone on."


@pytest.mark.requirement("checkpoint.undo")
async def test_an_exported_session_keeps_its_rollbacks_and_edited_prompts(
    driver: Driver, fake: FakeProvider
) -> None:
    await say(driver, fake, "One", "First.")
    checkpoint = await paused(driver, fake, "Two", "Half")
    path = f"/checkpoints/{checkpoint['id']}/prompts/primary"
    await driver.session_call("PUT", path, {"content": "Otherwise.\n"})
    one = (await driver.messages())[0]["id"]
    rollback = await driver.session_call("POST", "/rollback", {"message_id": one}, status=201)
    export = await driver.client.get(f"/api/v1/sessions/{driver.session_id}/export")
    await driver.session_call("DELETE", status=204)
    spoiled = export.content.replace(b'"last_position":', b'"lost_position":')
    for content, status in ((spoiled, 400), (export.content, 201)):
        answer = await driver.client.post("/api/v1/sessions/import", content=content)
        assert answer.status_code == status, answer.text
    again = await driver.client.get(f"/api/v1/sessions/{driver.session_id}/export")
    assert again.content == export.content
    assert (await driver.session_call("GET", "/prompts"))["items"][0]["source"] == "edited"
    await driver.session_call("POST", f"/rollbacks/{rollback['id']}/undo")
    assert await shown(driver) == ["One", "First.", "Two", "Half"]


@pytest.mark.requirement("checkpoint.fork")
async def test_a_fork_of_a_long_conversation_does_not_hold_up_the_daemon(driver: Driver) -> None:
    rows = traffic(4_000, session_id=driver.session_id)
    storage, sessions = driver.daemon.services.storage, driver.daemon.services.sessions
    await storage.write(lambda uow: uow.messages.add_many(rows))
    with watched_loop() as watch:
        made = await sessions.fork(driver.session_id, rows[-1].id, actor="operator")
    watch.check()
    copies = await storage.read(lambda uow: uow.messages.history(made.id, "primary"))
    assert [row.content for row in copies] == [row.content for row in rows]
