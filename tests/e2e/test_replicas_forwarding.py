"""Two daemons on one PostgreSQL database: the one that does not own the project answers all the same."""

from __future__ import annotations

import asyncio
import hashlib
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon_process import DaemonProcess
from tests.driver.replicas import Replicas, Work, new_session, post, until

pytestmark = [pytest.mark.timeout(600), pytest.mark.needs("cages")]

MEBIBYTE = 1024 * 1024


async def state_of(client: httpx2.AsyncClient, session_id: str) -> str:
    return str((await client.get(f"/sessions/{session_id}")).json()["state"])


def has_state(client: httpx2.AsyncClient, session_id: str, state: str) -> Any:
    async def asked() -> bool:
        return await state_of(client, session_id) == state

    return asked


def reason_of(answer: httpx2.Response) -> str:
    return str(answer.json()["error"]["details"]["reason"])


@pytest.mark.requirement("replicas.forwarding")
async def test_commands_sent_to_the_other_daemon_reach_the_owner(replicas: Replicas, work: Work) -> None:
    first = await replicas.start("first")
    second = await replicas.start("second")
    async with second.client() as client:
        session_id = await new_session(client, replicas.project_id)
        await post(client, session_id, "Hello")
        await until(has_state(client, session_id, "idle"))
        answer = (await client.get(f"/sessions/{session_id}/messages")).json()["items"][-1]
        assert "Answer to Hello" in str(answer["content"])

        for command, ends in (("cancel", "idle"), ("pause", "paused")):
            asked = len(work.asked)
            await post(client, session_id, "Please stall")
            await until(lambda asked=asked: len(work.asked) == asked + 1)
            done = await client.post(f"/sessions/{session_id}/{command}")
            assert done.status_code == 200, done.text
            await until(has_state(client, session_id, ends))

        loaded = await client.post("/projects/load", json={"path": str(replicas.root)})
        assert (loaded.status_code, loaded.json()["id"]) == (200, replicas.project_id)
        shown = await client.get(f"/projects/{replicas.project_id}")
        assert shown.json()["trust"]["state"] == "trusted"
        tools = await client.get(f"/projects/{replicas.project_id}/agents/primary/tools")
        assert tools.status_code == 200 and tools.json()["items"]
        valid = await client.post("/dsl/validate", params={"project_id": replicas.project_id}, content=b"{")
        assert valid.status_code == 200 and not valid.json()["valid"]
        made = await client.post(
            "/tokens", json={"name": "chat", "scope": "chat", "project_id": replicas.project_id}
        )
        assert made.status_code == 201
        audit = (await client.get("/audit", params={"event": "operator.*"})).json()["items"]
    async with first.client() as client:
        assert await state_of(client, session_id) == "paused"
    assert second.projects == [] and audit


@pytest.mark.requirement("replicas.forwarding")
async def test_a_question_is_answered_through_the_other_daemon(replicas: Replicas, work: Work) -> None:
    await replicas.start("first")
    second = await replicas.start("second")
    async with second.client() as client:
        session_id = await new_session(client, replicas.project_id)
        created = await client.post(
            f"/sessions/{session_id}/permissions",
            json={"permission": "shell.bash", "pattern": "*", "action": "ask"},
        )
        assert created.status_code == 201, created.text
        await post(client, session_id, "Please write lines")

        async def question() -> dict[str, Any] | None:
            listed = await client.get(f"/sessions/{session_id}/interactions", params={"state": "pending"})
            found: list[dict[str, Any]] = listed.json()["items"]
            return found[0] if found else None

        await until(question)
        asked = await question()
        assert asked is not None
        answered = await client.post(
            f"/sessions/{session_id}/interactions/{asked['id']}/answer", json={"answer": "reject"}
        )
        assert answered.status_code == 200, answered.text
        assert answered.json()["state"] == "answered"
        await until(has_state(client, session_id, "idle"))


