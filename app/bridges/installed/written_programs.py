"""Programs that a caged agent may write run only in a cage that reads no more than that agent.

Owns: which files and folders of a project a command runs, and the refusal. Never: starting a program. Blocks.

The writer of a program decides what it does with the rights of its caller.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.cages.file_grants import FileGrants, Parts
from app.cages.protected_names import is_protected
from app.cages.readable import Readable
from app.errors import ToolError
from app.workspace import read_beginning

MAX_LINKS = 20
MAX_WORDS = 500
_PROJECT_RUNNERS = frozenset(
    {
        "npx",
        "npm",
        "pnpm",
        "pnpx",
        "yarn",
        "bunx",
        "bun",
        "deno",
        "uv",
        "uvx",
        "poetry",
        "pipenv",
        "pdm",
        "hatch",
    }
    | {
        "make",
        "just",
        "task",
        "rake",
        "bundle",
        "composer",
        "cargo",
        "go",
        "mvn",
        "gradle",
        "dotnet",
        "tox",
        "nox",
    }
)
"""They take what they run from the folder that they are started in."""
_FROM_FOLDER = (("node_modules",), (".venv",), ("venv",), ("vendor",))
_PYTHON = re.compile(r"python[\d.]*")


@dataclass(frozen=True, slots=True)
class CagedAgent:
    """An agent of the project that has a cage, with what that grants."""

    path: str
    grants: FileGrants

    def writes(self, place: Location) -> bool:
        """Tell whether the agent may write there."""
        if any(is_protected(part) for part in place.parts):
            return False
        if self.grants.mode(place.parts) == "rw":
            return True
        return place.whole and any(
            mode == "rw" and parts[: len(place.parts)] == place.parts for parts, mode in self.grants.entries
        )


@dataclass(frozen=True, slots=True)
class Location:
    """A file or folder below the project's root; with `whole` everything in it counts."""

    parts: Parts
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """What is to be started: the command, in the folder `cwd` of the project at `root`. `settings` are what
    options of the program name other programs."""

    command: Sequence[str]
    root: Path
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def written_by(started: Started, agents: Sequence[CagedAgent]) -> list[tuple[CagedAgent, Location]]:
    """Return the agents that may write something of the project which the command runs, with one place of
    each."""
    if not agents:
        return []
    places = list(dict.fromkeys(_Search(started).places()))
    found = ((agent, next(filter(agent.writes, places), None)) for agent in agents)
    return [(agent, place) for agent, place in found if place is not None]


def check_written(started: Started, agents: Sequence[CagedAgent], reads: Readable | None) -> bool:
    """Raise ToolError `program_writable_in_cage` when the command runs a file that a caged agent may write,
    and would read more than that agent. `reads` is how much of the project its cage shows; None: no cage."""
    writers = written_by(started, agents)
    for agent, place in writers:
        if reads is None or not Readable.of(agent.grants).covers(reads):
            raise _refused(started.command[0], agent, place, caged=reads is not None)
    return bool(writers)


def own_files(started: Started) -> list[Parts]:
    """Return the files of the project that the command itself names as programs."""
    search = _Search(started)
    found = (place.parts for place in search.places() if not place.whole)
    return [parts for parts in dict.fromkeys(found) if os.path.isfile(started.root.joinpath(*parts))]


def _refused(program: str, agent: CagedAgent, place: Location, *, caged: bool) -> ToolError:
    path = "/".join(place.parts) or "."
    here = "would read more than that agent" if caged else "would have no cage here"
    return ToolError(
        "program_writable_in_cage",
        f"{Path(program).name} is not started: the caged agent {agent.path} may write {path}, which it runs, "
        f"and it {here}. The operator can add {{mode: ro, path: {path}}} to that agent's cage, or name a "
        "program outside of the project.",
        detail={"program": program, "agent": agent.path, "path": path},
    )


