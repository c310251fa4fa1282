"""Summaries: by a model of their own, in pieces when they must, with what is kept word for word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.messages import Usage
from tests.driver.sessions import Driver
from tests.driver.small_window import (
    PRICES,
    SUMMARIZE,
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
from tests.fakes.provider_script import Document, RecordedRequest, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

SUMMARY = "The files 0 and more were read.\n\n## Decisions\n- Files are read in order."


class TwoModels:
    """Answers the agent from a script, and the summarizer with a text (or a failure)."""

    def __init__(self, agent: list[Reply], summarizer: Reply | Document) -> None:
        self.agent, self.summarizer = agent, summarizer

    def __call__(self, request: RecordedRequest) -> Reply | Document:
        return self.summarizer if request.json["model"] == "sum" else self.agent.pop(0)


def both(agent: list[Reply], said: str = SUMMARY, **usage: int) -> TwoModels:
    counted = Usage(input_tokens=1_000, output_tokens=100) if not usage else Usage(**usage)
    return TwoModels([*agent, text_reply("Done.", usage=None)], text_reply(said, usage=counted))


async def summary_row(driver: Driver) -> dict[str, Any]:
    return next(m for m in await driver.messages() if m["details"].get("kind") == "compaction_summary")


@pytest.mark.requirement("compaction.summarize", "compaction.cost", "compaction.pairs")
@pytest.mark.parametrize("strategy", ["strategy: summarize, ", ""])
async def test_a_summary_stands_where_the_messages_stood_and_its_cost_is_separate(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], strategy: str
) -> None:
    """Also with `drop`, when the project names a summarizer."""
    fake.respond = both(reads(14))
    async with small(tmp_path, settings_overrides, strategy + SUMMARIZE) as driver:
        await driver.run("Read them all")
        (record,) = await compactions(driver)
        assert record["strategy"] == ("summarize" if strategy else "drop")
        assert record["details"]["method"] == "summarize"
        assert (record["fallback_occurred"], record["after_estimate"] < 0.6 * WINDOW) == (False, True)
        row = await summary_row(driver)
        assert (row["role"], row["id"]) == ("system", record["summary_message_id"])
        assert row["content"] == record["summary"]
        assert SUMMARY in row["content"]
        shown = texts(fake.requests[-1])
        assert shown[1] == "Read them all"
        assert shown[2] == row["content"]
        asked, answered = asked_and_answered(fake.requests[-1])
        assert asked == answered and "c0" not in asked

        (sent,) = to("sum", fake)
        assert sent.json["messages"][0]["content"] == "You summarize.\n"
        assert 'calls file.read {"path":"file0.txt"}' in texts(sent)[1]
        assert texts(sent)[1].index('"file0.txt"') < texts(sent)[1].index("content of 0")  # call and result
        assert "tools" not in sent.json

        cost = (await driver.session_call("GET"))["cost_usd"]
        assert cost["compactor"] == pytest.approx(1_000 * 3e-6 + 100 * 4e-6)
        assert record["plugin_cost"]["cost_usd"] == cost["compactor"]
        assert (record["plugin_cost"]["provider"], record["plugin_cost"]["model"]) == ("fake", "sum")
        assert row["details"]["compactor_cost"]["total"] == cost["compactor"]
        steps = (await driver.call("GET", f"/runs/{(await driver.last_run())['id']}"))["steps"]
        told = [
            step["stats"]["compactor_cost"]["total"] for step in steps if "compactor_cost" in step["stats"]
        ]
        assert told == [cost["compactor"]]
        await verified(driver, fake)


@pytest.mark.requirement("compaction.cost")
async def test_a_summary_without_a_price_makes_the_sum_incomplete(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.respond = both(reads(14))
    prices = {**PRICES, "fake:sum": {"context_window": 6_000}}
    async with small(tmp_path, settings_overrides, SUMMARIZE, prices=prices) as driver:
        await driver.run("Read")
        cost = (await driver.session_call("GET"))["cost_usd"]
        assert (cost["compactor"], cost["incomplete"]) == (None, True)


@pytest.mark.requirement("compaction.summarize")
async def test_what_does_not_fit_the_summarizers_window_goes_in_pieces_that_are_merged(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    agent = reads(14)
    count = 0

    def respond(request: RecordedRequest) -> Reply:
        nonlocal count
        if request.json["model"] != "sum":
            return agent.pop(0) if agent else text_reply("Done.", usage=None)
        count += 1
        merging = texts(request)[1].startswith("Merge")
        return text_reply("All in one." if merging else f"Piece {count}.")

    fake.respond = respond
    prices = {**PRICES, "fake:sum": {"context_window": 2_000, "input": 3.0, "output": 4.0}}
    async with small(
        tmp_path, settings_overrides, "strategy: summarize, " + SUMMARIZE, prices=prices
    ) as driver:
        await driver.run("Read them all")
        sent = to("sum", fake)
        assert len(sent) >= 3
        pieces = [texts(request)[1] for request in sent[:-1]]
        assert all(
            piece.startswith(f"Summarize part {n} of {len(pieces)}") for n, piece in enumerate(pieces, 1)
        )
        merged = texts(sent[-1])[1]
        assert all(f"Piece {n}." in merged for n in range(1, len(pieces) + 1))
        record = (await compactions(driver))[0]
        assert record["summary"].count("All in one.") == 1
        assert record["details"]["model_calls"] == len(sent)
        cost = (await driver.session_call("GET"))["cost_usd"]
        assert cost["compactor"] == pytest.approx(len(sent) * (10 * 3e-6 + 5 * 4e-6))
        for piece in pieces:  # a call is never parted from its result
            assert piece.count("[calls file.read") == piece.count("[file.read result]")


@pytest.mark.requirement("compaction.summarize")
@pytest.mark.parametrize(
    "failing",
    [
        Document(400, {"error": {"message": "no"}}),
        text_reply(""),
        text_reply("word " * 20_000),
        Reply((ToolCall("x", {}),)),
    ],
)
async def test_a_summarizer_that_fails_is_reported_and_the_oldest_are_dropped(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], failing: Reply | Document
) -> None:
    fake.respond = TwoModels([*reads(14), text_reply("Done.", usage=None)], failing)
    async with small(tmp_path, settings_overrides, "strategy: summarize, " + SUMMARIZE) as driver:
        watch = await driver.run("Read")
        assert (await driver.last_run())["state"] == "succeeded"
        (record,) = await compactions(driver)
        assert (record["strategy"], record["fallback_occurred"]) == ("summarize", True)
        assert record["fallback_reason"].startswith("summarize: ")
        assert (record["details"]["method"], "without a summary" in record["summary"]) == ("drop", True)
        (failed,) = await events(driver, "compaction.failed")
        assert failed["data"]["attempted_strategy"] == "summarize"
        assert failed["data"]["fallback_strategy"] == "drop"
        assert watch.of("compaction.failed")


@pytest.mark.requirement("compaction.drop")
async def test_drop_falls_back_from_its_summary_in_silence(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    failing = Document(400, {"error": {"message": "no"}})
    fake.respond = TwoModels([*reads(14), text_reply("Done.", usage=None)], failing)
    async with small(tmp_path, settings_overrides, SUMMARIZE) as driver:
        await driver.run("Read")
        (record,) = await compactions(driver)
        assert (record["strategy"], record["fallback_occurred"]) == ("drop", False)
        assert not await events(driver, "compaction.failed")


@pytest.mark.requirement("compaction.summarize", "compaction.reactive")
async def test_a_later_summary_takes_over_the_facts_of_the_one_that_it_replaces(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    decided = Reply((Text("We decided to keep the tabs.\nMore."), *reads(1)[0].parts), usage=None)
    agent = [decided, *reads(29, first=1)]
    fake.respond = both(agent)
    async with small(tmp_path, settings_overrides, SUMMARIZE) as driver:
        await driver.run("Read them all")
        made = await compactions(driver)
        assert len(made) >= 2
        first, last = made[0], made[-1]
        assert first["summary_message_id"] in made[1]["superseded_message_ids"]
        for record in (first, last):
            facts = record["summary"].partition("## Kept word for word")[2]
            assert "- file0.txt" in facts
            assert "- We decided to keep the tabs." in facts
            assert facts.count("- Files are read in order.") == 1
        assert (
            len([m for m in await driver.messages() if m["details"].get("kind") == "compaction_summary"]) == 1
        )
        await verified(driver, fake)