@pytest.mark.requirement("replicas.forwarding")
async def test_a_large_file_goes_to_the_owner_and_comes_back_as_a_stream(
    replicas: Replicas, work: Work
) -> None:
    first = await replicas.start("first")
    second = await replicas.start("second")
    piece, count = bytes(range(256)) * 256, 320  # 20 MiB: more than other bodies may have

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(count):
            yield piece

    query = {"project_id": replicas.project_id, "name": "large.bin"}
    async with second.client() as client:
        before = peak_memory(second)
        kept = await client.post("/uploads", params=query, content=pieces(), timeout=120)
        assert kept.status_code == 201, kept.text
        got = await client.get(f"/uploads/{kept.json()['id']}/content", timeout=120)
        part = await client.get(
            f"/uploads/{kept.json()['id']}/content", headers={"range": "bytes=1-3"}, timeout=120
        )
        assert peak_memory(second) - before < 16 * MEBIBYTE
        assert hashlib.sha256(got.content).digest() == hashlib.sha256(piece * count).digest()
        assert got.headers["content-length"] == str(len(piece) * count)
        assert (part.status_code, part.content) == (206, b"\x01\x02\x03")

        too_large = await client.post(
            "/sessions",
            content=b" " * (11 * MEBIBYTE),
            headers={"content-type": "application/json"},
        )
        announced = await client.post(
            f"/projects/{replicas.project_id}/issues", content=b" " * (11 * MEBIBYTE)
        )

        async def blanks() -> AsyncIterator[bytes]:
            for _ in range(11):
                yield b" " * MEBIBYTE

        streamed = await client.post(f"/projects/{replicas.project_id}/issues", content=blanks())
    for answer in (too_large, announced, streamed):
        assert (answer.status_code, reason_of(answer)) == (413, "body_too_large"), answer.text
    async with first.client() as client:
        assert (await client.get(f"/projects/{replicas.project_id}/issues")).json()["total"] == 0


