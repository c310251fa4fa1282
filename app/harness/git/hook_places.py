"""Where the hooks of a repository are that git would run for a commit.

Owns: the folder, by the settings, and the files that entries of it lead to. Never: running hooks. Blocks.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from app.workspace.repository import RepositoryFolders

MAX_ENTRIES = 1_000
_OPTIONAL = ":(optional)"
_MANAGED = (".husky", ".lefthook", ".lefthook-local", ".git-hooks")
_MANAGERS = (".pre-commit-", ".huskyrc", "lefthook.", "lefthook-local.", ".lefthook.", ".lefthook-local.",
             ".overcommit.", "prek.toml")  # fmt: skip
"""The folders, and the beginnings of the names of files, that managers of hooks run or obey."""


def hook_places(folders: RepositoryFolders, values: Mapping[str, str]) -> set[bytes]:
    """Return the files and folders in the working tree from which git would run something for a commit, as
    names in the repository. `values` are the settings that are in effect."""
    named = values.get("core.hookspath", "").removeprefix(_OPTIONAL)
    top = Path(os.fsdecode(folders.top))
    folder = top / os.path.expanduser(named) if named else Path(os.fsdecode(folders.common), "hooks")
    places = {folder}
    try:
        with os.scandir(folder) as entries:
            places |= {Path(entry.path) for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False)}
    except OSError:
        pass  # nothing is there: it may come
    for key, command in values.items():
        if key.startswith("hook.") and key.endswith(".command"):
            places |= {top / word for word in _words(command)}
    found = {Path(os.path.normpath(one)) for one in places} | {Path(os.path.realpath(one)) for one in places}
    return {
        os.fsencode(one.relative_to(base))
        for base in (top, Path(os.path.realpath(top)))
        for one in found
        if one.is_relative_to(base) and one != base
    }


def hooks_among(names: Iterable[bytes], places: Collection[bytes]) -> list[bytes]:
    """Return the files that hooks or their managers would run or obey; some file systems do not tell large
    from small letters."""
    known = [place.lower() for place in places]
    return [name for name in names if _is_managed(name) or any(_meets(name.lower(), one) for one in known)]


def _meets(name: bytes, place: bytes) -> bool:
    return name == place or name.startswith(place + b"/") or place.startswith(name + b"/")


def _is_managed(name: bytes) -> bool:
    *above, last = os.fsdecode(name).lower().split("/")
    return last.startswith(_MANAGERS) or any(part in _MANAGED for part in (*above, last))


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
