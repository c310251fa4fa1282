"""Checks of attempts, runs of workflows as attempts, and what is cancelled or cut off by a restart."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from app.harness.attempts import checks
from tests.driver.attempts import Attempted
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.loop_clock import put_forward
from tests.driver.sessions import PROJECT_YAML, Driver, driven, restarted
from tests.driver.workspaces import git, write_repository
from tests.fakes.provider_server import FakeProvider
from tests.harness.attempts.conftest import answer

pytestmark = pytest.mark.requirement("attempts.check")

SLOW = (
    "echo begun >> checks.log; while [ ! -e go.log ]; do sleep 0.05; done; echo done; "
    "echo ended >> checks.log"
)
WORKFLOW = """\
workflows:
  fix:
    description: Fix what is named.
    system_prompt: project:/prompts/primary.md
    concurrency: 2
    inputs:
      what: { type: string, required: true }
    tools: ["file.*"]
"""


def begun(root: Path) -> int:
    """Return how often the check has begun in a workspace."""
    log = root / "checks.log"
    return log.read_text().count("begun") if log.exists() else 0


async def until_begun(root: Path, times: int) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while begun(root) < times:  # noqa: ASYNC110 - nobody says so
            await asyncio.sleep(0.05)


@pytest.mark.needs("cages")
async def test_a_check_is_caged_killed_by_a_cancel_and_due_again_after_another_run(
    driver: Driver, fake: FakeProvider, project_root: Path
) -> None:
    fake.script(*[answer] * 40)
    attempts = Attempted(driver.client)
    check = f"{SLOW}; echo no > {project_root}/broken.txt; ls {project_root}; exit 3"
    await attempts.start(driver.project_id, "Fix it.", n=2, check=check)
    roots = [await attempts.root(one) for one in attempts.ids]
    for root in roots:
        await until_begun(root, 1)
    assert (await attempts.look())["state"] == "running" and attempts.states == ["checking"] * 2
    await attempts.cancel()
    assert (attempts.group["state"], attempts.states) == ("done", ["succeeded"] * 2)
    assert [one["check"]["state"] for one in attempts.items] == ["stopped"] * 2
    for root in roots:
        (root / "go.log").write_text("")
    await attempts.call("POST", f"/sessions/{attempts.ids[0]}/messages", 201, content="Once more.")
    await attempts.until(lambda group: group["attempts"][0]["check"]["state"] == "failed")
    first, second = (one["check"] for one in attempts.items)
    assert (first["exit_code"], first["problem"], second["state"]) == (3, "`check` ended with 3", "stopped")
    assert "done" in first["output"] and "shop.py" not in first["output"]
    assert not (project_root / "broken.txt").exists()
    assert (roots[0] / "checks.log").read_text() == "begun\nbegun\nended\n"
    assert (roots[1] / "checks.log").read_text() == "begun\n"


@pytest.mark.needs("cages")
async def test_a_check_may_do_no_more_than_the_agent_whose_files_it_runs(
    driver: Driver, fake: FakeProvider, tmp_path: Path
) -> None:
    fake.script(*[answer] * 40)
    root = write_repository(tmp_path / "held")
    fs = "[{mode: rw, path: .}, {mode: deny, path: secret.txt}, {mode: ro, path: kept.txt}]"
    yaml = PROJECT_YAML.replace("shop", "held").replace("cage: disabled", f"cage: {{fs: {fs}}}")
    (root / ".kaged" / "project.yaml").write_text(yaml)
    (root / "secret.txt").write_text("hidden\n"), (root / "kept.txt").write_text("kept\n")
    git(root, "add", "-A"), git(root, "commit", "-qm", "a cage")
    await driver.load(root)
    attempts = Attempted(driver.client)
    check = (
        "cat result.txt secret.txt; echo no > kept.txt; echo no > prompts/primary.md; echo yes > ran.txt; "
        "echo sk-test-secret; exit 0"
    )
    await attempts.start(driver.project_id, "Fix it.", n=2, check=check)
    await attempts.until_done()
    for one in attempts.items:
        place, said = await attempts.root(one["session_id"]), one["check"]["output"]
        assert (place / "ran.txt").read_text() == "yes\n" and "fixed" in said, one["check"]
        assert "hidden" not in said and "sk-test-secret" not in said
        assert (place / "kept.txt").read_text() == "kept\n"
        assert (place / "prompts" / "primary.md").read_text() != "no\n"


@pytest.mark.needs("cages")
async def test_a_check_takes_no_more_than_its_time(
    driver: Driver, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.script(*[answer] * 40)
    attempts = Attempted(driver.client)
    check = "echo said; echo begun >> checks.log; sleep 6000"
    await attempts.start(driver.project_id, "Fix it.", n=2, check=check, check_seconds=100)
    for one in attempts.ids:
        await until_begun(await attempts.root(one), 1)
    put_forward(monkeypatch, 100)
    service = driver.daemon.services.management.attempts
    async with asyncio.timeout(WAIT_SECONDS):
        # Connections that have been idle for so long are closed meanwhile, too.
        while any(service._checks.runs(one) for one in attempts.ids):  # noqa: ASYNC110 - nobody says so
            await asyncio.sleep(0.05)
    await attempts.until_done()
    checks = [one["check"] for one in attempts.items]
    assert [one["problem"] for one in checks] == ["`check` was killed after 100 s"] * 2
    assert [(one["exit_code"], one["output"]) for one in checks] == [(None, "said\n")] * 2


@pytest.mark.needs("cages")
async def test_a_check_begins_again_after_a_restart(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any], project_root: Path
) -> None:
    fake.script(*[answer] * 40)
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        attempts = Attempted(driver.client)
        await attempts.start(driver.project_id, "Fix it.", n=2, check=SLOW)
        roots = [await attempts.root(one) for one in attempts.ids]
        for root in roots:
            await until_begun(root, 1)
    for root in roots:
        (root / "go.log").write_text("")
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        attempts = Attempted(driver.client, attempts.group)
        await attempts.until_done()
        assert [one["check"]["state"] for one in attempts.items] == ["passed"] * 2
        assert [begun(root) for root in roots] == [2, 2]


@pytest.mark.needs("cages")
async def test_a_workspace_is_left_alone_while_its_check_runs(driver: Driver, fake: FakeProvider) -> None:
    fake.script(*[answer] * 40)
    attempts = Attempted(driver.client)
    await attempts.start(driver.project_id, "Fix it.", n=2, check=SLOW)
    first, second = attempts.ids
    roots = [await attempts.root(one) for one in attempts.ids]
    for root in roots:
        await until_begun(root, 1)
    for step, wish in (("merge", {"into": "working_tree"}), ("keep", {}), ("discard", {})):
        refused = await attempts.call("POST", f"/sessions/{first}/workspace/{step}", 409, **wish)
        assert refused["error"]["details"]["reason"] == "check_running"
    (roots[0] / "result.txt").unlink()
    await driver.call("POST", f"/sessions/{first}/archive")
    await attempts.until(lambda group: group["attempts"][0]["check"]["state"] == "stopped")
    # With its session the check ends, which would go on for ever.
    place = (await attempts.call("GET", f"/sessions/{second}/workspace"))["id"]
    await driver.call("DELETE", f"/sessions/{second}", status=204)
    async with asyncio.timeout(WAIT_SECONDS):
        while roots[0].exists():  # noqa: ASYNC110 - nobody says so
            await asyncio.sleep(0.05)
        while (await driver.client.post(f"/api/v1/workspaces/{place}/discard")).status_code != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.needs("cages")
async def test_a_project_does_not_wait_for_the_checks_of_another(
    driver: Driver, fake: FakeProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "AT_ONCE", 1)
    fake.script(*[answer] * 40)
    slow, quick = Attempted(driver.client), Attempted(driver.client)
    await slow.start(driver.project_id, "Fix it.", n=2, check=SLOW)
    await slow.until(lambda group: "running" in [one["check"]["state"] for one in group["attempts"]])
    root = write_repository(tmp_path / "other")
    (root / ".kaged" / "project.yaml").write_text(PROJECT_YAML.replace("shop", "other"))
    git(root, "commit", "-qam", "another name")
    await driver.load(root)
    await quick.start(driver.project_id, "Fix it.", n=2, check="true")
    await quick.until_done()
    assert [one["check"]["state"] for one in quick.items] == ["passed"] * 2
    assert (await slow.look())["state"] == "running"


async def test_runs_of_a_workflow_are_attempts(driver: Driver, fake: FakeProvider, tmp_path: Path) -> None:
    fake.script(*[answer] * 40)
    root = write_repository(tmp_path / "flows")
    (root / ".kaged" / "project.yaml").write_text(PROJECT_YAML.replace("shop", "flows") + WORKFLOW)
    git(root, "commit", "-qam", "a workflow")
    await driver.load(root)
    attempts = Attempted(driver.client)
    path = f"/projects/{driver.project_id}/workflows/fix/invoke"
    asked = {"n": 3, "models": ["main", "other"]}
    given = {"inputs": {"what": "the parser"}, "attempts": asked}
    refused = await attempts.call("POST", path, 400, **given, workspace="shared")
    assert "leave out `workspace` or `attempts`" in str(refused["error"]), refused
    run = await attempts.call("POST", path, 201, **given, workspace="worktree")
    attempts.group = run["attempt_group"]
    assert run["id"] == attempts.items[0]["workflow_run_id"]
    await attempts.until_done()
    assert attempts.states == ["succeeded"] * 3
    for one in attempts.items:
        async with asyncio.timeout(WAIT_SECONDS):  # its session is at rest a moment before
            path = f"/workflow-runs/{one['workflow_run_id']}"
            while (ended := await attempts.call("GET", path))["state"] == "running":  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert (ended["state"], ended["session_id"]) == ("succeeded", one["session_id"])
        assert ended["output"] == "Done."
    texts = [(await attempts.root(one) / "result.txt").read_text() for one in attempts.ids]
    assert texts == ["fixed\n", "worse\n", "fixed\n"]
    said = (await driver.call("GET", f"/sessions/{attempts.ids[1]}/messages"))["items"]
    assert json.dumps("the parser") in said[0]["content"]
    await attempts.pick(attempts.ids[1])
    assert (root / "result.txt").read_text() == "worse\n"
    assert await attempts.workspaces() == ["discarded", "merged", "discarded"]


@pytest.mark.needs("cages")
async def test_an_attempt_whose_workspace_is_still_being_created_is_given_up(
    driver: Driver, fake: FakeProvider, tmp_path: Path
) -> None:
    fake.script(*[answer] * 40)
    root = write_repository(tmp_path / "slow")
    setup = "while [ ! -e go.log ]; do sleep 0.05; done"
    yaml = PROJECT_YAML.replace("shop", "slow") + f"workspace:\n  setup: {json.dumps(setup)}\n"
    (root / ".kaged" / "project.yaml").write_text(yaml)
    git(root, "commit", "-qam", "a setup")
    await driver.load(root)
    attempts = Attempted(driver.client)
    await attempts.start(driver.project_id, "Fix it.", n=2, base="working")
    first, second = attempts.ids
    place = await attempts.root(first)
    async with asyncio.timeout(WAIT_SECONDS):
        while not (place / ".git").exists():  # noqa: ASYNC110 - nobody says so
            await asyncio.sleep(0.05)
    (place / "go.log").write_text("")
    await attempts.until(lambda group: group["attempts"][0]["state"] == "succeeded")
    assert attempts.states == ["succeeded", "creating"]
    picked = await attempts.pick(first)
    assert (picked["attempt_group"]["state"], picked["discarded"]) == ("picked", [second])
    shown = await attempts.call("GET", f"/sessions/{second}/workspace")
    assert shown["state"] == "discarded" and shown["removed_at"] is not None
    assert [one.name for one in (tmp_path / "data" / "workspaces").glob("*/*")] == [place.parent.name]
    pins = git(root, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/kaged").split()
    assert pins == [place.parent.name]
    undone = await attempts.call("POST", f"/sessions/{second}/workspace/undo", 409)
    assert undone["error"]["details"]["reason"] == "workspace_removed"
    session = await driver.call("GET", f"/sessions/{second}")
    assert (session["state"], session["state_reason"]) == ("idle", "cancelled")
