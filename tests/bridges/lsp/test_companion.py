"""A server with a second one beside it: what is passed on, within which bounds, and how both end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.bridges.lsp.companion import MAX_PASSED_ON, AccompaniedConnection, open_connection
from app.bridges.lsp.connection import Hooks, ServerEnded
from app.bridges.lsp.language_entry import Behaviour
from app.bridges.lsp.resolution import ResolvedServer
from app.bridges.lsp.server_places import ServerPlace
from app.bridges.processes.process import ChildProcesses
from tests.bridges.conftest import alive, until
from tests.driver.language_servers import ROOT, server_environment

pytestmark = pytest.mark.requirement("language_servers.lifecycle.companion")
SERVER = ROOT / "tests" / "fakes" / "paired_language_server.py"
ONE = {"uri": "file:///a.vue"}


@asynccontextmanager
async def pair(base: Path, **script: Any) -> AsyncIterator[AccompaniedConnection]:
    """Open two servers; `script` is what the second asks of the first, and how it takes changes."""
    base.mkdir(exist_ok=True)
    (base / "script.json").write_bytes(orjson.dumps(script))
    command = (sys.executable, str(SERVER))
    server = ResolvedServer(
        language="vue",
        program=Path("paired"),
        command=(*command, "first", str(base)),
        companion=(*command, "second", str(base)),
        behaviour=Behaviour(),
        settings={},
        env={},
        source="built-in",
    )
    children = ChildProcesses()

    async def end() -> None:
        """There is no cage."""

    place = ServerPlace(children, server_environment(base / "home"), end)
    hooks = Hooks(lambda: None, lambda *_: None, lambda: None)
    try:
        connection = await open_connection(place, server, base, hooks, watches_files=True, seconds=30)
        assert isinstance(connection, AccompaniedConnection)
        try:
            yield connection
        finally:
            await connection.aclose()
    finally:
        assert not [pid for pid in pids(base) if alive(pid)]
        await children.aclose()


def pids(base: Path) -> list[int]:
    return [one["pid"] for one in said(base) if one["event"] == "started"]


def said(base: Path) -> list[dict[str, Any]]:
    log = base / "log"
    whole = log.read_bytes().rpartition(b"\n")[0] if log.exists() else b""
    return [orjson.loads(line) for line in whole.splitlines()]


def answers(base: Path) -> list[list[Any]]:
    """Return what the second server got for its requests."""
    taken = [one["params"] for one in said(base) if one.get("method") == "tsserver/response"]
    return [pair for [pair] in taken]


async def test_requests_are_passed_on_and_answered(tmp_path: Path) -> None:
    asked = [[[1, "_vue:projectInfo", {"file": "/a.vue"}]], [2, "_vue:quickinfo", [3]]]
    async with pair(tmp_path, asks=asked) as connection:
        connection.notify("textDocument/didOpen", {"textDocument": ONE})
        await until(lambda: len(answers(tmp_path)) == 2)
    echoes = dict(answers(tmp_path))
    assert echoes == {1: ["_vue:projectInfo", {"file": "/a.vue"}], 2: ["_vue:quickinfo", [3]]}


async def test_the_first_knows_a_document_before_it_is_asked_about_it(tmp_path: Path) -> None:
    async with pair(tmp_path, asks=[[[1, "_vue:projectInfo", {}]]]) as connection:
        connection.notify("textDocument/didOpen", {"textDocument": ONE})
        await until(lambda: answers(tmp_path))
        first = [one.get("method") for one in said(tmp_path) if one["role"] == "first"]
    assert first.index("textDocument/didOpen") < first.index("workspace/executeCommand")


@pytest.mark.parametrize("command", ["exit", "open", "reloadProjects", "_vue", ""])
async def test_only_requests_to_the_plugin_are_passed_on(tmp_path: Path, command: str) -> None:
    async with pair(tmp_path, asks=[[[1, command, {}]]]) as connection:
        connection.notify("textDocument/didOpen", {"textDocument": ONE})
        await until(lambda: answers(tmp_path) == [[1, None]])
        assert "workspace/executeCommand" not in [one.get("method") for one in said(tmp_path)]


async def test_what_is_no_request_is_passed_over(tmp_path: Path) -> None:
    nonsense = [None, {}, [], [[]], [1], [[1]], [["1", "_vue:a", {}]], [[1, 2, 3]], "text"]
    async with pair(tmp_path, asks=[*nonsense, [[7, "_vue:a"]]]) as connection:
        connection.notify("textDocument/didOpen", {"textDocument": ONE})
        await until(lambda: bool(answers(tmp_path)))
    assert answers(tmp_path) == [[7, ["_vue:a", None]]]


async def test_an_error_is_answered_by_nothing(tmp_path: Path) -> None:
    async with pair(tmp_path, asks=[[[1, "_vue:refuse", {}]]]) as connection:
        connection.notify("textDocument/didOpen", {"textDocument": ONE})
        await until(lambda: answers(tmp_path) == [[1, None]])


async def test_only_so_many_requests_wait_at_once(tmp_path: Path) -> None:
    asked = [[[number, "_vue:never", {}]] for number in range(MAX_PASSED_ON + 3)]
    async with pair(tmp_path, asks=asked) as connection:
        connection.notify("textDocument/didOpen", {"textDocument": ONE})
        await until(lambda: len(answers(tmp_path)) == 3)
    assert answers(tmp_path) == [[MAX_PASSED_ON + more, None] for more in range(3)]


async def test_outlines_are_of_the_second_and_hover_where_the_first_has_none(tmp_path: Path) -> None:
    async with pair(tmp_path) as connection:
        about = {"textDocument": ONE}
        assert await connection.request("textDocument/documentSymbol", about) == ["second"]
        assert await connection.request("textDocument/references", about) == ["first"]
        assert await connection.request("textDocument/definition", about) == ["first"]
        assert await connection.request("textDocument/hover", about) == ["second"]
        assert await connection.further_diagnostics(Path("/a.vue")) == ({"message": "second"},)


@pytest.mark.parametrize("killed", [0, 1])
async def test_neither_outlives_the_other(tmp_path: Path, killed: int) -> None:
    async with pair(tmp_path) as connection:
        assert len(connection.pids) == 2 and set(connection.pids) == set(pids(tmp_path))
        os.kill(connection.pids[killed], signal.SIGKILL)
        async with asyncio.timeout(30):
            ended = await connection.wait_until_ended()
        assert ("its companion ended" in ended.reason) == bool(killed)
        with pytest.raises(ServerEnded):
            await connection.request("textDocument/references", {"textDocument": ONE})


async def test_both_end_by_the_protocol_of_the_first(tmp_path: Path) -> None:
    async with pair(tmp_path) as connection:
        await connection.shut_down(5)
        assert not [pid for pid in pids(tmp_path) if alive(pid)]
    assert "exit" in [one.get("method") for one in said(tmp_path) if one["role"] == "first"]


@pytest.mark.parametrize("script", [{"sync": 1}, {"dies": True}])
async def test_a_second_that_cannot_work_with_the_first_ends_both(
    tmp_path: Path, script: dict[str, Any]
) -> None:
    with pytest.raises(ServerEnded):
        async with pair(tmp_path, **script):
            pass
    assert len(pids(tmp_path)) == 2
