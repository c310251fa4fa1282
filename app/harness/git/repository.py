"""The repository of one project, as one request works in it.

Owns: how git is asked and made to change something: where, with which settings, what may be written. Never:
what is asked.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.bridges.processes.child import Finished
from app.bridges.processes.child_starter import ChildStarter
from app.errors import ToolError
from app.harness.git.settings import GitSettings, read_settings
from app.programs import ENVIRONMENT, search_path
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import (
    MAX_OUTPUT,
    NO_CONFIGURATION,
    NO_PROGRAMS,
    QUIET,
    SECONDS,
    GitCommands,
    GitProblem,
    NoRepository,
    checked,
    run_git,
)
from app.tools.processes.project_cage import GitWork
from app.workspace.own_places import is_own, own_names
from app.workspace.repository import RepositoryFolders, accepting, repository_folders, repository_options

READS = GitWork()
WRITES = GitWork(writes=True)
WRITES_FILES = GitWork(writes=True, files=True)
_CALM = (
    "--literal-pathspecs", "--no-pager", "-c", "core.untrackedCache=keep", "-c", "core.splitIndex=false",
    "-c", "maintenance.auto=false", "-c", "color.ui=false", "-c", "submodule.recurse=false",
    "-c", "commit.gpgSign=false",
)  # fmt: skip
_NO_EDITOR = {"GIT_EDITOR": ":", "GIT_SEQUENCE_EDITOR": ":"}
_MAX_SAID = 900
HOOK_SECONDS = 300.0
HOOK_OUTPUT = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Repository:
    """Made by `open`. `prefix` is the project's folder below the repository's, with a slash at its end; empty
    where they are the same. `own` are the names in the repository that are the daemon's: git cannot read
    them."""

    folders: RepositoryFolders
    prefix: bytes
    settings: GitSettings
    own: tuple[bytes, ...]
    _root: Path
    _processes: CallProcesses
    _users: Mapping[str, str]

    @classmethod
    async def open(cls, processes: CallProcesses, environment: Mapping[str, str], root: Path) -> Repository:
        """Find the repository of the project at `root`. `environment` is that of the daemon's children.
        Raises `GitProblem`: `NoRepository` where there is none."""
        folders = await asyncio.to_thread(repository_folders, root)
        if folders is None:
            raise NoRepository
        real = Path(await asyncio.to_thread(os.path.realpath, root))
        accepted = await asyncio.to_thread(accepting, folders.top, root)
        if not accepted:
            raise GitProblem(f"another user owns the repository at {folders.top}, so git does not work in it")
        users = users_environment(environment, real)
        # Of the repository that is worked in, not of one that git finds here by itself.
        named = {"GIT_DIR": os.fsdecode(folders.own), "GIT_WORK_TREE": os.fsdecode(folders.top)}
        settings = await settings_in(processes, {**users, **named}, folders.top, accepted)
        prefix = os.fsencode(real.relative_to(folders.top)) + b"/" if real != folders.top else b""
        if prefix:  # the repository may ignore the project
            await GitCommands(processes, environment, root, None).open()
        own = await asyncio.to_thread(own_names, folders.top, processes.closed)
        return cls(folders, prefix, settings, own, real, processes, users | _safe(accepted))

    async def ask(
        self,
        arguments: Sequence[str | bytes],
        given: bytes = b"",
        *,
        index: Path | None = None,
        codes: Sequence[int] = (0,),
        most: int = MAX_OUTPUT,
    ) -> bytes:
        """Return what git answers; nothing is written. `index` is another one than the repository's.
        Raises `GitProblem`."""
        done = await self._run(arguments, given, READS, index, most)
        return _answer(done, _verb(arguments), codes)

    async def change(
        self,
        arguments: Sequence[str | bytes],
        given: bytes = b"",
        *,
        index: Path,
        work: GitWork = WRITES,
    ) -> bytes:
        """Have git change something in the repository, with the index `index`, and return what it printed.
        Raises `GitProblem`."""
        done = await self._run(arguments, given, work, index, MAX_OUTPUT)
        answer = _answer(done, _verb(arguments))
        if work.files and any(line.startswith(b"error: ") for line in done.stderr.splitlines()):
            # Where it cannot write some files, git goes on, and ends as if nothing was wrong.
            said = done.stderr.decode("utf-8", "replace").strip()
            raise GitProblem(f"git {_verb(arguments)} was carried out in part: {said[:500]}")
        return answer

    async def with_hooks(self, arguments: Sequence[str], given: bytes, *, index: Path) -> Finished:
        """Run git as the user would, with the hooks of the repository: with the daemon's rights, the user's
        settings and a limit of time. Raises `GitProblem`."""
        environment = {**self._users, **_NO_EDITOR, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}
        environment |= {"GIT_INDEX_FILE": os.fsdecode(index)}
        quiet = [*_without("core.hooksPath=/dev/null", QUIET), *_CALM[1:]]
        return await run_git(
            self._processes.own,
            ["git", *quiet, *arguments],
            self._root,
            environment,
            given,
            seconds=HOOK_SECONDS,
            most=HOOK_OUTPUT,
        )

    def below(self, name: bytes) -> bytes | None:
        """Return a name of the repository as one of the project; None when it lies outside."""
        return name[len(self.prefix) :] if name.startswith(self.prefix) else None

    def is_own(self, name: bytes) -> bool:
        """Tell whether a name of the repository is the daemon's."""
        return is_own(name, self.own)

    async def _run(
        self, arguments: Sequence[str | bytes], given: bytes, work: GitWork, index: Path | None, most: int
    ) -> Finished:
        environment = ENVIRONMENT | NO_CONFIGURATION | NO_PROGRAMS | _NO_EDITOR | self.settings.environment
        environment["PATH"] = self._users["PATH"] if not self._processes.has_cages else ENVIRONMENT["PATH"]
        # Named, so that no setting of the repository (core.worktree) leads to other places.
        environment["GIT_DIR"] = os.fsdecode(self.folders.own)
        environment["GIT_WORK_TREE"] = os.fsdecode(self.folders.top)
        if index is not None:
            environment["GIT_INDEX_FILE"] = os.fsdecode(index)
        children = await self._starter(work)
        command = ["git", *QUIET, *_CALM, *arguments]
        return await run_git(children, command, self._root, environment, given, seconds=SECONDS, most=most)

    async def _starter(self, work: GitWork) -> ChildStarter:
        try:
            return await self._processes.of_operator(
                self._root, self.folders, tuple(self.settings.files.values()), work
            )
        except ToolError as problem:
            raise GitProblem(f"git cannot be run: {problem.message}") from None


