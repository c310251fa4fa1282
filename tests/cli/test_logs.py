"""`kaged logs`: the stored log of a daemon that runs, that has ended, and over a restart."""

from __future__ import annotations

import asyncio
import queue
import signal
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from app.cli import log_source
from app.cli.daemon_address import DaemonAddress
from app.cli.output import CommandFailed
from tests.driver.kaged import WAIT_SECONDS, DaemonProcess, Home

pytestmark = pytest.mark.requirement("command_line.logs")


def entries(home: Home, *arguments: str) -> list[dict[str, Any]]:
    done = home.run("logs", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return [orjson.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.timeout(300)
def test_the_log_is_shown_and_followed_over_a_restart_and_read_without_a_daemon(home: Home) -> None:
    absent = home.run("logs")
    assert absent.returncode == 1 and "no log yet" in absent.stderr
    daemon = DaemonProcess(home).start()
    assert home.run("send", "please read it").returncode == 0
    session = daemon.newest_session()["id"]

    following = home.background("logs", "--follow", "--json", "--since", "1h")
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        assert following.stdout is not None
        for line in following.stdout:
            lines.put(line)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    seen: list[dict[str, Any]] = []

    def until(event: str) -> dict[str, Any]:
        while True:
            seen.append(orjson.loads(lines.get(timeout=WAIT_SECONDS)))
            if event in (seen[-1]["event"], seen[-1]["fields"].get("message")):
                return seen[-1]

    try:
        assert until("agent.generation")["session_id"] == session
        assert daemon.stop() == 0
        until("stopping: running sessions are paused")
        stored = entries(home, "--session", session)
        assert stored and {one["session_id"] for one in stored} == {session}
        daemon = DaemonProcess(home).start()
        assert home.run("send", "please read it").returncode == 0
        assert until("agent.generation")["session_id"] != session
        following.send_signal(signal.SIGINT)
        assert following.wait(WAIT_SECONDS) == 0
        numbers = [one["id"] for one in seen]
        assert numbers == sorted(set(numbers))
        assert entries(home, "--session", session) == stored

        newest = entries(home, "-n", "2")
        assert len(newest) == 2 and newest[0]["id"] < newest[1]["id"]
        assert entries(home, "--text", "agent.generation", "-n", "1")[0]["event"] == "agent.generation"
        assert entries(home, "--level", "error") == []
        assert entries(home, "--since", "2099-01-01") == []
        shown = home.run("logs", "--session", session).stdout
        assert f"agent.generation session_id={session}" in shown
        assert home.run("logs", "--since", "soon").returncode == 2
    finally:
        following.kill()
        following.wait()
        reader.join(WAIT_SECONDS)
        assert following.stdout is not None and following.stderr is not None
        following.stdout.close()
        following.stderr.close()
        daemon.stop()


async def test_a_database_that_cannot_be_read_is_waited_for(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = DaemonProcess(home).start()
    assert daemon.stop() == 0
    looks = 0

    def nobody() -> DaemonAddress:
        nonlocal looks
        looks += 1
        raise CommandFailed("no_daemon", "no daemon runs")

    monkeypatch.setattr(log_source, "EVERY_SECONDS", 0.01)
    database, aside = home.data_dir / "kaged.db", home.data_dir / "aside.db"
    database.rename(aside)
    source = log_source.LogSource(nobody, home.data_dir, None, {})
    following = source.later(datetime.now(UTC) - timedelta(hours=1))
    async with asyncio.timeout(WAIT_SECONDS):
        first = asyncio.ensure_future(anext(following))
        while looks < 3:  # noqa: ASYNC110 - nothing tells of a look
            await asyncio.sleep(0.01)
        assert not first.done()
        aside.rename(database)
        assert (await first)["event"]
    await following.aclose()
