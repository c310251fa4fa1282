"""No task or future ends with an exception that nobody has taken note of."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.harness.checkpoints.worktrees import Worktrees
from app.storage.backup import upgrade
from tests.driver.outages import StoppedServer
from tests.driver.sessions import WAIT_SECONDS, Driver, driven, write_project
from tests.fakes.provider_script import Hold, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.laboratory import LAB_YAML, Laboratory

pytestmark = pytest.mark.requirement("durability.task_exceptions")


@pytest.fixture
async def problems() -> AsyncIterator[list[dict[str, Any]]]:
    """What the loop was told of exceptions that nobody has retrieved."""
    found: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: found.append(context))
    yield found
    loop.set_exception_handler(None)


async def collected(problems: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for _ in range(3):
        gc.collect()
        await asyncio.sleep(0)
    return problems


async def test_a_session_is_deleted_while_its_files_are_noted(
    driver: Driver, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch, problems: list[dict[str, Any]]
) -> None:
    note, begun, gate = Worktrees.note, asyncio.Event(), asyncio.Event()

    async def slow(self: Worktrees, root: Path) -> Any:
        begun.set()
        await gate.wait()
        return await note(self, root)

    monkeypatch.setattr(Worktrees, "note", slow)
    root = driver.daemon.services.projects.root_of(driver.project_id)
    for words in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm first"):
        await (await asyncio.create_subprocess_exec("git", *words.split(), cwd=root)).wait()
    fake.script(text_reply("Hi."))
    await driver.run("Hello")
    await begun.wait()
    notes = driver.daemon.services.sessions._services.notes
    noting = list(notes._tasks)
    await driver.session_call("DELETE", status=204)
    gate.set()
    await asyncio.wait(noting, timeout=WAIT_SECONDS)
    assert all(task.done() and task.exception() is None for task in noting)
    del noting
    assert await collected(problems) == []


@pytest.fixture
def stopped(postgres_server: Any, postgres_url: str) -> Iterator[StoppedServer]:
    yield StoppedServer(postgres_server, postgres_url)


async def test_postgresql_is_out_in_the_middle_of_a_run(
    stopped: StoppedServer,
    lab: Laboratory,
    fake: FakeProvider,
    tmp_path: Path,
    postgres_url: str,
    settings_overrides: dict[str, Any],
    problems: list[dict[str, Any]],
) -> None:
    await upgrade(postgres_url, tmp_path)
    root, hold = write_project(tmp_path / "lab", LAB_YAML), Hold()
    call = ToolCall("lab_wait", {"name": "a"}, "c")
    fake.script(Reply((call,)), Reply((Text("Then."), hold)))
    settings = {**settings_overrides, **stopped.settings}
    try:
        async with driven(tmp_path / "data", root, **settings) as driver:
            await driver.post("Go")
            await lab.until_started("a")
            await asyncio.to_thread(stopped.begin)
            lab.release("a")
            while lab.running:  # noqa: ASYNC110 - a tool's end has no event
                await asyncio.sleep(0.01)
            await asyncio.sleep(1.0)  # so long is the outage
            await asyncio.to_thread(stopped.end)
            async with asyncio.timeout(60):
                while driver.daemon.services.sessions.states()["running"]:
                    await asyncio.sleep(0.05)
                    if fake.request_count == 2:
                        hold.gate.set()
    finally:
        await asyncio.to_thread(stopped.end)
    assert await collected(problems) == []
