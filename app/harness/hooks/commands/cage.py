"""The cage in which a hook runs.

Owns: what such a cage holds by default, and what of the project stays read-only in it. Never: making cages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.cages.cage import Cage, Mount
from app.cages.file_grants import FileGrants
from app.harness.dsl.spec_cage import CageLimits, CageMount, CageSpec
from app.harness.hooks.commands.hook import CommandHook, HookPlace
from app.harness.projects.run_cage import held_cage

MOST_PROCESSES = 512
"""For a hook whose cage says nothing of `pids`: what multiplies is stopped."""
_DEFAULT = CageSpec(fs=[CageMount(mode="ro", path=".")])


def cage_of_hook(hook: CommandHook, place: HookPlace, closed: tuple[Path, ...]) -> Cage | None:
    """Return the cage of a hook: the project read-only, or what its entry says; None for `disabled`. What
    steers agents stays read-only in it. For a session in a workspace the entries name places there, and the
    same ones of the project's folder, where the hook's scripts are, to be read. `closed` are the daemon's own
    places. Blocks."""
    spec = _DEFAULT if hook.spec.cage is None else hook.spec.cage
    if spec == "disabled":
        return None
    limits = CageLimits(**{"pids": MOST_PROCESSES, **spec.limits.model_dump(exclude_none=True)})
    compiled = held_cage(place.project, spec.model_copy(update={"limits": limits}), place.folder)
    cage = Cage.of_agent(compiled, place.folder, state_folder=Path("/nonexistent"), closed=closed)
    named = () if hook.source == "project" else _named_files(hook)
    mounts = (*cage.mounts, *_of_project(compiled, place), *(Mount(one, "ro") for one in named))
    return replace(cage, state_folder=None, mounts=mounts, env={**cage.env, **variables(hook, place)})


def variables(hook: CommandHook, place: HookPlace) -> dict[str, str]:
    """Return what a hook finds in its environment beside the usual; the last is for hooks of Claude Code."""
    root = str(place.root)
    return {"KAGED_HOOK": hook.name, "KAGED_PROJECT_DIR": root, "CLAUDE_PROJECT_DIR": root}


def _of_project(compiled: Mapping[str, Any], place: HookPlace) -> Iterator[Mount]:
    """Yield what is shown of the project's folder to a hook that runs in a workspace."""
    if place.folder == place.root:
        return
    for parts, mode in FileGrants.of(compiled["fs"], place.root).entries:
        yield Mount(place.root.joinpath(*parts), "deny" if mode == "deny" else "ro")


def _named_files(hook: CommandHook) -> tuple[Path, ...]:
    """Return the files outside the system's folders that an operator's command names as words of their own:
    the cage shows them."""
    words = () if isinstance(hook.spec.command, str) else hook.spec.command
    paths = (Path(word) for word in words if word.startswith("/") and "\0" not in word)
    return tuple(path for path in paths if path.is_file() and not path.is_relative_to("/usr"))
