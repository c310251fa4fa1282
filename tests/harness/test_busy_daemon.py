"""Many sessions at once: nothing holds up the event loop, and nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from app.storage.engine import READERS
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver.loop_watch import LongestTurn, watched_loop
from tests.driver.rounds import rounds
from tests.driver.sessions import WAIT_SECONDS, Driver, check_stream, driven
from tests.fakes.provider_script import RecordedRequest, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

SESSIONS = 12
RUNS = rounds(10, 40)
"""Five times so many runs are compared with the state before them."""
LIMITS = {"sessions_per_project": SESSIONS, "sessions_per_operator": SESSIONS}


def worker(request: RecordedRequest) -> Reply:
    """Read a large file, edit a small one, then tell a long story."""
    done = sum(1 for message in request.json["messages"] if message["role"] == "tool")
    if done == 0:
        both = (
            ToolCall("file_read", {"path": "large.txt"}, "c1"),
            ToolCall("file_read", {"path": "README.md"}, "c2"),
        )
        return Reply((Text("I read."), *both))
    if done == 2:
        body = "line of a file\n" * 3_000
        return Reply((ToolCall("file_write", {"path": f"out-{id(request)}.txt", "content": body}, "c3"),))
    return Reply(tuple(Text(f"word {number} ") for number in range(300)))


async def test_nothing_holds_up_the_loop_for_50_ms_while_a_dozen_sessions_work(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.respond = worker
    (project_root / "large.txt").write_text("".join(f"{n} some text in a long file\n" for n in range(1_500)))
    async with driven(tmp_path / "data", project_root, limits=LIMITS, **settings_overrides) as driver:
        await driver.run("Warm up")
        drivers = []
        for _ in range(SESSIONS):
            one = Driver(driver.daemon, driver.client)
            one.project_id = driver.project_id
            await one.new_session()
            drivers.append(one)
        with watched_loop():
            watches = await asyncio.gather(*(one.run("Work") for one in drivers))
            await asyncio.gather(*(one.messages() for one in drivers))
            await driver.call("GET", "/audit?limit=100")
        for watch in watches:
            check_stream(watch.frames)
            assert watch.of("run.ended")[0]["payload"]["state"] == "succeeded"
            assert watch.text().count("word ") == 300


def test_the_watchdog_barks() -> None:
    async def block() -> None:
        # Longer than what a busy machine takes away of it.
        time.sleep(0.5)  # noqa: ASYNC251 - blocking is what the watchdog must see

    with pytest.raises(AssertionError, match="held up"), watched_loop():
        asyncio.run(block())


def test_the_watchdog_does_not_bark_at_its_own_reading() -> None:
    """Its reading of files gives the interpreter's lock away, which a busy thread then keeps for a while."""
    ended = threading.Event()

    def compute() -> None:
        while not ended.is_set():
            sum(range(1_000))

    async def nothing() -> None:
        for _ in range(20):
            await asyncio.sleep(0.006)

    busy = threading.Thread(target=compute)
    busy.start()
    try:
        with watched_loop():
            asyncio.run(nothing())
    finally:
        ended.set()
        busy.join()


async def test_a_long_conversation_is_read_back_without_holding_up_the_loop(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    (project_root / "large.txt").write_text("".join(f"{n} some text in a long file\n" for n in range(1_500)))
    count = 60

    def read_much(request: RecordedRequest) -> Reply:
        done = sum(1 for message in request.json["messages"] if message["role"] == "tool")
        if done >= count:
            return text_reply("Done.")
        return Reply((ToolCall("file_read", {"path": "large.txt", "limit": 400 + done}, f"c{done}"),))

    fake.respond = read_much
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        session_id = driver.session_id
        await driver.run("Read")
        assert (await driver.last_run())["step_count"] == count + 1
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        await driver.run("Warm up the rest in another session")
        driver.session_id = session_id
        with watched_loop():
            await driver.run("Go on")
        assert (await driver.last_run())["state"] == "succeeded"


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


async def open_all_readers(storage: Storage) -> None:
    """Have the storage open the connections that it opens when there are so many reads at once, each with its
    files: SQLite opens the write-ahead log with the first statement."""
    together = threading.Barrier(READERS)

    def read(uow: UnitOfWork) -> None:
        uow.sessions.get("none")
        together.wait(WAIT_SECONDS)

    await asyncio.gather(*(storage.read(read) for _ in range(READERS)))


@pytest.mark.timeout(300)
async def test_runs_leave_no_task_and_no_file_open(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.respond = lambda request: (
        text_reply("Hi.")
        if request.json["messages"][-1]["role"] == "tool"
        else Reply((ToolCall("file_read", {"path": "README.md"}, "c1"),))
    )
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        sessions = driver.daemon.services.sessions

        async def run_some(count: int) -> None:
            async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
                for number in range(count):
                    await sessions.post_message(driver.session_id, f"Read {number}", actor="operator")
                    await watch.until(lambda _, n=number: len(watch.of("run.ended")) > n)  # type: ignore[misc]
                ended = watch.of("run.ended")[-1]["seq"]
                await watch.until(
                    lambda f: (
                        f["type"] == "session.state" and f["payload"]["state"] == "idle" and f["seq"] > ended
                    )
                )

        await run_some(5)
        await open_all_readers(driver.daemon.services.storage)
        await asyncio.sleep(0.1)
        tasks, files = len(asyncio.all_tasks()), open_files()
        for _ in range(4):
            await run_some(RUNS)
            await driver.new_session()
        await run_some(RUNS)
        gc.collect()
        async with asyncio.timeout(WAIT_SECONDS):
            while len(asyncio.all_tasks()) > tasks or open_files() > files:  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.05)
        assert fake.request_count == 2 * (5 + 5 * RUNS)


async def test_collections_of_later_tests_leave_out_what_is_loaded() -> None:
    with watched_loop():
        for _ in range(3):
            await asyncio.sleep(0)
    LongestTurn().stop()
    assert gc.get_freeze_count() > 50_000


async def test_the_longest_turn_is_the_loop_threads_own_time() -> None:
    longest = LongestTurn()
    await asyncio.sleep(0)
    until = time.thread_time() + 0.1
    while time.thread_time() < until:
        pass
    await asyncio.sleep(0.01)
    assert 0.1 <= longest.stop() < 0.2
    longest = LongestTurn()
    await asyncio.sleep(0.01)
    time.sleep(0.3)  # noqa: ASYNC251  (as when another process has the processor)
    await asyncio.sleep(0.01)
    assert longest.stop() < 0.1
