"""Checks and picks of attempts when storage refuses, trust ends, or a pick is taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.errors import Conflict
from app.harness.attempts import checks, following
from app.harness.attempts.service import Attempts
from app.harness.workspaces.running import CommandRun
from app.harness.workspaces.service import Workspaces
from app.states import AttemptsState, CheckState
from app.storage.backup import upgrade
from app.storage.models import Workspace
from tests.driver.attempts import Attempted
from tests.driver.daemon import running_daemon
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.sessions import Driver
from tests.fakes.provider_server import FakeProvider
from tests.harness.attempts.conftest import answer

pytestmark = pytest.mark.requirement("attempts.check")


class FakeCheck:
    """Stands in for the caged command. It takes until `go`."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go = asyncio.Event()

    async def __call__(self, row: Workspace, command: str, seconds: float) -> CommandRun:
        self.begun.append(row.session_id or "")
        await self.go.wait()
        return CommandRun(b"said\n", 0, None)


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> FakeCheck:
    found = FakeCheck()
    monkeypatch.setattr(Workspaces, "check", found)
    return found


@pytest.fixture
def attempts(driver: Driver, fake: FakeProvider) -> Attempted:
    fake.script(*[answer] * 40)
    return Attempted(driver.client)


def service_of(driver: Driver) -> Attempts:
    return driver.daemon.services.management.attempts


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():  # noqa: ASYNC110 - nobody says so
            await asyncio.sleep(0.02)


def check_states(attempts: Attempted) -> list[str]:
    return [one["check"]["state"] for one in attempts.items]


@pytest.mark.requirement("replicas.takeover")
async def test_checks_run_on_a_daemon_that_shares_its_database_and_took_nothing_over(
    tmp_path: Path,
    postgres_url: str,
    fake: FakeProvider,
    check: FakeCheck,
    settings_overrides: dict[str, Any],
    project_root: Path,
) -> None:
    fake.script(*[answer] * 40)
    await upgrade(postgres_url, tmp_path)
    storage = {"url": postgres_url, "replicas": True, "replica_url": "http://127.0.0.1:1"}
    check.go.set()
    async with (
        running_daemon(tmp_path / "data", storage=storage, **settings_overrides) as daemon,
        daemon.client() as client,
    ):
        driver, attempts = Driver(daemon, client), Attempted(client)
        await driver.load(project_root)
        await attempts.start(driver.project_id, "Fix it.", n=2, check="true")
        await attempts.until_done()
        assert check_states(attempts) == ["passed"] * 2


async def test_a_check_begins_again_after_a_pick_that_is_refused(
    driver: Driver, attempts: Attempted, check: FakeCheck
) -> None:
    await attempts.start(driver.project_id, "Fix it.", n=2, check="true")
    await until(lambda: len(check.begun) == 2)
    await attempts.pick(attempts.ids[0], 400, into="not-there")
    await until(lambda: len(check.begun) == 3)
    assert check.begun[2] == attempts.ids[0]
    check.go.set()
    await attempts.until_done()
    assert check_states(attempts) == ["passed"] * 2


async def test_no_check_begins_once_an_attempt_is_being_picked(
    driver: Driver, attempts: Attempted, check: FakeCheck, monkeypatch: pytest.MonkeyPatch
) -> None:
    await attempts.start(driver.project_id, "Fix it.", n=2, check="true")
    await until(lambda: len(check.begun) == 2)
    service, first = service_of(driver), attempts.ids[0]
    group = await service._record.group(attempts.group["id"])
    run_id = (await service.stored(group.id)).items[0].run_id or ""
    stop = service._checks.stop

    async def stop_while_another_begins(session_id: str, target: CheckState = CheckState.STOPPED) -> None:
        await stop(session_id, target)
        if session_id == first:  # as one that was found due a moment before
            await service._checks.begin(group, first, run_id)
            await until(lambda: check.begun.count(first) == 2 or not service._checks.runs(first))

    monkeypatch.setattr(service._checks, "stop", stop_while_another_begins)
    await attempts.pick(first)
    assert check.begun.count(first) == 1


async def tell_database(driver: Driver, statement: str) -> None:
    await driver.daemon.services.storage.write(lambda uow: uow.runs.connection.exec_driver_sql(statement))


