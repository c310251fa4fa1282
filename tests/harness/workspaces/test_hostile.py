"""Repositories that want more than a workspace: the daemon has no cages here, so that git alone holds."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon import Daemon, running_daemon
from tests.driver.sessions import Driver
from tests.driver.workspaces import Workplace, git, new_workplace, write_repository

pytestmark = pytest.mark.requirement("workspaces.hostile")


@pytest.fixture
async def daemon(tmp_path: Path, settings_overrides: dict[str, Any]) -> AsyncIterator[Daemon]:
    settings = {**settings_overrides, "sandbox": {"mode": "off"}}
    async with running_daemon(tmp_path / "data", **settings) as running:
        yield running


@pytest.fixture
async def loaded(daemon: Daemon):
    """Return what loads a project and makes a workspace of it."""
    async with daemon.client() as client:
        driver = Driver(daemon, client)

        async def load(root: Path, *, base: str = "head", state: str = "ready") -> Workplace:
            await driver.load(root)
            return await new_workplace(client, driver.project_id, base=base, state=state)

        yield load


async def test_no_filter_of_a_submodule_is_run(loaded, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    ran = tmp_path / "ran"

    def with_filter(top: Path) -> None:
        inner = top / "inner"
        git(top, "init", "-q", "inner")
        (inner / ".gitattributes").write_text("*.txt filter=evil\n")
        (inner / "a.txt").write_text("one\n")
        git(inner, "add", "-A"), git(inner, "commit", "-qm", "first")
        git(top, "add", "inner"), git(top, "commit", "--allow-empty", "-qm", "inner")
        git(inner, "config", "filter.evil.clean", f"touch {ran}; cat")
        (inner / "a.txt").write_text("two\n")
        os.utime(inner / "a.txt", (1, 1))

    with_filter(root)
    place = await loaded(root, base="working")
    (place.root / "inner").rmdir()
    git(place.root, "rm", "-q", "--cached", "inner")
    with_filter(place.root)
    (place.root / "README.md").write_text("changed\n")
    await place.merge(dry_run=True)
    assert not ran.exists()


async def test_rules_that_are_links_bring_nothing_from_outside(loaded, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    secret = tmp_path / "id_ed25519"
    secret.write_text("a key\n")
    for name in ("exclude", "sparse-checkout"):
        (root / ".git" / "info" / name).unlink(missing_ok=True)
        (root / ".git" / "info" / name).symlink_to(secret)
    place = await loaded(root)
    for name in ("exclude", "sparse-checkout"):
        assert not (place.root / ".git" / "info" / name).exists()


async def test_a_working_tree_that_the_configuration_names_is_not_taken(loaded, tmp_path: Path) -> None:
    home = tmp_path / "home"
    root = write_repository(home / "shop")
    (home / "secret.txt").write_text("of somebody else\n")
    git(root, "config", "core.worktree", str(home))
    place = await loaded(root, base="working")
    assert (place.root / "README.md").exists()
    assert not list((tmp_path / "data").rglob("secret.txt"))
