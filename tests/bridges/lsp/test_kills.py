"""Kills at random moments, many starts, and the end of the daemon: nothing is lost, wrong or left."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from app.errors import ToolError
from tests.bridges.conftest import alive, children_of, descriptors, started_from_here, until
from tests.bridges.lsp.conftest import Open, messages, open_place, serving
from tests.driver.language_servers import PATIENT, ROOT, copy_of
from tests.driver.rounds import rounds

KILLS = rounds(10, 24)
ROUNDS = rounds(60, 200)


@pytest.mark.requirement("language_servers.lifecycle.kills")
async def test_kills_at_random_moments_lose_no_edit_and_answer_nothing_wrong(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    limits = replace(PATIENT, look_seconds=0.05, back_off=(0.0, 0.0, 0.0), forgive_seconds=0.0)
    root = copy_of("json", tmp_path)
    async with open_place(tmp_path, root, declared=serving("json", "json"), limits=limits) as place:
        answers = errors = 0
        over = asyncio.Event()

        async def edit_and_ask(number: int) -> None:
            nonlocal answers, errors
            path, step, own = f"task_{number}.json", 0, 0
            while not over.is_set() or own < 5:  # on a busy machine the kills leave time for few answers
                step += 1
                name = f"name_{number}_{step}"
                place.put(path, f'{{"$schema": "./schema.json", "{name}": 1}}\n')
                try:
                    server = await place.project.server_for(path)
                    found = messages(await server.diagnostics(path))
                except ToolError as problem:
                    assert problem.code == "lsp_server_unavailable", problem
                    errors += 1
                    await asyncio.sleep(0.01)
                    continue
                assert f"name_{number}_{step} " in "\n".join(found).replace(".", " "), (seed, found)
                answers, own = answers + 1, own + 1

        async def kill() -> None:
            killed = 0
            while killed < KILLS:
                await asyncio.sleep(chance.random() * 0.25)
                for server in place.project.running():
                    run = server.lifecycle.run
                    if run is not None and not run.connection.ended:
                        with suppress(ProcessLookupError):
                            os.kill(run.connection.child.pid, signal.SIGKILL)
                            killed += 1
            over.set()

        async with asyncio.timeout(90):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(kill())
                for number in range(5):
                    tasks.create_task(edit_and_ask(number))
        assert answers >= KILLS, (seed, answers, errors)
        assert len(place.events("crashed")) >= KILLS // 2
        assert len(place.project.running()) <= 1
    assert not {pid for pid in started_from_here() if alive(pid)}


@pytest.mark.requirement("language_servers.lifecycle.leak")
async def test_starting_and_stopping_over_and_over_leaves_nothing(hostile: Open) -> None:
    async with hostile("--children", "1") as place:

        async def once() -> None:
            server = await place.project.server_for("one.hostile")
            await server.document("one.hostile")
            await place.project.reload("hostile")

        for _ in range(3):
            await once()
        before = len(descriptors()), len(asyncio.all_tasks()), threading.active_count(), children()
        for _ in range(ROUNDS):
            await once()
        place.log.unlink()
        await once()
        await until(lambda: len(descriptors()) <= before[0])
        await until(lambda: len(asyncio.all_tasks()) <= before[1])
        await until(lambda: children() <= before[3])
        # threads of the pool are made as needed, up to its bound
        assert threading.active_count() <= before[2] + 4


def children() -> int:
    return len(children_of(os.getpid()))


DAEMON = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.bridges.lsp.conftest import open_place, serving

async def main(base):
    async with open_place(base, base / "python", declared=serving("pyright", "python")) as place:
        server = await place.project.server_for("freight/wrong.py")
        await server.diagnostics("freight/wrong.py")
        (base / "pid").write_text(str(server.lifecycle.run.connection.child.pid))
        await asyncio.sleep(600)

asyncio.run(main(Path(sys.argv[1])))
"""


def reap() -> None:
    """Whoever has had children adopts what is left of others."""
    for child, state in children_of(os.getpid()).items():
        if state == "Z":
            os.waitpid(child, 0)


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def start(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, cwd=ROOT, start_new_session=True)


@pytest.mark.requirement("language_servers.lifecycle.kills")
async def test_a_killed_daemon_leaves_no_server(tmp_path: Path) -> None:
    serving("pyright", "python")
    copy_of("python", tmp_path)
    script = DAEMON.format(root=str(ROOT))
    daemon = start([sys.executable, "-c", script, str(tmp_path)])
    try:
        noted = tmp_path / "pid"
        await until(lambda: noted.exists() and bool(noted.read_text()), 90)
        pid = int(noted.read_text())
        assert alive(pid)
    finally:
        daemon.kill()
        await asyncio.to_thread(daemon.wait)
    try:
        await until(lambda: not runs(pid))
    finally:
        reap()
