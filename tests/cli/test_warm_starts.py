"""Commands and daemons that are forks of a loaded process do what those do that a user starts."""

from __future__ import annotations

import asyncio
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.driver.daemon_process import DaemonProcess as Daemon
from tests.driver.kaged import DaemonProcess, Home
from tests.driver.warm_start import WARM

pytestmark = pytest.mark.requirement("command_line.exits")


@pytest.fixture(params=[True, False], ids=["cold", "warm"])
def cold(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(WARM, "cold", request.param)
    return bool(request.param)


@pytest.mark.parametrize(
    "arguments",
    [("check",), ("nonsense",), ("session", "list", "--json"), ("mcp",), ("send", "\N{SNOWMAN}")],
    ids=" ".join,
)
def test_a_command_says_the_same(
    home: Home, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []
    for cold in (True, False):
        monkeypatch.setattr(WARM, "cold", cold)
        done = home.run(*arguments, cwd=home.folder, stdin="nothing of it\n")
        said.append((done.returncode, done.stdout, done.stderr))
    assert said[0] == said[1]


def test_each_of_many_at_once_has_its_own_output(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WARM, "cold", False)
    names = [f"none{number}" for number in range(12)]
    with ThreadPoolExecutor(4) as threads:
        for name, done in zip(names, threads.map(home.run, names), strict=True):
            assert (done.returncode, done.stdout) == (2, "")
            assert f"'{name}'" in done.stderr


def test_its_end_is_told_in_the_same_way(home: Home, cold: bool) -> None:
    with DaemonProcess(home).start() as daemon:
        assert daemon.process.poll() is None
        assert daemon.ready["pid"] == daemon.process.pid
    assert daemon.process.returncode == 0
    daemon = DaemonProcess(home).start()
    daemon.signal(signal.SIGKILL)
    assert daemon.wait() == -signal.SIGKILL
    assert daemon.process.poll() == -signal.SIGKILL


async def test_its_end_can_be_awaited(home: Home, cold: bool) -> None:
    daemon = await Daemon.start(home.data_dir, home.config, home.project)
    waiting = [asyncio.create_task(daemon.process.wait()) for _ in range(2)]
    await asyncio.sleep(0)
    assert daemon.process.returncode is None
    await daemon.kill()
    assert await asyncio.gather(*waiting) == [-signal.SIGKILL, -signal.SIGKILL]
    assert daemon.process.returncode == -signal.SIGKILL
