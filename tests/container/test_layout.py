"""What can be seen of the image without building it: its parts serve, and lose nothing when killed."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.container.dockerfile import instructions
from tests.container.layout import LaidOut, copied, install, settings
from tests.driver.daemon_process import write_config
from tests.driver.rounds import SEED, rounds
from tests.driver.sessions import write_project
from tests.e2e.test_kill import Lane
from tests.e2e.work_script import Worker
from tests.fakes.provider_server import FakeProvider

pytestmark = [pytest.mark.requirement("image.parts"), pytest.mark.needs("cages")]

KILLS = rounds(2, 10)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kaged")
    install(folder)
    return folder


def health(data: Path) -> subprocess.CompletedProcess[str]:
    """Run the image's health check as the Dockerfile has it, over this data folder."""
    (words,) = (words for words in instructions("common") if words[0] == "HEALTHCHECK")
    command = orjson.loads(" ".join(words[words.index("CMD") + 1 :]))
    assert command[0] == "/usr/bin/python3"
    return subprocess.run(
        [sys.executable, *command[1:-1], str(copied(Path(command[-1]).name))],
        env={"KAGED_DAEMON__DATA_DIR": str(data / Path(settings()["KAGED_DAEMON__DATA_DIR"]).name)},
        capture_output=True,
        text=True,
        timeout=60,
    )


async def test_the_parts_of_the_image_serve_on_a_read_only_root(installed: Path, tmp_path: Path) -> None:
    write_project(tmp_path / "shop")
    write_config(tmp_path / "config.toml", 9)
    data = tmp_path / "data"
    assert health(data).returncode == 1
    daemon = await LaidOut.spawn_in(installed, tmp_path)
    try:
        await daemon.ready()
        healthy = health(data)
        assert healthy.returncode == 0, healthy.stderr
        async with daemon.client() as client:
            ready = await client.get(f"{daemon.url}/readyz")
        assert ready.status_code == 200, ready.text
        assert daemon.project_id
    finally:
        await daemon.kill()
    assert (data / "daemon").stat().st_mode & 0o777 == 0o700
    assert (data / "home").is_dir()


@pytest.mark.timeout(120 + KILLS * 20)
async def test_nothing_acknowledged_is_lost_when_they_are_killed(installed: Path, tmp_path: Path) -> None:
    worker = Worker()
    async with FakeProvider(worker, keep_requests=0) as model:

        async def spawn(folder: Path) -> LaidOut:
            return await LaidOut.spawn_in(installed, folder)

        lane = Lane(tmp_path, model, worker, random.Random(SEED), spawn=spawn)
        await lane.run(KILLS)
    assert lane.kills >= KILLS
