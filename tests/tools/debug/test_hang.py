"""hang and threads: where all threads stand, and who waits for whom."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.bridges.processes.waiting import waits_of
from app.tools.contract.rules import PermissionRule
from app.tools.debug.effects import effects_of
from app.tools.debug.parameters import DebugParams
from tests.bridges.conftest import until
from tests.driver.debug_adapters import adapter_path, built, copy_of
from tests.driver.debug_desk import DebugDesk, debug_desk
from tests.tools.conftest import Desk
from tests.tools.debug.targets import by_process

RUNS = {"stop_on_entry": False, "timeout": 3_000}
ADAPTERS = {"python": "debugpy", "cpp": "lldb-dap", "rust": "lldb-dap", "go": "delve"}
SOURCES = {"python": "locks.py", "cpp": "locks.cpp", "rust": "locks.rs", "go": "go/main.go"}
PLACES = {"python": {10, 17}, "cpp": {12, 18}, "rust": {7}, "go": {15}}
PYTHON_RING = ["one waits for second, which two has", "two waits for first, which one has"]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    async with debug_desk(tmp_path, copy_of("hanging", tmp_path)) as opened:
        yield opened


def script_of(desk: DebugDesk, runtime: str) -> str:
    adapter_path(ADAPTERS[runtime])
    script = SOURCES[runtime]
    return built(desk.root / script).name if runtime in {"cpp", "rust"} else script


def standing(found: dict[str, Any], path: str) -> set[int]:
    """Return the lines of a file at which threads stand."""
    tops = [one["frames"][0] for one in found.get("hung", ()) if one.get("frames")]
    return {one["line"] for one in tops if one.get("path") == f"./{path}"}


async def looked_at(desk: Desk, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return what is told of the session's program, once that holds."""
    async with asyncio.timeout(90):
        found: dict[str, Any] = {}
        while not holds(found):
            found = (await desk.call("debug", {"action": "hang"})).data
    return found


async def hung(desk: Desk, runtime: str) -> dict[str, Any]:
    """Return what is told of the session's program when its threads have got to their locks."""

    def is_there(found: dict[str, Any]) -> bool:
        return found.get("outcome") != "busy" and PLACES[runtime] <= standing(found, SOURCES[runtime])

    return await looked_at(desk, is_there)


def check_shown(runtime: str, found: dict[str, Any]) -> None:
    assert PLACES[runtime] <= standing(found, SOURCES[runtime]), found
    kinds = [one.get("waits_for", {}).get("kind") for one in found["hung"]]
    assert kinds.count("lock") >= 2, found
    if runtime in {"python", "cpp"}:
        assert found["outcome"] == "deadlock" and len(found["deadlock"]) == 2
        assert [one["waits_for"]["kind"] for one in found["hung"][:2]] == ["lock", "lock"]
    if runtime == "python":
        assert sorted(found["deadlock"]) == PYTHON_RING
        main = next(one for one in found["hung"] if one["name"] == "MainThread")
        assert main["waits_for"] == {"kind": "thread", "name": "one", "thread": "one"}
        assert not any(one["moves"] for one in found["hung"])
    assert len(orjson.dumps(found)) <= 4_000


@pytest.mark.requirement("debugger.hang")
@pytest.mark.parametrize("runtime", ADAPTERS)
async def test_a_session_tells_who_waits_for_whom_and_runs_on(desk: DebugDesk, runtime: str) -> None:
    begun = await desk.debug("launch", runtime=runtime, script=script_of(desk, runtime), **RUNS)
    assert begun["status"] == "running", begun
    found = await hung(desk, runtime)
    check_shown(runtime, found)
    assert found["status"] == "running"
    assert (await desk.refused("stack_trace")).code == "not_stopped"
    check_shown(runtime, await desk.debug("hang"))


