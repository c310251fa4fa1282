"""A key is stored in the unit of work that has the effect: neither is there without the other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import text

from tests.driver.daemon import Daemon, next_frame, write_project
from tests.fakes.provider_script import Document, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("operations.idempotency")

KEY = {"idempotency-key": "order-66"}
WORKFLOW = """\
workflows:
  count:
    description: Count.
    system_prompt: ./prompts/primary.md
"""


@dataclass
class Case:
    """What a request needs before it can be sent, on one daemon with one project and session."""

    daemon: Daemon
    client: httpx2.AsyncClient
    model: FakeProvider
    project: str
    session: str

    async def made(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await self.client.post(path, json=body)
        assert answer.is_success, answer.text
        made: dict[str, Any] = answer.json()
        return made

    async def after(self, event: str, *script: Reply | Document) -> dict[str, Any]:
        """Post a message to a model with that script; return the payload of the first such event."""
        self.model.script(*script)
        async with self.daemon.websocket(f"{self.session_path}/ws?after_seq=0") as socket:
            await self.made(f"/api/v1{self.session_path}/messages", {"content": "Write"})
            frame = await next_frame(socket, event)
            while (
                event == "run.ended"
                and (await next_frame(socket, "session.state"))["payload"]["state"] != "idle"
            ):
                pass
        payload: dict[str, Any] = frame["payload"]
        return payload

    @property
    def session_path(self) -> str:
        return f"/sessions/{self.session}"

    async def issue(self, title: str) -> int:
        return int((await self.made(f"{self.in_project}/issues", {"title": title}))["number"])

    @property
    def in_project(self) -> str:
        return f"/api/v1/projects/{self.project}"


Wanted = tuple[str, dict[str, Any]]


async def a_session(case: Case) -> Wanted:
    return "/api/v1/sessions", {"project_id": case.project}


async def a_message(case: Case) -> Wanted:
    case.model.script(text_reply("Done."))
    return f"/api/v1{case.session_path}/messages", {"content": "Go"}


async def a_fork(case: Case) -> Wanted:
    await case.after("run.ended", text_reply("Done."))
    listed = (await case.client.get(f"/api/v1{case.session_path}/messages")).json()["items"]
    return f"/api/v1{case.session_path}/fork", {"message_id": listed[0]["id"]}


async def a_second_try(case: Case) -> Wanted:
    failed = await case.after("run.ended", Document(400, {"error": {"message": "The key has expired."}}))
    case.model.script(text_reply("Done."))
    return f"/api/v1/runs/{failed['run_id']}/retry", {}


async def a_continuation(case: Case) -> Wanted:
    await case.after("run.ended", Reply((Text("It sells"),), finish="length"))
    case.model.script(text_reply("things."))
    return f"/api/v1{case.session_path}/continue", {}


async def an_answer(case: Case) -> Wanted:
    rule = {"permission": "file.write", "pattern": "**", "action": "ask"}
    await case.made(f"{case.in_project}/permissions", rule)
    call = ToolCall("file_write", {"path": "notes.txt", "content": "hello\n"}, id="call_1")
    asked = await case.after("permission.requested", Reply((call,)), text_reply("Done."))
    path = f"/api/v1{case.session_path}/interactions/{asked['interaction_id']}/answer"
    return path, {"answer": "once"}


async def an_issue(case: Case) -> Wanted:
    return f"{case.in_project}/issues", {"title": "Broken"}


async def a_comment(case: Case) -> Wanted:
    return f"{case.in_project}/issues/{await case.issue('Broken')}/comments", {"body": "Indeed."}


async def a_transition(case: Case) -> Wanted:
    number = await case.issue("Broken")
    return f"{case.in_project}/issues/{number}/transition", {"to": "rejected", "comment": "It is not."}


async def a_link(case: Case) -> Wanted:
    number, other = await case.issue("Broken"), await case.issue("Torn")
    return f"{case.in_project}/issues/{number}/links", {"kind": "blocks", "target": other}


async def an_attachment(case: Case) -> Wanted:
    number = await case.issue("Broken")
    path = f"/api/v1/uploads?project_id={case.project}&name=a.txt"
    upload = (await case.client.post(path, content=b"hello")).json()["id"]
    return f"{case.in_project}/issues/{number}/attachments", {"upload_ids": [upload]}


async def a_todo(case: Case) -> Wanted:
    return f"{case.in_project}/issues/{await case.issue('Broken')}/todos", {"content": "Mend it"}


async def a_rule_of_the_project(case: Case) -> Wanted:
    return f"{case.in_project}/permissions", {"permission": "file.read", "pattern": "a", "action": "deny"}


async def a_rule_of_the_session(case: Case) -> Wanted:
    rule = {"permission": "file.read", "pattern": "a", "action": "deny"}
    return f"/api/v1{case.session_path}/permissions", rule


async def a_workflow_run(case: Case) -> Wanted:
    case.model.script(text_reply("Counted."))
    return f"{case.in_project}/workflows/count/invoke", {"inputs": {}}


async def an_upload(case: Case) -> Wanted:
    return f"/api/v1/uploads?project_id={case.project}&name=a.txt", {"a": "file"}


WANTED = [
    a_session,
    a_message,
    a_fork,
    a_second_try,
    a_continuation,
    an_answer,
    an_issue,
    a_comment,
    a_transition,
    a_link,
    an_attachment,
    a_todo,
    a_rule_of_the_project,
    a_rule_of_the_session,
    a_workflow_run,
    an_upload,
]


@pytest.fixture
async def case(daemon: Daemon, client: httpx2.AsyncClient, model: FakeProvider, tmp_path: Path) -> Case:
    root = write_project(tmp_path / "shop")
    file = root / ".kaged" / "project.yaml"
    file.write_text(file.read_text() + WORKFLOW)
    project = (await client.post("/api/v1/projects/load", json={"path": str(root)})).json()["id"]
    session = (await client.post("/api/v1/sessions", json={"project_id": project})).json()["id"]
    return Case(daemon, client, model, project, session)


@pytest.mark.parametrize("wanted", WANTED)
async def test_what_cannot_be_stored_with_its_key_does_not_happen_and_a_repeat_does_it_once(
    case: Case, wanted: Callable[[Case], Awaitable[Wanted]]
) -> None:
    async def run(statement: str) -> None:
        storage = case.daemon.services.storage
        await storage.write(lambda uow: uow.connection.execute(text(statement)).close())

    path, body = await wanted(case)
    await run(
        "CREATE TRIGGER no_keys BEFORE INSERT ON idempotency_keys BEGIN SELECT RAISE(ABORT, 'no room'); END"
    )
    refused = await case.client.post(path, json=body, headers=KEY)
    await run("DROP TRIGGER no_keys")
    first = await case.client.post(path, json=body, headers=KEY)
    again = await case.client.post(path, json=body, headers=KEY)
    assert not refused.is_success
    assert first.is_success, first.text
    assert "idempotency-replayed" not in first.headers
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["idempotency-replayed"] == "true"


async def test_the_answer_that_is_stored_with_the_effect_names_what_was_made(case: Case) -> None:
    """As a kill leaves it, right after the effect: what the route adds to the answer is not stored."""
    path, body = await a_workflow_run(case)
    await case.daemon.services.storage.write(
        lambda uow: uow.connection.execute(
            text(
                "CREATE TRIGGER cut_off BEFORE UPDATE ON idempotency_keys "
                "BEGIN SELECT RAISE(ABORT, 'killed'); END"
            )
        ).close()
    )
    first = await case.client.post(path, json=body, headers=KEY)
    again = await case.client.post(path, json=body, headers=KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json()["id"] == first.json()["id"]
    assert again.headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize("wanted", [a_session, a_fork])
async def test_a_new_session_is_answered_as_it_is_shown_afterwards(
    case: Case, wanted: Callable[[Case], Awaitable[Wanted]]
) -> None:
    path, body = await wanted(case)
    made = await case.made(path, body)
    assert (await case.client.get(f"/api/v1/sessions/{made['id']}")).json() == made
