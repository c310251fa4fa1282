"""Working trees in which an agent has put what is hard to read or to remove."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from app.harness.workspaces.walking import remove_tree
from tests.driver.daemon import Daemon
from tests.driver.sessions import Driver
from tests.driver.workspaces import git, new_workplace, write_repository

pytestmark = pytest.mark.requirement("workspaces.hostile")


@pytest.fixture
async def driver(daemon: Daemon, tmp_path: Path):
    async with daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(write_repository(tmp_path / "shop"))
        yield driver


def make_deep(folder: Path, levels: int) -> None:
    """Make so many folders above each other, which no path can name any more."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("a", dir_fd=at)
        below = os.open("a", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.mkdir("closed", mode=0, dir_fd=at)
    os.close(at)


async def test_folders_that_lie_deep_are_removed_and_keep_no_others(driver: Driver) -> None:
    deep, other = [await new_workplace(driver.client, driver.project_id) for _ in range(2)]
    make_deep(deep.root, 3000)
    for place in (deep, other):
        (await driver.client.post(f"/api/v1/sessions/{place.session_id}/archive")).raise_for_status()
    await other.until_removed()
    await deep.until_removed()
    assert not deep.root.parent.exists()


def test_a_folder_that_becomes_a_link_while_it_is_removed_takes_nothing_else_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, outside, opens = tmp_path / "tree", tmp_path / "outside", os.open
    for place in (tree / "inner" / "closed", outside / "closed"):
        place.mkdir(parents=True), (place / "kept.txt").write_text("kept\n")
    outside.chmod(0o750)

    def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "closed" and not (tree / "inner").is_symlink():
            (tree / "inner").rename(tree / "moved")
            (tree / "inner").symlink_to(outside)
            raise PermissionError(errno.EACCES, "it cannot be read")
        return opens(path, flags, mode, dir_fd=dir_fd)

    with monkeypatch.context() as patch, suppress(OSError):
        patch.setattr(os, "open", opened)
        remove_tree(tree)
    remove_tree(tree)
    assert not tree.exists()
    assert (outside / "closed" / "kept.txt").read_text() == "kept\n"
    assert outside.stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("where", [".gitignore", "src/.gitattributes", "inner/.git/HEAD"])
async def test_a_pipe_that_git_waits_for_is_named(where: str, driver: Driver) -> None:
    place = await new_workplace(driver.client, driver.project_id)
    pipe = place.root / where
    if where.startswith("inner"):
        git(place.root, "init", "-q", "inner")
    (place.root / "src" / "shop.py").write_text("changed\n")
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    refused = await place.merge(409)
    assert refused["error"]["details"]["reason"] == "git_failed"
    assert repr(where) in refused["error"]["message"]
    pipe.unlink()
    if where.startswith("inner"):
        (pipe.parent / "HEAD").write_text("ref: refs/heads/main\n")
    done = await place.merge(dry_run=True)
    assert "src/shop.py" in [one["path"] for one in done["files"]]


async def test_an_index_that_is_a_link_to_what_never_ends_is_not_copied(
    driver: Driver, tmp_path: Path
) -> None:
    index = tmp_path / "shop" / ".git" / "index"
    index.unlink()
    index.symlink_to("/dev/full")
    place = await new_workplace(driver.client, driver.project_id, base="working")
    assert git(place.root, "status", "--porcelain") == ""


async def test_a_new_repository_in_the_tree_hinders_no_merge(driver: Driver, tmp_path: Path) -> None:
    place = await new_workplace(driver.client, driver.project_id)
    git(place.root, "init", "-q", "inner")
    (place.root / "inner" / "one.txt").write_text("one\n")
    (place.root / "new.txt").write_text("new\n")
    assert [one["path"] for one in (await place.merge())["files"]] == ["new.txt"]
