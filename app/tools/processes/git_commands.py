"""git as the daemon itself runs it in a project: no program that the repository names is started.

Owns: the options, the environment and the cage of such a command, and what its failure is called. Never: what
is asked of git.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from app.bridges.processes.child import Finished, SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.errors import ToolError
from app.programs import ENVIRONMENT, search_path
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.project_cage import GitPlaces
from app.workspace.repository import accepting, repository_above

NO_REPOSITORY = "not a git repository"
IGNORED = ("check-ignore", "-z", "--stdin")
"""Answers the names that are ignored; of a folder in which something is tracked it says nothing."""
SECONDS = 60.0
MAX_OUTPUT = 64 * 1024 * 1024
QUIET = (
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false",
    "-c", "core.quotePath=false", "-c", "gc.auto=0",
)  # fmt: skip
NO_PROGRAMS = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C",
    # Of a partial clone git would fetch what is missing, by a program that the repository names.
    "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_PROTOCOL_FROM_USER": "0",
}  # fmt: skip
"""Filters and hooks of the settings remain: a command that reads or writes files of the working tree turns
filters off by itself, one that writes the repository both (`turn_programs_off`)."""
NO_CONFIGURATION = {
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
    # In the cage a repository that begins above the project lies on another file system.
    "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1",
}  # fmt: skip


class GitProblem(Exception):
    """git is not there, this is no repository, or a command failed; the text says which.

    `expected` says that nothing is wrong: there is just no git here. `exit_code` and `output` are those of a
    command that failed."""

    def __init__(
        self, message: str, *, expected: bool = False, exit_code: int | None = None, output: bytes = b""
    ) -> None:
        super().__init__(message)
        self.expected = expected
        self.exit_code = exit_code
        self.output = output


class NoRepository(GitProblem):
    """The project has no repository: it lies in none, or in one that ignores its folder."""

    def __init__(self, message: str = NO_REPOSITORY) -> None:
        super().__init__(message, expected=True)


class TooMuchOutput(GitProblem):
    """A command answered more than is read of it."""


class GitCommands:
    """Runs git in one project.

    Where there are cages, git runs in one of its own, without `environment` and without the settings of its
    user. Elsewhere it is the system's git: nothing that lies in a project is run."""

    def __init__(
        self,
        processes: CallProcesses,
        environment: Mapping[str, str],
        root: Path,
        writable: Path | GitPlaces | None,
    ) -> None:
        """`root` is the project's folder, or another that git works in; `writable` is the one folder that git
        may write to, or several places, or None for commands that only read."""
        self._processes = processes
        self._environment = {k: v for k, v in environment.items() if not k.startswith("GIT_")}
        self._environment["PATH"] = search_path(environment, outside=Path(os.path.realpath(root)))
        if processes.has_cages:
            self._environment = ENVIRONMENT | NO_CONFIGURATION
        self._options: tuple[str, ...] = QUIET
        self._root = root
        if not isinstance(writable, GitPlaces):
            writable = GitPlaces(() if writable is None else (writable,))
        self._places = writable

    async def open(self) -> None:
        """Find the repository. Raises `GitProblem`: `NoRepository` where there is none."""
        top = await asyncio.to_thread(repository_above, self._root)
        if top is None:
            raise NoRepository
        self._options = (*QUIET, *await asyncio.to_thread(accepting, top, self._root))
        real = Path(await asyncio.to_thread(os.path.realpath, self._root))
        if real != top and await self._ignores(top, real):
            raise NoRepository(ignored_by(top))

    async def _ignores(self, top: Path, folder: Path) -> bool:
        """Tell whether the repository ignores the project's folder, and tracks nothing in it."""
        asked = os.fsencode(folder) + b"\0"
        # The configuration may name another working tree.
        environment = {"GIT_WORK_TREE": str(top)}
        # 1: it is not ignored. 128: git cannot work here, as the next command says.
        return bool(await self.run(IGNORED, asked, environment=environment, codes=(0, 1, 128)))

    async def turn_programs_off(self) -> None:
        """Let no command from now on run a filter or a hook of the repository's settings. Raises
        `GitProblem`."""
        listed = await self.run(["config", "--list", "--name-only", "-z"])
        self._environment |= programs_off(listed)

    async def run(
        self,
        arguments: Sequence[str],
        given: bytes = b"",
        *,
        environment: Mapping[str, str] | None = None,
        most: int = MAX_OUTPUT,
        seconds: float = SECONDS,
        cwd: Path | None = None,
        codes: Collection[int] = (0,),
    ) -> bytes:
        """Run one command in the project's folder, or in `cwd`, and return what it printed. `given` is its
        input, `environment` is added to what every command has, `most` is how many bytes it may answer, in
        at most `seconds`, and `codes` are those with which it may end.

        Raises `GitProblem`."""
        try:
            children = await self._processes.of_repository(self._root, self._places)
        except ToolError as problem:
            raise GitProblem(f"git cannot be run: {problem.message}") from None
        own = self._environment | NO_PROGRAMS | dict(environment or {})
        command = ["git", *self._options, *arguments]
        done = await run_git(children, command, cwd or self._root, own, given, seconds=seconds, most=most)
        return checked(done, verb_of(arguments), most, codes)


