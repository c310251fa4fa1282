"""What a client of `/mcp` is offered, and what its calls do, in both eras of the protocol."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mcp import MCPError

from app.api.mcp.tool_list import output_schema
from tests.driver.daemon import Daemon
from tests.driver.mcp_client import ERAS, mcp_client, open_session, text_of, write_shop
from tests.driver.tool_registry import tool_registry

pytestmark = pytest.mark.requirement("mcp.server.tools")
eras = pytest.mark.parametrize("era", ERAS)


@eras
async def test_a_client_reads_and_writes_with_a_handle_from_open_session(
    daemon: Daemon, shop: Path, era: str
) -> None:
    async with mcp_client(daemon, era) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names[:3] == ["open_session", "close_session", "ask_agent"]
        assert {"file_read", "edit_text", "search_grep", "search_ast", "shell_bash", "kaged_issue"} <= set(
            names
        )
        session = await open_session(client)
        read = await client.call_tool("file_read", {"path": "README.md", "session": session})
        assert "It sells things." in text_of(read)
        assert read.structured_content["total_lines"] == 3
        edit = {"path": "README.md", "old_string": "things", "new_string": "books", "session": session}
        edited = await client.call_tool("edit_text", edit)
        assert not edited.is_error, text_of(edited)
    assert "It sells books." in (shop / "README.md").read_text()


@eras
async def test_a_handle_outlives_its_connection(daemon: Daemon, era: str) -> None:
    async with mcp_client(daemon, era) as client:
        session = await open_session(client)
        await client.call_tool("file_read", {"path": "README.md", "session": session})
    async with mcp_client(daemon, era) as client:
        written = await client.call_tool(
            "file_write", {"path": "README.md", "content": "# New\n", "session": session}
        )
        assert not written.is_error, text_of(written)  # it has been read, in this session


@eras
async def test_a_closed_session_is_no_longer_known(daemon: Daemon, era: str) -> None:
    async with mcp_client(daemon, era) as client:
        session = await open_session(client)
        closed = await client.call_tool("close_session", {"session": session})
        assert closed.structured_content == {"session": session, "state": "archived"}
        after = await client.call_tool("file_read", {"path": "README.md", "session": session})
        assert after.is_error and "Call open_session for a new handle" in text_of(after)


@eras
async def test_a_call_without_a_handle_says_how_to_get_one(daemon: Daemon, era: str) -> None:
    async with mcp_client(daemon, era) as client:
        result = await client.call_tool("file_read", {"path": "README.md"})
        assert result.is_error and "Call open_session once" in text_of(result)


async def test_the_address_can_name_the_session(daemon: Daemon) -> None:
    async with mcp_client(daemon, ERAS[1]) as client:
        session = await open_session(client)
    async with mcp_client(daemon, ERAS[1], query=f"?session={session}") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "session" not in tools["file_read"].input_schema["required"]
        assert "It sells" in text_of(await client.call_tool("file_read", {"path": "README.md"}))


async def test_every_tool_has_title_description_schemas_and_hints(daemon: Daemon) -> None:
    async with mcp_client(daemon, ERAS[1]) as client:
        tools = (await client.list_tools()).tools
    assert len(tools) > 10
    for tool in tools:
        hints = tool.annotations
        assert tool.title and tool.description and hints is not None, tool.name
        assert tool.input_schema["type"] == tool.output_schema["type"] == "object", tool.name
        given = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        assert None not in given, tool.name
        assert len(tool.name) <= 64 and tool.name.replace("_", "").isalnum()
    by_name = {tool.name: tool.annotations for tool in tools}
    assert by_name["file_read"].read_only_hint and not by_name["file_read"].destructive_hint
    assert by_name["shell_bash"].destructive_hint and by_name["shell_bash"].open_world_hint


def test_no_tool_has_a_parameter_of_the_name_of_the_handle() -> None:
    registry = tool_registry()
    for definition in registry.definitions():
        assert "session" not in registry.spec(definition.name).parameters["properties"], definition.name
        assert output_schema(definition.result)["type"] == "object", definition.name


@eras
async def test_a_client_gets_the_tools_and_the_cage_of_the_agent_in_its_address(
    daemon: Daemon, shop: Path, era: str
) -> None:
    async with mcp_client(daemon, era, query="?agent=primary.subagents.reader") as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        own = {"open_session", "close_session", "ask_agent"}
        assert names == own | {"file_read", "file_write", "shell_bash"}
        session = await open_session(client)
        inside = await client.call_tool("file_read", {"path": "src/total.py", "session": session})
        assert "sum(prices)" in text_of(inside)
        for name, arguments in (
            ("file_read", {"path": "README.md"}),
            ("file_write", {"path": "src/total.py", "content": "pass\n"}),
            ("shell_bash", {"command": "cat README.md"}),
        ):
            outside = await client.call_tool(name, {**arguments, "session": session})
            assert outside.is_error and "sells" not in text_of(outside), (name, text_of(outside))
        with pytest.raises(MCPError, match="There is no tool 'search_grep'"):
            await client.call_tool("search_grep", {"pattern": "sells", "session": session})
    assert "sum(prices)" in (shop / "src" / "total.py").read_text()


@eras
async def test_an_unknown_agent_and_an_unclear_project_are_said(
    daemon: Daemon, tmp_path: Path, era: str
) -> None:
    async with mcp_client(daemon, era, query="?agent=primary.subagents.nobody") as client:
        with pytest.raises(MCPError, match="There is no agent"):
            await client.list_tools()
    other = write_shop(tmp_path / "other")
    (other / ".kaged" / "project.yaml").write_text(
        (other / ".kaged" / "project.yaml").read_text().replace("project: shop", "project: other")
    )
    async with daemon.client() as http:
        loaded = await http.post("/api/v1/projects/load", json={"path": str(other)})
        assert loaded.status_code == 200, loaded.text
    async with mcp_client(daemon, era) as client:
        with pytest.raises(MCPError, match="Loaded projects: other, shop"):
            await client.list_tools()
        assert (await client.call_tool("open_session", {})).is_error
    async with mcp_client(daemon, era, query="?project=other") as client:
        opened = await client.call_tool("open_session", {"title": "Look around"})
        assert opened.structured_content["project"] == "other"


@eras
async def test_a_long_result_is_cut_as_for_a_model_and_still_fits_its_schema(
    daemon: Daemon, shop: Path, era: str
) -> None:
    (shop / "long.txt").write_text("a line of a long file\n" * 20_000)
    async with mcp_client(daemon, era) as client:
        await client.list_tools()  # with the schemas the library checks each result
        session = await open_session(client)
        for name, arguments in (
            ("file_read", {"path": "long.txt"}),
            ("search_grep", {"pattern": "line"}),
            ("shell_bash", {"command": "cat long.txt"}),
        ):
            result = await client.call_tool(name, {**arguments, "session": session})
            assert not result.is_error, text_of(result)
            assert len(text_of(result)) < 40_000
            assert len(str(result.structured_content)) < 60_000


def test_an_idle_daemon_does_not_load_the_library() -> None:
    program = (
        "import sys; from app.api.application import build_application; from app.config import Settings; "
        "import app.daemon.lifespan, app.main, app.cli.mcp; build_application(Settings()); "
        "print([name for name in sys.modules if name.partition('.')[0] in ('mcp', 'mcp_types')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "[]"
