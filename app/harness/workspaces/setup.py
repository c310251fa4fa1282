"""The command that a project names for its new workspaces, and what is found wrong after it.

Owns: its limits, its log, and finding packages that run the files of the checkout. Never: running it
(`running`), whether the project is trusted, or what follows from a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

import orjson

from app.cages.protected_names import ENVIRONMENT_MARK
from app.harness.workspaces.running import Command
from app.harness.workspaces.small_files import read_small

SECONDS = 1800.0
MAX_LOG = 64 * 1024


def setup_command(words: str | Sequence[str]) -> Command:
    return Command("setup", words, SECONDS)


def packages_outside(root: Path, project: Path) -> list[str]:
    """Return the Python packages installed in a workspace at `root` that are really files of the checkout at
    `project`: tests there would test the wrong files. Blocks."""
    found = set()
    for packages in _site_packages(root):
        for record in packages.glob("*.dist-info/direct_url.json"):
            with suppress(OSError, ValueError, KeyError, TypeError):
                place = unquote(urlsplit(str(orjson.loads(read_small(record) or b"")["url"])).path)
                if Path(place).is_relative_to(project):
                    found.add(record.parent.name.partition("-")[0])
        for listed in packages.glob("*.pth"):
            with suppress(ValueError):
                lines = (read_small(listed) or b"").decode("utf-8", "replace").splitlines()
                if any(line.startswith("/") and Path(line).is_relative_to(project) for line in lines):
                    found.add(listed.stem)
    return sorted(found)


def _site_packages(root: Path) -> Iterator[Path]:
    for mark in root.glob(f"*/{ENVIRONMENT_MARK}"):
        yield from mark.parent.glob("lib/python*/site-packages")
