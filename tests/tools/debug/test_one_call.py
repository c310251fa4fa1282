"""why, trace, run_to and the watch list: one call where several were needed."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.errors import ToolError
from app.tools.contract.rules import PermissionRule
from app.tools.debug.effects import effects_of
from app.tools.debug.parameters import DebugParams
from app.tools.debug.program_command import ProgramCommand, read_command
from tests.driver.debug_adapters import FIXTURES, adapter_path, built, copy_of
from tests.driver.debug_desk import DebugDesk, debug_desk

SIX = "assert 6 == 3\n +  where 6 = price(2)"
WHY = {
    "pytest": ("debugpy", {"test": "checks/shop_checks.py::test_price[2]"}, SIX, "checks/shop_checks.py", 13),
    "unittest": (
        *("debugpy", {"test": "checks.unit_checks.Case.test_price"}),
        *("6 != 3", "checks/unit_checks.py", 7),
    ),
    "node": (
        *("js-debug", {"test": "shop.test.js::price is right"}),
        *("Expected values to be strictly equal:\n\n6 !== 3\n", "shop.test.js", 11),
    ),
    "go": ("delve", {"test": "gopkg/shop_test.go::TestPrice"}, "got 6, want 3", "gopkg/shop_test.go", 8),
    "cargo": (
        *("lldb-dap", {"test": "crate/src/lib.rs::tests::is_right"}),
        *("assertion `left == right` failed: wrong price\n  left: 6\n right: 3", "crate/src/lib.rs", 13),
    ),
    "python": ("debugpy", {"command": "python boom.py"}, "too dear: 6", "boom.py", 11),
    "cpp": ("lldb-dap", {"command": "./boom"}, "too dear: 6", "boom.cpp", 6),
}
LOOP = "total = 0\nfor i in range(100):\n    total += i\n    name = 'n' + str(i // 50)\nprint(total)\n"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    root = copy_of("tested", tmp_path)
    for name in ("boom.py", "boom.cpp"):
        shutil.copy(FIXTURES / "failing" / name, root)
    (root / "loop.py").write_text(LOOP)
    async with debug_desk(tmp_path, root) as opened:
        yield opened


@pytest.mark.requirement("debugger.why")
@pytest.mark.parametrize(("adapter", "call", "message", "path", "line"), WHY.values(), ids=WHY)
async def test_why_answers_with_what_fails_it(
    desk: DebugDesk, adapter: str, call: dict[str, Any], message: str, path: str, line: int
) -> None:
    adapter_path(adapter)
    if call.get("command") == "./boom":
        built(desk.root / "boom.cpp")
    found = await desk.debug("why", **call, timeout=300_000)
    assert found["outcome"] == "failed", found
    assert found["exception"]["message"].strip() == message.strip()
    frame = found["project_frames"][0]
    assert (frame["path"], frame["line"]) == (f"./{path}", line) and frame["source"] and "locals" in frame
    assert found["output"] and len(orjson.dumps(found)) <= 4_000
    assert (await desk.refused("threads")).code == "dap_session_ended"
    assert desk.debuggers.active == 0


@pytest.mark.requirement("debugger.why")
async def test_why_leaves_the_agents_own_session_alone(desk: DebugDesk) -> None:
    await desk.debug("set_breakpoint", path="boom.py", line=9)
    await desk.debug("set_breakpoint", path="checks/shop_checks.py", line=5)
    await desk.debug("launch", runtime="python", script="boom.py", stop_on_entry=False)
    passed = await desk.debug("why", test="checks/shop_checks.py::test_price[1]")
    assert passed["outcome"] == "passed" and passed["exit_code"] == 0 and "exception" not in passed
    assert await desk.local("order") == "{'count': 1}"
    assert len((await desk.debug("list_breakpoints"))["breakpoints"]) == 2
    assert (await desk.debug("continue"))["status"] == "stopped"


@pytest.mark.requirement("debugger.why")
async def test_why_is_ended_in_time_and_its_answer_is_short(desk: DebugDesk) -> None:
    desk.put("endless.py", "import time\nwhile True:\n    time.sleep(0.01)\n")
    late = await desk.debug("why", command="python endless.py", timeout=4_000)
    assert late["outcome"] == "timed_out"
    desk.put(
        "long.py",
        "def deep(n, text):\n    big = [text] * 50\n    return deep(n - 1, text) if n else 1 // n\n\n\n"
        "print('x' * 50_000)\ndeep(8, 'y' * 5_000)\n",
    )
    found = await desk.debug("why", command="python long.py")
    assert found["exception"]["type"] == "ZeroDivisionError"
    assert len(orjson.dumps(found)) <= 4_000 and found["project_frames"][0]["line"] == 3
    assert desk.debuggers.active == 0


@pytest.mark.requirement("debugger.why")
async def test_a_cancelled_why_leaves_nothing(desk: DebugDesk) -> None:
    desk.put("endless.py", "import time\nwhile True:\n    time.sleep(0.01)\n")
    task = asyncio.create_task(desk.answer("why", command="python endless.py"))
    async with asyncio.timeout(60):
        while desk.events("session_started") == []:  # noqa: ASYNC110  (it is seen in what is recorded)
            await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert desk.debuggers.active == 0


@pytest.mark.needs("cages")
@pytest.mark.requirement("debugger.why", "debugger.trace", "debugger.run_to")
async def test_a_caged_agent_has_them_too(desk: DebugDesk) -> None:
    caged = desk.caged(("rw", "."), capabilities=["exec"])
    found = await caged.debug("why", test="checks/unit_checks.py::Case::test_price", runner="unittest")
    assert found["exception"]["message"] == "6 != 3"
    at = [{"path": "loop.py", "line": 3, "expressions": ["i"]}]
    assert (await caged.debug("trace", command="python loop.py", at=at, max_hits=5))["hits"] == 5
    stop = await caged.debug("run_to", command="python loop.py", path="loop.py", line=5, show=["total"])
    assert stop["shown"] == [{"expression": "total", "value": "4950"}]
    only = desk.caged(("ro", "checks"), capabilities=["exec"])
    assert (await only.refused("why", command="python boom.py")).code == "capability_denied"
    assert (await only.refused("why", command="./boom", cwd="checks")).code in {
        "capability_denied", "dap_requires_relaxed_seccomp",
    }  # fmt: skip


@pytest.mark.requirement("debugger.trace")
async def test_trace_shows_what_changes_and_figures_over_many_hits(desk: DebugDesk) -> None:
    at = [
        {"path": "loop.py", "line": 4, "expressions": ["total", "name"], "condition": "i % 10 == 0"},
        {"path": "loop.py", "line": 5, "expressions": ["total", "1 +", "(total := 1)"]},
    ]
    found = await desk.debug("trace", command="python loop.py", at=at)
    assert (found["outcome"], found["exit_code"], found["hits"]) == ("exited", 0, 11)
    first, second = found["trace"]
    assert (first["path"], first["line"], first["hits"]) == ("./loop.py", 4, 10)
    assert first["rows"][0]["values"]["total"] == "0" and "name" in first["rows"][0]["values"]
    assert first["rows"][2] == {"hit": 3, "values": {"total": "210"}}  # the name has not changed
    [row] = second["rows"]
    assert row["values"]["total"] == "4950" and row["values"]["1 +"].startswith("<")
    assert "side" in row["values"]["(total := 1)"] or "looks" in row["values"]["(total := 1)"]
    many = [{"path": "loop.py", "line": 3, "expressions": ["i", "str(i) * 9"]}]
    found = await desk.debug("trace", command="python loop.py", at=many, max_hits=80)
    assert (found["outcome"], found["hits"]) == ("max_hits", 80)
    assert len(orjson.dumps(found)) <= 2_000
    [line] = found["trace"]
    column = line["columns"][0]
    assert (column["first"], column["last"], column["count"]) == ("0", "79", 80)
    assert (column["min"], column["max"], column["distinct"]) == (0, 79, 80)
    assert line["rows_left_out"] > 0 and desk.debuggers.active == 0


@pytest.mark.requirement("debugger.trace")
async def test_points_in_one_line_are_one_with_all_their_expressions(desk: DebugDesk) -> None:
    at = [
        {"path": "loop.py", "line": 3, "expressions": ["i", "i"], "condition": "i > 97"},
        {"path": "./loop.py", "line": 3, "expressions": ["total", "i"], "condition": "i > 97"},
        {"path": "loop.py", "line": 5, "expressions": ["total"]},
    ]
    found = await desk.debug("trace", command="python loop.py", at=at)
    assert (found["outcome"], found["hits"]) == ("exited", 3)
    first, second = found["trace"]
    assert (first["line"], first["hits"], second["line"], second["hits"]) == (3, 2, 5, 1)
    assert [one["values"] for one in first["rows"]] == [
        {"i": "98", "total": "4753"},
        {"i": "99", "total": "4851"},
    ]
    at[1]["condition"] = "i > 98"
    refused = await desk.refused("trace", command="python loop.py", at=at)
    assert desk.debuggers._breakpoints == {}, "what a refused call has set is gone"
    assert refused.code == "invalid_params" and "two conditions for line 3 of ./loop.py" in refused.error_text
    assert desk.debuggers.active == 0


@pytest.mark.requirement("debugger.trace")
@pytest.mark.parametrize(
    ("adapter", "call", "path", "line", "expression", "value"),
    [
        ("js-debug", {"test": "shop.test.js::price is right"}, "shop.test.js", 6, "total", "6"),
        ("delve", {"test": "gopkg/shop_test.go::TestPrice"}, "gopkg/shop.go", 5, "total", "6"),
        ("lldb-dap", {"test": "crate/src/lib.rs::tests::is_right"}, "crate/src/lib.rs", 13, "total", "6"),
        ("lldb-dap", {"command": "./boom"}, "boom.cpp", 7, "total", "3"),
    ],
)
async def test_trace_in_other_languages(
    desk: DebugDesk, adapter: str, call: dict[str, Any], path: str, line: int, expression: str, value: str
) -> None:
    adapter_path(adapter)
    if call.get("command") == "./boom":
        built(desk.root / "boom.cpp")
    at = [{"path": path, "line": line, "expressions": [expression]}]
    found = await desk.debug("trace", **call, at=at, timeout=300_000)
    assert found["trace"][0]["rows"][0]["values"] == {expression: value}, found


@pytest.mark.requirement("debugger.run_to", "debugger.show")
async def test_run_to_stops_at_a_line_and_leaves_no_breakpoint(desk: DebugDesk) -> None:
    there = {"path": "loop.py", "line": 4, "condition": "i == 7"}
    stop = await desk.debug("run_to", command="python loop.py", **there, show=["total * 2", "i ="])
    assert (stop["status"], stop["stopped_reason"], stop["location"]["line"]) == ("stopped", "run_to", 4)
    assert {"total": "28", "i": "7"}.items() <= {one["name"]: one["value"] for one in stop["locals"]}.items()
    assert stop["shown"][0] == {"expression": "total * 2", "value": "56"} and "error" in stop["shown"][1]
    assert (await desk.debug("list_breakpoints"))["breakpoints"] == []
    assert (await desk.debug("step_over"))["shown"][0]["value"] == "56"
    on = await desk.debug("run_to", path="loop.py", line=5)
    assert on["shown"][0]["value"] == "9900"
    assert "shown" not in await desk.debug("continue", show=[])
    await desk.debug("set_breakpoint", path="loop.py", line=5)
    kept = await desk.debug("run_to", runtime="python", script="loop.py", path="loop.py", line=5)
    [own] = (await desk.debug("list_breakpoints"))["breakpoints"]
    assert kept["breakpoint_id"] == own["id"] and kept["stopped_reason"] == "breakpoint"
    await desk.debug("disconnect")
    assert (await desk.refused("run_to", path="loop.py", line=5)).code == "dap_session_ended"


@pytest.mark.requirement("debugger.tests.rules")
@pytest.mark.parametrize("action", ["why", "trace", "run_to"])
async def test_what_starts_a_program_is_judged_as_launch(desk: DebugDesk, action: str) -> None:
    more: dict[str, Any] = {"path": "loop.py", "line": 3}
    if action == "trace":
        more = {"at": [{**more, "expressions": ["i"]}]}
    call = {"action": action, "command": "python loop.py --x", **more}
    call = {name: value for name, value in call.items() if action != "why" or name not in more}
    effects = effects_of(DebugParams.model_validate(call))
    assert effects.commands == ("python loop.py --x",) and "loop.py" in effects.reads
    for rule in (
        PermissionRule(f"debug.{action}", "*", "deny", "project"),
        PermissionRule("debug.launch", "*", "deny", "project"),
        PermissionRule("shell.bash", "python *", "deny", "project"),
        PermissionRule("fs.read", "loop.py", "deny", "project"),
    ):
        assert (await desk.ruled(rule).call("debug", call)).code == "permission_denied", rule
    denied = await desk.call("debug", call, allowed={"debug", f"debug.{action}"})
    assert denied.code == "tool_not_found" and "debug.launch" in denied.error_text


def test_commands_are_taken_apart() -> None:
    assert read_command("python3.11 -X dev app.py --port 1", None) == ProgramCommand(
        "python", "app.py", ("--port", "1"), options=("-X", "dev")
    )
    assert read_command("pytest -k x", None) == ProgramCommand("python", None, ("-k", "x"), module="pytest")
    assert read_command("python -m app.cli 'a b'", None) == ProgramCommand(
        "python", None, ("a b",), "app.cli"
    )
    assert read_command("go run ./cmd x", None) == ProgramCommand("go", "./cmd", ("x",))
    assert read_command("./a.out", "rust").runtime == "rust"
    for text in ("", "npm test", "python", "python 'x", "python -c 1; ls"):
        with pytest.raises(ToolError):
            read_command(text, None)
