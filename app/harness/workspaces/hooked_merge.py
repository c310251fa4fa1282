"""Merging onto the branch that is checked out with the hooks of its user: the files are written, then git
commits them as the user would.

Owns: the order of both, and taking the files back when a hook refuses. Never: how git commits
(`harness.git`).
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from app.errors import Conflict, KagedError
from app.harness.git.committing import CommitWish
from app.harness.git.hook_places import hooks_among
from app.harness.git.service import ProjectGit
from app.harness.workspaces.branches import Branches
from app.harness.workspaces.bringing import Bringer, Bringing
from app.harness.workspaces.repository import Repository
from app.workspace.any_names import address_of

MAX_SHOWN = 10
MAX_NAMES = 100_000
"""Bytes of all names: git is given them as arguments."""


class HookedMerge:
    """Commits of merges for which hooks are wanted."""

    def __init__(self, git: ProjectGit, branches: Branches) -> None:
        self._git = git
        self._branches = branches

    async def require_possible(
        self, bringing: Bringing, repository: Repository, *, here: bool, squash: bool
    ) -> None:
        """Raise `Conflict` for a merge that no hooks can be run for, and for one that brings hooks: an agent
        has written them, and they would run at once with the daemon's rights."""
        if not (here and squash):
            raise Conflict(
                "Hooks run only for one commit on the branch that is checked out in the project: leave out "
                "`hooks`, or merge with `squash` into that branch.",
                reason="hooks_not_possible",
            )
        if sum(len(one.path) + 1 for one in bringing.changes) > MAX_NAMES:
            raise Conflict(
                "The merge has too many files for a commit with hooks: merge into `working_tree`, then "
                "commit with git.",
                reason="hooks_not_possible",
            )
        places = await self._git.hook_places(Path(repository.top, repository.prefix))
        names = [address_of(one) for one in hooks_among((one.path for one in bringing.changes), places)]
        if names:
            more = f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else ""
            raise Conflict(
                f"The merge changes what hooks run ({', '.join(names[:MAX_SHOWN])}{more}), and would run "
                "it at once, outside of any cage. Merge into `working_tree` without `hooks`, review these "
                "files, then commit with `kaged git commit --hooks`.",
                reason="hooks_not_possible",
                details={"paths": names[:100]},
            )

    async def carry_out(
        self, bringer: Bringer, bringing: Bringing, repository: Repository, name: str, message: str
    ) -> str:
        """Write the files and commit them with hooks on the branch `name`; return the commit. When that is
        refused, the files are as before. Raises `Conflict`."""
        await bringer.write(bringing)
        cut = len(os.fsencode(repository.prefix)) + 1 if repository.prefix else 0
        paths = tuple(one.path[cut:] for one in bringing.changes)
        project = Path(repository.top, repository.prefix)
        try:
            made = await self._git.make_commit(project, CommitWish(message, paths, hooks=True))
        except KagedError as refusal:
            tip = await self._branches.tip(repository, name)
            if tip is not None and tip != bringing.before:  # a hook after the commit failed
                return tip
            await self._take_back(bringer, bringing, refusal)
            raise
        return made.commit

    async def end(self, bringer: Bringer, bringing: Bringing, repository: Repository, name: str) -> str:
        """End what a kill has cut off: return the commit, or take the files back and raise `Conflict`."""
        tip = await self._branches.tip(repository, name)
        if tip is not None and tip != bringing.before:
            return tip
        await bringer.write(_reverse(bringing))
        raise Conflict(
            "The daemon was stopped before your hooks had passed. Nothing is merged: merge again.",
            reason="interrupted",
        )

    async def _take_back(self, bringer: Bringer, bringing: Bringing, refusal: KagedError) -> None:
        try:
            await bringer.write(_reverse(bringing))
        except Conflict as problem:
            refusal.message += (
                " A hook changed files of the merge, so these stay in your checkout: commit or restore them."
            )
            refusal.details["paths"] = problem.details.get("paths", [])


def _reverse(bringing: Bringing) -> Bringing:
    changes = [replace(one, old=one.new, new=one.old) for one in bringing.changes]
    return Bringing(bringing.after, bringing.before, changes)
