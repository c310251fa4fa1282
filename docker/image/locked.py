"""Which of the locked packages each image has.

`locked.py print NAME...` prints the entries of requirements.lock, with their hashes, for the lists
`NAME.packages`. `locked.py write` writes those lists anew, from the metadata of the installed packages
(`make lock` runs it).
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
IMAGES = {"slim": ("otel",), "full": ("otel", "python-lsp")}
"""The extras of kaged in each image."""


def entries(lock: str) -> dict[str, str]:
    """Return the entries of a lock file by the name of their package."""
    found: dict[str, str] = {}
    name = ""
    for line in lock.splitlines(keepends=True):
        if line[:1] not in (" ", "#", "\n"):
            name = line.partition("==")[0].partition("[")[0].strip()
        if name:
            found[name] = found.get(name, "") + line
    return found


def names(listed: str) -> list[str]:
    return (HERE / f"{listed}.packages").read_text(encoding="utf-8").split()


def closures() -> dict[str, list[str]]:
    """Return the packages of each list. Each must be installed; conditions are those of this system."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    declared = project["project"]
    extras = declared["optional-dependencies"]
    found = {
        image: sorted(
            _closure([*declared["dependencies"], *(one for extra in wanted for one in extras[extra])])
        )
        for image, wanted in IMAGES.items()
    }
    return {**found, "build": sorted(_closure(project["build-system"]["requires"]))}


def _closure(roots: Iterable[str]) -> set[str]:
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(root) for root in roots]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        for extra in ("", *wanted.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            waiting += _needed(name, extra)
    return {name for name, _ in seen}


def _needed(name: str, extra: str) -> Iterator[Any]:
    from packaging.requirements import Requirement

    for line in metadata.requires(name) or ():
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": extra}):
            yield needed


def main(arguments: list[str]) -> int:
    match arguments:
        case ["print", *lists] if lists:
            locked = entries((REPOSITORY / "requirements.lock").read_text(encoding="utf-8"))
            for name in sorted({name for listed in lists for name in names(listed)}):
                sys.stdout.write(locked[name])
        case ["write"]:
            for listed, packages in closures().items():
                (HERE / f"{listed}.packages").write_text("\n".join(packages) + "\n", encoding="utf-8")
        case _:
            sys.stderr.write(f"{__doc__}\n")
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
