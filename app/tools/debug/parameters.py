"""The parameters of `debug`, flat for all actions, and what each action needs of them.

Owns: names, bounds and descriptions; which are required for what; what a call touches. Never: what
a parameter's value means to an adapter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from app.bridges.dap.manager import Mode
from app.tools.contract.definition import (
    Boolean,
    Integer,
    NaturalNumber,
    PositiveInteger,
    ToolParams,
    WholeText,
)
from app.tools.debug.program_command import read_command
from app.tools.debug.project_test import Runner, read_test
from app.tools.debug.wrong_parameter import wrong

Action = Literal[
    "launch",
    "attach",
    "why",
    "trace",
    "run_to",
    "hang",
    "set_breakpoint",
    "remove_breakpoint",
    "list_breakpoints",
    "set_instruction_breakpoint",
    "remove_instruction_breakpoint",
    "data_breakpoint_info",
    "set_data_breakpoint",
    "remove_data_breakpoint",
    "set_exceptions",
    "step_into",
    "step_over",
    "step_out",
    "continue",
    "pause",
    "stack_trace",
    "threads",
    "scopes",
    "variables",
    "set_variable",
    "evaluate",
    "disassemble",
    "read_memory",
    "write_memory",
    "modules",
    "loaded_sources",
    "custom_request",
    "disconnect",
]
ACTIONS: tuple[Action, ...] = get_args(Action)
Scope = Literal["local", "closure", "global", "registers"]

MAX_ARGUMENTS = 256
MAX_VARIABLES = 64
MAX_NAME = 500
MAX_INPUT = 200_000
MAX_BYTES = 65_536
MAX_INSTRUCTIONS = 1_000
MAX_DEPTH = 5
MAX_SHOWN = 1_000
MIN_TIMEOUT_MS, MAX_TIMEOUT_MS = 100, 600_000
STARTING_MS, WAITING_MS, RUNNING_MS = 60_000, 30_000, 120_000
RUNS: frozenset[str] = frozenset({"why", "trace", "run_to"})
"""Actions that run a program, or go on with one, for a purpose."""
LOOKS: frozenset[str] = frozenset(
    {"list_breakpoints", "stack_trace", "threads", "scopes", "variables", "disassemble", "read_memory"}
    | {"modules", "loaded_sources"}
)
"""What may run side by side; everything else is done in the order in which it was asked for."""

_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "attach": ("runtime",),
    "trace": ("at",),
    "run_to": ("path", "line"),
    "set_instruction_breakpoint": ("instruction_reference",),
    "remove_instruction_breakpoint": ("instruction_reference",),
    "data_breakpoint_info": ("name",),
    "set_exceptions": ("exceptions",),
    "set_variable": ("name", "value"),
    "set_data_breakpoint": ("data_id",),
    "remove_data_breakpoint": ("data_id",),
    "evaluate": ("expression",),
    "disassemble": ("instruction_count",),
    "read_memory": ("memory_reference", "count"),
    "write_memory": ("memory_reference", "data"),
    "custom_request": ("command",),
}
_AT_MOST: Mapping[str, int] = {
    "count": MAX_BYTES,
    "instruction_count": MAX_INSTRUCTIONS,
    "depth": MAX_DEPTH,
    "limit": MAX_SHOWN,
    "max_hits": 2_000,
    "levels": MAX_SHOWN,
    "port": 65_535,
}


def _plain(text: str) -> str:
    if "\0" in text:
        raise ValueError("contains a NUL character")
    return text


def _variables(env: dict[str, str]) -> dict[str, str]:
    for name in env:
        if not name or "=" in name or "\0" in name or len(name) > MAX_NAME:
            raise ValueError(f"{name[:80]!r} is no name of a variable: it must not be empty or contain =")
        name.encode("utf-8")
    return env


_Text = Annotated[WholeText, AfterValidator(_plain)]
_Short = Annotated[_Text, Field(max_length=500)]
_Long = Annotated[_Text, Field(max_length=20_000)]
_Path = Annotated[_Text, Field(max_length=4_096)]
_Environment = Annotated[dict[str, _Long], Field(max_length=MAX_VARIABLES), AfterValidator(_variables)]
_Arguments = Annotated[list[_Long], Field(max_length=MAX_ARGUMENTS)]


class TracePoint(ToolParams):
    path: _Path = Field(description="The file.")
    line: PositiveInteger = Field(description="Line, from 1.")
    expressions: Annotated[list[_Long], Field(min_length=1, max_length=20)] = Field(
        description="What to evaluate there."
    )
    condition: _Long | None = Field(default=None, description="Only where this is true.")


class DebugParams(ToolParams):
    action: Action = Field(description="What to do.")
    runtime: _Short | None = Field(
        default=None,
        description='launch, attach, hang: "python", "node", "bun", "go", "c", "cpp", "rust", ...',
    )
    script: _Path | None = Field(
        default=None,
        description="launch: the entry point, relative to the project; of a compiled language the built "
        "program.",
    )
    test: _Path | None = Field(
        default=None,
        description='launch: one test in place of script: "tests/test_a.py::test_x", '
        '"pkg.test_a.Case.test_x", "pkg/a_test.go::TestX", "src/lib.rs::tests::name", "a.test.js::name".',
    )
    runner: Runner | None = Field(
        default=None,
        description="With test: what runs it. Default: pytest, unittest, node, go or cargo, by its file.",
    )
    args: _Arguments | None = Field(default=None, description="launch: arguments to the program.")
    env: _Environment | None = Field(default=None, description="launch: further environment variables.")
    stop_on_entry: Boolean = Field(default=True, description="launch: pause on the first line.")
    cwd: _Path | None = Field(
        default=None,
        description="launch: working directory, relative to the project. Default: its root, or the topmost "
        "folder above the script that your cage shows.",
    )
    input: Annotated[_Text, Field(max_length=MAX_INPUT)] | None = Field(
        default=None, description="launch: what the program reads from its standard input."
    )
    exceptions: Mode | None = Field(
        default=None,
        description="launch, set_exceptions: which exceptions stop the program: none; uncaught (the "
        "default); user: also those that leave the project's code for a library; raised: each that comes to "
        "the project's code. Kept for later launches.",
    )
    exception_types: Annotated[list[_Short], Field(max_length=20)] | None = Field(
        default=None, description="With exceptions: only of these classes, by name."
    )
    port: PositiveInteger | None = Field(default=None, description="attach: the debug port.")
    host: Annotated[_Text, Field(max_length=253)] = Field(
        default="localhost", description="attach: host to connect to."
    )
    pid: PositiveInteger | None = Field(
        default=None,
        description="attach: the process, instead of port, where the adapter can. hang: a process that "
        "hangs, in place of the session's program.",
    )
    path: _Path | None = Field(default=None, description="set_breakpoint, remove_breakpoint: the file.")
    line: PositiveInteger | None = Field(
        default=None, description="set_breakpoint, remove_breakpoint: line, from 1."
    )
    function: _Short | None = Field(
        default=None, description="set_breakpoint, remove_breakpoint: a function, instead of path and line."
    )
    condition: _Long | None = Field(
        default=None, description="set_breakpoint and its like: stop only where this is true."
    )
    hit_count: PositiveInteger | None = Field(
        default=None, description="set_breakpoint and its like: stop from the N-th hit on."
    )
    log_message: _Long | None = Field(
        default=None, description="set_breakpoint: log this instead of stopping; {expression} is filled in."
    )
    thread_id: Integer | None = Field(
        default=None, description="Thread to look at or move. Default: the one that stopped."
    )
    levels: PositiveInteger = Field(default=20, description="stack_trace: most frames to return.")
    frame_id: NaturalNumber = Field(
        default=0, description="variables, scopes, evaluate, ...: frame of the stack; 0 is the top one."
    )
    scope: Scope | None = Field(default=None, description="variables: which scope. Default: local.")
    filter: _Short | None = Field(default=None, description="variables: part of the name.")
    expand: Annotated[_Text, Field(max_length=2_000)] | None = Field(
        default=None, description="variables: what to look into: user, user.address.city, items[3]."
    )
    depth: PositiveInteger = Field(
        default=1, description="variables: levels to show, 1 to 5; deeper ones as children."
    )
    start: NaturalNumber = Field(
        default=0, description="variables, stack_trace, loaded_sources: how many to skip."
    )
    limit: PositiveInteger = Field(default=100, description="variables, loaded_sources: how many to return.")
    expression: _Long | None = Field(default=None, description="evaluate: in the program's language.")
    context: Literal["watch", "repl"] = Field(
        default="watch", description="evaluate: watch only looks; repl may change the program."
    )
    name: Annotated[_Text, Field(max_length=2_000)] | None = Field(
        default=None, description="data_breakpoint_info, set_variable: the variable, as expand names it."
    )
    value: _Long | None = Field(
        default=None, description="set_variable: an expression of the program's language."
    )
    data_id: _Long | None = Field(
        default=None, description="set_data_breakpoint, remove_data_breakpoint: from data_breakpoint_info."
    )
    access_type: Literal["read", "write", "readWrite"] | None = Field(
        default=None, description="set_data_breakpoint: which access stops. Default: as the adapter has it."
    )
    memory_reference: _Short | None = Field(
        default=None,
        description="read_memory, write_memory: an address, or memory_reference of a variable. disassemble: "
        "where; default: the current instruction.",
    )
    instruction_reference: _Short | None = Field(
        default=None,
        description="set_instruction_breakpoint, remove_instruction_breakpoint: address of an instruction.",
    )
    instruction_count: PositiveInteger | None = Field(
        default=None, description="disassemble: how many instructions, at most 1000."
    )
    instruction_offset: Integer | None = Field(
        default=None, description="disassemble: instructions to skip; negative begins before."
    )
    count: PositiveInteger | None = Field(
        default=None, description="read_memory: bytes to read, at most 65536."
    )
    offset: Integer | None = Field(
        default=None,
        description="read_memory, write_memory, disassemble, instruction breakpoints: bytes to add.",
    )
    data: Annotated[_Text, Field(max_length=100_000)] | None = Field(
        default=None, description="write_memory: the bytes, in base64."
    )
    resolve_symbols: Boolean | None = Field(
        default=None, description="disassemble: with the names of symbols."
    )
    allow_partial: Boolean = Field(default=False, description="write_memory: some of it is better than none.")
    start_module: NaturalNumber | None = Field(default=None, description="modules: how many to skip.")
    module_count: PositiveInteger | None = Field(default=None, description="modules: how many to return.")
    command: _Long | None = Field(
        default=None,
        description="custom_request: the request's command. why, trace, run_to: a command line in place of "
        "test or script, such as `python app.py --port 1`.",
    )
    show: Annotated[list[_Long], Field(max_length=20)] | None = Field(
        default=None,
        description="launch, continue, steps, run_to: expressions that each stop shows from now on; [] for "
        "none.",
    )
    at: Annotated[list[TracePoint], Field(min_length=1, max_length=20)] | None = Field(
        default=None, description="trace: where to look."
    )
    max_hits: PositiveInteger = Field(
        default=200, description="trace: after how many hits the program is ended, at most 2000."
    )
    arguments: dict[str, Any] | None = Field(default=None, description="custom_request: its arguments.")
    terminate_debuggee: Boolean | None = Field(
        default=None,
        description="disconnect: end the program too. Default: true after launch, false after attach.",
    )
    timeout: Integer | None = Field(
        default=None,
        description="launch, attach, continue, steps, pause: milliseconds to wait for the stop; the program "
        "goes on after that. Default: 30000, to start 60000. Clamped to [100, 600000].",
    )

    @property
    def seconds(self) -> float:
        """How long to wait for a stop."""
        usual = RUNNING_MS if self.action in RUNS else WAITING_MS
        if self.action in {"launch", "attach"}:
            usual = STARTING_MS
        wanted = usual if self.timeout is None else self.timeout
        return min(max(wanted, MIN_TIMEOUT_MS), MAX_TIMEOUT_MS) / 1000


def _is_missing(value: object) -> bool:
    return value is None or value == ""


def check(params: DebugParams) -> None:
    """Raise ToolError `invalid_params` when something is missing that the action needs, or two
    parameters contradict each other."""
    action = params.action
    for name in _REQUIRED.get(action, ()):
        if _is_missing(getattr(params, name)):
            raise wrong(name, f"is required for {action}")
    for name, most in _AT_MOST.items():
        value = getattr(params, name)
        if value is not None and value > most:
            raise wrong(name, f"is {value}; at most {most}")
    if action in {"set_breakpoint", "remove_breakpoint"}:
        _check_place(params)
    _check_beginning(params)


def _check_beginning(params: DebugParams) -> None:
    """Check what begins a session."""
    if params.action in {"launch", "why", "trace"} or (params.action == "run_to" and names_program(params)):
        _check_program(params)
    if params.action == "attach":
        if params.port is None and params.pid is None:
            raise wrong("port", "is required for attach, or pid in its place")
        if params.port is not None and params.pid is not None:
            raise wrong("pid", "give either port or pid")
        if not params.host.strip():
            raise wrong("host", "is empty; leave it out for localhost")
    if params.exception_types and params.exceptions is None:
        raise wrong("exceptions", "is required with exception_types")
    if params.cwd == "":
        raise wrong("cwd", "is empty; leave it out for the usual one")


def _check_program(params: DebugParams) -> None:
    if params.command is not None and params.action == "launch":
        raise wrong("command", "is for why, trace and run_to; give runtime and script")
    given = [one for one in ("test", "script", "command") if getattr(params, one) is not None]
    if len(given) > 1:
        raise wrong(given[0], f"give either {' or '.join(given)}")
    if params.test is not None:
        read_test(params.test, params.runner)
        return
    if params.command is not None:
        read_command(params.command, params.runtime)
        return
    for name in ("runtime", "script"):
        if _is_missing(getattr(params, name)):
            raise wrong(name, f"is required for {params.action}, or test in place of both")


def names_program(params: DebugParams) -> bool:
    """Tell whether a call says what to start."""
    return any(one is not None for one in (params.test, params.script, params.command))


def _check_place(params: DebugParams) -> None:
    action = params.action
    if params.function:
        if params.path or params.line is not None:
            raise wrong("function", "give either function, or path and line")
        if params.log_message:
            raise wrong("log_message", "is for a breakpoint on a line; give path and line")
        return
    for name in ("path", "line"):
        if _is_missing(getattr(params, name)):
            raise wrong(name, f"is required for {action}, or function in place of path and line")
