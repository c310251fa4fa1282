"""kill -9 while git works for an operator: the index is the old one or the new one, and no lock stays."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from tests.driver.daemon import write_project
from tests.driver.daemon_process import WAIT_SECONDS, DaemonProcess, write_config
from tests.driver.git_desk import IDENTITY, GitDesk, git
from tests.driver.rounds import SEED, rounds

pytestmark = pytest.mark.requirement("git.killed")

KILLS = rounds(2, 60)
LONGEST = 1.5
"""Seconds after which a kill comes at the latest."""


@pytest.fixture
async def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Path]:
    """A repository with a staged change, and one that is not."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text(IDENTITY)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write_config(tmp_path / "config.toml", 9)
    root = write_project(tmp_path / "shop")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "--all"), git(root, "commit", "-qm", "first")
    (root / "staged.txt").write_text("staged\n")
    git(root, "add", "staged.txt")
    (root / "README.md").write_text("# Other\n")
    yield root


async def started(root: Path) -> DaemonProcess:
    return await DaemonProcess.start(root.parent / "data", root.parent / "config.toml", root)


async def desk_of(daemon: DaemonProcess, root: Path) -> GitDesk:
    client = httpx2.AsyncClient(
        base_url=daemon.url,
        headers={"authorization": f"Bearer {daemon.token}"},
        trust_env=False,
        timeout=120,
        verify=False,
    )
    return GitDesk(client, daemon.project_id, root)


def left_behind(root: Path) -> list[str]:
    """Return the locks and files of ours in the repository's folder, and notes in the daemon's."""
    names = [path for path in (root / ".git").rglob("*") if path.suffix == ".lock" or "kaged" in path.name]
    notes = root.parent / "data" / "git"
    return sorted(map(str, [*names, *(notes.iterdir() if notes.exists() else ())]))


async def appears(file: Path) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not file.exists():  # noqa: ASYNC110  (nobody tells)
            await asyncio.sleep(0.01)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("hook", ["pre-commit", "post-commit"])
async def test_a_commit_that_is_killed_in_a_hook_is_undone_or_completed(shop: Path, hook: str) -> None:
    """Before the commit is made everything is as before; after it the index is that of the commit."""
    reached = shop.parent / "reached"
    file = shop / ".git" / "hooks" / hook
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\ntouch '{reached}'\nsleep 600\n")
    file.chmod(0o755)
    before, index = git(shop, "rev-parse", "HEAD"), (shop / ".git" / "index").read_bytes()
    daemon = await started(shop)
    desk = await desk_of(daemon, shop)
    body = {"message": "Page", "paths": ["README.md"], "hooks": True}
    asking = asyncio.create_task(desk.send("POST", "commit", json=body))
    await appears(reached)
    assert (shop / ".git" / "index.lock").exists()
    await daemon.kill()
    with suppress(httpx2.HTTPError):
        await asking
    await desk.client.aclose()
    assert left_behind(shop) != []

    daemon = await started(shop)
    try:
        assert left_behind(shop) == []
        if hook == "pre-commit":
            assert git(shop, "rev-parse", "HEAD") == before
            assert (shop / ".git" / "index").read_bytes() == index
            expected = " M README.md\nA  staged.txt\n"
        else:
            assert git(shop, "rev-parse", "HEAD~1") == before
            expected = "A  staged.txt\n"
        assert git(shop, "status", "--porcelain") == expected
    finally:
        await daemon.kill()


@pytest.mark.timeout(120 + 90 * KILLS)
async def test_kills_at_any_moment_leave_the_old_index_or_the_new_one(shop: Path) -> None:
    chance = random.Random(SEED)
    for number in range(KILLS):
        daemon = await started(shop)
        desk = await desk_of(daemon, shop)
        working = asyncio.create_task(work(desk, number))
        await asyncio.sleep(chance.uniform(0, LONGEST))
        await daemon.kill()
        with suppress(httpx2.HTTPError, AssertionError):
            await working
        await desk.client.aclose()
        daemon = await started(shop)
        try:
            where = f"kill {number} of seed {SEED}"
            assert left_behind(shop) == [], where
            git(shop, "fsck", "--strict")
            # The commits take page and page alone, so what was staged first is staged still, or committed.
            states = {line[3:]: line[:2] for line in git(shop, "status", "--porcelain").splitlines()}
            assert states.pop("staged.txt", "A ") == "A ", where
            assert states.pop("README.md", " M") in (" M", "M "), where
            assert states == {}, where
            git(shop, "reset", "-q", "README.md")  # for the next kill: it may come before anything is staged
        finally:
            await daemon.kill()
        assert os.listdir(shop.parent / "data" / "git") == []


async def work(desk: GitDesk, number: int) -> None:
    """Stage, unstage, commit and branch until the daemon is gone."""
    for step in range(1000):
        desk.write("README.md", f"# {number} {step}\n")
        await desk.post("stage", paths=["README.md"])
        await desk.post("unstage", paths=["README.md"])
        await desk.post("commit", message=f"{number} {step}", paths=["README.md"])
        await desk.post("branches", name=f"b{number}-{step}")
