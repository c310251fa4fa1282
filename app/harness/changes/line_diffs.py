"""Differences of texts, line by line, as git finds them.

Owns: counts and hunks of pairs of contents, and similar contents. The texts lie in a folder of the daemon
while git compares them: no configuration, attribute or program of a repository has a part in it. Never: whose
contents these are.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import xxhash

from app.harness.changes.line_counts import few_differences
from app.harness.git_output.hunks import Hunk, read_diff
from app.ids import new_id
from app.tools.processes.git_commands import NO_CONFIGURATION, GitCommands
from app.tools.project_files.text_format import TextFormat, to_utf8

T = TypeVar("T")

MOST_LIKE_BYTES = 1024 * 1024
LEFTOVER_SECONDS = 3600.0
_FOLDER = "compare-"
_DIFF = (
    "diff", "--no-index", "--no-ext-diff", "--no-textconv", "--no-color", "--text",
    "--diff-algorithm=myers", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
_NO_REPOSITORY = NO_CONFIGURATION | {"GIT_DIR": "/dev/null/none", "GIT_ATTR_NOSYSTEM": "1"}


@dataclass(frozen=True, slots=True)
class Counts:
    """How many lines were added and deleted; of binary contents neither is known, and where `note` says
    why."""

    additions: int | None
    deletions: int | None
    binary: bool
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A content as lines are compared: in UTF-8, with its encoding."""

    body: bytes
    format: TextFormat

    @classmethod
    def of(cls, content: bytes) -> Text | None:
        """None for a binary content."""
        found = to_utf8(content)
        return None if found is None else cls(*found)


Pair = tuple[Text, Text]


class LineDiffs:
    """Compares for one project. `folder` is where git may read and the daemon write."""

    def __init__(self, commands: GitCommands, folder: Path) -> None:
        self._commands, self._folder = commands, folder

    async def counts(self, pairs: Sequence[Pair]) -> list[Counts]:
        """Return the counts of each pair. Raises `GitProblem`."""
        few = await asyncio.to_thread(lambda: [few_differences(one.body, other.body) for one, other in pairs])
        many = [at for at, count in enumerate(few) if count is None]
        found = [Counts(*(count or (0, 0)), binary=False) for count in few]
        for at, counted in zip(many, await self._counts([pairs[at] for at in many]), strict=True):
            found[at] = counted
        return found

    async def _counts(self, pairs: Sequence[Pair]) -> list[Counts]:
        """As `counts`, of pairs that differ in many lines."""
        if not pairs:
            return []
        found = [Counts(0, 0, binary=False)] * len(pairs)

        async def compare(folder: Path) -> None:
            answer = await self._git("--numstat", "-z", "--no-renames", folder=folder)
            fields = answer.split(b"\0")
            for head, old in zip(fields[::3], fields[1::3], strict=False):
                added, deleted = head.split(b"\t")[:2]
                at = int(old.rpartition(b"/")[2])
                found[at] = Counts(int(added), int(deleted), binary=False)

        await self._among([one.body for one, _ in pairs], [other.body for _, other in pairs], compare)
        return found

    async def hunks(self, pair: Pair, context: int) -> list[Hunk]:
        """Return the hunks of one pair. Raises `GitProblem`."""

        async def compare(folder: Path) -> bytes:
            return await self._git(f"--unified={context}", "--no-renames", folder=folder)

        answer = await self._among([pair[0].body], [pair[1].body], compare)
        return await asyncio.to_thread(lambda: read_diff(answer).hunks)

    async def similar(self, old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
        """Return the pairs of contents that are alike by half, by their places. Raises `GitProblem`."""
        if not old or not new:
            return []

        async def compare(folder: Path) -> bytes:
            return await self._git("-M50%", f"-l{len(old) * len(new)}", "--name-status", "-z", folder=folder)

        answer = await self._among(old, new, compare, apart=True)
        fields, found, at = answer.split(b"\0"), [], 0
        while at + 1 < len(fields):
            if fields[at].startswith(b"R"):
                places = [int(name.rpartition(b"/")[2][1:]) for name in fields[at + 1 : at + 3]]
                found.append((places[0], places[1]))
                at += 1
            at += 2
        return found

    # -- inside -----------------------------------------------------------------------------

    async def _git(self, *options: str, folder: Path) -> bytes:
        sides = (str(folder / "a"), str(folder / "b"))
        # 1: there are differences.
        return await self._commands.run([*_DIFF, *options, *sides], environment=_NO_REPOSITORY, codes=(0, 1))

    async def _among(
        self,
        old: Sequence[bytes],
        new: Sequence[bytes],
        compare: Callable[[Path], Awaitable[T]],
        *,
        apart: bool = False,
    ) -> T:
        """Lay the contents side by side while git compares them. With `apart` none has a counterpart."""
        folder = self._folder / f"{_FOLDER}{new_id('wtr')}"
        try:
            await asyncio.to_thread(_lay, folder, old, new, apart)
            return await compare(folder)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _lay(folder: Path, old: Sequence[bytes], new: Sequence[bytes], apart: bool) -> None:
    for leftover in folder.parent.glob(f"{_FOLDER}*"):
        try:
            if time.time() - leftover.stat().st_mtime > LEFTOVER_SECONDS:
                shutil.rmtree(leftover, ignore_errors=True)
        except OSError:
            continue
    for name, contents, mark in (("a", old, "d" if apart else ""), ("b", new, "n" if apart else "")):
        (folder / name).mkdir(parents=True)
        for at, content in enumerate(contents):
            (folder / name / f"{mark}{at}").write_bytes(content)


def hunk_digest(hunk: Hunk, state: str, context: int) -> str:
    """Return what names a hunk of a difference in this `state`; it begins with the context."""
    head = f"{state}\0{hunk.old_start},{hunk.new_start}\0".encode()
    return f"{context}.{xxhash.xxh3_128_hexdigest(head + hunk.text)}"
