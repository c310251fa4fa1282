"""When plugins run: restarts with growing waits, disabling, health, and nothing left of any of it."""

from __future__ import annotations

import asyncio
import os
import random
import time
from typing import Any

import pytest

from app.bridges.processes.supervisor import FailureLimits, FailureWindow
from app.errors import Conflict
from app.states import PLUGIN_MOVES, PluginState, move
from tests.bridges.conftest import alive, descriptors, until
from tests.bridges.plugins.conftest import Open

QUICK: dict[str, Any] = {"start_seconds": 60, "health_seconds": 300, "hanging_grace_seconds": 0.1}
WATCHED = {**QUICK, "health_seconds": 1.5}
"""A plugin that does not hang answers a ping within that on a busy machine."""
INITIALIZE = ("--at", "initialize")
GOOD_MANIFEST = """
name: good
version: 0.1.0
kaged_api: 1
description: Does as it should.
command: [python, -m, app.plugins.sdk, plugin.py]
hooks: [on_session_start]
"""
GOOD = """
from app.plugins.sdk import Plugin
plugin = Plugin("good", "0.1.0")
plugin.hook("on_session_start")(lambda call: {"inject": "good"})
"""


@pytest.mark.requirement("plugins.supervision")
def test_the_waits_double_and_five_failures_in_ten_minutes_are_the_end() -> None:
    now = 0.0
    window = FailureWindow(now=lambda: now)
    assert (window.wait_seconds, window.exhausted) == (0.0, False)
    waits = []
    for _ in range(9):  # one every three minutes: never five within ten
        window.started()
        window.failed()
        waits.append(window.wait_seconds)
        assert not window.exhausted
        now += 180
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    window.started()
    now += 600
    window.failed()
    assert window.wait_seconds == 1, "it had run well for ten minutes"
    for _ in range(4):
        assert not window.exhausted
        window.failed()
    assert window.exhausted
    window.forgive()
    assert (window.wait_seconds, window.exhausted, window.total) == (0.0, False, 14)


@pytest.mark.requirement("plugins.supervision")
def test_the_moves_of_a_plugin() -> None:
    legal = {(one, other) for one, others in PLUGIN_MOVES.items() for other in others}
    for one in PluginState:
        for other in PluginState:
            if (one, other) in legal:
                assert move(one, other) is other
            else:
                with pytest.raises(Conflict):
                    move(one, other)


@pytest.mark.requirement("plugins.supervision")
async def test_one_that_always_dies_is_disabled_with_a_reason_until_it_is_enabled(bench: Open) -> None:
    async with bench(**QUICK) as it:
        plugin = it.hostile(*INITIALIZE, "--die")
        assert (await it.hook(plugin)).kind == "unavailable"
        await until(lambda: bool(it.events("disabled")))
        assert it.clock.slept == [1.0, 2.0, 4.0, 8.0]
        assert len(it.starts()) == 5
        assert [data["failures"] for data in it.events("failed")] == [1, 2, 3, 4, 5]
        assert all(data["exit_code"] == 3 for data in it.events("failed"))
        (status,) = await it.plugins.status()
        assert status.state == "disabled"
        assert status.failures == 5
        assert status.reason is not None
        assert "5 failures in 10 minutes" in status.reason
        assert "exit code 3" in status.reason
        outcome = await it.hook(plugin)
        assert outcome.kind == "unavailable"
        assert "enable" in outcome.error
        assert len(it.starts()) == 5
        assert await it.plugins.enable("prj_1", "hostile", "primary.subagents.other") == 0
        assert await it.plugins.enable("prj_1", "hostile") == 1
        assert await it.plugins.enable("prj_1", "hostile") == 0
        assert await it.state() == "stopped"
        assert (await it.hook(plugin)).kind == "unavailable"
        assert len(it.starts()) > 5
        assert it.events("enabled") == [{"plugin": "hostile", "agent_path": "primary"}]


@pytest.mark.requirement("plugins.supervision")
async def test_one_that_dies_now_and_then_runs_on(bench: Open) -> None:
    async with bench(**QUICK) as it:
        plugin = it.hostile("--at", "kaged.hook.pre_compact", "--die")
        for round_ in range(1, 8):
            it.clock.at += 700
            assert (await it.hook(plugin, "pre_compact")).kind == "error"
            await until(lambda count=round_ + 1: len(it.events("started")) == count)  # type: ignore[misc]
            assert (await it.hook(plugin)).result == {"inject": "good"}
        assert it.clock.slept == [1.0] * 7


@pytest.mark.requirement("plugins.supervision")
async def test_between_a_failure_and_the_next_start_nobody_waits(bench: Open) -> None:
    async with bench(**QUICK) as it:
        it.clock.running.clear()
        plugin = it.hostile("--die", "--times", "1")
        assert (await it.hook(plugin)).kind == "error"
        await until(lambda: bool(it.events("failed")))
        began = time.monotonic()
        for _ in range(10):
            outcome = await it.hook(plugin)
            assert outcome.kind == "unavailable"
            assert "exit code 3" in outcome.error
        assert time.monotonic() - began < 30
        assert await it.state() == "restarting"
        it.clock.running.set()
        await until(lambda: len(it.events("started")) == 2)
        assert (await it.hook(plugin)).kind == "result"


