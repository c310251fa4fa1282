"""Tokens that are bound to an agent or a plugin: what they may do, and that it is nothing else."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from fastapi.routing import APIRoute

from app.api.application import NOUNS
from app.api.scope_rules import FOR_AGENTS, FOR_PLUGINS
from tests.driver.daemon import Daemon, close_code, next_frame, write_project

OPENAPI = Path(__file__).parents[2] / "openapi" / "openapi.json"
ELSEWHERE = {
    "project_id": "prj_01JZ0000000000000000000000",
    "session_id": "ses_01JZ0000000000000000000000",
    "run_id": "run_01JZ0000000000000000000000",
}
KEPT_FROM_BOUND_TOKENS = {
    "export_session",
    "get_checkpoint",
    "get_checkpoint_prompt",
    "get_sent_request",
    "list_prompts",
    "list_session_permissions",
}
"""They read a session, but also prompts, rules or all of it at once."""
OPEN_OPERATIONS = {"get_health", "get_readiness", "get_versions", "get_dsl_schema", "launch"}


@dataclass
class Bound:
    """Two projects with a session each; tokens bound to the first of them."""

    daemon: Daemon
    project_id: str
    session_id: str
    other_project_id: str
    other_session_id: str
    agent: str
    plugin: str


async def _created(client: httpx2.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post(f"/api/v1{path}", json=body)
    assert answer.status_code in (200, 201), answer.text
    made: dict[str, Any] = answer.json()
    return made


@pytest.fixture
async def bound(
    daemon: Daemon, client: httpx2.AsyncClient, project_id: str, session_id: str, tmp_path: Path
) -> AsyncIterator[Bound]:
    other = (await _created(client, "/projects/load", {"path": str(write_project(tmp_path / "other"))}))["id"]
    elsewhere = (await _created(client, "/sessions", {"project_id": other}))["id"]
    agent = await _created(
        client,
        "/tokens",
        {"name": "a", "scope": "agent", "session_id": session_id, "agent_path": "primary"},
    )
    plugin = await _created(
        client, "/tokens", {"name": "p", "scope": "plugin", "project_id": project_id, "plugin": "notes"}
    )
    yield Bound(daemon, project_id, session_id, other, elsewhere, agent["token"], plugin["token"])


def marked(mark: Any) -> set[str]:
    """Return the operations whose routes say that tokens of a scope may ask for them."""
    routes = [route for noun in NOUNS for route in noun.router.routes if isinstance(route, APIRoute)]
    return {str(route.operation_id) for route in routes if mark in route.dependencies}


def operations() -> list[tuple[str, str, str]]:
    document = orjson.loads(OPENAPI.read_bytes())
    return [
        (operation["operationId"], method.upper(), path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


async def _status_of(
    client: httpx2.AsyncClient, method: str, path: str, values: dict[str, str]
) -> tuple[int, str | None]:
    address = path
    for name in [part.strip("{}") for part in path.split("/") if part.startswith("{")]:
        address = address.replace(f"{{{name}}}", values.get(name, "primary" if name == "agent_path" else "1"))
    body = {} if method in ("POST", "PUT", "PATCH") else None
    answer = await client.request(method, address, json=body)
    if answer.status_code < 400:
        return answer.status_code, None
    error = answer.json()["error"]
    reason = error["code"] if path.startswith("/v1/") else error.get("details", {}).get("reason")
    return answer.status_code, reason


@pytest.mark.requirement("daemon.scopes")
def test_a_mark_stands_on_reads_of_a_session_and_on_the_call_of_a_tool_alone() -> None:
    for mark in (FOR_AGENTS, FOR_PLUGINS):
        methods = {operation: method for operation, method, _ in operations() if operation in marked(mark)}
        assert {operation for operation, method in methods.items() if method != "GET"} <= {"call_tool"}
        assert not marked(mark) & KEPT_FROM_BOUND_TOKENS
    assert "call_tool" not in marked(FOR_PLUGINS)
    paths = {operation: path for operation, _, path in operations()}
    of_no_session = {one for one in marked(FOR_PLUGINS) if not re.search(r"\{(session|run)_id\}", paths[one])}
    assert of_no_session == {"list_sessions"}


@pytest.mark.requirement("daemon.scopes")
async def test_an_agents_token_reaches_the_operations_with_its_mark_and_no_other(bound: Bound) -> None:
    own = {"project_id": bound.project_id, "session_id": bound.session_id}
    async with bound.daemon.client(token=bound.agent) as agent:
        reached = {
            operation
            for operation, method, path in operations()
            if (await _status_of(agent, method, path, own))[1] != "out_of_scope"
        }
    # A run is looked up, and the one that was asked for does not exist.
    assert reached == (marked(FOR_AGENTS) | OPEN_OPERATIONS) - {"get_run"}


@pytest.mark.requirement("daemon.scopes")
async def test_a_plugins_token_reaches_the_operations_with_its_mark_and_no_other(bound: Bound) -> None:
    own = {"project_id": bound.project_id, "session_id": bound.session_id}
    async with bound.daemon.client(token=bound.plugin) as plugin:
        reached = {
            operation
            for operation, method, path in operations()
            if (await _status_of(plugin, method, path, own))[1] != "out_of_scope"
        }
        listed = await plugin.get("/api/v1/sessions", params={"project_id": bound.project_id})
        others = await plugin.get("/api/v1/sessions", params={"project_id": bound.other_project_id})
        both = await plugin.get(
            f"/api/v1/sessions?project_id={bound.other_project_id}&project_id={bound.project_id}"
        )
    assert reached == (marked(FOR_PLUGINS) | OPEN_OPERATIONS) - {"get_run", "list_sessions"}
    assert [item["id"] for item in listed.json()["items"]] == [bound.session_id]
    assert (others.status_code, both.status_code) == (403, 403)


@pytest.mark.requirement("daemon.scopes", "chat.access")
async def test_a_chat_clients_token_reaches_the_operations_with_its_mark_and_no_other(bound: Bound) -> None:
    async with bound.daemon.client() as operator:
        made = await _created(
            operator, "/tokens", {"name": "c", "scope": "chat", "project_id": bound.project_id}
        )
    own = {"project_id": bound.project_id, "session_id": bound.session_id}
    async with bound.daemon.client(token=made["token"]) as chat:
        reached = {
            operation
            for operation, method, path in operations()
            if (await _status_of(chat, method, path, own))[1] != "out_of_scope"
        }
    assert reached == {"create_chat_completion", "get_chat_model", "list_chat_models"} | OPEN_OPERATIONS


@pytest.mark.parametrize("whose", ["other", "nobody"])
@pytest.mark.requirement("daemon.scopes")
async def test_what_belongs_to_others_and_what_is_not_there_look_the_same(bound: Bound, whose: str) -> None:
    ids = ELSEWHERE
    if whose == "other":
        ids = {
            **ELSEWHERE,
            "project_id": bound.other_project_id,
            "session_id": bound.other_session_id,
        }
    for token in (bound.agent, bound.plugin):
        async with bound.daemon.client(token=token) as client:
            for operation, method, path in operations():
                if operation in marked(FOR_AGENTS) and "_id}" in path:
                    assert await _status_of(client, method, path, ids) == (403, "out_of_scope"), operation


@pytest.mark.requirement("daemon.scopes", "daemon.identity")
async def test_an_agents_token_calls_tools_as_its_agent_whatever_the_body_says(bound: Bound) -> None:
    address = f"/api/v1/sessions/{bound.session_id}/tools/file.read"
    async with bound.daemon.client(token=bound.agent) as agent, bound.daemon.client() as operator:
        read = await agent.post(address, json={"params": {"path": "README.md"}})
        same = await agent.post(address, json={"params": {"path": "README.md"}, "agent_path": "primary"})
        other = await agent.post(
            address, json={"params": {"path": "README.md"}, "agent_path": "primary/worker"}
        )
        audit = await operator.get("/api/v1/audit", params={"event": "tool.*"})
    assert read.json()["type"] == same.json()["type"] == "output", read.text
    assert "It sells things" in read.text
    assert (other.status_code, other.json()["error"]["details"]["reason"]) == (403, "out_of_scope")
    assert {row["actor"] for row in audit.json()["items"]} == {"agent-token:a"}


@pytest.mark.requirement("daemon.scopes")
async def test_what_would_be_asked_of_people_is_denied_to_an_agents_token(bound: Bound) -> None:
    address = f"/api/v1/sessions/{bound.session_id}/tools/file.write"
    params = {"path": ".kaged/project.yaml", "content": "version: 1\n"}
    rule = {"permission": "file.write", "pattern": "notes.md", "action": "ask"}
    async with bound.daemon.client(token=bound.agent) as agent, bound.daemon.client() as operator:
        await _created(operator, f"/sessions/{bound.session_id}/permissions", rule)
        frozen = await agent.post(address, json={"params": params})
        asked = await agent.post(address, json={"params": {"path": "notes.md", "content": "x\n"}})
        free = await agent.post(address, json={"params": {"path": "free.md", "content": "x\n"}})
        consented = await operator.post(address, json={"params": {"path": "notes.md", "content": "x\n"}})
    assert frozen.json()["type"] == "error"
    assert (asked.json()["type"], asked.json()["code"]) == ("error", "permission_denied")
    assert free.json()["type"] == "output"
    assert consented.json()["type"] == "output"


@pytest.mark.requirement("daemon.scopes")
async def test_what_is_denied_above_is_denied_to_the_token_of_an_agent_below(
    daemon: Daemon, client: httpx2.AsyncClient, tmp_path: Path
) -> None:
    root = write_project(tmp_path / "family")
    (root / "keys.txt").write_text("hunter2\n")
    project = root / ".kaged" / "project.yaml"
    project.write_text(
        project.read_text()
        + """\
  permissions: [{permission: file.read, pattern: "*.txt", action: deny}]
  subagents:
    worker:
      model: main
      system_prompt: ./prompts/primary.md
      description: Works
      cage: disabled
      tools: {"file.*": {enabled: true}}
      permissions: [{permission: file.read, pattern: "*", action: allow}]
