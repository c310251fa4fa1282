"""A compactor plugin decides, what it says is checked, and observers keep and add; else it is a drop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.harness.compaction.plan import StrategyFailed, Window
from app.harness.compaction.ports import (
    CompactorAnswer,
    CompactorFailed,
    ObserverAnswer,
    PostCompact,
    PreCompact,
)
from app.harness.compaction.strategies.delegate import checked_plan
from app.harness.compaction.units import units_of
from app.harness.conversation.history import History
from app.harness.run.run_context import RunContext
from tests.driver.conversations import exchange, row, traffic
from tests.driver.sessions import Driver
from tests.driver.small_window import compactions, events, reads, small, texts, verified
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("compaction.delegate")

PLUGIN = "strategy: delegate, delegate: { plugin: memory }"
DECLARED = "  plugins: { memory: { package: nowhere } }\n"

Decide = Callable[[PreCompact], Mapping[str, Any]]


@dataclass
class Plugins:
    """Fills the port in the daemon's place of plugin processes."""

    decide: Decide
    observers: Sequence[Callable[[PreCompact], ObserverAnswer]] = ()
    before: list[PreCompact] = field(default_factory=list)
    after: list[PostCompact] = field(default_factory=list)

    async def pre_compact(self, run: RunContext, notice: PreCompact) -> Sequence[ObserverAnswer]:
        self.before.append(notice)
        return [observer(notice) for observer in self.observers]

    async def compact(self, run: RunContext, plugin: str, notice: PreCompact) -> CompactorAnswer:
        assert plugin == "memory"
        return CompactorAnswer(12.0, self.decide(notice))

    async def post_compact(self, run: RunContext, notice: PostCompact) -> Sequence[ObserverAnswer]:
        self.after.append(notice)
        return [ObserverAnswer("memory", 1.0, "null")] if self.observers else []


def installed(driver: Driver, plugins: Plugins) -> Plugins:
    services = driver.daemon.services.sessions._services.runs.compaction
    object.__setattr__(services, "plugins", plugins)
    return plugins


def oldest(notice: PreCompact, count: int = 8, summary: str = "Eight went.") -> dict[str, Any]:
    """Return what a well-behaved compactor says: the oldest `count` messages that may go, go."""
    gone = [message["id"] for message in notice.messages_being_compacted][:count]
    stays = [{"id": m["id"]} for m in notice.messages if m["id"] not in gone]
    return {"messages": [{"role": "system", "content": summary}, *stays], "superseded": gone, "summary": "x"}


async def test_a_compactor_decides_what_goes_and_what_stands_in_its_place(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    (tmp_path / "small").mkdir()
    async with small(tmp_path / "small", settings_overrides, PLUGIN, DECLARED + LIMITS) as driver:
        plugins = installed(driver, Plugins(oldest))
        fake.script(*reads(13), text_reply("Done.", usage=None))
        await driver.run("Read")
        record = (await compactions(driver))[0]
        assert (record["strategy"], record["fallback_occurred"]) == ("delegate", False)
        assert record["summary"] == "Eight went."
        assert record["plugins_fired"] == [
            {"name": "memory", "role": "compactor", "duration_ms": 12.0, "result_kind": "compactor_result"}
        ]
        shown = texts(fake.requests[-1])
        assert shown[1:3] == ["Read", "Eight went."]
        notice = plugins.before[0]
        assert not notice.dry_run and notice.threshold_estimate == record["threshold_estimate"]
        assert notice.messages[0]["always_keep"] and notice.messages[0]["content"] == "Read"
        assert plugins.after[0].summary_message_id == record["summary_message_id"]
        await verified(driver, fake)


LIMITS = "limits: { max_output_tokens: 500 }\n"


def failing(notice: PreCompact) -> Mapping[str, Any]:
    raise CompactorFailed("no answer within 10 s", 10_000.0)


def half_a_pair(notice: PreCompact) -> Mapping[str, Any]:
    return oldest(notice, 7)


def without_the_task(notice: PreCompact) -> Mapping[str, Any]:
    said = oldest(notice)
    task = notice.messages[0]["id"]
    stays = [m for m in said["messages"] if m.get("id") != task]
    return {**said, "messages": stays, "superseded": [*said["superseded"], task]}


def strangers(notice: PreCompact) -> Mapping[str, Any]:
    said = oldest(notice)
    return {**said, "superseded": [*said["superseded"], "msg_of_somebody_else"]}


@pytest.mark.parametrize(
    ("decide", "code"),
    [
        (failing, "no answer within 10 s"),
        (half_a_pair, "compactor_split_tool_pair"),
        (without_the_task, "compactor_dropped_always_keep"),
        (strangers, "compactor_invalid_result"),
        (lambda notice: {}, "compactor_invalid_result"),
    ],
)
async def test_a_compactor_that_fails_or_cheats_is_reported_and_the_oldest_are_dropped(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], decide: Decide, code: str
) -> None:
    async with small(tmp_path, settings_overrides, PLUGIN, DECLARED + LIMITS) as driver:
        installed(driver, Plugins(decide))
        fake.script(*reads(13), text_reply("Done.", usage=None))
        await driver.run("Read")
        assert (await driver.last_run())["state"] == "succeeded"
        record = (await compactions(driver))[0]
        assert (record["strategy"], record["fallback_occurred"]) == ("delegate", True)
        assert record["fallback_reason"].startswith("delegate: ") and code in record["fallback_reason"]
        assert record["plugins_fired"][0]["result_kind"] == "error"
        assert (record["details"]["method"], "without a summary" in record["summary"]) == ("drop", True)
        failed = (await events(driver, "compaction.failed"))[0]["data"]
        assert (failed["attempted_strategy"], failed["fallback_strategy"]) == ("delegate", "drop")
        assert code in failed["reason"]


