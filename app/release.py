"""Which commit this installation is.

Owns: the file that the build writes (`hatch_build.py`), and the commit of a checkout. Never: running git, or
reading a repository that kaged is merely installed in.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import orjson

_BUILD_FILE = "release.json"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?(?:-dirty)?")
_SHORT = 12


@functools.cache
def commit() -> str | None:
    """Return the commit of the build, or of the checkout that runs; None when it is not known. `-dirty` after
    it: the build had changes that were not committed."""
    package = Path(__file__).parent
    found = _of_build(package / _BUILD_FILE) or _of_checkout(package.parent)
    return found if found is not None and _COMMIT.fullmatch(found) else None


def shown_release(version: str, commit: str | None, schema: str | None) -> str:
    """Return a version with the commit of its build and the schema of its database, as people read it."""
    name, dash, rest = (commit or "unknown").partition("-")
    return f"{version} (commit {name[:_SHORT]}{dash}{rest}, schema {schema or 'unknown'})"


def _of_build(file: Path) -> str | None:
    try:
        return str(orjson.loads(file.read_bytes())["commit"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _of_checkout(folder: Path) -> str | None:
    """Return what HEAD of a checkout of kaged names. The folder itself must be one: a repository around the
    packages of an installation belongs to somebody else."""
    git = folder / ".git"
    try:
        if not (folder / "migrations").is_dir() or not (folder / "pyproject.toml").is_file():
            return None
        if git.is_file():  # a worktree
            git = folder / git.read_text("utf-8").removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text("utf-8").strip()
        if not head.startswith("ref: "):
            return head
        return _resolve(git, head.removeprefix("ref: "))
    except (OSError, UnicodeDecodeError):
        return None


def _resolve(git: Path, reference: str) -> str | None:
    shared = git / "commondir"
    common = git / shared.read_text("utf-8").strip() if shared.is_file() else git
    for place in (git / reference, common / reference):
        if place.is_file():
            return place.read_text("utf-8").strip()
    packed = common / "packed-refs"
    lines = packed.read_text("utf-8").splitlines() if packed.is_file() else []
    return next((line.split()[0] for line in lines if line.endswith(f" {reference}")), None)
