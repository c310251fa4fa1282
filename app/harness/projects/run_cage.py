"""The cage that a run of an agent is held to.

Owns: that the folders of plugins which lie in the project are read-only in it, whatever it grants. Never:
what an agent's cage is otherwise; the project file says it.

A plugin has rights of its own. Whoever may write its program or its manifest has them too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from app.cages.file_grants import FileGrants
from app.harness.dsl.compiled import CompiledAgent, CompiledProject

Parts = tuple[str, ...]


def cage_of(project: CompiledProject, agent: CompiledAgent, root: Path) -> dict[str, Any] | None:
    """Return the compiled cage of an agent of the project at `root` as plain data, None when it has none.
    Blocks for as long as it takes to look where a few folders are."""
    if agent.cage == "disabled":
        return None
    cage = agent.cage.model_dump()
    grants = FileGrants.of(cage["fs"], root)
    folders = {parts for one in _packages(project) for parts in _below(root, one)}
    frozen = [
        {"mode": "ro", "path": "/".join(parts)} for parts in sorted(folders) if grants.mode(parts) == "rw"
    ]
    if not folders:
        return cage
    kept = [_held(entry, folders, root) for entry in cage["fs"]]
    return cage | {"fs": [*kept, *frozen]}


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
