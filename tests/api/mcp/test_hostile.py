"""Clients of `/mcp` that mean harm: they get nothing of others, nothing without a token, and fill nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
from mcp import MCPError

from app.access.scopes import Binding
from tests.driver.daemon import Daemon, running_daemon
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.mcp_client import ERAS, User, mcp_client, open_session, text_of, until

pytestmark = pytest.mark.requirement("mcp.server.hostile")
eras = pytest.mark.parametrize("era", ERAS)

MODERN = {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/list",
    "accept": "application/json, text/event-stream",
}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}}
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}


async def test_the_request_that_the_others_spoil_is_answered(daemon: Daemon) -> None:
    async with daemon.client() as http:
        answer = await http.post("/mcp", json=LIST, headers=MODERN)
        assert answer.status_code == 200, answer.text
        assert answer.json()["result"]["tools"]
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_wrong_token_opens_nothing(daemon: Daemon, method: str) -> None:
    async with daemon.client() as http:
        for token in ("", "Bearer kgd_wrong", "Basic abc"):
            answer = await http.request(
                method, "/mcp", content=orjson.dumps(LIST), headers={**MODERN, "authorization": token}
            )
            assert answer.status_code == 401, (token, answer.text)


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_pages_of_other_sites_and_rebound_names_are_refused(daemon: Daemon, method: str) -> None:
    cases = {
        "origin_not_allowed": ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}),
        "host_not_allowed": ({"host": "evil.example"}, {"host": f"127.0.0.1.evil.example:{daemon.port}"}),
    }
    async with daemon.client() as http:
        for reason, all_headers in cases.items():
            for headers in all_headers:
                answer = await http.request(
                    method, "/mcp", content=orjson.dumps(LIST), headers={**MODERN, **headers}
                )
                assert answer.status_code == 403, (headers, answer.text)
                assert answer.json()["error"]["details"]["reason"] == reason


async def test_tokens_that_are_not_an_operators_get_no_tools(daemon: Daemon) -> None:
    access, project = daemon.services.access, daemon.services.projects.all()[0]
    session = await daemon.services.sessions.create(project.id, created_by="operator")
    bound = Binding(project.id, session.id, "primary")
    tokens = (
        await access.create("reader", scope="read-only"),
        await access.create("agent", scope="agent", bound=bound),
        await access.create("plugin", scope="plugin", bound=Binding(project.id, plugin="memory")),
    )
    for token in tokens:
        async with daemon.client(token.secret) as http:
            answer = await http.post("/mcp", json=LIST, headers=MODERN)
            assert answer.status_code == 403, answer.text


async def test_a_body_of_a_gigabyte_is_refused_before_it_is_read(daemon: Daemon) -> None:
    begin = b'{"jsonrpc": "2.0", "id": 1, "method": "'
    reader, writer = await send_raw(daemon, begin, f"content-length: {1024**3}")
    assert (await reader.readline()).startswith(b"HTTP/1.1 413")
    writer.transport.abort()
    largest = daemon.services.settings.daemon.max_body_bytes
    piece = b"x" * 1024 * 1024
    chunks = b"%x\r\n%b\r\n" % (len(begin), begin) + b"%x\r\n%b\r\n" % (len(piece), piece) * (
        largest // len(piece) + 1
    )
    reader, writer = await send_raw(daemon, chunks, "transfer-encoding: chunked")
    assert (await reader.readline()).startswith(b"HTTP/1.1 413")
    writer.transport.abort()


async def send_raw(
    daemon: Daemon, body: bytes, length: str, *more: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send the beginning of a request, as no library would."""
    head = [
        "POST /mcp HTTP/1.1",
        f"host: 127.0.0.1:{daemon.port}",
        f"authorization: Bearer {daemon.token}",
        "content-type: application/json",
        f"accept: {MODERN['accept']}",
        "mcp-protocol-version: 2026-07-28",
        length,
        *more,
    ]
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    writer.write("\r\n".join([*head, "", ""]).encode() + body)
    await writer.drain()
    return reader, writer


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"[" * 100_000, b'{"jsonrpc":"2.0"}', b"null", b"\xff\xfe", b'{"id":1' + b"0" * 5_000],
    ids=["empty", "cut", "list", "deep", "no method", "null", "no text", "long number"],
)
@pytest.mark.parametrize("headers", [MODERN, {"accept": MODERN["accept"]}], ids=["modern", "legacy"])
async def test_what_is_no_message_is_refused(daemon: Daemon, headers: dict[str, str], body: bytes) -> None:
    async with daemon.client() as http:
        answer = await http.post(
            "/mcp", content=body, headers={**headers, "content-type": "application/json"}
        )
        assert 400 <= answer.status_code < 500, answer.text
        assert (await http.post("/mcp", json=LIST, headers=MODERN)).status_code == 200


@eras
@pytest.mark.parametrize(
    "handle",
    [
        "ses_01M8CXHZNH63T12WVK9KZS5WBE",
        "",
        "ses_",
        "../ses_1",
        "ses_1\x00",
        "x" * 100_000,
        7,
        ["ses_1"],
        None,
    ],
    ids=["unknown", "empty", "short", "path", "nul", "long", "number", "list", "null"],
)
async def test_an_unknown_handle_opens_nothing(daemon: Daemon, era: str, handle: Any) -> None:
    async with mcp_client(daemon, era) as client:
        for name in ("file_read", "close_session"):
            arguments = {"session": handle, **({"path": "README.md"} if name == "file_read" else {})}
            result = await client.call_tool(name, arguments)
            assert result.is_error and "open_session" in text_of(result)
            assert len(text_of(result)) < 500


