"""The cage that a run of an agent is held to.

Owns: that what the project file names and that steers or runs is read-only in it, whatever it grants: the
folders of plugins which lie in the project, prompts, and programs; and what of the running installation lies
there. Never: what an agent's cage is otherwise; the project file says it.

A plugin has rights of its own, and so has another agent. Whoever may write the program of the one or the
prompt of the other has them too. Whoever may write the programs or packages of the daemon has the daemon's.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from app.cages.file_grants import FileGrants
from app.cages.protected_names import is_protected
from app.harness.dsl.compiled import CompiledAgent, CompiledProject
from app.programs import installed_below

Parts = tuple[str, ...]


def cage_of(project: CompiledProject, agent: CompiledAgent, root: Path) -> dict[str, Any] | None:
    """Return the compiled cage of an agent of the project at `root` as plain data, None when it has none.
    Blocks for as long as it takes to look where a few folders are."""
    if agent.cage == "disabled":
        return None
    cage = agent.cage.model_dump()
    grants = FileGrants.of(cage["fs"], root)
    named = (*_packages(project), *project.guarded_files, *map(str, installed_below(root)))
    places = {parts for one in named for parts in _below(root, one) if not any(map(is_protected, parts))}
    if not places:
        return cage
    writable = [parts for parts in sorted(places) if grants.mode(parts) == "rw"]
    kept = [_held(entry, places, root) for entry in cage["fs"]]
    frozen = [{"mode": "ro", "path": "/".join(parts)} for parts in writable]
    return cage | {"fs": [*kept, *frozen], "guarded": ["/".join(parts) for parts in writable]}


def _packages(project: CompiledProject) -> set[str]:
    """Return the packages that are named by a path."""
    named = {spec.package for agent in project.agents() for spec in agent.plugins.values()}
    return {package for package in named if "/" in package or package.startswith(".")}


def _below(root: Path, package: str) -> set[Parts]:
    """Return where a package is below the root: by the path that is written, and by the real one."""
    written = os.path.normpath(root / package)
    real = os.path.realpath(written)
    places = ((written, str(root)), (real, os.path.realpath(root)))
    return {
        Path(place).relative_to(base).parts for place, base in places if Path(place).is_relative_to(base)
    } - {()}


def _held(entry: dict[str, Any], folders: set[Parts], root: Path) -> dict[str, Any]:
    """Return an entry as it is, or read-only where it is for something within one of the folders."""
    if entry["mode"] != "rw":
        return entry
    for parts, _ in FileGrants.of([entry], root).entries:
        if any(parts[: len(folder)] == folder for folder in folders):
            return entry | {"mode": "ro"}
    return entry
