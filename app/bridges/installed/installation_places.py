"""The folders that a process must see to run an installed program.

Owns: following links, scripts and virtual environments to these folders; folders too wide to show. Never:
showing them. Blocks.

Links out of a project are followed to an installed Python only: else the project would choose
what a cage shows.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import app
from app.programs import script_interpreter, search_path
from app.workspace import read_beginning

SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")))
"""Every cage shows these, and the daemon's own interpreter with its packages."""
MAX_PLACES = 64
MAX_LINKS = 20
MAX_DEPTH = 4
MAX_SCRIPT = 16 * 1024
_PROGRAM_FOLDERS = frozenset({"bin", "sbin", "libexec", "Scripts"})
_CONTENT_FOLDERS = ("lib", "lib64", "libexec", "share")
_TOO_WIDE = frozenset(map(Path, ("/", "/home", "/root", "/tmp", "/var", "/var/tmp", "/opt", "/srv", "/etc")))
_RUNS_SCRIPTS = re.compile(r"(node|nodejs|bun|deno|python[\d.]*|ruby[\d.]*|perl[\d.]*|java|php[\d.]*|ba?sh)")
_PYTHON = re.compile(r"python[\d.]*")
_SHELLS = frozenset({"sh", "bash", "dash"})
_NAMED_IN_SCRIPT = re.compile(r"""(?<![\w./$}])/[^\s"'$;|&<>()`\\]+""")
_NAMED_HOME = re.compile(r"^home\s*+=\s*+(/.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The bounds for places. `home` is the home of the daemon's user. A folder that contains it, or contains
    or lies in one of `apart`, is never shown whole. `environment` has the PATH on which scripts find their
    interpreter. Without `trusted` the command leads only to programs on PATH and to an installed Python."""

    home: Path
    apart: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    trusted: bool = True


def own_code() -> Path:
    """Return the folder of the daemon's own code, which may lie outside of its packages."""
    return Path(os.path.realpath(Path(app.__file__).parent))


def needed_places(command: Sequence[str], around: Surroundings) -> tuple[Path, ...]:
    """Return the real folders and files, beyond those of the system, that must be seen so that the command
    runs: where its program lies by each of its names, what interprets it, and the script that it runs."""
    search = _Search(around)
    named = shutil.which(Path(command[0]).name, path=search_path(around.environment))
    search.program(Path(command[0]), 0, trusted=around.trusted or named == command[0])
    if _RUNS_SCRIPTS.fullmatch(Path(command[0]).name):
        script = next((word for word in command[1:] if os.path.isabs(word) and os.path.isfile(word)), None)
        if script is not None:
            search.program(Path(script), 0, trusted=around.trusted)
    return tuple(search.found)


def usual_path(path: Path) -> Path:
    """Return the path with its folder's real name; the last component stays, be it a link."""
    return Path(os.path.realpath(path.parent), path.name)


class _Search:
    def __init__(self, around: Surroundings) -> None:
        self.found: dict[Path, None] = {}
        self._home = Path(os.path.realpath(around.home))
        self._apart = tuple(Path(os.path.realpath(one)) for one in around.apart)
        self._written = (*self._apart, *(Path(os.path.abspath(one)) for one in around.apart))
        self._environment = around.environment
        own = (Path(os.path.realpath(prefix)) for prefix in (sys.base_prefix, sys.prefix))
        self._shown = (*SYSTEM, *own)

    def program(self, path: Path, depth: int, *, trusted: bool) -> None:
        """Add what a program needs, by each of the links that lead to it. From the first of them that lies
        in a place apart nothing is `trusted` any more."""
        for written in _links(path):
            one = usual_path(written)
            trusted = trusted and not self._is_apart(written) and not self._is_apart(one)
            if trusted or _is_installed_python(one):
                self._add(self._folder_of(one))
            self._virtual_environment(one, depth, trusted)
        if depth < MAX_DEPTH:
            self._interpreter(Path(os.path.realpath(path)), depth + 1, trusted)

    def _is_apart(self, path: Path) -> bool:
        return any(Path(os.path.abspath(path)).is_relative_to(one) for one in self._written)

    def _add(self, place: Path) -> None:
        shown = any(place.is_relative_to(one) for one in (*self._shown, *self._apart, *self.found))
        if not shown and len(self.found) < MAX_PLACES:
            self.found[place] = None

    def _folder_of(self, path: Path) -> Path:
        """Return what is shown of an installation for one program in it: all of it where it is one by
        itself, else the folder of programs, else the file."""
        if "node_modules" in path.parts:
            until = path.parts.index("node_modules") + 1
            return Path(*path.parts[:until])
        if "usr" in path.parts:
            # Packages of the system, unpacked in another place: they have links across all of it.
            tree = Path(*path.parts[: path.parts.index("usr") + 1])
            if self._is_installation(tree):
                return tree
        folder = path.parent
        if folder.name in _PROGRAM_FOLDERS:
            if self._is_installation(folder.parent):
                return folder.parent
            return folder if self._is_narrow(folder) else path
        return folder if self._is_narrow(folder) else path

    def _is_installation(self, prefix: Path) -> bool:
        if not self._is_narrow(prefix):
            return False
        if os.path.isfile(prefix / "pyvenv.cfg"):
            return True
        # `~/.local` and its like hold more than programs.
        hidden = prefix.parent == self._home and prefix.name.startswith(".")
        return not hidden and any(os.path.isdir(prefix / name) for name in _CONTENT_FOLDERS)

    def _is_narrow(self, folder: Path) -> bool:
        kept = (self._home, *self._apart)
        return folder not in _TOO_WIDE and not any(one.is_relative_to(folder) for one in kept)

    def _virtual_environment(self, program: Path, depth: int, trusted: bool) -> None:
        """A virtual environment's Python runs on another one's library."""
        text = _beginning(program.parent.parent / "pyvenv.cfg") if depth < MAX_DEPTH else ""
        named = _NAMED_HOME.search(text)
        if named is not None:
            self.program(Path(named[1].rstrip(), "python3"), depth + 1, trusted=trusted)

    def _interpreter(self, program: Path, depth: int, trusted: bool) -> None:
        name = script_interpreter(program)
        if not name:
            return
        text = _beginning(program)
        words = text.partition("\n")[0][2:].split()
        first = Path(words[0]) if words and os.path.isabs(words[0]) else None
        if first is not None and first.name != "env":
            self.program(first, depth, trusted=trusted)
        else:
            for folder in search_path(self._environment).split(os.pathsep):
                if os.access(Path(folder, name), os.X_OK):
                    self.program(Path(folder, name), depth, trusted=True)
                    break
        if trusted and name in _SHELLS:
            for named in _NAMED_IN_SCRIPT.findall(text.partition("\n")[2])[:MAX_PLACES]:
                if os.path.isfile(named):
                    self.program(Path(named), depth, trusted=True)


def _links(path: Path) -> Iterator[Path]:
    """Yield the names of a file: as it was given, and by each link that this one is."""
    for _ in range(MAX_LINKS):
        yield path
        path = usual_path(path)
        try:
            path = path.parent / os.readlink(path)
        except OSError:
            return


def _is_installed_python(path: Path) -> bool:
    """Tell whether a path is that of a Python with its library beside it."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    runs = stat.S_ISREG(status.st_mode) and os.access(path, os.X_OK) and _PYTHON.fullmatch(path.name)
    return bool(runs) and path.parent.name == "bin" and any((path.parents[1] / "lib").glob("python3*/os.py"))


def _beginning(path: Path) -> str:
    try:
        return read_beginning(path, MAX_SCRIPT).decode("utf-8", "replace")
    except OSError:
        return ""
