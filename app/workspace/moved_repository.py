"""The workspaces of a project whose folder was moved: they borrow objects from the place of its repository.

Owns: writing the new place into the repositories of a project's workspaces. Never: rows, or what else moves.
Blocks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from app.workspace.own_places import WORKSPACES_FOLDER
from app.workspace.repository import alternate, place_of_alternate

_ALTERNATES = ("git/objects/info/alternates", "tree/.git/objects/info/alternates")


def follow_repository(data_dir: Path, project_id: str, before: Path, after: Path) -> None:
    """Let the workspaces of a project borrow from its repository where that lies now; done twice it is as
    once."""
    folder = Path(os.path.realpath(data_dir)) / WORKSPACES_FOLDER / project_id
    for workspace in sorted(folder.iterdir()) if folder.is_dir() else ():
        for name in _ALTERNATES:
            file = workspace / name
            # What agents write leads nowhere else.
            if file.is_file() and os.path.realpath(file) == str(file):
                _rewrite(file, before, after)


def _rewrite(file: Path, before: Path, after: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    moved = [_moved(line, before, after) for line in lines]
    if moved != lines:
        temporary = file.with_name("alternates.moved")
        temporary.unlink(missing_ok=True)
        with open(temporary, "xb") as made:
            made.write(b"".join(moved))
        temporary.replace(file)


def _moved(line: bytes, before: Path, after: Path) -> bytes:
    place = Path(place_of_alternate(os.fsdecode(line.rstrip(b"\n"))))
    if place.is_dir():
        return line
    for old, new in _pairs(before, after):
        if place.is_relative_to(old) and (found := new / place.relative_to(old)).is_dir():
            return alternate(found)
    return line


def _pairs(before: Path, after: Path) -> Iterator[tuple[Path, Path]]:
    """Yield both places, and those of the folders above that may have been moved with them."""
    yield before, after
    while before.name == after.name and before != before.parent:
        before, after = before.parent, after.parent
        yield before, after
