"""Staging and unstaging, by file and by hunk.

Owns: what of it git is asked, and which hunks make which content. Never: the lock of the index
(`index_change`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.errors import PayloadTooLarge, ValidationFailed
from app.harness.git.refusals import changed_since, conflicts, daemons_own, filtered
from app.harness.git.repository import Repository
from app.harness.git_output.hunks import DoesNotFit, FileDiff, applied, chosen, read_diff
from app.tools.processes.git_commands import TooMuchOutput

MAX_DIFF = 16 * 1024 * 1024
_DIFF = (
    "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--no-relative", "--unified=3",
    "--ws-error-highlight=none", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/",
    "--submodule=short", "--ignore-submodules=dirty",
)  # fmt: skip
_LISTING = ("ls-files", "-z", "--exclude-standard")
_UPDATE = ("update-index", "-z")
_NAMES = ("--pathspec-from-file=-", "--pathspec-file-nul")
_PLAIN = frozenset({b"unspecified", b"unset", b"set"})
"""Values of the attribute `filter` that name no filter."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A file as the index or the last commit has it: mode, and the name of its content."""

    mode: str
    oid: str


async def diff_of(
    repository: Repository, name: bytes, *, staged: bool, index: Path | None = None
) -> FileDiff:
    """Return the difference of one file: from the index to the working tree, or from the last commit to the
    index. Raises `GitProblem`, `PayloadTooLarge`, `ValidationFailed` for a folder, and `Conflict` for a file
    of the daemon."""
    if not staged and repository.is_own(repository.prefix + name):
        raise daemons_own([name])
    which = ["--cached"] if staged else []
    try:
        text = await repository.ask([*_DIFF, *which, "--", name], index=index, most=MAX_DIFF)
        await _refuse_folder(repository, [*which, "--", name], name, index)
        if not text and not staged and await _is_untracked(repository, name, index):
            nothing: list[str | bytes] = [*_DIFF, "--no-index", "--", os.devnull, b"./" + name]
            text = await repository.ask(nothing, codes=(0, 1), most=MAX_DIFF)
    except TooMuchOutput:
        raise PayloadTooLarge(
            f"The diff of this file is larger than {MAX_DIFF // (1024 * 1024)} MB: stage it as a whole.",
            reason="diff_too_large",
        ) from None
    return await asyncio.to_thread(read_diff, text)


async def stage(repository: Repository, index: Path, names: Sequence[bytes]) -> None:
    """Take files into the index as they are now, also those that are gone. Raises `Conflict` (`filtered`).

    Not by `git add`: that looks for changes in submodules, with the programs that their settings name. A
    repository in the project that is no submodule is left out."""
    await repository.ask([*_LISTING, "--error-unmatch", "--cached", "--others", "--", *names], index=index)
    await take_in(repository, index, names)


async def take_in(repository: Repository, index: Path, names: Sequence[bytes]) -> None:
    """As `stage`, also with names that neither the index nor the working tree has."""
    changed, gone = await _differing(repository, index, names)
    await _refuse_filtered(repository, changed)
    # What is gone comes first: a folder may be where a file was.
    taken = [*gone, *(name for name in changed if not name.endswith(b"/"))]
    if taken:
        given = b"\0".join(taken) + b"\0"
        await repository.change([*_UPDATE, "--add", "--remove", "--replace", "--stdin"], given, index=index)


async def unstage(repository: Repository, index: Path, names: Sequence[bytes]) -> None:
    """Have files in the index as the last commit has them; without a commit they are no longer in it."""
    await repository.change(["reset", "--quiet", *_NAMES], b"\0".join(names), index=index)


async def stage_hunks(repository: Repository, index: Path, name: bytes, digests: Collection[str]) -> None:
    """Take some hunks of a file into the index. Raises `Conflict` (`changed_since`)."""
    diff = await diff_of(repository, name, staged=False, index=index)
    hunks = await asyncio.to_thread(chosen, diff.hunks, digests)
    if hunks is None:
        raise changed_since(name)
    now = await _in_index(repository, index, name)
    gone = not await _is_there(repository, name)
    if now is None or (gone and len(hunks) == len(diff.hunks)):
        await stage(repository, index, [name])
        return
    await _refuse_filtered(repository, [name])
    old = await repository.ask(["cat-file", "blob", now.oid])
    try:
        content = await asyncio.to_thread(applied, old, hunks)
    except DoesNotFit:
        raise changed_since(name) from None
    await _put(repository, index, name, now.mode, content)


async def unstage_hunks(repository: Repository, index: Path, name: bytes, digests: Collection[str]) -> None:
    """Take some hunks of a file out of the index. Raises `Conflict` (`changed_since`)."""
    diff = await diff_of(repository, name, staged=True, index=index)
    hunks = await asyncio.to_thread(chosen, diff.hunks, digests)
    if hunks is None:
        raise changed_since(name)
    now = await _in_index(repository, index, name)
    before = await _in_commit(repository, name)
    taken = {id(hunk) for hunk in hunks}
    kept = [hunk for hunk in diff.hunks if id(hunk) not in taken]
    if not kept:
        await unstage(repository, index, [name])
        return
    old = b"" if before is None else await repository.ask(["cat-file", "blob", before.oid])
    try:
        content = await asyncio.to_thread(applied, old, kept)
    except DoesNotFit:
        raise changed_since(name) from None
    mode = now.mode if now is not None else before.mode if before is not None else "100644"
    await _put(repository, index, name, mode, content)