class _Search:
    def __init__(self, started: Started) -> None:
        self._started = started
        roots = (os.path.abspath(started.root), os.path.realpath(started.root))
        self._roots = tuple(Path(one) for one in dict.fromkeys(roots))

    def places(self) -> Iterator[Location]:
        """Yield the places of the project that the command runs, by its words."""
        program, *arguments = self._started.command
        yield from self._program(self._absolute(program), 0)
        name = Path(program).name
        words = [name, *_words(arguments)]
        if not _PROJECT_RUNNERS.isdisjoint(Path(word).name for word in words):
            yield from (Location((), False), *(Location(parts, True) for parts in _FROM_FOLDER))
        if "-m" in arguments and any(_PYTHON.fullmatch(Path(word).name) for word in words):
            yield from self._folder(self._started.cwd)
        texts = [*arguments, *self._started.env.values(), *_texts(self._started.settings)]
        for word in _words(texts):
            path = self._absolute(word.replace("${workspaceFolder}", str(self._started.root)))
            if (
                os.path.isdir(path)
                and word not in {".", "./", "/"}
                and word in _words(self._started.env.values())
            ):
                yield from self._folder(path)
            elif os.path.isfile(path) and _runs(path):
                yield from self._program(path, 0)

    def _absolute(self, word: str) -> Path:
        return Path(os.path.normpath(Path(self._started.cwd, word)))

    def _program(self, path: Path, depth: int) -> Iterator[Location]:
        """Yield a program's places, by each of the links that lead to it, and those of what interprets it."""
        for one in _names(path):
            yield from self._place(one)
        if depth < MAX_LINKS and (interpreter := _interpreter(path)) is not None:
            yield from self._program(interpreter, depth + 1)

    def _place(self, path: Path) -> Iterator[Location]:
        parts = self._below(path)
        if parts is None:
            return
        yield Location(parts)
        if "node_modules" in parts:
            yield Location(parts[: parts.index("node_modules") + 1], True)
        elif os.path.exists(path.parent.parent / "pyvenv.cfg"):
            yield Location(parts[:-2], len(parts) > 2)
        else:
            yield Location(parts[:-1], len(parts) > 1)

    def _folder(self, path: Path) -> Iterator[Location]:
        parts = self._below(path)
        if parts is not None:
            yield Location(parts, bool(parts))

    def _below(self, path: Path) -> Parts | None:
        for root in self._roots:
            if path.is_relative_to(root):
                return path.relative_to(root).parts
        return None


_SCRIPTS = frozenset(
    {
        ".js",
        ".mjs",
        ".cjs",
        ".ts",
        ".py",
        ".pyz",
        ".rb",
        ".lua",
        ".php",
        ".pl",
        ".sh",
        ".jar",
        ".so",
        ".node",
        ".wasm",
    }
)


def _runs(path: Path) -> bool:
    return path.suffix in _SCRIPTS or os.access(path, os.X_OK)


def _names(path: Path) -> Iterator[Path]:
    """Yield the names of a file: as it was given, by each link on the way, and the real one."""
    yield path
    for _ in range(MAX_LINKS):
        folder = Path(os.path.realpath(path.parent))
        yield folder / path.name
        try:
            path = Path(os.path.normpath(folder / os.readlink(folder / path.name)))
        except OSError:
            return
        yield path


def _interpreter(path: Path) -> Path | None:
    try:
        line = read_beginning(path, 1_000).partition(b"\n")[0]
    except OSError:
        return None
    words = line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
    return Path(words[0]) if words and os.path.isabs(words[0]) else None


def _words(texts: Iterable[str]) -> list[str]:
    """Return the words of arguments that may name a file: each argument, the part after an equals sign, and
    the words of a shell line."""
    found: dict[str, None] = {}
    for text in texts:
        found[text] = None
        found[text.partition("=")[2]] = None
        for part in text.split(":"):
            found[part] = None
        try:
            found |= dict.fromkeys(shlex.split(text))
        except ValueError:
            found |= dict.fromkeys(text.split())
        if len(found) > MAX_WORDS:
            break
    found.pop("", None)
    return [word for word in found if "\0" not in word and len(word) < 4_096]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
