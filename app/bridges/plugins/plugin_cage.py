"""The cage in which a plugin starts, made from its manifest.

Owns: what such a cage holds, and what no manifest can ask for. Never: making cages, starting plugins.

An agent may have written the manifest of a plugin in the project. Such a plugin gets files of the project
only; plugins that the operator installed elsewhere may get more.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from app.bridges.installed.installation_places import SYSTEM, Surroundings, needed_places, own_code
from app.bridges.plugins.capabilities import Capability
from app.bridges.plugins.manifest import PluginManifest
from app.bridges.processes.child_starter import CageKeeper, ChildStarter
from app.bridges.processes.place import Place, caged_place
from app.bridges.processes.supervised_child import Refused
from app.cages.cage import Cage, Mount
from app.cages.file_grants import Mode
from app.cages.network_rules import Target
from app.programs import on_path, packaged

_NEVER = tuple(map(Path, ("/proc", "/sys", "/dev", "/run", "/boot")))
"""The kernel's own and other services' sockets."""
_NEVER_WRITTEN = (*SYSTEM, Path("/etc"))


@dataclass(frozen=True, slots=True)
class PluginCages:
    """What plugins' cages are made of. `closed` are the daemon's own places, which no cage shows."""

    keeper: CageKeeper
    closed: tuple[Path, ...] = ()


async def place_of(
    children: ChildStarter,
    cages: PluginCages | None,
    *,
    manifest: PluginManifest,
    folder: Path,
    project_id: str,
    project_root: Path,
    environment: Mapping[str, str],
) -> Place:
    """Return the place of one run; without `cages` it has the daemon's rights. `environment` is the
    environment outside a cage. Raises Refused for a manifest that asks too much, ToolError
    `cage_unavailable`."""
    if cages is None:
        return Place(children, environment)
    cage = await asyncio.to_thread(
        plugin_cage, manifest, folder, project_root, environment, closed=cages.closed
    )
    place = await caged_place(
        cages.keeper,
        cage,
        project_root,
        environment,
        kind="plugin",
        name=manifest.name,
        project_id=project_id,
    )
    return replace(place, environment={**place.environment, **manifest.env})


def plugin_cage(
    manifest: PluginManifest,
    folder: Path,
    project_root: Path,
    environment: Mapping[str, str],
    *,
    closed: Iterable[Path] = (),
) -> Cage:
    """Return the cage of the plugin in `folder`. It shows that folder and the needs of its program read-only,
    the files and hosts of its capabilities, and nothing of `closed`. Missing paths are left out. Blocks.
    Raises Refused."""
    closed = tuple(closed)
    apart, trusted = (project_root, *closed), not _is_of_project(folder, project_root)
    around = Surroundings(Path(environment.get("HOME") or "/"), apart, environment, trusted)
    modes: dict[Path, Mode] = {folder: "ro", own_code(): "ro"}
    for place in needed_places(_command(manifest, environment), around):
        modes.setdefault(place, "ro")
    net: list[str] = []
    for one in manifest.capabilities:
        match one.kind:
            case "read" | "write":
                _grant(modes, one, folder, project_root)
            case "exec":
                program = _within_reach(one, folder, project_root)
                modes |= {place: "ro" for place in needed_places((program,), around) if place not in modes}
            case "net" if not one.is_nothing:
                net.append(_host(one))
    mounts = [Mount(path, mode) for path, mode in modes.items()]
    hidden = (Mount(path, "deny") for path in closed)
    return Cage(mounts=(*mounts, *hidden), net=tuple(net), takes_new_names=False)


def _command(manifest: PluginManifest, environment: Mapping[str, str]) -> tuple[str, ...]:
    program, *arguments = manifest.command
    found = program if "/" in program else str(_on_path(program, environment) or "")
    return (found, *arguments) if os.path.isabs(found) else ("/bin/sh",)


def _on_path(program: str, environment: Mapping[str, str]) -> Path | None:
    """Return the program that the plugin's PATH leads to: what this installation brings, where it comes
    first, else none that lies in a project."""
    own, first = packaged(program), environment.get("PATH", "").partition(os.pathsep)[0]
    return own if own is not None and str(own.parent) == first else on_path(program, environment)


def _grant(modes: dict[Path, Mode], one: Capability, folder: Path, project_root: Path) -> None:
    place = Path(_within_reach(one, folder, project_root))
    refused = place == Path("/") or any(place.is_relative_to(never) for never in _NEVER)
    if one.kind == "write":
        refused = refused or any(place.is_relative_to(never) for never in _NEVER_WRITTEN)
    if refused:
        raise Refused(f"its manifest asks for {one.text}, and no plugin is given that")
    if place.exists() and not (place == folder and one.kind == "read"):
        modes[place] = "rw" if one.kind == "write" or modes.get(place) == "rw" else "ro"


def _within_reach(one: Capability, folder: Path, project_root: Path) -> str:
    real = Path(os.path.realpath(one.target))
    root = Path(os.path.realpath(project_root))
    of_project = _is_of_project(folder, root)
    of_system = one.kind != "write" and any(real.is_relative_to(place) for place in SYSTEM)
    if of_project and not of_system and not real.is_relative_to(root):
        raise Refused(
            f"it lies in the project, and its manifest asks for {one.text}, which does not; a plugin "
            "that needs files of the machine must be installed outside of the project"
        )
    return str(real)


def _is_of_project(folder: Path, project_root: Path) -> bool:
    return Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(project_root))


def _host(one: Capability) -> str:
    text = "*" if one.target == "*" else f"{one.target}:{one.port or '*'}"
    try:
        Target.parse(text)
    except ValueError as problem:
        raise Refused(f"its manifest asks for {one.text}: {problem}") from None
    return text
