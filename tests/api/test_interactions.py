"""A model's call under an `ask` rule, from the question on the socket to the answer over REST."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection

from app.api.asked_calls import MOST_CHARACTERS, asked_call
from tests.driver.daemon import Daemon, next_frame
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("authorisation.ask")


class Asked:
    """A session whose model wants to write `notes.txt`, where a rule of the project asks."""

    def __init__(self, client: httpx2.AsyncClient, project: str, session: str, model: FakeProvider) -> None:
        self.client = client
        self.project = f"/api/v1/projects/{project}"
        self.session = f"/api/v1/sessions/{session}"
        self.model = model

    async def rule(self, **rule: str) -> Any:
        body = {"permission": "file.write", "pattern": "**", **rule}
        answer = await self.client.post(f"{self.project}/permissions", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def wants_to_write(self, *names: str, then: tuple[Reply, ...] = ()) -> None:
        calls = [
            ToolCall("file_write", {"path": name, "content": "hello\n"}, id=f"call_{name}") for name in names
        ]
        self.model.script(Reply(tuple(calls)), *then, text_reply("Done."))
        posted = await self.client.post(f"{self.session}/messages", json={"content": "Write"})
        assert posted.status_code == 201, posted.text

    async def answer(self, question: dict[str, Any], **body: Any) -> httpx2.Response:
        path = f"{self.session}/interactions/{question['payload']['interaction_id']}/answer"
        return await self.client.post(path, json=body)

    def read_by_model(self) -> str:
        """Return the tool result that the model was sent last."""
        messages = self.model.requests[-1].json["messages"]
        return str([message for message in messages if message["role"] == "tool"][-1]["content"])


@pytest.fixture
async def asked(client: httpx2.AsyncClient, project_id: str, session_id: str, model: FakeProvider) -> Asked:
    asked = Asked(client, project_id, session_id, model)
    await asked.rule(action="ask")
    return asked


async def ended(socket: ClientConnection) -> None:
    while (await next_frame(socket, "session.state"))["payload"]["state"] != "idle":
        pass


async def test_the_question_comes_over_both_sockets_and_once_lets_this_one_call_go_on(
    asked: Asked, daemon: Daemon, client: httpx2.AsyncClient, session_id: str, tmp_path: Path
) -> None:
    target = tmp_path / "shop" / "notes.txt"
    async with (
        daemon.websocket(f"/sessions/{session_id}/ws?after_seq=0") as socket,
        daemon.websocket("/ws") as everywhere,
    ):
        await asked.wants_to_write("notes.txt")
        question = await next_frame(socket, "permission.requested")
        attention = await next_frame(everywhere, "permission.requested")
        assert attention["session_id"] == session_id
        assert attention["payload"] == question["payload"]
        payload = question["payload"]
        assert (payload["tool"], payload["subjects"], payload["source"]) == (
            "file.write",
            ["notes.txt"],
            "rule",
        )
        assert payload["reason"] == "A rule of the operator asks before `file.write` on any file."
        assert not target.exists()
        # Who is asked can read what would be written.
        address = f"{asked.session}/interactions"
        (listed,) = (await client.get(address)).json()["items"]
        assert listed["call"] == {
            "name": "file.write",
            "arguments": {"path": "notes.txt", "content": "hello\n"},
            "cut": False,
        }
        assert (await client.get(f"{address}/{listed['id']}")).json() == listed
        (waiting,) = (await client.get("/api/v1/inbox")).json()["items"]
        assert waiting["question"] == listed

        answered = await asked.answer(question, answer="once")
        assert answered.status_code == 200, answered.text
        await ended(socket)
        assert (await next_frame(everywhere, "permission.answered"))["payload"]["answer"] == "once"
        assert target.read_text() == "hello\n"

        target.unlink()
        await asked.wants_to_write("notes.txt")
        again = await next_frame(socket, "permission.requested")
        await asked.answer(again, answer="reject")
        await ended(socket)
    assert not target.exists()
    assert asked.read_by_model().startswith("Error permission_denied")


async def test_after_always_nothing_is_asked_again(
    asked: Asked, daemon: Daemon, client: httpx2.AsyncClient, session_id: str, tmp_path: Path
) -> None:
    async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq=0") as socket:
        await asked.wants_to_write("notes.txt")
        question = await next_frame(socket, "permission.requested")
        (suggested,) = question["payload"]["suggestions"]
        await asked.answer(question, answer="always")
        await ended(socket)
        (kept,) = (await client.get(f"{asked.session}/permissions")).json()["items"]
        assert {name: kept[name] for name in suggested} == suggested
        (tmp_path / "shop" / "notes.txt").unlink()
        await asked.wants_to_write("notes.txt")
        await ended(socket)
    assert (tmp_path / "shop" / "notes.txt").read_text() == "hello\n"
    assert (await client.get(f"{asked.session}/interactions")).json()["total"] == 1


async def test_a_rejection_with_a_comment_is_read_by_the_model(
    asked: Asked, daemon: Daemon, session_id: str, tmp_path: Path
) -> None:
    async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq=0") as socket:
        await asked.wants_to_write("notes.txt")
        question = await next_frame(socket, "permission.requested")
        await asked.answer(question, answer="reject", comment="Write it below docs/.")
        await ended(socket)
    assert not (tmp_path / "shop" / "notes.txt").exists()
    assert asked.read_by_model().startswith("Error permission_denied: ")
    assert "Write it below docs/." in asked.read_by_model()
    denied = await asked.client.get("/api/v1/audit", params={"event": "tool.denied"})
    assert denied.json()["total"] == 1


async def test_a_rule_made_while_the_session_runs_holds_for_its_very_next_call(
    asked: Asked, daemon: Daemon, session_id: str, tmp_path: Path
) -> None:
    async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq=0") as socket:
        second = ToolCall("file_write", {"path": "two.txt", "content": "x"}, id="call_two")
        await asked.wants_to_write("one.txt", then=(Reply((second,)),))
        question = await next_frame(socket, "permission.requested")
        await asked.client.post(
            f"{asked.session}/permissions",
            json={"permission": "file.write", "pattern": "two.txt", "action": "deny"},
        )
        await asked.answer(question, answer="once")
        await ended(socket)
    assert (tmp_path / "shop" / "one.txt").exists()
    assert not (tmp_path / "shop" / "two.txt").exists()
    assert asked.read_by_model().startswith("Error permission_denied")
    assert (await asked.client.get(f"{asked.session}/interactions")).json()["total"] == 1


async def test_in_a_headless_session_nobody_is_asked_and_the_call_is_denied(
    asked: Asked, daemon: Daemon, client: httpx2.AsyncClient, project_id: str, tmp_path: Path
) -> None:
    made = await client.post("/api/v1/sessions", json={"project_id": project_id, "headless": True})
    session_id = made.json()["id"]
    asked.session = f"/api/v1/sessions/{session_id}"
    async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq=0") as socket:
        await asked.wants_to_write("notes.txt")
        await ended(socket)
    assert not (tmp_path / "shop" / "notes.txt").exists()
    assert asked.read_by_model().startswith("Error permission_denied")
    assert (await client.get(f"{asked.session}/interactions")).json()["total"] == 0


async def test_an_operators_own_call_is_consent_but_no_way_around_a_denial(
    asked: Asked, tmp_path: Path
) -> None:
    await asked.rule(pattern="secret/**", action="deny")
    answers = []
    for path in ("notes.txt", "secret/notes.txt"):
        body = {"params": {"path": path, "content": "hello\n"}}
        answers.append((await asked.client.post(f"{asked.session}/tools/file.write", json=body)).json())
    assert [answer["type"] for answer in answers] == ["output", "error"]
    assert answers[1]["code"] == "permission_denied"
    assert (tmp_path / "shop" / "notes.txt").exists()
    assert not (tmp_path / "shop" / "secret").exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "answer"),
        ({"answer": "yes"}, "answer"),
        ({"answer": "once", "rule": 0}, "rule"),
        ({"answer": "once", "scope": "project"}, "scope"),
        ({"answer": "once", "comment": "why not"}, "comment"),
        ({"answer": "reject", "rule": "notes.txt"}, "rule"),
        ({"answer": "reject", "comment": "x" * 2001}, "comment"),
        ({"answer": "always", "scope": "manifest"}, "scope"),
        ({"answer": "always", "rule": 9}, "rule"),
        ({"answer": "always", "rule": -1}, "rule"),
        ({"answer": "always", "rule": "other.txt"}, "rule"),
        ({"answer": "always", "rule": ""}, "rule"),
        ({"answer": "always", "rule": True}, "rule"),
        ({"answer": "always", "suggestions": []}, "suggestions"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays_open(
    asked: Asked, daemon: Daemon, session_id: str, body: dict[str, Any], field: str
) -> None:
    async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq=0") as socket:
        await asked.wants_to_write("notes.txt")
        question = await next_frame(socket, "permission.requested")
        refused = await asked.answer(question, **body)
        detail = (await asked.client.get(asked.session)).json()
        await asked.answer(question, answer="reject")
        await ended(socket)
    assert refused.status_code == 400, refused.text
    fields = refused.json()["error"]["details"]["fields"]
    assert {name.partition(".")[0] for name in fields} == {field}
    assert detail["pending_interactions"] == 1


async def test_only_an_operator_answers_and_only_in_the_session_that_was_asked(
    asked: Asked, daemon: Daemon, client: httpx2.AsyncClient, project_id: str, session_id: str
) -> None:
    token = (await client.post("/api/v1/tokens", json={"name": "watch", "scope": "read-only"})).json()[
        "token"
    ]
    other = (await client.post("/api/v1/sessions", json={"project_id": project_id})).json()["id"]
    async with (
        daemon.websocket(f"/sessions/{session_id}/ws?after_seq=0") as socket,
        daemon.client(token) as reader,
    ):
        await asked.wants_to_write("notes.txt")
        question = await next_frame(socket, "permission.requested")
        interaction = question["payload"]["interaction_id"]
        path = f"interactions/{interaction}/answer"
        assert (await reader.get(f"{asked.session}/interactions")).json()["total"] == 1
        forbidden = await reader.post(f"{asked.session}/{path}", json={"answer": "once"})
        elsewhere = await client.post(f"/api/v1/sessions/{other}/{path}", json={"answer": "once"})
        unseen = await client.get(f"/api/v1/sessions/{other}/interactions/{interaction}")
        await asked.answer(question, answer="reject")
        await ended(socket)
    assert (forbidden.status_code, elsewhere.status_code, unseen.status_code) == (403, 404, 404)


async def test_what_was_never_asked_cannot_be_answered(client: httpx2.AsyncClient, session_id: str) -> None:
    path = f"/api/v1/sessions/{session_id}/interactions/itx_01JZ0000000000000000000000"
    for answer in (await client.post(f"{path}/answer", json={"answer": "once"}), await client.get(path)):
        assert answer.status_code == 404
        assert "itx_01JZ0000000000000000000000" in answer.json()["error"]["message"]


async def test_a_list_has_pages_and_a_filter_by_state(
    asked: Asked, daemon: Daemon, client: httpx2.AsyncClient, session_id: str
) -> None:
    async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq=0") as socket:
        await asked.wants_to_write("a.txt", "b.txt", "c.txt")
        questions = [await next_frame(socket, "permission.requested") for _ in range(3)]
        for question in questions[:2]:
            await asked.answer(question, answer="reject")
        path = f"{asked.session}/interactions"
        first = (await client.get(path, params={"limit": 2})).json()
        rest = (await client.get(path, params={"limit": 2, "cursor": first["next_cursor"]})).json()
        pending = (await client.get(path, params={"state": "pending"})).json()
        await asked.answer(questions[2], answer="reject")
        await ended(socket)
    ids = [question["payload"]["interaction_id"] for question in questions]
    assert [item["id"] for item in first["items"] + rest["items"]] == sorted(ids, reverse=True)
    assert (first["total"], rest["next_cursor"]) == (3, None)
    assert [item["id"] for item in pending["items"]] == [ids[2]]


def test_a_long_call_is_shown_from_its_beginning() -> None:
    text = "x" * MOST_CHARACTERS
    whole = asked_call("file.write", {"path": "a", "content": "b"})
    cut = asked_call("file.write", {"path": "a", "content": text, "lines": ["c", {"d": "e"}], "force": True})
    assert (whole.arguments, whole.cut) == ({"path": "a", "content": "b"}, False)
    assert cut.arguments == {"path": "a", "content": text[:-12]}
    assert cut.cut
