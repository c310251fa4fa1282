"""kill -9 around a question: it is answered after the restart, and no answer that was taken is lost."""

from __future__ import annotations

import asyncio
import contextlib
import random
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from websockets.asyncio.client import ClientConnection

from tests.driver.daemon_process import WAIT_SECONDS, DaemonProcess, write_config
from tests.driver.ledger import check_closed, get, get_all
from tests.driver.rounds import SEED
from tests.driver.sessions import write_project
from tests.e2e.work_script import complaints_about
from tests.fakes.provider_script import RecordedRequest, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

KILLS = 16

ASKED = {"summary": "First.", "questions": [{"id": "a", "title": "Which?", "options": [{"label": "x"}]}]}
FORM = {"summary": "And.", "fields": [{"name": "b", "label": "B", "type": "text", "required": True}]}
BODIES = {"ask": {"answers": {"a": ["x"]}}, "form": {"values": {"b": "text"}}}
IN_RESULTS = {"ask": '"chosen":["x"]', "form": '"b":"text"'}


async def frame_of(socket: ClientConnection, *types: str) -> dict[str, Any]:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            frame: dict[str, Any] = orjson.loads(await socket.recv())
            if frame["type"] in types:
                return frame


@pytest.mark.requirement("interactions.restart", "interactions.socket")
async def test_a_question_of_a_killed_daemon_is_answered_over_the_socket_after_the_restart(
    tmp_path: Path,
) -> None:
    root = write_project(tmp_path / "shop")
    async with FakeProvider() as model:
        config = write_config(tmp_path / "config.toml", model.port)
        model.script(Reply((ToolCall("kaged_ask", ASKED),)))
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        async with daemon.client() as client:
            made = await client.post("/sessions", json={"project_id": daemon.project_id})
            session = f"/sessions/{made.json()['id']}"
            async with daemon.websocket(f"{session}/ws?after_seq=0") as socket:
                await client.post(f"{session}/messages", json={"content": "Ask"})
                question = await frame_of(socket, "interaction.requested")
        await daemon.kill()

        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            async with daemon.client() as client:
                detail = await get(client, session)
                listed = await get(client, f"/sessions?project_id={daemon.project_id}")
                (open_still,) = (await get(client, f"{session}/interactions?state=pending"))["items"]
                model.script(text_reply("Good."))
                async with (
                    daemon.websocket(f"{session}/ws?after_seq={detail['last_seq']}") as socket,
                    daemon.websocket("/ws") as everywhere,
                ):
                    frame = {"type": "answer", "interaction_id": open_still["id"], **BODIES["ask"]}
                    await socket.send(orjson.dumps({**frame, "answers": {"a": ["y"]}}).decode())
                    refused = await frame_of(socket, "error")
                    await socket.send(orjson.dumps(frame).decode())
                    told = await frame_of(socket, "interaction.answered")
                    await frame_of(socket, "run.ended")
                    attention = await frame_of(everywhere, "interaction.answered")
                    await socket.send(orjson.dumps(frame).decode())
                    late = await frame_of(socket, "error")
                after = await get(client, session)
        finally:
            assert await daemon.stop() == 0

    assert (detail["state"], detail["state_reason"], detail["pending_interactions"]) == (
        "paused",
        "interaction",
        1,
    )
    assert [(row["state_reason"], row["pending_interactions"]) for row in listed["items"]] == [
        ("interaction", 1)
    ]
    assert open_still["id"] == question["payload"]["interaction_id"]
    assert refused["payload"]["code"] == "validation_failed"
    assert set(refused["payload"]["details"]["fields"]) == {"answers.a"}
    assert told["payload"]["answered_by"] == "operator"
    assert attention["payload"] == told["payload"]
    assert late["payload"]["details"]["reason"] == "already_answered"
    assert after["state"] == "idle"
    assert IN_RESULTS["ask"] in model.requests[-1].json["messages"][-1]["content"]


