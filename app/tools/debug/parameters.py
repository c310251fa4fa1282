"""The parameters of `debug`, flat for all actions, and what each action needs of them.

Owns: names, bounds and descriptions; which are required for what; what a call touches. Never: what
a parameter's value means to an adapter.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from app.errors import RPC_INVALID_PARAMS, ToolError
from app.tools.contract.definition import (
    Boolean,
    Effects,
    Integer,
    NaturalNumber,
    PositiveInteger,
    ToolParams,
    WholeText,
)
from app.tools.debug.own_processes import LOOPBACK

NAME = "debug"
Action = Literal[
    "launch",
    "attach",
    "set_breakpoint",
    "remove_breakpoint",
    "list_breakpoints",
    "set_instruction_breakpoint",
    "remove_instruction_breakpoint",
    "data_breakpoint_info",
    "set_data_breakpoint",
    "remove_data_breakpoint",
    "step_into",
    "step_over",
    "step_out",
    "continue",
    "pause",
    "stack_trace",
    "threads",
    "scopes",
    "variables",
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
MAX_BYTES = 65_536
MAX_INSTRUCTIONS = 1_000
MAX_DEPTH = 5
MAX_SHOWN = 1_000
MIN_TIMEOUT_MS, MAX_TIMEOUT_MS = 100, 600_000
STARTING_MS, WAITING_MS = 60_000, 30_000
PROGRAMS = frozenset({"c", "cpp", "rust", "zig"})
"""Runtimes whose script is itself the program that runs."""

LOOKS: frozenset[str] = frozenset(
    {"list_breakpoints", "stack_trace", "threads", "scopes", "variables", "disassemble", "read_memory"}
    | {"modules", "loaded_sources"}
)
"""What may run side by side; everything else is done in the order in which it was asked for."""

_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "launch": ("runtime", "script"),
    "attach": ("runtime",),
    "set_instruction_breakpoint": ("instruction_reference",),
    "remove_instruction_breakpoint": ("instruction_reference",),
    "data_breakpoint_info": ("name",),
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


class DebugParams(ToolParams):
    action: Action = Field(description="What to do.")
    runtime: _Short | None = Field(
        default=None, description='launch, attach: "python", "node", "bun", "go", "c", "cpp", "rust", ...'
    )
    script: _Path | None = Field(
        default=None,
        description="launch: the entry point, relative to the project; of a compiled language the built "
        "program.",
    )
    args: _Arguments | None = Field(default=None, description="launch: arguments to the program.")
    env: _Environment | None = Field(default=None, description="launch: further environment variables.")
    stop_on_entry: Boolean = Field(default=True, description="launch: pause on the first line.")
    cwd: _Path = Field(default=".", description="launch: working directory, relative to the project.")
    port: PositiveInteger | None = Field(default=None, description="attach: the debug port.")
    host: Annotated[_Text, Field(max_length=253)] = Field(
        default="localhost", description="attach: host to connect to."
    )
    pid: PositiveInteger | None = Field(
        default=None, description="attach: the process, instead of port, where the adapter can."
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
        default=None, description="data_breakpoint_info: the variable, as expand names it."
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
    command: _Short | None = Field(default=None, description="custom_request: the request's command.")
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
        usual = STARTING_MS if self.action in {"launch", "attach"} else WAITING_MS
        wanted = usual if self.timeout is None else self.timeout
        return min(max(wanted, MIN_TIMEOUT_MS), MAX_TIMEOUT_MS) / 1000


def wrong(field: str, problem: str) -> ToolError:
    """Return the error for one wrong parameter."""
    return ToolError(
        "invalid_params",
        f"{NAME}: {field}: {problem}",
        detail={"fields": {field: problem}},
        rpc_code=RPC_INVALID_PARAMS,
    )


def check(params: DebugParams) -> None:
    """Raise ToolError `invalid_params` when something is missing that the action needs, or two
    parameters contradict each other."""
    action = params.action
    for name in _REQUIRED.get(action, ()):
        if getattr(params, name) in {None, ""}:
            raise wrong(name, f"is required for {action}")
    for name, most in _AT_MOST.items():
        value = getattr(params, name)
        if value is not None and value > most:
            raise wrong(name, f"is {value}; at most {most}")
    if action in {"set_breakpoint", "remove_breakpoint"}:
        _check_place(params)
    if action == "attach":
        if params.port is None and params.pid is None:
            raise wrong("port", "is required for attach, or pid in its place")
        if params.port is not None and params.pid is not None:
            raise wrong("pid", "give either port or pid")
        if not params.host.strip():
            raise wrong("host", "is empty; leave it out for localhost")
    if not params.cwd:
        raise wrong("cwd", "is empty; leave it out for the project's root")


def _check_place(params: DebugParams) -> None:
    action = params.action
    if params.function:
        if params.path or params.line is not None:
            raise wrong("function", "give either function, or path and line")
        if params.log_message:
            raise wrong("log_message", "is for a breakpoint on a line; give path and line")
        return
    for name in ("path", "line"):
        if getattr(params, name) in {None, ""}:
            raise wrong(name, f"is required for {action}, or function in place of path and line")


def effects_of(params: DebugParams) -> Effects:
    """Return what a call touches. What is launched is judged like a command line."""
    action, alone = params.action, params.action not in LOOKS
    if action == "launch" and params.script:
        folder = params.cwd or "."
        return Effects(
            reads=(params.script, folder),
            exclusive=True,
            commands=(command_line(params),),
            directory=folder,
            environment=tuple((params.env or {}).items()),
        )
    if action == "attach" and params.port is not None:
        address = (f"{params.host}:{params.port}",)
        if params.host in LOOPBACK:
            return Effects(exclusive=True, own_hosts=address)
        return Effects(exclusive=True, hosts=address)
    if action in {"set_breakpoint", "remove_breakpoint"} and params.path:
        return Effects(reads=(params.path,), exclusive=True)
    return Effects(exclusive=alone)


def command_line(params: DebugParams) -> str:
    """Return how a shell would start the program: `python app.py --port 3000`, `./build/app`."""
    script = params.script or ""
    if params.runtime in PROGRAMS:
        words = [script if "/" in script else f"./{script}"]
    else:
        words = [params.runtime or "", script]
    return shlex.join([*words, *(params.args or ())])
