"""What a revert does to files, before it is done: its steps, its stored form, and what refuses it.

Owns: `RevertWish`, steps, and the errors. Never: the order of keeping, storing and writing (`reverting`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from app.cages.protected_names import is_protected
from app.errors import Conflict, KagedError, NotFound, ToolError
from app.harness.changes.line_diffs import hunk_digest
from app.harness.changes.service import FileDiff
from app.harness.checkpoints.stored_objects import TreeEntry
from app.harness.git_output.hunks import Hunk, shown_lines
from app.harness.sessions.restoring import FileChange
from app.storage.models import Revert
from app.tools.contract.ports import FileWrite
from app.tools.project_files.read_tracker import digest_of
from app.workspace import Workspace
from app.workspace.any_names import address_of, path_at

Entry = TreeEntry | None
RACES = frozenset(
    {"file_changed_since_read", "file_exists", "file_not_found", "is_directory", "symbolic_link"}
)
"""How a write is refused when somebody else was there first."""
MOST_TAKEN = 16 * 1024
"""How many bytes of reverted lines are kept with a revert."""


@dataclass(frozen=True, slots=True)
class RevertWish:
    """What is taken back. `hunks` are digests of a difference; None is the whole file. `digest` is that of
    the difference that was looked at."""

    path: bytes
    since: str = "start"
    hunks: Sequence[str] | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds, or is to hold: its entry and content, both None where there is no file."""

    entry: Entry
    content: bytes | None


@dataclass(frozen=True, slots=True)
class Step:
    path: bytes
    before: Content
    after: Content


def file_changes(revert: Revert, *, back: bool = False) -> list[FileChange]:
    """Return what a revert does to files, or its undo."""
    found = []
    for one in revert.details["files"]:
        before, after = _entry(one["before"]), _entry(one["after"])
        path = path_at(one["path"])
        found.append(FileChange(path, after, before) if back else FileChange(path, before, after))
    return found


def remove_leftovers(workspace: Workspace, plan: Sequence[FileChange]) -> None:
    """Remove what a killed daemon put beside the files; no other write has begun since."""
    for one in plan:
        with suppress(ToolError), workspace.entry(f"./{one.path}", links=True) as entry:
            entry.remove_leftovers(0.0)


def writes_of_steps(steps: Sequence[Step]) -> list[FileWrite]:
    found = []
    for step in steps:
        content = step.after.content
        found.append(FileWrite(os.fsdecode(step.path), None if content is None else digest_of(content).hex()))
    return found


def stored_entry(entry: Entry) -> list[str] | None:
    return None if entry is None else [entry.mode, entry.oid]


def _entry(stored: Sequence[str] | None) -> Entry:
    return None if stored is None else TreeEntry(stored[0], stored[1])


def context_of(hunks: Sequence[str]) -> int:
    """Return the context that the hunks were asked for with; their digests begin with it."""
    found = {one.partition(".")[0] for one in hunks}
    if len(found) != 1 or not (context := found.pop()).isdecimal() or len(context) > 4:
        raise Conflict(
            "These hunks belong to different diffs. Use the hunks of one answer.", reason="changed_since"
        )
    return int(context)


def chosen_hunks(diff: FileDiff, wish: RevertWish) -> list[Hunk]:
    known = {hunk_digest(one, diff.digest, diff.context): one for one in diff.hunks or ()}
    wanted: Collection[str] = dict.fromkeys(wish.hunks or ())
    if not all(one in known for one in wanted):
        raise changed_since(wish.path)
    return [known[one] for one in wanted]


def taken_lines(hunks: Sequence[Hunk]) -> list[list[list[str]]]:
    """Return the lines of each hunk, sign and text, as they are stored; without hunks beyond the limit."""
    found: list[list[list[str]]] = []
    left = MOST_TAKEN
    for hunk in hunks:
        left -= len(hunk.text)
        if left >= 0:
            found.append([[kind, line] for kind, line in shown_lines(hunk)])
    return found


def check_names(paths: Sequence[bytes]) -> None:
    for path in paths:
        if any(map(is_protected, os.fsdecode(path).split("/"))):
            raise Conflict(
                f"{address_of(path)} has a protected name, which other programs act on. Change it with git.",
                reason="protected_name",
            )


def not_changed(wish: RevertWish) -> KagedError:
    if wish.digest is not None or wish.hunks is not None:
        return changed_since(wish.path)
    shown = address_of(wish.path)
    return NotFound(f"{shown} does not differ from the baseline {wish.since}.", reason="not_changed")


def not_kept(path: bytes) -> Conflict:
    return Conflict(f"The old content of {address_of(path)} is not kept.", reason="not_kept")


def changed_since(path: bytes, *, undoing: bool = False) -> Conflict:
    shown = address_of(path)
    why = (
        "the revert; nothing was undone."
        if undoing
        else "the diff; nothing was reverted. Get the diff again."
    )
    return Conflict(
        f"{shown} has changed since {why}",
        reason="changed_since",
        details={"path": shown},
    )
