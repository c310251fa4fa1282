"""Where one run of a stranger's program starts: with the daemon's rights, or in a cage of its own.

Owns: the starter, the environment there, the end of the cage. Never: what the cage shows.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.bridges.processes.child_starter import CageKeeper, ChildStarter
from app.cages.cage import Cage
from app.cages.inner_environment import environment_inside

_numbers = itertools.count(1)


async def _nothing() -> None:
    """There is no cage to end."""


@dataclass(frozen=True, slots=True)
class Place:
    """What starts one run, and in which environment. `end` ends the cage, if it is one."""

    children: ChildStarter
    environment: Mapping[str, str]
    end: Callable[[], Awaitable[None]] = _nothing


async def caged_place(
    keeper: CageKeeper,
    cage: Cage,
    root: Path,
    environment: Mapping[str, str],
    *,
    kind: str,
    name: str,
    project_id: str,
) -> Place:
    """Return the place in a new cage for one run of the `kind` called `name`. `environment` is that outside,
    of which the cage has what means something inside. Raises ToolError `cage_unavailable`."""
    key = f"{kind}/{project_id}/{name}/{next(_numbers)}"
    children = await keeper.children(key, cage, root, about={"project_id": project_id, kind: name})
    shown = tuple(mount.path for mount in cage.mounts if mount.mode != "deny")
    return Place(children, environment_inside(environment, shown), lambda: keeper.end(key))
