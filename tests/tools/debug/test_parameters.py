"""The parameters of `debug`: those of the reference, what each action needs, what a call touches."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from app.errors import ToolError
from app.tools.contract.schema import parameters_schema
from app.tools.debug.effects import effects_of
from app.tools.debug.parameters import ACTIONS, LOOKS, DebugParams, check
from tests.tools.conftest import Desk

REFERENCE = {
    "action": "string", "runtime": "string", "script": "string", "args": "array", "env": "object",
    "stop_on_entry": "boolean", "cwd": "string", "port": "integer", "host": "string", "path": "string",
    "line": "integer", "condition": "string", "hit_count": "integer", "log_message": "string",
    "thread_id": "integer", "levels": "integer", "frame_id": "integer", "scope": "string",
    "filter": "string", "expand": "string", "expression": "string", "context": "string",
    "function": "string", "name": "string", "memory_reference": "string",
    "instruction_reference": "string", "instruction_count": "integer", "instruction_offset": "integer",
    "count": "integer", "data": "string", "data_id": "string", "access_type": "string",
    "offset": "integer", "resolve_symbols": "boolean", "allow_partial": "boolean",
    "start_module": "integer", "module_count": "integer", "command": "string", "arguments": "object",
    "terminate_debuggee": "boolean",
}  # fmt: skip
"""Every parameter of the reference, with its type in JSON."""
BEYOND = {
    "pid": "integer", "depth": "integer", "start": "integer", "limit": "integer", "timeout": "integer",
    "input": "string", "value": "string", "exceptions": "string", "exception_types": "array",
    "test": "string", "runner": "string", "show": "array", "at": "array", "max_hits": "integer",
}  # fmt: skip
ALL_ACTIONS = [
    *(
        "launch",
        "attach",
        "why",
        "trace",
        "run_to",
        "hang",
        "set_breakpoint",
        "remove_breakpoint",
        "list_breakpoints",
    ),
    *("set_instruction_breakpoint", "remove_instruction_breakpoint", "data_breakpoint_info"),
    *(
        "set_data_breakpoint",
        "remove_data_breakpoint",
        "set_exceptions",
        "step_into",
        "step_over",
        "step_out",
        "continue",
    ),
    *("pause", "stack_trace", "threads", "scopes", "variables", "set_variable", "evaluate", "disassemble"),
    *("read_memory", "write_memory", "modules", "loaded_sources", "custom_request", "disconnect"),
]
RUN = {"runtime": "python", "script": "a.py"}
NEEDED: dict[str, dict[str, Any]] = {
    "launch": {"runtime": "python", "script": "a.py"},
    "attach": {"runtime": "python", "port": 5678},
    "why": {"runtime": "python", "script": "a.py"},
    "trace": {**RUN, "at": [{"path": "a.py", "line": 1, "expressions": ["x"]}]},
    "run_to": {"path": "a.py", "line": 3},
    "set_breakpoint": {"path": "a.py", "line": 3},
    "remove_breakpoint": {"path": "a.py", "line": 3},
    "set_instruction_breakpoint": {"instruction_reference": "0x10"},
    "remove_instruction_breakpoint": {"instruction_reference": "0x10"},
    "data_breakpoint_info": {"name": "total"},
    "set_data_breakpoint": {"data_id": "total"},
    "remove_data_breakpoint": {"data_id": "total"},
    "set_exceptions": {"exceptions": "raised"},
    "set_variable": {"name": "total", "value": "1"},
    "evaluate": {"expression": "1"},
    "disassemble": {"instruction_count": 5},
    "read_memory": {"memory_reference": "0x10", "count": 16},
    "write_memory": {"memory_reference": "0x10", "data": "AAAA"},
    "custom_request": {"command": "x"},
}


def params(**given: Any) -> DebugParams:
    return DebugParams.model_validate(given)


def complaint(**given: Any) -> ToolError:
    with pytest.raises(ToolError) as refused:
        check(params(**given))
    assert refused.value.code == "invalid_params"
    return refused.value


@pytest.mark.requirement("debugger.tool.actions")
def test_the_parameters_are_those_of_the_reference_and_a_few_more() -> None:
    schema = parameters_schema(DebugParams)
    types = {name: field["type"] for name, field in schema["properties"].items()}
    assert types == {**REFERENCE, **BEYOND}
    assert schema["required"] == ["action"] and schema["additionalProperties"] is False
    fields = schema["properties"]
    assert fields["action"]["enum"] == list(ACTIONS) == ALL_ACTIONS
    assert fields["args"]["items"]["type"] == "string"
    assert {"local", "closure", "global"} <= set(fields["scope"]["enum"])
    assert fields["context"] == {**fields["context"], "enum": ["watch", "repl"], "default": "watch"}
    assert fields["access_type"]["enum"] == ["read", "write", "readWrite"]
    for name in ("line", "hit_count", "levels"):
        assert fields[name]["minimum"] == 1, name
    defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
    assert defaults["stop_on_entry"] is True and defaults["host"] == "localhost"
    assert (defaults["levels"], defaults["frame_id"]) == (20, 0) and "cwd" not in defaults


@pytest.mark.requirement("debugger.tool.actions")
@pytest.mark.parametrize("action", ALL_ACTIONS)
def test_each_action_says_what_it_lacks(action: str) -> None:
    needed = NEEDED.get(action, {})
    check(params(action=action, **needed))
    for name in needed:
        fields = complaint(action=action, **{**needed, name: None}).detail["fields"]
        assert list(fields) == [name] and action in fields[name]
        if isinstance(needed[name], str) and name != "exceptions":
            assert list(complaint(action=action, **{**needed, name: ""}).detail["fields"]) == [name]


@pytest.mark.requirement("debugger.tool.actions")
@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"action": "set_breakpoint", "function": "main", "path": "a.py", "line": 1}, "function"),
        ({"action": "set_breakpoint", "function": "main", "log_message": "x"}, "log_message"),
        ({"action": "attach", "runtime": "python", "port": 1, "pid": 2}, "pid"),
        ({"action": "attach", "runtime": "python", "port": 65_536}, "port"),
        ({"action": "attach", "runtime": "python", "port": 1, "host": " "}, "host"),
        ({"action": "read_memory", "memory_reference": "0x1", "count": 65_537}, "count"),
        ({"action": "disassemble", "instruction_count": 1_001}, "instruction_count"),
        ({"action": "variables", "depth": 6}, "depth"),
        ({"action": "variables", "limit": 1_001}, "limit"),
        ({"action": "launch", "runtime": "python", "script": "a.py", "cwd": ""}, "cwd"),
        ({"action": "launch", "runtime": "python", "script": "a.py", "exception_types": ["A"]}, "exceptions"),
    ],
)
def test_parameters_that_contradict_or_exceed_are_refused(given: dict[str, Any], field: str) -> None:
    assert list(complaint(**given).detail["fields"]) == [field]


@pytest.mark.requirement("debugger.tool.actions")
@pytest.mark.parametrize(
    "given",
    [
        {"action": "restart"},
        {"action": "set_breakpoint", "path": "a.py", "line": 0},
        {"action": "set_breakpoint", "path": "a.py", "line": 1, "hit_count": 0},
        {"action": "stack_trace", "levels": 0},
        {"action": "variables", "frame_id": -1},
        {"action": "launch", "runtime": "python", "script": "a\0.py"},
        {"action": "launch", "runtime": "python", "script": "a.py", "args": "x"},
        {"action": "launch", "runtime": "python", "script": "a.py", "args": ["x"] * 257},
        {"action": "launch", "runtime": "python", "script": "a.py", "env": {"A=B": "x"}},
        {"action": "launch", "runtime": "python", "script": "a.py", "env": {"": "x"}},
        {"action": "launch", "runtime": "python", "script": "a.py", "env": {"A": "\0"}},
        {"action": "launch", "runtime": "python", "script": "a.py", "env": {"A": "\ud800"}},
        {"action": "launch", "runtime": "python", "script": "a.py", "env": {"A\ud800": "x"}},
        {"action": "evaluate", "expression": "x" * 20_001},
        {"action": "evaluate", "expression": "x", "context": "hover"},
        {"action": "threads", "unknown": 1},
        {"action": "set_exceptions", "exceptions": "all"},
    ],
)
def test_values_out_of_bounds_are_no_parameters(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        params(**given)


@pytest.mark.requirement("debugger.tool.actions")
@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ({"action": "launch"}, 60.0),
        ({"action": "attach"}, 60.0),
        ({"action": "continue"}, 30.0),
        ({"action": "why"}, 120.0),
        ({"action": "continue", "timeout": 2_500}, 2.5),
        ({"action": "continue", "timeout": 1}, 0.1),
        ({"action": "continue", "timeout": -5}, 0.1),
        ({"action": "continue", "timeout": 10**12}, 600.0),
    ],
)
def test_the_time_to_wait_is_bounded(given: dict[str, Any], seconds: float) -> None:
    assert params(**given).seconds == seconds


@pytest.mark.requirement("debugger.tool.actions")
@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"runtime": "python", "script": "src/a.py", "args": ["--x", "a b"]}, "python src/a.py --x 'a b'"),
        ({"runtime": "c", "script": "crash"}, "./crash"),
        ({"runtime": "rust", "script": "target/debug/a", "args": ["$HOME"]}, "target/debug/a '$HOME'"),
        ({"runtime": "node", "script": "a;b.js"}, "node 'a;b.js'"),
        ({"runtime": "python; rm -rf /", "script": "a.py"}, "'python; rm -rf /' a.py"),
    ],
)
def test_a_launch_is_judged_like_a_command_line(given: dict[str, Any], command: str) -> None:
    effects = effects_of(params(action="launch", cwd="sub", env={"A": "b"}, **given))
    assert effects.commands == (command,) and effects.directory == "sub"
    assert effects.reads == (given["script"], "sub") and effects.writes == ()
    assert effects.environment == (("A", "b"),) and effects.exclusive


@pytest.mark.requirement("debugger.tool.actions")
def test_what_a_call_touches() -> None:
    attach = effects_of(params(action="attach", runtime="python", port=5678, host="debug.example.org"))
    assert attach.hosts == ("debug.example.org:5678",) and attach.exclusive
    on_a_line = effects_of(params(action="set_breakpoint", path="a.py", line=1))
    assert on_a_line.reads == ("a.py",) and on_a_line.exclusive
    for action in ACTIONS:
        given = NEEDED.get(action, {})
        assert effects_of(params(action=action, **given)).exclusive is (action not in LOOKS), action


@pytest.mark.requirement("debugger.tool.actions")
async def test_without_debuggers_every_action_says_so(desk: Desk) -> None:
    desk.put("a.py", "x = 1\n")
    for action in ACTIONS:
        refused = await desk.call("debug", {"action": action, **NEEDED.get(action, {})})
        assert refused.code == "debug_unavailable", action
