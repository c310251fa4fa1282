"""Plugins as real processes, and what is left of them afterwards."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.bridges.plugins.calls import CallContext, PluginDeclaration
from app.bridges.plugins.limits import PluginLimits
from app.bridges.plugins.manager import Manifests, Plugins
from app.bridges.plugins.plugin_cage import PluginCages
from app.bridges.plugins.requests import StorageRefused
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.tier import Tier
from tests.bridges.conftest import ENVIRONMENT, IN_CAGES, children_of, started_from_here, until
from tests.driver.caging import FULL
from tests.driver.hurried_clock import HurriedClock
from tests.driver.machine import need_tier

HOSTILE = Path(__file__).parents[2] / "fakes" / "hostile_plugin.py"


class KeptValues:
    """A storage for plugins, in memory."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str, str], Any] = {}
        self.full = False

    async def get(self, project_id: str, plugin: str, key: str) -> Any:
        return self.values.get((project_id, plugin, key))

    async def set(self, project_id: str, plugin: str, key: str, value: Any) -> None:
        if self.full:
            raise StorageRefused("the plugin's storage is full; delete something")
        self.values[project_id, plugin, key] = value

    async def delete(self, project_id: str, plugin: str, key: str) -> bool:
        return self.values.pop((project_id, plugin, key), self) is not self

    async def list(self, project_id: str, plugin: str, prefix: str, after: str, limit: int) -> Sequence[str]:
        own = sorted(key for project, name, key in self.values if (project, name) == (project_id, plugin))
        return [key for key in own if key.startswith(prefix) and key > after][:limit]


@dataclass
class Bench:
    """Plugins at work for one project."""

    root: Path
    plugins: Plugins
    storage: KeptValues
    clock: HurriedClock
    audited: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    caged: bool = False

    def package(
        self, text: str, *, name: str = "notes", script: str | None = None, installed: bool = False
    ) -> PluginDeclaration:
        """Write a package of the project, or one beside it, and return its declaration."""
        folder = (self.root.parent if installed else self.root) / "plugins" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kaged-plugin.yaml").write_text(text)
        if script is not None:
            (folder / "plugin.py").write_text(script)
        return self.declaration(name, **({"package": str(folder)} if installed else {}))

    def declaration(self, name: str = "notes", **changes: Any) -> PluginDeclaration:
        said: dict[str, Any] = {
            "project_id": "prj_1",
            "project_root": self.root,
            "agent_path": "primary",
            "name": name,
            "package": f"./plugins/{name}",
            "isolation": "agent",
            "config": {},
        }
        return PluginDeclaration(**{**said, **changes})

    def hostile(self, *arguments: str, **manifest: Any) -> PluginDeclaration:
        """Declare the plugin that misbehaves as the arguments say."""
        said = {
            "name": "hostile",
            "version": "1.0.0",
            "kaged_api": 1,
            "description": "Does harm",
            "command": [sys.executable, "-I", "-S", str(HOSTILE), str(self.root / "log"), *arguments],
            "hooks": ["on_session_start", "pre_compact"],
            "capabilities": ["kaged:storage:read", "net:example.org:443", "read:fs:/srv/data"],
            "tools": [{"name": "harm", "description": "x", "parameters_schema": {"type": "object"}}],
            "hook_timeout_sec": 60,
            "shutdown_timeout_sec": 1,
        }
        if self.caged:
            said["capabilities"] += [f"write:fs:{self.root}"]
        return self.package(json.dumps({**said, **manifest}), name="hostile", installed=self.caged)

    def starts(self) -> list[int]:
        """Return the processes of the hostile plugin that were started."""
        log = self.root / "log"
        whole = log.read_text().rpartition("\n")[0] if log.exists() else ""
        return [int(line.split()[1]) for line in whole.splitlines() if line.startswith("started ")]

    def events(self, name: str) -> list[dict[str, Any]]:
        return [data for event, _, data in self.audited if event == f"plugin.{name}"]

    def lines(self) -> tuple[str, ...]:
        """Return the last lines of the only plugin's log."""
        (plugin,) = self.plugins._plugins.values()
        return plugin.journal.last(100)

    async def state(self) -> str:
        found = await self.plugins.status()
        return found[0].state.value if found else "none"

    async def hook(
        self, declaration: PluginDeclaration, hook: str = "on_session_start", **params: Any
    ) -> Any:
        return await self.plugins.hook(declaration, hook, params, self.context())

    async def tool(
        self, declaration: PluginDeclaration, name: str, seconds: float = 60, **params: Any
    ) -> Any:
        return await self.plugins.call_tool(declaration, name, params, self.context(), seconds=seconds)

    def context(self, **changes: Any) -> CallContext:
        said: dict[str, Any] = {
            "operator_id": "op_1",
            "project_id": "prj_1",
            "project_root": self.root,
            "agent_path": "primary",
            "session_id": "ses_1",
            "request_id": "req_1",
        }
        return CallContext(**{**said, **changes})


Open = Callable[..., AbstractAsyncContextManager[Bench]]


@asynccontextmanager
async def opened(
    base: Path,
    system_config: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    caged: bool = IN_CAGES,
    tier: Tier = FULL,
    **limits: Any,
) -> AsyncIterator[Bench]:
    """Open a project; when it is closed no process and no task is left of its plugins. `caged`: they run in
    cages, as a machine of this tier has them."""
    if caged:
        need_tier(tier)
    root = base / "project"
    root.mkdir(exist_ok=True)
    before = children_of(os.getpid()).keys()
    children, clock, storage = ChildProcesses(), HurriedClock(), KeptValues()
    cages = Cages(children, tier)
    audited: list[tuple[str, str, dict[str, Any]]] = []
    plugins = Plugins(
        children,
        environment={**ENVIRONMENT, "HOME": str(base), "OPENAI_API_KEY": "sk-secret"},
        manifests=Manifests(base / "data", [base / "installed"], system_config),
        storage=storage,
        record=lambda event, project, data: audited.append((event, project, data)),
        daemon_version="0.0.1",
        limits=PluginLimits(**{"clock": clock, **limits}),
        cages=PluginCages(cages, (base / "data",)) if caged else None,
    )
    try:
        yield Bench(root, plugins, storage, clock, audited, caged)
    finally:
        await plugins.aclose()
        await cages.aclose()
        await children.aclose()
    await until(lambda: children_of(os.getpid()).keys() <= before)
    await until(lambda: not started_from_here())
    assert not [task for task in asyncio.all_tasks() if "plugin" in task.get_name()]


@pytest.fixture
def bench(tmp_path: Path) -> Open:
    return lambda **said: opened(tmp_path, **said)
