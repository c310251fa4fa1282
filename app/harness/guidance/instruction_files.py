"""Finds the instruction files of a project and of its user, with the files that they import.

Owns: the names, the order (the nearest last), imports by `@path`. Never: how much of them is sent. Blocks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.harness.guidance.guidance import (
    AGENT_FOLDERS,
    INSTRUCTION_NAMES,
    FileNote,
    InstructionFile,
    Scope,
)
from app.harness.guidance.places import Found, Surroundings, Unusable, read_in
from app.workspace import RootFolder, Workspace

MAX_IMPORT_DEPTH = 3
MAX_FILES = 64
_IMPORT = re.compile(r"(?<![^\s(])@([^\s`@]{1,1000})")
_CODE = re.compile(r"(?<!`)(`++)[^`\n]+\1")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TEXT_FILE = re.compile(r"\.(?:md|mdc|txt|rst|adoc)$", re.IGNORECASE)
_NEVER = frozenset({".git", ".hg", ".svn"})

_Read = Callable[[Path], Found | None]


@dataclass(slots=True)
class InstructionReader:
    """Reads files once each, with their imports. `warnings` are for people."""

    around: Surroundings
    warnings: list[FileNote] = field(default_factory=list)
    _seen: set[Path] = field(default_factory=set)

    def all(self) -> list[InstructionFile]:
        """Return the user's own files, then those from the repository down to the project's root."""
        found: list[InstructionFile] = []
        home = self.around.home
        for folder in AGENT_FOLDERS if home is not None else ():
            assert home is not None
            found += self._of_user(home / folder, [home / folder / name for name in INSTRUCTION_NAMES])
        for above in reversed(self.around.upward()):
            found += self.of_folder(above)
        if len(found) > MAX_FILES:
            self._warn(found[0].origin, f"more than {MAX_FILES} instruction files; the farthest are left out")
        return found[-MAX_FILES:]

    def of_folder(self, folder: Path) -> list[InstructionFile]:
        """Return the files of one folder of the repository."""
        return [one for name in INSTRUCTION_NAMES for one in self.of_file(folder / name)]

    def of_file(self, path: Path) -> list[InstructionFile]:
        """Return one file of the repository with its imports; nothing when it is not there."""
        around = self.around
        return list(self._with_imports(path, around.read, around.top, 0))

    def of_user_file(self, path: Path) -> list[InstructionFile]:
        """Return a file of the user's own with its imports; nothing when it is not there."""
        home = self.around.home
        folders = [home / name for name in AGENT_FOLDERS] if home is not None else []
        folder = next((one for one in folders if path.is_relative_to(one)), None)
        return [] if folder is None else list(self._of_user(folder, [path]))

    def _of_user(self, folder: Path, paths: Sequence[Path]) -> Iterator[InstructionFile]:
        real = Path(os.path.realpath(folder))
        if not real.is_dir() or real == Path("/"):
            return
        tree = Workspace(RootFolder(real, is_real=True), closed=self.around.closed)

        def read(path: Path) -> Found | None:
            if path.parent == folder and path.name in INSTRUCTION_NAMES:
                return self.around.read_own(path)
            return read_in(tree, path.relative_to(folder))

        for path in paths:
            yield from self._with_imports(path, read, folder, 0, scope="user")

    def _with_imports(
        self, path: Path, read: _Read, base: Path, depth: int, *, scope: Scope | None = None
    ) -> Iterator[InstructionFile]:
        around, shown = self.around, self.around.shown(path)
        try:
            found = read(path)
        except Unusable as problem:
            self._warn(shown, str(problem))
            return
        if found is None:
            if depth and _TEXT_FILE.search(path.name):
                self._warn(shown, "an instruction file imports it, and it is not there")
            return
        if found.real in self._seen or not found.text.strip():
            return
        self._seen.add(found.real)
        if found.cut:
            self._warn(shown, "it is very long; only its beginning is read")
        whose = scope or around.scope_of(found.real)
        parts = around.parts_of(found.real)
        yield InstructionFile(origin=shown, scope=whose, parts=parts, text=found.text.strip("\n"))
        for target in imports_of(found.text):
            inner = Path(os.path.normpath(path.parent / target))
            if not inner.is_relative_to(base) or _NEVER.intersection(inner.relative_to(base).parts):
                if _TEXT_FILE.search(inner.name):
                    self._warn(shown, f"the import @{target[:200]} leads out of the folder that it may use")
            elif depth < MAX_IMPORT_DEPTH:
                yield from self._with_imports(inner, read, base, depth + 1, scope=scope)
            elif _TEXT_FILE.search(inner.name):
                self._warn(shown, f"the import @{target[:200]} is more than {MAX_IMPORT_DEPTH} files deep")

    def _warn(self, file: str, reason: str) -> None:
        self.warnings.append(FileNote(file=file, reason=reason))


def imports_of(text: str) -> list[str]:
    """Return the paths that a text imports by `@path`, outside of code, once each."""
    found: dict[str, None] = {}
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark is not None and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1]
            continue
        if fence or "@" not in line:
            continue
        for match in _IMPORT.finditer(_CODE.sub(" ", line)):
            target = match[1].rstrip(".,;:!?)]}'\"")
            if target and not target.startswith(("/", "~")) and "\0" not in target:
                found.setdefault(target)
            if len(found) >= MAX_FILES:
                return list(found)
    return list(found)
