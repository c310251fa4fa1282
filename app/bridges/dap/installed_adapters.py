"""What an installed debug adapter's own files tell of it, without running anything.

Owns: adapters inside of other packages, and programs of which only some releases are adapters. Never:
searching the PATH for an adapter.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.bridges.dap import prompt_debugpy
from app.bridges.installed.program_places import Surroundings, Unusable
from app.programs import on_path, packaged, packaged_node, script_interpreter

_SERVER_OPTIONS = frozenset({"--listen", "--connect", "--wait-for-client"})
"""Options of debugpy's program that starts a debuggee; its adapter needs none of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """An adapter that can be started: `command` has the absolute program first."""

    program: Path
    command: tuple[str, ...]


Look = Callable[[Path, tuple[str, ...], Surroundings], Installed | Unusable]


def look_at(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed | Unusable:
    """Return how the program is to be started, or why it cannot be used. Blocks: reads small files."""
    look = _LOOKS.get(program.name, _as_it_is)
    return look(program, arguments, around)


def find_node(around: Surroundings) -> Path | None:
    """Return the system's node, else the one that came with this installation."""
    return on_path("node", around.environment, outside=around.root) or packaged_node()


def _as_it_is(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed | Unusable:
    """A script for a node that is not on the PATH is run by the one that came with this installation."""
    if script_interpreter(program) == "node":
        return _by_node(program, Path(os.path.realpath(program)), arguments, around)
    return Installed(program=program, command=(str(program), *arguments))


def _by_node(
    program: Path, script: Path, arguments: tuple[str, ...], around: Surroundings
) -> Installed | Unusable:
    node = find_node(around)
    if node is None:
        return Unusable(f"{program} needs node, and there is none")
    return Installed(program=program, command=(str(node), str(script), *arguments))


def _debugpy(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed | Unusable:
    """The program `debugpy` starts what it debugs; the adapter is beside it."""
    if program == packaged(program.name) and importlib.util.find_spec("debugpy") is not None:
        command = (sys.executable, "-P", str(Path(prompt_debugpy.__file__)))
        return Installed(program=program, command=command)
    adapter = program.with_name("debugpy-adapter")
    if not os.access(adapter, os.X_OK):
        return Unusable(f"{program} has no debugpy-adapter beside it")
    kept = arguments if _SERVER_OPTIONS.isdisjoint(arguments) else ()
    return Installed(program=program, command=(str(adapter), *kept))


def _python(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed | Unusable:
    """`python -m debugpy` starts what it debugs, too."""
    if arguments[:2] == ("-m", "debugpy"):
        arguments = ("-m", "debugpy.adapter")
    return Installed(program=program, command=(str(program), *arguments))


def _js_debug(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed | Unusable:
    """Without a port it would listen on its usual one."""
    return _as_it_is(program, arguments or ("0", "127.0.0.1"), around)


def _mcp_debugger(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed | Unusable:
    """A package that brings several adapters; the first argument is the path of one of them inside it."""
    folder = Path(os.path.realpath(program)).parent
    if not arguments:
        return Unusable(f"{program} is no debug adapter by itself")
    inside, *others = arguments
    found = next(iter(sorted(folder.glob(inside))), None)
    if found is None:
        return Unusable(f"{program} does not bring {inside.rpartition('/')[2]} for this system")
    if found.suffix in (".cjs", ".js"):
        return _by_node(program, found, tuple(others), around)
    if found.suffix == ".java":
        java = on_path("java", around.environment, outside=around.root)
        if java is None:
            return Unusable(f"{found.stem} of {program} needs java, and there is none")
        # What it brings compiled is for the newest Java only.
        return Installed(program=program, command=(str(java), str(found), *others))
    if not os.access(found, os.X_OK):
        return Unusable(f"{found} cannot be executed")
    return Installed(program=program, command=(str(found), *others))


def _gdb(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed | Unusable:
    """It speaks the protocol from release 14 on, by a package of its own Python code."""
    prefix = Path(os.path.realpath(program)).parent.parent
    places = ("share/gdb/python/gdb/dap", "lib/python3*/site-packages/gdb/dap")
    if around.chosen or any(os.path.isdir(folder) for place in places for folder in prefix.glob(place)):
        return Installed(program=program, command=(str(program), *arguments))
    return Unusable(f"{program} does not speak the debug adapter protocol; gdb does from release 14 on")


def _perl(program: Path, arguments: tuple[str, ...], around: Surroundings) -> Installed | Unusable:
    if around.chosen or any(
        os.path.isfile(folder / "Perl" / "LanguageServer.pm") for folder in _perl_folders(program, around)
    ):
        return Installed(program=program, command=(str(program), *arguments))
    return Unusable(f"{program} has no module Perl::LanguageServer")


def _perl_folders(program: Path, around: Surroundings) -> Iterator[Path]:
    """Where a Perl looks for modules."""
    environment = around.environment
    named = [one for one in environment.get("PERL5LIB", "").split(os.pathsep) if os.path.isabs(one)]
    yield from map(Path, named)
    prefix = Path(os.path.realpath(program)).parent.parent
    for folder in dict.fromkeys((prefix, prefix / "local", Path("/usr/local"))):
        for pattern in ("share/perl5", "share/perl/5*", "lib/perl5", "lib/perl5/site_perl/5*"):
            yield from sorted(folder.glob(pattern))


_LOOKS: Mapping[str, Look] = {
    "debugpy": _debugpy,
    "debugpy-adapter": _debugpy,
    "python": _python,
    "python3": _python,
    "js-debug-adapter": _js_debug,
    "js-debug": _js_debug,
    "mcp-debugger": _mcp_debugger,
    "gdb": _gdb,
    "perl": _perl,
}
