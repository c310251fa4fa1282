"""Several files changed as one: all of them, or none.

Owns: the order of staging, putting and taking back. Never: locks, and what the new content is.
Blocking. A daemon that is killed half way leaves some files changed; nothing else does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from app.errors import ToolError
from app.tools.project_files.file_locks import busy
from app.tools.project_files.read_tracker import Digest, digest_of
from app.workspace import Staged, Target, Workspace

MakeContent = Callable[[Target], bytes]
"""Reads the file (`target.read`) and returns its new content, or raises ToolError."""


@dataclass(frozen=True, slots=True)
class Locked:
    """A file whose lock is held: the path it was named by, and what it turned out to be."""

    path: str
    identity: Hashable


@dataclass(frozen=True, slots=True)
class Written:
    """A file's `key`, and the digest of what it holds now."""

    key: str
    digest: Digest


@dataclass(frozen=True, slots=True)
class _Pending:
    file: Locked
    staged: Staged
    written: Written


def write_together(workspace: Workspace, files: Sequence[Locked], make: MakeContent) -> list[Written]:
    """Give every file its new content, or none of them. Raises whatever `make` raises, `file_busy`
    and `file_changed_since_read`."""
    pending: list[_Pending] = []
    put = 0
    try:
        for file in files:
            with workspace.target(file.path) as target:
                if target.identity != file.identity:
                    raise busy(file.path)
                content = make(target)
                written = Written(target.key, digest_of(content))
                pending.append(_Pending(file, target.stage(content), written))
        for one in pending:
            with workspace.target(one.file.path) as target:
                target.put(one.staged)
            put += 1
    except BaseException:
        _take_back(workspace, pending[:put])
        _discard(workspace, pending[put:])
        raise
    _discard(workspace, pending)
    return [one.written for one in pending]


def _take_back(workspace: Workspace, pending: Sequence[_Pending]) -> None:
    left = []
    for one in reversed(pending):
        try:
            with workspace.target(one.file.path) as target:
                target.take_back(one.staged)
        except ToolError:
            left.append(one.file.path)
    if left:
        names = ", ".join(left[:20])
        raise ToolError(
            "partly_applied",
            f"{len(left)} files could not be put back after a failure: {names}; look at them before going on",
            detail={"paths": left},
        )


def _discard(workspace: Workspace, pending: Sequence[_Pending]) -> None:
    for one in pending:
        try:
            with workspace.target(one.file.path) as target:
                target.discard(one.staged)
        except ToolError:
            continue  # its folder is gone; what was in it too
