"""Which debug adapter of this machine is for a runtime.

Owns: the order project file, local configuration, built-in table; looking for programs; what is said
when there is none. Never: starting one. An adapter is never taken from the project's folder unless the
project file names it; the interpreter that runs the project's own program may be the project's own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.bridges.dap.adapter_behaviour import UNKNOWN_ADAPTER, AdapterBehaviour, Reach, Transport
from app.bridges.dap.adapter_entry import AdapterCandidate, ResolvedAdapter, RuntimeEntry
from app.bridges.dap.adapters import RUNTIMES, behaviour_of_type, behaviour_of_words
from app.bridges.dap.installed_adapters import Installed, find_node, look_at
from app.bridges.installed.installation_hints import fitting_first
from app.bridges.installed.program_places import ProgramPlaces, Source, Surroundings, absence
from app.bridges.installed.written_programs import CagedAgent
from app.errors import ToolError

__all__ = ["AdapterTable", "Declarations", "Declared", "ResolvedAdapter"]

_ENVIRONMENTS = (".venv", "venv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """An adapter of the project file or of the local configuration. `command`: the program that runs the
    script, with its arguments. `adapter`: the debug adapter; None: the usual one. `type` is sent in the
    launch request, and says which adapter is usual for a runtime that is not built in. `launch`: further
    fields of the launch request."""

    runtime: str
    command: tuple[str, ...] = ()
    adapter: tuple[str, ...] | None = None
    type: str | None = None
    launch: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declarations:
    """What is declared for a project: in its own file, and in the local configuration."""

    project: tuple[Declared, ...] = ()
    local: tuple[Declared, ...] = ()
    agents: tuple[CagedAgent, ...] = ()
    """Those of the project that have a cage."""


class AdapterTable:
    """The runtimes of one project: declared ones over local ones over the built-in table."""

    def __init__(
        self,
        project: Sequence[Declared],
        local: Sequence[Declared],
        environment: Mapping[str, str],
        *,
        root: Path | None = None,
    ) -> None:
        self._places = ProgramPlaces(environment, root)
        self._declared: dict[str, tuple[Declared, Source]] = {
            **{entry.runtime: (entry, "local") for entry in local},
            **{entry.runtime: (entry, "project") for entry in project},
        }

    def runtimes(self) -> tuple[str, ...]:
        """Return every runtime, sorted."""
        return tuple(sorted({*RUNTIMES, *self._declared}))

    def resolve(self, runtime: str) -> ResolvedAdapter:
        """Return the adapter for a runtime. Blocks: looks for programs.

        Raises ToolError: `runtime_not_supported` with detail `{runtimes}`, `debug_adapter_not_found` with
        detail `{runtime, problem, tried, install}`.
        """
        declared, source = self._declared.get(runtime, (Declared(runtime=runtime), "built-in"))
        entry = self._entry(declared)
        if entry is None:
            raise ToolError(
                "runtime_not_supported",
                f"there is no runtime `{runtime}`; use one of {', '.join(RUNTIMES)}, or declare a debug "
                "adapter for it under dap.adapters of the project file",
                detail={"runtimes": list(self.runtimes())},
            )
        found, candidate = self._adapter(entry, declared, source)
        behaviour = _behaviour(candidate, found, declared)
        return ResolvedAdapter(
            runtime=runtime,
            program=found.program,
            command=found.command,
            behaviour=behaviour,
            env={"PATH": self._places.search_path, **behaviour.process.env},
            source=source,
            entry=entry,
            type=_type(declared.type, candidate, behaviour) or runtime,
            interpreter=self._interpreter(entry, declared, source),
            launch={**candidate.launch, **declared.launch},
            attach=candidate.attach,
        )

    def _entry(self, declared: Declared) -> RuntimeEntry | None:
        """A runtime that is not built in has the adapters that are usual for its type."""
        entry = RUNTIMES.get(declared.runtime)
        if entry is not None:
            return entry
        behaviour = behaviour_of_type(declared.type or "")
        for alike in RUNTIMES.values():
            if behaviour is not None and any(one.behaviour == behaviour.name for one in alike.candidates):
                return replace(alike, runtime=declared.runtime, interpreter="")
        if declared.adapter is None:
            return None
        return RuntimeEntry(runtime=declared.runtime, candidates=())

    def _adapter(
        self, entry: RuntimeEntry, declared: Declared, source: Source
    ) -> tuple[Installed, AdapterCandidate]:
        reasons: list[str] = []
        if declared.adapter is not None:
            candidate = _candidate_for(entry, declared.adapter, declared.type)
            programs = self._places.declared(declared.adapter[0], source)
            found = self._places.first_usable(look_at, programs, declared.adapter, reasons, chosen=True)
            if found is not None:
                return found, candidate
            raise self._not_found(entry.runtime, (candidate,), reasons, source)
        for places in (self._places.packaged, self._places.on_path):
            for candidate in entry.candidates:
                programs = places(candidate.command[0])
                found = self._places.first_usable(look_at, programs, candidate.command, reasons, chosen=False)
                if found is not None:
                    return found, candidate
        raise self._not_found(entry.runtime, entry.candidates, reasons, "built-in")

    def _interpreter(self, entry: RuntimeEntry, declared: Declared, source: Source) -> tuple[str, ...]:
        """What runs the script, with its arguments; empty where programs run by themselves."""
        if declared.command:
            word, *arguments = declared.command
            program = next(self._places.declared(word, source), None)
            if program is None and word == "node":
                program = self._node()
            if program is None:
                raise self._no_interpreter(entry, word)
            return (str(program), *arguments)
        if not entry.interpreter:
            return ()
        if entry.interpreter == "python3":
            return (self._python(),)
        program = self._node() if entry.interpreter == "node" else self._first(entry.interpreter)
        if program is None:
            raise self._no_interpreter(entry, entry.interpreter)
        return (str(program),)

    def _python(self) -> str:
        """The project's own, with the packages that its program imports, else the daemon's."""
        root = self._places.root
        for folder in _ENVIRONMENTS if root is not None else ():
            python = Path(root or "", folder, "bin", "python")
            if os.access(python, os.X_OK) and os.path.isfile(python):
                return str(python)
        return sys.executable

    def _node(self) -> Path | None:
        return find_node(Surroundings(self._places.environment, self._places.root))

    def _first(self, name: str) -> Path | None:
        return next(self._places.on_path(name), None)

    def _no_interpreter(self, entry: RuntimeEntry, word: str) -> ToolError:
        message = f"`{word}`, which is to run the programs of {entry.runtime}, was not found"
        install = fitting_first((entry.install,), self._places.environment)
        return _absence(entry.runtime, message, [word], install)

    def _not_found(
        self, runtime: str, candidates: Sequence[AdapterCandidate], reasons: list[str], source: Source
    ) -> ToolError:
        install = fitting_first((one.install for one in candidates), self._places.environment)
        names = [one.command[0] for one in candidates]
        message = absence(f"debug adapter for {runtime}", names, reasons, source)
        return _absence(runtime, message, [" ".join(one.command) for one in candidates], install)


def _absence(runtime: str, message: str, tried: list[str], install: Mapping[str, str]) -> ToolError:
    hint = next(iter(install.values()), None)
    advice = f"Install it: {hint}" if hint else "Correct the command under dap.adapters"
    detail = {"runtime": runtime, "problem": message, "tried": tried, "install": dict(install)}
    return ToolError("debug_adapter_not_found", f"{message}. {advice}", detail=detail)


def _candidate_for(entry: RuntimeEntry, command: tuple[str, ...], of_type: str | None) -> AdapterCandidate:
    """The candidate of the table that a declared command is, with that command; else one that is made up."""
    behaviour = behaviour_of_words(command) or behaviour_of_type(of_type or "")
    name = behaviour.name if behaviour is not None else ""
    runtimes = (entry, *RUNTIMES.values())
    alike = [one for each in runtimes for one in each.candidates if name and one.behaviour == name]
    if alike:
        return replace(alike[0], command=command)
    return AdapterCandidate(command=command, behaviour=name, install={})


def _type(declared: str | None, candidate: AdapterCandidate, behaviour: AdapterBehaviour) -> str:
    """An adapter may end at a name of itself that it does not know."""
    if declared is not None and declared not in behaviour.types:
        return declared
    return candidate.type or behaviour.adapter_id


def _behaviour(candidate: AdapterCandidate, found: Installed, declared: Declared) -> AdapterBehaviour:
    known = behaviour_of_type(candidate.behaviour)
    if known is not None:
        lacks = known.capabilities.lacks | candidate.lacks
        entry = candidate.entry or known.stopping.entry
        return replace(
            known,
            capabilities=replace(known.capabilities, lacks=lacks),
            stopping=replace(known.stopping, entry=entry),
        )
    transport: Transport = "chosen" if any("{port}" in word for word in found.command) else "stdio"
    return replace(
        UNKNOWN_ADAPTER,
        name=found.program.name,
        adapter_id=declared.type or "",
        reach=Reach(transport=transport),
    )
