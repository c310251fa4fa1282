"""Questions that are not answered: the call is answered with that, and the conversation stays whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import Driver, Watch, check_stream, driven
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.interactions.asking import answer, ask, read_by_model, until_asked

pytestmark = pytest.mark.requirement("interactions.ended")

SQLITE = {"database": ["SQLite"]}
READ = ToolCall("file_read", {"path": "README.md"}, "r")


async def paused_for(driver: Driver, fake: FakeProvider, watch: Watch) -> dict[str, Any]:
    """Have the model ask beside another call, after an answer of its own."""
    fake.script(text_reply("Ready."), Reply((READ, ask())))
    await driver.post("Begin")
    await watch.until_state("idle")
    await driver.post("Write the migration")
    (asked_for,) = await until_asked(watch)
    await watch.until_state("paused")
    return asked_for


async def is_closed(driver: Driver, watch: Watch, asked_for: dict[str, Any]) -> None:
    """The question is cancelled, told so once, and takes no answer."""
    await watch.until_type("interaction.answered")
    row = await driver.session_call("GET", f"/interactions/{asked_for['interaction_id']}")
    assert (row["state"], row["answer"]) == ("cancelled", None)
    (told,) = watch.of("interaction.answered")
    assert told["payload"]["state"] == "cancelled"
    late = await answer(driver, asked_for, status=409, answers=SQLITE)
    assert late["error"]["details"]["reason"] == "not_waiting"
    assert (await driver.session_call("GET"))["pending_interactions"] == 0


async def test_a_resume_without_an_answer_informs_the_model(asked: Driver, fake: FakeProvider) -> None:
    async with asked.watching() as watch:
        asked_for = await paused_for(asked, fake, watch)
        fake.script(text_reply("My guess is SQLite."))
        await asked.session_call("POST", "/resume", status=201)
        await watch.until(lambda _: len(watch.of("run.ended")) == 3)
        await is_closed(asked, watch, asked_for)
    check_stream(watch.frames)
    results = read_by_model(fake)
    assert results[1].startswith("Error not_answered: The session went on without an answer")
    assert "Shop" in results[0]
    assert fake.requests[-1].json["messages"][-1]["role"] == "tool"  # nothing was added to the conversation


async def test_a_cancel_closes_the_question(asked: Driver, fake: FakeProvider) -> None:
    async with asked.watching() as watch:
        asked_for = await paused_for(asked, fake, watch)
        await asked.session_call("POST", "/cancel")
        assert await asked.state() == "idle"
        await is_closed(asked, watch, asked_for)
        fake.script(text_reply("Something else, then."))
        await watch.until_as_far_as(await asked.run("Never mind"))
    check_stream(watch.frames)
    assert "stopped before this was answered" in read_by_model(fake)[1]


async def test_an_archived_session_waits_for_nothing(asked: Driver, fake: FakeProvider) -> None:
    async with asked.watching() as watch:
        asked_for = await paused_for(asked, fake, watch)
        await asked.session_call("POST", "/archive")
        await is_closed(asked, watch, asked_for)
    check_stream(watch.frames)
    assert "stopped before this was answered" in (await asked.messages())[-1]["content"]


async def test_a_rollback_takes_the_question_back_and_its_undo_brings_it_back_closed(
    asked: Driver, fake: FakeProvider
) -> None:
    async with asked.watching() as watch:
        asked_for = await paused_for(asked, fake, watch)
        before = await asked.messages()
        ready = next(row for row in before if row["content"] == "Ready.")
        rolled = await asked.session_call("POST", "/rollback", {"message_id": ready["id"]}, status=201)
        assert await asked.messages() == before[:2]
        await is_closed(asked, watch, asked_for)
        await asked.session_call("POST", f"/rollbacks/{rolled['id']}/undo")
        after = await asked.messages()
        assert after[: len(before)] == before
        assert after[-1]["details"]["toolCallId"] == "call_1"
        fake.script(text_reply("I see."))
        await watch.until_as_far_as(await asked.run("And now?"))
    check_stream(watch.frames)
    assert "rolled back before this was answered" in read_by_model(fake)[1]


async def test_a_rollback_to_the_question_itself_keeps_its_step_with_a_result(
    asked: Driver, fake: FakeProvider
) -> None:
    async with asked.watching() as watch:
        asked_for = await paused_for(asked, fake, watch)
        (checkpoint,) = (await asked.session_call("GET", "/checkpoints"))["items"]
        await asked.session_call("POST", "/rollback", {"checkpoint_id": checkpoint["id"]}, status=201)
        await is_closed(asked, watch, asked_for)
        fake.script(text_reply("I see."))
        await asked.session_call("POST", "/continue", status=201)
        await watch.until(lambda _: len(watch.of("run.ended")) == 3)
    check_stream(watch.frames)
    results = read_by_model(fake)
    assert "Shop" in results[0]
    assert "rolled back before this was answered" in results[1]


async def test_a_fork_has_the_step_with_a_result_and_the_session_waits_on(
    asked: Driver, fake: FakeProvider
) -> None:
    async with asked.watching() as watch:
        asked_for = await paused_for(asked, fake, watch)
        last = (await asked.messages())[-1]
        session_id = asked.session_id
        fork = await asked.session_call("POST", "/fork", {"message_id": last["id"]}, status=201)
        asked.session_id = fork["id"]
        fake.script(text_reply("SQLite, I guess."))
        await asked.run("Choose yourself")
        assert "nobody answers it here" in read_by_model(fake)[1]
        asked.session_id = session_id
        fake.script(text_reply("As you say."))
        await answer(asked, asked_for, answers=SQLITE)
        await watch.until(lambda _: len(watch.of("run.ended")) == 3)
    assert "SQLite" in read_by_model(fake)[1]


async def test_an_export_has_the_call_as_not_answered_and_can_be_imported(
    asked: Driver, fake: FakeProvider, asking_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with asked.watching() as watch:
        await paused_for(asked, fake, watch)
    exported = (await asked.client.get(f"/api/v1/sessions/{asked.session_id}/export")).content
    assert (await asked.session_call("GET"))["pending_interactions"] == 1
    async with driven(tmp_path / "other", asking_root, **settings_overrides) as other:
        taken = await other.client.post("/api/v1/sessions/import", content=exported)
        assert taken.status_code == 201, taken.text
        other.session_id = asked.session_id
        again = (await other.client.get(f"/api/v1/sessions/{other.session_id}/export")).content
        assert again == exported
        fake.script(text_reply("I ask again later."))
        await other.session_call("POST", "/resume", status=201)
        await fake.until_requests(3)
    assert "nobody answers it here" in read_by_model(fake)[1]


async def test_a_compaction_while_a_question_is_open_keeps_it(asked: Driver, fake: FakeProvider) -> None:
    async with asked.watching() as watch:
        asked_for = await paused_for(asked, fake, watch)
        await asked.session_call("POST", "/compact", {"strategy": "drop"})
        fake.script(text_reply("SQLite."))
        await answer(asked, asked_for, answers=SQLITE)
        await watch.until(lambda _: len(watch.of("run.ended")) == 3)
    assert "SQLite" in read_by_model(fake)[-1]


async def test_a_question_is_deleted_with_its_session(asked: Driver, fake: FakeProvider) -> None:
    async with asked.watching() as watch:
        asked_for = await paused_for(asked, fake, watch)
    await asked.session_call("DELETE")
    await answer(asked, asked_for, status=404, answers=SQLITE)
