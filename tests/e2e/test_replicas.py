"""Two daemons on one PostgreSQL database: one owns the project, the other takes it over."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import Any

import orjson
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from app.bridges.processes import proc
from tests.driver.daemon_process import DaemonProcess
from tests.driver.ledger import Ledger
from tests.driver.postgres import PostgresServer
from tests.driver.replicas import (
    LINES,
    WAIT_SECONDS,
    Replicas,
    Work,
    new_session,
    owns,
    post,
    until,
)

pytestmark = [pytest.mark.timeout(600), pytest.mark.needs("cages")]


async def state_of(daemon: DaemonProcess, session_id: str) -> str:
    async with daemon.client() as client:
        return str((await client.get(f"/sessions/{session_id}")).json()["state"])


@pytest.mark.requirement("replicas.elsewhere", "replicas.takeover")
async def test_the_other_daemon_says_who_owns_a_project_until_that_one_stops(
    replicas: Replicas, work: Work
) -> None:
    first = await replicas.start("first")
    second = await replicas.start("second")
    assert [len(one.projects) for one in (first, second)] == [1, 0]
    async with first.client() as client, second.client() as other:
        session_id = await new_session(client, replicas.project_id)
        exported = (await client.get(f"/sessions/{session_id}/export")).content
        refused = await other.post("/sessions/import", content=exported)
        assert refused.status_code == 503, refused.text
        details = refused.json()["error"]["details"]
        assert (details["reason"], details["url"]) == ("project_elsewhere", first.url)
        assert int(refused.headers["retry-after"]) > 0
        listed = (await other.get("/sessions")).json()["items"]
        assert [row["id"] for row in listed] == [session_id]
        assert (await client.get("/sessions")).status_code == 200  # its token is still good
        assert "kaged_projects_owned 1" in (await client.get("/metrics")).text
        assert "kaged_projects_owned 0" in (await other.get("/metrics")).text
        ready = (await other.get(f"{second.url}/readyz")).json()
        assert ready["checks"]["replicas"]["detail"].startswith(
            "This daemon owns 0 projects; other daemons own 1"
        )

    assert await first.stop(seconds=60) == 0
    await replicas.until_owner(second)
    async with second.client() as client:
        await post(client, session_id, "Hello")
        await until(lambda: len(work.asked) == 1)


@pytest.mark.requirement("replicas.streams", "replicas.elsewhere")
async def test_the_other_daemon_streams_a_session_until_it_takes_it_over(
    replicas: Replicas, work: Work
) -> None:
    first = await replicas.start("first")
    second = await replicas.start("second")
    async with first.client() as client:
        session_id = await new_session(client, replicas.project_id)
        path = f"/sessions/{session_id}/ws"
        ledger = Ledger(session_id)
        async with second.websocket(path) as follower, second.websocket("/ws") as all_sessions:
            ledger.acknowledged(await post(client, session_id, "Hello"))
            while True:
                text = await asyncio.wait_for(follower.recv(), WAIT_SECONDS)
                frame = orjson.loads(text)
                ledger.received(frame, str(text))
                if frame["type"] == "session.state" and frame["payload"]["state"] == "idle":
                    break
            ended = await frame_of_type(all_sessions, "run.ended")
            assert ended["session_id"] == session_id
            await follower.send('{"type": "answer", "interaction_id": "itx_1", "answer": "once"}')
            refused = await frame_of_type(follower, "error")
            assert refused["payload"]["code"] == "not_found"
            ledger.acknowledged(await post(client, session_id, "Please stall"))
            await until(lambda: len(work.asked) == 2)
            await follower.send('{"type": "cancel"}')
            await until(lambda: idle(first, session_id))
            await first.kill()
            with pytest.raises(ConnectionClosed):
                async with asyncio.timeout(WAIT_SECONDS):
                    while True:
                        text = await follower.recv()
                        ledger.received(orjson.loads(text), str(text))
            assert (follower.close_code, follower.close_reason) == (1012, "restart")
    async with second.client() as client:
        await ledger.check(second, client)
        async with second.websocket(f"{path}?after_seq={ledger.highest_seq}") as socket:
            await frame_of_type(socket, "sync")
            await post(client, session_id, "Again")
            await frame_of_type(socket, "message.delta")


async def frame_of_type(socket: ClientConnection, kind: str) -> dict[str, Any]:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            frame: dict[str, Any] = orjson.loads(await socket.recv())
            if frame["type"] == kind:
                return frame


@pytest.mark.requirement("replicas.takeover")
async def test_a_run_of_a_killed_owner_goes_on_at_the_other_one_and_is_done_once(
    replicas: Replicas, work: Work
) -> None:
    first = await replicas.start("first")
    second = await replicas.start("second")
    async with first.client() as client:
        ledger = Ledger(await new_session(client, replicas.project_id))
        ledger.acknowledged(await post(client, ledger.session_id, "Please stall"))
        await until(lambda: len(work.asked) == 1)
    await first.kill()
    await replicas.until_owner(second)
    async with second.client() as client:
        session = await ledger.check(second, client)
        assert (session["state"], session["state_reason"]) == ("paused", "daemon_restart")
        assert len(work.asked) == 1
        work.answer_all = True
        resumed = await client.post(f"/sessions/{ledger.session_id}/resume")
        assert resumed.status_code == 201, resumed.text
        await until(lambda: idle(second, ledger.session_id))
    assert len(work.asked) == 2
    again = await replicas.start("first", project=False)
    assert not await owns(again)


def ended_children(daemon: DaemonProcess) -> list[proc.Process]:
    found = [proc.process(pid) for pid in proc.children(daemon.pid)]
    return [child for child in found if child is not None and child.ended]


async def idle(daemon: DaemonProcess, session_id: str) -> bool:
    return await state_of(daemon, session_id) == "idle"


@pytest.mark.requirement("replicas.guardian", "replicas.takeover", "replicas.fencing", "replicas.lease")
async def test_the_command_of_a_stopped_owner_writes_nothing_after_the_takeover(
    replicas: Replicas, work: Work
) -> None:
    first = await replicas.start("first")
    second = await replicas.start("second")
    lines = replicas.root / LINES
    async with first.client() as client:
        session_id = await new_session(client, replicas.project_id)
        await post(client, session_id, "Please write lines")
        await until(lines.exists)
        begun = time.monotonic()
        # An owner that only waits keeps its lease, and its command goes on for longer than a lease lasts.
        await until(lambda: time.monotonic() > begun + 12)
        count = len(lines.read_text().splitlines())
        await until(lambda: len(lines.read_text().splitlines()) > count, 30)
        assert (await client.get(f"/sessions/{session_id}")).json()["state"] == "running"

    first.send_signal(signal.SIGSTOP)
    await replicas.until_owner(second)
    taken = time.time()
    written = lines.read_text()
    last = float(written.splitlines()[-1])
    assert last < taken
    assert await state_of(second, session_id) == "paused"

    first.send_signal(signal.SIGCONT)
    await first.ready(WAIT_SECONDS)  # it has started again
    assert first.projects == []
    await until(lambda: not ended_children(first))  # it reaps what it had
    assert not await owns(first)
    assert lines.read_text() == written
    assert await state_of(second, session_id) == "paused"
    assert len(work.asked) == 1
    async with second.client() as client:
        runs = (await client.get(f"/sessions/{session_id}/runs")).json()["items"]
    assert [run["state"] for run in runs] == ["interrupted"]


@pytest.mark.requirement("replicas.takeover")
async def test_after_a_restart_of_the_database_one_daemon_owns_the_project(
    replicas: Replicas, work: Work, postgres_server: PostgresServer
) -> None:
    first = await replicas.start("first")
    second = await replicas.start("second")
    async with first.client() as client:
        session_id = await new_session(client, replicas.project_id)
        await post(client, session_id, "One")
        await until(lambda: idle(first, session_id))
    await asyncio.to_thread(postgres_server.stop)
    await asyncio.to_thread(postgres_server.start)

    async def owners() -> list[DaemonProcess]:
        return [daemon for daemon in (first, second) if await owns(daemon)]

    async def one_owner() -> bool:
        try:
            return len(await owners()) == 1
        except OSError:
            return False

    await until(one_owner)
    (owner,) = await owners()
    async with owner.client() as client:
        await post(client, session_id, "Two")
        await until(lambda: idle(owner, session_id))
    assert len(work.asked) == 2


@pytest.mark.requirement("replicas.files")
async def test_a_project_whose_files_are_elsewhere_is_not_served(replicas: Replicas, work: Work) -> None:
    first = await replicas.start("first")
    marker = replicas.root / ".kaged" / "replicas" / "marker"
    own = marker.read_text()
    assert await first.stop(seconds=60) == 0
    marker.write_text("another\n")
    second = await replicas.start("second", project=False)
    async with second.client() as client:
        answer = await client.get(f"/projects/{replicas.project_id}")
        assert answer.status_code == 503
        error = answer.json()["error"]
        assert error["details"]["reason"] == "files_elsewhere" and own.strip() in error["message"]
        ready = (await client.get(f"{second.url}/readyz")).json()
        assert ready["ready"] and ready["checks"]["replicas"]["status"] == "warning"
    marker.write_text(own)
    await replicas.until_owner(second)


@pytest.mark.requirement("replicas.takeover")
async def test_two_daemons_that_start_at_once_load_a_new_project_once(replicas: Replicas, work: Work) -> None:
    first, second = await asyncio.gather(replicas.start("first"), replicas.start("second"))
    assert sorted(len(one.projects) for one in (first, second)) == [0, 1]
