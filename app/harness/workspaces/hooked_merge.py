"""Merging onto the branch that is checked out with the hooks of its user: the files are written, then git
commits them as the user would.

Owns: the order of both, and taking the files back when a hook refuses. Never: how git commits
(`harness.git`).
"""

from __future__ import annotations

import os
from pathlib import Path

from app.errors import Conflict, KagedError
from app.harness.git.committing import CommitWish
from app.harness.git.hook_places import hooks_among
from app.harness.git.service import ProjectGit
from app.harness.workspaces.branches import Branches
from app.harness.workspaces.bringing import Bringer, Bringing
from app.harness.workspaces.repository import Repository
from app.tools.processes.git_commands import GitProblem
from app.workspace.any_names import address_of

MAX_SHOWN = 100
MAX_NAMED = 10
MAX_NAMES = 100_000
"""Bytes of all names: git is given them as arguments."""


class Unended(Conflict):
    """A hook refused, and what was written for it could not be taken back: the next start does that."""

    def __init__(self, refusal: KagedError, problem: Exception) -> None:
        super().__init__(
            f"{refusal.message} The files of the merge are still in your checkout, because git failed "
            f"({problem}): the next start of the daemon takes them back.",
            details=refusal.details,
        )


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
            more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
            raise Conflict(
                f"The merge changes what hooks run ({', '.join(names[:MAX_NAMED])}{more}), and would run "
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
            try:
                commit = await self._made(bringer, bringing, repository, name)
                if commit is None:
                    await self._take_back(bringer, bringing, repository, refusal)
            except (GitProblem, OSError) as problem:
                raise Unended(refusal, problem) from None
            if commit is None:
                raise
            return commit  # a hook after the commit failed
        return made.commit

    async def end(self, bringer: Bringer, bringing: Bringing, repository: Repository, name: str) -> str:
        """End what a kill has cut off: return the commit, or take the files back and raise `Conflict`."""
        commit = await self._made(bringer, bringing, repository, name)
        if commit is not None:
            return commit
        interrupted = Conflict(
            "The daemon was stopped before your hooks had passed. Nothing is merged: merge again.",
            reason="interrupted",
        )
        await self._take_back(bringer, bringing, repository, interrupted)
        raise interrupted

    async def _made(
        self, bringer: Bringer, bringing: Bringing, repository: Repository, name: str
    ) -> str | None:
        """Return the commit of a merge, if the branch has it. Others commit there, too: it is the one right
        above the commit that the merge began with, and it changes each of its files. Hooks may have changed
        what these hold."""
        tip = await self._branches.tip(repository, name)
        if tip is None or tip == bringing.before:
            return None
        commit = await bringer.commit_above(bringing.before, tip)
        if commit is None:
            return None
        changed = {one.path for one in await bringer.between(bringing.before, commit)}
        return commit if changed >= {one.path for one in bringing.changes} else None

    async def _take_back(
        self, bringer: Bringer, bringing: Bringing, repository: Repository, refusal: KagedError
    ) -> None:
        """Take the files back that are as the merge wrote them, and have the refusal name the others."""
        try:
            stay = await bringer.take_back(bringing, repository.head or bringing.before)
        except Conflict:  # somebody writes them right now
            stay = [one.path for one in bringing.changes]
        if stay:
            refusal.message += (
                " A hook or somebody else changed files of the merge, so these stay in your checkout as they "
                "are: commit or restore them."
            )
            refusal.details["paths"] = [address_of(path) for path in stay[:MAX_SHOWN]]
