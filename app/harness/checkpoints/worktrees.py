"""The working trees of projects, noted as trees of git's.

Owns: one note at a time for each project, what it costs, and how long notes are kept. Never: which message
or checkpoint a note belongs to (`worktree_notes`), or restoring files (`restoring`).
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from operator import eq
from pathlib import Path

from app.harness.checkpoints.file_survey import FileSurvey, Surveyed
from app.harness.checkpoints.git_objects import GitObjects
from app.harness.checkpoints.plain_objects import PlainObjects
from app.harness.checkpoints.staged_files import StagedFile
from app.harness.checkpoints.stored_objects import StoredObjects, TreeEntry
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import GitCommands, GitProblem
from app.workspace.own_places import may_be_workspace

MAX_STORE_BYTES = 512 * 1024 * 1024
"""What the notes of one project may take on disk, before the oldest are given up."""
MAX_NEW_BYTES = 256 * 1024 * 1024
"""What one note may add."""
_IN_MEMORY = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Noted:
    """The files of a project at a moment: the tree's name, its files, and those that are not in it."""

    tree: str
    entries: Mapping[bytes, TreeEntry]
    left_out: Mapping[bytes, str]
    new_bytes: int


@dataclass(slots=True)
class _Project:
    """`objects` are those of the repository, or without one the plain ones."""

    root: Path
    git: GitObjects
    objects: StoredObjects
    survey: FileSurvey | None = None
    last: Noted | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


NOTES_FOLDER = "worktrees"
"""Where the notes of all projects are, below the data folder."""


def notes_of(folder: Path, root: Path) -> Path:
    """Return where the notes of a project are kept below the folder of all notes."""
    return folder / hashlib.sha256(os.fsencode(root)).hexdigest()[:32]


def move_notes(folder: Path, root: Path, to: Path) -> None:
    """Keep the notes of a project that was moved; done twice it is as once. Blocks on file I/O."""
    old, new = notes_of(folder, root), notes_of(folder, to)
    if root == to or not old.exists():
        return
    shutil.rmtree(new, ignore_errors=True)  # of a project that makes room: no session needs them
    old.rename(new)


