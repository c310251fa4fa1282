"""What changes are compared with: the session's start, a checkpoint, the last commit, the branch point.

Owns: finding the tree of a baseline, and what of it git's index knows to be unchanged. Never: comparing.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.errors import Conflict, NotFound, ValidationFailed
from app.harness.checkpoints.git_objects import GitObjects
from app.harness.checkpoints.staged_files import LISTING, StagedFile, staged_files
from app.harness.checkpoints.stored_objects import TreeEntry
from app.harness.sessions.file_rollback import tree_at
from app.harness.sessions.point import point_at
from app.storage.models import Checkpoint, Worktree
from app.storage.unit_of_work import UnitOfWork

CHECKPOINT = "checkpoint:"
SINCE = "start, head, base, or checkpoint: and a checkpoint's id"
_SUBMODULE = "160000"


@dataclass(frozen=True, slots=True)
class Baseline:
    """`tree` is None where nothing was noted; `problem` says why, and is None when there is nothing to note
    yet. `at` is when it was, in milliseconds: edits before it are none of its changes. `in_git` says that it
    is a commit's."""

    tree: str | None
    at: int = 0
    problem: str | None = None
    in_git: bool = False


def check_since(since: str) -> None:
    """Raise `ValidationFailed` for what names no baseline."""
    if since not in ("start", "head", "base") and not re.fullmatch(r"checkpoint:ckp_\w{26}", since):
        raise ValidationFailed(f"Compare with {SINCE}.", fields={"since": f"must be {SINCE}"})


def noted_baseline(uow: UnitOfWork, session_id: str, since: str) -> Baseline:
    """Return the baseline of the session's start or of a checkpoint. Raises `NotFound`."""
    if since.startswith(CHECKPOINT):
        return _of_checkpoint(uow, session_id, since.removeprefix(CHECKPOINT))
    notes = [note for note in uow.worktrees.of_session(session_id) if note.message_id or note.checkpoint_id]
    if notes:
        return _of_note(notes[0], 0)
    begun = uow.messages.last_position(session_id) > 0
    return Baseline(None, problem="the files were not noted at the session's start" if begun else None)


def _of_checkpoint(uow: UnitOfWork, session_id: str, checkpoint_id: str) -> Baseline:
    checkpoint: Checkpoint | None = uow.checkpoints.get(checkpoint_id)
    if checkpoint is None or checkpoint.session_id != session_id:
        raise NotFound(f"There is no checkpoint {checkpoint_id} in this session.")
    own = uow.worktrees.of_checkpoint(session_id, checkpoint_id)
    if own is not None:
        return _of_note(own, checkpoint.created_at)
    try:
        point = point_at(uow, session_id, checkpoint.message_cursor)
        return Baseline(tree_at(uow, session_id, point, None), checkpoint.created_at)
    except Conflict as problem:
        return Baseline(None, checkpoint.created_at, problem=problem.message)


def _of_note(note: Worktree, at: int) -> Baseline:
    return Baseline(note.tree, at, problem=None if note.tree is not None else note.detail or note.state)


async def commit_of(repository: GitObjects, since: str) -> str | None:
    """Return the commit of `head` or `base`; None before the first one. Raises `GitProblem`."""
    head = await _commit(repository, "HEAD")
    if head is None or since == "head":
        return head
    for other in ("@{upstream}", "refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"):
        if await _commit(repository, other) is None:
            continue
        found = await repository.commands.run(["merge-base", "HEAD", other], codes=(0, 1))
        if found.strip():
            return found.decode().strip()
    return head


async def _commit(repository: GitObjects, name: str) -> str | None:
    asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    found = (await repository.commands.run(asked, codes=(0, 1, 128))).decode().strip()
    return found or None


async def files_of_commit(repository: GitObjects, commit: str | None) -> dict[bytes, TreeEntry]:
    """Return the files that a commit has below the project's root. Submodules are left out."""
    if commit is None:
        return {}
    listed = await repository.commands.run(["ls-tree", "-r", "-z", commit])
    return await asyncio.to_thread(_files, listed)


def _files(listed: bytes) -> dict[bytes, TreeEntry]:
    found = {}
    for line in listed.split(b"\0"):
        head, tab, name = line.partition(b"\t")
        if tab:
            mode, _, oid = head.decode().split()[:3]
            if mode != _SUBMODULE:
                found[name] = TreeEntry(mode, oid)
    return found


async def unchanged_by_index(
    repository: GitObjects, names: Collection[bytes], then: Mapping[bytes, TreeEntry]
) -> set[bytes]:
    """Return those of the files that are as a commit has them by git's index: what was checked out by filters
    (line ends, large files elsewhere) differs in its bytes, and sparse checkouts leave files out."""
    if not names:
        return set()
    few = sorted(names) if len(names) <= 500 else ()
    listed = await repository.commands.run(
        [*LISTING, *(map(os.fsdecode, few) if few else ["."])],
        environment={"GIT_LITERAL_PATHSPECS": "1"},
    )
    return await asyncio.to_thread(_as_staged, repository.root, listed, names, then)


def _as_staged(
    root: Path, listed: bytes, names: Collection[bytes], then: Mapping[bytes, TreeEntry]
) -> set[bytes]:
    return {
        name
        for name, staged in staged_files(listed)
        if name in names
        and then.get(name) == staged.entry
        and (staged.is_skipped or _is_as_staged(root, name, staged))
    }


def _is_as_staged(root: Path, name: bytes, staged: StagedFile) -> bool:
    try:
        return staged.is_as(os.lstat(os.path.join(os.fsencode(root), name)))
    except OSError:
        return False
