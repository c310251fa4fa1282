"""Compaction in a run, on the wire: when it fires, what goes, and what the provider then receives."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import check_stream, restarted
from tests.driver.small_window import (
    WINDOW,
    asked_and_answered,
    compactions,
    events,
    reads,
    small,
    texts,
    to,
    verified,
)
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider


@pytest.mark.requirement("compaction.drop", "compaction.pairs", "compaction.records")
async def test_the_oldest_exchanges_go_before_the_call_that_would_be_too_long(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with small(tmp_path, settings_overrides) as driver:
        fake.script(*reads(15), text_reply("Done.", usage=None))
        watch = await driver.run("Read them all")
        check_stream(watch.frames)
        assert (await driver.last_run())["state"] == "succeeded"
        found = await compactions(driver)
        assert found
        first = found[0]
        assert (first["trigger"], first["strategy"], first["state"]) == (
            "threshold_crossed",
            "drop",
            "applied",
        )
        assert first["threshold_estimate"] >= 0.85 * WINDOW
        assert first["after_estimate"] < 0.60 * WINDOW
        assert first["run_id"] == (await driver.last_run())["id"]
        for request in fake.requests:
            asked, answered = asked_and_answered(request)
            assert asked == answered
            assert texts(request)[1] == "Read them all"  # the first message of the operator always stays
        asked, _ = asked_and_answered(fake.requests[-1])
        assert "c0" not in asked and asked[-1] == "c14"
        told = {frame["type"] for frame in watch.frames}
        assert {"compaction.triggered", "compaction.completed"} <= told
        audited = [
            row["event"] for row in await events(driver, "compaction.triggered", "compaction.completed")
        ]
        assert audited[:2] == ["compaction.triggered", "compaction.completed"]
        await verified(driver, fake)


@pytest.mark.requirement("compaction.readable")
async def test_what_went_is_readable_and_a_later_daemon_shows_the_model_the_same(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with small(tmp_path, settings_overrides) as driver:
        fake.script(*reads(13), text_reply("Done.", usage=None))
        await driver.run("Read them")
        shown = await driver.messages()
        everything = (await driver.session_call("GET", "/messages?limit=100&include_superseded=true"))[
            "items"
        ]
        gone = {row["id"]: row for row in everything if row["superseded"]}
        named = {i for record in await compactions(driver) for i in record["superseded_message_ids"]}
        assert gone.keys() == named
        assert not gone.keys() & {row["id"] for row in shown}
        record = (await compactions(driver))[0]
        assert {gone[i]["superseded_by"] for i in record["superseded_message_ids"]} == {record["id"]}
        one = await driver.session_call("GET", f"/messages/{next(iter(gone))}")
        assert one["content"] == gone[one["id"]]["content"]
        session_id, before = driver.session_id, fake.requests[-1].json["messages"]
    settings = {
        **settings_overrides,
        "models": {"main": ["fake:small"], "short": ["fake:sum"]},
        "prices": {"fake:small": {"context_window": WINDOW}},
    }
    async with restarted(tmp_path / "data", **settings) as again:
        again.session_id = session_id
        fake.script(text_reply("Yes.", usage=None))
        await again.run("Sure?")
        after = fake.requests[-1].json["messages"]
    assert after[: len(before)] == before
    assert [m["content"] for m in after[len(before) :]] == ["Done.", "Sure?"]


@pytest.mark.requirement("compaction.noop")
async def test_when_nothing_may_go_nothing_is_stored_and_it_is_said_once(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with small(tmp_path, settings_overrides) as driver:
        fake.script(text_reply("Long indeed.", usage=None))
        await driver.run("word " * 5_000)
        assert (await driver.last_run())["state"] == "succeeded"
        assert await compactions(driver) == []
        noops = await events(driver, "compaction.noop", "compaction.completed")
        assert [row["event"] for row in noops] == ["compaction.noop"]


@pytest.mark.requirement("compaction.threshold")
async def test_between_two_compactions_each_request_begins_with_the_one_before(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with small(tmp_path, settings_overrides) as driver:
        fake.script(*reads(26), text_reply("Done.", usage=None))
        await driver.run("Go")
        made = len(await compactions(driver))
        lists = [request.json["messages"] for request in to("small", fake)]
        broken = sum(later[: len(earlier)] != earlier for earlier, later in itertools.pairwise(lists))
        assert broken == made