class Asker:
    """A model that asks twice at once and reads beside it, and asks anew what was broken off."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self._calls = 0

    def __call__(self, request: RecordedRequest) -> Reply:
        sent = request.json["messages"]
        self.complaints += complaints_about(sent)
        if sent[-1]["role"] == "tool" and not self._broken_off(sent):
            return Reply((Text("Done."),))
        self._calls += 1
        read = ToolCall("file_read", {"path": "README.md"}, f"read_{self._calls}")
        ask = ToolCall("kaged_ask", ASKED, f"ask_{self._calls}")
        form = ToolCall("kaged_form", FORM, f"form_{self._calls}")
        return Reply((Text("Let me ask. "), ask, read, form))

    @staticmethod
    def _broken_off(sent: list[dict[str, Any]]) -> bool:
        newest = sent[max(n for n, one in enumerate(sent) if one["role"] == "assistant") :]
        return any("aborted by daemon restart" in str(one["content"]) for one in newest)


class Life:
    """One daemon on the folder, from its start to the moment of its death."""

    def __init__(self, daemon: DaemonProcess, session: str, chance: random.Random) -> None:
        self.daemon = daemon
        self.session = session
        self.answered: dict[str, str] = {}
        self._chance = chance

    async def die_within(self, seconds: float) -> None:
        await asyncio.sleep(self._chance.uniform(0, seconds))
        await self.daemon.kill()

    async def go_on(self, client: httpx2.AsyncClient) -> bool:
        """Do what an operator does for the session to go on; true when it is idle."""
        detail = await get(client, self.session)
        if detail["state"] == "idle":
            return True
        pending = (await get(client, f"{self.session}/interactions?state=pending"))["items"]
        self._chance.shuffle(pending)
        for one in pending:
            path = f"{self.session}/interactions/{one['id']}/answer"
            answer = await client.post(path, json=BODIES[one["kind"]])
            assert answer.status_code in (200, 409), answer.text
            if answer.status_code == 200:
                self.answered[one["id"]] = one["kind"]
        if detail["state"] == "paused" and detail["state_reason"] == "daemon_restart":
            await client.post(f"{self.session}/resume")
        await asyncio.sleep(0.02)
        return False

    async def work(self) -> None:
        async with self.daemon.client() as client:
            while not await self.go_on(client):
                pass


@pytest.mark.timeout(600)
@pytest.mark.requirement("interactions.restart", "interactions.pause")
async def test_killed_at_any_moment_no_answer_is_lost_and_each_call_has_one_result(tmp_path: Path) -> None:
    chance, root = random.Random(SEED), write_project(tmp_path / "shop")
    asker, kills, jobs = Asker(), 0, 0
    async with FakeProvider(asker) as model:
        config = write_config(tmp_path / "config.toml", model.port)
        session, answered = "", dict[str, str]()
        while kills < KILLS:
            daemon = await DaemonProcess.start(tmp_path / "data", config, root)
            async with daemon.client() as client:
                if not session:
                    made = await client.post("/sessions", json={"project_id": daemon.project_id})
                    session = f"/sessions/{made.json()['id']}"
                life = Life(daemon, session, chance)
                with contextlib.suppress(httpx2.HTTPError, asyncio.CancelledError):
                    if (await get(client, session))["state"] == "idle":
                        jobs += 1
                        await client.post(f"{session}/messages", json={"content": f"Job {jobs}"})
                    async with asyncio.timeout(30):
                        dying = asyncio.create_task(life.die_within(0.4))
                        await life.work()
            await dying
            kills += 1
            answered |= life.answered
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            async with asyncio.timeout(60), daemon.client() as client:
                last = Life(daemon, session, chance)
                while not await last.go_on(client):
                    pass
                answered |= last.answered
                messages = await get_all(client, f"{session}/messages")
                interactions = await get_all(client, f"{session}/interactions")
                detail = await get(client, session)
                frames = await replay(daemon, session, detail["last_seq"])
        finally:
            assert await daemon.stop() == 0

    assert asker.complaints == []
    check_closed(frames)
    assert {row["id"]: row["state"] for row in interactions if row["id"] in answered} == dict.fromkeys(
        answered, "answered"
    )
    assert answered, "no answer was ever taken"
    results = {row["details"]["toolCallId"]: row for row in messages if row["role"] == "tool"}
    assert len(results) == sum(row["role"] == "tool" for row in messages)
    for row in interactions:
        assert row["state"] == "answered", row
        assert IN_RESULTS[row["kind"]] in results[row["tool_call_id"]]["content"]


async def replay(daemon: DaemonProcess, session: str, last_seq: int) -> list[dict[str, Any]]:
    """Return the durable frames of a session."""
    frames: list[dict[str, Any]] = []
    async with daemon.websocket(f"{session}/ws?after_seq=0") as socket:
        while not frames or frames[-1]["seq"] < last_seq:
            frame = orjson.loads(await socket.recv())
            if frame["type"] not in ("sync", "resync", "heartbeat"):
                frames.append(frame)
    return frames
