"""What an adapter is asked when a program is started or attached to, out of the table's templates.

Owns: filling the templates, and which file of a runtime is a program. Never: sending anything.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from app.bridges.dap.adapter_behaviour import AdapterBehaviour
from app.bridges.dap.adapter_entry import ResolvedAdapter, RuntimeEntry
from app.bridges.dap.program_input import opening, wrapped_by_gdb
from app.bridges.dap.requests import LaunchRequest
from app.bridges.dap.rust_formatters import gdb_options, lldb_commands
from app.errors import ToolError
from app.workspace import read_beginning

Values = Mapping[str, Any]

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_MISSING = object()
_BINARY_STARTS = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ")
_PACKAGE_LINE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
_COMPILED_BY_BUN = frozenset({".ts", ".mts", ".cts", ".tsx", ".jsx"})
_MAX_SOURCE = 256 * 1024
_CLASS_FOLDERS = ("target/classes", "build/classes/java/main", "build/classes", "classes", "out", "bin")


def launch_values(
    adapter: ResolvedAdapter,
    *,
    script: Path,
    args: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    root: Path,
    stop_on_entry: bool,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the values for the templates of one launch. `script` is absolute; `environment` is that of the
    adapter, without `env`. Blocks: looks at the script.

    Raises ToolError `debug_launch_failed` when the script is not a program of this runtime: a source file
    that has to be built first, or no program at all.
    """
    values: dict[str, Any] = {
        "script": str(script),
        "args": list(args),
        "env": dict(env),
        "environment": {**(environment or {}), **env},
        "env_list": [f"{name}={value}" for name, value in env.items()],
        "cwd": str(cwd),
        "root": str(root),
        "stop_on_entry": stop_on_entry,
    }
    if adapter.interpreter:
        program, *arguments = adapter.interpreter
        dropped = adapter.behaviour.process.dropped_arguments
        kept = [word for word in arguments if not (dropped and re.fullmatch(dropped, word))]
        values |= {"interpreter": [program, *kept], "runtime": program, "runtime_args": kept}
        values["program"] = program
    if script.suffix in _COMPILED_BY_BUN:
        values["compiled_paths"] = {"/*": f"{cwd}/*"}
    entry = adapter.entry
    if entry.program == "binary":
        _check_binary(entry, script, cwd)
    elif entry.program == "go":
        values |= _of_go(script, values["environment"])
    elif entry.program == "java":
        values |= _of_java(entry, script, root)
    return values


def check_script(adapter: ResolvedAdapter, script: Path) -> None:
    """Raise ToolError `debug_launch_failed` for a folder in place of a script. Blocks."""
    if adapter.entry.program == "script" and os.path.isdir(script):
        raise ToolError("debug_launch_failed", f"{script.name} is a folder: name the file that is to be run")


def entry_functions(entry: RuntimeEntry, script: Path) -> tuple[str, ...]:
    """Return the functions of which one is where the program begins, as its debug information names them."""
    crate = script.stem.replace("-", "_")
    main_class = main_class_of(script) if entry.program == "java" else ""
    return tuple(name.format(crate=crate, main_class=main_class) for name in entry.entry_functions)


def command_line(adapter: ResolvedAdapter, values: Values) -> tuple[str, ...]:
    """Return the command that starts the adapter; `{port}` stays where it is."""
    filled = _fill(adapter.command, {"port": "{port}", **values})
    return tuple(str(word) for word in filled)


def launch_request(adapter: ResolvedAdapter, *, stop_on_entry: bool) -> Literal["launch", "attach"]:
    """Return the request by which a program is launched."""
    return "attach" if stop_on_entry and adapter.behaviour.stopping.entry == "attach" else "launch"


def launch_arguments(adapter: ResolvedAdapter, values: Values) -> dict[str, Any]:
    """Return the arguments of the launch request."""
    return _request(adapter, "launch", adapter.behaviour.requests.launch, adapter.launch, values)