@pytest.mark.requirement("plugins.supervision")
async def test_three_missed_pings_restart_it(bench: Open) -> None:
    async with bench(**WATCHED) as it:
        plugin = it.hostile("--hang", "--times", "1", "--deaf", hook_timeout_sec=3)
        assert (await it.hook(plugin)).kind == "timeout"
        (first,) = it.starts()
        await until(lambda: len(it.events("started")) == 2)
        assert "did not answer 3 pings" in it.events("failed")[0]["reason"]
        assert not alive(first)
        assert (await it.hook(plugin)).kind == "result"


@pytest.mark.requirement("plugins.supervision")
async def test_one_that_dies_while_nobody_asks_is_started_again(bench: Open) -> None:
    async with bench(**QUICK) as it:
        await it.hook(it.hostile("--die-after", "0.5", "--times", "1"))
        await until(lambda: len(it.events("started")) == 2)
        assert it.events("failed")[0]["exit_code"] == 5


@pytest.mark.requirement("plugins.supervision")
async def test_a_program_that_is_not_there_is_a_reason(bench: Open) -> None:
    async with bench(**QUICK) as it:
        outcome = await it.hook(it.hostile(command=["no-such-program-at-all"]))
        assert outcome.kind == "unavailable"
        assert "no-such-program-at-all" in outcome.error


@pytest.mark.requirement("plugins.supervision")
async def test_plugins_do_not_notice_each_other(bench: Open) -> None:
    async with bench(**QUICK) as it:
        good = it.package(GOOD_MANIFEST, name="good", script=GOOD)
        bad = it.hostile("--hang", hook_timeout_sec=5)
        await it.hook(good)
        waiting = asyncio.create_task(it.hook(bad))
        for _ in range(20):
            assert (await it.hook(good)).kind == "result"
        assert not waiting.done()
        assert (await waiting).kind == "timeout"


@pytest.mark.requirement("plugins.supervision")
async def test_who_calls_may_go_away_and_the_start_goes_on(bench: Open) -> None:
    async with bench(**QUICK) as it:
        plugin = it.hostile(*INITIALIZE, "--late", "0.5")
        calls = [asyncio.create_task(it.hook(plugin)) for _ in range(5)]
        await until(lambda: bool(it.starts()))
        for call in calls[:-1]:
            call.cancel()
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert results[-1].kind == "result"
        assert all(isinstance(one, asyncio.CancelledError) for one in results[:-1])
        assert len(it.starts()) == 1


@pytest.mark.requirement("plugins.supervision")
async def test_a_call_that_began_before_its_project_was_unloaded_starts_nothing(bench: Open) -> None:
    async with bench(**QUICK) as it:
        plugin = it.package(GOOD_MANIFEST, name="good", script=GOOD)
        call = asyncio.create_task(it.hook(plugin))
        await asyncio.sleep(0)  # now the call reads the manifest, in a thread
        await it.plugins.end_project("prj_1")
        outcome = await call
        assert (outcome.kind, outcome.error) == ("unavailable", "its project was unloaded")
        assert await it.plugins.status() == []
        assert (await it.hook(plugin)).kind == "result"


@pytest.mark.requirement("plugins.supervision")
@pytest.mark.parametrize("seed", range(12))
async def test_closing_at_any_moment_ends_everything(bench: Open, seed: int) -> None:
    chance = random.Random(seed)
    behaviours: tuple[tuple[str, ...], ...] = (
        (),
        (*INITIALIZE, "--die"),
        (*INITIALIZE, "--hang"),
        ("--hang",),
        ("--deaf", "--children", "2"),
        ("--die",),
    )
    async with bench(**QUICK) as it:
        plugin = it.hostile(*behaviours[seed % len(behaviours)])
        calls = [asyncio.create_task(it.hook(plugin)) for _ in range(3)]
        await asyncio.sleep(chance.random() * 0.3)
        began = time.monotonic()
        if chance.random() < 0.5:
            await it.plugins.end_project("prj_1")
        else:
            await it.plugins.aclose()
        assert time.monotonic() - began < 30
        async with asyncio.timeout(30):
            for outcome in await asyncio.gather(*calls):
                assert outcome.kind in {"result", "unavailable", "error"}
        assert not [pid for pid in it.starts() if alive(pid)]
        assert await it.plugins.status() == []


@pytest.mark.requirement("plugins.supervision")
async def test_after_the_end_nothing_is_started(bench: Open) -> None:
    async with bench(**QUICK) as it:
        await it.plugins.aclose()
        outcome = await it.hook(it.hostile())
        assert outcome.kind == "unavailable"
        assert it.starts() == []


@pytest.mark.requirement("plugins.supervision")
async def test_many_restarts_leak_neither_processes_nor_descriptors(bench: Open) -> None:
    async with bench(**{**QUICK, "restarts": FailureLimits(failures=1_000)}) as it:
        plugin = it.hostile("--die", "--half", "--children", "1", "--flood-log", "5")
        await it.hook(plugin)
        await until(lambda: len(it.events("started")) == 2)
        before, tasks = descriptors(), len(asyncio.all_tasks())
        for count in range(3, 28):
            await it.hook(plugin)
            await until(lambda wanted=count: len(it.events("started")) == wanted)  # type: ignore[misc]
        await until(lambda: len(descriptors()) <= len(before))
        await until(lambda: len(asyncio.all_tasks()) <= tasks)
        running = [pid for pid in it.starts() if alive(pid)]
        assert len(running) == 1
        assert os.getpid() not in running
