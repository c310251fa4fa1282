"""Attempts when the daemon stops, the storage refuses, trust ends, or a pick is taken back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.harness.workspaces.creation import Creation
from tests.driver.attempts import Attempted
from tests.driver.sessions import driven, restarted
from tests.driver.workspaces import Workplace
from tests.fakes.provider_script import Hold, Reply, Text
from tests.fakes.provider_server import FakeProvider
from tests.harness.attempts.conftest import answer

pytestmark = pytest.mark.requirement("attempts.recovery")


async def never(*_: Any) -> None:
    await asyncio.Event().wait()


async def test_attempts_that_wait_for_a_place_go_on_after_a_stop_while_their_workspaces_are_created(
    tmp_path: Path,
    fake: FakeProvider,
    settings_overrides: dict[str, Any],
    project_root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hold = Hold()
    fake.script(Reply((Text("One"), hold)), *[answer] * 40)
    settings = {**settings_overrides, "limits": {"sessions_per_project": 1}}
    async with driven(tmp_path / "data", project_root, **settings) as driver:
        attempts = Attempted(driver.client)
        services = driver.daemon.services
        async with driver.watching() as watch:
            await driver.post("Take the only place.")
            await watch.until_text("One")
            with monkeypatch.context() as patch:
                patch.setattr(Creation, "make", never)
                await attempts.start(driver.project_id, "Fix it.", n=3)
                await services.management.folders.workspaces.aclose()  # as the stop of a daemon begins
                hold.gate.set()
                await services.sessions._tasks.finished()
        await attempts.look()
        assert attempts.states == ["creating"] * 3
        for one in attempts.ids:
            assert (await driver.call("GET", f"/sessions/{one}"))["state"] == "queued"
    async with restarted(tmp_path / "data", **settings) as driver:
        attempts = Attempted(driver.client, attempts.group)
        await attempts.until_done()
        assert attempts.states == ["succeeded"] * 3


@pytest.mark.requirement("attempts.pick")
async def test_attempts_that_are_discarded_one_by_one_are_over_once_their_folders_are_removed(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any], project_root: Path
) -> None:
    fake.script(*[answer] * 40)
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        attempts = Attempted(driver.client)
        await attempts.start(driver.project_id, "Fix it.", n=2)
        await attempts.until_done()
        states = []
        for number, step in ((0, "discard"), (1, "discard"), (1, "undo"), (1, "discard")):
            await attempts.call("POST", f"/sessions/{attempts.ids[number]}/workspace/{step}")
            states.append((await attempts.look())["state"])
        assert states == ["done", "discarded", "done", "discarded"]
    now = {**settings_overrides, "workspaces": {"undo_days": 0}}
    async with restarted(tmp_path / "data", **now) as driver:
        attempts = Attempted(driver.client, attempts.group)
        for one in attempts.ids:
            await Workplace(driver.client, one, {}).until_removed()
    async with restarted(tmp_path / "data", **now) as driver:
        attempts = Attempted(driver.client, attempts.group)
        group = await driver.daemon.services.management.attempts._record.group(attempts.group["id"])
        assert (group.state, (await attempts.look())["state"]) == ("discarded", "discarded")
        refused = await attempts.pick(attempts.ids[0], 409)
        assert refused["error"]["details"]["reason"] == "attempts_discarded"