def with_formatters(values: Values, folder: Path) -> dict[str, Any]:
    """Return the values with what loads the formatters of Rust in a folder."""
    commands = lldb_commands(folder)
    quiet = [f"?{one}" for one in commands]  # lldb-dap is silent where these succeed
    return {**values, "lldb_commands": commands, "quiet_commands": quiet, "gdb_options": gdb_options(folder)}


def with_choice(values: Values, request: LaunchRequest, behaviour: AdapterBehaviour) -> dict[str, Any]:
    """Return the values with what a run of one call has, a module or a text that runs in place of the script,
    and options of the interpreter."""
    found, module, options = {**values}, request.module, request.options
    if request.in_runtime:
        found["skipped"] = []
        first, usual = behaviour.process.env_of_runs, values["environment"]
        added = {name: f"{value} {usual.get(name, '')}".rstrip() for name, value in first.items()}
        found["env"] = {**values["env"], **added}
    instead = {"code": request.code} if request.code is not None else {"module": module}
    if request.code is not None or module is not None:
        found |= instead
        del found["script"]
    if options and "interpreter" in values:
        found["runtime_args"] = [*values["runtime_args"], *options]
        found["interpreter"] = [*values["interpreter"], *options]
    return found


def with_input(values: Values, path: str) -> dict[str, Any]:
    """Return the values with a file as the program's standard input, in each way to open it."""
    options = [*values.get("gdb_options", ()), *wrapped_by_gdb(path)]
    found = {**values, "input": path, "stdio": [path, None, None], "gdb_options": options}
    if "interpreter" in values:
        command = opening(path, values["interpreter"])
        found |= {"interpreter": command, "runtime": command[0], "runtime_args": command[1:]}
    return found


def check_input(adapter: ResolvedAdapter, values: Values, command: Sequence[str], request: Values) -> None:
    """Raise ToolError `action_not_supported` when the program's input has no place in what starts it."""
    path = values.get("input")
    if path is not None and path not in f"{command} {request}":
        name = adapter.behaviour.name or adapter.program.name
        raise ToolError(
            "action_not_supported",
            f"{name} gives no input to the programs that it launches; have the program read a file instead",
            detail={"adapter": name, "capability": "input", "action": "launch"},
        )


def attach_arguments(
    adapter: ResolvedAdapter, *, host: str, port: int | None, pid: int | None, cwd: Path, root: Path
) -> dict[str, Any]:
    """Return the arguments of the attach request, by process id when there is no port.

    Raises ToolError `action_not_supported` when the adapter has no such way.
    """
    behaviour = adapter.behaviour
    template = behaviour.requests.attach if port is not None else behaviour.requests.attach_to_process
    if template is None:
        ways = {"port": behaviour.requests.attach, "pid": behaviour.requests.attach_to_process}
        usable = [name for name, way in ways.items() if way is not None]
        instead = f"attach by {usable[0]}" if usable else "launch the program instead"
        wanted = "port" if port is not None else "pid"
        raise ToolError(
            "action_not_supported",
            f"{behaviour.name or adapter.program.name} cannot attach by {wanted}; {instead}",
            detail={"adapter": behaviour.name, "capability": f"attach by {wanted}"},
        )
    values = {"host": host, "port": port, "pid": pid, "cwd": str(cwd), "root": str(root)}
    known = {name: value for name, value in values.items() if value is not None}
    return _request(adapter, "attach", template, adapter.attach, known)


def _request(
    adapter: ResolvedAdapter,
    request: str,
    template: Mapping[str, Any],
    more: Mapping[str, Any],
    values: Values,
) -> dict[str, Any]:
    """What is declared beside the template wins over it; both may have placeholders."""
    arguments = {"name": f"{adapter.runtime} {request}", "type": adapter.type, "request": request}
    for part in (template, more):
        filled = _fill(part, values)
        arguments |= filled if isinstance(filled, dict) else {}
    return arguments


