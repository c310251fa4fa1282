"""A daemon that lacks room, descriptors or an answer of its database says so: soon, and not endlessly."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx2
import pytest

from app.bridges.processes import proc
from tests.driver.daemon import running_daemon
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.kaged import DaemonProcess, Home
from tests.driver.outages import FullDisk, small_disk
from tests.driver.postgres import PostgresServer
from tests.driver.warm_start import WARM

STALL_SECONDS = 25
"""What is measured ends long before; without a bound it would take half a minute and more."""


async def until_ready(client: httpx2.AsyncClient) -> None:
    """Wait until the daemon is ready: on a busy machine a look may take longer than it waits for one."""
    async with asyncio.timeout(WAIT_SECONDS):
        while (await client.get("/readyz")).status_code != 200:  # noqa: ASYNC110 - a client has to ask
            await asyncio.sleep(0.1)


@pytest.mark.requirement("durability.readyz")
async def test_readyz_sees_a_full_disk_and_that_there_is_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.api.health.READINESS_SECONDS", 0.0)
    monkeypatch.setattr("app.api.health.ANSWER_SECONDS", WAIT_SECONDS)
    with small_disk(tmp_path / "data") as folder:
        disk = FullDisk(folder)
        async with running_daemon(folder) as daemon, daemon.client(token="") as client:
            assert (await client.get("/readyz")).status_code == 200
            await asyncio.to_thread(disk.begin)
            full = await client.get("/readyz")
            await asyncio.to_thread(disk.end)
            again = await client.get("/readyz")
    assert full.status_code == 503
    assert int(full.headers["retry-after"]) > 0
    assert full.json()["checks"]["storage"]["status"] == "failed"
    assert "the disk is full" in full.json()["checks"]["storage"]["detail"]
    assert again.status_code == 200


@pytest.mark.requirement("in_use.outage")
def test_what_is_stored_can_be_listed_while_the_disk_is_full(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with small_disk(home.data_dir):
        disk, daemon = FullDisk(home.data_dir), DaemonProcess(home).start()
        try:
            assert home.run("issue", "new", "A leak").returncode == 0
            disk.begin()
            listed, refused = home.run("issue", "list"), home.run("issue", "new", "Another")
        finally:
            daemon.stop()
    assert (listed.returncode, refused.returncode) == (0, 1)
    assert "A leak" in listed.stdout
    assert "the disk is full" in listed.stderr and "the disk is full" in refused.stderr


@contextmanager
def stalled(server: PostgresServer) -> Iterator[None]:
    """Let the server and all its processes stand still."""
    postmaster = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(postmaster, signal.SIGSTOP)
    pids = [postmaster]
    try:
        # From now on it starts no process, and one that has ended keeps its number.
        while (found := proc.process(postmaster)) is not None and found.state != "T":
            time.sleep(0.01)
        pids += proc.children(postmaster)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.requirement("durability.readyz")
async def test_readyz_does_not_wait_for_a_database_that_stands_still(
    tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    made = await asyncio.to_thread(Home(tmp_path).run, "db", "upgrade", KAGED_STORAGE__URL=postgres_url)
    assert made.returncode == 0, made.stderr
    async with (
        running_daemon(tmp_path, storage={"url": postgres_url}) as daemon,
        daemon.client(token="") as client,
    ):
        await until_ready(client)
        await asyncio.sleep(1.1)  # until the answer counts no more
        with stalled(postgres_server):
            async with asyncio.timeout(STALL_SECONDS):
                silent = [await client.get("/readyz") for _ in range(2)]
        await until_ready(client)
    assert [answer.status_code for answer in silent] == [503, 503]
    assert "did not answer" in silent[0].json()["checks"]["storage"]["detail"]


@pytest.mark.requirement("durability.readyz")
async def test_readyz_gives_no_answer_of_a_look_that_nobody_waited_for(
    tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    made = await asyncio.to_thread(Home(tmp_path).run, "db", "upgrade", KAGED_STORAGE__URL=postgres_url)
    assert made.returncode == 0, made.stderr
    async with (
        running_daemon(tmp_path, storage={"url": postgres_url}) as daemon,
        daemon.client(token="") as client,
    ):
        with stalled(postgres_server):
            assert (await client.get("/readyz")).status_code == 503
        async with asyncio.timeout(30):
            while looks := [one for one in asyncio.all_tasks() if one.get_name() == "readiness"]:
                await asyncio.wait(looks)
        await asyncio.sleep(1.1)  # until the answer counts no more
        with stalled(postgres_server):
            assert (await client.get("/readyz")).status_code == 503


@pytest.mark.requirement("durability.serve_full_disk")
@pytest.mark.parametrize("free", [0, 8_192, 40_960, 200_000])
def test_serve_on_a_full_disk_says_so_at_once(tmp_path: Path, free: int) -> None:
    home = Home(tmp_path)
    with small_disk(home.data_dir) as folder:
        DaemonProcess(home).start().stop()
        with closing(sqlite3.connect(folder / "kaged.db")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        FullDisk(folder).begin()
        os.truncate(folder / "ballast", (folder / "ballast").stat().st_size - free)
        # Its code is loaded: on a busy machine loading alone takes as long as the bound.
        environment = home.environment()
        done = WARM.run(["serve"], cwd=home.project, env=environment, stdin="", timeout=STALL_SECONDS)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("kaged: ")
    assert "the disk is full; free space there" in line


@pytest.mark.requirement("durability.descriptors")
def test_a_lack_of_descriptors_is_reported_in_a_line(home: Home) -> None:
    daemon = DaemonProcess(home).start()
    address = ("127.0.0.1", int(daemon.ready["url"].rpartition(":")[2]))
    try:
        most = len(os.listdir(f"/proc/{daemon.process.pid}/fd")) + 20
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (most, most))
        with ExitStack() as open_ones:
            for _ in range(60):
                open_ones.enter_context(socket.create_connection(address, timeout=60))
            deadline = time.monotonic() + 60
            while "new connections cannot be accepted" not in daemon.log():
                assert time.monotonic() < deadline, daemon.log()[-2_000:]
                time.sleep(0.1)
            time.sleep(3)  # it tries again each second, for each place in the queue
            told = daemon.log()
            # It stops while it lacks them.
            assert daemon.stop() == 0
        assert told.count("new connections cannot be accepted") == 1
        assert "Too many open files" in told
        assert len(daemon.log()) < 20_000, daemon.log()[-2_000:]
    finally:
        daemon.stop()


STOPPED = """
import asyncio, resource, socket
from app.connections import tell_lack_of_descriptors_once

async def main():
    tell_lack_of_descriptors_once()
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0, backlog=200)
    address = server.sockets[0].getsockname()
    one, _, most = socket.socket(), *resource.getrlimit(resource.RLIMIT_NOFILE)
    one.setblocking(False)
    resource.setrlimit(resource.RLIMIT_NOFILE, (one.fileno() + 1, most))
    one.connect_ex(address)
    await asyncio.sleep(0.1)
    server.close()
    await asyncio.sleep(1.5)
    asyncio.get_running_loop().call_soon(int, "no number")
    await asyncio.sleep(0.1)

asyncio.run(main())
"""


@pytest.mark.requirement("durability.descriptors")
def test_a_stop_during_a_lack_of_descriptors_tells_nothing_of_the_listener_that_it_closed() -> None:
    command = [sys.executable, "-c", STOPPED]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stderr
    assert told.count("new connections cannot be accepted: Too many open files") == 1
    assert told.count("Traceback") == 1, told[:4_000]
    assert "no number" in told
