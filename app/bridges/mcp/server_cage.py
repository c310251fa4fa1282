"""The cage in which an MCP server starts, made from its entry.

Owns: what such a cage shows beyond what the entry grants, and the environment. Never: making cages.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from app.bridges.installed.installation_places import Surroundings, needed_places
from app.bridges.mcp.entries import ServerEntry
from app.bridges.processes.child_starter import CageKeeper, ChildStarter
from app.bridges.processes.place import Place, caged_place
from app.cages.cage import Cage, Mount
from app.programs import on_path, search_path

_PASSED_ON = ("PATH", "LANG", "TZ")


@dataclass(frozen=True, slots=True)
class McpCages:
    """What servers' cages are made of. `closed` are the daemon's own places, which no cage shows; `states` is
    the folder of the homes that are kept."""

    keeper: CageKeeper
    closed: tuple[Path, ...]
    states: Path


async def place_of(
    children: ChildStarter,
    cages: McpCages | None,
    entry: ServerEntry,
    *,
    project_id: str,
    root: Path,
    environment: Mapping[str, str],
) -> tuple[Place, tuple[str, ...]]:
    """Return the place of one run and the command there; without `cages`, or a cage in the entry, it has the
    daemon's rights. Raises ToolError `cage_unavailable`."""
    command = await asyncio.to_thread(_command, entry, root, environment)
    passed_on = {name: environment[name] for name in _PASSED_ON if name in environment}
    passed_on["PATH"] = search_path(environment)
    if cages is None or entry.cage is None:
        home = {"HOME": environment["HOME"]} if "HOME" in environment else {}
        return Place(children, {**passed_on, **home, **entry.env}), command
    cage = await asyncio.to_thread(server_cage, entry, command, cages, project_id, root, environment)
    place = await caged_place(
        cages.keeper, cage, root, passed_on, kind="mcp_server", name=entry.name, project_id=project_id
    )
    return replace(place, environment={**place.environment, **cage.env, **entry.env}), command


def server_cage(
    entry: ServerEntry,
    command: tuple[str, ...],
    cages: McpCages,
    project_id: str,
    root: Path,
    environment: Mapping[str, str],
) -> Cage:
    """Return the cage of a server: what its entry grants of the project, and read-only its own program.
    Blocks."""
    assert entry.cage is not None
    state = cages.states / project_id / entry.name
    cage = Cage.of_agent(entry.cage, root, state_folder=state, closed=cages.closed)
    trusted = entry.origin != "project"
    around = Surroundings(
        Path(environment.get("HOME") or "/"), (root, *cages.closed), environment, trusted=trusted
    )
    places = list(needed_places(command, around))
    if entry.package is not None:
        places.append(entry.package)
    known = {mount.path for mount in cage.mounts}
    more = tuple(Mount(place, "ro") for place in places if place not in known)
    return replace(cage, mounts=(*cage.mounts, *more), takes_new_names=False)


def _command(entry: ServerEntry, root: Path, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command with its program found: a bare name on PATH, never in a project, else a path below
    the project."""
    program, *arguments = entry.command
    if "/" in program:
        found = Path(os.path.normpath(root / program))
    else:
        found = on_path(program, environment) or Path(program)
    return (str(found), *arguments)