def _fill(template: Any, values: Values) -> Any:
    """Return the template with its values; `_MISSING` for one that has none."""
    if isinstance(template, str):
        whole = _PLACEHOLDER.fullmatch(template)
        if whole is not None:
            return values.get(whole[1], _MISSING)
        return _PLACEHOLDER.sub(lambda found: str(values.get(found[1], found[0])), template)
    if isinstance(template, Mapping):
        filled = {key: _fill(value, values) for key, value in template.items()}
        return {key: value for key, value in filled.items() if value is not _MISSING}
    if isinstance(template, list | tuple):
        return list(_fill_all(template, values))
    return template


def _fill_all(template: Sequence[Any], values: Values) -> Iterator[Any]:
    """A list in place of an element is taken apart."""
    for one in template:
        value = _fill(one, values)
        if isinstance(one, str) and isinstance(value, list):
            yield from value
        elif value is not _MISSING:
            yield value


def _check_binary(entry: RuntimeEntry, script: Path, cwd: Path) -> None:
    if os.path.isdir(script):
        raise ToolError("debug_launch_failed", f"{script.name} is a folder: name the built program in it")
    if script.suffix in entry.sources or script.suffix.lower() in entry.sources:
        program = script.with_suffix("")
        paths = {"script": script, "program": program}
        shown = {name: os.path.relpath(path, cwd) for name, path in paths.items()}
        raise ToolError(
            "debug_launch_failed",
            f"{script.name} is source code, and {entry.runtime} is debugged as a built program. Build it "
            f"with debug information, for instance `{_fill(entry.build, shown)}`, and launch "
            f"{shown['program']}",
            detail={"runtime": entry.runtime, "build": _fill(entry.build, shown)},
        )
    if not _is_binary(script):
        raise ToolError(
            "debug_launch_failed",
            f"{script.name} is not a built program; name the executable that the build of this project makes",
        )


def _is_binary(path: Path) -> bool:
    try:
        return read_beginning(path, 4).startswith(_BINARY_STARTS)
    except OSError:
        return False


def _of_go(script: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """A test file stands for the tests of its package. What is built lies outside of the project, into which
    delve would build otherwise; it removes the program at its end."""
    folder = script if os.path.isdir(script) else script.parent
    output = f"{environment.get('TMPDIR') or '/tmp'}/kaged-{secrets.token_hex(8)}"
    if script.name.endswith("_test.go"):
        return {"mode": "test", "script": str(folder), "folder": str(folder), "output": output}
    if os.path.isdir(script) or script.suffix == ".go":
        return {"mode": "debug", "folder": str(folder), "output": output}
    return {"mode": "exec"}


def _of_java(entry: RuntimeEntry, script: Path, root: Path) -> dict[str, Any]:
    """The main class, and where classes are found: beside the sources, or where builds put them."""
    if script.suffix == ".jar":
        raise ToolError(
            "debug_launch_failed",
            f"{script.name} is an archive: name the source file of its main class, compiled with -g",
        )
    *parts, name = main_class_of(script).split(".")
    folder = script.parent
    if parts and folder.parts[-len(parts) :] == tuple(parts):
        folder = folder.parents[len(parts) - 1]
    places = [folder, *(root / one for one in _CLASS_FOLDERS if os.path.isdir(root / one))]
    inside = Path(*parts, f"{name}.class")
    if not any(os.path.isfile(place / inside) for place in places):
        shown = {"script": os.path.relpath(script, root), "classes": os.path.relpath(folder, root)}
        raise ToolError(
            "debug_launch_failed",
            f"{script.name} is not compiled. Compile it with debug information, for instance "
            f"`{_fill(entry.build, shown)}`, and launch it again",
            detail={"runtime": entry.runtime, "build": _fill(entry.build, shown)},
        )
    return {
        "main_class": ".".join([*parts, name]),
        "class_path": os.pathsep.join(str(place) for place in places),
    }


def main_class_of(script: Path) -> str:
    """Return the class that a source file of Java is named for, with its package. Blocks."""
    package = _PACKAGE_LINE.search(_beginning(script)) if script.suffix == ".java" else None
    return f"{package[1]}.{script.stem}" if package is not None else script.stem


def _beginning(path: Path) -> str:
    try:
        return read_beginning(path, _MAX_SOURCE).decode("utf-8", "replace")
    except OSError:
        return ""