class Worktrees:
    """The notes of all projects. `folder` is below the daemon's own; `closed` are the daemon's own places,
    which are neither noted nor restored."""

    def __init__(self, processes: CallProcesses, environment: Mapping[str, str], folder: Path) -> None:
        self._processes = processes
        self._environment = environment
        self._folder = folder
        self.closed = processes.closed
        self._projects: dict[Path, _Project] = {}

    async def note(self, root: Path) -> Noted:
        """Note the files as they are now. Raises `GitProblem`."""
        project = self._project(root)
        async with project.lock:
            survey = await self._opened(project)
            names = await project.objects.names()
            contents: dict[str, bytes] = {}
            size = 0

            def take(oid: str, content: bytes) -> None:
                nonlocal size
                if size + len(content) <= _IN_MEMORY and oid not in contents:
                    contents[oid] = content
                    size += len(content)

            taken_in = await self._taken_in(project, survey)
            surveyed = await asyncio.to_thread(survey.look, names, take, taken_in=taken_in)
            last = project.last
            if last is not None and await asyncio.to_thread(eq, last.entries, surveyed.entries):
                project.last = Noted(last.tree, last.entries, surveyed.left_out, 0)
                return project.last
            added = await self._keep(project, surveyed.entries, contents, taken_in)
            tree = await project.objects.write_tree(surveyed.entries)
            project.last = Noted(tree, surveyed.entries, surveyed.left_out, added)
            return project.last

    async def survey(self, root: Path) -> Surveyed:
        """Look at the files as they are now and keep nothing. A note does not wait for it. Raises
        `GitProblem`."""
        project = self._project(root)
        async with project.lock:
            survey = await self._opened(project)
        names = await project.objects.names()
        return await asyncio.to_thread(survey.look, names)

    async def survey_again(self, root: Path, known: Collection[bytes], new: Collection[bytes]) -> Surveyed:
        """Look once more at files that are `known` to count, and at those of the `new` ones that do. Raises
        `GitProblem`."""
        project = self._project(root)
        survey = project.survey
        if survey is None:
            async with project.lock:
                survey = await self._opened(project)
        names = [*known, *(await project.objects.names(new) if new else ())]
        return await asyncio.to_thread(survey.look, sorted(names), only=True)

    async def objects(self, root: Path) -> StoredObjects:
        """Return the objects of a project, to read what was noted, as of the last look at its files. Raises
        `GitProblem`."""
        project = self._project(root)
        async with project.lock:
            if project.survey is None:
                await self._opened(project)
            return project.objects

    async def repository(self, root: Path) -> GitObjects | None:
        """Return the objects of a project's repository; None where there is none. Raises `GitProblem`."""
        project = self._project(root)
        async with project.lock:
            await self._opened(project)
            return project.git if project.objects is project.git else None

    async def read(self, root: Path, names: Collection[bytes]) -> dict[bytes, tuple[TreeEntry, bytes]]:
        """Return these files as they are now with their contents, whether they count or not. Left out are
        those that are not there, or that are not noted either. Raises `GitProblem`."""
        objects = await self.objects(root)

        def look() -> dict[bytes, tuple[TreeEntry, bytes]]:
            contents: dict[str, bytes] = {}
            surveyed = FileSurvey(root, objects.oid, self.closed).look(sorted(names), contents.__setitem__)
            return {name: (entry, contents[entry.oid]) for name, entry in surveyed.entries.items()}

        return await asyncio.to_thread(look)

    def rule_files(self, root: Path) -> Sequence[Path]:
        """Return the files outside of the tree that decide which files count, as far as they are known."""
        return self._project(root).git.rule_files

    def git(self, root: Path) -> GitCommands:
        """Return what runs git for a project, in no repository unless it was opened."""
        return self._project(root).git.commands

    def notes_folder(self, root: Path) -> Path:
        """Return the folder of a project's notes; git may write there."""
        return self._project(root).git.folder

    async def is_full(self, root: Path) -> bool:
        """Tell whether a project's notes take more than they may."""
        folder = self._project(root).objects.folder
        return await asyncio.to_thread(_size, folder) > MAX_STORE_BYTES

    async def keep_only(self, root: Path, trees: list[str]) -> None:
        """Delete what belongs to none of the trees. Raises `GitProblem`."""
        project = self._project(root)
        async with project.lock:
            await self._opened(project)
            kept = await project.objects.reachable(trees)
            await asyncio.to_thread(_delete_others, project.objects.folder / "objects", kept)
            project.last = None

    async def forget(self, root: Path) -> None:
        """Delete what was noted of a workspace whose folder is removed."""
        project = self._projects.pop(root, None)
        async with project.lock if project is not None else nullcontext():
            await asyncio.to_thread(shutil.rmtree, notes_of(self._folder, root), ignore_errors=True)

    async def move(self, root: Path, to: Path) -> None:
        """Keep what was noted of a project whose folder was moved."""
        self._projects.pop(root, None)
        self._projects.pop(to, None)
        await asyncio.to_thread(move_notes, self._folder, root, to)

    def _project(self, root: Path) -> _Project:
        if root not in self._projects:
            folder = notes_of(self._folder, root)
            git = GitObjects(self._processes, self._environment, root, folder)
            self._projects[root] = _Project(root, git, git)
        return self._projects[root]

    async def _opened(self, project: _Project) -> FileSurvey:
        """Find out whether there is a repository by now, and return what looks at the files."""
        before = project.objects.hash
        try:
            await project.git.open()
            project.objects = project.git
        except GitProblem as problem:
            if not problem.expected:
                raise
            if project.objects is project.git:
                project.objects = PlainObjects(project.root, project.git.folder)
            await project.objects.open()
        if project.survey is None or project.objects.hash != before:
            project.survey = FileSurvey(project.root, project.objects.oid, self.closed)
        return project.survey

    async def _taken_in(self, project: _Project, survey: FileSurvey) -> Mapping[bytes, StagedFile]:
        """Return what git's index knows of files, for the first look at them. In a workspace agents write the
        index: there every file is read."""
        if survey.has_looked or project.objects is not project.git or may_be_workspace(project.root):
            return {}
        try:
            return await project.git.taken_in()
        except GitProblem:
            return {}

    async def _keep(
        self,
        project: _Project,
        entries: Mapping[bytes, TreeEntry],
        contents: dict[str, bytes],
        taken_in: Mapping[bytes, StagedFile],
    ) -> int:
        """Keep the contents that are nowhere yet; return how many bytes they take."""
        before = project.last.entries if project.last is not None else {}

        def new() -> dict[str, bytes]:
            there = {one.entry.oid for one in taken_in.values()}
            return {
                entry.oid: name
                for name, entry in entries.items()
                if before.get(name) != entry and entry.oid not in there
            }

        names = await asyncio.to_thread(new)
        missing = await project.objects.missing(names)
        return await asyncio.to_thread(
            lambda: _store(project, {oid: names[oid] for oid in missing}, contents)
        )


def _store(project: _Project, names: Mapping[str, bytes], contents: Mapping[str, bytes]) -> int:
    assert project.survey is not None
    added = 0
    for oid, name in names.items():
        content = contents.get(oid)
        if content is None:
            content = _again(project, name)
        if content is None or project.objects.oid(content) != oid:
            raise GitProblem("a file changed while it was noted")
        added += project.objects.keep(content)
        if added > MAX_NEW_BYTES:
            raise GitProblem(f"more than {MAX_NEW_BYTES // (1024 * 1024)} MB are new")
    return added


def _again(project: _Project, name: bytes) -> bytes | None:
    found: list[bytes] = []
    survey = FileSurvey(project.root, project.objects.oid)
    survey.look([name], lambda _, content: found.append(content))
    return found[0] if found else None


def _size(folder: Path) -> int:
    total = 0
    for above, _, files in os.walk(folder):
        for file in files:
            try:
                total += os.stat(os.path.join(above, file)).st_size
            except OSError:
                continue
    return total


def _delete_others(objects: Path, kept: set[str]) -> None:
    for folder in objects.iterdir() if objects.is_dir() else ():
        if folder.name in ("pack", "info"):
            continue
        for file in folder.iterdir():
            if folder.name + file.name not in kept:
                file.unlink(missing_ok=True)
