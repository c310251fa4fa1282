"""Measure a call before its tool begins: every layer is active, the tool does nothing.

The call has rules of all scopes, the built-in watchdogs and an audit trail that keeps every row in memory.
`turn_overhead` includes the storage of the rows.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from app.tools.authorisation.guard import built_in
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    CapabilityRequirement,
    Effects,
    ToolDefinition,
    ToolParams,
    ToolResult,
)
from app.tools.contract.rules import PermissionRule
from app.tools.dispatch.registry import ToolRegistry
from app.tools.dispatch.service import ToolService
from bench.figures import report, spread
from tests.tools.conftest import Ports

CALLS = 2_000
WARM_UP = 200
GOAL_MS = 0.5
RULES = (
    *(PermissionRule("shell", f"tool{number} *", "deny", "manifest", True) for number in range(20)),
    *(PermissionRule("fs.write", f"folder{number}/**", "ask", "project") for number in range(20)),
    *(PermissionRule("shell.bash", f"git verb{number} *", "allow", "session") for number in range(20)),
)
CAGE = {"fs": [{"mode": "rw", "path": "."}], "capabilities": ["shell"], "net": {"allow": []}}


class Nothing(ToolParams):
    text: str = ""


class Done(ToolResult):
    done: bool = True


async def _run(_params: Nothing, _context: ToolCallContext) -> Done:
    return Done()


def _tool(name: str, **more: Any) -> ToolDefinition:
    return ToolDefinition(
        name=name, title="Nothing", description="Does nothing.", parameters=Nothing, result=Done, run=_run,
        acp_kind="other", **more,
    )  # fmt: skip


TOOLS = {
    "a tool that does nothing": _tool("bench.nothing"),
    "one that writes a file": _tool("bench.file", effects_of=lambda _: Effects(writes=("src/a.py",))),
    "one that runs a command": _tool(
        "bench.shell",
        requires=(CapabilityRequirement("shell"),),
        effects_of=lambda params: Effects(commands=(params.text,)),
    ),
}


async def _measure(service: ToolService, context: ToolCallContext, name: str) -> list[float]:
    taken = []
    for number in range(CALLS + WARM_UP):
        arguments = {"text": f"git status --short && pytest -q tests/test_{number}.py | tail -5"}
        started = time.perf_counter()
        envelope = await service.call(name, arguments, context, allowed=[name])
        taken.append((time.perf_counter() - started) * 1_000)
        if envelope.is_error:
            raise RuntimeError(envelope.model_text())
    return taken[WARM_UP:]


async def _all(folder: Path) -> None:
    watchdogs = built_in(folder / "data", home=folder)
    service = ToolService(ToolRegistry(TOOLS.values()), watchdogs=watchdogs)
    for shown, tool in TOOLS.items():
        context = ToolCallContext(
            session_id="ses_1", run_id="run_1", agent_path="primary.subagents.x", project_id="prj_1",
            project_root=folder, cage=CAGE, request_id="req_1", call_id="call_1",
            scratch_dir=folder / "scratch", ports=Ports(), rules=RULES,
        )  # fmt: skip
        taken = await _measure(service, context, tool.name)
        goal = GOAL_MS if tool.name == "bench.nothing" else None
        report(f"dispatch of {shown}, {len(RULES)} rules", sorted(taken)[len(taken) // 2], "ms", at_most=goal)
        print(f"  {spread(taken, 'ms')}", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_all(Path(folder)))
