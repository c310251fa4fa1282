"""The sticky reminder: what it says, when it is sent, and that nothing of it stays, on every wire."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.harness.issues.reminder import just_shown, reminder
from app.messages import (
    AssistantMessage,
    ModelMessage,
    TextBlock,
    ToolResult,
    ToolResultsMessage,
    UserMessage,
)
from app.storage.models import IssueTodo
from tests.driver.sessions import DRIVERS, PROJECT_YAML, Driver, driven, provider_settings, write_project
from tests.fakes.provider_script import RecordedRequest, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("todos.sticky")

BEGINS = "Reminder from kaged"
ROLES = {"openai": "system", "openai-responses": "system", "anthropic": "user", "google": "user"}
READ = Reply((ToolCall("file_read", {"path": "README.md"}, id="c1"),))


def entries(*states: str, **values: Any) -> list[IssueTodo]:
    """Return a list with one entry for each state; `-` stands for pending, `>` for in progress."""
    names = {"-": "pending", ">": "in_progress", "x": "completed", "/": "abandoned"}
    return [
        IssueTodo(
            id=f"todo_{number}",
            issue_id="iss_1",
            content=f"Task {number}",
            status=names[state],
            position=number,
            created_by="operator:ada",
            created_at=0,
            updated_at=0,
            **values,
        )
        for number, state in enumerate(states)
    ]


def tasks(text: str | None) -> list[str]:
    return [line for line in (text or "").splitlines() if line.startswith("- ")]


def test_nothing_open_is_nothing_to_be_reminded_of() -> None:
    assert reminder(1, []) is None
    assert reminder(1, entries("x", "/")) is None


def test_what_is_open_is_listed_and_nothing_else() -> None:
    text = reminder(42, entries("x", "-", "/", ">"))
    assert tasks(text) == ["- [ ] Task 1", "- [>] Task 3"]
    assert "#42" in str(text)
    assert "more are open" not in str(text)


def test_an_agent_without_the_tool_is_not_instructed_to_use_it() -> None:
    assert "kaged.todo" in str(reminder(1, entries(*"-" * 6)))
    text = str(reminder(1, entries(*"-" * 6), has_tool=False))
    assert "kaged.todo" not in text
    assert "1 more are open." in text


@pytest.mark.parametrize(
    ("states", "shown"),
    [
        ("-" * 9, [0, 1, 2, 3, 4]),
        ("---->----", [4, 5, 6, 7, 8]),
        ("-->------", [2, 3, 4, 5, 6]),
        ("-------->", [4, 5, 6, 7, 8]),
        ("xx-x->x---", [5, 4, 7, 8, 9]),
    ],
)
def test_at_most_five_are_listed_and_always_the_one_in_progress(states: str, shown: list[int]) -> None:
    text = reminder(1, entries(*states))
    listed = tasks(text)
    assert len(listed) == 5
    assert [f"Task {n}" for n in sorted(shown)] == [line[6:] for line in listed]
    assert (">" not in states) or any(line.startswith("- [>]") for line in listed)
    still = sum(state in "->" for state in states)
    assert (f"{still - 5} more are open" in str(text)) is (still > 5)


def test_the_newest_notes_of_the_task_in_progress_are_shown_and_everything_is_bounded() -> None:
    notes = [
        {"author": "agent:primary", "text": f"note {n} " + "y" * 2_000, "created_at": 0} for n in range(9)
    ]
    row = entries(">")[0].model_copy(update={"notes": notes, "content": "x" * 2_000})
    text = str(reminder(1, [row]))
    assert [line[4:10] for line in text.splitlines() if "→" in line] == ["note 6", "note 7", "note 8"]
    assert len(text) < 2_000


def test_it_is_left_out_right_behind_the_list_itself() -> None:
    said = AssistantMessage(blocks=(TextBlock(text="x"),))
    steer = UserMessage(blocks=(TextBlock(text="x"),))

    def results(name: str, *, is_error: bool = False) -> ModelMessage:
        result = ToolResult(tool_call_id="c", name=name, content="", is_error=is_error)
        return ToolResultsMessage(results=(ToolResult(tool_call_id="b", name="x", content=""), result))

    assert just_shown([said, results("kaged.todo")])
    assert just_shown([said, results("kaged.todo"), steer])
    assert not just_shown([said, results("kaged.todo", is_error=True)])
    assert not just_shown([results("kaged.todo"), said, results("file.read")])
    assert not just_shown([results("kaged.todo"), said, steer])
    assert not just_shown([])


def conversation(wire: str, request: RecordedRequest) -> list[dict[str, Any]]:
    """Return the messages of a request, without the markers of what is to be cached."""
    body = orjson.loads(request.body)
    key = {"openai": "messages", "openai-responses": "input", "anthropic": "messages", "google": "contents"}
    messages: list[dict[str, Any]] = body[key[wire]]
    for message in messages:
        for part in message["content"] if isinstance(message.get("content"), list) else ():
            part.pop("cache_control", None)
    return messages


@pytest.fixture(params=DRIVERS)
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def driver(wire: str, fake: FakeProvider, tmp_path: Path) -> AsyncIterator[Driver]:
    root = write_project(tmp_path / "shop", PROJECT_YAML)
    settings = {
        "providers": provider_settings(wire, fake.base_url),
        "models": {"main": ["fake:model-a"]},
    }
    async with driven(tmp_path / "data", root, **settings) as driven_here:
        issues = f"/projects/{driven_here.project_id}/issues"
        await driven_here.call("POST", issues, {"title": "Mend the till"})
        for text in ("Find the fault", "Mend it"):
            await driven_here.call("POST", f"{issues}/1/todos", {"content": text})
        await driven_here.session_call("PATCH", "", {"issue_number": 1})
        yield driven_here


async def test_it_is_the_last_message_of_every_call_and_the_prefix_stays(
    driver: Driver, fake: FakeProvider, wire: str
) -> None:
    fake.script(READ, READ, text_reply("Done."), text_reply("Again."))
    await driver.run("Go")
    await driver.run("And now?")

    requests = [conversation(wire, request) for request in fake.requests]
    assert len(requests) == 4
    for messages in requests:
        assert messages[-1]["role"] == ROLES[wire]
        said = orjson.dumps(messages[-1]).decode()
        assert BEGINS in said and "- [ ] Find the fault\\n- [ ] Mend it" in said
        assert BEGINS not in orjson.dumps(messages[:-1]).decode()
    for earlier, later in itertools.pairwise(requests):
        assert later[: len(earlier) - 1] == earlier[:-1]
        assert len(later) > len(earlier)
    if wire == "anthropic":
        for request in fake.requests:
            marked = [
                i for i, m in enumerate(orjson.loads(request.body)["messages"]) if "cache_control" in str(m)
            ]
            count = len(orjson.loads(request.body)["messages"])
            assert marked and marked[-1] == count - 2, "the last marker stands right before the reminder"


async def test_nothing_of_it_stays_but_a_sent_request_is_read_back_with_it(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(READ, text_reply("Done."))
    watch = await driver.run("Go")
    run = await driver.last_run()
    told = orjson.dumps([await driver.messages(), watch.frames]).decode()
    exported = (await driver.client.get(f"/api/v1/sessions/{driver.session_id}/export")).text
    assert BEGINS not in told and BEGINS not in exported
    for number, sent in enumerate(fake.requests, start=1):
        answer = await driver.client.get(f"/api/v1/runs/{run['id']}/steps/{number}/request")
        assert answer.json()["verified"] is True
        assert answer.content.partition(b'"body":')[2].removesuffix(b"}") == sent.body


async def test_it_follows_the_list_and_is_left_out_right_behind_it(
    driver: Driver, fake: FakeProvider, wire: str
) -> None:
    def todo(**params: Any) -> Reply:
        return Reply((ToolCall("kaged_todo", params, id=f"c{len(params)}{params['action']}"),))

    fake.script(todo(action="start", content="mend it"), READ, todo(action="view"), READ, text_reply("So."))
    await driver.run("Go")
    last = [orjson.dumps(conversation(wire, request)[-1]).decode() for request in fake.requests]
    assert [BEGINS in message for message in last] == [True, False, True, False, True]
    assert "- [>] Mend it" in last[2]


async def test_without_anything_open_or_an_issue_nothing_is_added(
    driver: Driver, fake: FakeProvider, wire: str
) -> None:
    listed = await driver.call("GET", f"/projects/{driver.project_id}/issues/1/todos")
    for one in listed["items"]:
        path = f"/projects/{driver.project_id}/issues/1/todos/{one['id']}"
        await driver.call("PATCH", path, {"status": "completed"})
    fake.script(text_reply("One."), text_reply("Two."))
    await driver.run("Go")
    await driver.call("POST", f"/projects/{driver.project_id}/issues/1/todos", {"content": "More"})
    await driver.session_call("PATCH", "", {"issue_number": None})
    await driver.run("Go on")
    assert all(BEGINS not in request.body.decode() for request in fake.requests)


async def test_the_next_session_of_the_issue_is_reminded_of_what_is_left(
    driver: Driver, fake: FakeProvider
) -> None:
    done = Reply((ToolCall("kaged_todo", {"action": "done", "content": "Find the fault"}, id="c1"),))
    fake.script(done, text_reply("Half."), text_reply("The other half."))
    await driver.run("Go")
    await driver.new_session(issue_number=1)
    await driver.run("Go on")
    body = fake.requests[2].body.decode()
    assert "- [ ] Mend it" in body and "Find the fault" not in body
