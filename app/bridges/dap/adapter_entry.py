"""The shape of what is known of runtimes and of the debug adapters for them.

Owns: these types. Never: any particular runtime or adapter, or how one behaves (`adapter_behaviour`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from app.bridges.dap.adapter_behaviour import NOTHING, AdapterBehaviour, Entry
from app.bridges.installed.installation_hints import installation_hints
from app.bridges.installed.program_places import Source

Program = Literal["script", "binary", "go", "java"]
"""What is launched: a source file that an interpreter runs; a built program; a Go package, test or built
program; a Java source file, class or archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterCandidate:
    """An adapter that may be installed: program and arguments, its behaviour by name, how to install it by
    package manager, and what this runtime's launch and attach requests have beside the behaviour's:
    `type` and further fields. `lacks`: capabilities that it claims and has not with this runtime. `entry`:
    how a stop on entry is done with this runtime, where the behaviour's way does not do."""

    command: tuple[str, ...]
    behaviour: str
    install: Mapping[str, str]
    type: str = ""
    launch: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    attach: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    lacks: frozenset[str] = frozenset()
    entry: Entry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeEntry:
    """A runtime (`runtime` of the tool) with its adapters, the preferred one first.

    `interpreter`: the program that runs a script, looked up unless the project names one; empty where
    programs run by themselves. `install`: how to get it, as for a candidate. `sources`: endings of the
    source files. `build`: for `binary`, the command that builds a source with what a debugger needs, with
    `{script}` and `{program}` in it. `entry_functions`: where a stop on entry may be, for adapters that do
    it by function breakpoints; `{crate}` is the program's name as Rust spells it.
    """

    runtime: str
    candidates: tuple[AdapterCandidate, ...]
    program: Program = "script"
    interpreter: str = ""
    install: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    sources: tuple[str, ...] = ()
    build: str = ""
    entry_functions: tuple[str, ...] = ("main",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedAdapter:
    """How to start an adapter and what to ask of it.

    `command` has an absolute program first, and `{port}` in an argument for the transport `chosen`.
    `env` is added to the environment of the adapter and has the PATH for its children. `interpreter` is
    the program that runs the script, absolute, with its arguments, or empty. `launch` and `attach` are
    what is declared beside the behaviour's own templates; `type` is sent in both requests.
    """

    runtime: str
    program: Path
    command: tuple[str, ...]
    behaviour: AdapterBehaviour
    env: Mapping[str, str]
    source: Source
    entry: RuntimeEntry
    type: str
    interpreter: tuple[str, ...] = ()
    launch: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    attach: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


def adapter(
    *command: str,
    behaviour: str,
    request_type: str = "",
    launch: Mapping[str, Any] = NOTHING,
    attach: Mapping[str, Any] = NOTHING,
    **install: str,
) -> AdapterCandidate:
    """Make a candidate. `npm="a b"` and the like are package names; `other` is a sentence."""
    return AdapterCandidate(
        command=command,
        behaviour=behaviour,
        install=installation_hints(install),
        type=request_type,
        launch=launch,
        attach=attach,
    )
