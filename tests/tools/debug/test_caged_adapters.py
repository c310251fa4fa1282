"""Every real adapter inside the cage of the agent that debugs by it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from app.bridges.sandbox.tier import Tier
from tests.bridges.conftest import started_from_here
from tests.driver.debug_desk import DebugDesk, command_of, debug_desk, is_for_others, lives
from tests.tools.debug.test_matrix import SUBJECTS, at_work

BY_PTRACE = frozenset({"lldb-dap", "gdb", "codelldb", "delve"})
WRITABLE = ("rw", ".")
SNOOPER = """
import os, socket
secret = os.path.exists({secret!r})
home = os.environ["HOME"]
try:
    reached = socket.create_connection(("127.0.0.1", {port}), timeout=2) is not None
except OSError:
    reached = False
other = os.path.exists("/proc/{pid}")
done = True
"""


def caged(desk: DebugDesk, name: str) -> DebugDesk:
    """Return the desk of an agent whose cage allows what the adapter needs, and no more."""
    seccomp = "relaxed" if name in BY_PTRACE else "default"
    return desk.caged(WRITABLE, capabilities=["exec"], seccomp=seccomp)


def outside_of_cages(before: set[int]) -> dict[int, bytes]:
    """Return what was started since, beside what looks after others, with the daemon's view of processes."""
    own = os.readlink("/proc/self/ns/pid")
    found = {}
    for pid in started_from_here() - before:
        command = command_of(pid)
        try:
            if command and not is_for_others(command) and os.readlink(f"/proc/{pid}/ns/pid") == own:
                found[pid] = command
        except OSError:
            continue
    return found


@pytest.mark.needs("cages")
@pytest.mark.requirement("debugger.cage.inside", "cages.where.debug")
@pytest.mark.parametrize("name", SUBJECTS)
async def test_each_adapter_and_its_program_run_in_the_cage(name: str, tmp_path: Path) -> None:
    before = started_from_here()
    async with at_work(name, tmp_path) as walk:
        program, _ = await walk.built()
        desk, subject = caged(walk.desk, name), walk.subject
        await desk.debug("set_breakpoint", path=subject.script, line=walk.line("price"))
        begun = await desk.debug("launch", runtime=subject.runtime, script=program, stop_on_entry=False)
        assert begun["status"] == "stopped", begun
        assert begun["location"]["line"] == walk.line("price")
        assert (await desk.debug("stack_trace"))["frames"]
        running = [pid for pid in started_from_here() - before if lives(pid)]
        assert running and not outside_of_cages(before)
        ended = await desk.debug("disconnect")
        assert ended["disconnected"]


@pytest.mark.needs("cages")
@pytest.mark.requirement("debugger.cage.inside", "cages.where.debug")
async def test_a_debugged_program_reaches_nothing_beyond_the_cage(
    tmp_path: Path,
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("canary")
    async with debug_desk(tmp_path) as desk:
        listener = socket.create_server(("127.0.0.1", 0))
        text = SNOOPER.format(secret=str(secret), port=listener.getsockname()[1], pid=os.getpid())
        desk.put("snoop.py", text)
        last = len(text.splitlines())
        for agent, seen in ((caged(desk, "debugpy"), "False"), (desk, "True")):
            await agent.debug("set_breakpoint", path="snoop.py", line=last)
            await agent.debug("launch", runtime="python", script="snoop.py", stop_on_entry=False)
            assert await agent.value("secret") == seen
            assert await agent.value("reached") == seen
            assert await agent.value("other") == seen
            inside = "'/home/agent'"
            assert (await agent.value("home") == inside) is (seen == "False")
            await agent.debug("disconnect")
        listener.close()


@pytest.mark.requirement("debugger.cage.inside", "cages.kernel.unavailable")
async def test_without_cages_nothing_is_started_for_a_caged_agent(tmp_path: Path) -> None:
    before = started_from_here()
    none = Tier("none", "namespaces are not allowed", "Allow them.")
    async with debug_desk(tmp_path, tier=none) as desk:
        desk.put("main.py", "print(1)\n")
        call = {"runtime": "python", "script": "main.py"}
        refused = await caged(desk, "debugpy").refused("launch", **call)
        assert refused.code == "cage_unavailable" and "namespaces are not allowed" in refused.error_text
        attached = await caged(desk, "debugpy").refused("attach", runtime="python", port=5678)
        assert attached.code == "cage_unavailable"
        assert not [pid for pid in started_from_here() - before if not is_for_others(command_of(pid))]
        assert (await desk.debug("launch", **call))["status"] == "stopped"
