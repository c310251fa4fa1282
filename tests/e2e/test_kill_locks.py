"""kill -9 while git holds a lock of the user's repository for a merge: the next start goes on, without it."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from tests.driver.daemon_process import WAIT_SECONDS, DaemonProcess, write_config
from tests.driver.kill_steps import Place
from tests.driver.workspaces import git

pytestmark = pytest.mark.requirement("workspaces.recovery")

ENTRIES = 60_000
"""As many files has the index that it takes a while to be written."""


def make_large(root: Path) -> None:
    """Have the last commit hold many files that the checkout leaves out."""
    blob = git(root, "rev-parse", "HEAD:README.md")
    names = "".join(f"100644 {blob}\tlarge/{n // 1000}/{n}\n" for n in range(ENTRIES))
    git(root, "config", "core.sparseCheckout", "true")
    (root / ".git" / "info" / "sparse-checkout").write_text("/*\n!/large/\n")
    (root / "names").write_text(names)
    os.system(f"cd '{root}' && git update-index --index-info < names")
    (root / "names").unlink()
    git(root, "commit", "-qm", "large")
    git(root, "read-tree", "-mu", "HEAD")
    assert git(root, "status", "--porcelain") == ""


def appeared(file: Path) -> None:
    """Return as soon as a file is there. Blocks."""
    until = time.monotonic() + WAIT_SECONDS
    while not os.path.lexists(file):
        assert time.monotonic() < until, f"{file} is not made"
        time.sleep(0.0002)


@pytest.mark.timeout(400)
async def test_a_merge_that_is_killed_while_it_writes_the_index_is_finished(tmp_path: Path) -> None:
    place = Place.make("checkout", tmp_path)
    make_large(place.root)
    data, config = tmp_path / "data", write_config(tmp_path / "config.toml", 9)
    daemon = await DaemonProcess.start(data, config, place.root)
    try:
        place.project_id = daemon.project_id
        async with daemon.client() as client:
            await place.prepare(client)
            step = asyncio.create_task(place.step(client))
            await asyncio.to_thread(appeared, place.root / ".git" / "index.lock")
            await daemon.kill()
            with suppress(httpx2.HTTPError):
                await step
        daemon = await DaemonProcess.start(data, config, place.root)
        async with daemon.client() as client:
            assert await place.check(client, data) == "new"
    finally:
        await daemon.kill()


@pytest.mark.timeout(400)
async def test_a_branch_that_is_there_when_the_daemon_is_killed_is_kept(tmp_path: Path) -> None:
    place = Place.make("keep", tmp_path)
    data, config = tmp_path / "data", write_config(tmp_path / "config.toml", 9)
    daemon = await DaemonProcess.start(data, config, place.root)
    try:
        place.project_id = daemon.project_id
        async with daemon.client() as client:
            await place.prepare(client)
            branch = (await place.until(client, "ready"))["branch"]
            step = asyncio.create_task(place.step(client))
            await asyncio.to_thread(appeared, place.root / ".git" / "refs" / "heads" / branch)
            await daemon.kill()
            with suppress(httpx2.HTTPError):
                await step
        daemon = await DaemonProcess.start(data, config, place.root)
        async with daemon.client() as client:
            assert await place.check(client, data) == "new"
    finally:
        await daemon.kill()
