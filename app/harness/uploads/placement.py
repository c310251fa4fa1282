"""Putting uploads where agents read them: `.kaged/tmp/<holder>/<name>` in the project's folder.

Owns: the copy and its path. Never: following links out of the project (`app.workspace` sees to it).
A copy, not a second name of the daemon's file, because the project may write to it. Blocking.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from app.errors import Conflict, Gone, InsufficientStorage, ToolError
from app.harness.uploads.names import distinct_name
from app.storage.models import Upload
from app.workspace.workspace import Workspace

FOLDER = ".kaged/tmp"
_PIECE_BYTES = 1024 * 1024
_MOST_NAMES = 100


def place_upload(upload: Upload, content: Path, root: Path, holder_id: str, closed: tuple[Path, ...]) -> str:
    """Copy the content into the project; return its path below `root`.

    A file of that name which is the same already is left as it is, so that this may be repeated;
    any other is never written to: then the copy gets a name of its own. `closed` are folders that
    nothing may be put into. Raises Gone, Conflict when the project's folder does not allow it."""
    workspace = Workspace(root, closed=closed)
    try:
        _keep_out_of_git(workspace)
        return _place(workspace, upload, content, f"{FOLDER}/{holder_id}")
    except ToolError as error:
        if error.code == "no_space":
            raise InsufficientStorage(
                f"{error.message}. Free space there, then try again.", reason="disk_full"
            ) from None
        raise Conflict(
            f"The file {upload.name} could not be put into the project: {error.message}.", reason=error.code
        ) from None


def _place(workspace: Workspace, upload: Upload, content: Path, folder: str) -> str:
    taken: list[str] = []
    for _ in range(_MOST_NAMES):
        name = distinct_name(upload.name, taken)
        path = f"{folder}/{name}"
        if _is_same(workspace, path, upload):
            return path
        try:
            with workspace.target(path) as target:
                target.create_from(_pieces_of(content, upload))
            return path
        except ToolError as error:
            if error.code not in ("file_exists", "is_directory"):
                raise
        taken.append(name)
    raise ToolError("file_exists", f"{folder} has {_MOST_NAMES} other files of this name; remove some")


def _keep_out_of_git(workspace: Workspace) -> None:
    """Projects that were made before this folder existed do not have it in their `.gitignore`."""
    try:
        with workspace.target(f"{FOLDER}/.gitignore") as target:
            if not target.exists:
                target.create(b"*\n")
    except ToolError as error:
        if error.code != "file_exists":
            raise


def _is_same(workspace: Workspace, path: str, upload: Upload) -> bool:
    with suppress(ToolError), workspace.open(path) as found:
        if found.is_directory or found.status.st_size != upload.size_bytes:
            return False
        with open(os.dup(found.descriptor), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == upload.sha256
    return False


def _pieces_of(content: Path, upload: Upload) -> Iterator[bytes]:
    try:
        with content.open("rb", buffering=0) as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece
    except FileNotFoundError:
        raise content_gone(upload.id) from None


def content_gone(upload_id: str) -> Gone:
    """Return the error for an upload whose row is there and whose content is not."""
    return Gone(
        f"The content of {upload_id} is no longer in the daemon's data folder. Upload the file again.",
        reason="content_gone",
    )