def peak_memory(daemon: DaemonProcess) -> int:
    """Return the most memory that a daemon has had, in bytes."""
    lines = Path(f"/proc/{daemon.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


@pytest.mark.requirement("replicas.forwarding", "replicas.takeover")
async def test_a_command_with_a_key_takes_effect_once_before_and_after_a_takeover(
    replicas: Replicas, work: Work
) -> None:
    first = await replicas.start("first")
    second = await replicas.start("second")
    async with second.client() as client:
        session_id = await new_session(client, replicas.project_id)
        call = {"json": {"content": "Hello"}, "headers": {"idempotency-key": "one"}}
        path = f"/sessions/{session_id}/messages"
        once = await client.post(path, **call)
        again = await client.post(path, **call)
        assert (once.status_code, again.status_code) == (201, 201)
        assert again.headers["idempotency-replayed"] == "true"
        await until(has_state(client, session_id, "idle"))
        await first.kill()
        await replicas.until_owner(second)
        late = await client.post(path, **call)
        assert late.headers["idempotency-replayed"] == "true"
        assert once.json()["message"]["id"] == again.json()["message"]["id"] == late.json()["message"]["id"]
    assert len(work.asked) == 1


@pytest.mark.requirement("replicas.forwarding", "replicas.takeover")
async def test_while_the_owner_cannot_be_reached_reads_go_on_and_commands_are_refused(
    replicas: Replicas, work: Work
) -> None:
    first = await replicas.start("first", replica_url="http://127.0.0.1:9")
    second = await replicas.start("second", project=False)
    async with first.client() as client:
        session_id = await new_session(client, replicas.project_id)
        run_id = (await post(client, session_id, "Hello"))["run"]["id"]
        await until(has_state(client, session_id, "idle"))
        issue = (await client.post(f"/projects/{replicas.project_id}/issues", json={"title": "Lamp"})).json()
        kept = await client.post(
            "/uploads", params={"project_id": replicas.project_id, "name": "a.txt"}, content=b"a"
        )
    session, issues = f"/sessions/{session_id}", f"/projects/{replicas.project_id}/issues"
    numbered = f"{issues}/{issue['number']}"
    below = ("messages", "runs", "checkpoints", "rollbacks", "compactions", "interactions", "todo-proposals")
    async with second.client() as client:
        for path in (
            *(session, f"{session}/export", *(f"{session}/{noun}" for noun in below), f"/runs/{run_id}"),
            *(
                issues,
                numbered,
                *(f"{numbered}/{noun}" for noun in ("updates", "links", "attachments", "todos")),
            ),
            *(f"/uploads/{kept.json()['id']}", f"/sync?sessions={session_id}:0", "/workflow-runs", "/audit"),
        ):
            read = await client.get(path)
            assert read.status_code == 200, (path, read.text)
        loaded = [
            line for line in (await client.get("/metrics")).text.splitlines() if "kaged_sessions{" in line
        ]
        assert loaded == []
        for refused in (
            await client.post(f"{session}/messages", json={"content": "Lost?"}),
            await client.post("/sessions", json={"project_id": replicas.project_id}),
            await client.get(f"{session}/prompts"),
        ):
            assert (refused.status_code, reason_of(refused)) == (503, "project_elsewhere"), refused.text
            assert int(refused.headers["retry-after"]) > 0
        await first.kill()
        await replicas.until_owner(second)
        await post(client, session_id, "Found")
        await until(lambda: len(work.asked) == 2)
        assert (await client.get(f"{session}/prompts")).status_code == 200
    assert [text for text in work.asked if "Lost" in text] == []


@pytest.mark.requirement("replicas.forwarding", "replicas.takeover")
async def test_a_request_that_waits_for_a_stopped_owner_ends_with_the_takeover(
    replicas: Replicas, work: Work
) -> None:
    first = await replicas.start("first")
    second = await replicas.start("second")
    async with second.client() as client:
        session_id = await new_session(client, replicas.project_id)
        call = {"params": {"command": "touch begun; sleep 300", "timeout": 600}}
        path = f"/sessions/{session_id}/tools/shell.bash"
        calling = asyncio.create_task(client.post(path, json=call, timeout=300))
        await until((replicas.root / "begun").exists)
        first.send_signal(signal.SIGSTOP)
        ended = await calling
        assert (ended.status_code, reason_of(ended)) == (503, "outcome_unknown"), ended.text
        await replicas.until_owner(second)
        assert (await client.get(f"/sessions/{session_id}/prompts")).status_code == 200


@pytest.mark.requirement("replicas.forwarding")
async def test_a_browser_that_is_signed_in_at_one_daemon_is_signed_in_at_the_owner(
    replicas: Replicas, work: Work
) -> None:
    await replicas.start("first")
    second = await replicas.start("second")
    async with httpx2.AsyncClient(base_url=second.url, trust_env=False, timeout=30, verify=False) as browser:
        assert (await browser.get(second.launch_url)).status_code == 303
        csrf = next(one.value or "" for one in browser.cookies.jar if one.name.startswith("kaged_csrf"))
        body = {"project_id": replicas.project_id}
        refused = await browser.post("/api/v1/sessions", json=body)
        assert (refused.status_code, reason_of(refused)) == (403, "csrf_invalid")
        headers = {"x-kaged-csrf": csrf, "origin": second.url}
        made = await browser.post("/api/v1/sessions", json=body, headers=headers)
        assert made.status_code == 201, made.text
        assert made.json()["created_by"] == "operator"


@pytest.mark.requirement("replicas.forwarding")
async def test_daemons_that_name_wrong_addresses_do_not_send_requests_round(
    replicas: Replicas, work: Work
) -> None:
    """The owner says that it is at the address of the other daemon, and a third one at that of nobody."""
    second = await replicas.start("second", project=False)
    first = await replicas.start("first", replica_url=second.url)
    assert len(first.projects) == 1
    body = {"project_id": replicas.project_id}
    async with second.client() as client:
        refused = await client.post("/sessions", json=body)
        assert (refused.status_code, reason_of(refused)) == (503, "project_elsewhere"), refused.text
        assert int(refused.headers["retry-after"]) > 0
        marked = {"x-kaged-forwarded": "anything"}
        assert (await client.post("/sessions", json=body, headers=marked)).status_code == 503
    assert await first.stop(seconds=60) == 0
    await replicas.until_owner(second)
    assert await second.stop(seconds=60) == 0

    nowhere = await replicas.start("first", replica_url="http://127.0.0.1:9")
    third = await replicas.start("third", project=False)
    async with third.client() as client:
        refused = await client.post("/sessions", json=body)
        assert (refused.status_code, reason_of(refused)) == (503, "project_elsewhere")
        said = refused.json()["error"]["message"]
        assert "http://127.0.0.1:9" in said and "storage.replica_url" in said and "reached" in said
        ready = (await client.get(f"{third.url}/readyz")).json()["checks"]["replicas"]
        assert ready["status"] == "warning" and "1 of the other daemons cannot be reached" in ready["detail"]
    async with nowhere.client() as client:
        assert (await client.post("/sessions", json=body)).status_code == 201