def users_environment(environment: Mapping[str, str], root: Path) -> dict[str, str]:
    """Return the environment of who runs the daemon, as their git has it; no program at or below `root`, a
    real path, is found by its name."""
    users = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    return users | {"PATH": search_path(environment, outside=root)}


async def settings_of_user(
    processes: CallProcesses, environment: Mapping[str, str], root: Path
) -> GitSettings:
    """Return the settings that a project's folder has for who runs the daemon. Raises `GitProblem`."""
    accepted = await asyncio.to_thread(repository_options, root) or ()
    users = users_environment(environment, Path(await asyncio.to_thread(os.path.realpath, root)))
    return await settings_in(processes, users, root, accepted)


async def settings_in(
    processes: CallProcesses, users: Mapping[str, str], folder: Path, accepted: Sequence[str]
) -> GitSettings:
    """Return the settings of who runs the daemon in a folder; reading them runs no program. `accepted` are
    git's options for the repository there, if there is one. Raises `GitProblem`."""
    listing = ["git", *QUIET, *accepted, "config", "--list", "--show-scope", "-z"]
    listed = await run_git(processes.own, listing, folder, {**users, **NO_PROGRAMS})
    return await asyncio.to_thread(read_settings, checked(listed, "config"), users)


def _answer(done: Finished, verb: str, codes: Sequence[int] = (0,)) -> bytes:
    """Return what a command printed. Raises `GitProblem` with all that git says against it."""
    if done.timed_out or done.truncated or done.exit_code in codes:
        return checked(done, verb, codes=codes)
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    said = " ".join(line.strip() for line in lines if line.strip() and not line.startswith("hint:"))
    raise GitProblem(f"git {verb}: {said[:_MAX_SAID] or f'exit code {done.exit_code}'}")


def _verb(arguments: Sequence[str | bytes]) -> str:
    return os.fsdecode(arguments[0])


def _without(setting: str, options: Sequence[str]) -> list[str]:
    pairs = zip(options[::2], options[1::2], strict=True)
    return [part for pair in pairs if pair[1] != setting for part in pair]


def _safe(accepted: Sequence[str]) -> dict[str, str]:
    """Return the variables by which git accepts the repository: hooks that run git need it, too."""
    key, _, value = accepted[1].partition("=")
    return {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": key, "GIT_CONFIG_VALUE_0": value}
