"""What a call starts: a script, or one test by its runner, as the bridge is asked for it.

Owns: finding the folder, the runner's own program and the built test in the project. Never: rules, which have
judged the command line; nor starting anything but the build of a Rust test.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.bridges.dap.manager import LaunchRequest
from app.errors import ToolError
from app.tools.debug.call import DebugCall, Named, shown_path
from app.tools.debug.debugger_cage import cage_for, reads_of
from app.tools.debug.exception_stop import choice_of
from app.tools.debug.program_command import ProgramCommand, read_command
from app.tools.debug.project_test import ProjectTest, dotted_name, read_test
from app.tools.debug.runner_command import PROGRAMS
from app.tools.debug.rust_test import built_test
from app.tools.debug.wrong_parameter import wrong

_NOT_SEEN = frozenset({"capability_denied", "permission_denied", "file_not_found"})
_FOLDERS: Mapping[str, str] = {"go": "go.mod", "cargo": "Cargo.toml"}


@dataclass(frozen=True, slots=True)
class Program:
    """What is started. `module` runs in place of the file, `options` are the interpreter's own."""

    runtime: str
    file: Path
    folder: Path
    args: tuple[str, ...] = ()
    module: str | None = None
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


async def request_for(call: DebugCall) -> LaunchRequest:
    """Return what the bridge is to launch. Raises ToolError as paths do, `test_runner_not_found`,
    `debug_launch_failed` with the words of a build that fails."""
    params = call.params
    if params.command is not None:
        program = await _command(call, read_command(params.command, params.runtime))
    else:
        program = await (_test(call) if params.test is not None else _script(call))
    # Nobody means the first line of a runner.
    stops = params.stop_on_entry and (params.test is None or "stop_on_entry" in params.model_fields_set)
    return LaunchRequest(
        runtime=program.runtime,
        program=program.file,
        cwd=program.folder,
        args=(*program.args, *(params.args or ())),
        env={
            **call.tooling.processes.variables(call.context.project_root),
            **program.env,
            **(params.env or {}),
        },
        stop_on_entry=stops,
        module=program.module,
        options=program.options,
        input=params.input,
        exceptions=choice_of(call),
        cage=cage_for(call),
        reads=reads_of(call),
    )


async def _script(call: DebugCall) -> Program:
    params = call.params
    assert params.runtime and params.script
    script = await call.named(params.script)
    return Program(params.runtime, script.real, (await _folder_of(call, script)).real)


async def _command(call: DebugCall, command: ProgramCommand) -> Program:
    script = await call.named(command.script or call.params.cwd or ".")
    folder = script if command.script is None else await _folder_of(call, script)
    file = script.real
    if command.script is None and command.runner is not None and command.runner in PROGRAMS:
        inside = Path("node_modules", *PROGRAMS[command.runner].split("/"))
        file = await call.aside(_above, call, folder, str(inside)) / inside
    return Program(
        command.runtime,
        file,
        folder.real,
        command.args,
        module=command.module,
        options=command.options,
    )


async def _folder_of(call: DebugCall, script: Named) -> Named:
    """Return where the program is to run: the folder that is named, else the topmost one above the script
    that the caller may see."""
    if call.params.cwd is not None:
        folder = await call.named(call.params.cwd)
        if not folder.is_directory:
            raise wrong("cwd", f"{folder.shown} is no folder")
        return folder
    for depth in range(len(script.parts)):
        try:
            return await call.named(shown_path(script.parts[:depth]))
        except ToolError as refused:
            if depth == len(script.parts) - 1 or refused.code not in _NOT_SEEN:
                raise
    return await call.named(".")


async def _test(call: DebugCall) -> Program:
    params = call.params
    assert params.test is not None
    test = read_test(params.test, params.runner)
    named = await call.named(test.path if test.path is not None else params.cwd or ".")
    folder = named if test.path is None else await _folder_of(call, named)
    runtime = params.runtime or test.runtime
    match test.runner:
        case "pytest" | "unittest":
            return await _python(call, test, named, folder, runtime)
        case "go":
            place = named.real if named.is_directory else named.real.parent
            name = ("-test.run", f"^{test.name}$") if test.name else ()
            file = place / "_test.go" if named.is_directory else named.real
            return Program(runtime, file, place, (*name, "-test.v"))
        case "cargo":
            crate = await call.aside(_above, call, named, _FOLDERS["cargo"])
            file = await built_test(call, crate, named.real)
            one = (test.name, "--exact") if test.name else ()
            return Program(runtime, file, crate, (*one, "--nocapture", "--test-threads=1"))
        case _:
            return await _script_test(call, test, named, folder, runtime)


async def _python(call: DebugCall, test: ProjectTest, named: Named, folder: Named, runtime: str) -> Program:
    if test.runner == "unittest":
        file = named.real if test.path is not None else named.real.joinpath(*test.name.split("."))
        return Program(runtime, file, folder.real, (dotted_name(test),), module="unittest")
    table = call.adapters.table(call.context.project_id, call.context.project_root)
    resolved = await call.aside(table.resolve, runtime)
    if not await call.aside(_has_pytest, resolved.interpreter[0] if resolved.interpreter else ""):
        raise ToolError(
            "test_runner_not_found",
            f"pytest is not installed for {resolved.interpreter[0]}, which runs the project's programs. "
            'Install it there, or use runner: "unittest"',
            detail={"runner": "pytest", "interpreter": resolved.interpreter[0]},
        )
    place = await call.aside(os.path.relpath, named.real, folder.real)
    one = f"{place}::{test.name}" if test.name else place
    return Program(runtime, named.real, folder.real, (one, "-p", "no:cacheprovider"), module="pytest")


def _has_pytest(python: str) -> bool:
    """Blocking."""
    prefix = Path(python).parent.parent
    return any((place / "pytest").is_dir() for place in prefix.glob("lib*/python3*/site-packages"))


async def _script_test(
    call: DebugCall, test: ProjectTest, named: Named, folder: Named, runtime: str
) -> Program:
    if test.runner == "node":
        options = ("--test-name-pattern", f"^{_literal(test.name)}$") if test.name else ()
        return Program(runtime, named.real, folder.real, options=options)
    inside = Path("node_modules", *PROGRAMS[test.runner].split("/"))
    home = await call.aside(_above, call, named, str(inside))
    name = ("-t", _literal(test.name)) if test.name else ()
    place = await call.aside(os.path.relpath, named.real, home)
    alone = ("--runInBand",) if test.runner == "jest" else ("--no-file-parallelism",)
    first = ("--runTestsByPath", place) if test.runner == "jest" else ("run", place)
    return Program(runtime, home / inside, home, (*first, *name, *alone))


def _literal(name: str) -> str:
    """Return a name as a regular expression of JavaScript that means nothing else."""
    return "".join(f"\\{one}" if one in r"\^$.|?*+()[]{}/" else one for one in name)


def _above(call: DebugCall, named: Named, file: str) -> Path:
    """Return the nearest folder above a test, or a folder itself, that has a file, up to the project's root.
    Blocking."""
    root = Path(os.path.realpath(call.context.project_root))
    for folder in (named.real, *named.real.parents):
        if os.path.isfile(folder / file):
            return folder
        if folder == root:
            break
    raise ToolError(
        "test_runner_not_found",
        f"there is no {file} in {named.shown} or a folder above it: install the runner in the project, or "
        "name another one",
        detail={"missing": file},
    )
