"""What a workspace notes of its merges: the tree that each target had of it last.

Owns: the form of these notes, and finding in them what a merge compares with. Never: merging (`merging`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.harness.workspaces.git_folder import GitFolder
from app.harness.workspaces.trees import differences, tree_of
from app.storage.models import Workspace

WORKING_TREE = "working_tree"
_MOST_NOTED = 20


def is_given(journal: Mapping[str, Any]) -> bool:
    """Tell whether the target comes into the workspace, with the conflicts. A branch may have any name."""
    return "for" in journal


def merged_after(row: Workspace, journal: Mapping[str, Any], at: int) -> dict[str, Any]:
    """Return what a workspace notes of its merges after one of them: by target what it had last (`bases`),
    these trees, the newest last (`noted`), those of which everything was brought back (`whole`), what was
    `written` into the checkout, the files that the agent was given with conflict markers (`marked`), and what
    the last one was."""
    merged = dict(row.merged or {})
    into, base = journal["into"], journal["base"]
    target = journal.get("for", into)
    merged["bases"] = {**merged.get("bases", {}), target: base}
    noted = [one for one in merged.get("noted", ()) if one != base]
    merged["noted"] = [*noted, base][-_MOST_NOTED:]
    if is_given(journal):
        return {**merged, "marked": journal.get("marked", [])}
    merged.pop("marked", None)
    merged["whole"] = [base]
    if into == WORKING_TREE:
        merged["written"] = journal["tree"]
    return {**merged, "into": into, "commit": journal.get("commit"), "at": at, "by": journal.get("by")}


def written_trees(row: Workspace) -> tuple[str, ...]:
    """Return the trees that a merge has written into the checkout."""
    written = (row.merged or {}).get("written")
    return () if written is None else (written,)


def whole_trees(row: Workspace) -> tuple[str, ...]:
    """Return the trees of which everything was brought back."""
    return tuple((row.merged or {}).get("whole", ()))


async def base_tree(row: Workspace, git: GitFolder, into: str | None, holds: str | None = None) -> str:
    """Return the tree that changes are compared with: what a target had of the workspace last, also by way
    of another one when the commit that it `holds` has all of that. Raises `GitProblem`."""
    merged = row.merged or {}
    base = merged.get("bases", {}).get(into)
    if base is None:
        assert row.base_commit is not None
        base = await tree_of(git, row.base_commit)
    if holds is None:
        return str(base)
    noted = merged.get("noted", [])
    newer = noted[noted.index(base) + 1 :] if base in noted else noted
    for other in reversed(newer):
        brought = {one.path for one in await differences(git, base, other)}
        if brought and brought.isdisjoint([one.path for one in await differences(git, other, holds)]):
            return str(other)
    return str(base)