"""
    )
    loaded = await _created(client, "/projects/load", {"path": str(root)})
    session = (await _created(client, "/sessions", {"project_id": loaded["id"]}))["id"]
    bound = {"session_id": session, "agent_path": "primary.subagents.worker"}
    token = (await _created(client, "/tokens", {"name": "w", "scope": "agent", **bound}))["token"]
    address = f"/api/v1/sessions/{session}/tools/file.read"
    async with daemon.client(token=token) as worker:
        denied = await worker.post(address, json={"params": {"path": "keys.txt"}})
        allowed = await worker.post(address, json={"params": {"path": "README.md"}})
    assert (denied.json()["code"], allowed.json()["type"]) == ("permission_denied", "output"), denied.text


@pytest.mark.requirement("daemon.scopes")
async def test_bound_tokens_follow_their_own_sessions_and_steer_none(bound: Bound) -> None:
    for token in (bound.agent, bound.plugin):
        async with bound.daemon.websocket(f"/sessions/{bound.session_id}/ws", token=token) as socket:
            await next_frame(socket, "sync")
            for frame in ("cancel", "pause"):
                await socket.send(orjson.dumps({"type": frame}).decode())
                refused = await next_frame(socket, "error")
                assert refused["payload"]["code"] == "forbidden"
        for path in (f"/sessions/{bound.other_session_id}/ws", "/ws"):
            async with bound.daemon.websocket(path, token=token) as socket:
                assert await close_code(socket) == 4403


@pytest.mark.requirement("daemon.scopes")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"scope": "agent"}, "session_id"),
        ({"scope": "agent", "session_id": "own"}, "agent_path"),
        ({"scope": "agent", "session_id": "own", "agent_path": "primary/nobody"}, "agent_path"),
        ({"scope": "agent", "session_id": "own", "agent_path": "primary", "project_id": "x"}, "project_id"),
        ({"scope": "plugin", "plugin": "notes"}, "project_id"),
        ({"scope": "operator", "session_id": "own"}, "session_id"),
        ({"scope": "read-only", "plugin": "notes"}, "plugin"),
        ({"scope": "chat"}, "project_id"),
        ({"scope": "chat", "project_id": "project", "agent_path": "primary/nobody"}, "agent_path"),
        ({"scope": "chat", "project_id": "project", "session_id": "own"}, "session_id"),
        ({"scope": "root"}, "scope"),
    ],
)
async def test_a_token_is_bound_to_what_its_scope_needs(
    client: httpx2.AsyncClient, project_id: str, session_id: str, body: dict[str, str], field: str
) -> None:
    known = {"own": session_id, "project": project_id}
    sent = {name: known.get(value, value) for name, value in body.items()}
    answer = await client.post("/api/v1/tokens", json={"name": "t", **sent})
    assert answer.status_code == 400, answer.text
    assert field in answer.json()["error"]["details"]["fields"]


@pytest.mark.requirement("daemon.identity")
async def test_headers_of_a_proxy_and_repeated_keys_do_not_change_who_asks(bound: Bound) -> None:
    """Two tokens of one name share nothing, least of all the answers kept for idempotency keys."""
    claimed = {"x-kaged-user-id": "operator", "x-kaged-auth-nonce": "guess", "idempotency-key": "k"}
    address = f"/api/v1/sessions/{bound.session_id}/tools/file.read"
    body = {"params": {"path": "README.md"}}
    async with bound.daemon.client() as operator:
        twin = await _created(
            operator,
            "/tokens",
            {"name": "a", "scope": "agent", "session_id": bound.session_id, "agent_path": "primary"},
        )
    async with (
        bound.daemon.client(token=bound.agent, headers=claimed) as agent,
        bound.daemon.client(token=twin["token"], headers=claimed) as other,
    ):
        tokens = await agent.post("/api/v1/tokens", json={"name": "more"})
        first = await agent.post(address, json=body)
        second = await other.post(address, json=body)
    assert tokens.status_code == 403
    assert (first.status_code, second.status_code) == (200, 200)
    assert "idempotency-replayed" not in second.headers
