"""Calls that run a program of their own, given up at random moments: nothing is left of any of them."""

from __future__ import annotations

import asyncio
import random
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.driver.debug_adapters import adapter_path, built, copy_of
from tests.driver.debug_desk import DebugDesk, debug_desk

ROUNDS = 3
LONGEST_SECONDS = 3.0
PROGRAMS: tuple[tuple[dict[str, str], str, int, int], ...] = (
    ({"command": "python locks.py"}, "locks.py", 10, 17),
    ({"command": "./locks", "runtime": "cpp"}, "locks.cpp", 10, 17),
    ({"command": "node spins.js"}, "spins.js", 1, 3),
    ({"runtime": "go", "script": "go/main"}, "go/main.go", 12, 28),
    ({"command": "./rusty", "runtime": "rust"}, "rusty.rs", 5, 17),
)
CALLS: tuple[dict[str, Any], ...] = tuple(
    {"action": action, **program, **more}
    for program, source, often, once in PROGRAMS
    for action, more in (
        ("why", {}),
        ("trace", {"at": [{"path": source, "line": often, "expressions": ["1"]}]}),
        ("run_to", {"path": source, "line": once}),
    )
)
"""In Python, C++, Node, Go and Rust."""


async def given_up(desk: DebugDesk, call: dict[str, Any], chance: random.Random) -> None:
    """Begin a call, and cancel it, or end its run, at some moment."""
    call = {**call, "timeout": 60_000}
    agent = desk.context
    task = asyncio.create_task(desk.call("debug", call))
    await asyncio.wait({task}, timeout=chance.uniform(0, LONGEST_SECONDS))
    if chance.random() < 0.5:
        task.cancel()
    await desk.debuggers.end_run(agent.session_id, agent.agent_path)
    with suppress(asyncio.CancelledError):
        await task


@pytest.mark.timeout(600)
@pytest.mark.needs("cages")
@pytest.mark.requirement("debugger.why", "debugger.trace", "debugger.run_to", "debugger.session.run_end")
@pytest.mark.parametrize("caged", [False, True], ids=["free", "caged"])
async def test_calls_that_are_given_up_leave_nothing(tmp_path: Path, caged: bool) -> None:
    """The desk sees to it that no process is left."""
    for adapter in ("lldb-dap", "js-debug", "delve"):
        adapter_path(adapter)
    chance = random.Random(18)
    root = copy_of("hanging", tmp_path)
    shutil.copy(root / "locks.rs", root / "rusty.rs")
    for source in ("locks.cpp", "rusty.rs", "go/main.go"):
        built(root / source)
    async with debug_desk(tmp_path, root) as desk:
        agent: Any = desk
        if caged:
            agent = desk.caged(("rw", "."), capabilities=["exec"], seccomp="relaxed")
        for call in chance.sample(CALLS * ROUNDS, len(CALLS) * ROUNDS):
            await given_up(agent, call, chance)
            await agent.answer("disconnect")
            assert desk.debuggers.active == 0
