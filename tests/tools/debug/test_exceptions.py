"""Stops at exceptions: which ones, and what each of them answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.bridges.dap.manager import Declared
from app.tools.debug.cpp_throw import demangled
from tests.driver.debug_adapters import adapter_path, built, copy_of
from tests.driver.debug_desk import DebugDesk, debug_desk

DEAR = "too dear: 6"
JSON_PYTHON = "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
RANGE_GO = "runtime error: index out of range [2] with length 2"
RANGE_RUST = "index out of bounds: the len is 2 but the index is 2"
QUIET = {"stop_on_entry": False}

CASES = [
    ("debugpy", "python", "boom.py", "uncaught", [("Refused", DEAR, 11, {"total": "6"})]),
    (
        *("debugpy", "python", "boom.py", "raised"),
        [("JSONDecodeError", JSON_PYTHON, 17, {"text": "'{'"}), ("Refused", DEAR, 11, {"total": "6"})],
    ),
    ("js-debug", "node", "boom.js", "uncaught", [("Error", DEAR, 5, {"total": "6"})]),
    ("delve", "go", "go/main.go", "uncaught", [("panic", RANGE_GO, 7, {"count": "2", "name": '"pear"'})]),
    ("lldb-dap", "rust", "boom.rs", "uncaught", [("panic", RANGE_RUST, 3, {"count": "2"})]),
    ("codelldb", "rust", "boom.rs", "uncaught", [("panic", RANGE_RUST, 3, {"count": "2"})]),
    ("lldb-dap", "cpp", "boom.cpp", "uncaught", [("std::runtime_error", DEAR, 6, {"total": "6"})]),
    (
        *("lldb-dap", "cpp", "boom.cpp", "raised"),
        [("std::logic_error", "caught", 12, {}), ("std::runtime_error", DEAR, 6, {"total": "6"})],
    ),
    (
        *("gdb", "cpp", "boom.cpp", "raised"),
        [("std::logic_error", "caught", 12, {}), ("std::runtime_error", DEAR, 6, {"total": "6"})],
    ),
]  # fmt: skip
ARGUMENTS = {"gdb": ("--interpreter=dap", "--nx", "{script}"), "codelldb": ()}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    async with debug_desk(tmp_path, copy_of("failing", tmp_path)) as opened:
        yield opened


@pytest.mark.requirement("debugger.exceptions.answer", "debugger.exceptions.modes")
@pytest.mark.parametrize(
    ("adapter", "runtime", "script", "mode", "expected"),
    CASES,
    ids=[f"{adapter}-{runtime}-{mode}" for adapter, runtime, _, mode, _ in CASES],
)
async def test_a_stop_at_an_exception_has_its_message_and_its_place_in_the_project(
    tmp_path: Path, adapter: str, runtime: str, script: str, mode: str, expected: list[Any]
) -> None:
    program = adapter_path(adapter)
    root = copy_of("failing", tmp_path)
    declared = []
    if adapter in ARGUMENTS:
        declared = [Declared(runtime=runtime, adapter=(str(program), *ARGUMENTS[adapter]))]
    source = f"./{script}"
    if script.endswith((".rs", ".cpp")):
        script = built(root / script).name
    async with debug_desk(tmp_path, root, declared=declared) as desk:
        stop = await desk.debug("launch", runtime=runtime, script=script, exceptions=mode, **QUIET)
        for kind, message, line, local in expected:
            assert stop["stopped_reason"] == "exception", stop
            assert stop["exception"] == {"type": kind, "message": message}
            place = stop["location"]
            assert (place["path"], place["line"]) == (source, line) and place["source_preview"]
            values = {one["name"]: one["value"] for one in stop["locals"]}
            assert local.items() <= values.items()
            frame = place.get("frame_id", 0)
            assert ("raised_in" in stop) is (frame > 0)
            stack = (await desk.debug("stack_trace", start=frame, levels=1))["frames"]
            assert (stack[0]["id"], stack[0]["line"]) == (frame, line)
            stop = await desk.debug("continue")


@pytest.mark.requirement("debugger.exceptions.modes", "debugger.exceptions.kept")
async def test_the_choice_is_an_action_and_kept_for_the_next_launch(desk: DebugDesk) -> None:
    run = {"runtime": "python", "script": "boom.py"}
    assert await desk.debug("set_exceptions", exceptions="none") == {"exceptions": "none"}
    assert (await desk.debug("launch", **run, **QUIET))["exit_code"] == 1
    await desk.debug("launch", **run)
    chosen = await desk.debug("set_exceptions", exceptions="raised", exception_types=["ValueError"])
    assert chosen == {"exceptions": "raised", "exception_types": ["ValueError"]}
    lines = [(await desk.debug("continue"))["location"]["line"] for _ in range(2)]
    assert lines == [17, 11]  # both are derived from ValueError; neither is a stop again further up
    assert (await desk.debug("continue"))["status"] == "exited"
    await desk.debug("set_exceptions", exceptions="raised", exception_types=["Refused"])
    assert (await desk.debug("launch", **run, **QUIET))["location"]["line"] == 11
    await desk.debug("disconnect")
    assert (await desk.debug("launch", **run, **QUIET))["location"]["line"] == 11


@pytest.mark.requirement("debugger.exceptions.kept")
@pytest.mark.parametrize(
    ("adapter", "runtime", "script", "line"),
    [
        ("js-debug", "node", "boom.js", 5),
        ("delve", "go", "go/main.go", 7),
        ("lldb-dap", "cpp", "boom.cpp", 6),
        ("lldb-dap", "rust", "boom.rs", 3),
    ],
    ids=["node", "go", "cpp", "rust"],
)
async def test_the_choice_is_kept_over_restarts(
    desk: DebugDesk, adapter: str, runtime: str, script: str, line: int
) -> None:
    adapter_path(adapter)
    if script.endswith((".rs", ".cpp")):
        script = built(desk.root / script).name
    run = {"runtime": runtime, "script": script, **QUIET}
    await desk.debug("set_exceptions", exceptions="none")
    for _ in range(2):
        assert (await desk.debug("launch", **run)).get("exception") is None
        await desk.debug("disconnect")
    await desk.debug("set_exceptions", exceptions="uncaught")
    for _ in range(2):
        stop = await desk.debug("launch", **run)
        assert (stop["stopped_reason"], stop["location"]["line"]) == ("exception", line)
        await desk.debug("disconnect")


@pytest.mark.requirement("debugger.exceptions.modes")
async def test_user_stops_where_an_exception_leaves_the_code_of_the_project(desk: DebugDesk) -> None:
    desk.put(
        "case.py",
        "import unittest\n\n\nclass Case(unittest.TestCase):\n    def test_it(self):\n"
        "        try:\n            int('x')\n        except ValueError:\n            pass\n"
        "        self.assertEqual(1 + 1, 3)\n\n\nunittest.main()\n",
    )
    stop = await desk.debug("launch", runtime="python", script="case.py", exceptions="user", **QUIET)
    assert (stop["exception"]["type"], stop["location"]["line"]) == ("AssertionError", 10)
    assert stop["exception"]["message"] == "2 != 3"
    assert (await desk.debug("continue"))["status"] == "exited"


@pytest.mark.requirement("debugger.exceptions.modes")
async def test_types_are_distinguished_by_node_and_what_an_adapter_has_not_is_refused(
    desk: DebugDesk,
) -> None:
    adapter_path("js-debug")
    run = {"runtime": "node", "script": "boom.js", **QUIET}
    refused = await desk.refused("launch", **run, exceptions="user")
    assert refused.code == "action_not_supported" and "none, uncaught, raised" in refused.error_text
    stop = await desk.debug("launch", **run, exceptions="raised", exception_types=["Refused"])
    assert (stop["location"]["line"], stop["exception"]["message"]) == (5, DEAR)
    assert (await desk.refused("set_exceptions", exceptions="user")).code == "action_not_supported"
    await desk.debug("disconnect")
    refused = await desk.refused("launch", runtime="bash", script="boom.js", exceptions="uncaught")
    assert refused.code in {"action_not_supported", "debug_adapter_not_found"}
    missing = await desk.refused("launch", **run, exception_types=["Refused"])
    assert list(missing.detail["fields"]) == ["exceptions"]


@pytest.mark.requirement("debugger.exceptions.modes")
async def test_raised_leaves_out_what_a_library_of_node_throws_by_itself(desk: DebugDesk) -> None:
    adapter_path("js-debug")
    library = "function look() {{ try {{ throw new Error('{}') }} catch {{}} }}\n"
    desk.put(
        "node_modules/lib/index.js",
        library.format("its own") + "setImmediate(look);\nexports.look = look;\n",
    )
    desk.put("app.js", library.format("ours") + "require('lib').look();\nsetTimeout(look, 100);\n")
    run = {"runtime": "node", "script": "app.js", "exceptions": "raised", **QUIET}
    called = await desk.debug("launch", **run)
    assert (called["exception"]["message"], called["location"]["line"]) == ("its own", 2)
    own = await desk.debug("continue")
    assert (own["exception"]["message"], own["location"]["line"]) == ("ours", 1)
    assert (await desk.debug("continue"))["status"] == "exited"


@pytest.mark.needs("cages")
@pytest.mark.requirement("debugger.exceptions.answer")
async def test_a_caged_agent_gets_the_exception_too(desk: DebugDesk) -> None:
    caged = desk.caged(("ro", "."), capabilities=["exec"])
    stop = await caged.debug("launch", runtime="python", script="boom.py", exceptions="raised", **QUIET)
    assert stop["exception"] == {"type": "JSONDecodeError", "message": JSON_PYTHON}
    assert (await caged.debug("continue"))["locals"][0]["name"] == "order"


def test_names_of_classes() -> None:
    assert demangled("St11logic_error") == "std::logic_error"
    assert demangled("N3app7RefusedE") == "app::Refused"
    assert demangled("7Refused") == "Refused"
    assert demangled("N3app3BoxIiEE") == "N3app3BoxIiEE"
