"""The marker in a project's folder, by which several daemons know that they see the same files.

Owns: the file `.kaged/replicas/marker`. Never: what is stored as the marker of a project. Blocking.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path

from app.errors import ToolError, Unavailable
from app.workspace.workspace import Workspace

FOLDER = ".kaged/replicas"
FILE = f"{FOLDER}/marker"
RETRY_SECONDS = 10
_LONGEST = 200


def agreed_marker(root: Path, known: str) -> str:
    """Return the marker of a project's files, which is made when none is `known` yet and none is there.

    Raises `Unavailable` (`files_elsewhere`) when the folder has another one than is known, or can have
    none."""
    found = _read(root)
    if known:
        if found == known:
            return known
        raise _elsewhere(
            f"The files of the project are not in {root} of this machine: {FILE} is not the stored one. "
            f"If they are, for example after a backup was restored, write {known} into that file."
        )
    if found:
        return found
    workspace = Workspace(root)
    try:
        _create(workspace, f"{FOLDER}/.gitignore", "*")
        _create(workspace, FILE, secrets.token_hex(16))
    except ToolError as problem:
        raise _elsewhere(f"{FILE} cannot be made in {root}: {problem.message}") from None
    found = _read(root)
    if not found:
        raise _elsewhere(f"{FILE} in {root} cannot be read, or is empty.")
    return found


def _create(workspace: Workspace, name: str, line: str) -> None:
    """Make a file, unless another daemon has been faster."""
    try:
        with workspace.target(name) as target:
            if not target.exists:
                target.create(f"{line}\n".encode())
    except ToolError as problem:
        if problem.code != "file_exists":
            raise


def _read(root: Path) -> str:
    with suppress(ToolError, OSError), Workspace(root).target(FILE) as target:
        if target.exists:
            return target.read()[:_LONGEST].decode("utf-8", "replace").strip()
    return ""


def _elsewhere(message: str) -> Unavailable:
    return Unavailable(message, reason="files_elsewhere", details={"retry_after_seconds": RETRY_SECONDS})
