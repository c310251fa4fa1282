"""`kaged mcp`: the official client over standard input and output, against a daemon of its own process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest
from mcp import Client, MCPError, StdioServerParameters

from tests.driver.kaged import COMMAND, DaemonProcess, Home
from tests.driver.mcp_client import ERAS, User, library, text_of

pytestmark = pytest.mark.requirement("mcp.server.stdio")
eras = pytest.mark.parametrize("era", ERAS)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    running = library(tmp_path_factory.mktemp("home"))
    yield running
    running.stop()


@asynccontextmanager
async def stdio(
    daemon: DaemonProcess, era: str, *arguments: str, user: User | None = None
) -> AsyncIterator[Client]:
    """Start `kaged mcp` as an editor does, in a folder that is not the project's. It has a minute to end, in
    which it closes its session."""
    project = ("--project", str(daemon.home.project))
    server = StdioServerParameters(
        command=COMMAND[0],
        args=[*COMMAND[1:], "mcp", *arguments, *project],
        env=daemon.home.environment(),
        cwd=str(daemon.home.folder),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", 60.0)
        async with Client(server, mode=era, elicitation_callback=user) as client:
            yield client


@eras
async def test_calls_share_the_session_of_the_process_which_ends_with_it(
    daemon: DaemonProcess, era: str
) -> None:
    async with stdio(daemon, era) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "session" not in tools["file_read"].input_schema.get("required", [])
        path = f"{era}.txt"
        (daemon.home.project / path).write_text("one\n")
        assert "one" in text_of(await client.call_tool("file_read", {"path": path}))
        written = await client.call_tool("file_write", {"path": path, "content": "two\n"})
        assert not written.is_error, text_of(written)  # it has been read in the same session
        opened = await client.call_tool("open_session", {"title": f"kept {era}"})
        kept = opened.structured_content["session"]
        refused = await client.call_tool("file_write", {"path": path, "content": "3\n", "session": kept})
        assert refused.is_error and "file_not_read" in text_of(refused)
    states = {one["id"]: (one["title"], one["state"]) for one in daemon.call("GET", "/sessions")["items"]}
    assert states[kept] == (f"kept {era}", "idle")
    assert next(state for title, state in states.values() if title.startswith("MCP: ")) == "archived"


@eras
@pytest.mark.parametrize("decision", ["allow", "deny"])
async def test_the_user_of_the_client_is_asked(daemon: DaemonProcess, era: str, decision: str) -> None:
    user, name = User(decision), f"asked/{era}-{decision}.txt"
    async with stdio(daemon, era, "serve", user=user) as client:
        result = await client.call_tool("file_create", {"path": name, "content": "hello\n"})
    assert len(user.asked) == 1 and name in user.asked[0]
    assert result.is_error == (decision == "deny")
    assert (daemon.home.project / name).exists() == (decision == "allow")


async def test_progress_of_a_command_comes_through(daemon: DaemonProcess) -> None:
    said: list[str | None] = []

    async def progress(_done: float, _total: float | None, message: str | None) -> None:
        said.append(message)

    async with stdio(daemon, ERAS[1]) as client:
        done = await client.call_tool("shell_bash", {"command": "echo begun"}, progress_callback=progress)
    assert not done.is_error and "begun" in "".join(one or "" for one in said)


@eras
async def test_an_agent_with_a_cage_is_kept_to_it(daemon: DaemonProcess, era: str) -> None:
    async with stdio(daemon, era, "--agent", "primary.subagents.reader") as client:
        refused = await client.call_tool("file_read", {"path": "README.md"})
        assert refused.is_error and "lends" not in text_of(refused)
    async with stdio(daemon, era, "--agent", "nobody") as client:
        with pytest.raises(MCPError, match="There is no agent"):
            await client.list_tools()


async def test_closing_the_session_of_the_process_opens_another_one(daemon: DaemonProcess) -> None:
    async with stdio(daemon, ERAS[1]) as client:
        first = (await client.call_tool("close_session", {})).structured_content["session"]
        assert "lends" in text_of(await client.call_tool("file_read", {"path": "README.md"}))
        second = (await client.call_tool("close_session", {})).structured_content["session"]
    assert first != second


async def test_the_agent_answers(daemon: DaemonProcess) -> None:
    async with stdio(daemon, ERAS[0]) as client:
        result = await client.call_tool("ask_agent", {"prompt": "read"})
        assert "It lends books." in result.structured_content["answer"]


def test_standard_output_has_nothing_but_messages(daemon: DaemonProcess) -> None:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        },
    }
    done = daemon.home.run("mcp", stdin="no json\n" + orjson.dumps(message).decode() + "\n")
    assert done.returncode == 0, done.stderr
    lines = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert all(line["jsonrpc"] == "2.0" for line in lines)
    assert lines[-1]["result"]["serverInfo"]["name"] == "kaged"


def test_without_a_daemon_it_says_so_and_prints_no_message(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = Home(tmp_path_factory.mktemp("empty"))
    done = home.run("mcp", "--project", str(home.project))
    assert done.returncode == 1 and done.stdout == ""
    assert "no daemon is running" in done.stderr


async def test_a_daemon_that_stops_is_an_error_that_says_so(tmp_path: Path) -> None:
    home = Home(tmp_path)
    running = DaemonProcess(home, ("--project", str(home.project))).start()
    try:
        async with stdio(running, ERAS[1]) as client:
            assert "lends" in text_of(await client.call_tool("file_read", {"path": "README.md"}))
            running.stop()
            result = await client.call_tool("file_read", {"path": "README.md"})
            assert result.is_error and "does not answer" in text_of(result)
    finally:
        running.stop()
