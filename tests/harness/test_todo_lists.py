"""The todo list of a session: written by agents, kept over restarts, carried by the session's file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.driver.sessions import PROJECT_YAML, Driver, driven, restarted, write_project
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("locked.todo")

FIRST = [{"content": "Größe prüfen", "status": "completed"}, {"content": "Fix it", "status": "in_progress"}]
SECOND = [{"content": "Test it", "status": "pending"}]


def write_shop(root: Path) -> Path:
    return write_project(root, PROJECT_YAML + '    "@locked": { enabled: true }\n')


async def todos(driver: Driver, **params: Any) -> Any:
    answer = await driver.session_call("POST", "/tools/todo", {"params": params})
    return answer["data"]["todos"]


async def export(driver: Driver) -> bytes:
    answer = await driver.client.get(f"/api/v1/sessions/{driver.session_id}/export")
    assert answer.status_code == 200, answer.text
    return answer.content


async def test_a_list_written_by_an_agent_is_there_after_a_restart(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    root = write_shop(tmp_path / "shop")
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        fake.script(
            Reply(
                (ToolCall("todo", {"todos": SECOND}, id="c1"), ToolCall("todo", {"todos": FIRST}, id="c2"))
            ),
            text_reply("Planned."),
        )
        await driver.run("Plan")
        assert await todos(driver) == FIRST
        session = driver.session_id
        await driver.new_session()
        assert await todos(driver) == []
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        await driver.load(root)
        driver.session_id = session
        assert await todos(driver) == FIRST
        assert await todos(driver, todos=SECOND) == SECOND
        await driver.session_call("DELETE", status=204)


async def test_the_list_goes_with_the_sessions_file(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    root = write_shop(tmp_path / "shop")
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await todos(driver, todos=FIRST)
        content = await export(driver)
        await driver.session_call("DELETE", status=204)
        for mistake, spoil in WRONG.items():
            refused = await driver.client.post("/api/v1/sessions/import", content=spoiled(content, spoil))
            assert refused.status_code == 400, (mistake, refused.text)
            assert refused.json()["error"]["message"].startswith("Line "), mistake
        answer = await driver.client.post("/api/v1/sessions/import", content=content)
        assert answer.status_code == 201, answer.text
        assert await export(driver) == content
        assert await todos(driver) == FIRST


def spoiled(content: bytes, spoil: Callable[[dict[str, Any]], Any]) -> bytes:
    lines = [orjson.loads(line) for line in content.splitlines()]
    (place,) = [number for number, line in enumerate(lines) if line["kind"] == "todo_list"]
    spoil(lines[place]["data"])
    return b"\n".join(map(orjson.dumps, lines))


WRONG: dict[str, Callable[[dict[str, Any]], Any]] = {
    "of another session": lambda data: data.update(session_id="ses_01JZ0000000000000000000000"),
    "no list": lambda data: data.update(items={}),
    "no item": lambda data: data.update(items=[5]),
    "an unknown state": lambda data: data["items"][0].update(status="done"),
    "something more": lambda data: data["items"][0].update(priority=1),
    "no text": lambda data: data["items"][0].update(content=""),
    "too many": lambda data: data.update(items=data["items"] * 101),
}


async def test_a_file_with_two_lists_is_refused(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    root = write_shop(tmp_path / "shop")
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await todos(driver, todos=FIRST)
        content = await export(driver)
        await driver.session_call("DELETE", status=204)
        lines = content.splitlines()
        twice = [*lines[:-1], next(line for line in lines if b'"kind":"todo_list"' in line)]
        refused = await driver.client.post("/api/v1/sessions/import", content=b"\n".join(twice))
        assert "two todo lists" in refused.json()["error"]["message"]
