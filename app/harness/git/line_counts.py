"""How many lines of each file are added and deleted, as the list of a commit shows them.

Owns: git's count of lines, staged and not. Never: which files differ (`status`), nor their lines (`staging`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.harness.git.repository import Repository
from app.harness.git.status import FileState

_NUMBERS = (
    "diff", "--numstat", "-z", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames",
    "--no-relative", "--ignore-submodules=dirty",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LineCounts:
    additions: int
    deletions: int


@dataclass(frozen=True, slots=True)
class FileCounts:
    """Those of some files by name. A file without lines to count, as a binary one, is in neither."""

    staged: Mapping[bytes, LineCounts]
    unstaged: Mapping[bytes, LineCounts]


NO_COUNTS = FileCounts({}, {})


async def line_counts_of(repository: Repository, files: Sequence[FileState]) -> FileCounts:
    """Count the lines of files in conflict, untracked files and submodules nowhere. Raises `GitProblem`."""
    countable = [one for one in files if one.conflict is None and not one.submodule]
    staged = [one for one in countable if one.staged is not None]
    unstaged = [one.name for one in countable if one.unstaged is not None]
    # Git sees a rename only where it looks at both names.
    old = [one.old_name for one in staged if one.old_name is not None]
    of_index, of_files = await asyncio.gather(
        _counted(repository, ["--cached"], [one.name for one in staged] + old),
        _counted(repository, [], unstaged),
    )
    return FileCounts(of_index, of_files)


async def _counted(
    repository: Repository, which: Sequence[str], names: Sequence[bytes]
) -> dict[bytes, LineCounts]:
    if not names:
        return {}
    told = await repository.ask([*_NUMBERS, *which, "--", *names])
    found = {}
    for name, counts in _read(told):
        here = repository.below(name)
        if here is not None:
            found[here] = counts
    return found


def _read(told: bytes) -> Iterator[tuple[bytes, LineCounts]]:
    """Yield the files that git has counted: `ADDED TAB DELETED TAB NAME`, with an empty name before the old
    and the new one of a rename, and `-` for the numbers of a binary file."""
    fields = iter(told.split(b"\0"))
    for field in fields:
        added, _, rest = field.partition(b"\t")
        deleted, _, name = rest.partition(b"\t")
        if rest and not name:
            next(fields)
            name = next(fields)
        if added.isdigit() and deleted.isdigit():
            yield name, LineCounts(int(added), int(deleted))
