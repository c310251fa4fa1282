"""How many lines each change adds and deletes, remembered by contents.

Owns: reading both sides of changes in portions, their counts, and the digests of present contents. Never:
which files changed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.harness.changes.comparison import MOST_ALIKE, Changed, is_gone, is_new, joined
from app.harness.changes.line_diffs import MOST_LIKE_BYTES, Counts, LineDiffs, Pair, Text
from app.harness.checkpoints.file_survey import MAX_FILE_BYTES, TOO_LARGE
from app.harness.checkpoints.stored_objects import StoredObjects, TreeEntry
from app.harness.checkpoints.worktrees import Worktrees
from app.tools.processes.git_commands import GitProblem, TooMuchOutput
from app.tools.project_files.read_tracker import digest_of

PORTION = 500
PORTION_BYTES = 32 * 1024 * 1024
"""Changes whose contents are in memory at once."""
MOST_COUNTED = 5_000
MOST_KNOWN = 50_000
CHANGES = "it changes at this moment"
NOT_KEPT = "its earlier content is not kept"
NOTHING = Counts(0, 0, binary=False)
UNKNOWN = Counts(None, None, binary=False)
BINARY = Counts(None, None, binary=True)

Key = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class Sides:
    """The contents of a change: None where there is none, or where it is not known (`problem` says why)."""

    old: bytes | None
    new: bytes | None
    problem: str | None = None


class Counting:
    """The counts of one project, shared by its sessions."""

    def __init__(self, root: Path, worktrees: Worktrees) -> None:
        self._root, self._worktrees = root, worktrees
        self.diffs = LineDiffs(worktrees.git(root), worktrees.notes_folder(root))
        self.digests: dict[str, str] = {}
        """XXH3 of present contents, by object."""
        self._known: dict[Key, Counts] = {}
        self._alike: dict[tuple[frozenset[str], frozenset[str]], list[tuple[str, str]]] = {}

    def known(self, one: Changed) -> Counts:
        """Return the counts of a change, as far as they are known."""
        if one.status == "mode":
            return NOTHING
        return self._known.get(_key(one), UNKNOWN)

    async def count(self, changes: Sequence[Changed]) -> int:
        """Count what is not counted yet, up to a number; return how many are left. Raises `GitProblem`."""
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
            self.digests.clear()
        lacking = await asyncio.to_thread(self._lacking, changes)
        async for portion, sides in self._by_portions(lacking[:MOST_COUNTED]):
            await self._count(portion, sides)
        return max(0, len(lacking) - MOST_COUNTED)

    async def sides(self, changes: Sequence[Changed]) -> list[Sides]:
        """Return the contents of changes. Raises `GitProblem`: `TooMuchOutput` for several that are too large
        together."""
        present = await self._worktrees.read(self._root, [one.path for one in changes if one.now is not None])
        objects = await self._worktrees.objects(self._root)
        old, lacking = await contents_of(objects, [one.then for one in changes])
        found = []
        for one in changes:
            then = None if one.then is None else old.get(one.then.oid)
            entry, content = present.get(one.path, (None, None))
            problem = one.left_out
            if one.then is not None and then is None:
                problem = lacking[one.then.oid]
            elif one.now is not None and (entry is None or entry.oid != one.now.oid):
                problem = CHANGES
            is_now = entry is not None and one.now is not None and entry.oid == one.now.oid
            found.append(Sides(then, content if is_now else None, problem))
        return found

    async def renamed(self, changes: list[Changed]) -> list[Changed]:
        """Join deleted with similar added files; only counted contents are compared. Raises `GitProblem`."""
        gone, new = await asyncio.to_thread(_moved, changes)
        if not gone or not new:
            return changes
        key = (frozenset(_oid(one.then) for one in gone), frozenset(_oid(one.now) for one in new))
        if key not in self._alike:
            self._alike = {key: await self._look_alike(gone, new)}
        pairs: dict[bytes, bytes] = {}
        olds, news = {_oid(one.then): one for one in gone}, {_oid(one.now): one for one in new}
        for old, now in self._alike[key]:
            if old in olds and now in news:
                pairs[news[now].path] = olds[old].path
        return await asyncio.to_thread(joined, changes, pairs)

    # -- inside -----------------------------------------------------------------------------

    def _lacking(self, changes: Sequence[Changed]) -> list[Changed]:
        return [one for one in changes if one.status != "mode" and not self._is_counted(one)]

    async def _by_portions(
        self, changes: Sequence[Changed]
    ) -> AsyncIterator[tuple[Sequence[Changed], list[Sides]]]:
        """Yield changes with their contents, as many as are in memory at once. Raises `GitProblem`."""
        waiting = (await asyncio.to_thread(self._portions, changes))[::-1]
        while waiting:
            portion = waiting.pop()
            try:
                sides = await self.sides(portion)
            except TooMuchOutput:
                half = len(portion) // 2
                waiting += [portion[half:], portion[:half]]
                continue
            yield portion, sides

    def _portions(self, changes: Sequence[Changed]) -> list[list[Changed]]:
        """Divide changes by the sizes of the present files; what they were is mostly about as long."""
        found: list[list[Changed]] = [[]]
        size = 0
        for one in changes:
            try:
                length = os.lstat(os.path.join(os.fsencode(self._root), one.path)).st_size
            except OSError:
                length = 0
            if found[-1] and (len(found[-1]) >= PORTION or size + length > PORTION_BYTES):
                found.append([])
                size = 0
            found[-1].append(one)
            size += length
        return found if found[0] else []

    def _is_counted(self, one: Changed) -> bool:
        # The digest tells whether the records explain the content; it is made with the count.
        return _key(one) in self._known and (one.now is None or one.now.oid in self.digests)

    async def _count(self, changes: Sequence[Changed], sides: Sequence[Sides]) -> None:
        texts, digests = await asyncio.to_thread(lambda: (_texts(sides), [_digest(one.new) for one in sides]))
        pairs = [(at, pair) for at, pair in enumerate(texts) if pair is not None]
        counted = dict(
            zip((at for at, _ in pairs), await self._counts([pair for _, pair in pairs]), strict=True)
        )
        for at, (one, side) in enumerate(zip(changes, sides, strict=True)):
            if one.now is not None and digests[at] is not None:
                self.digests[one.now.oid] = digests[at] or ""
            if side.problem is None:
                self._known[_key(one)] = counted.get(at, BINARY)
            elif side.problem != CHANGES:
                self._known[_key(one)] = Counts(None, None, binary=False, note=side.problem)

    async def _counts(self, pairs: Sequence[Pair]) -> list[Counts]:
        try:
            return await self.diffs.counts(pairs)
        except GitProblem as problem:
            if not problem.expected:
                raise
            return [UNKNOWN] * len(pairs)  # there is no git here

    async def _look_alike(self, gone: Sequence[Changed], new: Sequence[Changed]) -> list[tuple[str, str]]:
        olds, news = await self._comparable(gone), await self._comparable(new)
        try:
            found = await self.diffs.similar([body for _, body in olds], [body for _, body in news])
        except GitProblem as problem:
            if not problem.expected:
                raise
            return []
        return [(olds[old][0], news[now][0]) for old, now in found]

    async def _comparable(self, changes: Sequence[Changed]) -> list[tuple[str, bytes]]:
        """Return the texts of changes that have one side, by object."""
        found: dict[str, bytes] = {}
        async for portion, sides in self._by_portions(changes):
            found |= await asyncio.to_thread(_short_texts, portion, sides)
        return list(found.items())


def _moved(changes: Sequence[Changed]) -> tuple[list[Changed], list[Changed]]:
    """Return files that may be the old and the new names of renamed ones."""
    gone = [one for one in changes if is_gone(one)][:MOST_ALIKE]
    return gone, [one for one in changes if is_new(one)][:MOST_ALIKE]


def _short_texts(changes: Sequence[Changed], sides: Sequence[Sides]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for one, side in zip(changes, sides, strict=True):
        content = side.old or side.new
        if content and len(content) <= MOST_LIKE_BYTES and (text := Text.of(content)) is not None:
            found[_oid(one.then or one.now)] = text.body
    return found


def _digest(content: bytes | None) -> str | None:
    return None if content is None else digest_of(content).hex()


def _texts(sides: Sequence[Sides]) -> list[Pair | None]:
    return [None if one.problem is not None else pair_of(one) for one in sides]


def pair_of(sides: Sides) -> Pair | None:
    """Return both sides as texts; None when one is binary."""
    old, new = Text.of(sides.old or b""), Text.of(sides.new or b"")
    return None if old is None or new is None else (old, new)


async def contents_of(
    objects: StoredObjects, entries: Iterable[TreeEntry | None]
) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return contents by object, and why others are not among them. Raises `GitProblem`: `TooMuchOutput` for
    several that are too large together."""
    wanted = list({entry.oid: entry for entry in entries if entry is not None}.values())
    oids = [entry.oid for entry in wanted]
    try:
        return await objects.contents(oids, 2 * PORTION_BYTES if len(oids) > 1 else MAX_FILE_BYTES), {}
    except GitProblem as problem:
        if len(oids) == 1:
            return {}, {oids[0]: TOO_LARGE if isinstance(problem, TooMuchOutput) else NOT_KEPT}
        if isinstance(problem, TooMuchOutput):
            raise
    half = len(oids) // 2
    parts = [await contents_of(objects, part) for part in (wanted[:half], wanted[half:])]
    return parts[0][0] | parts[1][0], parts[0][1] | parts[1][1]


def _key(one: Changed) -> Key:
    return (
        None if one.then is None else one.then.oid,
        None if one.now is None else one.now.oid,
    )


def _oid(entry: TreeEntry | None) -> str:
    assert entry is not None
    return entry.oid
