"""Bringing a project's files back to how they were noted, as far as agents have changed them.

Owns: which files are restored, which are left because somebody else has changed them, and doing it all or
not at all. Never: the conversation. Everything is written by the functions that tools write with.
"""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Literal

import xxhash

from app.errors import Conflict, ToolError
from app.harness.checkpoints.file_writes import Expected, Kept
from app.harness.checkpoints.stored_objects import LINK, StoredObjects, TreeEntry
from app.harness.checkpoints.worktrees import Noted
from app.tools.contract.ports import FileWrite
from app.tools.project_files.file_operations import Create, Delete, FileOperation, Rewrite, arrange
from app.tools.project_files.file_transaction import apply_together, identities
from app.tools.project_files.read_tracker import digest_of
from app.workspace import Workspace
from app.workspace.any_names import shown

MAX_CONTENT_BYTES = 256 * 1024 * 1024
MAX_DIFF_BYTES = 16 * 1024
MAX_DIFFS_BYTES = 256 * 1024
MAX_DIFFED_LINES = 4_000
EXECUTABLE = "100755"

Change = Literal["modified", "created", "deleted"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that differs. `now` and `then` are its entries (None: not there); `reason` says why it is a
    conflict, and is None for one that agents wrote last."""

    path: str
    now: TreeEntry | None
    then: TreeEntry | None
    reason: str | None = None

    @property
    def change(self) -> Change:
        """What restoring does to the file."""
        if self.now is None:
            return "created"
        return "deleted" if self.then is None else "modified"


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What would be restored, and what is left. `digest` names exactly this plan."""

    before: str
    target: str
    restored: tuple[FileChange, ...]
    conflicts: tuple[FileChange, ...]

    @property
    def digest(self) -> str:
        lines = [
            f"{one.path}\0{one.now}\0{one.then}\0{one.reason}" for one in (*self.restored, *self.conflicts)
        ]
        return xxhash.xxh3_128_hexdigest("\n".join((self.target, *lines)).encode("utf-8", "surrogateescape"))


async def plan_files(
    objects: StoredObjects, noted: Noted, target: str, expected: Mapping[str, Expected], *, force: bool
) -> FilePlan:
    """Compare the files as they are (`noted`) with a tree. Raises `GitProblem`."""
    then = await objects.read_tree(target)
    changes = [
        FileChange(os.fsdecode(name), noted.entries.get(name), then.get(name))
        for name in sorted({*noted.entries, *then})
        if noted.entries.get(name) != then.get(name)
    ]
    wanted = {
        one.now.oid for one in changes if one.now is not None and isinstance(expected.get(one.path), str)
    }
    contents = await objects.contents(wanted, MAX_CONTENT_BYTES)
    restored, conflicts = [], []
    for change in changes:
        reason = _conflict(change, noted, then, expected, contents)
        if reason is not None and (not force or os.fsencode(change.path) in noted.left_out):
            conflicts.append(FileChange(change.path, change.now, change.then, reason))
        else:
            restored.append(change)
    return FilePlan(noted.tree, target, tuple(restored), tuple(conflicts))


def _conflict(
    change: FileChange,
    noted: Noted,
    then: Mapping[bytes, TreeEntry],
    expected: Mapping[str, Expected],
    contents: Mapping[str, bytes],
) -> str | None:
    """Return why a file is not restored; None when it is as agents left it."""
    left_out = noted.left_out.get(os.fsencode(change.path))
    if left_out is not None:
        return f"it cannot be noted now: {left_out}"
    if change.path not in expected:
        return "no agent wrote it with a file tool: a command or somebody else changed it"
    want = expected[change.path]
    if want is None:
        is_ours = change.now is None
    elif change.now is None or change.now.mode == LINK:
        is_ours = False
    elif isinstance(want, Kept):
        kept = then.get(os.fsencode(want.path))
        is_ours = kept is not None and kept.oid == change.now.oid
    else:
        is_ours = digest_of(contents[change.now.oid]).hex() == want
    return None if is_ours else "it was changed after an agent wrote it"


async def diffs_of(objects: StoredObjects, plan: FilePlan) -> dict[str, str]:
    """Return, by path, what restoring would change in texts; what is too long is left out."""
    oids = {entry.oid for one in plan.restored for entry in (one.now, one.then) if entry is not None}
    contents = await objects.contents(oids, MAX_CONTENT_BYTES)
    return await asyncio.to_thread(_diffs, plan, contents)


def _diffs(plan: FilePlan, contents: Mapping[str, bytes]) -> dict[str, str]:
    found: dict[str, str] = {}
    room = MAX_DIFFS_BYTES
    for one in plan.restored:
        now, then = (_lines(entry, contents) for entry in (one.now, one.then))
        if now is None or then is None:
            continue
        text = "".join(difflib.unified_diff(now, then, "now", "restored"))[:MAX_DIFF_BYTES]
        room -= len(text)
        if room < 0:
            break
        found[one.path] = text
    return found


def _lines(entry: TreeEntry | None, contents: Mapping[str, bytes]) -> list[str] | None:
    if entry is None:
        return []
    content = contents[entry.oid]
    if b"\0" in content or content.count(b"\n") > MAX_DIFFED_LINES:
        return None
    return [line + "\n" for line in content.decode("utf-8", "replace").splitlines()]


async def restore_files(workspace: Workspace, objects: StoredObjects, plan: FilePlan) -> list[FileWrite]:
    """Write what the plan restores, all of it or nothing, and return what was written. `workspace` is the
    project's folder without what is closed to everybody.

    Raises `Conflict` when a file has changed since it was looked at, and `GitProblem`."""
    oids = {entry.oid for one in plan.restored for entry in (one.now, one.then) if entry is not None}
    contents = await objects.contents(oids, MAX_CONTENT_BYTES)
    try:
        await asyncio.to_thread(apply_plan, workspace, plan, contents)
    except ToolError as problem:
        raise Conflict(
            f"The files could not be restored, and nothing was changed: {shown(problem.message)}",
            reason=problem.code,
        ) from None
    return [
        FileWrite(one.path, None if one.then is None else digest_of(contents[one.then.oid]).hex())
        for one in plan.restored
    ]


def apply_plan(workspace: Workspace, plan: FilePlan, contents: Mapping[str, bytes]) -> None:
    """Write what a plan restores, all of it or nothing; `contents` are by the names of its entries. Raises
    ToolError when a file has changed since it was looked at. Blocks."""
    links = [one for one in plan.restored if _is_link(one.now) or _is_link(one.then)]
    files = [one for one in plan.restored if one not in links]
    files.sort(key=lambda one: one.then is not None)  # what goes makes room for what comes
    operations = [_operation(one, contents) for one in files]
    arranged = arrange(workspace, [one for one in operations if one is not None])
    for link in links:
        _check_link(workspace, link, contents)
    modes = [one for one in files if one.then and (one.now is None or one.now.mode != one.then.mode)]
    apply_together(
        workspace,
        arranged,
        identities(workspace, arranged),
        lambda: _restore_modes_and_links(workspace, modes, links, contents),
    )
    for one in plan.restored:
        if one.then is None:
            _remove_empty_folders(workspace, one.path)


def _operation(one: FileChange, contents: Mapping[str, bytes]) -> FileOperation | None:
    path = f"./{one.path}"
    if one.then is None:
        return Delete(path, expected=None if one.now is None else digest_of(contents[one.now.oid]))
    content = contents[one.then.oid]
    if one.now is None:
        return Create(path, content)
    if one.now.oid == one.then.oid:
        return None  # only its mode differs
    return Rewrite(path, digest_of(contents[one.now.oid]), content)


def _remove_empty_folders(workspace: Workspace, path: str) -> None:
    """Trees know no empty folders: those that a file leaves empty go with it."""
    above = path.rpartition("/")[0]
    while above:
        with suppress(ToolError), workspace.entry(f"./{above}") as folder:
            if folder.is_folder and not folder.holds_something():
                folder.remove_empty_folder()
        above = above.rpartition("/")[0]


def _is_link(entry: TreeEntry | None) -> bool:
    return entry is not None and entry.mode == LINK


def _restore_modes_and_links(
    workspace: Workspace,
    modes: Sequence[FileChange],
    links: Sequence[FileChange],
    contents: Mapping[str, bytes],
) -> None:
    """Do all of it or nothing."""
    with ExitStack() as undo:
        for one in modes:
            assert one.then is not None
            before = _set_executable(workspace, one.path, one.then.mode == EXECUTABLE)
            undo.callback(_set_mode, workspace, one.path, before)
        for link in links:
            undo.callback(_take_link_back, workspace, link, contents)
            _restore_link(workspace, link, contents)
        undo.pop_all()


def _set_mode(workspace: Workspace, path: str, mode: int) -> None:
    with suppress(ToolError), workspace.open(f"./{path}") as opened:
        os.fchmod(opened.descriptor, mode)


def _set_executable(workspace: Workspace, path: str, executable: bool) -> int:
    """Return the mode before."""
    with workspace.open(f"./{path}") as opened:
        mode = opened.status.st_mode & 0o777
        readers = (mode & 0o444) >> 2
        os.fchmod(opened.descriptor, mode | readers if executable else mode & ~0o111)
        return mode


def _check_link(workspace: Workspace, one: FileChange, contents: Mapping[str, bytes]) -> None:
    """Raise ToolError when the place of a link holds something else than was looked at."""
    with workspace.entry(f"./{one.path}", links=True) as entry:
        target = entry.link_target()
        wanted = contents[one.now.oid] if one.now is not None and _is_link(one.now) else None
        if (entry.status is None) != (one.now is None) or target != wanted:
            raise ToolError("file_changed_since_read", f"{one.path} was replaced by somebody else meanwhile")


def _restore_link(workspace: Workspace, one: FileChange, contents: Mapping[str, bytes]) -> None:
    with workspace.entry(f"./{one.path}", links=True) as entry:
        if entry.status is not None:
            entry.remove()
    if one.then is None:
        return
    if _is_link(one.then):
        _make_folders(workspace, one.path)
        with workspace.entry(f"./{one.path}", links=True) as entry:
            entry.make_link(contents[one.then.oid])
        return
    with workspace.target(f"./{one.path}") as target:
        target.create(contents[one.then.oid])
    _set_executable(workspace, one.path, one.then.mode == EXECUTABLE)


def _make_folders(workspace: Workspace, path: str) -> None:
    *folders, _ = path.split("/")
    for depth in range(1, len(folders) + 1):
        with workspace.entry("./" + "/".join(folders[:depth])) as folder:
            if folder.status is None:
                folder.make_folder()


def _take_link_back(workspace: Workspace, one: FileChange, contents: Mapping[str, bytes]) -> None:
    """Put back what a link was or took the place of, unless something else is there by now."""
    with suppress(ToolError):
        with workspace.entry(f"./{one.path}", links=True) as entry:
            is_there, found = entry.status is not None, entry.link_target()
        if is_there and found is None:
            with workspace.target(f"./{one.path}") as target:
                found = target.read()
        if not is_there or (one.then is not None and contents[one.then.oid] == found):
            _restore_link(workspace, FileChange(one.path, one.then, one.now), contents)
            _remove_empty_folders(workspace, one.path)
