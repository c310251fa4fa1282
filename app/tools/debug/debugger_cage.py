"""In which cage a caged caller's adapter and program run.

Owns: that they run in the caller's own, or in one like it that shows where the adapter is installed. Never:
making cages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from app.bridges.dap.manager import CageFor, Inside
from app.bridges.installed.installation_places import Surroundings, needed_places
from app.cages.file_grants import FileGrants
from app.cages.readable import Readable
from app.errors import ToolError
from app.tools.debug.call import DebugCall


def cage_for(call: DebugCall, *, attaching: bool = False) -> CageFor | None:
    """Return how the adapter gets into the caller's cage; None for a caller that has none. What is attached
    to is in the one cage only that commands of the agent run in."""
    context, processes = call.context, call.tooling.processes
    if context.cage is None:
        return None

    async def enter(commands: Sequence[Sequence[str]], environment: Mapping[str, str]) -> Inside:
        missing: list[Path] = []
        if processes.has_cages:
            needed = await call.aside(_needed, call, commands, environment)
            missing = processes.missing(context, needed)
        if missing and attaching:
            raise _not_shown(commands[0][0], missing)
        children = await processes.of_caller(context, also=missing)
        return Inside(children, children.environment(processes.environment(context, environment)))

    return enter


def reads_of(call: DebugCall) -> Readable | None:
    """Return what of the project the adapter and its program can read; None where no cage bounds them."""
    context = call.context
    if context.cage is None or not call.tooling.processes.has_cages:
        return None
    return Readable.of(FileGrants.of(context.cage.get("fs") or (), context.project_root))


def _needed(call: DebugCall, commands: Sequence[Sequence[str]], environment: Mapping[str, str]) -> list[Path]:
    """Blocking."""
    apart = (call.context.project_root, *call.tooling.processes.closed)
    around = Surroundings(Path(environment.get("HOME") or "/"), apart, environment)
    found = (place for command in commands for place in needed_places(command, around))
    return list(dict.fromkeys(found))


def _not_shown(program: str, missing: Sequence[Path]) -> ToolError:
    places = ", ".join(map(str, missing[:5]))
    return ToolError(
        "debug_adapter_not_found",
        f"{program} needs {places}, which the cage that this agent's commands run in does not show, so it "
        "cannot attach to one of them. Launch the program under the debugger instead, or ask the operator to "
        "name the folder under `read_only` of [sandbox]",
        detail={"program": program, "missing": [str(place) for place in missing[:20]]},
    )
