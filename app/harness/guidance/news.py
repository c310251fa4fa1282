"""Instruction files that are new to an agent: in folders that it uses, or changed since it read them.

Owns: which files are watched for one agent, what is new in them, the words of the message about it. Never:
the system prompt, which stays as it is, or placing the message (`loop`).
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.cages.protected_names import ENVIRONMENT_MARK, OTHERS_FOLDERS
from app.harness.conversation.estimate import estimate_text
from app.harness.guidance.guidance import INSTRUCTION_NAMES, MAX_TOKENS, InstructionFile
from app.harness.guidance.instruction_files import InstructionReader
from app.harness.guidance.places import Surroundings
from app.harness.guidance.system_parts import LEAST_TOKENS, Reach, cut_to, framed
from app.workspace import folded
from app.workspace.folder_rules import ProjectRules

MAX_FOLDERS = 64
"""Folders below the root that are watched for one agent, those that it used last."""
GONE = ""
"""The digest of a file that is not there any more."""

Signature = tuple[int, int, int] | None
Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class News:
    """A message about instruction files, and the digest of each file that it is about, by origin."""

    text: str
    files: dict[str, str]


class InstructionWatch:
    """Watches for one agent's run. Not thread-safe: one look at a time."""

    def __init__(self, around: Surroundings, reach: Reach) -> None:
        self._around = around
        self._reach = reach
        self._folders: dict[Parts, None] = {}
        self._signatures: dict[Path, Signature] = {}
        self._rules: ProjectRules | None = None

    def come_to(self, paths: Iterable[Parts]) -> bool:
        """Note paths below the root that the agent has used: instructions in folders above are for it. Tells
        whether any is new."""
        new = False
        for parts in paths:
            for length in range(1, len(parts) + 1):
                folder = parts[:length]
                new = folder not in self._folders or new
                self._folders.pop(folder, None)
                self._folders[folder] = None
        while len(self._folders) > MAX_FOLDERS:
            del self._folders[next(iter(self._folders))]
        return new

    def look(self, told: Mapping[str, str], room: int) -> News | None:
        """Return what is new to an agent that was `told` of files (digests by origin); None for nothing. The
        message has at most about `room` tokens. Blocks."""
        files: dict[str, str] = {}
        texts: list[str] = []
        for path, origin in self._watched(told).items():
            if not self._has_changed(path):
                continue
            read = self._read(path, origin)
            known = told.get(origin, GONE)
            if known != GONE and not any(one.origin == origin for one in read):
                files[origin] = GONE
                texts.append(f"{origin} is gone or empty; what it said no longer applies.")
            for one in read:
                if self._is_new(one, told, files):
                    files[one.origin] = one.digest
                    text = _text(one, told, room)
                    texts.append(text)
                    room -= estimate_text(text)
        return News("\n\n".join(texts), files) if texts else None

    # -- inside -----------------------------------------------------------------------------

    def _is_new(self, file: InstructionFile, told: Mapping[str, str], files: Mapping[str, str]) -> bool:
        if file.digest in {told.get(file.origin), files.get(file.origin)} or not self._reach.allows_file(
            file
        ):
            return False
        return file.origin in told or file.digest not in {*told.values(), *files.values()}

    def _watched(self, told: Mapping[str, str]) -> dict[Path, str]:
        """Return the files to look at, with their origins: those above and at the root, those that the agent
        was sent, those in folders that it has used."""
        around = self._around
        folders = [*reversed(around.upward())]
        folders += [around.root.joinpath(*parts) for parts in self._folders if self._is_own(parts)]
        found = {
            folder / name: around.shown(folder / name) for folder in folders for name in INSTRUCTION_NAMES
        }
        for origin in told:
            if origin.startswith("~/") and around.home is not None:
                found[around.home / origin[2:]] = origin
            elif not origin.startswith(("~", "/", "(")):
                found[Path(posixpath.normpath((around.root / origin).as_posix()))] = origin
        return found

    def _is_own(self, parts: Parts) -> bool:
        """Tell whether a folder is the project's own: not one of installed packages, and not ignored."""
        if any(folded(part) in OTHERS_FOLDERS or part == ".git" for part in parts):
            return False
        if self._rules is None:
            self._rules = ProjectRules(self._around.root)
        root = self._around.root
        above = [parts[:length] for length in range(1, len(parts) + 1)]
        return not any(
            self._rules.ignored("/".join(one)) or (root.joinpath(*one) / ENVIRONMENT_MARK).is_file()
            for one in above
        )

    def _has_changed(self, path: Path) -> bool:
        try:
            found = os.stat(path)
            signature: Signature = (found.st_ctime_ns, found.st_size, found.st_ino)
        except OSError:
            signature = None
        seen = path in self._signatures and self._signatures[path] == signature
        self._signatures[path] = signature
        return not seen

    def _read(self, path: Path, origin: str) -> list[InstructionFile]:
        reader = InstructionReader(self._around)  # a new one: each reads a file once
        if origin.startswith("~/"):
            return reader.of_user_file(path)
        return reader.of_file(path)


def _text(file: InstructionFile, told: Mapping[str, str], room: int) -> str:
    if file.origin in told:
        head = f"{file.origin} has changed. This replaces what you were given of it before:"
    else:
        folder = posixpath.dirname(file.origin)
        below = f"the files below {folder}, which you have come to" if folder else "this project"
        head = f"{file.origin} has instructions for {below}:"
    room = min(room, MAX_TOKENS) - estimate_text(head) - estimate_text(framed(file.origin, "", cut=True))
    if estimate_text(file.text) <= room:
        return f"{head}\n{framed(file.origin, file.text)}"
    if room < LEAST_TOKENS:
        return f"{head} there is no room to show them here; read the file."
    return f"{head}\n{framed(file.origin, cut_to(file.text, room), cut=True)}"
