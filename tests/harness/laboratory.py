"""Tools for tests: one that waits until it is let go, one that is defective. Real definitions in
the real registry; what runs them is the daemon's own service.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from app.tools.catalog import build_registry
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Effects, ToolDefinition, ToolParams, ToolResult
from app.tools.dispatch.registry import ToolRegistry
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.sessions import PROJECT_YAML

LAB_YAML = PROJECT_YAML + '    "lab.*": { enabled: true }\n'


class WaitParams(ToolParams):
    name: str
    writes: str | None = None
    reads: str | None = None


class Empty(ToolParams):
    pass


class Waited(ToolResult):
    name: str


@dataclass
class Laboratory:
    """What the tools did: `started` and `ended` hold the names given, in order of time."""

    started: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    running: int = 0
    most_at_once: int = 0
    gates: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def release(self, *names: str) -> None:
        for name in names:
            self.gates[name].set()

    async def until_started(self, *names: str, seconds: float = WAIT_SECONDS) -> None:
        async with asyncio.timeout(seconds):
            while not set(names) <= set(self.started):
                self._changed.clear()
                await self._changed.wait()

    async def wait(self, params: WaitParams, context: ToolCallContext) -> BaseModel:
        self.started.append(params.name)
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        self._changed.set()
        try:
            await context.ports.progress(f"{params.name} waits")
            await self.gates[params.name].wait()
        finally:
            self.running -= 1
        self.ended.append(params.name)
        return Waited(name=params.name)

    async def break_down(self, params: Empty, context: ToolCallContext) -> BaseModel:
        raise ZeroDivisionError("a defect in the tool")

    def definitions(self) -> tuple[ToolDefinition, ...]:
        return (
            ToolDefinition(
                name="lab.wait",
                title="Wait",
                description="Waits until it is let go.",
                parameters=WaitParams,
                result=Waited,
                run=self.wait,
                acp_kind="other",
                effects_of=lambda p: Effects(
                    reads=(p.reads,) if p.reads else (), writes=(p.writes,) if p.writes else ()
                ),
            ),
            ToolDefinition(
                name="lab.break",
                title="Break",
                description="Is defective.",
                parameters=Empty,
                result=Waited,
                run=self.break_down,
                acp_kind="other",
            ),
        )

    def build_registry(self, **options: Any) -> ToolRegistry:
        """Return the daemon's registry with these tools in it."""
        real = build_registry(**options)
        return ToolRegistry((*real.definitions(), *self.definitions()), real.groups())
