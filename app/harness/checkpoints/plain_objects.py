"""The objects of a project that is no git repository: kept and read without git.

Owns: which files count there (`.gitignore` files hold all the same), and trees in git's format. Never: the
contents of files (`file_survey`). Blocking work runs in threads.
"""

from __future__ import annotations

import asyncio
import os
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from app.errors import ToolError
from app.harness.checkpoints.stored_objects import (
    FOLDER,
    LOOK_AGAIN_SECONDS,
    MAX_UNTRACKED,
    TOO_MANY,
    StoredObjects,
    TreeEntry,
)
from app.tools.processes.git_commands import GitProblem, TooMuchOutput
from app.workspace import RootFolder
from app.workspace.ignore_rules import VERSION_CONTROL, IgnoreRules, read_rules

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEVER = frozenset(map(os.fsencode, VERSION_CONTROL))


class PlainObjects(StoredObjects):
    """`root` is the project's folder, `folder` where its objects are kept."""

    def __init__(self, root: Path, folder: Path) -> None:
        super().__init__(folder)
        self._root = RootFolder(root)
        self._crowded_until = 0.0

    async def open(self) -> None:
        await asyncio.to_thread(self.objects.mkdir, parents=True, exist_ok=True)

    async def names(self, among: Collection[bytes] | None = None) -> list[bytes]:
        if time.monotonic() < self._crowded_until:
            raise GitProblem(TOO_MANY, expected=True)
        found = await asyncio.to_thread(self._walk)
        if len(found) > MAX_UNTRACKED:
            self._crowded_until = time.monotonic() + LOOK_AGAIN_SECONDS
            raise GitProblem(TOO_MANY, expected=True)
        asked = None if among is None else frozenset(among)
        return found if asked is None else [name for name in found if name in asked]

    async def missing(self, oids: Iterable[str]) -> set[str]:
        asked = set(oids)
        return await asyncio.to_thread(lambda: {oid for oid in asked if not self.file_of(oid).exists()})

    async def write_tree(self, entries: Mapping[bytes, TreeEntry]) -> str:
        return await asyncio.to_thread(self._write, entries)

    async def read_tree(self, tree: str) -> dict[bytes, TreeEntry]:
        return await asyncio.to_thread(lambda: dict(self._files(tree, b"")))

    async def contents(self, oids: Iterable[str], limit: int) -> dict[str, bytes]:
        asked = set(oids)

        def read() -> dict[str, bytes]:
            found, size = {}, 0
            for oid in asked:
                found[oid] = self._object(oid)
                size += len(found[oid])
                if size > limit:
                    raise TooMuchOutput(f"the contents are larger than {limit} bytes")
            return found

        return await asyncio.to_thread(read)

    async def reachable(self, trees: Sequence[str]) -> set[str]:
        def read() -> set[str]:
            found: set[str] = set()
            for tree in trees:
                for oid in self._objects_of(tree, found):
                    found.add(oid)
            return found

        return await asyncio.to_thread(read)

    # -- inside -----------------------------------------------------------------------------

    def _walk(self) -> list[bytes]:
        """Return the files that no rule leaves out, as many as may be noted and one more."""
        found: list[bytes] = []
        try:
            with self._root.opened("the project's root") as root:
                top = os.open(".", _FOLDER, dir_fd=root)
                self._enter(top, (), None, found)
        except ToolError as problem:
            raise GitProblem(problem.message) from None
        return found

    def _enter(
        self, folder: int, parts: tuple[str, ...], above: IgnoreRules | None, found: list[bytes]
    ) -> None:
        try:
            rules = IgnoreRules.of_folder(read_rules(folder), depth=len(parts), above=above)
            with os.scandir(folder) as entries:
                listed = sorted((os.fsencode(one.name), one.is_dir(follow_symlinks=False)) for one in entries)
            for name, is_folder in listed:
                whole = (*parts, os.fsdecode(name))
                if name in _NEVER or (rules is not None and rules.ignore(whole, is_directory=is_folder)):
                    continue
                if not is_folder:
                    found.append(os.fsencode("/".join(whole)))
                elif (below := _opened(name, folder)) is not None:
                    self._enter(below, whole, rules, found)
                if len(found) > MAX_UNTRACKED:
                    return
        finally:
            os.close(folder)

    def _write(self, entries: Mapping[bytes, TreeEntry]) -> str:
        top: dict[bytes, TreeEntry | dict[bytes, object]] = {}
        for path, entry in entries.items():
            *above, name = path.split(b"/")
            folder: dict[bytes, object] = top  # type: ignore[assignment]
            for part in above:
                folder = folder.setdefault(part, {})  # type: ignore[assignment]
            folder[name] = entry
        return self._tree(top)

    def _tree(self, folder: Mapping[bytes, object]) -> str:
        lines = []
        for name, what in folder.items():
            if isinstance(what, TreeEntry):
                lines.append((name, what.mode, what.oid))
            else:
                assert isinstance(what, dict)
                lines.append((name, FOLDER, self._tree(what)))
        lines.sort(key=lambda one: one[0] + b"/" if one[1] == FOLDER else one[0])  # as git sorts
        content = b"".join(
            mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for name, mode, oid in lines
        )
        self.keep(content, b"tree")
        return self.name_of(b"tree", content)

    def _lines(self, tree: str) -> Iterator[tuple[bytes, str, str]]:
        content, at, size = self._object(tree), 0, len(self.name_of(b"tree", b"")) // 2
        while at < len(content):
            end = content.index(b"\0", at)
            mode, _, name = content[at:end].partition(b" ")
            at = end + 1 + size
            yield name, mode.decode(), content[end + 1 : at].hex()

    def _files(self, tree: str, prefix: bytes) -> Iterator[tuple[bytes, TreeEntry]]:
        for name, mode, oid in self._lines(tree):
            if mode == FOLDER:
                yield from self._files(oid, prefix + name + b"/")
            else:
                yield prefix + name, TreeEntry(mode, oid)

    def _objects_of(self, tree: str, known: Collection[str]) -> Iterator[str]:
        if tree in known or not self.file_of(tree).exists():
            return
        for _, mode, oid in self._lines(tree):
            if mode == FOLDER:
                yield from self._objects_of(oid, known)
            else:
                yield oid
        yield tree

    def _object(self, oid: str) -> bytes:
        try:
            whole = zlib.decompress(self.file_of(oid).read_bytes())
        except (OSError, zlib.error):
            raise GitProblem(f"the content {oid} is not kept any more") from None
        return whole.partition(b"\0")[2]


def _opened(name: bytes, folder: int) -> int | None:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError:
        return None
