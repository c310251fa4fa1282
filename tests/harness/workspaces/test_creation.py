"""A workspace is a clone that shares objects only: whatever happens in it, the user's repository stays."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.sessions import Driver
from tests.driver.workspaces import PINS, digest_of, git, new_workplace

pytestmark = pytest.mark.requirement("workspaces.apart")


async def test_a_workspace_has_the_last_commit_on_a_branch_of_its_own(
    driver: Driver, project_root: Path
) -> None:
    (project_root / "src" / "shop.py").write_text("not committed\n")
    (project_root / "new.py").write_text("not tracked\n")
    before = digest_of(project_root, without=(".git/refs/kaged",))
    place = await new_workplace(driver.client, driver.project_id)
    assert git(place.root, "status", "--porcelain") == ""
    assert git(place.root, "rev-parse", "HEAD") == git(project_root, "rev-parse", "HEAD")
    branch = place.workspace["branch"]
    assert git(place.root, "symbolic-ref", "--short", "HEAD") == branch
    assert branch == f"kaged/{place.workspace['id']}-fix-the-tests"
    assert not (place.root / "new.py").exists()
    assert (place.root / "src" / "shop.py").read_text().startswith("line 1\n")
    assert digest_of(project_root, without=(".git/refs/kaged",)) == before
    pin = f"refs/kaged/base/{place.workspace['id']}"
    assert git(project_root, "rev-parse", pin) == git(project_root, "rev-parse", "HEAD")


async def test_a_workspace_begins_with_the_uncommitted_changes_when_that_is_asked_for(
    driver: Driver, project_root: Path
) -> None:
    (project_root / "src" / "shop.py").write_text("changed\n")
    (project_root / "staged.py").write_text("staged\n")
    git(project_root, "add", "staged.py")
    (project_root / "new.py").write_text("not tracked\n")
    (project_root / "noise.log").write_text("ignored\n")
    (project_root / "README.md").unlink()
    before = digest_of(project_root, without=(".git/refs/kaged",))
    place = await new_workplace(driver.client, driver.project_id, base="working")
    assert git(place.root, "status", "--porcelain") == ""
    assert git(place.root, "rev-parse", "HEAD^") == git(project_root, "rev-parse", "HEAD")
    assert (place.root / "src" / "shop.py").read_text() == "changed\n"
    assert (place.root / "staged.py").read_text() == "staged\n"
    assert (place.root / "new.py").read_text() == "not tracked\n"
    assert not (place.root / "README.md").exists()
    assert not (place.root / "noise.log").exists()
    assert digest_of(project_root, without=(".git/refs/kaged",)) == before
    # What was only staged may be pruned in the user's repository.
    git(project_root, "reset", "-q", "--hard"), git(project_root, "gc", "-q", "--prune=now")
    assert git(place.root, "fsck", "--full", "--no-dangling") == ""


async def test_a_workspace_begins_with_a_ref_and_an_unknown_one_is_refused(
    driver: Driver, project_root: Path
) -> None:
    first = git(project_root, "rev-parse", "HEAD")
    git(project_root, "tag", "-a", "v1", "-m", "v1")
    (project_root / "later.py").write_text("later\n")
    git(project_root, "add", "-A"), git(project_root, "commit", "-qm", "second")
    place = await new_workplace(driver.client, driver.project_id, base="v1")
    assert git(place.root, "rev-parse", "HEAD") == first
    assert git(place.root, "rev-parse", "v1") == first
    assert not (place.root / "later.py").exists()
    for base in ("v2", "refs/heads/../x", "HEAD^^^"):
        body = {"project_id": driver.project_id, "workspace": {"kind": "worktree", "base": base}}
        answer = await driver.client.post("/api/v1/sessions", json=body)
        assert answer.status_code == 400, answer.text
    listed = await driver.client.get(f"/api/v1/projects/{driver.project_id}/workspaces")
    assert listed.json()["total"] == 1


@pytest.mark.parametrize("packed", [False, True])
async def test_whatever_git_does_in_a_workspace_the_users_repository_stays(
    driver: Driver, project_root: Path, packed: bool
) -> None:
    git(project_root, "branch", "other")
    (project_root / "README.md").write_text("stashed by the user\n")
    git(project_root, "stash", "-q")
    if packed:
        git(project_root, "gc", "-q")
    before = digest_of(project_root, without=(".git/refs/kaged",))
    place = await new_workplace(driver.client, driver.project_id)
    root = place.root
    (root / "src" / "shop.py").write_text("changed\n")
    git(root, "stash", "-q")
    assert git(root, "stash", "list").count("\n") == 0
    git(root, "stash", "pop", "-q")
    git(root, "config", "core.pager", "touch /tmp/pager")
    git(root, "branch", "-D", "main"), git(root, "branch", "-D", "other")
    git(root, "add", "-A"), git(root, "commit", "-qm", "an agent's")
    git(root, "reflog", "expire", "--expire=now", "--all"), git(root, "gc", "-q", "--prune=now")
    assert git(root, "log", "--format=%s") == "an agent's\nfirst"
    assert git(root, "fsck", "--full", "--no-dangling") == ""
    assert digest_of(project_root, without=(".git/refs/kaged",)) == before
    assert git(project_root, "stash", "list") != ""


async def test_what_a_workspace_borrows_outlives_a_branch_that_is_deleted_and_pruned(
    driver: Driver, project_root: Path
) -> None:
    git(project_root, "switch", "-qc", "passing")
    (project_root / "passing.py").write_text("passing\n")
    git(project_root, "add", "-A"), git(project_root, "commit", "-qm", "passing")
    place = await new_workplace(driver.client, driver.project_id)
    git(project_root, "switch", "-q", "main"), git(project_root, "branch", "-D", "passing")
    git(project_root, "reflog", "expire", "--expire=now", "--all")
    git(project_root, "gc", "-q", "--prune=now")
    assert git(place.root, "fsck", "--full") == ""
    assert git(place.root, "show", "HEAD:passing.py") == "passing"
    assert [name for name in digest_of(project_root / ".git") if name.startswith(PINS)] == []  # it is packed
    await place.post("discard")


async def test_the_size_of_a_workspace_is_stored_after_it_is_ready(
    driver: Driver, project_root: Path
) -> None:
    place = await new_workplace(driver.client, driver.project_id)
    async with asyncio.timeout(WAIT_SECONDS):
        while not (await place.look())["size_bytes"]:  # noqa: ASYNC110 - a client has to ask
            await asyncio.sleep(0.02)
    files = [one for one in place.root.parent.rglob("*") if one.is_file() and not one.is_symlink()]
    assert place.workspace["size_bytes"] == sum(one.lstat().st_blocks * 512 for one in files)
    assert place.workspace["state"] == "ready"