async def unmerged(repository: Repository, index: Path | None = None) -> list[bytes]:
    """Return the files of the whole repository that have conflicts, by the names there."""
    listed = await repository.ask(
        ["ls-files", "--unmerged", "--full-name", "-z", "--", _top(repository)], index=index
    )
    return list(dict.fromkeys(line.partition(b"\t")[2] for line in listed.split(b"\0") if line))


async def as_last_commit(repository: Repository, index: Path) -> None:
    """Make an index that of the last commit; what it knows of unchanged files stays."""
    await repository.change(["reset", "--quiet", "--", _top(repository)], index=index)


async def filters_of(
    repository: Repository, names: Sequence[bytes], *, index: Path | None
) -> list[tuple[bytes, str]]:
    """Return those of the files that have a filter which git would run, each with its name. `names` are
    relative to the project; with `index` the attributes are those in that index."""
    which = ["--cached"] if index is not None else []
    told = await repository.ask(
        ["check-attr", *which, "--stdin", "-z", "filter"], b"\0".join(names) + b"\0", index=index
    )
    fields = told.split(b"\0")
    found = []
    for name, value in zip(fields[::3], fields[2::3], strict=False):
        driver = value.decode("utf-8", "surrogateescape")
        if value not in _PLAIN and repository.settings.is_filtered(driver):
            found.append((name, driver))
    return found


async def _differing(
    repository: Repository, index: Path, names: Sequence[bytes]
) -> tuple[list[bytes], list[bytes]]:
    """Return the files that are not as the index has them: those that are there, and those that are gone."""
    differing = await repository.ask([*_LISTING, "--modified", "--others", "--", *names], index=index)
    deleted = await repository.ask([*_LISTING, "--deleted", "--", *names], index=index)
    own = {name for name in differing.split(b"\0") if repository.is_own(repository.prefix + name)}
    if own & {*names}:
        raise daemons_own(own & {*names})
    gone = {*deleted.split(b"\0")} - {b""} - own
    return sorted({*differing.split(b"\0")} - own - gone - {b""}), sorted(gone)


async def _refuse_filtered(repository: Repository, names: Sequence[bytes]) -> None:
    """Raise `Conflict` (`filtered`) when git would have to run a program to read one of the files."""
    found = await filters_of(repository, names, index=None) if names else []
    if found:
        raise filtered([name for name, _ in found], found[0][1])


async def _in_index(repository: Repository, index: Path, name: bytes) -> Staged | None:
    listed = await repository.ask(["ls-files", "--stage", "-z", "--", name], index=index)
    found = [line.partition(b"\t") for line in listed.split(b"\0") if line]
    exact = [head.decode().split() for head, _, path in found if path == name]
    if len(exact) > 1:
        raise conflicts([name])
    if not exact:
        if found:
            raise one_file()
        return None
    return Staged(exact[0][0], exact[0][1])


async def _in_commit(repository: Repository, name: bytes) -> Staged | None:
    if not await has_commit(repository):
        return None
    listed = await repository.ask(["ls-tree", "-z", "HEAD", "--", name])
    for line in listed.split(b"\0"):
        head, _, path = line.partition(b"\t")
        if path == name:
            mode, _kind, oid = head.decode().split()
            return Staged(mode, oid)
    return None


async def has_commit(repository: Repository) -> bool:
    """Tell whether HEAD leads to a commit."""
    told = await repository.ask(["rev-parse", "--quiet", "--verify", "HEAD^{commit}"], codes=(0, 1))
    return bool(told.strip())


async def _is_untracked(repository: Repository, name: bytes, index: Path | None) -> bool:
    listed = await repository.ask(["ls-files", "--others", "-z", "--", name], index=index)
    if any(one.startswith(name + b"/") and one != name + b"/" for one in listed.split(b"\0")):
        raise one_file()
    return listed == name + b"\0"


async def _refuse_folder(
    repository: Repository, asked: Sequence[str | bytes], name: bytes, index: Path | None
) -> None:
    """Raise `ValidationFailed` when the difference that is `asked` for is of other files than this one."""
    listing = ["diff", "--name-only", "-z", "--no-ext-diff", "--no-renames", "--no-relative"]
    differing = await repository.ask([*listing, "--ignore-submodules=dirty", *asked], index=index)
    if {*differing.split(b"\0")} - {b"", repository.prefix + name}:
        raise one_file()


def one_file() -> ValidationFailed:
    return ValidationFailed("Hunks belong to one file.", fields={"path": "is a folder; give one file"})


async def _is_there(repository: Repository, name: bytes) -> bool:
    gone = await repository.ask(["ls-files", "--deleted", "-z", "--", name])
    return gone != name + b"\0"


async def _put(repository: Repository, index: Path, name: bytes, mode: str, content: bytes) -> None:
    made = await repository.change(["hash-object", "-w", "--stdin", "--no-filters"], content, index=index)
    line = f"{mode} {made.decode().strip()}\t".encode() + repository.prefix + name + b"\0"
    await repository.change([*_UPDATE, "--index-info"], line, index=index)


def _top(repository: Repository) -> bytes:
    return b"/".join(b".." for _ in repository.prefix.split(b"/")[:-1]) or b"."
