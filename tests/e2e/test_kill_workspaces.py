"""kill -9 at any moment of making, merging and discarding: each is done or not, and nothing is orphaned."""

from __future__ import annotations

import asyncio
import contextlib
import random
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon_process import WAIT_SECONDS, DaemonProcess, write_config
from tests.driver.rounds import SEED, rounds
from tests.driver.workspaces import git, write_repository

KILLS = rounds(6, 100)
FILES = 12
LONGEST = {"create": 2.0, "merge": 2.5, "branch": 2.0, "checkout": 2.5, "discard": 0.6, "keep": 2.0}
"""Within how many seconds of a step the daemon is killed; the step may have ended before."""
UNDER_WAY = {"creating", "merging"}


async def listed(client: httpx2.AsyncClient, project_id: str) -> list[dict[str, Any]]:
    """Return all workspaces of the project."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await client.get(f"/projects/{project_id}/workspaces", params={"limit": 100, **cursor})
        page = answer.raise_for_status().json()
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


async def settled(client: httpx2.AsyncClient, project_id: str) -> list[dict[str, Any]]:
    """Return all workspaces once none of them is under way."""
    async with asyncio.timeout(WAIT_SECONDS * 2):
        while True:
            found = await listed(client, project_id)
            if not any(one["state"] in UNDER_WAY or _is_kept(one) for one in found):
                return found
            await asyncio.sleep(0.05)


def _is_kept(one: dict[str, Any]) -> bool:
    return one["state"] == "kept" and one["removed_at"] is None


def check(root: Path, data: Path, found: list[dict[str, Any]], rounds_done: int) -> None:
    """Compare what is on disk with what the daemon says."""
    held = {one["id"] for one in found if one["removed_at"] is None}
    folders = {one.name for one in (data / "workspaces").glob("prj_*/*")}
    pins = set(git(root, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/kaged").split())
    assert folders == held, (folders ^ held, found)
    assert pins == held, (pins ^ held, found)
    assert not list(root.rglob("*.lock")), "a lock of git's is left"
    for number in range(rounds_done):
        names = sorted(root.glob(f"made-{number}-*"))
        assert len(names) in (0, FILES), f"half of a merge: {len(names)} files of {number}"
    assert git(root, "fsck", "--no-dangling") == ""


async def step(client: httpx2.AsyncClient, project_id: str, kind: str, number: int) -> None:
    """Begin one step; the daemon is killed meanwhile."""
    made = await client.post("/sessions", json={"project_id": project_id, "workspace": "worktree"})
    session = f"/sessions/{made.raise_for_status().json()['id']}/workspace"
    if kind == "create":
        return
    while (found := (await client.get(session)).json())["state"] != "ready":  # noqa: ASYNC110 - as a client
        await asyncio.sleep(0.02)
    for one in range(FILES):
        (Path(found["root"]) / f"made-{number}-{one}.txt").write_text(f"{number} {one}\n" * 2000)
    ready.set()
    into = {"branch": "side", "checkout": "main", "merge": "working_tree"}
    body = {"json": {"into": into.get(kind)}}
    action = "merge" if kind in into else kind
    await client.post(f"{session}/{action}", **(body if action == "merge" else {}))


ready = asyncio.Event()
"""Set when the step itself begins."""


@pytest.mark.timeout(3600)
async def test_kills_at_random_moments_leave_nothing_half_done(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    root = write_repository(tmp_path / "shop")
    git(root, "branch", "side")
    data, config = tmp_path / "data", write_config(tmp_path / "config.toml", 9)
    daemon = await DaemonProcess.start(data, config, root)
    try:
        for number in range(KILLS):
            kind = chance.choice(sorted(LONGEST))
            before = git(root, "rev-parse", "side")
            async with daemon.client() as client:
                ready.clear()
                task = asyncio.create_task(step(client, daemon.project_id, kind, number))
                if kind != "create":
                    waiting = asyncio.create_task(ready.wait())
                    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
                await asyncio.sleep(chance.uniform(0, LONGEST[kind]))
                await daemon.kill()
                with contextlib.suppress(httpx2.HTTPError):
                    await task
            daemon = await DaemonProcess.start(data, config, root)
            async with daemon.client() as client:
                found = await settled(client, daemon.project_id)
            check(root, data, found, number + 1)
            after = git(root, "rev-parse", "side")
            if after != before:
                assert git(root, "rev-parse", f"{after}^") == before
            if kind == "checkout":
                assert git(root, "status", "--porcelain") == ""
            git(root, "add", "-A")
            if git(root, "status", "--porcelain"):
                git(root, "commit", "-qm", f"round {number}")
    finally:
        await daemon.kill()
