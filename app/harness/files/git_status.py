"""What git says of the files of a project: read from `git status`, and summed up for folders.

Owns: the command's arguments, its output, and one letter for each file. Never: running git (`statuses`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Letter = Literal["M", "A", "D", "R", "U", "?"]
"""Changed, new in the index, gone, renamed, in conflict, not tracked; compared with the last commit."""
State = Literal["ok", "none", "pending", "unavailable"]

ARGUMENTS = (
    "-c", "status.submoduleSummary=false", "status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind",
    # Of a submodule only its commit counts: git would run in it, by its own configuration, for more.
    "--ignore-submodules=dirty", "--untracked-files=normal", "--ignored=no",
)  # fmt: skip
_DETACHED = "(detached)"
_INITIAL = "(initial)"
_WORDS: dict[Letter, str] = {
    "M": "modified", "A": "added", "D": "deleted", "R": "renamed", "U": "conflicted", "?": "untracked",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileStatus:
    """The letter of a file; `old_path` is where a renamed one was, relative to the project."""

    letter: Letter
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
            if found is not None and found.letter != "?":
                return None
        return found

    def below(self, folder: str) -> Mapping[str, int]:
        """Return how many files below a folder have which status."""
        return self.folders.get(folder, {})


def parse_status(output: bytes, prefix: str) -> RepositoryStatus:
    """Return what `git status` with `ARGUMENTS` has printed. `prefix` is the project's path in the
    repository, with a slash at its end, or nothing."""
    files: dict[str, FileStatus] = {}
    heads: dict[str, str] = {}
    for line, old in _lines(output):
        if line.startswith("# "):
            name, _, value = line[2:].partition(" ")
            heads[name] = value
            continue
        path, letter = _path_and_letter(line)
        if path is None or not path.startswith(prefix):
            continue
        before = old[len(prefix) :] if old is not None and old.startswith(prefix) else None
        files[path[len(prefix) :].rstrip("/")] = FileStatus(letter, before)
    branch, commit = heads.get("branch.head"), heads.get("branch.oid")
    return RepositoryStatus(
        "ok",
        branch=None if branch == _DETACHED else branch,
        commit=None if commit == _INITIAL else commit,
        files=files,
        folders=_summed(files),
        deleted=tuple(path for path, one in files.items() if one.letter == "D"),
    )


def _lines(output: bytes) -> Iterator[tuple[str, str | None]]:
    """Yield each entry, with the old path after that of a renamed file."""
    fields = iter(output.decode("utf-8", "surrogateescape").split("\0"))
    for line in fields:
        if line:
            yield line, next(fields, None) if line.startswith("2 ") else None


def _path_and_letter(line: str) -> tuple[str | None, Letter]:
    kind = line[:2]
    if kind == "? ":
        return line[2:], "?"
    blanks = {"1 ": 8, "2 ": 9, "u ": 10}.get(kind)
    parts = line.split(" ", blanks) if blanks is not None else []
    if blanks is None or len(parts) <= blanks:
        return None, "M"
    if kind == "u ":
        return parts[-1], "U"
    staged, here = parts[1][0], parts[1][1]
    if here == "D" or (staged == "D" and here == "."):
        return parts[-1], "D"
    if kind == "2 ":
        return parts[-1], "A" if staged == "C" else "R"
    return parts[-1], "A" if "A" in (staged, here) else "M"


def _summed(files: Mapping[str, FileStatus]) -> dict[str, Counter[str]]:
    folders: dict[str, Counter[str]] = {}
    for path, one in files.items():
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            folders.setdefault(folder, Counter())[_WORDS[one.letter]] += 1
    return folders
