"""Paths as they are written in a project file, and the check that they stay inside their project.

Owns: the grammar (`project:/x`, `config:/x`, `./x`, `x`), containment after symbolic links are resolved, and
the choice of `x.local.md` over `x.md`. Never: comparing paths as strings.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.errors import ToolError
from app.workspace import LEADS_OUT, RootFolder, Workspace

CONFIG_FOLDER = ".kaged"
PROJECT_FILE = "project.yaml"
LOCAL_FILE = "project.local.yaml"


class PathProblem(Exception):
    """A path that cannot be used; `code` is the diagnostic's code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class WrittenPath:
    """A path of a project file: the folder it starts from and its parts. A leading `..` part is possible."""

    start: Literal["project", "config"]
    parts: tuple[str, ...]

    def under(self, project_root: Path) -> Path:
        """The absolute path, symbolic links not resolved."""
        base = project_root / CONFIG_FOLDER if self.start == "config" else project_root
        return base.joinpath(*self.parts)


def read_path(text: str, *, may_climb: bool = False) -> WrittenPath:
    """Parse a written path; raise PathProblem for what no project file may say.

    `may_climb` lets `..` lead above the start; the caller then checks where the path ends.
    """
    if "\0" in text:
        raise PathProblem("path_nul", "a path cannot contain a NUL character")
    start: Literal["project", "config"] = "project"
    rest = text
    scheme, colon, after = text.partition(":")
    if colon and "/" not in scheme:
        if scheme not in ("project", "config") or not after.startswith("/"):
            raise PathProblem("path_invalid", "write `project:/...`, `config:/...` or a relative path")
        start = "config" if scheme == "config" else "project"
        rest = after[1:]
    if rest.startswith(("/", "~")):
        raise PathProblem("path_outside_project", "not relative to the project; write `project:/...`")
    parts: list[str] = []
    for part in rest.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            parts.append(part)
        elif parts and parts[-1] != "..":
            parts.pop()
        elif may_climb:
            parts.append(part)
        else:
            raise PathProblem("path_outside_project", "the path leads out of the project")
    return WrittenPath(start, tuple(parts))


def contained(path: Path, root: Path) -> Path:
    """Resolve symbolic links of `path`; raise PathProblem unless it ends at or below `root`."""
    try:
        resolved = path.resolve()
        inside = resolved.is_relative_to(root.resolve())
    except (OSError, RuntimeError) as error:
        raise PathProblem("path_invalid", f"cannot follow `{path.name}`: {error}") from error
    if not inside:
        raise PathProblem("path_outside_project", "the path leads out of the project")
    return resolved


def prefer_local(path: Path) -> tuple[Path, ...]:
    """The candidates for a file inside `.kaged/`, best first: `x.local.md`, then `x.md`."""
    return (path.with_name(f"{path.stem}.local{path.suffix}"), path)


def read_project_file(path: Path, project_root: Path, limit: int) -> bytes:
    """Read at most `limit` + 1 bytes of a regular file that is in a project also when its links are
    followed. `project_root` is a real path, and `path` is below it by its text.

    Raises PathProblem when a link leads out of the project, and OSError for everything else that cannot
    be read; what was opened is what was judged, also when names change meanwhile.
    """
    workspace = Workspace(RootFolder(project_root, is_real=True))
    try:
        with workspace.open(f"./{path.relative_to(project_root).as_posix()}") as opened:
            if opened.is_directory:
                raise IsADirectoryError(f"{path.name} is not a regular file")
            with os.fdopen(os.dup(opened.descriptor), "rb") as file:
                return file.read(limit + 1)
    except ToolError as problem:
        if problem.detail.get("reason") == LEADS_OUT:
            raise PathProblem("path_outside_project", "the path leads out of the project") from None
        if problem.code == "file_not_found":
            raise FileNotFoundError(problem.message) from None
        raise OSError(problem.message) from None


def display_path(path: Path, root: Path) -> str:
    """`path` relative to `root` with forward slashes, or absolute when it is not below it."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
