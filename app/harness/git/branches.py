"""Branches: listing them, making one, switching to one.

Owns: what git is asked, and when a switch is refused. Never: remote branches beyond their names.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.errors import Conflict, NotFound, ValidationFailed
from app.harness.git.index_change import IndexChange
from app.harness.git.refusals import filtered, in_progress, would_overwrite
from app.harness.git.repository import WRITES_FILES, Repository
from app.harness.git.staging import filters_of, has_commit
from app.harness.git.status import operation_of, status_of
from app.tools.processes.foreign_text import clean
from app.tools.processes.git_commands import GitProblem

_FORMAT = (
    "%(refname)%00%(objectname)%00%(upstream:short)%00%(upstream:track,nobracket)%00%(worktreepath)%00"
    "%(HEAD)%00%(contents:subject)%00"
)
_HEADS, _REMOTES = "refs/heads/", "refs/remotes/"
_FIELDS = 7


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch. `upstream_gone`: the one that it follows is not there any more. `elsewhere`: another working
    tree has it checked out."""

    name: str
    commit: str
    subject: str
    current: bool
    remote: bool
    upstream: str | None
    ahead: int
    behind: int
    upstream_gone: bool
    elsewhere: bool


async def branches_of(repository: Repository) -> list[Branch]:
    """Return the branches of the repository, its own ones first, each kind by name."""
    told = await repository.ask(["for-each-ref", f"--format={_FORMAT}", _HEADS, _REMOTES])
    fields = told.decode("utf-8", "backslashreplace").split("\0")
    found = []
    for at in range(0, len(fields) - _FIELDS, _FIELDS):
        ref, *rest = fields[at : at + _FIELDS]
        found.append(_branch(ref.removeprefix("\n"), rest))
    return [one for one in found if one is not None]


async def create_branch(repository: Repository, change: IndexChange, name: str, start: str | None) -> str:
    """Make a branch and return its commit. No upstream is set: that is a setting. Raises `Conflict`,
    `NotFound`, `ValidationFailed`."""
    await _check_name(repository, name)
    if start is None and not await has_commit(repository):
        raise Conflict("The repository has no commit that a branch could start at.", reason="no_commits")
    begins = await _commit_of(repository, start or "HEAD")
    if begins is None:
        raise NotFound(f"There is no commit or branch {clean(start, 200)!r}.", reason="unknown_revision")
    if await _commit_of(repository, _HEADS + name) is not None:
        raise Conflict(f"The branch {name} exists already.", reason="branch_exists")
    await repository.change(["branch", "--no-track", "--", name, begins], index=change.copy)
    return begins


async def switch(repository: Repository, change: IndexChange, name: str) -> str:
    """Switch to a branch and return its commit. Raises `Conflict` with the reason, `NotFound`."""
    target = await _target(repository, name)
    operation = await operation_of(repository)
    if operation is not None and operation != "bisect":
        raise in_progress(operation, "no other branch can be checked out")
    touched = await _differing(repository, target)
    states = (await status_of(repository, everywhere=True)).files
    lost = {one.name for one in states if one.name in touched and one.could_be_lost}
    lost |= {one.old_name for one in states if one.old_name is not None and one.old_name in touched}
    lost |= {name for name in touched if repository.is_own(name)}  # whether they differ is not known
    if lost:
        raise would_overwrite(lost)
    await _refuse_filtered(repository, change, target, touched)
    arguments = ["switch", "--quiet", "--no-guess", "--no-recurse-submodules", "--no-overwrite-ignore", name]
    await repository.change(arguments, index=change.copy, work=WRITES_FILES)
    return target


async def create_and_switch(repository: Repository, change: IndexChange, name: str, start: str | None) -> str:
    """Make a branch and switch to it, or do neither; return its commit."""
    begins = await create_branch(repository, change, name, start)
    try:
        return await switch(repository, change, name)
    except BaseException:
        ref = _HEADS + name
        await repository.change(["update-ref", "--no-deref", "-d", ref, begins], index=change.copy)
        raise


async def _target(repository: Repository, name: str) -> str:
    await _check_name(repository, name)
    target = await _commit_of(repository, _HEADS + name)
    if target is None:
        raise NotFound(
            f"There is no branch {name}. GET .../git/branches lists them.", reason="unknown_branch"
        )
    return target


async def _check_name(repository: Repository, name: str) -> None:
    try:
        told = await repository.ask(["check-ref-format", "--branch", name])
    except GitProblem:
        told = b""
    if name.startswith("-") or told != name.encode("utf-8", "surrogatepass") + b"\n":
        why = "is not a valid name of a branch"
        raise ValidationFailed(f"{clean(name, 200)!r} {why}.", fields={"name": why})


async def _commit_of(repository: Repository, revision: str) -> str | None:
    if revision.startswith("-") or "\0" in revision:
        return None
    asked = ["rev-parse", "--quiet", "--verify", "--end-of-options", f"{revision}^{{commit}}"]
    told = await repository.ask(asked, codes=(0, 1, 128))
    commit = told.decode().strip().split("\n")[-1]
    return commit if commit and not commit.startswith("^") else None


async def _differing(repository: Repository, target: str) -> set[bytes]:
    """Return the files, in the whole repository, that the switch changes."""
    if await has_commit(repository):
        names = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-commit-id", "HEAD", target]
    else:
        names = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", target]
    return {name for name in (await repository.ask(names)).split(b"\0") if name}


async def _refuse_filtered(
    repository: Repository, change: IndexChange, target: str, touched: set[bytes]
) -> None:
    """Raise `Conflict` (`filtered`) when git would have to run a program to write one of the files."""
    index = change.beside("target")
    await repository.change(["read-tree", target], index=index)
    up = b"../" * repository.prefix.count(b"/")
    there = await repository.ask(["ls-files", "-z", "--full-name", "--", up or b"."], index=index)
    names = sorted(touched & {*there.split(b"\0")})
    found = await filters_of(repository, [up + name for name in names], index=index) if names else []
    if found:
        raise filtered([name.removeprefix(up) for name, _ in found], found[0][1])


def _branch(ref: str, rest: list[str]) -> Branch | None:
    commit, upstream, track, worktree, head, subject = rest
    remote = ref.startswith(_REMOTES)
    if remote and ref.endswith("/HEAD"):
        return None
    counts = dict(part.split(" ") for part in track.split(", ") if " " in part)
    return Branch(
        name=ref.removeprefix(_REMOTES if remote else _HEADS),
        commit=commit,
        subject=clean(subject, 300),
        current=head == "*",
        remote=remote,
        upstream=upstream or None,
        ahead=int(counts.get("ahead", 0)),
        behind=int(counts.get("behind", 0)),
        upstream_gone=track == "gone",
        elsewhere=bool(worktree) and head != "*",
    )
