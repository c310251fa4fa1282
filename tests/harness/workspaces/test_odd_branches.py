"""Branches of the user's repository with odd names, those that are other names of one, and those in use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.daemon import Daemon
from tests.driver.sessions import Driver
from tests.driver.workspaces import Workplace, git, new_workplace, write_repository

pytestmark = pytest.mark.requirement("workspaces.merge")


@pytest.fixture
async def driver(daemon: Daemon):
    async with daemon.client() as client:
        yield Driver(daemon, client)


async def changed(driver: Driver, root: Path) -> Workplace:
    """Return a workspace of the repository with one new file."""
    await driver.load(root)
    place = await new_workplace(driver.client, driver.project_id)
    (place.root / "new.txt").write_text("new\n")
    return place


async def test_names_with_other_line_separators_are_names_as_others(driver: Driver, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    odd = "line\u2028and\u0085\u2029line"
    git(root, "branch", odd), git(root, "tag", f"tag{odd}"), git(root, "branch", "side")
    place = await changed(driver, root)
    assert git(place.root, "rev-parse", odd, f"tag{odd}").split() == [git(root, "rev-parse", "HEAD")] * 2
    await place.merge(into="side")
    assert git(root, "show", "side:new.txt") == "new"
    (place.root / "new.txt").write_text("newer\n")
    await place.merge(into=odd)
    assert git(root, "show", f"{odd}:new.txt") == "newer"
    git(root, "update-ref", f"refs/kaged/base/{odd}", "HEAD")
    await place.post("keep")
    await place.until_removed()


async def test_names_that_are_not_utf_8_are_found_among_others(driver: Driver, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    names = ["caf\udcff", "\udc80q", "z\udc90", "z\u00e9", "\u00e9a", "\ue000x"]
    for name in names:
        git(root, "branch", name)
    place = await changed(driver, root)
    assert git(place.root, "rev-parse", *names).split() == [git(root, "rev-parse", "HEAD")] * len(names)


async def test_another_name_of_the_branch_that_is_checked_out_is_that_branch(
    driver: Driver, tmp_path: Path
) -> None:
    root = write_repository(tmp_path / "shop")
    git(root, "symbolic-ref", "refs/heads/other", "refs/heads/main")
    git(root, "symbolic-ref", "refs/heads/tagged", "refs/tags/none")
    place = await changed(driver, root)
    assert (await place.merge(400, into="tagged"))["error"]["code"] == "validation_failed"
    (root / "new.txt").write_text("the user's\n")
    refused = await place.merge(409, into="other")
    assert refused["error"]["details"]["reason"] == "checkout_in_the_way"
    (root / "new.txt").unlink()
    await place.merge(into="other")
    assert git(root, "symbolic-ref", "refs/heads/other") == "refs/heads/main"
    assert git(root, "show", "main:new.txt") == "new"
    assert git(root, "status", "--porcelain") == ""


async def test_a_branch_that_is_rebased_or_bisected_is_not_moved(driver: Driver, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    linked = tmp_path / "linked"
    git(root, "worktree", "add", "-q", "-b", "side", str(linked))
    git(root, "branch", "third"), git(root, "worktree", "add", "-q", str(tmp_path / "last"), "third")
    for number in range(3):
        (root / "README.md").write_text(f"{number}\n"), git(root, "commit", "-qam", str(number))
    for place in (root, linked):
        (place / "README.md").write_text("other\n"), git(place, "commit", "-qam", "other")
        git(place, "rebase", "-q", "--onto", "main~2", "HEAD~1", check=False)
        assert git(place, "branch", "--show-current") == ""
    git(tmp_path / "last", "bisect", "start"), git(tmp_path / "last", "checkout", "-q", "--detach")
    place = await changed(driver, root)
    before = git(root, "for-each-ref")
    for branch in ("main", "side", "third"):
        refused = await place.merge(409, into=branch)
        assert refused["error"]["details"]["reason"] == "operation_in_progress", branch
    assert git(root, "for-each-ref") == before


async def test_a_branch_may_be_called_workspace(driver: Driver, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "named")
    git(root, "branch", "workspace")
    await driver.load(root)
    place = await new_workplace(driver.client, driver.project_id)
    (place.root / "new.py").write_text("new\n")
    done = await place.merge(into="workspace")
    assert git(root, "rev-parse", "workspace") == done["commit"]
    assert (await place.look())["state"] == "merged"


@pytest.mark.parametrize("into", ["main", "side"])
async def test_a_branch_that_has_all_changes_gets_no_merge_commit(
    driver: Driver, tmp_path: Path, into: str
) -> None:
    root = write_repository(tmp_path / "twice")
    git(root, "branch", "side")
    await driver.load(root)
    place = await new_workplace(driver.client, driver.project_id)
    (place.root / "new.py").write_text("new\n")
    done = await place.merge(into=into, strategy="merge")
    assert (await place.merge(into=into, strategy="merge"))["commit"] is None
    assert git(root, "rev-parse", into) == done["commit"]
