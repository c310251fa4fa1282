"""Snapshots of a working tree: git trees in the daemon's own repository.

Owns: the temporary indexes of the snapshots. Never: the index of the user's repository or of the clone. They
are copied, and nothing is staged or stashed in them.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any

from app.harness.git.index_change import copy_index
from app.harness.workspaces.git_folder import GitFolder
from app.harness.workspaces.walking import waiting_pipe
from app.ids import new_id
from app.tools.processes.git_commands import GitProblem

SECONDS = 900.0
PATIENCE_SECONDS = 5.0
"""After so long a look finds out whether git waits for a pipe."""
MAX_CONTENT_BYTES = 512 * 1024 * 1024
_DIFFERING = ("diff-files", "-z", "--name-status", "--no-renames", "--ignore-submodules=dirty")
_OTHERS = ("ls-files", "-z", "--others", "--exclude-standard")


class Snapshots:
    """Takes snapshots into one repository of the daemon."""

    def __init__(self, git: GitFolder) -> None:
        self._git = git

    async def whole(
        self,
        tree: Path,
        like: Path,
        commit: str | None,
        closed: Sequence[Path] = (),
        shows: Callable[[bytes], bool] | None = None,
        staged: bool = False,
    ) -> str:
        """Return the snapshot of all files in the working tree `tree` that git does not ignore.

        The index `like` tells which files have not changed since `commit`. `staged` adds ignored files
        that are new in that index. Files in `closed` are left out. Files that `shows` excludes keep their
        content of `commit`."""
        work = self._whole(tree, like, commit, closed, shows or _everything, staged=staged)
        return await _unless_pipes(tree, work)

    async def _whole(
        self,
        tree: Path,
        like: Path,
        commit: str | None,
        closed: Sequence[Path],
        shows: Callable[[bytes], bool],
        *,
        staged: bool,
    ) -> str:
        leaving = [
            f":(exclude,top,literal){place.relative_to(tree)}"
            for place in closed
            if place.is_relative_to(tree)
        ]
        forced: list[bytes] = []
        index = self._git.new_index()
        try:
            try:
                if staged:
                    forced = await self._forced(index, like, tree, leaving)
                await self._begin(index, like, commit, tree)
                return await self._added(index, tree, leaving, shows, forced)
            except GitProblem:
                # The other index is in a form that only its own repository can read, or is spoilt.
                await self._begin(index, None, commit, tree)
                return await self._added(index, tree, leaving, shows, forced)
        finally:
            await forget(index)

    async def of_paths(
        self, tree: Path, like: Path | None, commit: str | None, paths: Iterable[bytes]
    ) -> str:
        """Return the tree of `commit` with the present content of these files in the working tree `tree`.

        The index `like` tells a deleted file from one that a sparse working tree leaves out."""
        gone, present = await asyncio.to_thread(_gone_from, tree, paths)
        start = await self._with_paths(tree, like, commit, gone) if gone else commit
        # Without that index: it may say of a file that it is as in the commit, whatever its content is.
        return await self._with_paths(tree, None, start, present)

    async def _with_paths(
        self, tree: Path, like: Path | None, commit: str | None, paths: Sequence[bytes]
    ) -> str:
        index = self._git.new_index()
        try:
            try:
                await self._begin(index, like, commit, tree)
            except GitProblem:
                await self._begin(index, None, commit, tree)
            await self._git.run(
                ["update-index", "--add", "--remove", "-z", "--stdin"],
                b"".join(path + b"\0" for path in paths),
                index=index,
                tree=tree,
                seconds=SECONDS,
            )
            return await self._written(index)
        finally:
            await forget(index)

    async def staged(self, git_dir: Path, start: str, paths: Collection[bytes]) -> tuple[str, set[bytes]]:
        """Return the tree `start` with the content that these files have in the index of the repository at
        `git_dir`, and the files that are unmerged in that index."""
        said = await self._git.run(
            ["ls-files", "--stage", "-z"],
            environment={"GIT_DIR": str(git_dir)},
            most=MAX_CONTENT_BYTES,
        )
        found, unmerged = await asyncio.to_thread(_staged, said, frozenset(paths))
        lines = [found.get(path, b"0 " + b"0" * len(start)) + b"\t" + path + b"\0" for path in paths]
        index = self._git.new_index()
        try:
            await self._git.run(["read-tree", start], index=index, seconds=SECONDS)
            await self._git.run(["update-index", "-z", "--index-info"], b"".join(lines), index=index)
            return await self._written(index), unmerged
        finally:
            await forget(index)

    async def contents(self, tree: str, paths: Sequence[bytes], place: Path) -> dict[bytes, bytes]:
        """Return the content of a tree's files as git checks them out in the working tree `place`, with the
        line endings of its attributes. Raises `GitProblem` above `MAX_CONTENT_BYTES` in total."""
        if not paths:
            return {}
        index, folder = self._git.new_index(), self._git.git / new_id("wks")
        await asyncio.to_thread(folder.mkdir)
        try:
            await self._git.run(["read-tree", tree], index=index, seconds=SECONDS)
            await self._git.run(
                ["checkout-index", "-z", "--stdin", f"--prefix={folder}/"],
                b"".join(path + b"\0" for path in paths),
                index=index,
                tree=place,
                seconds=SECONDS,
            )
            return await asyncio.to_thread(_read_all, folder, paths)
        finally:
            await forget(index)
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _begin(self, index: Path, like: Path | None, commit: str | None, tree: Path) -> None:
        await forget(index)
        if like is not None:
            await asyncio.to_thread(copy_index, like, index)
        known = ["read-tree", "-m", commit] if commit is not None else ["read-tree", "--empty"]
        if not await asyncio.to_thread(os.path.exists, index) and commit is not None:
            known = ["read-tree", commit]
        await self._git.run(known, index=index, tree=tree, seconds=SECONDS)

    async def _forced(self, index: Path, like: Path, tree: Path, leaving: Sequence[str]) -> list[bytes]:
        """Return the ignored files of an index that exist in the working tree."""
        await forget(index)
        await asyncio.to_thread(copy_index, like, index)
        asked = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard", "--", ":/", *leaving]
        said = await self._git.run(asked, index=index, tree=tree, most=MAX_CONTENT_BYTES, seconds=SECONDS)
        return await asyncio.to_thread(_files_among, tree, said.split(b"\0")[:-1])

    async def _added(
        self,
        index: Path,
        tree: Path,
        leaving: Sequence[str],
        shows: Callable[[bytes], bool],
        forced: Sequence[bytes] = (),
    ) -> str:
        """Not by `git add`: that looks into submodules, with the filters that their settings name."""

        async def listed(*arguments: str) -> list[bytes]:
            said = await self._git.run(
                [*arguments, "--", ":/", *leaving],
                index=index,
                tree=tree,
                most=MAX_CONTENT_BYTES,
                seconds=SECONDS,
            )
            return said.split(b"\0")[:-1]

        fields, others = await listed(*_DIFFERING), [*await listed(*_OTHERS), *forced]
        gone, present, repositories = await asyncio.to_thread(_gone_and_present, fields, others, shows)
        # What is gone comes first: a folder may be where a file was.
        for given, how in ((gone, ["--force-remove"]), (present, ["--add", "--replace"])):
            if given:
                arguments = ["update-index", "-z", "--remove", *how, "--stdin"]
                await self._git.run(arguments, given, index=index, tree=tree, seconds=SECONDS)
        for name in repositories:
            await self._take_repository(name, index, tree)
        return await self._written(index)

    async def _take_repository(self, name: bytes, index: Path, tree: Path) -> None:
        """Note the commit of a repository within the tree; one that has none yet cannot be noted."""
        arguments = ["update-index", "-z", "--add", "--replace", "--stdin"]
        try:
            await self._git.run(arguments, name + b"\0", index=index, tree=tree, seconds=SECONDS)
        except GitProblem as problem:
            if problem.exit_code is None:
                raise

    async def _written(self, index: Path) -> str:
        return (await self._git.run(["write-tree", "--missing-ok"], index=index)).decode().strip()


def _gone_from(tree: Path, paths: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return the files that a working tree lacks, and the files that it has."""
    gone, present = list[bytes](), list[bytes]()
    for path in paths:
        (present if os.path.lexists(os.path.join(os.fsencode(tree), path)) else gone).append(path)
    return gone, present


