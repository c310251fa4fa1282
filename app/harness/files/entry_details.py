"""What a page of a tree says of each entry, beside its name.

Owns: sizes, times and where links lead, read when the page is asked for. Never: which entries are on it
(`listing`). Blocks.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.errors import ToolError
from app.harness.files.git_status import RepositoryStatus
from app.harness.files.listing import Entry, Kind
from app.workspace import Workspace
from app.workspace.any_names import address_of, shown
from app.workspace.file_status import EntryStatus

_LAST_MS = 253_402_300_799_999
"""The end of the year 9999: later times cannot be written."""


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """Where a link leads within the project."""

    path: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class DetailedEntry:
    """Paths are addresses (`any_names`). `target` is None for a link that leads out of the project or
    nowhere. `changes` counts files below a folder."""

    path: str
    name: str
    kind: Kind
    size: int | None
    modified_at: int | None
    executable: bool
    ignored: bool
    readable: bool
    target: LinkTarget | None
    git: EntryStatus | None
    old_path: str | None
    changes: Mapping[str, int]


def detailed(
    entries: Sequence[Entry], workspace: Workspace, status: RepositoryStatus, unreadable: frozenset[str]
) -> list[DetailedEntry]:
    """Return the entries with what is known of each at this moment."""
    folders: dict[str, list[Entry]] = {}
    for entry in entries:
        folders.setdefault(entry.path.rpartition("/")[0], []).append(entry)
    found: dict[str, os.stat_result] = {}
    for folder, those in folders.items():
        try:
            with workspace.open(f"./{folder}") as opened:
                for entry in those:
                    known = _status(entry.path.rpartition("/")[2], opened.descriptor)
                    if known is not None:
                        found[entry.path] = known
        except ToolError:
            continue  # gone since the listing
    return [_detailed(entry, found.get(entry.path), workspace, status, unreadable) for entry in entries]


def _detailed(
    entry: Entry,
    found: os.stat_result | None,
    workspace: Workspace,
    status: RepositoryStatus,
    unreadable: frozenset[str],
) -> DetailedEntry:
    git = None if entry.ignored and entry.path not in status.files else status.of(entry.path)
    is_file = found is not None and stat.S_ISREG(found.st_mode)
    return DetailedEntry(
        path=address_of(entry.path),
        name=shown(entry.path.rpartition("/")[2]),
        kind=entry.kind,
        size=found.st_size if found is not None and is_file else None,
        modified_at=None if found is None else modified_at(found),
        executable=found is not None and is_file and bool(found.st_mode & 0o111),
        ignored=entry.ignored,
        readable=entry.path not in unreadable and not entry.gone,
        target=_target(entry, workspace),
        git=None if git is None else git.word,
        old_path=None if git is None or git.old_path is None else address_of(git.old_path),
        changes=status.below(entry.path) if entry.kind == "folder" else {},
    )


def _target(entry: Entry, workspace: Workspace) -> LinkTarget | None:
    if entry.kind != "link":
        return None
    try:
        path = f"./{entry.path}"
        leads_to = "/".join(workspace.leads_to(path))
        is_folder = stat.S_ISDIR(workspace.status(path).st_mode)
    except ToolError:
        return None
    return LinkTarget(address_of(leads_to), "folder" if is_folder else "file")


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def modified_at(found: os.stat_result) -> int | None:
    """Return the time of the last change in milliseconds, None where no date can be written for it."""
    at = found.st_mtime_ns // 1_000_000
    return at if 0 <= at <= _LAST_MS else None
