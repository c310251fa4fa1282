"""One pick of a group at a time, and the discard of a whole group."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.errors import Conflict
from app.harness.attempts.service import Attempts
from app.harness.workspaces.service import Workspaces
from app.storage.models import Workspace
from tests.driver.attempts import Attempted
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.sessions import Driver
from tests.fakes.provider_server import FakeProvider
from tests.harness.attempts.conftest import answer


@pytest.fixture
async def attempts(driver: Driver, fake: FakeProvider) -> Attempted:
    fake.script(*[answer] * 40)
    return Attempted(driver.client)


def service_of(driver: Driver) -> Attempts:
    return driver.daemon.services.management.attempts


@pytest.mark.requirement("attempts.pick")
async def test_one_pick_at_a_time_has_claimed_a_group(
    driver: Driver, attempts: Attempted, monkeypatch: pytest.MonkeyPatch
) -> None:
    await attempts.start(driver.project_id, "Fix it.", n=2)
    await attempts.until_done()
    first, second = attempts.ids
    merge, begun, go_on = Workspaces.merge, asyncio.Event(), asyncio.Event()

    async def held(*given: Any) -> Any:
        begun.set()
        await go_on.wait()
        return await merge(*given)

    with monkeypatch.context() as patch:
        patch.setattr(Workspaces, "merge", held)
        picking = asyncio.create_task(attempts.pick(first))
        async with asyncio.timeout(WAIT_SECONDS):
            await begun.wait()
        for refused in (
            await attempts.pick(first, 409),
            await attempts.pick(second, 409),
            await attempts.pick(second, 409, dry_run=True),
            await attempts.call("POST", f"/attempts/{attempts.group['id']}/discard", 409),
        ):
            assert refused["error"]["details"]["reason"] == "pick_in_progress", refused
        go_on.set()
        picked = await picking
    assert (picked["attempt_group"]["state"], picked["discarded"]) == ("picked", [second])


@pytest.mark.requirement("attempts.pick")
async def test_a_pick_that_was_cut_off_is_taken_up_once(
    driver: Driver, attempts: Attempted, monkeypatch: pytest.MonkeyPatch
) -> None:
    await attempts.start(driver.project_id, "Fix it.", n=2)
    await attempts.until_done()
    record, first = service_of(driver)._record, attempts.ids[0]
    await record.picking(attempts.group["id"], {"session_id": first, "merged_at": None, "by": "operator"})
    seen = await record.group(attempts.group["id"])
    await record.claim(seen)
    with pytest.raises(Conflict) as refused:  # as another daemon does that has read it before
        await record.claim(seen)
    assert refused.value.details["reason"] == "pick_in_progress"
    picked = await attempts.pick(first)  # nothing had been merged: it was taken back, and picked anew
    assert picked["attempt_group"]["state"] == "picked"
    assert await attempts.workspaces() == ["merged", "discarded"]


@pytest.mark.requirement("attempts.recovery")
async def test_all_attempts_are_discarded_also_after_an_interruption(
    driver: Driver, attempts: Attempted, monkeypatch: pytest.MonkeyPatch
) -> None:
    await attempts.start(driver.project_id, "Fix it.", n=3)
    await attempts.until_done()
    (first, second, third), path = attempts.ids, f"/attempts/{attempts.group['id']}/discard"
    discard = Workspaces.discard

    async def refuse_second(workspaces: Workspaces, row: Workspace) -> Workspace:
        if row.session_id == second:
            raise Conflict("refused", reason="test")
        return await discard(workspaces, row)

    with monkeypatch.context() as patch:
        patch.setattr(Workspaces, "discard", refuse_second)
        await attempts.call("POST", path, 409)
    assert (await attempts.look())["state"] == "discarded"
    assert await attempts.workspaces() == ["discarded", "ready", "discarded"]
    await service_of(driver).start()
    assert await attempts.workspaces() == ["discarded"] * 3
    assert (await attempts.pick(first, 409))["error"]["details"]["reason"] == "attempts_discarded"
    await attempts.call("POST", f"/sessions/{third}/workspace/undo")
    again = await attempts.call("POST", path)  # it is done: what was restored since stays
    assert [one["workspace_state"] for one in again["attempts"]] == ["discarded", "discarded", "ready"]
    trail = await attempts.call("GET", f"/audit?project_id={driver.project_id}&event=attempts.*")
    assert [one["event"] for one in trail["items"]] == ["attempts.discarded", "attempts.started"]


@pytest.mark.requirement("attempts.pick")
async def test_attempts_of_which_one_is_picked_are_not_discarded(driver: Driver, attempts: Attempted) -> None:
    await attempts.start(driver.project_id, "Fix it.", n=2)
    await attempts.until_done()
    await attempts.pick(attempts.ids[0])
    said = await attempts.call("POST", f"/attempts/{attempts.group['id']}/discard", 409)
    assert said["error"]["details"]["reason"] == "already_picked"
    assert await attempts.workspaces() == ["merged", "discarded"]
