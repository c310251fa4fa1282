"""What the Python client does with a run: follow, wait, ask, cancel; the same with both clients."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from kaged_client import Answer, AsyncKaged, Kaged, Question, errors

from tests.clients.python.conftest import Desk
from tests.fakes.provider_script import Hold, Reply, Text, ToolCall, text_reply

NOTES = ToolCall("file_write", {"path": "notes.txt", "content": "hello\n"}, "call_notes")


async def test_a_run_is_followed_to_its_end_and_its_result_has_the_answer(desk: Desk) -> None:
    desk.model.script(text_reply("It sells things."), text_reply("Again."))

    def follow() -> tuple[list[str], str, str, str]:
        with Kaged(desk.daemon.url, token=desk.daemon.token) as kaged:
            session = kaged.sessions.create(project_id=desk.daemon.project_id, title="Shop")
            run = session.run("What is it?")
            types = [event.type for event in run]
            return (
                types,
                run.wait().text,
                session.run("And?").wait().raise_unless_succeeded().text,
                session.title,
            )

    types, first, second, title = await asyncio.to_thread(follow)
    assert (types[0], types[-1]) == ("sync", "run.ended")
    assert "message.delta" in types
    assert (first, second, title) == ("It sells things.", "Again.", "Shop")


async def test_the_asynchronous_client_does_the_same(desk: Desk) -> None:
    desk.model.script(text_reply("It sells things."))
    async with AsyncKaged(desk.daemon.url, token=desk.daemon.token) as kaged:
        session = await kaged.sessions.create(project_id=desk.daemon.project_id)
        run = session.run("What is it?")
        text = ""
        async for event in run:
            if event.type == "message.delta" and event.payload.kind == "text":
                text += event.payload.delta
        result = await run.wait()
        listed = [one.id async for one in kaged.sessions.list(limit=1)]
    assert text == result.text == "It sells things."
    assert listed == [session.id]


@pytest.mark.parametrize("consent", [True, False])
async def test_a_permission_request_is_answered_by_the_callback(desk: Desk, consent: bool) -> None:
    desk.model.script(Reply((NOTES,)), text_reply("Done."))
    seen: list[tuple[str, str | None, list[str]]] = []

    async def on_question(question: Question) -> Answer:
        seen.append((question.kind, question.tool, question.subjects))
        return question.approve() if consent else question.deny("Not now.")

    async with AsyncKaged(desk.daemon.url, token=desk.daemon.token) as kaged:
        session = await kaged.sessions.create(project_id=desk.daemon.project_id)
        result = await session.run("Write", on_question=on_question).wait()
    assert seen == [("permission", "file.write", ["notes.txt"])]
    assert result.text == "Done."
    assert (desk.root / "notes.txt").exists() is consent


async def test_without_a_callback_the_question_is_named_and_can_be_answered_later(desk: Desk) -> None:
    desk.model.script(Reply((NOTES,)), text_reply("Done."))

    def ask() -> tuple[str, str, str]:
        with Kaged(desk.daemon.url, token=desk.daemon.token) as kaged:
            session = kaged.sessions.create(project_id=desk.daemon.project_id)
            with pytest.raises(errors.AnswerNeeded) as needed:
                session.run("Write").wait()
            with session.events(after_seq=session.refresh().last_seq, timeout=60) as stream:
                questions = session.questions(timeout=60)
                question = next(questions)
                questions.close()  # type: ignore[attr-defined]
                session.answer(question, question.approve())
                with pytest.raises(errors.Conflict) as late:
                    session.answer(question, question.deny())
                next(event for event in stream if event.type == "run.ended")
            return needed.value.interaction_id, question.id, str(late.value.reason)

    needed, asked, late = await asyncio.to_thread(ask)
    assert (needed, late) == (asked, "already_answered")
    assert (desk.root / "notes.txt").read_text() == "hello\n"


async def test_an_open_question_is_answered_before_the_next_message_is_posted(desk: Desk) -> None:
    desk.model.script(Reply((NOTES,)), text_reply("Done."), text_reply("Done again."))
    async with AsyncKaged(desk.daemon.url, token=desk.daemon.token) as kaged:
        session = await kaged.sessions.create(project_id=desk.daemon.project_id)
        with pytest.raises(errors.AnswerNeeded):
            await session.run("Write").wait()
        result = await session.run("Go on", on_question=lambda question: question.approve()).wait()
    assert result.text == "Done again."
    assert (desk.root / "notes.txt").read_text() == "hello\n"


async def test_a_deadline_ends_the_stream_and_cancel_ends_the_run(desk: Desk) -> None:
    desk.model.script(Reply((Text("Thinking "), Hold(60.0))))
    async with AsyncKaged(desk.daemon.url, token=desk.daemon.token) as kaged:
        session = await kaged.sessions.create(project_id=desk.daemon.project_id)
        run = session.run("Wait", timeout=10)
        with pytest.raises(errors.DeadlineExceeded):
            await run.wait()
        assert (await session.refresh()).state == "running"
        stream = session.events(after_seq=session.last_seq, timeout=60)
        await run.cancel()
        ended = [event async for event in stream_until_end(stream)]
        await run.cancel()  # a second time is no error
        result = await run.wait()
    assert ended == ["run.ended"]
    assert result.state == "cancelled"
    with pytest.raises(errors.RunFailed, match="cancelled"):
        result.raise_unless_succeeded()


async def test_the_same_key_posts_once(desk: Desk) -> None:
    async with AsyncKaged(desk.daemon.url, token=desk.daemon.token) as kaged:
        ids = [
            (await kaged.sessions.create(project_id=desk.daemon.project_id, idempotency_key="one")).id
            for _ in range(2)
        ]
        with pytest.raises(errors.Conflict) as reused:
            await kaged.sessions.create(project_id=desk.daemon.project_id, title="x", idempotency_key="one")
        total = (await kaged.sessions.list().page()).total
    assert ids[0] == ids[1]
    assert (reused.value.reason, total) == ("idempotency_key_reused", 1)
    assert "Use another `idempotency_key`" in str(reused.value)


async def test_files_go_up_and_come_down_as_they_are(desk: Desk, tmp_path: Path) -> None:
    source, copy = tmp_path / "data.bin", tmp_path / "copy.bin"
    source.write_bytes(bytes(range(256)) * 2000)
    async with AsyncKaged(desk.daemon.url, token=desk.daemon.token) as kaged:
        upload = await kaged.upload(desk.daemon.project_id, source)
        size = await kaged.download(upload.id, copy)
        with pytest.raises(errors.NotFound):
            await kaged.download("upl_absent", tmp_path / "absent")
    assert (upload.name, upload.size_bytes, size) == ("data.bin", 512000, 512000)
    assert copy.read_bytes() == source.read_bytes()
    assert not (tmp_path / "absent").exists()


async def stream_until_end(stream):  # type: ignore[no-untyped-def]
    async with stream:
        async for event in stream:
            if event.type == "run.ended":
                yield event.type
                return
