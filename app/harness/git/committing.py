"""Commits: of what is staged, or of some files as they are.

Owns: when a commit is refused, and what git is asked. Never: who may commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.errors import ValidationFailed
from app.harness.git.index_change import IndexChange
from app.harness.git.refusals import (
    MAX_TEXT,
    conflicts,
    hook_failed,
    in_progress,
    must_sign,
    no_identity,
    nothing_to_commit,
)
from app.harness.git.repository import HOOK_SECONDS, Repository
from app.harness.git.staging import as_last_commit, has_commit, stage, take_in, unmerged
from app.harness.git.status import operation_of
from app.tools.processes.foreign_text import clean

_COMMIT = ("commit", "--quiet", "--no-status", "--cleanup=whitespace", "--no-gpg-sign", "--allow-empty")
_FORMAT = "--format=%H%x00%P%x00%s"


@dataclass(frozen=True, slots=True)
class CommitWish:
    """What is to be committed: what is staged, or with `paths` these files as they are, and nothing else.
    Without a message, an amended commit keeps its own."""

    message: str | None = None
    paths: tuple[bytes, ...] = ()
    amend: bool = False
    hooks: bool = False
    allow_empty: bool = False
    unsigned: bool = False


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit that was made. `files` are the names of what it changes, in the whole repository."""

    commit: str
    parents: tuple[str, ...]
    branch: str | None
    subject: str
    files: tuple[bytes, ...] = field(repr=False)


async def make_commit(repository: Repository, change: IndexChange, wish: CommitWish) -> Committed:
    """Make the commit on a copy of the index, which the caller installs. Raises `Conflict` with the reason,
    `GitProblem`."""
    await _refuse(repository, wish)
    index = change.copy
    if wish.paths:
        index = change.beside("commit")
        await asyncio.to_thread(change.copy_to, index)
        await as_last_commit(repository, index)
        await stage(repository, index, wish.paths)
        await take_in(repository, change.copy, wish.paths)  # which may have a deletion already
    merging = await operation_of(repository) == "merge"
    if not (wish.allow_empty or merging):
        await _refuse_empty(repository, index, wish)
    arguments = [*_COMMIT, *(["--amend"] if wish.amend else [])]
    arguments += ["--no-edit"] if wish.message is None else ["--file=-"]
    given = (wish.message or "").encode("utf-8", "surrogatepass")
    if wish.hooks:
        await _with_hooks(repository, arguments, given, index)
    else:
        await repository.change([*arguments, "--no-verify"], given, index=index)
    return await _made(repository)


async def _refuse(repository: Repository, wish: CommitWish) -> None:
    if not (wish.message or "").strip() and not (wish.amend and wish.message is None):
        raise ValidationFailed("A commit needs a message.", fields={"message": "is empty"})
    operation = await operation_of(repository)
    if operation is not None and operation != "merge":
        raise in_progress(operation, "nothing is committed here")
    if operation == "merge" and (wish.paths or wish.amend):
        raise in_progress(operation, "only all that is staged can be committed")
    files = await unmerged(repository)
    if files:
        raise conflicts(files)
    lacks = repository.settings.missing_identity
    if lacks:
        raise no_identity(lacks)
    if repository.settings.wants_signatures and not wish.unsigned:
        raise must_sign()
    if wish.amend and not await has_commit(repository):
        raise nothing_to_commit("there is no commit to amend")


async def _refuse_empty(repository: Repository, index: Path, wish: CommitWish) -> None:
    """Raise `Conflict` when the commit would be the same as the one before it."""
    base = "HEAD^" if wish.amend else "HEAD"
    known = await repository.ask(["rev-parse", "--quiet", "--verify", f"{base}^{{commit}}"], codes=(0, 1))
    if not known.strip():
        held = await repository.ask(["ls-files", "-z", "--full-name", "--", "."], index=index)
        if not held and not wish.amend:
            raise nothing_to_commit("nothing is staged")
        return
    differs = await repository.ask(
        ["diff-index", "--cached", "--name-only", "-z", "--ignore-submodules=none", "--no-ext-diff", base],
        index=index,
    )
    if not differs:
        why = "the files are as the last commit has them" if wish.paths else "nothing is staged"
        raise nothing_to_commit("the amended commit would change nothing" if wish.amend else why)


async def _with_hooks(repository: Repository, arguments: Sequence[str], given: bytes, index: Path) -> None:
    before = await _last_commit(repository)
    done = await repository.with_hooks(arguments, given, index=index)
    if done.exit_code == 0 and not done.timed_out and not done.truncated:
        return
    if await _last_commit(repository) != before:
        return  # only a hook that runs after the commit went wrong
    output = clean((done.stdout + done.stderr).decode("utf-8", "replace"), MAX_TEXT).strip()
    why = f"exit code {done.exit_code}"
    if done.timed_out:
        why = f"it took more than {HOOK_SECONDS:.0f} s"
    elif done.truncated:
        why = "it printed too much"
    raise hook_failed(output, why)


async def _last_commit(repository: Repository) -> bytes:
    return await repository.ask(["rev-parse", "--quiet", "--verify", "HEAD^{commit}"], codes=(0, 1))


async def _made(repository: Repository) -> Committed:
    told = await repository.ask(
        ["log", "--max-count=1", "--no-notes", "--no-show-signature", _FORMAT, "HEAD"]
    )
    commit_id, parents, subject = told.decode("utf-8", "replace").rstrip("\n").split("\0")
    listing = ["diff-tree", "-r", "-z", "--root", "--no-commit-id", "--name-only", "--no-renames"]
    files = await repository.ask([*listing, "-m", "--first-parent", commit_id])
    branch = await repository.ask(["symbolic-ref", "--quiet", "--short", "HEAD"], codes=(0, 1))
    return Committed(
        commit_id,
        tuple(parents.split()),
        branch.decode("utf-8", "backslashreplace").strip() or None,
        clean(subject, 1_000),
        tuple(name for name in files.split(b"\0") if name),
    )
