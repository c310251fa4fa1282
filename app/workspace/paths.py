"""The text rules of paths, before anything is opened.

Owns: `locate`, which turns a caller's path into components below the root, and who owns a scratch file.
Never: the file system (`descriptors`).
"""

from __future__ import annotations

import errno
import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Literal

from app.errors import ToolError
from app.ids import ROOT_AGENT

Access = Literal["ro", "rw"]
MAX_PATH = 4096
MAX_NAME = 255


@dataclass(frozen=True, slots=True)
class Location:
    """Where a path points by its text. `parts` are below the project's root, or below `aside`, a read-only
    folder outside it: the session's scratch folder, or that of a skill. `shown` is the path as answers echo
    it; `names_directory` that it ended in a slash."""

    parts: tuple[str, ...]
    shown: str
    aside: Path | None = None
    names_directory: bool = False


def invalid_path(path: str, message: str, **detail: object) -> ToolError:
    """Return the error for a path that no caller may use; it says what to do instead."""
    shown = path[:200].encode("utf-8", "backslashreplace").decode()
    return ToolError("invalid_path", f"{message}: {shown!r}", detail={"path": shown, **detail})


def locate(root: Path, path: str, *, aside: Sequence[Path] = (), any_name: bool = False) -> Location:
    """Apply the text rules to `path`, relative to `root`.

    An absolute path is accepted when it names something below the root, or below a folder of `aside`.
    `a/../b` means `b`. With `any_name` names need not be UTF-8: other bytes are surrogates, as of
    `os.fsdecode`. Raises ToolError `invalid_path`.
    """
    _check_text(path, any_name=any_name)
    names_directory = path.endswith("/")
    if not path.startswith("/"):
        return Location(_below(path.split("/"), path), path, names_directory=names_directory)
    names = _below(path.split("/"), path)
    for folder in aside:
        parts = below(folder, names)
        if parts is not None:
            return Location(parts, path, aside=folder, names_directory=names_directory)
    parts = below(root, names)
    if parts is None:
        raise invalid_path(
            path, "the path is outside the project; give a path relative to the project's root"
        )
    return Location(parts, "/".join(parts) or ".", names_directory=names_directory)


def below(folder: Path, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the components of the absolute path `names` below `folder`, compared one by one."""
    for base in (PurePosixPath(os.path.abspath(folder)), PurePosixPath(os.path.realpath(folder))):
        prefix = base.parts[1:]
        if names[: len(prefix)] == prefix:
            return names[len(prefix) :]
    return None


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """Return what is the same for all spellings that a file system might take for one name: other case,
    compatible or invisible characters, trailing dots and blanks, streams."""
    plain = "".join(
        one for one in unicodedata.normalize("NFKC", name) if unicodedata.category(one) not in {"Cf", "Mn"}
    )
    return plain.casefold().partition(":")[0].rstrip(". ")


def _check_text(path: str, *, any_name: bool) -> None:
    if not path:
        raise invalid_path(path, "the path is empty; write . for the project's root")
    if "\0" in path:
        raise invalid_path(path, "the path contains a NUL character")
    try:
        encoded = path.encode("utf-8", "surrogateescape" if any_name else "strict")
    except UnicodeEncodeError:
        raise invalid_path(path, "the path contains an unpaired surrogate") from None
    if len(encoded) > MAX_PATH:
        raise invalid_path(path, f"the path is longer than {MAX_PATH} bytes")
    if path.startswith("~"):
        raise invalid_path(
            path, "~ is not expanded; give a path relative to the project's root (./~name for such a name)"
        )


def _below(names: list[str], path: str) -> tuple[str, ...]:
    parts: list[str] = []
    for name in names:
        if name in {"", "."}:
            continue
        if name == "..":
            if not parts:
                raise invalid_path(path, "the path leads above the project's root")
            parts.pop()
        elif len(name.encode("utf-8", "surrogateescape")) > MAX_NAME:
            raise invalid_path(path, f"a name in the path is longer than {MAX_NAME} bytes")
        else:
            parts.append(name)
    return tuple(parts)


def os_problem(path: str, problem: OSError) -> ToolError:
    """Return what a model reads about a failure of the operating system. Its codes are its own: what the
    operator refuses has others."""
    known: Mapping[int | None, tuple[str, str]] = {
        errno.ENOENT: ("file_not_found", "there is no such file or directory"),
        errno.ENOTDIR: ("file_not_found", "a part of the path is a file, not a directory"),
        errno.EACCES: ("access_denied", "the daemon's user may not access it"),
        errno.EPERM: ("access_denied", "the operating system does not permit it"),
        errno.EROFS: ("access_denied", "the file system is read-only"),
        errno.ENOSPC: ("no_space", "the disk is full"),
        errno.EDQUOT: ("no_space", "the disk quota is used up"),
        errno.EFBIG: ("no_space", "the file would be too large"),
        errno.ENAMETOOLONG: ("invalid_path", "the path is too long"),
        errno.ELOOP: ("invalid_path", "the path has too many or forbidden symbolic links"),
        errno.EISDIR: ("is_directory", "it is a directory"),
    }
    code, text = known.get(problem.errno, ("io_error", problem.strerror or "the operation failed"))
    return ToolError(code, f"{path}: {text}", detail={"path": path})


def scratch_of(scratch: Path, agent_path: str) -> Path:
    """Return the folder for what is kept for one agent."""
    return scratch / agent_path


def may_read_scratch(parts: tuple[str, ...], reader: str) -> bool:
    """Tell whether the agent `reader` may read the file with these components below the scratch folder:
    it or an agent below it made the file."""
    if not parts:
        return False
    # Earlier versions kept all files in the scratch folder itself.
    owner = parts[0] if len(parts) > 1 else ROOT_AGENT
    return owner == reader or owner.startswith(f"{reader}.")
