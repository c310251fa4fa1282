"""kill -9 of an owner at any moment of what workspaces, merges, reverts and commits do: the daemon that takes
the projects over does each of them whole or not at all, and nothing is orphaned.

As `test_kill_workspaces.py`, with two daemons on one database, each with a data folder of its own.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.storage.backup import upgrade
from tests.driver.daemon_process import WAIT_SECONDS, DaemonProcess, write_config
from tests.driver.kill_steps import KINDS, Place
from tests.driver.replicas import until
from tests.driver.rounds import SEED, rounds
from tests.driver.workspaces import git, write_repository
from tests.e2e.test_kill_workspaces import PAST_THE_END, ended, killed, lasted

KILLS = rounds(2, 25)

pytestmark = pytest.mark.requirement("workspaces.recovery", "replicas.takeover")


async def prepared(folder: Path, url: str) -> tuple[list[Path], list[Path]]:
    """Migrate the database; return the data folders of two daemons on it, and their configurations."""
    data = [folder / "first", folder / "second"]
    await upgrade(url, folder)
    configs = [write_config(folder / f"{one.name}.toml", 9) for one in data]
    for config in configs:
        with config.open("a") as file:
            file.write(f'\n[storage]\nreplicas = true\nurl = "{url}"\n')
    return data, configs


async def owns_all(daemon: DaemonProcess, count: int) -> bool:
    async with daemon.client() as client:
        lines = (await client.get("/metrics")).text.splitlines()
    owned = next(line for line in lines if line.startswith("kaged_projects_owned "))
    return float(owned.split()[1]) == count


@pytest.mark.timeout(300 + KILLS * 150)
async def test_the_next_owner_ends_what_the_killed_one_had_begun(
    tmp_path: Path, postgres_url: str, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(SEED)
    places = [Place.make(kind, tmp_path) for kind in KINDS]
    data, configs = await prepared(tmp_path, postgres_url)
    owner, other = 0, 1
    daemons = [await DaemonProcess.start(data[0], configs[0], *(place.root for place in places))]
    try:
        for place, project in zip(places, daemons[0].projects, strict=True):
            place.project_id = project["id"]
        lengths = await lasted(daemons[0], places)
        async with daemons[0].client() as client:
            for place in places:
                assert await place.check(client, *data) == "new", place.kind
        daemons.append(await DaemonProcess.start(data[1], configs[1]))
        for number in range(KILLS):
            moments = {kind: chance.uniform(0, PAST_THE_END * lengths[kind]) for kind in KINDS}
            await killed(daemons[owner], places, moments)
            await ended(data[owner])
            await until(lambda: owns_all(daemons[other], len(places)))  # noqa: B023 - awaited in the round
            async with daemons[other].client() as client:
                for place in places:
                    try:
                        await place.check(client, *data)
                    except AssertionError as problem:
                        where = (
                            f"kill {number} of seed {SEED}, {place.kind} after {moments[place.kind]:.3f} s"
                        )
                        raise AssertionError(f"{where}: {problem}") from problem
            daemons[owner] = await DaemonProcess.start(data[owner], configs[owner])
            owner, other = other, owner
        figures = {place.kind: (round(lengths[place.kind], 2), place.ends) for place in places}
        record_property("ends", f"{KILLS} takeovers of seed {SEED}: {figures}")
        sys.stdout.write(f"seed {SEED}, {KILLS} takeovers; seconds of each step and its ends: {figures}\n")
    finally:
        for daemon in daemons:
            await daemon.kill()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("hook", ["pre-commit", "post-commit"])
async def test_a_commit_that_is_killed_in_a_hook_is_ended_by_the_next_owner(
    tmp_path: Path, postgres_url: str, hook: str
) -> None:
    """Before the commit is made everything is as before; after it the index is that of the commit."""
    root, reached = write_repository(tmp_path / "shop"), tmp_path / "reached"
    file = root / ".git" / "hooks" / hook
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\ntouch '{reached}'\nsleep 600\n")
    file.chmod(0o755)
    (root / "README.md").write_text("# Other\n")
    head, index = git(root, "rev-parse", "HEAD"), (root / ".git" / "index").read_bytes()
    data, configs = await prepared(tmp_path, postgres_url)
    daemons = [await DaemonProcess.start(data[0], configs[0], root)]
    try:
        daemons.append(await DaemonProcess.start(data[1], configs[1]))
        url = f"/projects/{daemons[0].project_id}/git/commit"
        async with daemons[0].client() as client:
            body = {"message": "Page", "paths": ["README.md"], "hooks": True}
            asking = asyncio.create_task(client.post(url, json=body))
            async with asyncio.timeout(WAIT_SECONDS):
                while not reached.exists():  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.02)
            assert (root / ".git" / "index.lock").exists()
            await daemons[0].kill()
            await asyncio.gather(asking, return_exceptions=True)
        await until(lambda: owns_all(daemons[1], 1))
        names = [one.name for one in (root / ".git").rglob("*")]
        assert not [one for one in names if one.endswith(".lock") or "kaged" in one]
        is_made = git(root, "rev-parse", "HEAD") != head
        assert is_made == (hook == "post-commit")
        assert git(root, "status", "--porcelain") == ("" if is_made else "M README.md")
        assert is_made or (root / ".git" / "index").read_bytes() == index
        file.unlink()
        async with daemons[1].client() as client:
            (root / "src" / "shop.py").write_text("line\n")
            made = await client.post(url, json={"message": "Next", "paths": ["src/shop.py"]})
            assert made.status_code in (200, 201), made.text
    finally:
        for daemon in daemons:
            await daemon.kill()
