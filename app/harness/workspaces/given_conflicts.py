"""The conflicts that an agent is given in its workspace, and those that it has not resolved yet.

Owns: what is written into a workspace for them, and how they are found there again. Never: what an agent is
told (`conflict_message`), or when a merge is possible (`merging`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.harness.workspaces.bringing import Bringing
from app.harness.workspaces.git_folder import GitFolder
from app.harness.workspaces.trees import differences, with_sides
from app.tools.processes.git_commands import GitProblem

_MARKER = r"^(<{7,}|>{7,}) [0-9a-f]{40}"
"""git names the sides of such a conflict by their commits, so that no marker of the user's own looks so."""
_NONE_FOUND = 1
_AT_ONCE = 500
"""So many files are named in one command."""


@dataclass(frozen=True, slots=True)
class GivenConflicts:
    """The tree that a workspace gets; the files with conflict markers in it, and those without."""

    tree: str
    marked: Sequence[bytes]
    unmarked: Sequence[bytes]


async def given_conflicts(
    git: GitFolder, bringing: Bringing, theirs: str, unresolved: Collection[bytes]
) -> GivenConflicts | None:
    """Return what a workspace that holds `theirs` gets; None when it would get a submodule. Where git can
    write no markers, as in binary files, the workspace's version stays. The `unresolved` have theirs already.
    Raises `GitProblem`."""
    own = {one.path: one for one in await differences(git, bringing.after, theirs)}
    written = own.keys() & {one.path for one in await differences(git, bringing.after, bringing.before)}
    marked = [path for path in bringing.conflicts if path in written or path in unresolved]
    unmarked = [path for path in bringing.conflicts if path not in marked]
    tree = await with_sides(git, bringing.after, [own[path] for path in unmarked if path in own])
    if any(one.is_submodule for one in await differences(git, theirs, tree)):
        return None
    return GivenConflicts(tree, marked, unmarked)


async def unresolved_conflicts(git: GitFolder, tree: str, paths: Sequence[bytes]) -> list[bytes]:
    """Return those of the files that have conflict markers of a merge in a tree. Raises `GitProblem`."""
    found: list[bytes] = []
    for start in range(0, len(paths), _AT_ONCE):
        named = [os.fsdecode(path) for path in paths[start : start + _AT_ONCE]]
        command = ["grep", "-z", "-l", "-a", "-E", "-e", _MARKER, tree, "--", *named]
        try:
            said = await git.run(command, environment={"GIT_LITERAL_PATHSPECS": "1"})
        except GitProblem as problem:
            if problem.exit_code != _NONE_FOUND:
                raise
            continue
        found += [name.removeprefix(tree.encode() + b":") for name in said.split(b"\0") if name]
    return found