async def test_a_plugin_that_does_not_run_is_a_failed_compactor(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with small(tmp_path, settings_overrides, PLUGIN, DECLARED + LIMITS) as driver:
        fake.script(*reads(13), text_reply("Done.", usage=None))
        await driver.run("Read")
        record = (await compactions(driver))[0]
        assert (record["fallback_occurred"], record["details"]["method"]) == (True, "drop")


async def test_observers_retain_messages_inject_texts_and_hear_what_became_of_it(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    def keeps_the_first(notice: PreCompact) -> ObserverAnswer:
        first = notice.messages_being_compacted[0]["id"]
        return ObserverAnswer("memory", 3.0, "retain", retain=(first, "msg_unknown"))

    def adds(notice: PreCompact) -> ObserverAnswer:
        return ObserverAnswer("notes", 4.0, "inject", inject="Remember the tabs.")

    async with small(tmp_path, settings_overrides) as driver:
        plugins = installed(driver, Plugins(oldest, [keeps_the_first, adds]))
        fake.script(*reads(13), text_reply("Done.", usage=None))
        await driver.run("Read")
        record = (await compactions(driver))[0]
        assert plugins.before[0].messages_being_compacted[0]["id"] not in record["superseded_message_ids"]
        assert [fired["result_kind"] for fired in record["plugins_fired"]] == ["retain", "inject", "null"]
        assert "<plugin:notes>Remember the tabs.</plugin:notes>" in record["summary"]
        assert record["summary"] in texts(fake.requests[-1])
        assert len(plugins.after) == len(await compactions(driver))
        seen = len(plugins.before)
        await driver.session_call("POST", "/compactions/dry-run")
        assert [notice.dry_run for notice in plugins.before[seen:]] == [True]
        assert len(plugins.after) == len(await compactions(driver))
        await verified(driver, fake)


@pytest.mark.requirement("plugins.hostile")
async def test_an_observer_that_retains_everything_keeps_only_what_there_is_room_for(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    def keeps_all(notice: PreCompact) -> ObserverAnswer:
        ids = tuple(one["id"] for one in notice.messages_being_compacted)
        return ObserverAnswer("memory", 3.0, "retain", retain=ids)

    async with small(tmp_path, settings_overrides) as driver:
        installed(driver, Plugins(oldest, [keeps_all]))
        fake.script(*reads(20), text_reply("Done.", usage=None))
        await driver.run("Read")
        assert (await driver.last_run())["state"] == "succeeded"
        done = await compactions(driver)
        assert len(done) > 1
        assert all(record["superseded_message_ids"] for record in done)
        assert all(record["after_estimate"] <= record["details"]["goal"] for record in done)
        assert not await events(driver, "compaction.noop")
        await verified(driver, fake)


def window(*kept: int) -> Window:
    rows = [row("operator", "task", 1), *exchange(2, "a", ("x", {}, "1"), ("y", {}, "2"))]
    rows += [row("primary", "said", 5), row("operator", "more", 6)]
    return Window(units_of(History(rows).entries), frozenset(kept), 0, lambda tokens: tokens)


@pytest.mark.parametrize(
    "change",
    [
        lambda ids, said: said | {"superseded": ids[1:3]},
        lambda ids, said: said | {"messages": [{"id": ids[0]}, {"id": ids[0]}, *said["messages"][1:]]},
        lambda ids, said: said | {"messages": list(reversed(said["messages"]))},
        lambda ids, said: said | {"messages": [*said["messages"], {"id": ids[1]}]},
        lambda ids, said: said | {"messages": [*said["messages"], {"content": "a"}, {"content": "b"}]},
        lambda ids, said: said | {"messages": [*said["messages"], 7]},
        lambda ids, said: said | {"messages": [*said["messages"], {"id": 7}]},
        lambda ids, said: said | {"messages": "all"},
        lambda ids, said: said | {"superseded": ids[1]},
        lambda ids, said: said | {"superseded": [1, 2]},
        lambda ids, said: said | {"superseded": [], "messages": [{"id": i} for i in ids[:-1]]},
        lambda ids, said: said | {"summary": 7},
        lambda ids, said: said | {"summary": "x" * 500_000},
    ],
)
def test_every_other_answer_is_refused(change: Callable[[list[str], dict[str, Any]], dict[str, Any]]) -> None:
    given = window(0, 3)
    ids = [row_id for unit in given.units for row_id in unit.row_ids]
    said = {
        "messages": [{"id": i} for i in (ids[0], ids[4], ids[5])],
        "superseded": ids[1:4],
        "summary": "short",
    }
    assert checked_plan(said, given).gone == [given.units[1]]
    with pytest.raises(StrategyFailed, match=r"^compactor_"):
        checked_plan(change(ids, dict(said)), given)


def test_of_a_long_conversation_the_check_is_linear() -> None:
    units = units_of(History(traffic(2_000)).entries)
    given = Window(units, frozenset({0}), 0, lambda tokens: tokens)
    ids = [row_id for unit in units for row_id in unit.row_ids]
    said = {"messages": [{"id": i} for i in (ids[0], *ids[2000:])], "superseded": ids[1:2000]}
    assert len(checked_plan(said, given).gone) >= 900
