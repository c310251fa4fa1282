"""kill -9 in the middle of a stream, and a restart on the same port: each durable event once and in order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import orjson
import pytest
from kaged_client import AsyncKaged, Event, Kaged, RunResult

from tests.clients.python.conftest import Desk
from tests.fakes.provider_script import Hold, Reply, Text, ToolCall, text_reply

READ = ToolCall("file_read", {"path": "README.md"}, "call_read")


def script(desk: Desk) -> None:
    """A run of two steps, whose second one hangs until the daemon dies; then a run that ends."""
    desk.model.script(Reply((READ,)), Reply((Text("Half an "), Hold(60.0))), text_reply("Whole."))


async def stored(desk: Desk, session_id: str) -> list[tuple[int, str]]:
    """Return number and type of all durable events, as another client reads them."""
    found: list[tuple[int, str]] = []
    async with desk.daemon.client() as client:
        last = (await client.get(f"/sessions/{session_id}")).json()["last_seq"]
    async with desk.daemon.websocket(f"/sessions/{session_id}/ws?after_seq=0", max_queue=None) as socket:
        while not found or found[-1][0] < last:
            frame = orjson.loads(await socket.recv())
            if frame["type"] not in ("sync", "message.snapshot", "heartbeat"):
                found.append((frame["seq"], frame["type"]))
    return found


def durable(events: Sequence[Event]) -> list[tuple[int, str]]:
    return [(event.seq, event.type) for event in events if event.durable]


async def test_a_stream_goes_on_after_the_restart(desk: Desk) -> None:
    script(desk)
    seen: list[Event] = []
    async with AsyncKaged(desk.daemon.url, token=desk.daemon.token) as kaged:
        session = await kaged.sessions.create(project_id=desk.daemon.project_id)
        stream = session.events(after_seq=0, timeout=90)
        await stream.connect()
        await kaged.messages.post(session.id, content="Look")
        killed = posted = False
        async with stream:
            async for event in stream:
                seen.append(event)
                if event.type == "message.delta" and not killed:
                    killed = True
                    await desk.restart()
                elif event.type == "run.ended" and not posted:
                    posted = True
                    assert event.payload.state != "succeeded"
                    await kaged.runs.resume_session(session.id)
                elif event.type == "run.ended":
                    break
    assert killed
    assert durable(seen) == await up_to(desk, session.id, seen[-1].seq)


async def test_a_run_is_followed_over_the_restart_and_resumed(desk: Desk) -> None:
    """The synchronous client: the daemon is killed below a run, which is resumed afterwards."""
    script(desk)
    hangs, restarted = threading.Event(), threading.Event()

    def follow() -> tuple[str, list[Event], RunResult, RunResult]:
        with Kaged(desk.daemon.url, token=desk.daemon.token) as kaged:
            session = kaged.sessions.create(project_id=desk.daemon.project_id)
            seen: list[Event] = []
            run = session.run("Look", timeout=90)
            for event in run:
                seen.append(event)
                if event.type == "message.delta":
                    hangs.set()
            interrupted = run.wait()
            restarted.wait(60)
            return session.id, seen, interrupted, session.resume(timeout=90).wait()

    following = asyncio.create_task(asyncio.to_thread(follow))
    await asyncio.to_thread(hangs.wait, 60)
    await desk.restart()
    restarted.set()
    session_id, seen, interrupted, after = await following
    assert not interrupted.succeeded
    assert after.text == "Whole."
    whole = await up_to(desk, session_id, seen[-1].seq)
    first = durable(seen)[0]
    assert durable(seen) == whole[whole.index(first) :]


@pytest.mark.parametrize("client", ["sync", "async"])
async def test_a_request_waits_for_the_daemon_and_is_executed_once(desk: Desk, client: str) -> None:
    url, token, project = desk.daemon.url, desk.daemon.token, desk.daemon.project_id
    await desk.daemon.kill()

    def create() -> str:
        with Kaged(url, token=token) as kaged:
            return kaged.sessions.create(project_id=project).id

    async def create_async() -> str:
        async with AsyncKaged(url, token=token) as kaged:
            return (await kaged.sessions.create(project_id=project)).id

    creating = asyncio.create_task(asyncio.to_thread(create) if client == "sync" else create_async())
    await desk.restart()
    created = await creating
    async with desk.daemon.client() as http:
        assert [one["id"] for one in (await http.get("/sessions")).json()["items"]] == [created]


async def up_to(desk: Desk, session_id: str, seq: int) -> list[tuple[int, str]]:
    return [event for event in await stored(desk, session_id) if event[0] <= seq]
