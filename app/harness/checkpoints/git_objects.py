"""git as the worktree notes use it: objects in a folder of their own, an index that lasts for one call.

Owns: what git is asked. The repository is only read. Never: how git is run (`git_commands`), or the project's
files (`file_survey`).
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from app.harness.checkpoints.staged_files import LISTING, StagedFile, staged_files
from app.harness.checkpoints.stored_objects import (
    LOOK_AGAIN_SECONDS,
    MAX_UNTRACKED,
    TOO_MANY,
    StoredObjects,
    TreeEntry,
)
from app.ids import new_id
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import MAX_OUTPUT, GitCommands, GitProblem, NoRepository, TooMuchOutput
from app.workspace.repository import alternate, repository_above, repository_folders

_LONG_NAME = 200
RACY_NS = 2_000_000_000
SUBMODULE = "160000"
ATTRIBUTES = ".gitattributes"
MAX_ATTRIBUTES = 1024 * 1024
_CONVERTING = (b"filter", b"ident", b"working-tree-encoding")


class GitObjects(StoredObjects):
    """The objects that kaged keeps for one project, beside those of its repository."""

    def __init__(
        self, processes: CallProcesses, environment: Mapping[str, str], root: Path, folder: Path
    ) -> None:
        """`root` is the project's folder, `folder` where its objects are kept."""
        super().__init__(folder)
        self.commands = GitCommands(processes, environment, root, folder)
        self.root = root
        self._repository: str | None = None
        self.rule_files: Sequence[Path] = ()
        """The index and the excluded names: with the files of the tree they decide what `names` returns."""
        self._crowded_until = 0.0

    async def open(self) -> None:
        """Find the repository. Raises `GitProblem`, an expected one where there is none."""
        await self.commands.open()
        await asyncio.to_thread(self.objects.mkdir, parents=True, exist_ok=True)
        kind = (await self._git(["rev-parse", "--show-object-format"], plain=True)).decode().strip()
        self.hash = kind if kind in ("sha1", "sha256") else "sha1"
        # Found without git: its answers are lines, and a path may hold a newline.
        folders = await asyncio.to_thread(repository_folders, self.root)
        if folders is None:
            raise NoRepository
        self._repository = os.fsdecode(alternate(folders.common / "objects").removesuffix(b"\n"))
        self.rule_files = [folders.own / "index", folders.common / "info" / "exclude", folders.own / "HEAD"]

    async def names(self, among: Collection[bytes] | None = None) -> list[bytes]:
        """Return the files of the project's folder that git tracks or would, relative to it; of some when
        given.

        Raises `GitProblem` when too many are neither tracked nor ignored: a note without them would take
        them for new ones. Then nobody looks again for a while, so that a message costs nothing."""
        if among is not None:
            return await self._among(among)
        if time.monotonic() < self._crowded_until:
            raise GitProblem(TOO_MANY, expected=True)
        others = ["ls-files", "-z", "--others", "--exclude-standard", "--", "."]
        try:
            untracked = await self._git(others, plain=True, most=MAX_UNTRACKED * _LONG_NAME)
        except TooMuchOutput:
            untracked = b"\0" * (MAX_UNTRACKED + 1)
        if untracked.count(b"\0") > MAX_UNTRACKED:
            self._crowded_until = time.monotonic() + LOOK_AGAIN_SECONDS
            raise GitProblem(TOO_MANY, expected=True)
        tracked = await self._git(["ls-files", "-z", "--cached", "--", "."], plain=True)
        return await asyncio.to_thread(_names, tracked, untracked)

    async def _among(self, names: Collection[bytes]) -> list[bytes]:
        """Return those of the names that git does not ignore, and that lie in no repository below."""
        own = await asyncio.to_thread(lambda: [name for name in names if not _is_nested(self.root, name)])
        asked = b"".join(name + b"\0" for name in own)
        # 1: it ignores none of them.
        ignored = await self.commands.run(["check-ignore", "-z", "--stdin"], asked, codes=(0, 1))
        without = frozenset(ignored.split(b"\0"))
        return [name for name in own if name not in without]

    async def missing(self, oids: Iterable[str]) -> set[str]:
        """Return those of the objects that neither the repository nor the own folder has."""
        asked = await asyncio.to_thread(lambda: "".join(f"{oid}\n" for oid in sorted(set(oids))).encode())
        if not asked:
            return set()
        answer = await self._git(["cat-file", "--batch-check"], asked)
        return await asyncio.to_thread(_missing, answer)

    async def taken_in(self) -> dict[bytes, StagedFile]:
        """Return the files that git's index has byte for byte as they were in the working tree, so that none
        of them needs to be read; none where attributes name filters. Raises `GitProblem`."""
        index, excluded = self.rule_files[0], self.rule_files[1]
        taken_at = await asyncio.to_thread(_modified_ns, index)
        listed = await self._git([*LISTING, "."], plain=True)
        files = await asyncio.to_thread(lambda: dict(staged_files(listed)))
        if await asyncio.to_thread(_may_be_converted, self.root, excluded.with_name("attributes"), files):
            return {}
        sizes = await self._sizes(one.entry.oid for one in files.values())

        def as_they_are() -> dict[bytes, StagedFile]:
            return {
                name: one
                for name, one in files.items()
                if sizes.get(one.entry.oid) == one.size
                and one.entry.mode != SUBMODULE
                # What was changed right after git took it in may be in the same state.
                and max(one.changed_ns, one.modified_ns) < taken_at - RACY_NS
            }

        return await asyncio.to_thread(as_they_are)

    async def _sizes(self, oids: Iterable[str]) -> dict[str, int]:
        """Return the sizes of objects that the repository has."""
        asked = await asyncio.to_thread(lambda: "".join(f"{oid}\n" for oid in sorted(set(oids))).encode())
        how = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
        answer = await self._git(["cat-file", how], asked, plain=True) if asked else b""

        def read() -> dict[str, int]:
            words = (line.split() for line in answer.decode().splitlines())
            return {one[0]: int(one[2]) for one in words if len(one) == 3 and one[1] == "blob"}

        return await asyncio.to_thread(read)

    async def write_tree(self, entries: Mapping[bytes, TreeEntry]) -> str:
        """Return the name of the tree of these files, by path; its contents are kept already."""
        index = self.folder / f"index-{new_id('wtr')}"
        lines = await asyncio.to_thread(_index_lines, entries)
        try:
            # An index that begins empty: a name that was a file may be a folder now.
            await self._git(["read-tree", "--empty"], index=index)
            if lines:
                await self._git(["update-index", "-z", "--index-info"], lines, index=index)
            # That all contents are kept was looked at before.
            return (await self._git(["write-tree", "--missing-ok"], index=index)).decode().strip()
        finally:
            for leftover in (index, index.with_name(index.name + ".lock")):
                await asyncio.to_thread(leftover.unlink, missing_ok=True)

    async def read_tree(self, tree: str) -> dict[bytes, TreeEntry]:
        """Return the files of a tree by path. Raises `GitProblem` when it is not kept any more."""
        return await asyncio.to_thread(_files, await self._git(["ls-tree", "-r", "-z", "--full-tree", tree]))

    async def contents(self, oids: Iterable[str], limit: int) -> dict[str, bytes]:
        """Return contents by name. Raises `GitProblem` when one is gone or all are above `limit` bytes."""
        asked = sorted(set(oids))
        if not asked:
            return {}
        answer = await self._git(
            ["cat-file", "--batch"], "\n".join(asked).encode() + b"\n", most=limit + 200 * len(asked)
        )
        return await asyncio.to_thread(_contents, asked, answer)

    async def reachable(self, trees: Sequence[str]) -> set[str]:
        """Return the names of all objects of some trees, the trees themselves included."""
        if not trees:
            return set()
        listed = await self._git(
            ["rev-list", "--objects", "--no-object-names", "--missing=allow-any", "--stdin"],
            "\n".join(trees).encode() + b"\n",
        )
        return await asyncio.to_thread(lambda: set(listed.decode().split()))

    async def _git(
        self,
        arguments: Sequence[str],
        given: bytes = b"",
        *,
        index: Path | None = None,
        plain: bool = False,
        most: int = MAX_OUTPUT,
    ) -> bytes:
        """Run one command; `plain` without the own folder, as for anybody who looks at the repository."""
        own: dict[str, str] = {}
        if not plain and self._repository is not None:
            own |= {
                "GIT_OBJECT_DIRECTORY": str(self.objects),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": self._repository,
            }
        if index is not None:
            own["GIT_INDEX_FILE"] = str(index)
        return await self.commands.run(arguments, given, environment=own, most=most)


