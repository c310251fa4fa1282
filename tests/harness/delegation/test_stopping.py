"""Whoever stops a parent stops all below it, and each of them is closed exactly once."""

from __future__ import annotations

import time
from typing import Any

import pytest

from app.harness.delegation.hooks import Delegation, DelegationHooks
from tests.driver.family import Cast, agent, calling
from tests.driver.sessions import Driver, check_stream
from tests.fakes.provider_script import Reply, Stall, Text
from tests.harness.delegation.conftest import Drive

DEEP = agent(
    "primary",
    subagents={"a": agent("a", subagents={"b": agent("b"), "c": agent("c")}), "d": agent("d")},
)


def start_deep(cast: Cast) -> None:
    """Let every leaf say one word and go on thinking."""
    cast.script("primary", calling(("agent-a", {"task": "x"}), ("agent-d", {"task": "y"})))
    cast.script("a", calling(("agent-b", {"task": "x"}), ("agent-c", {"task": "y"})))
    for leaf in ("b", "c", "d"):
        cast.script(leaf, Reply((Text(leaf), Stall())))


async def all_runs(driver: Driver) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await driver.session_call("GET", "/runs?all=true&limit=100"))["items"]
    return found


@pytest.mark.requirement("delegation.cancel")
async def test_a_cancel_ends_the_whole_subtree(drive: Drive, cast: Cast) -> None:
    start_deep(cast)
    async with drive(DEEP) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until(lambda _: sorted(watch.text()) == ["b", "c", "d"])
        asked = time.monotonic()
        await driver.session_call("POST", "/cancel")
        took = time.monotonic() - asked
        await watch.until_state("idle")
        runs = await all_runs(driver)
        messages = await driver.messages()

    assert took < 30
    check_stream(watch.frames)
    assert {run["state"] for run in runs} == {"cancelled"} and len(runs) == 5
    ended = [f["payload"]["run_id"] for f in watch.of("run.ended")]
    assert sorted(ended) == sorted(run["id"] for run in runs)
    assert ended[-1] == next(run["id"] for run in runs if run["agent_path"] == "primary")
    partial = [m for m in messages if m["role"] == "primary" and m["content"] in ("b", "c", "d")]
    assert all(m["complete"] and m["details"]["stopReason"] == "aborted" for m in partial)


@pytest.mark.requirement("delegation.cancel", "checkpoint.grace")
async def test_a_pause_interrupts_the_whole_subtree(
    drive: Drive, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents at work are no tools: they get no grace."""
    monkeypatch.setattr("app.harness.sessions.session.PAUSE_GRACE_SECONDS", 60.0)
    start_deep(cast)
    async with drive(DEEP) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until(lambda _: sorted(watch.text()) == ["b", "c", "d"])
        asked = time.monotonic()
        await driver.session_call("POST", "/pause")
        took = time.monotonic() - asked
        await watch.until_state("paused")
        runs = await all_runs(driver)
        resumed = await driver.session_call("POST", "/resume", status=201)
        await watch.until(
            lambda f: f["type"] == "run.ended" and f["payload"]["run_id"] == resumed["run"]["id"]
        )

    assert took < 30
    assert {run["state"] for run in runs} == {"interrupted"}
    answers = [m["content"] for m in cast.messages("primary") if m["role"] == "tool"]
    assert len(answers) == 2 and all("agent_stopped" in one or "cancelled" in one for one in answers)
    check_stream(watch.frames)


@pytest.mark.requirement("delegation.cancel")
@pytest.mark.parametrize("how", ["pause", "cancel"])
async def test_a_child_that_is_stopped_before_its_first_step_ends_too(
    drive: Drive, cast: Cast, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    class Stops:
        async def on_start(self, delegation: Delegation) -> None:
            root = next(iter(delegation.parent.lineage()))
            root.controls.stopping = how  # type: ignore[assignment]

    monkeypatch.setattr("app.daemon.session_setup.DelegationHooks", lambda: DelegationHooks(start=(Stops(),)))
    cast.script("primary", calling(("agent-d", {"task": "x"})))
    async with drive(DEEP) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until(lambda f: f["type"] == "run.ended" and f.get("agent_path") == "primary.subagents.d")
        await watch.until_type("message.tool_result")
        child = next(run for run in await all_runs(driver) if run["parent_run_id"])
    assert child["state"] == ("interrupted" if how == "pause" else "cancelled")
    assert not cast.requests["d"]
