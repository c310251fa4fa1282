"""What an agent is told of the conflicts that a merge has put into its workspace.

Owns: the text. Never: which files are in conflict, or which of them have markers (`merging`).
"""

from __future__ import annotations

from collections.abc import Sequence

from app.harness.workspaces.merging import Merged


def conflict_message(merged: Merged) -> str:
    """Return the message that tells the agent of the conflicts in its workspace."""
    parts = ["The project has changed, and its changes are in your workspace now."]
    marked = [path for path in merged.conflicts if path not in merged.unmarked]
    if marked:
        parts.append(
            f"These files have conflict markers (<<<<<<<, =======, >>>>>>>):\n\n{_listed(marked)}\n\nAbove "
            "======= are the lines of the project, below it those of this workspace. Resolve them so that "
            "both sides' changes hold, and remove the markers."
        )
    if merged.unmarked:
        parts.append(
            "Both sides also changed or deleted these files, which have no markers:\n\n"
            f"{_listed(merged.unmarked)}\n\nThey are as this workspace had them. Decide for each which "
            "version is right."
        )
        if merged.shown_by is not None:
            parts.append(f"`git show {merged.shown_by}:PATH` prints the project's version.")
    return " ".join(parts)


def _listed(paths: Sequence[str]) -> str:
    return "\n".join(f"- {path}" for path in paths)