def _modified_ns(index: Path) -> int:
    try:
        return index.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _may_be_converted(root: Path, own_attributes: Path, names: Iterable[bytes]) -> bool:
    """Tell whether attributes of a repository may name what changes files, but not their size. Blocks.

    Line ends change the size. Attributes outside of the repository are not looked at: a filter of theirs
    changes the size, too, unless it was made not to."""
    inside = [Path(os.fsdecode(os.path.join(os.fsencode(root), name))) for name in names if _has_rules(name)]
    top = repository_above(root)
    above = [one / ATTRIBUTES for one in (root, *root.parents) if top is not None and one.is_relative_to(top)]
    # One of the index that is not there is read from the index by git.
    if not all(map(os.path.lexists, inside)):
        return True
    for file in (own_attributes, *above, *inside):
        content = _small_content(file)
        if content is None or any(word in content for word in _CONVERTING):
            return True
    return False


def _has_rules(name: bytes) -> bool:
    return name.rpartition(b"/")[2] == os.fsencode(ATTRIBUTES)


def _small_content(file: Path) -> bytes | None:
    """Return the content of a file, empty without one; None when it is large or cannot be read."""
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as opened:
            content = (
                opened.read(MAX_ATTRIBUTES + 1) if stat.S_ISREG(os.fstat(opened.fileno()).st_mode) else b""
            )
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError:
        return None
    return content if len(content) <= MAX_ATTRIBUTES else None


