"""What a caged agent may debug, and what it learns of what is outside its cage."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.bridges.dap.adapters import BEHAVIOURS, RUNTIMES
from app.bridges.sandbox.tier import Tier
from app.tools.contract.rules import PermissionRule
from tests.bridges.conftest import until
from tests.driver.debug_adapters import adapter_path, built, copy_of, line_of, python_program
from tests.driver.debug_desk import DebugDesk, debug_desk, lives
from tests.driver.ports import steady_port

CAGE = {"capabilities": ["exec"]}
RUN = {"runtime": "python", "script": "src/main.py"}


OFF = Tier("off", "the operator has switched it off")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    async with debug_desk(tmp_path) as opened:
        put_program(opened)
        yield opened


@pytest.fixture
async def open_desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    """A desk without a sandbox: programs reach what the policy does not show to their agent."""
    async with debug_desk(tmp_path, tier=OFF) as opened:
        put_program(opened)
        yield opened


def put_program(opened: DebugDesk) -> None:
    opened.put("lib/secret.py", "def hidden(x):\n    password = x  # the password\n    return password\n")
    opened.put(
        "src/main.py",
        "import sys\nsys.path.insert(0, 'lib')\nfrom secret import hidden\n\n"
        "answer = hidden(42)\nprint(answer)\n",
    )


@pytest.mark.requirement("debugger.cage.ptrace")
async def test_default_seccomp_rejection(tmp_path: Path) -> None:
    """default seccomp rejection: subagent in default cage calls debug with action launch with
    ptrace-based debugger. Assert `dap_requires_relaxed_seccomp`."""
    adapter_path("lldb-dap")
    root = copy_of("c", tmp_path)
    built(root / "orders.c")
    async with debug_desk(tmp_path, root) as desk:
        launch = {"runtime": "c", "script": "orders"}
        for cage in (CAGE, {**CAGE, "seccomp": "default"}):
            refused = await desk.caged(("rw", "."), **cage).refused("launch", **launch)
            assert refused.code == "dap_requires_relaxed_seccomp"
            for word in ("ptrace", "relaxed", "debugpy", "js-debug", "rdbg", "bash", "java", "perl"):
                assert word in refused.error_text, word
            assert refused.detail["required"] == "relaxed"
            assert "Ask the calling agent to debug this, or the operator for the line" in refused.error_text
        root = desk.as_agent("primary", {"fs": [{"mode": "rw", "path": "."}], **CAGE})
        refused = await root.refused("launch", **launch)
        assert "calling agent" not in refused.error_text
        line = "the line `seccomp: relaxed` under `cage` of this agent in the project file."
        assert f"Ask the operator for {line}" in refused.error_text
        assert desk.ports.of("tool.denied")["denied_capability"] == "dap_requires_relaxed_seccomp"
        by_process = await desk.caged(("rw", "."), **CAGE).refused("attach", runtime="c", pid=os.getpid())
        assert by_process.code == "dap_requires_relaxed_seccomp"
        assert desk.events("session_started") == []
        relaxed = desk.caged(("rw", "."), **CAGE, seccomp="relaxed")
        assert (await relaxed.debug("launch", **launch))["status"] == "stopped"
        await relaxed.debug("disconnect")
        assert (await desk.debug("launch", **launch))["status"] == "stopped"


@pytest.mark.requirement("debugger.cage.inspector")
@pytest.mark.parametrize(
    ("runtime", "adapter", "script"), [("bun", "bun", "orders.ts"), ("node", "js-debug", "orders.js")]
)
async def test_inspect_works_under_default_seccomp(
    tmp_path: Path, runtime: str, adapter: str, script: str
) -> None:
    """Bun --inspect works under default seccomp: the inspector does not need ptrace. Assert debug launch
    succeeds. Bun and Node are debugged by the same adapter."""
    adapter_path(adapter)
    for candidate in RUNTIMES[runtime].candidates:
        assert not BEHAVIOURS[candidate.behaviour].process.launches_by_ptrace
    async with debug_desk(tmp_path, copy_of(runtime, tmp_path)) as desk:
        caged = desk.caged(("ro", "."), **CAGE)
        begun = await caged.debug("launch", runtime=runtime, script=script)
        assert begun["status"] == "stopped" and begun["location"]["path"] == f"./{script}"


@pytest.mark.needs("cages")
@pytest.mark.requirement("debugger.cage.inspector", "debugger.cage.inside")
async def test_python_is_debugged_under_default_seccomp(desk: DebugDesk) -> None:
    caged = desk.caged(("ro", "."), **CAGE)
    begun = await caged.debug("launch", **RUN)
    assert begun["location"]["path"] == "./src/main.py"
    refused = await caged.refused("attach", runtime="python", pid=os.getpid())
    assert refused.code == "dap_requires_relaxed_seccomp"


@pytest.mark.needs("cages")
@pytest.mark.requirement("debugger.cage.inside")
async def test_a_cage_must_grant_exec_and_the_files(desk: DebugDesk) -> None:
    for capabilities in ([], ["shell"]):
        refused = await desk.caged(("rw", "."), capabilities=capabilities).refused("launch", **RUN)
        assert refused.code == "capability_denied" and "exec" in refused.error_text
    only_src = desk.caged(("ro", "src"), **CAGE)
    for call in (
        {"action": "launch", "runtime": "python", "script": "lib/secret.py", "cwd": "src"},
        {"action": "launch", **RUN, "cwd": "."},
        {"action": "set_breakpoint", "path": "lib/secret.py", "line": 2},
        {"action": "set_breakpoint", "path": "src/../lib/secret.py", "line": 2},
    ):
        assert (await only_src.call("debug", call)).code == "capability_denied", call
    (desk.root / "src" / "link.py").symlink_to("../lib/secret.py")
    for call in (
        {"action": "launch", "runtime": "python", "script": "src/link.py", "cwd": "src"},
        {"action": "set_breakpoint", "path": "src/link.py", "line": 2},
    ):
        assert (await only_src.call("debug", call)).code == "capability_denied", call
    begun = await only_src.debug("launch", **RUN, cwd="src")
    assert begun["location"]["path"] == "./src/main.py"


@pytest.mark.requirement("debugger.paths.outside")
@pytest.mark.parametrize("outside", ["mark", "none"])
async def test_sources_outside_the_cage_are_shown_by_path_only(open_desk: DebugDesk, outside: str) -> None:
    caged = open_desk.caged(("ro", "src"), ("deny", "src/no"), **CAGE, outside=outside)
    call = 5
    await caged.debug("set_breakpoint", path="src/main.py", line=call)
    await caged.debug(
        "launch", runtime="python", script="src/main.py", cwd="src", env={"PYTHONPATH": "../lib"},
        stop_on_entry=False,
    )  # fmt: skip
    inside = await caged.debug("step_into")
    stack = await caged.answer("stack_trace")
    assert "the password" not in stack.model_text() and inside["location"]["function"] == "hidden"
    place, frame = inside["location"], stack.data["frames"][0]
    if outside == "mark":
        for shown in (place, frame):
            assert (shown["path"], shown["line"], shown["outside_cage"]) == ("./lib/secret.py", 2, True)
            assert "column" not in shown and "source_preview" not in shown
        assert stack.data["frames"][-1]["outside_cage"] is True
    else:
        assert "path" not in place and "path" not in frame and "line" not in frame
    modules = (await caged.debug("modules"))["modules"]
    secret = next(one for one in modules if one["name"] == "secret")
    assert secret.get("path") == ("./lib/secret.py" if outside == "mark" else None)
    own = next(one for one in stack.data["frames"] if one["name"] == "<module>")
    assert (own["path"], own["line"]) == ("./src/main.py", call)


@pytest.mark.requirement("debugger.paths.outside")
async def test_rules_hide_sources_as_a_cage_does(desk: DebugDesk) -> None:
    ruled = desk.ruled(PermissionRule("fs.read", "lib", "deny", "project"))
    await ruled.debug("set_breakpoint", path="src/main.py", line=5)
    await ruled.debug("launch", **RUN, stop_on_entry=False)
    stopped = await ruled.debug("step_into")
    assert "path" not in stopped["location"] and stopped["location"]["function"] == "hidden"
    assert "source_preview" not in stopped["location"]


@pytest.mark.requirement("debugger.paths.real")
async def test_a_project_behind_a_link_is_debugged_by_its_real_paths(tmp_path: Path) -> None:
    real = copy_of("python", tmp_path, name="real")
    link = tmp_path / "link"
    link.symlink_to(real)
    async with debug_desk(tmp_path, link) as desk:
        (real / "alias.py").symlink_to("orders.py")
        price = line_of(real / "orders.py", "price")
        made = await desk.debug("set_breakpoint", path="alias.py", line=price)
        assert made["path"] == "./orders.py"
        begun = await desk.debug("launch", runtime="python", script="alias.py", stop_on_entry=False)
        assert (begun["location"]["path"], begun["location"]["line"]) == ("./orders.py", price)
        assert "outside_project" not in begun["location"]


SERVER = "import time\nticks = 0\nwhile True:\n    ticks += 1\n    time.sleep(0.01)\n"


async def listens(port: int) -> None:
    """Wait until somebody listens there. A connection would count as that of a debugger."""
    wanted = f":{port:04X} 00000000:0000 0A "
    await until(lambda: wanted in Path("/proc/net/tcp").read_text())


def debugged_server(port: int) -> str:
    return f"{python_program()} -m debugpy --listen 127.0.0.1:{port} server.py"


@pytest.mark.needs("cages")
@pytest.mark.requirement("debugger.cage.attach", "debugger.tool.attach", "cages.where.debug")
async def test_a_caged_agent_attaches_to_what_it_has_started_only(desk: DebugDesk) -> None:
    desk.put("server.py", SERVER)
    port, foreign_port = steady_port(), steady_port()
    net = {"allow": ["debug.example.org:5678"]}
    worker = desk.caged(("rw", "."), capabilities=["exec", "shell"], net=net)
    listening = (
        f"{debugged_server(port)} >/dev/null 2>&1 & until grep -q :{port:04X} /proc/net/tcp; do :; done"
    )
    await worker.ok("shell.bash", command=listening)
    await desk.ok("shell.bash", command=f"{debugged_server(foreign_port)} >/dev/null 2>&1 &")
    await listens(foreign_port)

    foreign = await worker.refused("attach", runtime="python", host="127.0.0.1", port=foreign_port)
    assert foreign.code == "debug_launch_failed" and "refused" in foreign.error_text
    nobody = await worker.refused("attach", runtime="python", host="debug.example.org", port=5678)
    assert nobody.code == "capability_denied"
    other = desk.as_agent("primary.subagents.other", worker.context.cage)
    refused = await other.refused("attach", runtime="python", host="127.0.0.1", port=port)
    assert refused.code == "debug_launch_failed" and "refused" in refused.error_text

    begun = await worker.debug("attach", runtime="python", host="127.0.0.1", port=port)
    assert begun["status"] == "running"
    stopped = await worker.debug("pause")
    assert stopped["location"]["path"] == "./server.py" and int(await worker.value("ticks")) > 0
    assert await worker.debug("disconnect") == {"disconnected": True, "debuggee_terminated": False}
    assert len((await worker.ok("shell.background", action="list"))["commands"]) == 1

    # The root agent may attach to what it likes.
    assert (await desk.debug("attach", runtime="python", host="127.0.0.1", port=foreign_port))["status"]
    await stop_commands(desk)


@pytest.mark.requirement("debugger.cage.attach")
async def test_without_a_sandbox_a_caged_agent_attaches_to_what_it_has_started_only(
    open_desk: DebugDesk,
) -> None:
    open_desk.put("server.py", SERVER)
    port, foreign_port = steady_port(), steady_port()
    worker = open_desk.caged(("rw", "."), capabilities=["exec", "shell"])
    await worker.ok("shell.bash", command=f"{debugged_server(port)} >/dev/null 2>&1 &")
    await open_desk.ok("shell.bash", command=f"{debugged_server(foreign_port)} >/dev/null 2>&1 &")
    await asyncio.gather(listens(port), listens(foreign_port))
    foreign = await worker.refused("attach", runtime="python", host="127.0.0.1", port=foreign_port)
    assert foreign.code == "capability_denied" and "inside this agent's cage" in foreign.error_text
    begun = await worker.debug("attach", runtime="python", host="127.0.0.1", port=port)
    assert begun["status"] == "running"
    await worker.debug("disconnect")
    await stop_commands(open_desk)


@pytest.mark.requirement("debugger.cage.attach")
async def test_a_caged_agent_attaches_to_no_foreign_process(tmp_path: Path) -> None:
    adapter_path("lldb-dap")
    root = copy_of("c", tmp_path)
    built(root / "never_stops.c")
    async with debug_desk(tmp_path, root) as desk:
        worker = desk.caged(("rw", "."), capabilities=["exec", "shell"], seccomp="relaxed")
        for agent in (worker, desk):
            await agent.ok("shell.bash", command="./never_stops >/dev/null 2>&1 &")
        mine, theirs = await pid_of(worker), await pid_of(desk, "primary")
        refused = await worker.refused("attach", runtime="c", pid=theirs)
        assert refused.code == "capability_denied"
        assert (await worker.refused("attach", runtime="c", pid=1)).code == "capability_denied"
        begun = await worker.debug("attach", runtime="c", pid=mine)
        assert begun["status"] in {"running", "stopped"}
        await worker.debug("disconnect")
        assert lives(mine) and lives(theirs)
        await stop_commands(desk)


async def stop_commands(desk: DebugDesk) -> None:
    for one in (await desk.ok("shell.background", action="list"))["commands"]:
        await desk.ok("shell.background", action="stop", id=one["id"])


async def pid_of(desk: DebugDesk, agent_path: str = "") -> int:
    """Return the process of the only background command of the desk's agent itself."""
    commands = (await desk.ok("shell.background", action="list"))["commands"]
    pids = [int(one["pid"]) for one in commands]
    return pids[0] if agent_path == "" else pids[-1]
