"""Whether code elsewhere in a project can refer to a file: what its manifest names, and what it imports.

Owns: the names of a unit and of a file, and looking for them. Never: what languages make of them; a name that
is found where none is meant costs a question to a server, one that is missed would cost a reference.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.bridges.lsp.manager import manifest_text

MAX_FILES = 50
MANIFESTS = (
    *("package.json", "tsconfig.json", "jsconfig.json", "go.mod", "Cargo.toml", "rust-project.json"),
    *("pyproject.toml", "pyrightconfig.json", "setup.cfg", "setup.py", "requirements.txt", "Pipfile"),
    *("compile_commands.json", "build/compile_commands.json", "CMakeLists.txt", "meson.build"),
)
_IMPORT = re.compile(r"\b(?:import|from|require|include|use|mod|export|package)\b|^\s*[\"`]")


@dataclass(frozen=True, slots=True)
class Declaring:
    """A file and its unit, with the names that others can know them by."""

    path: str
    unit: str
    names: tuple[str, ...]


def declaring(root: Path, path: str, unit: str) -> Declaring:
    """Return the names of a file and its unit. Blocks."""
    stem = path.rpartition("/")[2].partition(".")[0]
    folder = os.path.basename(os.path.dirname(path))
    own = {stem, folder, os.path.basename(unit), *_titles(root / unit)}
    return Declaring(path, unit, tuple(sorted(one for one in own if one not in {"", "."})))


def reaches(root: Path, unit: str, files: Sequence[str], target: Declaring) -> bool:
    """Tell whether the unit in the folder `unit`, or one of these files of it, names what is declared.
    Blocks."""
    if unit == target.unit:
        return True
    titles = _titles(root / target.unit)
    if any(manifest_names(root, os.path.join(unit, name), target.unit, titles) for name in MANIFESTS):
        return True
    return bool(imports(root, files[:MAX_FILES], target.names))


def manifest_names(root: Path, manifest: str, unit: str, names: Iterable[str]) -> bool:
    """Tell whether a manifest has one of the names of a unit, or the way to its folder. Blocks."""
    way = os.path.relpath(unit, os.path.dirname(manifest) or ".")
    named = _any_of([*names, *({way, f"./{way}"} - {".", "./."})])
    return named.search(manifest_text(root / manifest)) is not None


def unit_names(root: Path, unit: str) -> tuple[str, ...]:
    """Return what a unit is called elsewhere: by its manifests, and its folder. Blocks."""
    folder = os.path.basename(unit)
    return tuple(dict.fromkeys([*_titles(root / unit), *([folder] if folder not in {"", "."} else ())]))


def imports(root: Path, files: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return those of the files that have one of the names in a line that imports. Blocks."""
    named = _any_of(names)
    return [file for file in files if _imports(manifest_text(root / file), named)]


def text_imports(text: str, names: Sequence[str]) -> bool:
    """Tell whether one of the names is in a line of the text that imports."""
    return _imports(text, _any_of(names))


def _imports(text: str, named: re.Pattern[str]) -> bool:
    return any(_IMPORT.search(line) and named.search(line) for line in text.splitlines())


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    every = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w@-])(?:{every})(?![\w-])" if every else r"(?!)")


def _titles(folder: Path) -> tuple[str, ...]:
    """Return what the manifests of a unit call it."""
    found: list[Any] = []
    module = re.search(r"^module\s+\"?([^\s\"]+)", manifest_text(folder / "go.mod"), re.MULTILINE)
    found += [module[1]] if module else []
    for manifest, table in (("Cargo.toml", "package"), ("pyproject.toml", "project")):
        try:
            declared = tomllib.loads(manifest_text(folder / manifest)).get(table)
        except tomllib.TOMLDecodeError:
            continue
        found += [declared.get("name")] if isinstance(declared, dict) else []
    try:
        package = json.loads(manifest_text(folder / "package.json") or "null")
        found += [package.get("name")] if isinstance(package, dict) else []
    except (ValueError, RecursionError):
        pass
    named = [one for one in found if isinstance(one, str) and one]
    return tuple(dict.fromkeys([*named, *(one.replace("-", "_") for one in named)]))
