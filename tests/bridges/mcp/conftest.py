"""MCP servers as real processes, and what is left of them afterwards."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.bridges.mcp.entries import Answer, ServerEntry
from app.bridges.mcp.limits import McpLimits
from app.bridges.mcp.manager import CallClock, McpServers
from app.bridges.mcp.server_cage import McpCages
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.manager import Cages
from tests.bridges.conftest import ENVIRONMENT, children_of, started_from_here, until
from tests.driver.caging import FULL
from tests.driver.hurried_clock import HurriedClock
from tests.driver.machine import need_tier

FAKES = Path(__file__).parents[2] / "fakes"
READS = {"fs": [{"mode": "ro", "path": "."}]}


@dataclass
class Bench:
    """MCP servers at work for one project."""

    root: Path
    servers: McpServers
    clock: HurriedClock
    audited: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    progress: list[str] = field(default_factory=list)

    def notes(self, **more: Any) -> ServerEntry:
        """Return the server of the official library."""
        return self.entry("notes", "mcp_server.py", **more)

    def hostile(self, mode: str, **more: Any) -> ServerEntry:
        return self.entry("hostile", "hostile_mcp_server.py", mode, **more)

    def entry(self, name: str, script: str, *arguments: str, **more: Any) -> ServerEntry:
        (self.root / script).write_text((FAKES / script).read_text())
        said: dict[str, Any] = {"cage": None, "timeout_seconds": 60.0, **more}
        return ServerEntry(name, "config", (sys.executable, script, *arguments), **said)

    async def call(
        self, entry: ServerEntry, tool: str, clock: CallClock | None = None, ask: Any = None, **params: Any
    ) -> Answer:
        async def report(text: str) -> None:
            self.progress.append(text)

        return await self.servers.call(
            "prj_1",
            self.root,
            entry,
            tool,
            lambda connection: connection.call(tool, params, report, ask),
            clock,
        )

    def events(self, name: str) -> list[dict[str, Any]]:
        return [data for event, _, data in self.audited if event == f"mcp.{name}"]


Open = Callable[..., AbstractAsyncContextManager[Bench]]


@pytest.fixture
def bench(tmp_path: Path) -> Open:
    """Return what opens a bench; with `caged` its servers run in cages."""

    @asynccontextmanager
    async def opened(*, caged: bool = False, credentials: Any = None, **limits: Any) -> AsyncIterator[Bench]:
        root = tmp_path / "project"
        root.mkdir(exist_ok=True)
        before = children_of(os.getpid()).keys()
        children, clock = ChildProcesses(), HurriedClock(runs=False)
        audited: list[tuple[str, str, dict[str, Any]]] = []

        def record(event: str, project_id: str, data: dict[str, Any]) -> None:
            audited.append((event, project_id, data))

        if caged:
            need_tier(FULL)
        keeper = Cages(children, FULL)
        cages = McpCages(keeper, (tmp_path / "data",), tmp_path / "homes")
        servers = McpServers(
            children,
            environment={**ENVIRONMENT, "HOME": str(tmp_path), "OPENAI_API_KEY": "sk-secret"},
            record=record,
            version="1.0.0",
            cages=cages if caged else None,
            limits=McpLimits(clock=clock, **limits),
            credentials=credentials,
        )
        try:
            yield Bench(root, servers, clock, audited)
        finally:
            await servers.aclose()
            await keeper.aclose()
            await children.aclose()
        await until(lambda: children_of(os.getpid()).keys() <= before)
        await until(lambda: not started_from_here())
        assert not [task for task in asyncio.all_tasks() if "mcp" in task.get_name()]

    return opened