def verb_of(arguments: Sequence[str]) -> str:
    """Return the name of git's command, which settings (`-c`) may stand before."""
    at = 0
    while arguments[at] == "-c":
        at += 2
    return arguments[at]


async def run_git(
    children: ChildStarter,
    command: Sequence[str | bytes],
    folder: Path,
    environment: Mapping[str, str],
    given: bytes = b"",
    *,
    seconds: float = SECONDS,
    most: int = MAX_OUTPUT,
) -> Finished:
    """Run git in a folder to its end. Raises `GitProblem` when it cannot be run."""
    try:
        return await children.run(
            command,
            owner="git",
            cwd=folder,
            env=environment,
            input=given,
            seconds=seconds,
            max_output=most,
        )
    except SpawnFailed as problem:
        raise GitProblem(f"git cannot be run: {problem.reason}", expected=True) from None
    except ToolError as problem:
        raise GitProblem(f"git cannot be run: {problem.message}") from None


def checked(done: Finished, verb: str, most: int = MAX_OUTPUT, codes: Collection[int] = (0,)) -> bytes:
    """Return what a command printed. Raises `GitProblem` unless it ended well."""
    if done.timed_out:
        raise GitProblem(f"git {verb} took too long")
    if done.truncated:
        raise TooMuchOutput(f"git {verb} answered more than {most} bytes")
    if done.exit_code not in codes:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        first = said[0][:300] if said else f"exit code {done.exit_code}"
        none = NO_REPOSITORY in first
        if none:
            raise NoRepository
        raise GitProblem(f"git {verb}: {first}", exit_code=done.exit_code, output=done.stdout)
    return done.stdout


def ignored_by(top: Path) -> str:
    """Return the message for a project that the repository around it ignores."""
    return f"the repository at {top} ignores the project's folder"


def lines_of(said: bytes) -> list[str]:
    """Return the lines that git printed. Names in them may have what is no newline, and separates lines
    elsewhere."""
    return [line for line in said.decode("utf-8", "surrogateescape").split("\n") if line]


def programs_off(listed: bytes) -> dict[str, str]:
    """Return the environment in which git runs none of the filters and hooks that are among these keys of its
    configuration, each of which ends in NUL."""
    keys = [key.decode("utf-8", "surrogateescape") for key in listed.split(b"\0")]
    return settings_environment(without_filters(filters_among(keys)) | without_hooks(keys))


def filters_among(keys: Iterable[str]) -> set[str]:
    """Return the names of the filters that these keys of a configuration are of."""
    return _sections(keys, "filter.")


def _sections(keys: Iterable[str], start: str) -> set[str]:
    return {
        key.partition(".")[2].rpartition(".")[0]
        for key in keys
        if key.startswith(start) and key.count(".") > 1
    }


def without_filters(names: Iterable[str]) -> dict[str, str]:
    """Return the settings with which git runs none of these filters, and needs none."""
    off = {"clean": "", "smudge": "", "process": "", "required": "false"}
    return {f"filter.{name}.{key}": value for name in sorted(names) for key, value in off.items()}


def without_hooks(keys: Iterable[str]) -> dict[str, str]:
    """Return the settings with which git runs none of the hooks that these keys of a configuration are of:
    from version 2.54 on it has such, which `core.hooksPath` does not turn off."""
    return {f"hook.{name}.enabled": "false" for name in sorted(_sections(keys, "hook."))}


def settings_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment by which git has these settings. Options (`-c`) would end a key at its first
    `=`, which a filter's name may hold."""
    environment = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return environment
