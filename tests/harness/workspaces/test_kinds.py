"""Repositories of further kinds, each through a workspace, its changes, a merge, a revert, and a commit."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.driver.daemon import Daemon
from tests.driver.git_desk import GitDesk
from tests.driver.sessions import Driver, write_project
from tests.driver.workspaces import git, new_workplace, write_repository

pytestmark = pytest.mark.requirement("workspaces.merge")

LARGE = 100 * 1024 * 1024


def sha256(folder: Path) -> Path:
    root = write_repository(folder / "shop")
    shutil.rmtree(root / ".git")
    git(root, "init", "-q", "-b", "main", "--object-format=sha256")
    git(root, "config", "user.name", "Ada"), git(root, "config", "user.email", "ada@example.org")
    git(root, "add", "-A"), git(root, "commit", "-qm", "first")
    return root


def link(folder: Path) -> Path:
    """The project's folder is a link to the repository."""
    write_repository(folder / "elsewhere" / "shop")
    (folder / "shop").symlink_to(folder / "elsewhere" / "shop")
    return folder / "shop"


def bare(folder: Path) -> Path:
    """A working tree of a bare repository beside it."""
    git(folder, "clone", "-q", "--bare", str(write_repository(folder / "first")), str(folder / "shop.git"))
    git(folder / "shop.git", "config", "user.name", "Ada")
    git(folder / "shop.git", "config", "user.email", "ada@example.org")
    git(folder / "shop.git", "worktree", "add", "-q", "-b", "work", str(folder / "shop"))
    return folder / "shop"


def many_branches(folder: Path) -> Path:
    root = write_repository(folder / "shop")
    commit = git(root, "rev-parse", "HEAD")
    lines = [f"{commit} refs/heads/many/{number:05}\n" for number in range(5000)]
    (root / ".git" / "packed-refs").write_text(
        "# pack-refs with: peeled fully-peeled sorted \n" + "".join(lines)
    )
    return root


def lock_left(folder: Path) -> Path:
    root = write_repository(folder / "shop")
    (root / ".git" / "index.lock").touch()
    return root


def large(folder: Path) -> Path:
    """A file of 100 MB, which does not get smaller by compression."""
    root = write_repository(folder / "shop")
    (root / "large.bin").write_bytes(os.urandom(1024 * 1024) * (LARGE // 1024 // 1024))
    git(root, "add", "-A"), git(root, "commit", "-qm", "large")
    return root


def no_repository(folder: Path) -> Path:
    return write_project(folder / "shop")


KINDS = (sha256, link, bare, many_branches, lock_left, large, no_repository)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_repository_goes_through_everything(
    kind: Callable[[Path], Path], daemon: Daemon, tmp_path: Path
) -> None:
    root = kind(tmp_path)
    has_git, locked = kind is not no_repository, kind is lock_left
    async with daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(root)
        desk = GitDesk(client, driver.project_id, root)
        place = await new_workplace(client, driver.project_id)
        (place.root / "README.md").write_text("changed\n"), (place.root / "new.txt").write_text("new\n")
        if kind is large:
            (place.root / "large.bin").write_bytes(b"changed" + (root / "large.bin").read_bytes())
        names = sorted({"README.md", "new.txt"} | ({"large.bin"} if kind is large else set()))
        assert [one["path"] for one in (await place.merge(dry_run=True))["files"]] == names
        if has_git:
            session = f"/api/v1/sessions/{place.session_id}"
            listing = await client.get(f"{session}/changes", params={"since": "head"})
            listed = listing.raise_for_status().json()
            assert sorted(one["path"] for one in listed["items"]) == names
            body = {"path": "README.md", "since": "head"}
            made = (await client.post(f"{session}/reverts", json=body)).raise_for_status().json()
            assert (place.root / "README.md").read_text().startswith("# Shop")
            (await client.post(f"{session}/reverts/{made['id']}/undo")).raise_for_status()
        assert [one["path"] for one in (await place.merge())["files"]] == names
        assert (root / "README.md").read_text() == "changed\n"
        if not has_git:
            await place.post("discard")
            return
        status = await desk.get("status")
        assert sorted(one["path"] for one in status["items"]) == names
        if locked:
            await desk.refused("commit", message="mine", paths=["README.md"])
            (root / ".git" / "index.lock").unlink()
        await desk.post("commit", message="mine", paths=["README.md", "new.txt"])
        assert git(root, "log", "-1", "--format=%s") == "mine"
        (place.root / "last.txt").write_text("last\n")
        await place.post("keep")
        await place.until_removed()
        assert git(root, "show", f"{place.workspace['branch']}:last.txt") == "last"
        assert git(root, "for-each-ref", "refs/kaged") == ""
        git(root, "fsck", "--no-dangling")
