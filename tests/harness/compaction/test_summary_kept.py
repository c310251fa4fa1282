"""A summary that is there stays, whatever a later compaction does; what is dropped is told in a line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from app.messages import Usage
from app.storage.unit_of_work import UnitOfWork
from tests.driver.sessions import Driver
from tests.driver.small_window import SUMMARIZE, compactions, reads, small, texts, to
from tests.fakes.provider_script import Document, RecordedRequest, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("durability.summaries")

SAID = "The shop sells lamps, and the door is green."
NOTE = re.compile(r"\[(\d+) earlier messages .* were taken out without a summary\.")


class Summarizing:
    """The agent answers from a script; the summarizer says `SAID` until it is `broken`."""

    def __init__(self, agent: list[Reply]) -> None:
        self.agent = agent
        self.broken = False

    def __call__(self, request: RecordedRequest) -> Reply | Document:
        if request.json["model"] != "sum":
            return self.agent.pop(0)
        return Document(400, {"error": {"message": "no"}}) if self.broken else text_reply(SAID, usage=None)


def turns(count: int) -> list[Reply]:
    return [Reply((Text(f"Turn {n}. " + "word " * 150),), usage=None) for n in range(count)]


def notes(fake: FakeProvider) -> list[int]:
    """Return how many messages the notes in the newest request speak of."""
    return [int(found[1]) for text in texts(to("small", fake)[-1]) if (found := NOTE.search(text))]


async def talk(driver: Driver, count: int, *, first: int = 0) -> None:
    for number in range(first, first + count):
        await driver.run(f"Question {number}. " + "please " * 60)


async def test_compacting_twice_by_hand_keeps_the_first_summary(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.respond = Summarizing(turns(10))
    async with small(tmp_path, settings_overrides, "strategy: summarize, " + SUMMARIZE) as driver:
        await talk(driver, 9)
        for _ in range(2):
            await driver.session_call("POST", "/compact", {})
        await talk(driver, 1, first=9)
        assert any(SAID in text for text in texts(to("small", fake)[-1]))


async def test_a_summarizer_that_fails_later_erases_no_summary_and_the_model_learns_what_went(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.respond = model = Summarizing(turns(9) + reads(12) + turns(1) + reads(12, first=12) + turns(1))
    async with small(tmp_path, settings_overrides, "strategy: summarize, " + SUMMARIZE) as driver:
        await talk(driver, 9)
        await driver.session_call("POST", "/compact", {})
        assert (await compactions(driver))[0]["details"]["method"] == "summarize"
        model.broken = True
        await driver.run("Read the first ones")
        assert any(SAID in text for text in texts(to("small", fake)[-1]))
        (first,) = notes(fake)
        await driver.run("Read the others")
        shown = texts(to("small", fake)[-1])
        assert any(SAID in text for text in shown)
        (both,) = notes(fake)  # one line, that counts all of it
        assert both > first > 0
        told = [m for m in await driver.messages() if NOTE.search(m["content"])]
        assert told[-1]["details"]["kind"] == "compaction_summary"
        records = await compactions(driver)
        assert {r["details"]["method"] for r in records[1:]} == {"drop"}
        assert all("summarize: the summarizer failed" in r["fallback_reason"] for r in records[1:])


async def test_a_summary_that_a_person_edited_and_approved_survives_a_drop(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.respond = Summarizing([*reads(14), *turns(1), *reads(14, first=14), *turns(1)])
    own = "The customer wants it in blue."
    async with small(tmp_path, settings_overrides, "strategy: checkpoint") as driver:
        async with driver.watching() as watch:
            await driver.post("Read them all")
            await watch.until_state("paused")
        (proposal,) = await compactions(driver)
        await driver.session_call("POST", f"/compactions/{proposal['id']}/edit", {"summary": own})
        await driver.session_call("POST", f"/compactions/{proposal['id']}/approve")
        await driver.session_call("POST", "/compact", {"strategy": "drop"})
        await driver.session_call("POST", "/compact", {"strategy": "drop"})
        visible = [m["content"] for m in await driver.messages()]
        assert visible.count(own) == 1


async def test_a_truncated_conversation_still_shows_its_summary(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.respond = Summarizing(turns(10))
    async with small(tmp_path, settings_overrides, SUMMARIZE) as driver:
        await talk(driver, 9)
        await driver.session_call("POST", "/compact", {})
        (session,) = driver.daemon.services.sessions._live.all()
        history = await session.runs.parts.conversation.load()
        assert history.truncate(history.entries[0].tokens + 500)
        shown = [str(message) for message in history.visible]
        assert any(SAID in text for text in shown)
        assert len(shown) < len(history.entries)
        assert history.tokens() == sum(
            entry.tokens for entry in history.entries if entry.shown in history.visible
        )


async def test_the_use_of_a_model_without_a_known_window_counts_against_the_assumed_one(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(text_reply("Hello."))
    await driver.run("Hi")
    (use,) = (await driver.session_call("GET"))["context"]
    assert (use["window"], use["window_assumed"]) == (128_000, True)
    assert use["fraction"] == round(use["tokens"] / 128_000, 4)


async def test_the_use_of_a_context_says_what_its_tokens_are(
    driver: Driver, fake: FakeProvider, project_root: Path
) -> None:
    (project_root / "long.txt").write_text("lamp " * 4_000)
    counted = Usage(input_tokens=9_001, output_tokens=40, cache_read_tokens=500)
    read = Reply((ToolCall("file_read", {"path": "long.txt"}, id="c1"),), usage=counted)
    fake.script(text_reply("Hello.", usage=counted), read, text_reply("Read.", usage=counted))
    await driver.run("Hi")
    (use,) = (await driver.session_call("GET"))["context"]
    before = use["shares"]
    assert before["results"] == 0
    assert min(before["system"], before["tools"]) > 0
    assert sum(before.values()) == use["tokens"] == 9_541
    # What the model wrote is a message.
    assert before["messages"] >= 40
    await driver.run("Read it")
    (use,) = (await driver.session_call("GET"))["context"]
    after = use["shares"]
    assert sum(after.values()) == use["tokens"]
    assert after["results"] > after["messages"]
    assert 0 < after["tools"] < before["tools"]
    # A call of an earlier version says nothing of it.
    step = {"usage": {"input_tokens": 7}}

    def forget(uow: UnitOfWork) -> None:
        (run, *_) = uow.runs.newest_of_each_agent(driver.session_id)
        uow.runs.update_step(run.id, 2, stats=step)

    await driver.daemon.services.storage.write(forget)
    (use,) = (await driver.session_call("GET"))["context"]
    assert (use["tokens"], use["shares"]) == (7, None)
