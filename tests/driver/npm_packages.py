"""Packages of npm that tests run.

Owns: installing them into a folder, without running a script of theirs. Never: which versions: the
`package.json` of a test has them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.driver.machine import TOOLS, Lack

INSTALL_SECONDS = 300


def install(source: Path, folder: Path, *, locked: bool = False) -> Path:
    """Copy `source`, which has a `package.json`, into `folder`, install its packages there, and return the
    folder. `locked`: those of its lock file, which are linked when `source` has them installed. Skips the
    test without npm, or without its registry."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip(str(Lack("npm", "not installed", TOOLS)))
    built = shutil.ignore_patterns("node_modules", "dist")
    shutil.copytree(source, folder, dirs_exist_ok=True, ignore=built)
    if locked and is_installed(source):
        (folder / "node_modules").symlink_to(source / "node_modules")
        return folder
    command = ["ci"] if locked else ["install", "--no-package-lock"]
    done = subprocess.run(
        [npm, *command, "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["npm failed"])[0].replace(";", ",")
        pytest.skip(str(Lack("packages of npm", why, "reach the registry")))
    return folder


def is_installed(source: Path) -> bool:
    """Whether `node_modules` beside a lock file has exactly its packages, as npm has recorded."""
    record = source / "node_modules" / ".package-lock.json"
    return record.exists() and pins(record) == pins(source / "package-lock.json")


def pins(lock: Path) -> dict[str, str]:
    """Return the checksum of each package but the one that the lock file belongs to."""
    packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    return {name: entry["integrity"] for name, entry in packages.items() if name}
