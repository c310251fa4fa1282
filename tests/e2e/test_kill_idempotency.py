"""kill -9 with many keyed requests in flight: a repeat with the same key is answered, and happens once.

A daemon process takes what clients send again: messages, sessions, issues, comments, rules, workflow runs.
It is killed after some of the answers have come; every request is then sent again with its key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon_process import ANSWER_SECONDS, DaemonProcess, write_config
from tests.driver.ledger import get, get_all
from tests.driver.rounds import rounds
from tests.driver.sessions import write_project
from tests.fakes.provider_script import Answer, Delay, RecordedRequest, Reply, Text
from tests.fakes.provider_server import FakeProvider

KILLS = rounds(2, 10)
SESSIONS = 6
MESSAGES = 10
OTHERS = 8
YAML = """\
version: 1
project: shop
primary:
  model: main
  system_prompt: project:/prompts/primary.md
  cage: disabled
  tools: { shell.bash: { enabled: true } }
workflows:
  count:
    description: Count.
    system_prompt: project:/prompts/primary.md
    inputs: { mark: { type: string } }
"""


@dataclass(frozen=True)
class Keyed:
    """A request with its key, and where what it makes is listed with its mark in a field."""

    key: str
    path: str
    body: dict[str, Any]
    listed: str

    async def send(self, client: httpx2.AsyncClient) -> httpx2.Response:
        return await client.post(self.path, json=self.body, headers={"idempotency-key": self.key})

    @property
    def mark(self) -> str:
        return f"<{self.key}>"


def requests_of(kill: int, project: str, sessions: list[str]) -> Iterator[Keyed]:
    """Yield the requests of one life of the daemon; each has its mark in what it makes."""
    in_project = f"/projects/{project}"
    for number in range(max(SESSIONS * MESSAGES, OTHERS)):
        if number < SESSIONS * MESSAGES:
            path = f"/sessions/{sessions[number % SESSIONS]}/messages"
            key = f"message-{kill}-{number}"
            yield Keyed(key, path, {"content": f"Do <{key}>"}, path)
        if number >= OTHERS:
            continue
        key = f"session-{kill}-{number}"
        yield Keyed(key, "/sessions", {"project_id": project, "title": f"<{key}>"}, "/sessions")
        key = f"issue-{kill}-{number}"
        yield Keyed(key, f"{in_project}/issues", {"title": f"<{key}>"}, f"{in_project}/issues")
        key = f"comment-{kill}-{number}"
        history = f"{in_project}/issues/1/updates"
        yield Keyed(key, f"{in_project}/issues/1/comments", {"body": f"<{key}>"}, history)
        key = f"rule-{kill}-{number}"
        rule = {"permission": "shell.bash", "pattern": f"<{key}>", "action": "allow"}
        yield Keyed(key, f"{in_project}/permissions", rule, f"{in_project}/permissions")
        key = f"workflow-{kill}-{number}"
        inputs = {"inputs": {"mark": f"<{key}>"}}
        yield Keyed(key, f"{in_project}/workflows/count/invoke", inputs, "/workflow-runs")


def made_id(answer: httpx2.Response) -> str:
    body = answer.json()
    made: str = body["message"]["id"] if "message" in body else body["id"]
    return made


def reason_of(answer: httpx2.Response) -> str | None:
    """Return why a request was refused."""
    if answer.is_success:
        return None
    error = answer.json()["error"]
    return str(error.get("details", {}).get("reason", error["code"]))


def at_work(request: RecordedRequest) -> Answer:
    return Reply((Text("I am at it."), Delay(0.05), Text("Done.")))


async def one_life(
    daemon: DaemonProcess, client: httpx2.AsyncClient, wanted: list[Keyed], answers: int
) -> dict[str, str]:
    """Send all at once and kill the daemon after so many answers; return the ids told by then, by key."""
    told: dict[str, str] = {}
    enough = asyncio.Event()

    async def send(one: Keyed) -> None:
        try:
            answer = await one.send(client)
        except httpx2.TransportError:
            return
        assert answer.is_success, answer.text
        told[one.key] = made_id(answer)
        if len(told) >= answers:
            enough.set()

    async with asyncio.TaskGroup() as tasks:
        for one in wanted:
            tasks.create_task(send(one))
        async with asyncio.timeout(ANSWER_SECONDS):
            await enough.wait()
        await daemon.kill()
    return told


async def check(client: httpx2.AsyncClient, wanted: list[Keyed], told: dict[str, str]) -> list[str]:
    """Repeat everything; return what is wrong."""
    wrong: list[str] = []
    repeated: dict[str, str] = {}
    for one in wanted:
        answer = await one.send(client)
        if reason_of(answer) == "invalid_transition":  # not stored, and its session is paused by the kill
            resumed = await client.post(one.path.replace("/messages", "/resume"))
            assert resumed.status_code in (200, 201), resumed.text  # 200: the kill came after the answer
            answer = await one.send(client)
        if not answer.is_success:
            wrong.append(f"{one.key}: {reason_of(answer)}")
            continue
        repeated[one.key] = made_id(answer)
        if told.get(one.key, repeated[one.key]) != repeated[one.key]:
            wrong.append(f"{one.key}: two ids were told")
    for listed in {one.listed for one in wanted}:
        items = await get_all(client, listed)
        if listed == "/workflow-runs":
            items = [await get(client, f"{listed}/{item['id']}") for item in items]
        for one in wanted:
            if one.listed != listed:
                continue
            made = [item["id"] for item in items if one.mark in str(item)]
            if made != [repeated.get(one.key)]:
                wrong.append(f"{one.key}: stored are {made}, told was {repeated.get(one.key)}")
    return wrong


@pytest.mark.requirement("operations.idempotency")
@pytest.mark.timeout(120 + KILLS * 120)
async def test_a_request_that_a_kill_cut_off_is_answered_with_what_it_made_when_it_is_sent_again(
    storage_url: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if storage_url is not None:
        monkeypatch.setenv("KAGED_STORAGE__URL", storage_url)
    root = write_project(tmp_path / "shop", YAML)
    cut_off = 0
    async with FakeProvider(at_work, keep_requests=0) as model:
        config = write_config(tmp_path / "config.toml", model.port)
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            for kill in range(KILLS):
                async with daemon.client() as client:
                    project = daemon.project_id
                    if kill == 0:
                        await client.post(f"/projects/{project}/issues", json={"title": "The first"})
                    opened = [
                        await client.post("/sessions", json={"project_id": project}) for _ in range(SESSIONS)
                    ]
                    assert all(answer.status_code == 201 for answer in opened), opened[0].text
                    sessions = [answer.json()["id"] for answer in opened]
                    wanted = list(requests_of(kill, project, sessions))
                    told = await one_life(daemon, client, wanted, answers=10 + 8 * kill)
                cut_off += len(wanted) - len(told)
                daemon = await DaemonProcess.start(tmp_path / "data", config, root)
                async with daemon.client() as client:
                    wrong = await check(client, wanted, told)
                assert not wrong, f"{len(wrong)} of {len(wanted)}: {wrong}"
        finally:
            await daemon.kill()
        assert "Traceback" not in daemon.errors.read_text()
    assert cut_off > KILLS * 10  # else nothing was in flight
