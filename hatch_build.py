"""Writes into a wheel and an sdist which commit they are built from.

Owns: `app/release.json` of a build, and the time of its files. Never: the checkout, into which it writes
nothing. `app/release.py` reads the file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMMIT_VARIABLE = "KAGED_BUILD_COMMIT"
"""The commit, for a build in a folder without `.git`, as in an image."""
TIME_VARIABLE = "SOURCE_DATE_EPOCH"
_FILE = Path("app", "release.json")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?(?:-dirty)?")


class ReleaseHook(BuildHookInterface[Any]):
    """The commit comes from an unpacked sdist, from the environment, or from git. Git is asked only in a
    folder that has a `.git` of its own: an unpacked sdist may lie in somebody else's repository."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        in_sdist = _from_sdist(root)
        found = in_sdist or _from_environment() or _from_git(root)
        if "committed_at" in found:
            os.environ.setdefault(TIME_VARIABLE, str(found["committed_at"]))
        if in_sdist:
            # Named too, so that the wheel has its files in the order that a checkout's wheel has.
            build_data["force_include"][str(root / _FILE)] = str(_FILE)
            return
        if not found:
            self.app.display_warning(f"no commit is known: set {COMMIT_VARIABLE} to write one into the build")
            return
        self._folder = tempfile.mkdtemp(prefix="kaged-build-")
        file = Path(self._folder, _FILE.name)
        file.write_text(json.dumps(found, sort_keys=True) + "\n", encoding="utf-8")
        build_data["force_include"][str(file)] = str(_FILE)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(getattr(self, "_folder", ""), ignore_errors=True)


def _from_sdist(root: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((root / _FILE).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return found


def _from_environment() -> dict[str, Any]:
    commit = os.environ.get(COMMIT_VARIABLE)
    if not commit:
        return {}
    if not _COMMIT.fullmatch(commit):
        raise ValueError(f"{COMMIT_VARIABLE} is not the full name of a commit: {commit!r}")
    return {"commit": commit}


def _from_git(root: Path) -> dict[str, Any]:
    if not (root / ".git").exists():
        return {}
    try:
        commit, committed_at = _git(root, "log", "-1", "--format=%H %ct").split()
        changed = _git(root, "status", "--porcelain")
    except (OSError, ValueError, subprocess.CalledProcessError):
        return {}
    return {"commit": f"{commit}-dirty" if changed else commit, "committed_at": int(committed_at)}


def _git(root: Path, *arguments: str) -> str:
    """Run git in the checkout, whatever repository the environment names."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *arguments], cwd=root, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()
