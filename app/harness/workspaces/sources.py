"""The folder of another workspace, of which that of a subagent is made.

Owns: noting what lies there now, and taking over whatever of it the user's repository does not have: the new
workspace needs the other one no more. Never: the tree and the repository of the new one (`creation`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from app.harness.workspaces.agents_commits import take_in
from app.harness.workspaces.copying import to_its_end
from app.harness.workspaces.git_folder import GitFolder
from app.harness.workspaces.layout import Layout
from app.harness.workspaces.snapshots import SECONDS, Snapshots
from app.harness.workspaces.trees import commit_tree, tree_of
from app.tools.processes.git_commands import GitProblem
from app.workspace.repository import alternate

WHAT_CAME_ALONG = "Uncommitted changes of the workspace"


@dataclass(frozen=True, slots=True)
class Source:
    """Another workspace, and the commit that it began with."""

    workspace_id: str
    layout: Layout
    base_commit: str


async def state_of(
    folder: GitFolder, source: Source, pinned: str | None, shows: Callable[[bytes], bool] | None
) -> str:
    """Return a commit of what lies in the source now, above its own last commit, as far as `shows` shows it.
    `folder` gets every object that the commit `pinned` of the user's repository lacks. Raises
    `GitProblem`."""
    alternates = folder.git / "objects" / "info" / "alternates"
    own = await asyncio.to_thread(alternates.read_bytes) if alternates.exists() else b""
    # The clone lends no objects, because its agents write them. Its commits are copied and named anew.
    daemons = alternate(source.layout.git / "objects")
    await to_its_end(alternates.write_bytes, own + daemons)
    try:
        head = await _head(folder, source)
        await take_in(folder, source.layout.own_git / "objects", head, source.base_commit)
        tree = await Snapshots(folder).whole(source.layout.tree, source.layout.index, head, shows=shows)
        commit = head
        if await tree_of(folder, head) != tree:
            commit = await commit_tree(folder, tree, [head], WHAT_CAME_ALONG)
        await take_over(folder, commit, pinned)
    finally:
        await to_its_end(alternates.write_bytes, own)
    return commit


async def take_over(folder: GitFolder, commit: str, known: str | None) -> None:
    """Give the daemon's repository a pack of its own with what a commit needs and `known` does not hold.
    Raises `GitProblem`."""
    wanted = f"{commit}\n" + (f"^{known}\n" if known is not None else "")
    await folder.run(
        ["pack-objects", "--revs", "-q", str(folder.git / "objects" / "pack" / "pack")],
        wanted.encode(),
        seconds=SECONDS,
    )


async def _head(folder: GitFolder, source: Source) -> str:
    """Return the last commit in the source; what it began with where its agents have left none."""
    own = {"GIT_DIR": str(source.layout.own_git)}
    try:
        found = await folder.run(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], environment=own)
    except GitProblem as problem:
        if problem.exit_code is None and not problem.expected:
            raise
        return source.base_commit
    return found.decode().strip()