def _staged(said: bytes, paths: Collection[bytes]) -> tuple[dict[bytes, bytes], set[bytes]]:
    """Return mode and object of each of the files, and those that are unmerged."""
    found: dict[bytes, bytes] = {}
    unmerged: set[bytes] = set()
    for line in said.split(b"\0"):
        head, tab, path = line.partition(b"\t")
        if tab and path in paths:
            mode, oid, stage = head.split(b" ")
            found[path] = mode + b" " + oid
            unmerged |= {path} if stage != b"0" else set()
    return found, unmerged


def _files_among(tree: Path, names: Sequence[bytes]) -> list[bytes]:
    """Return the names that are files and have no symbolic link above them."""
    top, found = os.path.realpath(os.fsencode(tree)), []
    for name in names:
        place = os.path.join(top, name)
        is_below = os.path.realpath(os.path.dirname(place)) == os.path.dirname(place)
        if is_below and (os.path.islink(place) or os.path.isfile(place)):
            found.append(name)
    return found


def _everything(_: bytes) -> bool:
    return True


def _gone_and_present(
    fields: Sequence[bytes], others: Sequence[bytes], shows: Callable[[bytes], bool]
) -> tuple[bytes, bytes, list[bytes]]:
    """Return the deleted files, the changed and new files, and the new repositories, without those that
    `shows` excludes."""
    states = [one for one in zip(fields[1::2], fields[::2], strict=True) if shows(one[0])]
    others = [name for name in others if shows(name)]
    gone = [name for name, state in states if state == b"D"]
    present = [name for name, state in states if state != b"D"]
    present += [name for name in others if not name.endswith(b"/")]
    repositories = [name.rstrip(b"/") for name in others if name.endswith(b"/")]
    return b"".join(name + b"\0" for name in gone), b"".join(name + b"\0" for name in present), repositories


def _read_all(folder: Path, paths: Sequence[bytes]) -> dict[bytes, bytes]:
    found, size = {}, 0
    for path in paths:
        place = os.path.join(os.fsencode(folder), path)
        size += os.lstat(place).st_size
        if size > MAX_CONTENT_BYTES:
            raise GitProblem(f"more than {MAX_CONTENT_BYTES // 1024**2} MB would be written")
        if os.path.islink(place):
            found[path] = os.readlink(place)
            continue
        with open(place, "rb") as file:
            found[path] = file.read()
    return found


async def _unless_pipes(tree: Path, work: Coroutine[Any, Any, str]) -> str:
    """Return git's answer about a working tree. Raises `GitProblem` when git waits for a pipe in it."""
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=PATIENCE_SECONDS)
        if not done and (pipe := await asyncio.to_thread(waiting_pipe, tree)) is not None:
            raise GitProblem(f"{pipe!r} is a pipe, for which git waits: remove it")
        return await task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})


async def forget(index: Path) -> None:
    """Remove a temporary index."""
    for leftover in (index, index.with_name(index.name + ".lock")):
        await asyncio.to_thread(leftover.unlink, missing_ok=True)
