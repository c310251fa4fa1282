"""What a call of `debug` touches: the files, hosts and command lines that it is judged by.

Owns: that whatever starts a program is judged as `debug.launch` is, and its command line by the rules of
`shell.bash`. Never: judging.
"""

from __future__ import annotations

import shlex

from app.tools.contract.definition import Effects
from app.tools.debug.own_processes import LOOPBACK
from app.tools.debug.parameters import LOOKS, RUNS, DebugParams, names_program
from app.tools.debug.program_command import read_command
from app.tools.debug.project_test import read_test

PROGRAMS = frozenset({"c", "cpp", "rust", "zig"})
"""Runtimes whose script is itself the program that runs."""
STARTING = ("shell.bash", "debug.launch")
"""The tools whose rules hold for whatever starts a program."""
ATTACHING = ("debug.attach",)
"""Likewise, for whatever takes a process."""


def effects_of(params: DebugParams) -> Effects:
    """Return what a call touches. What is launched is judged like a command line."""
    action, alone = params.action, params.action not in LOOKS
    if action in {"launch", *RUNS} and names_program(params):
        folder = params.cwd or "."
        named = (_file(params), params.cwd, params.path, *(one.path for one in params.at or ()))
        reads = tuple(dict.fromkeys(one for one in named if one))
        return Effects(
            reads=reads,
            judged_as=STARTING,
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
    if action == "hang" and params.pid is not None:
        return Effects(exclusive=True, judged_as=ATTACHING)
    if action in {"set_breakpoint", "remove_breakpoint", "run_to"} and params.path:
        return Effects(reads=(params.path,), exclusive=True)
    return Effects(exclusive=alone)


def runtime_of(params: DebugParams) -> str:
    """Return the runtime of what a call starts or attaches to."""
    if params.command is not None and params.action in RUNS:
        return read_command(params.command, params.runtime).runtime
    if params.runtime is None and params.test is not None:
        return read_test(params.test, params.runner).runtime
    return params.runtime or ""


def _file(params: DebugParams) -> str | None:
    """Return the file that is run, as the caller wrote it."""
    if params.command is not None:
        return read_command(params.command, params.runtime).script
    return read_test(params.test, params.runner).path if params.test is not None else params.script


def command_line(params: DebugParams) -> str:
    """Return how a shell would start the program: `python app.py --port 3000`, `./build/app`."""
    if params.test is not None:
        line = read_test(params.test, params.runner).command_line
        return f"{line} {shlex.join(params.args)}" if params.args else line
    if params.command is not None:
        return shlex.join([*shlex.split(params.command), *(params.args or ())])
    script = params.script or ""
    if params.runtime in PROGRAMS:
        words = [script if "/" in script else f"./{script}"]
    else:
        words = [params.runtime or "", script]
    return shlex.join([*words, *(params.args or ())])
