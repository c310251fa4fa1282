"""The cage that a run of an agent is held to.

Owns: what steers or runs stays read-only in it, whatever is granted: plugins, prompts, programs, the running
installation, and the links that lead to them; who may write one has its rights. Never: the rest of a cage
(the project file).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.cages.file_grants import FileGrants
from app.cages.protected_names import is_protected
from app.harness.dsl.compiled import CompiledAgent, CompiledProject
from app.harness.dsl.spec_cage import CageSpec
from app.programs import installed_below

Parts = tuple[str, ...]
MAX_LINKS = 40
"""How many links Linux follows on the way to a file."""


def cage_of(project: CompiledProject, agent: CompiledAgent, root: Path) -> dict[str, Any] | None:
    """Return the compiled cage of an agent of the project at `root` as plain data, None when it has none.
    Blocks for as long as it takes to look where a few folders are."""
    return None if agent.cage == "disabled" else held_cage(project, agent.cage, root)


def held_cage(project: CompiledProject, block: CageSpec, root: Path) -> dict[str, Any]:
    """Return a cage block as plain data, with what steers or runs read-only. Blocks as `cage_of`."""
    cage = block.model_dump()
    grants = FileGrants.of(cage["fs"], root)
    named = (*_packages(project), *project.guarded_files, *map(str, installed_below(root)))
    places = {parts for one in named for parts in _below(root, one) if not any(map(is_protected, parts))}
    if not places:
        return cage
    writable = [parts for parts in sorted(places) if grants.mode(parts) == "rw"]
    kept = [_held(entry, places, root) for entry in cage["fs"]]
    frozen = [{"mode": "ro", "path": "/".join(parts)} for parts in writable]
    links = {parts for one in named for parts in _links(root, one) if grants.mode(parts) == "rw"}
    return cage | {
        "fs": [*kept, *frozen],
        "guarded": ["/".join(parts) for parts in writable],
        "guarded_links": ["/".join(parts) for parts in sorted(links.difference(writable))],
    }


def _packages(project: CompiledProject) -> set[str]:
    """Return the packages that are named by a path."""
    named = {spec.package for agent in project.declared_agents() for spec in agent.plugins.values()}
    return {package for package in named if "/" in package or package.startswith(".")}


def _below(root: Path, package: str) -> set[Parts]:
    """Return where a package is below the root: by the path that is written, and by the real one."""
    written = os.path.normpath(root / package)
    real = os.path.realpath(written)
    places = ((written, str(root)), (real, os.path.realpath(root)))
    return {
        Path(place).relative_to(base).parts for place, base in places if Path(place).is_relative_to(base)
    } - {()}


def _links(root: Path, named: str) -> Iterator[Parts]:
    """Yield the links below the root that lead to what is named: who replaces one of them puts something else
    in its place. What lies beyond a link to a folder is not named, and stays as it is granted."""
    written = Path(os.path.normpath(root / named))
    if not written.is_relative_to(root):
        return
    base = place = Path(os.path.realpath(root))
    steps, links = list(written.relative_to(root).parts[::-1]), 0
    while steps and links < MAX_LINKS:
        place = Path(os.path.normpath(place / steps.pop()))
        try:
            target = Path(os.readlink(place))
        except OSError:
            continue
        links += 1
        if place.is_relative_to(base) and not any(map(is_protected, place.relative_to(base).parts)):
            yield place.relative_to(base).parts
        place = place.parent / target.anchor
        steps += target.parts[len(Path(target.anchor).parts) :][::-1]


def _held(entry: dict[str, Any], folders: set[Parts], root: Path) -> dict[str, Any]:
    """Return an entry as it is, or read-only where it is for something within one of the folders."""
    if entry["mode"] != "rw":
        return entry
    for parts, _ in FileGrants.of([entry], root).entries:
        if any(parts[: len(folder)] == folder for folder in folders):
            return entry | {"mode": "ro"}
    return entry
