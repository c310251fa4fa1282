"""A provider refuses a request as too long: compact, try once more, then give up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import DRIVERS, Driver, check_stream, provider_settings
from tests.driver.small_window import LIMITS, compactions, events, small
from tests.fakes.provider_script import Document, Reply, StreamError, Text, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.test_context_overflow import REFUSALS

pytestmark = pytest.mark.requirement("compaction.reactive")

TOO_LONG = {
    "error": {
        "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "9000 tokens.",
        "type": "invalid_request_error",
        "code": "context_length_exceeded",
    }
}
RETURNED = Reply((StreamError(payload=TOO_LONG),))
LATE = Reply((Text("Half an ans"), StreamError(payload=TOO_LONG)))


async def talked(driver: Driver, fake: FakeProvider, turns: int = 4) -> None:
    fake.script(*(text_reply(f"Answer {n}.", usage=None) for n in range(turns)))
    for n in range(turns):
        await driver.run(f"Question {n}: " + "word " * 200)


def size(fake: FakeProvider, back: int) -> int:
    return len(list(fake.requests)[-back].body)


@pytest.mark.parametrize("wire", DRIVERS)
async def test_each_providers_refusal_compacts_and_is_tried_once_more(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], wire: str
) -> None:
    providers = provider_settings(wire, fake.base_url)
    async with small(tmp_path, settings_overrides, providers=providers, prices={}) as driver:
        await talked(driver, fake)
        fake.script(REFUSALS[wire], text_reply("Fits now."))
        watch = await driver.run("Last")
        check_stream(watch.frames)
        assert (await driver.last_run())["state"] == "succeeded"
        (record,) = await compactions(driver)
        assert record["trigger"] == "provider_overflow_retry"
        assert size(fake, 1) < size(fake, 2)
        assert b"Question 0" in fake.requests[-1].body and b"Last" in fake.requests[-1].body
        shown = [m["content"] for m in await driver.messages()]
        assert shown[-2:] == ["Last", "Fits now."]  # the refused answer is not kept


@pytest.mark.parametrize("refusal", [Document(400, TOO_LONG), Document(413, ""), RETURNED, LATE])
async def test_thrown_or_returned_early_or_late_it_is_the_same_and_nothing_of_it_is_kept(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], refusal: Reply | Document
) -> None:
    async with small(tmp_path, settings_overrides) as driver:
        await talked(driver, fake)
        fake.script(refusal, text_reply("Fits now."), text_reply("And on."))
        await driver.run("Last")
        await driver.run("On")
        assert (await driver.last_run())["state"] == "succeeded"
        assert len(await compactions(driver)) == 1
        for request in list(fake.requests)[-2:]:
            assert b"Half an ans" not in request.body and b"maximum context" not in request.body
        everything = (await driver.session_call("GET", "/messages?limit=100&include_superseded=true"))[
            "items"
        ]
        refused = [m for m in everything if m["details"].get("errorKind") == "context_length"]
        assert [m["superseded"] for m in refused] == [True]
        for run in (await driver.session_call("GET", "/runs"))["items"]:
            for step in (await driver.call("GET", f"/runs/{run['id']}"))["steps"]:
                sent = await driver.call("GET", f"/runs/{run['id']}/steps/{step['number']}/request")
                assert sent["verified"] is True


async def test_a_second_refusal_fails_the_run_flags_the_session_and_a_manual_compaction_helps(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with small(tmp_path, settings_overrides) as driver:
        await talked(driver, fake, 8)
        asked = fake.request_count
        fake.script(Document(400, TOO_LONG), Document(400, TOO_LONG))
        await driver.run("Last")
        run = await driver.last_run()
        assert (run["state"], run["reason"], fake.request_count - asked) == ("failed", "context_overflow", 2)
        assert (await driver.session_call("GET"))["context_overflow"] is True
        made = await driver.session_call("POST", "/compact", {"strategy": "drop"})
        assert made["outcome"] == "completed"
        assert (await driver.session_call("GET"))["context_overflow"] is False
        fake.script(text_reply("Better."))
        await driver.run("Again")
        assert (await driver.last_run())["state"] == "succeeded"


async def test_when_nothing_can_go_the_refusal_stands_and_nothing_is_sent_again(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with small(tmp_path, settings_overrides) as driver:
        fake.script(Document(400, TOO_LONG))
        await driver.run("Only this")
        assert fake.request_count == 1
        assert (await driver.last_run())["reason"] == "context_overflow"
        assert [row["event"] for row in await events(driver, "compaction.noop")] == ["compaction.noop"]
        assert await compactions(driver) == []


async def test_truncating_is_the_last_resort_when_the_project_allows_it(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    keeps = "always_keep: [{ role: assistant }, { role: user }]"
    more = LIMITS.replace("{ ", "{ on_overflow: truncate, ")
    async with small(tmp_path, settings_overrides, keeps, more) as driver:
        await talked(driver, fake)
        fake.script(Document(400, TOO_LONG), text_reply("Shorter."))
        await driver.run("Last")
        assert (await driver.last_run())["state"] == "succeeded"
        assert await compactions(driver) == []
        assert await events(driver, "policy.truncated")
        assert size(fake, 1) < size(fake, 2)