@pytest.mark.parametrize("state", ["running", "passed"])
async def test_a_check_that_the_storage_refuses_runs_again(
    driver: Driver,
    attempts: Attempted,
    check: FakeCheck,
    state: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for module in (checks, following):
        monkeypatch.setattr(module, "RETRY_SECONDS", 0.05)
    check.go.set()
    refuse = (
        f"BEFORE UPDATE ON attempts WHEN NEW.check_state = '{state}' BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    await tell_database(driver, f"CREATE TRIGGER refuse {refuse}")
    await attempts.start(driver.project_id, "Fix it.", n=2, check="true")
    await until(lambda: all(f"the check of {one} could not be stored" in caplog.text for one in attempts.ids))
    assert (await attempts.look())["state"] == "running"
    await tell_database(driver, "DROP TRIGGER refuse")
    await attempts.until_done()
    assert check_states(attempts) == ["passed"] * 2


async def test_attempts_are_cancelled_again_and_one_that_cannot_be_stored_keeps_no_other_from_it(
    driver: Driver, attempts: Attempted, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = service_of(driver)
    await service._following.aclose()  # so that checks are due and none begins
    await attempts.start(driver.project_id, "Fix it.", n=2, check="true")
    for _ in range(2):
        await attempts.until(lambda group: all(one["state"] == "checking" for one in group["attempts"]))
        await attempts.cancel()
        assert (attempts.states, check_states(attempts)) == (["succeeded"] * 2, ["stopped"] * 2)
        for one in attempts.ids:
            await attempts.call("POST", f"/sessions/{one}/messages", 201, content="Once more.")
    await attempts.until(lambda group: all(one["state"] == "checking" for one in group["attempts"]))
    store = service._record.check

    async def refuse_first(session_id: str, target: CheckState, checked: dict[str, Any] | None) -> None:
        if session_id == attempts.ids[0]:
            raise Conflict("refused", reason="test")
        await store(session_id, target, checked)

    monkeypatch.setattr(service._record, "check", refuse_first)
    await attempts.call("POST", f"/attempts/{attempts.group['id']}/cancel", 409)
    await attempts.look()
    assert attempts.states == ["checking", "succeeded"]


@pytest.mark.requirement("security.trust")
async def test_withdrawn_trust_stops_checks(
    tmp_path: Path,
    fake: FakeProvider,
    check: FakeCheck,
    settings_overrides: dict[str, Any],
    project_root: Path,
) -> None:
    fake.script(*[answer] * 40)
    settings = {**settings_overrides, "projects": {"trusted": []}}
    async with running_daemon(tmp_path / "data", **settings) as daemon, daemon.client() as client:
        driver, attempts = Driver(daemon, client), Attempted(client)
        await driver.load(project_root)
        at = f"/projects/{driver.project_id}"
        found = await driver.call("GET", at)
        await driver.call("POST", f"{at}/trust", {"digest": found["trust"]["digest"]})
        await attempts.start(driver.project_id, "Fix it.", n=2, check="true")
        await until(lambda: len(check.begun) == 2)
        await driver.call("DELETE", f"{at}/trust")
        await attempts.look()
        assert (attempts.group["state"], check_states(attempts)) == ("done", ["stopped"] * 2)


@pytest.mark.requirement("attempts.pick")
async def test_a_refused_pick_discards_nothing_although_the_attempt_was_merged_meanwhile(
    driver: Driver, attempts: Attempted, project_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await attempts.start(driver.project_id, "Fix it.", n=2)
    await attempts.until_done()
    record, first = service_of(driver)._record, attempts.ids[0]
    move, place = record.move, (await attempts.root(first)) / "result.txt"

    async def move_after_a_merge(group_id: str, target: AttemptsState, *more: Any) -> Any:
        if target is AttemptsState.PICKING:
            await attempts.call("POST", f"/sessions/{first}/workspace/merge", strategy="squash")
            place.write_text("an agent's\n")
            (project_root / "result.txt").write_text("the user's\n")
        return await move(group_id, target, *more)

    monkeypatch.setattr(record, "move", move_after_a_merge)
    await attempts.pick(first, 409)
    assert (await attempts.look())["state"] == "done"
    assert await attempts.workspaces() == ["merged", "ready"]


@pytest.mark.requirement("attempts.pick")
async def test_an_attempt_that_cannot_be_discarded_keeps_no_other_from_it(
    driver: Driver, attempts: Attempted, monkeypatch: pytest.MonkeyPatch
) -> None:
    await attempts.start(driver.project_id, "Fix it.", n=3)
    await attempts.until_done()
    first, second, _ = attempts.ids
    discard = Workspaces.discard

    async def refuse_second(workspaces: Workspaces, row: Workspace) -> Workspace:
        if row.session_id == second:
            raise Conflict("refused", reason="test")
        return await discard(workspaces, row)

    with monkeypatch.context() as patch:
        patch.setattr(Workspaces, "discard", refuse_second)
        await attempts.pick(first, 409)
    assert (await attempts.look())["state"] == "picking"
    assert await attempts.workspaces() == ["merged", "ready", "discarded"]
    await attempts.pick(first)
    assert (await attempts.look())["state"] == "picked"
    assert await attempts.workspaces() == ["merged", "discarded", "discarded"]