@eras
async def test_the_handle_of_another_operator_is_as_unknown(daemon: Daemon, era: str) -> None:
    other = await daemon.services.access.create("other")
    async with mcp_client(daemon, era) as mine, mcp_client(daemon, era, token=other.secret) as theirs:
        session = await open_session(theirs)
        arguments = {"path": "README.md", "session": session}
        assert not (await theirs.call_tool("file_read", arguments)).is_error
        refused = await mine.call_tool("file_read", arguments)
        unknown = await mine.call_tool(
            "file_read", {**arguments, "session": "ses_01M8CXHZNH63T12WVK9KZS5WBE"}
        )
        assert refused.is_error and text_of(refused) == text_of(unknown)
        for name in ("close_session", "ask_agent"):
            answer = await mine.call_tool(name, {"session": session, **_prompt(name)})
            assert text_of(answer) == text_of(unknown)
    async with mcp_client(daemon, era, query=f"?session={session}") as mine:
        assert (await mine.call_tool("file_read", {"path": "README.md"})).is_error


def _prompt(name: str) -> dict[str, str]:
    return {"prompt": "Hi"} if name == "ask_agent" else {}


async def test_the_connection_of_another_operator_cannot_be_used(daemon: Daemon) -> None:
    other = await daemon.services.access.create("other")
    headers = {"accept": MODERN["accept"]}
    async with daemon.client() as mine, daemon.client(other.secret) as theirs:
        opened = await theirs.post("/mcp", json=INITIALIZE, headers=headers)
        assert opened.status_code == 200, opened.text
        stolen = {**headers, "mcp-session-id": opened.headers["mcp-session-id"]}
        for method in ("POST", "GET", "DELETE"):
            answer = await mine.request(
                method,
                "/mcp",
                content=orjson.dumps(LIST),
                headers={**stolen, "content-type": "application/json"},
            )
            assert answer.status_code == 404, (method, answer.text)


async def test_the_question_of_another_operator_cannot_be_answered(daemon: Daemon, shop: Path) -> None:
    other = await daemon.services.access.create("other")
    user = User(None)
    async with mcp_client(daemon, ERAS[1], token=other.secret, user=user) as theirs:
        session = await open_session(theirs)
        arguments = {"path": "asked/new.txt", "content": "hello\n", "session": session}
        asked = await theirs.session.call_tool("file_create", arguments, allow_input_required=True)
        assert asked.request_state is not None
        answers = {"consent": {"action": "accept", "content": {"decision": "allow"}}}
        async with mcp_client(daemon, ERAS[1], user=user) as mine:
            for state in (asked.request_state, "guessed"):
                with pytest.raises(MCPError, match="not under way"):
                    await mine.session.call_tool(
                        "file_create", arguments, input_responses=answers, request_state=state
                    )
        with pytest.raises(MCPError, match="not under way"):  # another call than the one that was asked for
            await theirs.session.call_tool(
                "file_create",
                {**arguments, "path": "asked/other.txt"},
                input_responses=answers,
                request_state=asked.request_state,
            )
    assert not any((shop / "asked").iterdir())


async def test_a_client_that_vanishes_ends_its_call(daemon: Daemon, shop: Path) -> None:
    async with mcp_client(daemon, ERAS[1]) as client:
        session = await open_session(client)
    call = {
        **LIST,
        "method": "tools/call",
        "params": {
            "_meta": ENVELOPE,
            "name": "shell_bash",
            "arguments": {"command": "echo $$ > pid; exec sleep 600", "session": session},
        },
    }
    body = orjson.dumps(call)
    _, writer = await send_raw(
        daemon, body, f"content-length: {len(body)}", "mcp-method: tools/call", "mcp-name: shell_bash"
    )
    pid = shop / "pid"
    await until(lambda: pid.exists() and pid.read_text().strip() != "", 30)
    writer.transport.abort()
    await until(lambda: not Path(f"/proc/{pid.read_text().strip()}/cmdline").exists(), 30)


@eras
async def test_nothing_of_an_untrusted_project_is_offered(
    tmp_path: Path, shop: Path, model_settings: dict[str, Any], era: str
) -> None:
    settings = {**model_settings, "projects": {"trusted": []}}
    async with running_daemon(tmp_path / "untrusting", **settings) as daemon, daemon.client() as http:
        await http.post("/api/v1/projects/load", json={"path": str(shop)})
        async with mcp_client(daemon, era) as client:
            with pytest.raises(MCPError, match="is not trusted"):
                await client.list_tools()
            assert "is not trusted" in text_of(await client.call_tool("open_session", {}))


async def test_stopping_ends_open_connections_and_calls(
    tmp_path: Path, shop: Path, model_settings: dict[str, Any]
) -> None:
    async with running_daemon(tmp_path / "stopping", **model_settings) as daemon, daemon.client() as http:
        await http.post("/api/v1/projects/load", json={"path": str(shop)})
        headers = {"accept": MODERN["accept"]}
        opened = await http.post("/mcp", json=INITIALIZE, headers=headers)
        stream = {**headers, "mcp-session-id": opened.headers["mcp-session-id"]}
        async with http.stream("GET", "/mcp", headers=stream) as waiting:
            assert waiting.status_code == 200
            async with asyncio.timeout(WAIT_SECONDS):
                await daemon.app.state.mcp.close()
                assert b"".join([part async for part in waiting.aiter_bytes()]) is not None
        assert (await http.post("/mcp", json=LIST, headers=MODERN)).status_code == 503