def _names(tracked: bytes, untracked: bytes) -> list[bytes]:
    # Of a merge's files there are several.
    names = dict.fromkeys((*tracked.split(b"\0"), *untracked.split(b"\0")))
    return [name for name in names if name and not name.endswith(b"/")]


def _missing(answer: bytes) -> set[str]:
    return {line.split()[0].decode() for line in answer.splitlines() if line.endswith(b" missing")}


def _index_lines(entries: Mapping[bytes, TreeEntry]) -> bytes:
    return b"".join(f"{entry.mode} {entry.oid}\t".encode() + name + b"\0" for name, entry in entries.items())


def _files(listed: bytes) -> dict[bytes, TreeEntry]:
    found = {}
    for line in listed.split(b"\0"):
        head, tab, name = line.partition(b"\t")
        if tab:
            mode, _kind, oid = head.decode().split()[:3]
            found[name] = TreeEntry(mode, oid)
    return found


def _contents(asked: Sequence[str], answer: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    at = 0
    for oid in asked:
        end = answer.index(b"\n", at)
        head = answer[at:end].split()
        if len(head) != 3:
            raise GitProblem(f"the content {oid} is not kept any more")
        size = int(head[2])
        found[oid] = answer[end + 1 : end + 1 + size]
        at = end + 2 + size
    return found


def _is_nested(root: Path, name: bytes) -> bool:
    """Tell whether a folder on the way to a file is a repository of its own. Blocks."""
    folder, parts = os.fsencode(root), name.split(b"/")[:-1]
    for part in parts:
        folder = os.path.join(folder, part)
        if part == b".git" or os.path.lexists(os.path.join(folder, b".git")):
            return True
    return False
