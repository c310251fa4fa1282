"""The files that an agent takes from a subagent, written into its folder as edits are written.

Owns: what hinders it, the operations, and their order. Never: whose changes they are, or merging (the
harness).
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.errors import ToolError
from app.tools.contract.call import ToolCallContext
from app.tools.project_files.file_operations import Create, Delete, FileOperation, Rewrite
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.read_tracker import Digest, digest_of
from app.workspace import Workspace

NOT_TAKEN = "changes_not_taken"
MAX_NAMED = 20
CHANGED_MEANWHILE = "it was changed here at this moment: apply again"


@dataclass(frozen=True, slots=True)
class TakenFile:
    """A file as it shall be: its content, None when it goes. `rewritten`: the content differs from what is
    there. `present`: what was there when it was merged, None when nothing was. `changed_here`: that is not
    what the subagent began with."""

    path: str
    content: bytes | None
    executable: bool
    rewritten: bool
    present: Digest | None
    changed_here: bool


class Taking(Protocol):
    """One subagent's changes, merged with what is in the caller's folder, while nobody else has them."""

    @property
    def files(self) -> Sequence[TakenFile]: ...

    @property
    def conflicts(self) -> Sequence[str]:
        """The files in which both sides changed the same lines."""

    @property
    def hindered(self) -> Mapping[str, str]:
        """The files in whose place the caller has something else, with the reason."""

    async def taken(self) -> None:
        """Note that all of it is written."""


async def take(files: ProjectFiles, taking: Taking, context: ToolCallContext) -> list[str]:
    """Write what is taken, all of it or nothing, and return the files. Raises ToolError `changes_not_taken`
    with what hinders it, and as `ProjectFiles.apply_operations` does."""
    threads = files.threads
    found, operations = await threads.run(context.session_id, lambda: _planned(files, taking.files, context))
    hindered = {**taking.hindered, **found}
    if taking.conflicts or hindered:
        raise _refusal(taking.conflicts, hindered)
    written = False

    def settle(_: object) -> None:
        nonlocal written
        written = True

    async def finish() -> None:
        await threads.run(context.session_id, lambda: _set_modes(files.workspace(context), taking.files))
        await taking.taken()

    try:
        await files.apply_operations(operations, context, settle)
    finally:
        if written:
            await asyncio.shield(asyncio.ensure_future(finish()))
    return [one.path for one in taking.files]


def _planned(
    files: ProjectFiles, taken: Sequence[TakenFile], context: ToolCallContext
) -> tuple[dict[str, str], list[FileOperation]]:
    """Return what hinders, with the reason by path, and the operations. What goes makes room for what comes.
    Blocks."""
    hindered = dict.fromkeys(
        files.paths_not_writable([f"./{one.path}" for one in taken], context), "you may not write it"
    )
    hindered = {path.removeprefix("./"): reason for path, reason in hindered.items()}
    operations: list[FileOperation] = []
    workspace = files.workspace(context)
    for one in taken:
        if one.path in hindered:
            continue
        try:
            if _present(files, workspace, one, context) != one.present:
                hindered[one.path] = CHANGED_MEANWHILE
                continue
        except ToolError as problem:
            hindered[one.path] = _in_words(problem)
            continue
        operation = _operation(one)
        if operation is not None:
            operations.append(operation)
    operations.sort(key=lambda one: not isinstance(one, Delete))
    return hindered, operations


def _present(
    files: ProjectFiles, workspace: Workspace, one: TakenFile, context: ToolCallContext
) -> Digest | None:
    """Return the digest of what is there now; None when nothing is. A file with changes of its own has to be
    known to the caller, as for an edit."""
    with workspace.target(f"./{one.path}") as target:
        if not target.exists:
            return None
        if one.changed_here:
            return digest_of(files.content_as_read(target, context))
        return digest_of(target.read())


def _in_words(problem: ToolError) -> str:
    if problem.code in {"file_not_read", "file_changed_since_read"}:
        return "it has changed here since the subagent began: read it as it is now, then apply again"
    return problem.message


def _operation(one: TakenFile) -> FileOperation | None:
    path = f"./{one.path}"
    if one.content is None:
        return None if one.present is None else Delete(path, expected=one.present)
    if one.present is None:
        return Create(path, one.content)
    return Rewrite(path, one.present, one.content) if one.rewritten else None


def _set_modes(workspace: Workspace, taken: Sequence[TakenFile]) -> None:
    """Make files programs, or no programs, as the subagent has them. Blocks."""
    for one in taken:
        if one.content is None:
            continue
        with workspace.open(f"./{one.path}") as opened:
            mode = stat.S_IMODE(opened.status.st_mode)
            wanted = mode | (mode & 0o444) >> 2 if one.executable else mode & ~0o111
            if wanted != mode:
                os.fchmod(opened.descriptor, wanted)


def _refusal(conflicts: Sequence[str], hindered: dict[str, str]) -> ToolError:
    lines = []
    if conflicts:
        lines.append(f"Both sides changed the same lines of {_listed(conflicts)}: edit these files yourself.")
    for path, reason in list(hindered.items())[:MAX_NAMED]:
        lines.append(f"{path}: {reason}.")
    if len(hindered) > MAX_NAMED:
        lines.append(f"And {len(hindered) - MAX_NAMED} more files.")
    return ToolError(
        NOT_TAKEN,
        f"Nothing was written. {' '.join(lines)} Apply the other files with `paths`. Discard the rest, or "
        "leave it to the operator.",
        detail={"conflicts": list(conflicts), "hindered": hindered},
    )


def _listed(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:MAX_NAMED])
    return shown if len(paths) <= MAX_NAMED else f"{shown} and {len(paths) - MAX_NAMED} more"
