"""By no way does a compaction lose a summary, or what tells the model that something was taken out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from app.harness.compaction.ports import ObserverAnswer, PreCompact
from tests.driver.sessions import Driver
from tests.driver.small_window import SUMMARIZE, compactions, reads, small, texts, to
from tests.fakes.provider_script import Document, RecordedRequest, Reply, Text, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.compaction.test_delegate import DECLARED, LIMITS, PLUGIN, Plugins, installed

pytestmark = pytest.mark.requirement("durability.summaries")

SAID = "The shop sells lamps, and the door is green."
NOTE = re.compile(r"\[(\d+) earlier messages [^\]]*were taken out without a summary\.")


def turns(count: int) -> list[Reply]:
    return [Reply((Text(f"Turn {n}. " + "word " * 150),), usage=None) for n in range(count)]


async def talk(driver: Driver, count: int) -> None:
    for number in range(count):
        await driver.run(f"Question {number}. " + "please " * 60)


async def visible(driver: Driver) -> list[str]:
    return [message["content"] for message in await driver.messages()]


def counted(contents: list[str]) -> list[int]:
    """Return how many messages each note speaks of."""
    return [int(found[1]) for content in contents for found in NOTE.finditer(content)]


async def test_a_summary_that_grows_too_long_for_the_second_compaction_is_kept_by_its_fallback(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    model, lengths = turns(10), [600, 2_000, 2_000]

    def respond(request: RecordedRequest) -> Reply | Document:
        if request.json["model"] != "sum":
            return model.pop(0)
        return text_reply(SAID + " lamp" * lengths.pop(0), usage=None)

    fake.respond = respond
    async with small(tmp_path, settings_overrides, "strategy: summarize, " + SUMMARIZE) as driver:
        await talk(driver, 9)
        for _ in range(3):
            await driver.session_call("POST", "/compact", {})
        first, *later = await compactions(driver)
        assert first["details"]["method"] == "summarize"
        assert any("no shorter" in (record["fallback_reason"] or "") for record in later)
        await driver.run("What do we sell?")
        shown = texts(to("small", fake)[-1])
        assert sum(SAID in text for text in shown) == 1
        assert len(counted(shown)) == 1


async def test_a_summary_that_replaces_the_line_about_dropped_messages_continues_it(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    model, broken = turns(19), [True]

    def respond(request: RecordedRequest) -> Reply | Document:
        if request.json["model"] != "sum":
            return model.pop(0)
        return Document(400, {"error": {"message": "no"}}) if broken else text_reply(SAID, usage=None)

    fake.respond = respond
    async with small(tmp_path, settings_overrides, SUMMARIZE) as driver:
        await talk(driver, 9)
        await driver.session_call("POST", "/compact", {"strategy": "drop"})
        broken.clear()
        (dropped,) = counted(await visible(driver))
        for _ in range(2):
            await talk(driver, 5)
            await driver.session_call("POST", "/compact", {"strategy": "summarize"})
            summaries = [content for content in await visible(driver) if SAID in content]
            assert len(summaries) == 1 and counted(summaries) == [dropped]
            assert counted(await visible(driver)) == [dropped]


async def test_what_a_plugin_has_said_in_the_place_of_messages_survives_later_drops(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.script(*turns(18))
    told = ["The tabs are wanted."]

    def says(notice: PreCompact) -> ObserverAnswer:
        return ObserverAnswer("notes", 1.0, "inject" if told else "null", inject=told.pop() if told else None)

    (tmp_path / "small").mkdir()
    async with small(tmp_path / "small", settings_overrides, "strategy: drop", DECLARED + LIMITS) as driver:
        installed(driver, Plugins(lambda notice: {}, observers=[says]))
        for _ in range(2):
            await talk(driver, 8)
            await driver.session_call("POST", "/compact", {"strategy": "drop"})
        contents = await visible(driver)
        assert sum("The tabs are wanted." in content for content in contents) == 1
        assert len(counted(contents)) == 2


@pytest.mark.parametrize("words", [None, "", "  \n"])
async def test_a_compactor_without_words_leaves_the_line_and_takes_no_summary(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], words: str | None
) -> None:
    fake.script(*turns(20))
    summary: list[str | None] = [SAID]

    def oldest(notice: PreCompact) -> dict[str, Any]:
        gone = [message["id"] for message in notice.messages_being_compacted][:6]
        stays = [{"id": one["id"]} for one in notice.messages if one["id"] not in gone]
        return {"messages": stays, "superseded": gone, "summary": summary[0]}

    (tmp_path / "small").mkdir()
    async with small(tmp_path / "small", settings_overrides, PLUGIN, DECLARED + LIMITS) as driver:
        installed(driver, Plugins(oldest))
        await talk(driver, 8)
        await driver.session_call("POST", "/compact", {})
        summary[0] = words
        for turn in range(2):
            await talk(driver, 3)
            await driver.session_call("POST", "/compact", {})
            contents = await visible(driver)
            assert contents.count(SAID) == 1, turn
            assert len(counted(contents)) == 1, turn
        assert all("a summary" in record["fallback_reason"] for record in (await compactions(driver))[1:])


async def test_a_compactor_that_only_drops_is_reported_in_the_line(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.script(*turns(10))

    def oldest(notice: PreCompact) -> dict[str, Any]:
        gone = [message["id"] for message in notice.messages_being_compacted][:6]
        return {
            "messages": [{"id": m["id"]} for m in notice.messages if m["id"] not in gone],
            "superseded": gone,
        }

    (tmp_path / "small").mkdir()
    async with small(tmp_path / "small", settings_overrides, PLUGIN, DECLARED + LIMITS) as driver:
        installed(driver, Plugins(oldest))
        await talk(driver, 8)
        await driver.session_call("POST", "/compact", {})
        assert counted(await visible(driver)) == [6]
        await driver.session_call("POST", "/compact", {})
        (record, *_) = await compactions(driver)
        assert (record["details"]["method"], record["fallback_occurred"]) == ("delegate", False)


async def test_an_edited_proposal_never_takes_messages_silently_or_a_summary_without_another(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.script(*reads(14), *turns(1), *reads(14, first=14), *turns(1))
    own = "The customer wants it in blue."
    async with small(tmp_path, settings_overrides, "strategy: checkpoint") as driver:
        async with driver.watching() as watch:
            await driver.post("Read them all")
            await watch.until_state("paused")
        (proposal,) = await compactions(driver)
        edit = f"/compactions/{proposal['id']}/edit"
        for summary in ("", " \n"):
            edited = await driver.session_call("POST", edit, {"summary": summary})
            (count,) = counted([edited["summary"]])
        fewer = proposal["superseded_message_ids"][:-2]
        edited = await driver.session_call("POST", edit, {"superseded_message_ids": fewer})
        assert counted([edited["summary"]]) == [len(fewer)] and len(fewer) < count + 1
        await driver.session_call("POST", edit, {"summary": own})
        await driver.session_call("POST", f"/compactions/{proposal['id']}/approve")
        async with driver.watching() as watch:
            await driver.session_call("POST", "/resume", {})
            await watch.until_state("idle")
            start = len(watch.frames)
            await driver.post("Read the others")
            await watch.until_state("paused", start=start)
        newest = (await compactions(driver))[-1]
        assert newest["state"] == "proposed"
        (summary_id,) = [m["id"] for m in await driver.messages() if m["content"] == own]
        wider = [summary_id, *newest["superseded_message_ids"]]
        path = f"/api/v1/sessions/{driver.session_id}/compactions/{newest['id']}/edit"
        for body in ({"superseded_message_ids": wider}, {"superseded_message_ids": wider, "summary": ""}):
            refused = await driver.client.post(path, json=body)
            assert refused.status_code == 400, refused.text
            assert "new `summary`" in refused.json()["error"]["message"]
        assert own in await visible(driver)