@pytest.mark.requirement("debugger.hang")
@pytest.mark.parametrize("runtime", ["python", "cpp"])
async def test_a_process_is_looked_at_and_left_running(desk: DebugDesk, runtime: str) -> None:
    script = script_of(desk, runtime)
    adapter_path("gdb")
    command = [sys.executable, script] if runtime == "python" else [f"./{script}"]
    async with AsyncExitStack() as stack:
        target = await by_process(*command)(desk.root, stack)
        if runtime == "cpp":
            await until(lambda: [one.kind for one in waits_of(target.process.pid)].count("lock") == 2)
        check_shown(runtime, await desk.debug("hang", **target.where))
        assert await target.runs() and desk.debuggers.active == 0


@pytest.mark.requirement("debugger.hang")
async def test_a_script_that_spins_and_one_that_waits_are_told_apart(desk: DebugDesk) -> None:
    adapter_path("js-debug")
    await desk.debug("launch", runtime="node", script="spins.js", **RUNS)
    busy = await looked_at(desk, lambda found: standing(found, "spins.js") == {3})
    assert busy["outcome"] == "busy"
    await desk.debug("disconnect")
    await desk.debug("launch", runtime="node", script="waits.js", **RUNS)
    idle = await looked_at(desk, lambda found: "TCPServerWrap" in str(found))
    assert idle["outcome"] == "waiting"
    assert idle["hung"][0]["waits_for"]["kind"] == "events"
    assert "TCPServerWrap" in idle["hung"][0]["waits_for"]["name"]
    assert idle["status"] == "running"


@pytest.mark.needs("cages")
@pytest.mark.requirement("debugger.hang")
@pytest.mark.parametrize("runtime", ["python", "cpp"])
async def test_a_caged_agent_sees_its_own_programs_only(desk: DebugDesk, runtime: str) -> None:
    seccomp = "default" if runtime == "python" else "relaxed"
    caged = desk.caged(("rw", "."), capabilities=["exec", "shell"], seccomp=seccomp)
    assert isinstance(caged, DebugDesk)
    await caged.debug("launch", runtime=runtime, script=script_of(desk, runtime), **RUNS)
    check_shown(runtime, await hung(caged, runtime))
    async with AsyncExitStack() as stack:
        target = await by_process(sys.executable, "locks.py")(desk.root, stack)
        refused = await caged.refused("hang", **target.where)
        assert refused.code in {"invalid_params", "capability_denied", "dap_requires_relaxed_seccomp"}
        assert await target.runs()


@pytest.mark.requirement("debugger.hang", "debugger.tests.rules")
async def test_a_process_is_judged_as_attach(desk: DebugDesk) -> None:
    call = {"action": "hang", "pid": 1}
    assert effects_of(DebugParams.model_validate(call)).judged_as == ("debug.attach",)
    for name in ("debug.hang", "debug.attach"):
        rule = PermissionRule(name, "*", "deny", "project")
        assert (await desk.ruled(rule).call("debug", call)).code == "permission_denied"
    denied = await desk.call("debug", call, allowed={"debug", "debug.hang"})
    assert denied.code == "tool_not_found" and "debug.attach" in (denied.error_text or "")
    assert (await desk.refused("hang")).code == "dap_session_ended"
    assert (await desk.refused("hang", pid=2**30)).code == "invalid_params"


@pytest.mark.requirement("debugger.threads")
@pytest.mark.parametrize("runtime", ["python", "cpp", "go"])
async def test_threads_have_their_first_frame_in_the_project(desk: DebugDesk, runtime: str) -> None:
    await desk.debug("launch", runtime=runtime, script=script_of(desk, runtime), **RUNS)
    await hung(desk, runtime)
    if runtime != "python":
        await desk.debug("pause")
    threads = (await desk.debug("threads"))["threads"]
    seen = {one["line"] for one in threads if one.get("path") == f"./{SOURCES[runtime]}"}
    assert PLACES[runtime] <= seen, threads
    assert any("one" in one["function"] or "work" in one["function"] for one in threads if "function" in one)
