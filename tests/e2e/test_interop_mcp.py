"""The sections about MCP of docs/interop.md: commands, settings and scripts are run as they stand there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.driver.kaged import DaemonProcess
from tests.driver.machine import Lack
from tests.driver.mcp_client import open_session, text_of
from tests.e2e.interop_reader import PORT, Reader, blocks
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

SERVER = "Settings of clients"
PACKAGE, SCRIPT = "A server from a package", "A server of the project"


@pytest.fixture
async def reader(model: FakeProvider, tmp_path: Path) -> AsyncIterator[Reader]:
    """A reader with a new project, whose daemon runs."""
    at = Reader(tmp_path, model_port=model.port)
    await at.paste("kaged init", cwd=at.project)
    daemon = DaemonProcess(at, ("--project", str(at.project))).start()
    at.daemon_url = daemon.ready["url"]
    yield at
    daemon.stop()


def found(call: str, **arguments: Any) -> tuple[Reply, ...]:
    """Have a model find a tool by its name, and call it."""
    return (
        Reply((ToolCall("tool_search", {"query": call}, id="s"),)),
        Reply((ToolCall("call_tool", {"name": call, "arguments": arguments}, id="c"),)),
    )


def last_result(model: FakeProvider) -> str:
    """Return the result that the newest request of the model ends with."""
    return json.dumps(model.requests[-1].json["messages"][-1], ensure_ascii=False)


@pytest.mark.requirement("mcp.client.documented")
@pytest.mark.needs("cages")
async def test_a_server_of_the_project_is_declared_trusted_tested_and_used(
    reader: Reader, model: FakeProvider
) -> None:
    [script] = blocks(SCRIPT, "python")
    [declared] = blocks(SCRIPT, "yaml")
    [commands] = blocks(SCRIPT, "sh")
    for folder in ("tools", "notes"):
        (reader.project / folder).mkdir()
    (reader.project / "tools" / "notes_server.py").write_text(script)
    (reader.project / "notes" / "team.txt").write_text("Ada opens the shop at eight.\n")
    reader.add_to_project(declared)
    model.script(*found("notes_read_notes"), text_reply("Ada opens it at eight."))
    printed = await reader.paste(commands, cwd=reader.project)
    assert "✓ notes: notes 1, protocol 2025-11-25" in printed
    assert "read_notes  Reads the notes of the team." in printed
    assert "Ada opens it at eight." in printed
    assert "Ada opens the shop at eight." in last_result(model)


@pytest.mark.requirement("mcp.client.documented")
@pytest.mark.needs("cages")
async def test_a_server_from_a_package_is_installed_tested_used_and_removed(
    reader: Reader, model: FakeProvider
) -> None:
    install, use = blocks(PACKAGE, "sh")
    [enabled] = blocks(PACKAGE, "yaml")
    add, _, test = install.partition("\n")
    code, printed = await reader.shell(add, cwd=reader.project)
    if code:
        why = printed.strip().splitlines()[-1].replace(";", ",")
        pytest.skip(str(Lack("packages of PyPI", why, "reach the registry")))
    printed = await reader.paste(test, cwd=reader.project)
    assert "✓ time:" in printed and "get_current_time" in printed
    reader.add_to_project(enabled)
    model.script(*found("time_get_current_time", timezone="Europe/Berlin"), text_reply("It is late."))
    printed = await reader.paste(use, cwd=reader.project)
    assert "It is late." in printed and "removed the MCP server time" in printed
    assert "Europe/Berlin" in last_result(model)


def servers() -> dict[str, dict[str, Any]]:
    """Return what the JSON settings of the page declare, by client."""
    names = ("claude-file", "vscode", "cursor", "cursor-http", "vscode-http")
    documents = [json.loads(text) for text in blocks(SERVER, "json")]
    entries = [document.get("mcpServers") or document["servers"] for document in documents]
    return {name: entry["kaged"] for name, entry in zip(names, entries, strict=True)}


async def by_claude(reader: Reader) -> tuple[list[str], list[str]]:
    """Return what the two commands of Claude Code on the page register."""
    stdio, http = blocks(SERVER, "sh")
    reader.program("claude", 'for word in "$@"; do printf "%s\\0" "$word"; done >> ../registered')
    await reader.paste(f"{stdio}\n{http}", cwd=reader.project)
    words = (reader.folder / "registered").read_text().split("\0")[:-1]
    second = words.index("--transport") - 2
    return words[:second], words[second:]


@asynccontextmanager
async def over_stdio(reader: Reader, command: list[str]) -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=str(reader.folder / "bin" / command[0]),
        args=command[1:],
        env=reader.environment(),
        cwd=str(reader.project),
    )
    async with Client(server) as client:
        yield client


@asynccontextmanager
async def over_http(url: str, headers: dict[str, str]) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


async def works(client: Client, *, session: bool) -> None:
    """Use the tools of the root agent as a client does."""
    names = {tool.name for tool in (await client.list_tools()).tools}
    assert {"open_session", "ask_agent", "file_read"} <= names
    handle = {"session": await open_session(client)} if session else {}
    assert "It sells things." in text_of(await client.call_tool("file_read", {"path": "README.md", **handle}))


@pytest.mark.requirement("mcp.server.documented")
async def test_the_settings_of_clients_over_standard_input_work(reader: Reader) -> None:
    words, _ = await by_claude(reader)
    assert words[:4] == ["mcp", "add", "kaged", "--"]
    commands = {"claude": words[4:]}
    for name, entry in servers().items():
        if "command" in entry:
            arguments = [one.replace("${workspaceFolder}", str(reader.project)) for one in entry["args"]]
            commands[name] = [entry["command"], *arguments]
    assert list(commands) == ["claude", "claude-file", "vscode", "cursor"]
    for command in commands.values():
        async with over_stdio(reader, command) as client:
            await works(client, session=False)


@pytest.mark.requirement("mcp.server.documented")
async def test_the_settings_of_clients_over_http_work(reader: Reader) -> None:
    _, words = await by_claude(reader)
    assert words[:5] == ["mcp", "add", "--transport", "http", "kaged"]
    name, colon, value = words[7].partition(": ")
    token = value.removeprefix("Bearer ")
    assert (name, colon, words[6]) == ("Authorization", ": ", "--header")
    ways = {"claude": (words[5], {name: value})}
    for client_name, entry in servers().items():
        if "url" in entry:
            headers = {
                key: text.replace("${env:KAGED_TOKEN}", token).replace("${input:kaged-token}", token)
                for key, text in entry["headers"].items()
            }
            ways[client_name] = entry["url"], headers
    assert list(ways) == ["claude", "cursor-http", "vscode-http"]
    address = reader.daemon_url.removeprefix("http://")
    for url, headers in ways.values():
        assert headers == {"Authorization": f"Bearer {token}"}
        async with over_http(url.replace(PORT, address), headers) as client:
            await works(client, session=True)
