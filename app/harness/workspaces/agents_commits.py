"""Commits of agents, taken into the daemon's repository of their workspace.

Owns: that their objects get the names that their content has. An agent writes the files of its clone's
objects, and git believes the names there: by a wrong one it would see another content of a file of the base,
and a merge would bring what nobody was shown. So the daemon's repository borrows nothing of the clone. Never:
which commit is wanted.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from app.harness.workspaces.copying import to_its_end
from app.harness.workspaces.git_folder import GitFolder
from app.harness.workspaces.trees import SECONDS
from app.ids import new_id
from app.tools.processes.git_commands import GitProblem
from app.workspace.repository import alternate


async def take_in(git: GitFolder, objects: Path, commit: str, known: str) -> None:
    """Have the daemon's repository hold a commit of the clone whose objects lie in the folder `objects`, as
    far as `known`, a commit that it has, does not hold that. Raises `GitProblem`. What is missing by its true
    name is noticed when git walks through the history to bring it over."""
    if await _has(git, commit):
        return
    folder = git.git / f"taken-{new_id('wks')}"
    packs = folder / "pack"
    await to_its_end(lambda: packs.mkdir(parents=True))
    try:
        await git.run(
            ["pack-objects", "--revs", "--non-empty", "-q", str(packs / "pack")],
            f"{commit}\n^{known}\n".encode(),
            environment=_borrowing(objects),
            seconds=SECONDS,
        )
        made = await asyncio.to_thread(lambda: sorted(packs.glob("*.pack")))
        for pack in made:
            await asyncio.to_thread(pack.with_suffix(".idx").unlink)
            await git.run(["index-pack", str(pack)], seconds=SECONDS)
        for pack in made:
            await to_its_end(_place, pack, git.git / "objects" / "pack")
    finally:
        await to_its_end(lambda: shutil.rmtree(folder, ignore_errors=True))


async def has_others(git: GitFolder, own_git: Path, *known: str) -> bool:
    """Tell whether a branch, a tag or the stash of the clone holds a commit that none of the `known` ones
    holds. Raises `GitProblem`."""
    own = {"GIT_DIR": str(own_git), **_borrowing(git.git / "objects")}
    try:
        return bool(await git.run(["rev-list", "--max-count=1", "--all", "--not", *known], environment=own))
    except GitProblem as problem:
        if problem.expected:  # its agents have removed it
            return False
        raise


def _borrowing(objects: Path) -> dict[str, str]:
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fsdecode(alternate(objects).removesuffix(b"\n"))}


async def _has(git: GitFolder, commit: str) -> bool:
    try:
        await git.run(["rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"])
    except GitProblem as problem:
        if problem.exit_code is None:
            raise
        return False
    return True


def _place(pack: Path, target: Path) -> None:
    """Put a pack into a repository, its index last: git reads a pack that has one."""
    for one in (pack, pack.with_suffix(".idx")):
        one.replace(target / one.name)
