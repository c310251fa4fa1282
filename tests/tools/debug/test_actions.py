"""The actions of `debug`, on a Python program under the real debugpy."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.bridges.dap.manager import DebugLimits
from app.tools.contract.rules import PermissionRule
from tests.driver.debug_adapters import copy_of, line_of
from tests.driver.debug_desk import DebugDesk, debug_desk, gone, lives

RUN = {"runtime": "python", "script": "orders.py"}
PRICE, CLOSURE, LOOP = "price", "closure", "loop"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    async with debug_desk(tmp_path, copy_of("python", tmp_path)) as opened:
        yield opened


def line(desk: DebugDesk, mark: str, path: str = "orders.py") -> int:
    return line_of(desk.root / path, mark)


async def at(desk: DebugDesk, mark: str) -> dict:
    """Launch and go to a mark; return what the stop there answers."""
    await desk.debug("set_breakpoint", path="orders.py", line=line(desk, mark))
    await desk.debug("launch", **RUN)
    return await desk.debug("continue")


@pytest.mark.requirement("debugger.tool.launch", "debugger.stop.answer")
async def test_launch_breakpoint_continue(desk: DebugDesk) -> None:
    """launch + breakpoint + continue: launch a script, set a breakpoint, continue, assert stopped at
    breakpoint."""
    begun = await desk.debug("launch", **RUN)
    assert re.fullmatch(r"dap_[0-9A-Z]{26}", begun.pop("debug_session_id"))
    assert begun == {
        "runtime": "python",
        "adapter": "debugpy",
        "status": "stopped",
        "stopped_reason": "entry",
        "thread_id": 1,
        "threads": [{"id": 1, "name": "MainThread"}],
        "location": {
            "path": "./orders.py",
            "line": 1,
            "column": 0,
            "function": "<module>",
            "source_preview": '"""Adds up the orders of a user."""',
        },
    }
    price = line(desk, PRICE)
    made = await desk.debug("set_breakpoint", path="./orders.py", line=price)
    assert made == {"breakpoint_id": 1, "verified": True, "actual_line": price, "path": "./orders.py",
                    "line": price}  # fmt: skip
    stopped = await desk.debug("continue")
    assert (stopped["status"], stopped["stopped_reason"]) == ("stopped", "breakpoint")
    assert stopped["breakpoint_id"] == 1
    assert stopped["location"] == {
        "path": "./orders.py",
        "line": price,
        "column": 0,
        "function": "price_of",
        "source_preview": "    price = amount * count  # stop: price",
    }
    assert {one["name"]: one["value"] for one in stopped["changed"]} == {"amount": "10", "count": "1"}
    await desk.debug("remove_breakpoint", path="orders.py", line=price)
    ended = await desk.debug("continue")
    assert ended == {"status": "exited", "exit_code": 0, "output": "alice of Lisbon owes 550 EUR\n"}
    assert "".join(desk.ports.shown) == ended["output"]


@pytest.mark.requirement("debugger.tool.variables")
async def test_variables_inspection(desk: DebugDesk) -> None:
    """variables inspection: at a breakpoint, inspect local variables. Assert correct names, values,
    types."""
    await at(desk, PRICE)
    await desk.debug("step_over")
    assert await desk.debug("variables", frame_id=0, scope="local") == {
        "variables": [
            {"name": "amount", "value": "10", "type": "int"},
            {"name": "count", "value": "1", "type": "int"},
            {"name": "price", "value": "10", "type": "int"},
        ],
        "total": 3,
    }
    above = await desk.debug("variables", frame_id=1, filter="use")
    assert above["variables"] == [
        {
            "name": "user",
            "value": "User(name='alice', address=Address(city='Lisbon', zip=1000))",
            "type": "User",
            "expandable": True,
        }
    ]


@pytest.mark.requirement("debugger.tool.evaluate")
async def test_evaluate_watch(desk: DebugDesk) -> None:
    """evaluate watch: evaluate an expression at a breakpoint. Assert result."""
    await at(desk, PRICE)
    assert await desk.debug("evaluate", expression="amount > 5", context="watch") == {
        "result": "True",
        "type": "bool",
    }
    assert await desk.value("user.address.zip + 1", frame_id=1) == "1001"
    refused = await desk.refused("evaluate", expression="no_such_name")
    assert refused.code == "debug_request_failed" and "no_such_name" in refused.error_text


@pytest.mark.requirement("debugger.tool.steps")
async def test_step_into_step_over_step_out(desk: DebugDesk) -> None:
    """step_into/step_over/step_out: at a breakpoint, step over a function call, assert cursor moves to
    next line. Step into, assert cursor inside the function."""
    call = line(desk, LOOP) - 1
    await desk.debug("set_breakpoint", path="orders.py", line=call)
    await desk.debug("launch", **RUN, stop_on_entry=False)
    over = await desk.debug("step_over")
    assert (over["status"], over["stopped_reason"]) == ("stopped", "step")
    assert over["location"]["line"] == call + 1 and over["location"]["function"] == "main"
    assert {"name": "price", "value": "10", "type": "int"} in over["changed"]
    round_two = await desk.debug("continue")
    assert {"name": "i", "value": "1", "was": "0", "type": "int"} in round_two["changed"]
    into = await desk.debug("step_into", thread_id=1)
    assert into["location"]["function"] == "price_of" and into["location"]["line"] == line(desk, PRICE)
    out = await desk.debug("step_out")
    assert out["location"]["function"] == "main" and out["location"]["line"] == call
    assert "changed" not in out


@pytest.mark.requirement("debugger.tool.disconnect")
async def test_disconnect_cleanup(desk: DebugDesk) -> None:
    """disconnect cleanup: disconnect, assert debug adapter process is gone and debuggee is killed."""
    deaf_at = line(desk, LOOP, "ignores_sigterm.py")
    await desk.debug("set_breakpoint", path="ignores_sigterm.py", line=deaf_at)
    await desk.debug("launch", **{**RUN, "script": "ignores_sigterm.py"}, stop_on_entry=False)
    deaf = int(await desk.local("process"))  # its output may come after the stop
    adapter = _parent(_parent(deaf))
    assert lives(deaf) and lives(adapter)
    assert await desk.debug("disconnect") == {"disconnected": True, "debuggee_terminated": True}
    await gone(deaf, adapter)
    assert (await desk.refused("threads")).code == "dap_session_ended"
    assert (await desk.refused("disconnect")).code == "dap_session_ended"
    again = await desk.debug("launch", **RUN)
    assert again["stopped_reason"] == "entry"


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.requirement("debugger.tool.breakpoints", "debugger.breakpoints.shown")
async def test_breakpoints_are_set_listed_and_removed(desk: DebugDesk) -> None:
    price = line(desk, PRICE)
    before = await desk.debug(
        "set_breakpoint", path="orders.py", line=price, condition="amount == 30", hit_count=1
    )
    assert before["verified"] is False and "message" in before
    named = await desk.debug("set_breakpoint", function="main")
    listed = await desk.debug("list_breakpoints")
    assert [one["id"] for one in listed["breakpoints"]] == [1, 2]
    assert listed["breakpoints"][0]["condition"] == "amount == 30"
    assert named["function"] == "main"
    begun = await desk.debug("launch", **RUN, stop_on_entry=False)
    assert begun["location"]["function"] == "main" and begun["breakpoint_id"] == 2
    bound = (await desk.debug("list_breakpoints"))["breakpoints"]
    assert (bound[0]["verified"], bound[0]["actual_line"]) == (True, price)
    stopped = await desk.debug("continue")
    assert (stopped["breakpoint_id"], await desk.local("amount")) == (1, "30")
    removed = await desk.debug("remove_breakpoint", function="main")
    assert removed == {"removed": True, "breakpoint_id": 2, "function": "main"}
    (desk.root / "orders.py").rename(desk.root / "gone.py")
    assert (await desk.debug("remove_breakpoint", path="orders.py", line=price))["removed"] is True
    assert (await desk.debug("list_breakpoints")) == {"breakpoints": []}
    refused = await desk.refused("remove_breakpoint", path="gone.py", line=price)
    assert refused.code == "breakpoint_not_found"


@pytest.mark.requirement("debugger.tool.breakpoints")
async def test_a_log_message_is_logged_and_does_not_stop(desk: DebugDesk) -> None:
    await desk.debug(
        "set_breakpoint", path="orders.py", line=line(desk, PRICE), log_message="amount is {amount}"
    )
    ended = await desk.debug("launch", **RUN, stop_on_entry=False)
    assert (ended["status"], ended["exit_code"]) == ("exited", 0)
    for amount in (10, 20, 30, 40, 50):  # between what the program writes, not always in its order
        assert f"amount is {amount}" in ended["output"]
    assert "threads" not in ended


@pytest.mark.requirement("debugger.tool.inspection")
async def test_stack_threads_and_scopes(desk: DebugDesk) -> None:
    await at(desk, PRICE)
    stack = await desk.debug("stack_trace", thread_id=1, levels=2)
    call = line(desk, LOOP) - 1
    assert stack["frames"] == [
        {"id": 0, "name": "price_of", "path": "./orders.py", "line": line(desk, PRICE), "column": 0},
        {"id": 1, "name": "main", "path": "./orders.py", "line": call, "column": 0},
    ]
    assert stack["total_frames"] > 2 and stack["truncated"] is True
    rest = await desk.debug("stack_trace", start=2)
    assert (rest["frames"][0]["id"], rest["frames"][0]["name"]) == (2, "<module>")
    assert rest["frames"][-1]["outside_project"] is True  # debugpy runs the script by runpy
    assert await desk.debug("threads") == {
        "threads": [
            {
                "id": 1,
                "name": "MainThread",
                "function": "price_of",
                "path": "./orders.py",
                "line": line(desk, PRICE),
            }
        ],
        "total": 1,
        "thread_id": 1,
    }
    scopes = (await desk.debug("scopes", frame_id=1))["scopes"]
    assert [(one["name"], one["scope"]) for one in scopes] == [("Locals", "local"), ("Globals", "global")]
    refused = await desk.refused("variables", frame_id=99)
    assert refused.code == "invalid_params" and "frame_id" in refused.detail["fields"]


@pytest.mark.requirement("debugger.tool.listing", "debugger.tool.custom")
async def test_modules_and_a_custom_request(desk: DebugDesk) -> None:
    await at(desk, PRICE)
    found = await desk.debug("modules", module_count=1)
    assert found["modules"] == [{"id": "0", "name": "__main__", "path": "./orders.py"}]
    assert found["total"] > 1 and found["truncated"] is True
    further = await desk.debug("modules", start_module=1, module_count=1)
    assert further["modules"][0]["id"] == "1"
    told = await desk.debug("custom_request", command="debugpySystemInfo", arguments={})
    assert told["response"]["python"]["implementation"]["name"] == "cpython"
    for command in ("source", "loadedSources", "terminateThreads", "no-such"):
        refused = await desk.answer("custom_request", command=command)
        assert refused.code in {"action_not_supported", "debug_request_failed"}, command
    assert (await desk.refused("custom_request", command="continue")).code == "invalid_params"
    assert (await desk.debug("threads"))["total"] == 1


@pytest.mark.requirement("debugger.capabilities.gate")
@pytest.mark.parametrize(
    ("call", "capability"),
    [
        ({"action": "loaded_sources"}, "supportsLoadedSourcesRequest"),
        ({"action": "read_memory", "memory_reference": "0x10", "count": 8}, "supportsReadMemoryRequest"),
        (
            {"action": "write_memory", "memory_reference": "0x10", "data": "AAAA"},
            "supportsWriteMemoryRequest",
        ),
        (
            {"action": "disassemble", "memory_reference": "0x10", "instruction_count": 1},
            "supportsDisassembleRequest",
        ),
        ({"action": "data_breakpoint_info", "name": "amount"}, "supportsDataBreakpoints"),
        ({"action": "set_data_breakpoint", "data_id": "amount"}, "supportsDataBreakpoints"),
        (
            {"action": "set_instruction_breakpoint", "instruction_reference": "0x10"},
            "supportsInstructionBreakpoints",
        ),
    ],
    ids=lambda one: one.get("action") if isinstance(one, dict) else "",
)
async def test_what_the_adapter_cannot_do_is_not_sent(desk: DebugDesk, call: dict, capability: str) -> None:
    await at(desk, PRICE)
    refused = await desk.call("debug", call)
    assert refused.code == "action_not_supported", refused
    assert "debugpy" in refused.error_text and capability in refused.error_text
    assert refused.detail["capability"] == capability
    assert await desk.value("amount") == "10"


@pytest.mark.requirement("debugger.stop.timeout", "debugger.state.actions")
async def test_a_program_that_does_not_stop_in_time_goes_on(desk: DebugDesk) -> None:
    await desk.debug("launch", **{**RUN, "script": "never_stops.py"})
    running = await desk.debug("continue", timeout=2_000)
    assert (running["status"], running["timed_out"]) == ("running", True)
    assert "pause" in running["note"]
    refused = await desk.refused("continue")
    assert refused.code == "not_stopped" and refused.detail["state"] == "running"
    for action in ("variables", "stack_trace", "scopes"):
        assert (await desk.refused(action)).code == "not_stopped"
    stopped = await desk.debug("pause")
    assert (stopped["status"], stopped["stopped_reason"]) == ("stopped", "pause")
    assert stopped["location"]["path"] == "./never_stops.py"
    assert int(await desk.value("rounds")) > 0
    assert (await desk.refused("pause")).code == "not_running"
    await desk.debug("set_breakpoint", path="never_stops.py", line=line(desk, LOOP, "never_stops.py"))
    assert (await desk.debug("continue"))["stopped_reason"] == "breakpoint"


@pytest.mark.requirement("debugger.stop.timeout")
async def test_a_stop_that_comes_after_the_wait_is_seen_by_looking(desk: DebugDesk) -> None:
    waits = "import os, time\nwhile not os.path.exists('go'):\n    time.sleep(0.01)\n"
    desk.put("slow.py", f"{waits}x = 1\nprint(x)\n")
    await desk.debug("set_breakpoint", path="slow.py", line=5)
    running = await desk.debug("launch", runtime="python", script="slow.py", stop_on_entry=False, timeout=100)
    assert running["timed_out"] is True
    desk.put("go", "")
    async with asyncio.timeout(60):
        while (found := await desk.answer("variables")).code == "not_stopped":  # noqa: ASYNC110  (it is asked)
            await asyncio.sleep(0.05)
    assert {one["name"]: one["value"] for one in found.data["variables"]}["x"] == "1"
    assert (await desk.debug("stack_trace"))["frames"][0]["line"] == 5
    assert (await desk.debug("continue"))["status"] == "exited"


@pytest.mark.requirement("debugger.failure.exit")
async def test_debugged_process_exits_unexpectedly(desk: DebugDesk) -> None:
    """Debugged process exits unexpectedly: the session moves to exited, and the next step or continue
    says `exited`."""
    await at(desk, PRICE)
    await desk.answer("evaluate", expression="__import__('os')._exit(9)", context="repl")
    for action in ("step_over", "continue"):
        told = await desk.debug(action)
        assert (told["status"], told.get("exit_code")) == ("exited", 9)
    refused = await desk.refused("variables")
    assert refused.code == "not_stopped" and "launch" in refused.error_text
    assert (await desk.debug("launch", **RUN))["stopped_reason"] == "entry"


@pytest.mark.requirement("debugger.failure.crash")
async def test_debug_adapter_crashes(desk: DebugDesk) -> None:
    """Debug adapter crashes: the session is marked ended, the agent sees `dap_session_ended`, and must
    launch again."""
    await at(desk, PRICE)
    debuggee = int(await desk.value("__import__('os').getpid()"))
    adapter = _parent(_parent(debuggee))
    os.kill(adapter, signal.SIGKILL)
    await gone(adapter)
    async with asyncio.timeout(60):
        while (refused := await desk.refused("stack_trace")).code != "dap_session_ended":
            pass
    assert "launch" in refused.error_text
    await gone(debuggee)
    assert (await desk.debug("launch", **RUN))["stopped_reason"] == "entry"
    assert [one["reason"] for one in desk.events("session_ended")] == ["crash"]


@pytest.mark.requirement("debugger.session.one")
async def test_each_agent_has_one_session_of_its_own(desk: DebugDesk) -> None:
    first = await at(desk, PRICE)
    assert first["status"] == "stopped"
    refused = await desk.refused("launch", **RUN)
    assert refused.code == "dap_session_active" and "disconnect" in refused.error_text
    assert str(desk.root) not in refused.error_text and "orders.py" in refused.error_text
    other = desk.of_agent("primary.subagents.worker")
    assert (await other.refused("threads")).code == "dap_session_ended"
    assert (await other.debug("list_breakpoints"))["breakpoints"] == []
    assert (await other.debug("launch", **RUN))["stopped_reason"] == "entry"
    assert await desk.value("amount") == "10"
    await desk.debug("disconnect")
    assert (await other.debug("threads"))["total"] == 1


@pytest.mark.requirement("debugger.breakpoints.restart")
async def test_breakpoints_survive_the_restart_of_the_program(desk: DebugDesk) -> None:
    await at(desk, PRICE)
    await desk.debug("disconnect")
    kept = (await desk.debug("list_breakpoints"))["breakpoints"]
    assert [(one["id"], one["verified"]) for one in kept] == [(1, False)]
    again = await desk.debug("launch", **RUN, stop_on_entry=False)
    assert (again["breakpoint_id"], again["location"]["line"]) == (1, line(desk, PRICE))


@pytest.mark.requirement("debugger.audit.events")
async def test_sessions_and_hits_are_in_the_audit_trail(desk: DebugDesk) -> None:
    begun = await desk.debug("launch", **RUN)
    session = begun["debug_session_id"]
    await desk.debug("set_breakpoint", path="orders.py", line=line(desk, PRICE))
    await desk.debug("continue")
    await desk.debug("disconnect")
    (started,), (hit,), (ended,) = map(desk.events, ("session_started", "breakpoint_hit", "session_ended"))
    assert started["debug_session_id"] == hit["debug_session_id"] == ended["debug_session_id"] == session
    assert (started["runtime"], started["caller"]) == ("python", "primary")
    assert started["script"].endswith("orders.py")
    assert (hit["breakpoint_id"], hit["line"]) == (1, line(desk, PRICE))
    assert hit["path"].endswith("orders.py") and ended["reason"] == "disconnect"


@pytest.mark.requirement("debugger.failure.launch", "debugger.tool.errors")
async def test_what_cannot_be_launched_is_reported_with_what_to_do(desk: DebugDesk) -> None:
    missing = await desk.refused("launch", runtime="python", script="missing.py")
    assert missing.code == "file_not_found"
    unknown = await desk.refused("launch", runtime="cobol", script="orders.py")
    assert unknown.code == "runtime_not_supported" and "python" in unknown.detail["runtimes"]
    away = await desk.refused("launch", runtime="python", script="../orders.py")
    assert away.code == "invalid_path"
    folder = await desk.refused("launch", **RUN, cwd="orders.py")
    assert folder.code == "invalid_params" and "cwd" in folder.detail["fields"]
    assert (await desk.refused("attach", runtime="python", port=1)).code == "debug_launch_failed"
    assert (await desk.refused("continue")).code == "dap_session_ended"


@pytest.mark.requirement("debugger.tool.launch")
async def test_arguments_folder_and_variables_reach_the_program(desk: DebugDesk) -> None:
    (desk.root / "sub").mkdir()
    desk.put("tell.py", "import os, sys\nprint(sys.argv[1:], os.environ['GREETING'], os.getcwd())\n")
    told = await desk.debug(
        "launch",
        runtime="python",
        script="tell.py",
        args=["--port", "3000", "a b"],
        env={"GREETING": "good day"},
        cwd="sub",
        stop_on_entry=False,
    )
    assert told["output"] == f"['--port', '3000', 'a b'] good day {desk.root / 'sub'}\n"


@pytest.mark.requirement("debugger.tool.each")
async def test_each_action_can_be_left_out_and_ruled_by_itself(desk: DebugDesk) -> None:
    allowed = {"debug", "debug.launch", "debug.disconnect"}
    denied = await desk.call("debug", {"action": "evaluate", "expression": "1"}, allowed=allowed)
    assert denied.code == "tool_not_found"
    ruled = desk.ruled(
        PermissionRule("debug.launch", "python *", "allow", "project"),
        PermissionRule("debug.launch", "*", "deny", "project"),
    )
    assert (await ruled.call("debug", {"action": "launch", **RUN})).type == "output"
    await desk.debug("disconnect")
    other = await ruled.call("debug", {"action": "launch", "runtime": "ruby", "script": "orders.py"})
    assert other.code == "permission_denied"
    steered = await ruled.call("debug", {"action": "launch", **RUN, "env": {"LD_PRELOAD": "./a.so"}})
    assert steered.code == "permission_denied"
    ruled = desk.ruled(PermissionRule("exec", "*", "deny", "project"))
    assert (await ruled.call("debug", {"action": "launch", **RUN})).code == "permission_denied"
    hidden = desk.ruled(PermissionRule("fs.read", "orders.py", "deny", "project"))
    on_a_line = {"action": "set_breakpoint", "path": "orders.py", "line": 1}
    assert (await hidden.call("debug", on_a_line)).code == "permission_denied"
    assert (await hidden.call("debug", {"action": "launch", **RUN})).code == "permission_denied"


@pytest.mark.requirement("debugger.tool.errors")
async def test_limits_of_the_bridge_reach_the_caller(tmp_path: Path) -> None:
    limits = DebugLimits(breakpoints=1)
    async with debug_desk(tmp_path, copy_of("python", tmp_path), limits=limits) as desk:
        await desk.debug("set_breakpoint", path="orders.py", line=1)
        assert (await desk.refused("set_breakpoint", path="orders.py", line=2)).code == "too_many_breakpoints"
