"""MCP servers over streamable HTTP: calls, headers, loss and return of the server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from app.bridges.mcp.entries import ServerEntry
from app.bridges.mcp.http_transport import HttpTransport
from app.bridges.mcp.limits import MessageLimits
from app.bridges.processes.process import ChildProcesses
from app.bridges.processes.supervised_child import Unavailable
from app.errors import ToolError
from app.states import PluginState
from tests.bridges.conftest import ENVIRONMENT, until
from tests.bridges.mcp.conftest import FAKES, Open
from tests.driver.ports import steady_port

pytestmark = pytest.mark.requirement("mcp.client.connections")


@asynccontextmanager
async def serving(port: int, folder: Path) -> AsyncIterator[None]:
    """Run the server of the official library on a port until the block ends."""
    children = ChildProcesses()
    command = (sys.executable, str(FAKES / "mcp_server.py"), "http", str(port))
    try:
        child = await children.start(
            command, owner="test", cwd=folder, env=ENVIRONMENT, stdout="null", stderr="null"
        )
        async with asyncio.timeout(90):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    assert child.exit_code is None
                    await asyncio.sleep(0.05)
                    continue
                writer.close()
                await writer.wait_closed()
                break
        yield
    finally:
        await children.aclose()


async def test_a_server_over_http_is_lost_and_found_again(bench: Open, tmp_path: Path) -> None:
    port = steady_port()
    entry = ServerEntry("notes", "config", url=f"http://127.0.0.1:{port}/mcp", timeout_seconds=60)
    async with bench() as it:
        async with serving(port, tmp_path):
            listing = await it.servers.listing("prj_1", it.root, entry)
            assert listing.protocol == "2026-07-28"
            assert (await it.call(entry, "add", a=2, b=3)).structured == {"sum": 5}
            assert (await it.call(entry, "steps", count=2)).text == "all steps done"
            assert it.progress[-1] == "2 of 2 step 2"
        with pytest.raises(ToolError, match="mcp server notes is unavailable") as lost:
            await it.call(entry, "add", a=2, b=3)
        assert lost.value.code == "mcp_unavailable"
        async with serving(port, tmp_path):
            it.clock.running.set()
            await until(lambda: it.servers.status("prj_1", entry).state is PluginState.READY, 60)
            assert (await it.call(entry, "echo", text="back")).text == "back"


async def test_certificates_are_loaded_beside_the_event_loop() -> None:
    transport = HttpTransport(f"http://127.0.0.1:{steady_port()}/mcp", {}, MessageLimits())
    called: set[str] = set()

    def look(frame: FrameType, _event: str, _argument: Any) -> None:
        called.add(frame.f_code.co_name)

    sys.setprofile(look)  # of this thread alone, which is the loop's
    try:
        async with transport.streams():
            pass
    finally:
        sys.setprofile(None)
    assert "streamable_http_client" in called
    assert "default_ssl_context" not in called


async def test_an_address_where_nobody_listens_is_unavailable(bench: Open) -> None:
    entry = ServerEntry("gone", "config", url=f"http://127.0.0.1:{steady_port()}/mcp")
    async with bench() as it:
        with pytest.raises(Unavailable):
            await it.servers.listing("prj_1", it.root, entry)
        assert it.events("failed")
