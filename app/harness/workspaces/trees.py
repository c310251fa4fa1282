"""Trees of two sides, joined and compared as objects: no working tree is touched.

Owns: what git is asked about trees, and the form of the answers. Never: where trees come from (`snapshots`)
or what is written (`bringing`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.errors import Conflict
from app.harness.workspaces.git_folder import GitFolder
from app.tools.processes.git_commands import GitProblem
from app.workspace.file_status import MergeStatus

SECONDS = 600.0
LINK, SUBMODULE = "120000", "160000"
MAX_PATCH_BYTES = 1024 * 1024
_USAGE = 129


@dataclass(frozen=True, slots=True)
class Side:
    """A file as a tree has it: git's mode, and the name of its content."""

    mode: str
    oid: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One file that two trees have differently; None where it is not there. `additions` and `deletions` are
    None for binary files."""

    path: bytes
    old: Side | None
    new: Side | None
    additions: int | None = None
    deletions: int | None = None

    @property
    def status(self) -> MergeStatus:
        if self.old is not None and self.new is not None and self.old.oid == self.new.oid:
            return "mode"
        return "added" if self.old is None else "deleted" if self.new is None else "modified"

    @property
    def is_submodule(self) -> bool:
        return any(side is not None and side.mode == SUBMODULE for side in (self.old, self.new))


@dataclass(frozen=True, slots=True)
class Joined:
    """The tree of both sides together, and the files in which they contradict each other; where there are
    such, the tree holds them with conflict markers, and one of the versions of what has no lines."""

    tree: str
    conflicts: tuple[bytes, ...]


async def join(git: GitFolder, base: str, ours: str, theirs: str) -> Joined:
    """Join two trees, or those of commits, that both come from the tree `base`. Raises `GitProblem`, and
    `Conflict` when git is too old."""
    trees = [await tree_of(git, side) for side in (base, ours, theirs)]
    root = await commit_tree(git, trees[0], [])
    sides = [await commit_tree(git, tree, [root]) for tree in trees[1:]]
    try:
        said = await git.run(
            ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", *sides], seconds=SECONDS
        )
    except GitProblem as problem:
        if problem.exit_code == _USAGE:
            raise Conflict(
                "A merge needs git 2.38 or later on the daemon's machine.",
                reason="git_too_old",
            ) from None
        if problem.exit_code != 1:
            raise
        said = problem.output
    tree, *names = said.split(b"\0")
    return Joined(tree.decode(), tuple(dict.fromkeys(name for name in names if name)))


async def commit_tree(
    git: GitFolder,
    tree: str,
    parents: Iterable[str],
    message: str = "side",
    identity: Mapping[str, str] | None = None,
) -> str:
    """Return a commit of a tree; kaged's own, unless the environment `identity` says whose."""
    above = [part for parent in parents for part in ("-p", parent)]
    made = await git.run(["commit-tree", tree, *above, "-F", "-"], message.encode(), environment=identity)
    return made.decode().strip()


async def tree_of(git: GitFolder, commit: str) -> str:
    return (await git.run(["rev-parse", "--verify", f"{commit}^{{tree}}"])).decode().strip()


async def differences(git: GitFolder, old: str, new: str) -> list[Difference]:
    """Return the files that differ between two trees, by path. Raises `GitProblem`."""
    options = ["-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-abbrev"]
    said = await git.run(["diff-tree", *options, "--raw", "--numstat", old, new], seconds=SECONDS)
    return await asyncio.to_thread(_differences, said)


def _differences(said: bytes) -> list[Difference]:
    found: dict[bytes, Difference] = {}
    parts = iter(said.split(b"\0"))
    counted: dict[bytes, tuple[int | None, int | None]] = {}
    for part in parts:
        if part.startswith(b":"):
            modes = part[1:].decode().split(" ")
            path = next(parts)
            found[path] = Difference(path, _side(modes[0], modes[2]), _side(modes[1], modes[3]))
        elif part:
            more, less, path = part.split(b"\t", 2)
            counted[path] = (_number(more), _number(less))
    return [
        Difference(one.path, one.old, one.new, *counted.get(one.path, (None, None)))
        for one in sorted(found.values(), key=lambda one: one.path)
    ]


def _side(mode: str, oid: str) -> Side | None:
    return None if mode == "000000" else Side(mode, oid)


def _number(text: bytes) -> int | None:
    return int(text) if text.isdigit() else None


async def with_sides(git: GitFolder, tree: str, changes: Iterable[Difference]) -> str:
    """Return a tree in which these files are as the changes make them. Raises `GitProblem`."""
    lines = []
    for one in changes:
        side = one.new
        if side is None:  # git takes names of the repository's own length only
            side = Side("0", "0" * len(tree))
        entry = f"{side.mode} {side.oid}".encode()
        lines.append((one.new is not None, entry + b"\t" + one.path + b"\0"))
    index = git.new_index()
    try:
        await git.run(["read-tree", tree], index=index, seconds=SECONDS)
        given = b"".join(line for _, line in sorted(lines))  # what goes makes room for what comes
        await git.run(
            ["update-index", "--replace", "-z", "--index-info"], given, index=index, seconds=SECONDS
        )
        return (await git.run(["write-tree", "--missing-ok"], index=index)).decode().strip()
    finally:
        await asyncio.to_thread(index.unlink, missing_ok=True)


async def patch(git: GitFolder, old: str, new: str, paths: Sequence[bytes] = ()) -> str:
    """Return the differences of two trees as text, of some files when given, and no more than is shown."""
    options = ["-r", "-p", "-M", "--no-ext-diff", "--no-textconv", "--no-color"]
    named = ["--", *map(os.fsdecode, paths)] if paths else []
    literally = {"GIT_LITERAL_PATHSPECS": "1"}
    try:
        said = await git.run(
            ["diff-tree", *options, old, new, *named],
            environment=literally,
            most=MAX_PATCH_BYTES,
            seconds=SECONDS,
        )
    except GitProblem as problem:
        if problem.exit_code is None:
            return ""
        raise
    return said.decode("utf-8", "replace")
