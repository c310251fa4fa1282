"""The units that a project's code is built in: packages, modules, crates, each with a manifest of its own.

Owns: to which unit a file belongs, and which manifests join units. Never: which server is asked about a unit.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_MANIFEST = 256 * 1024


@dataclass(frozen=True, slots=True)
class Unit:
    """`folder` is relative to the project's root, `.` for that itself. `marked`: a manifest is in it; without
    one nothing says which files belong together."""

    folder: str
    marked: bool


class Units:
    """The units of one language below `root`. Its methods block. `markers` are the manifests by name, each
    with words of which one must be in it, or none."""

    def __init__(self, root: Path, language: str, markers: Mapping[str, tuple[str, ...]]) -> None:
        self._root = root
        self._markers = markers
        self._joined = _JOINED.get(language)
        self._known: dict[str, Unit | None] = {}

    def of(self, path: str) -> Unit | None:
        """Return the unit of a file, by its path from the root; None where no manifest is above it."""
        folder = os.path.dirname(path) or "."
        if folder not in self._known:
            self._known[folder] = self._find(folder)
        return self._known[folder]

    def _find(self, folder: str) -> Unit | None:
        found = next((one for one in _upwards(folder) if self._is_marked(one)), None)
        if found is None:
            return None
        if self._joined is not None:
            name, takes_in = self._joined
            for above in _upwards(found):
                text = manifest_text(self._root / above / name)
                if text and takes_in(text, os.path.relpath(found, above)):
                    return Unit(above, marked=True)
        return Unit(found, marked=True)

    def _is_marked(self, folder: str) -> bool:
        return any(self._has(folder, name, words) for name, words in self._markers.items())

    def _has(self, folder: str, name: str, words: Iterable[str]) -> bool:
        path = self._root / folder / name
        if not words:
            return os.path.exists(path)
        text = manifest_text(path)
        return any(word in text for word in words)


def manifest_text(path: Path) -> str:
    """Return what a manifest holds, empty where it cannot be read. Blocks."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, MAX_MANIFEST).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _upwards(folder: str) -> Iterator[str]:
    while folder not in {"", "."}:
        yield folder
        folder = os.path.dirname(folder)
    yield "."


def _cargo_takes_in(text: str, unit: str) -> bool:
    """Tell whether a Cargo.toml makes a workspace that the crate in the folder `unit` below belongs to."""
    try:
        workspace: Any = tomllib.loads(text).get("workspace")
    except tomllib.TOMLDecodeError:
        return False
    if not isinstance(workspace, dict):
        return False
    excluded = workspace.get("exclude")
    folders = (
        [one.strip("/") for one in excluded if isinstance(one, str)] if isinstance(excluded, list) else []
    )
    return not any(unit == one or unit.startswith(f"{one}/") for one in folders)


def _go_takes_in(text: str, unit: str) -> bool:
    """Tell whether a go.work uses the module in the folder `unit` below."""
    used = {word.strip("\"'`").removeprefix("./").rstrip("/") or "." for word in text.split()}
    return unit in used


_JOINED = {"rust": ("Cargo.toml", _cargo_takes_in), "go": ("go.work", _go_takes_in)}
"""The manifests that join units below them, by language."""
