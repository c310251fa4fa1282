"""What git says of the files of a project: read from `git status`, and summed up for folders.

Owns: the arguments of the command, and one word for each file. Never: running git (`statuses`), or how it
writes (`git_output.status`).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.harness.git_output.status import UNTRACKED, StatusLine, status_head, status_lines
from app.workspace.file_status import EntryStatus
from app.workspace.own_places import is_own

State = Literal["ok", "none", "pending", "unavailable"]

ARGUMENTS = (
    "-c", "status.submoduleSummary=false", "status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind",
    # Of a submodule only its commit counts: git would run in it, by its own configuration, for more.
    "--ignore-submodules=dirty", "--untracked-files=normal", "--ignored=no",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileStatus:
    """The word for a file; `old_path` is where a renamed one was, relative to the project."""

    word: EntryStatus
    old_path: str | None = None


@dataclass(frozen=True, slots=True)
class RepositoryStatus:
    """All paths are relative to the project's root. `none`: there is no repository. `pending`: git has not
    answered yet. `unavailable`: it cannot, for `reason`. `files` also has folders that are not tracked as a
    whole, and submodules; `folders` counts what is below each folder, by words."""

    state: State
    reason: str | None = None
    branch: str | None = None
    commit: str | None = None
    files: Mapping[str, FileStatus] = field(default_factory=dict)
    folders: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    deleted: tuple[str, ...] = ()

    def of(self, path: str) -> FileStatus | None:
        """Return the status of a file or folder; None where nothing has changed."""
        found = self.files.get(path)
        while found is None and "/" in path:
            path = path.rpartition("/")[0]
            found = self.files.get(path)
            if found is not None and found.word != "untracked":
                return None
        return found

    def below(self, folder: str) -> Mapping[str, int]:
        """Return how many files below a folder have which status."""
        return self.folders.get(folder, {})


def parse_status(output: bytes, prefix: str, own: Sequence[bytes] = ()) -> RepositoryStatus:
    """Return what `git status` with `ARGUMENTS` has printed. `prefix` is the project's path in the
    repository, with a slash at its end, or nothing. `own` are names of the daemon, which git cannot read."""
    files: dict[str, FileStatus] = {}
    below = os.fsencode(prefix)
    for line in status_lines(output):
        if line.name.startswith(below) and not is_own(line.name, own):
            old = line.old_name
            before = _text(old[len(below) :]) if old is not None and old.startswith(below) else None
            files[_text(line.name[len(below) :]).rstrip("/")] = FileStatus(_word(line), before)
    head = status_head(output)
    return RepositoryStatus(
        "ok",
        branch=head.get("branch.head"),
        commit=head.get("branch.oid"),
        files=files,
        folders=_summed(files),
        deleted=tuple(path for path, one in files.items() if one.word == "deleted"),
    )


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _word(line: StatusLine) -> EntryStatus:
    if line.marks == UNTRACKED:
        return "untracked"
    if line.is_conflict:
        return "conflicted"
    staged, here = line.marks[0], line.marks[1]
    if here == "D" or (staged == "D" and here == "."):
        return "deleted"
    if line.old_name is not None:
        return "added" if staged == "C" else "renamed"
    return "added" if "A" in (staged, here) else "modified"


def _summed(files: Mapping[str, FileStatus]) -> dict[str, Counter[str]]:
    folders: dict[str, Counter[str]] = {}
    for path, one in files.items():
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            folders.setdefault(folder, Counter())[one.word] += 1
    return folders
