"""The message that asks an agent to resolve the conflicts of a merge in its workspace.

Owns: the text. Never: which files are in conflict, or which of them have markers (`merging`).
"""

from __future__ import annotations

from collections.abc import Sequence

from app.harness.workspaces.merging import Merged


def conflict_message(merged: Merged) -> str:
    """Return the message for an agent whose workspace has conflicts."""
    parts = ["The project has changed. Its changes were merged into your workspace."]
    marked = [path for path in merged.conflicts if path not in merged.unmarked]
    if marked:
        parts.append(
            f"These files have conflict markers (<<<<<<<, =======, >>>>>>>):\n\n{_listed(marked)}\n\nThe "
            "lines above ======= are the project's. The lines below it are those of your workspace. Resolve "
            "each conflict so that the changes of both sides are kept, and remove the markers."
        )
    if merged.unmarked:
        parts.append(
            "Both sides changed or deleted these files, which have no markers:\n\n"
            f"{_listed(merged.unmarked)}\n\nThey have the content of your workspace. Decide for each file "
            "which version is right."
        )
        if merged.shown_by is not None:
            parts.append(f"`git show {merged.shown_by}:PATH` prints the project's version.")
    return " ".join(parts)


def _listed(paths: Sequence[str]) -> str:
    return "\n".join(f"- {path}" for path in paths)
