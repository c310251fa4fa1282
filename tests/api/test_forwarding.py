"""What a daemon passes on to the owner of a project, and what it says when that one does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from app.api import owner_rules
from app.api.application import NOUNS
from app.bridges.network import daemon_client
from app.cli.diagnosis import owner_findings
from app.storage.backup import upgrade
from tests.driver.daemon import Daemon, running_daemon
from tests.driver.other_owner import Call, OtherOwner, running_owner
from tests.driver.replicas import until

pytestmark = pytest.mark.requirement("replicas.forwarding")

SECONDS = 60.0
"""For what is sure to come."""


@pytest.fixture
async def owner() -> AsyncIterator[OtherOwner]:
    async with running_owner() as running:
        yield running


@pytest.fixture
async def daemon(tmp_path: Path, postgres_url: str, owner: OtherOwner) -> AsyncIterator[Daemon]:
    """A daemon beside the owner of a project, which is the other one."""
    await upgrade(postgres_url, tmp_path)
    storage = {"url": postgres_url, "replicas": True, "replica_url": "http://127.0.0.1:9"}
    chat = {"enabled": True}
    async with running_daemon(tmp_path / "data", storage=storage, chat_completions=chat) as running:
        await owner.owns(running.services.storage, tmp_path / "shop")
        yield running


def issues(owner: OtherOwner) -> str:
    return f"/api/v1/projects/{owner.project_id}/issues"


def reason_of(answer: httpx2.Response) -> str:
    return str(answer.json()["error"]["details"]["reason"])


async def test_a_request_reaches_the_owner_as_a_proxy_passes_it_on(daemon: Daemon, owner: OtherOwner) -> None:
    async def talk(call: Call) -> None:
        await call.say("201 Created", b'{"id":"x"}', "x-of-the-owner: yes", "set-cookie: a=1", "date: then")

    owner.talk = talk
    sent = {
        "cookie": "kaged_session=1; other=2",
        "origin": daemon.url,
        "idempotency-key": "key-1",
        "x-request-id": "req-of-the-client",
        "x-forwarded-for": "192.0.2.7",
        "connection": "x-private, x-kaged-forwarded",
        "x-private": "for this connection",
        "te": "trailers",
    }
    async with daemon.client(headers=sent) as client:
        path = f"/api/v1/projects/{owner.project_id}/workflows/a%2Fb%20c/invoke"
        answer = await client.post(f"{path}?one=1&two=%C3%A4", content=b'{"inputs": {}}')
    assert answer.status_code == 201, answer.text
    (call,) = owner.calls
    assert call.head[0] == f"POST {path}?one=1&two=%C3%A4 HTTP/1.1".encode()
    assert call.body == b'{"inputs": {}}'
    kept = {name: sent[name] for name in ("cookie", "origin", "idempotency-key", "x-request-id")}
    kept |= {"authorization": f"Bearer {daemon.token}", "host": f"127.0.0.1:{daemon.port}"}
    assert {name: call.header(name) for name in kept} == kept
    assert call.header("x-forwarded-for") == "192.0.2.7, 127.0.0.1"
    assert call.header("x-forwarded-proto") == "http"
    assert call.header("x-forwarded-host") == f"127.0.0.1:{daemon.port}"
    assert str(call.header("x-kaged-forwarded")).endswith(f"127.0.0.1 {daemon.port}")
    assert call.header("x-private") is None and call.header("te") is None
    assert (answer.status_code, answer.content) == (201, b'{"id":"x"}')
    assert (answer.headers["x-of-the-owner"], answer.headers["set-cookie"]) == ("yes", "a=1")
    assert answer.headers["x-request-id"] == "req-of-the-client"
    assert len(answer.headers.get_list("date")) == 1 and answer.headers["date"] != "then"


async def test_reads_that_rows_answer_and_what_names_no_project_stay_here(
    daemon: Daemon, owner: OtherOwner
) -> None:
    async with daemon.client() as client:
        for path in (issues(owner), "/api/v1/projects", "/api/v1/sessions", "/v1/models"):
            assert (await client.get(path)).status_code == 200
        assert (await client.get("/api/v1/sessions/ses_01JZ0000000000000000000000")).status_code == 404
        assert (await client.post("/api/v1/sessions", json={"project_id": "prj_0"})).status_code == 404
        assert (await client.post("/api/v1/sessions", content=b"[1]")).status_code == 400
        assert (await client.post("/api/v1/projects/load", json={"path": "/nowhere"})).status_code == 404
    assert owner.connections == 0


async def test_a_project_that_the_query_or_the_body_names_is_found(daemon: Daemon, owner: OtherOwner) -> None:
    project_id, chat = owner.project_id, {"messages": []}
    token = {"name": "x", "scope": "chat", "project_id": project_id}
    async with daemon.client() as client:
        for method, path, body in (
            ("POST", "/api/v1/sessions", {"project_id": project_id}),
            ("POST", "/api/v1/tokens", token),
            ("POST", f"/api/v1/uploads?name=a&project_id={project_id}", {}),
            ("POST", f"/api/v1/dsl/validate?project_id={project_id}", {}),
            ("POST", "/v1/chat/completions", {**chat, "model": "shop/primary"}),
            ("POST", "/v1/chat/completions", {**chat, "model": f"{project_id}/primary"}),
            ("GET", "/v1/models/shop/primary", None),
            ("POST", "/mcp?project=shop", {}),
        ):
            answer = await client.request(method, path, json=body)
            assert answer.status_code == 200, (path, answer.text)
            line, sent = owner.calls[-1].head[0], owner.calls[-1].body
            assert line == f"{method} {path} HTTP/1.1".encode()
            assert sent == (b"" if body is None else answer.request.content)


async def test_a_body_and_an_answer_go_through_piece_by_piece(daemon: Daemon, owner: OtherOwner) -> None:
    seen = asyncio.Event()

    async def talk(call: Call) -> None:
        await call.say("200 OK", b"first", "content-type: text/event-stream", whole=False)
        async with asyncio.timeout(SECONDS):
            await seen.wait()
        call.writer.write(b".")
        await call.writer.drain()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"one "
        yield b"two"

    owner.talk = talk
    async with daemon.client() as client, client.stream("POST", issues(owner), content=pieces()) as answer:
        parts = answer.aiter_raw()
        assert await anext(parts) == b"first"
        seen.set()
        assert [part async for part in parts] == [b"."]
    assert owner.calls[0].body == b"one two" and owner.calls[0].header("content-length") is None


async def test_a_client_that_leaves_ends_its_request_at_the_owner(daemon: Daemon, owner: OtherOwner) -> None:
    async def wait(call: Call) -> None:
        async with asyncio.timeout(SECONDS):
            await call.left.wait()

    owner.talk = wait
    for method in ("POST", "DELETE"):
        async with daemon.client() as client:
            asked = asyncio.create_task(client.request(method, f"{issues(owner)}/1/todos/todo_1"))
            await until(lambda: bool(owner.calls))
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
        async with asyncio.timeout(SECONDS):
            await owner.calls.pop().left.wait()


async def test_a_body_that_stops_or_is_too_large_never_arrives_as_a_whole(
    daemon: Daemon, owner: OtherOwner
) -> None:
    async def too_large() -> AsyncIterator[bytes]:
        for _ in range(11):
            yield b"x" * 1024 * 1024

    async def stops() -> AsyncIterator[bytes]:
        yield b"begun"
        raise OSError("the client stops")

    async with daemon.client() as client:
        answer = await client.post(issues(owner), content=too_large())
        assert (answer.status_code, reason_of(answer)) == (413, "body_too_large")
        with pytest.raises(OSError, match="the client stops"):
            await client.post(issues(owner), content=stops())
    assert owner.calls == []


@pytest.mark.parametrize("how", ["silent", "foreign", "half"])
async def test_a_connection_that_breaks_leaves_the_outcome_unknown_and_nothing_is_sent_twice(
    daemon: Daemon, owner: OtherOwner, how: str
) -> None:
    async def talk(call: Call) -> None:
        if how == "foreign":
            call.writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
        elif how == "half":
            call.writer.write(b"HTTP/1.1 200 OK\r\nx-req")

    owner.talk = talk
    async with daemon.client() as client:
        command = await client.post(issues(owner), json={"title": "x"})
        read = await client.get(f"/api/v1/projects/{owner.project_id}")
        chat = await client.post("/v1/chat/completions", json={"model": "shop/primary", "messages": []})
    assert (command.status_code, reason_of(command)) == (503, "outcome_unknown")
    assert "Idempotency-Key" in command.json()["error"]["message"]
    assert (read.status_code, reason_of(read)) == (503, "project_elsewhere")
    assert (chat.status_code, chat.headers["x-should-retry"]) == (503, "false")
    assert int(command.headers["retry-after"]) > 0 and int(read.headers["retry-after"]) > 0
    assert len(owner.calls) == owner.connections == 3


async def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(
    daemon: Daemon, owner: OtherOwner
) -> None:
    owner.talk = lambda call: call.say("200 OK", b"a part", whole=False)
    async with daemon.client() as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get(f"/api/v1/projects/{owner.project_id}")


async def test_an_owner_that_cannot_be_reached_is_named_with_what_to_correct(
    tmp_path: Path, daemon: Daemon
) -> None:
    async with running_owner() as gone:
        project_id = await gone.owns(daemon.services.storage, tmp_path / "other")
    async with daemon.client() as client:
        answer = await client.post(f"/api/v1/projects/{project_id}/issues", json={"title": "x"})
        ready = (await client.get("/readyz")).json()["checks"]["replicas"]
    assert (answer.status_code, reason_of(answer)) == (503, "project_elsewhere")
    assert int(answer.headers["retry-after"]) > 0
    message = answer.json()["error"]["message"]
    assert gone.url in message and "cannot be reached" in message and "storage.replica_url" in message
    assert "1 of the other daemons cannot be reached" in ready["detail"] and ready["status"] == "warning"


async def test_the_doctor_says_which_owner_nobody_can_reach(
    tmp_path: Path, daemon: Daemon, owner: OtherOwner
) -> None:
    async with running_owner() as gone:
        await gone.owns(daemon.services.storage, tmp_path / "other")
    found = {one.name: one for one in await owner_findings(daemon.services.settings)}
    assert found[str(tmp_path / "shop")].status == "ok"
    lost = found[str(tmp_path / "other")]
    assert lost.status == "problem" and gone.url in lost.detail
    assert "storage.replica_url" in str(lost.advice)


async def test_a_request_with_the_mark_goes_no_further(daemon: Daemon, owner: OtherOwner) -> None:
    async with daemon.client(headers={"x-kaged-forwarded": "anything"}) as client:
        refused = await client.post(issues(owner), json={"title": "x"})
        named = await client.post("/api/v1/sessions", json={"project_id": owner.project_id})
        read = await client.get(issues(owner))
    for answer in (refused, named):
        assert (answer.status_code, reason_of(answer)) == (503, "project_elsewhere")
        assert answer.json()["error"]["details"]["url"] == owner.url
        assert int(answer.headers["retry-after"]) > 0
    assert read.status_code == 200 and owner.connections == 0


async def test_only_so_many_requests_are_with_other_daemons_at_once(
    daemon: Daemon, owner: OtherOwner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon_client, "MAX_FORWARDED", 1)
    go_on = asyncio.Event()

    async def talk(call: Call) -> None:
        async with asyncio.timeout(SECONDS):
            await go_on.wait()
        await call.say("200 OK", b"{}")

    owner.talk = talk
    async with daemon.client() as client:
        first = asyncio.create_task(client.post(issues(owner), json={"title": "x"}))
        await until(lambda: bool(owner.calls))
        refused = await client.post(issues(owner), json={"title": "x"})
        assert (refused.status_code, reason_of(refused)) == (503, "too_many_forwarded")
        assert refused.headers["retry-after"] == "1"
        go_on.set()
        assert (await first).status_code == 200
        assert (await client.post(issues(owner), json={"title": "x"})).status_code == 200


async def test_who_is_not_let_in_here_reaches_no_owner(daemon: Daemon, owner: OtherOwner) -> None:
    made = await daemon.services.access.create("reader", scope="read-only")
    async with daemon.client(token="kgd_wrong") as client:
        assert (await client.post(issues(owner), json={"title": "x"})).status_code == 401
    async with daemon.client(token=made.secret) as client:
        assert (await client.post(issues(owner), json={"title": "x"})).status_code == 403
    async with daemon.client() as client:
        assert (await client.post(issues(owner), headers={"origin": "http://evil"})).status_code == 403
        assert (await client.delete(f"{issues(owner)}/1/links/%2E%2E")).status_code == 404
    assert owner.connections == 0


async def test_a_command_of_a_socket_is_sent_with_the_clients_credentials(
    daemon: Daemon, owner: OtherOwner
) -> None:
    passing = daemon.services.decisions.forwarding
    assert passing is not None
    credentials = [(b"host", b"kaged.example"), (b"authorization", b"Bearer secret")]
    path = "/api/v1/sessions/ses_1/cancel"
    done = await passing.command(owner.project_id, "POST", path, {"reason": "x"}, credentials)
    assert done is not None and (done.status, done.error) == (200, None)
    (call,) = owner.calls
    assert call.head[0] == f"POST {path} HTTP/1.1".encode() and call.body == b'{"reason":"x"}'
    assert (call.header("host"), call.header("authorization")) == ("kaged.example", "Bearer secret")

    error = b'{"error":{"code":"conflict","message":"No."}}'
    owner.talk = lambda call: call.say("409 Conflict", error)
    refused = await passing.command(owner.project_id, "POST", path, None, credentials)
    assert refused is not None and refused.error == {"code": "conflict", "message": "No."}
    assert await passing.command("prj_0", "POST", path, None, credentials) is None


def test_each_operation_has_its_place_in_the_table() -> None:
    places = (owner_rules.FROM_ROWS, owner_rules.BY_OWNER, owner_rules.NAMED_OTHERWISE, owner_rules.BY_ANY)
    routes = [route for noun in NOUNS for route in noun.router.routes]
    found = sorted(route.operation_id for route in routes if route.path.startswith("/api/v1"))
    assert sorted(name for place in places for name in place) == found
    nouns = (
        "/projects/{",
        "/sessions/{",
        "/runs/{",
        "/workflow-runs/{",
        "/uploads/{",
        "/attempts/{",
        "/workspaces/{",
    )
    for route in routes:
        of_project = route.path.removeprefix("/api/v1").startswith(nouns)
        assert of_project == (route.operation_id in owner_rules.FROM_ROWS | owner_rules.BY_OWNER), route.path
        if route.operation_id in owner_rules.FROM_ROWS:
            assert route.methods == {"GET"}
