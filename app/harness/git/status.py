"""What has changed in a project since its last commit, and what of it is staged.

Owns: git's status, and which operation is under way. Never: changing anything.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from app.harness.git.repository import Repository
from app.harness.git_output.status import UNTRACKED, StatusLine, status_head, status_lines
from app.tools.processes.git_commands import TooMuchOutput
from app.workspace.file_status import FileStatus

Operation = Literal["rebase", "am", "merge", "cherry_pick", "revert", "bisect"]

_CHANGES: dict[str, FileStatus] = {
    "A": "added", "M": "modified", "D": "deleted", "R": "renamed", "C": "added", "T": "modified",
}  # fmt: skip
_CONFLICTS = {
    "DD": "both_deleted", "AU": "added_by_us", "UD": "deleted_by_them", "UA": "added_by_them",
    "DU": "deleted_by_us", "AA": "both_added", "UU": "both_modified",
}  # fmt: skip
_MARKS: tuple[tuple[str, Operation], ...] = (
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry_pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)
_STATUS = ("status", "--porcelain=v2", "-z", "--branch", "--ignore-submodules=dirty", "--find-renames")


@dataclass(frozen=True, slots=True)
class FileState:
    """One file that differs. `staged` is its change from the last commit to the index, `unstaged` that from
    the index to the working tree; `conflict` says how both sides changed it."""

    name: bytes
    staged: FileStatus | None = None
    unstaged: FileStatus | None = None
    untracked: bool = False
    conflict: str | None = None
    old_name: bytes | None = None
    submodule: bool = False

    @property
    def could_be_lost(self) -> bool:
        """Whether it holds something that is in no commit. A switch leaves the working tree of a submodule
        alone."""
        unstaged = self.unstaged is not None and not self.submodule
        return self.staged is not None or unstaged or self.untracked or self.conflict is not None


@dataclass(slots=True)
class GitStatus:
    """The status of a project. Names are relative to its folder. `commit` is None before the first one,
    `branch` None when HEAD is detached. `outside` counts what is staged elsewhere in the repository.
    `left_out` are files of the daemon, which git cannot compare."""

    commit: str | None = None
    branch: str | None = None
    upstream: str | None = None
    ahead: int | None = None
    behind: int | None = None
    operation: Operation | None = None
    outside: int = 0
    files: list[FileState] = field(default_factory=list)
    left_out: list[bytes] = field(default_factory=list)


async def status_of(repository: Repository, *, everywhere: bool = False) -> GitStatus:
    """Return the status of the project; with `everywhere` of the whole repository, by the names there.

    Where there are too many untracked files to list, their folders are. Raises `GitProblem`."""
    where = [] if everywhere else ["--", "."]
    try:
        listed = await repository.ask([*_STATUS, "--untracked-files=all", *where])
    except TooMuchOutput:
        listed = await repository.ask([*_STATUS, "--untracked-files=normal", *where])
    found = _status(listed, await operation_of(repository))
    found.files, found.left_out = await asyncio.to_thread(_files, repository, listed, everywhere=everywhere)
    if repository.prefix and not everywhere and found.commit is not None:
        staged = await repository.ask(
            ["diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-relative"]
        )
        found.outside = sum(1 for one in staged.split(b"\0") if one and repository.below(one) is None)
    return found


async def operation_of(repository: Repository) -> Operation | None:
    """Return what has been begun with git and not ended."""
    return await asyncio.to_thread(operation_at, repository.folders.own)


def operation_at(own: Path) -> Operation | None:
    """Return what has been begun and not ended in the repository's folder `own`. Blocks."""
    return next((name for mark, name in _MARKS if os.path.lexists(own / mark)), None)


def _files(repository: Repository, listed: bytes, *, everywhere: bool) -> tuple[list[FileState], list[bytes]]:
    """Return the files of a status, sorted by name, and the daemon's own files, which have no status."""
    files, left_out = [], []
    for line in status_lines(listed):
        name = line.name if everywhere else repository.below(line.name)
        if name is None:
            continue
        old = line.old_name
        old = old if everywhere or old is None else repository.below(old)
        state = _file(line, name, old)
        if repository.is_own(line.name) and state.conflict is None:
            left_out.append(name)
            if state.staged is None:
                continue
            state = replace(state, unstaged=None)
        files.append(state)
    return sorted(files, key=lambda one: one.name), left_out


def _file(line: StatusLine, name: bytes, old_name: bytes | None) -> FileState:
    if line.marks == UNTRACKED:
        return FileState(name, untracked=True)
    if line.is_conflict:
        return FileState(name, conflict=_CONFLICTS.get(line.marks, "both_modified"))
    staged, unstaged = _CHANGES.get(line.marks[:1]), _CHANGES.get(line.marks[1:])
    return FileState(name, staged, unstaged, old_name=old_name, submodule=line.is_submodule)


def _status(listed: bytes, operation: Operation | None) -> GitStatus:
    """Return a status by its head, still without files."""
    head = status_head(listed)
    found = GitStatus(
        head.get("branch.oid"), head.get("branch.head"), head.get("branch.upstream"), operation=operation
    )
    if "branch.ab" in head:
        ahead, _, behind = head["branch.ab"].partition(" ")
        found.ahead, found.behind = abs(int(ahead)), abs(int(behind))
    return found
