"""Finds the skills of a project and of its user.

Owns: the folders that are looked into, their order, and that the first of a name wins. Never: a skill's body.
Blocks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.errors import ToolError
from app.harness.dsl.paths import PathProblem, read_path
from app.harness.guidance.front_matter import BadFrontMatter, FrontMatter, front_matter
from app.harness.guidance.guidance import AGENT_FOLDERS, FileNote, Scope, Skill
from app.harness.guidance.places import Found, Surroundings, Unusable, entries_of, read_in
from app.workspace import RootFolder, Workspace

SKILL_FILE = "SKILL.md"
MAX_ENTRIES = 500
MAX_SKILLS = 200
MAX_LOOKED_AT = 2_000
"""Folders that are looked into for one session."""
MAX_DEPTH = 2
"""How deep below a folder of skills a skill's own folder may lie: some are grouped."""


def skill_tree(folder: Path, closed: tuple[Path, ...] = ()) -> Workspace:
    """Return what opens files of a skill; links do not lead out of its folder."""
    return Workspace(RootFolder(folder, is_real=True), closed=closed)


def read_skill(tree: Workspace) -> FrontMatter | None:
    """Read the `SKILL.md` of a folder; None when there is none. Raises `Unusable` or `BadFrontMatter`."""
    found: Found | None = read_in(tree, Path(SKILL_FILE))
    if found is None:
        return None
    if found.real != tree.root / SKILL_FILE:
        raise Unusable("it is a link to another file")
    read = front_matter(found.text, tree.root.name)
    if not found.cut:
        return read
    return FrontMatter(read.name, read.description, read.body, (*read.notes, "only its beginning is read"))


@dataclass(slots=True)
class SkillFinder:
    """`paths` are the further folders that the project file names. `warnings` are for people."""

    around: Surroundings
    paths: Sequence[str] = ()
    warnings: list[FileNote] = field(default_factory=list)
    _skills: dict[str, Skill] = field(default_factory=dict)
    _seen: set[Path] = field(default_factory=set)
    _looked_at: int = 0

    def all(self) -> list[Skill]:
        """Return the skills: from the project's root upward, then the user's, then those of `paths`."""
        for folder in self.around.upward():
            for name in AGENT_FOLDERS:
                self._of_tree(folder / name / "skills", MAX_DEPTH)
        home = self.around.home
        for name in AGENT_FOLDERS if home is not None else ():
            assert home is not None
            self._of_user(home / name / "skills", MAX_DEPTH)
        for text in self.paths:
            self._of_path(text)
        return list(self._skills.values())

    def _of_path(self, text: str) -> None:
        """Look into a folder that is a skill itself, or has skills in it."""
        try:
            folder = Path(os.path.normpath(read_path(text).under(self.around.root)))
        except PathProblem as problem:
            self._warn(text, problem.message)
            return
        tree, below = self.around.tree(), folder.relative_to(self.around.top)
        try:
            with tree.open(f"./{below.as_posix()}") as opened:
                real = Path(opened.key)
        except (ToolError, OSError) as problem:
            self._warn(text, f"`skills.paths` names it: {getattr(problem, 'message', problem)}")
            return
        if not self._take(real, self.around.shown(folder), self.around.scope_of(real)):
            self._of_tree(folder, MAX_DEPTH)

    def _of_tree(self, folder: Path, depth: int) -> None:
        tree, below = self.around.tree(), folder.relative_to(self.around.top)
        for name in self._names(tree, below, folder):
            place = folder / name
            try:
                with tree.open(f"./{(below / name).as_posix()}") as opened:
                    if not opened.is_directory:
                        continue
                    real = Path(opened.key)
            except (ToolError, OSError) as problem:
                self._warn(self.around.shown(place), str(getattr(problem, "message", problem)))
                continue
            taken = self._take(real, self.around.shown(place), self.around.scope_of(real))
            if not taken and depth > 1 and not place.is_symlink():
                self._of_tree(place, depth - 1)

    def _of_user(self, folder: Path, depth: int) -> None:
        real = Path(os.path.realpath(folder))
        if not real.is_dir() or real == Path("/"):
            return
        for name in self._names(Workspace(RootFolder(real, is_real=True)), Path(), folder):
            place = folder / name
            target = Path(os.path.realpath(place))
            if not target.is_dir():
                continue
            taken = self._take(target, self.around.shown(place), "user")
            if not taken and depth > 1 and not place.is_symlink():
                self._of_user(place, depth - 1)

    def _names(self, tree: Workspace, below: Path, folder: Path) -> Iterator[str]:
        try:
            names = list(entries_of(tree, below, MAX_ENTRIES))
        except Unusable as problem:
            self._warn(self.around.shown(folder), str(problem))
            return
        if len(names) == MAX_ENTRIES:
            self._warn(self.around.shown(folder), f"only {MAX_ENTRIES} entries are looked at")
        yield from names

    def _take(self, real: Path, shown: str, scope: Scope) -> bool:
        """Take in the skill of a folder; False when it has no `SKILL.md`."""
        file = f"{shown}/{SKILL_FILE}"
        self._looked_at += 1
        if self._looked_at > MAX_LOOKED_AT:
            if self._looked_at == MAX_LOOKED_AT + 1:
                self._warn(
                    file, f"{MAX_LOOKED_AT} folders were looked into; skills from here on are left out"
                )
            return True
        if self.around.has_files_of_daemon(real):
            self._warn(file, "its folder has files of the daemon in it")
            return True
        try:
            found = read_skill(skill_tree(real, self.around.closed))
        except (Unusable, BadFrontMatter) as problem:
            self._warn(file, str(problem))
            return True
        if found is None:
            return False
        if real in self._seen:
            return True
        self._seen.add(real)
        for note in found.notes:
            self._warn(file, note)
        known = self._skills.get(found.name)
        if known is not None:
            self._warn(file, f"another skill is called {found.name!r}: {known.origin} is used")
        elif len(self._skills) >= MAX_SKILLS:
            self._warn(file, f"there are {MAX_SKILLS} skills already; it is left out")
        else:
            self._skills[found.name] = Skill(
                name=found.name,
                description=found.description,
                origin=file,
                scope=scope,
                folder=str(real),
                parts=self.around.parts_of(real),
            )
        return True

    def _warn(self, file: str, reason: str) -> None:
        self.warnings.append(FileNote(file=file, reason=reason))
