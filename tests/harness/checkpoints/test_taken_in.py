"""What git's index has already is noted without being read, and never otherwise than as it lies there."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.bridges.processes.process import ChildProcesses
from app.config import child_environment
from app.harness.checkpoints import file_survey
from app.harness.checkpoints.worktrees import Worktrees
from app.tools.processes.call_processes import CallProcesses
from tests.driver.workspaces import git

FILES = 40

pytestmark = pytest.mark.requirement("checkpoint.files")


@pytest.fixture
async def worktrees(tmp_path: Path) -> AsyncIterator[Worktrees]:
    children = ChildProcesses()
    yield Worktrees(CallProcesses.uncaged(children), child_environment(), tmp_path / "notes")
    await children.aclose()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The names of the files that are read."""
    names: list[bytes] = []
    original = file_survey._read

    def noted(folder: int, name: bytes) -> bytes:
        names.append(name)
        return original(folder, name)

    monkeypatch.setattr(file_survey, "_read", noted)
    return names


def long_ago(root: Path) -> None:
    """Let git have taken in everything some time after it was written."""
    later = time.time() + 60
    os.utime(root / ".git" / "index", (later, later))


def committed(root: Path, attributes: str = "", **settings: str) -> Path:
    root.mkdir()
    git(root, "init", "-q")
    for name, value in settings.items():
        git(root, "config", name.replace("__", "."), value)
    if attributes:
        (root / ".gitattributes").write_text(attributes)
    for number in range(FILES):
        (root / f"part_{number}.txt").write_bytes(b"one\r\ntwo %d\r\n" % number)
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    os.symlink("run.sh", root / "link")
    git(root, "add", "-A"), git(root, "commit", "-qm", "all")
    return root


def raw(root: Path) -> dict[bytes, str]:
    """Return the names that git gives the files as they lie there."""
    files = sorted(one for one in root.iterdir() if one.name != ".git" and not one.is_symlink())
    oids = git(root, "hash-object", "--no-filters", *(one.name for one in files)).split()
    return {os.fsencode(one.name): oid for one, oid in zip(files, oids, strict=True)}


async def noted(worktrees: Worktrees, root: Path) -> dict[bytes, str]:
    found = await worktrees.note(root)
    return {name: one.oid for name, one in found.entries.items() if name != b"link"}


async def test_what_git_has_already_is_not_read(
    worktrees: Worktrees, read: list[bytes], tmp_path: Path
) -> None:
    root = committed(tmp_path / "repo")
    long_ago(root)
    (root / "part_3.txt").write_bytes(b"one\r\ntwo X\r\n")
    (root / "new.txt").write_bytes(b"new\n")
    assert await noted(worktrees, root) == raw(root)
    assert sorted(read) == [b"new.txt", b"part_3.txt"]
    assert await noted(worktrees, root) == raw(root)


async def test_what_was_changed_right_after_git_took_it_in_is_read(
    worktrees: Worktrees, read: list[bytes], tmp_path: Path
) -> None:
    root = committed(tmp_path / "repo")
    newest = max(one.lstat().st_mtime_ns for one in root.iterdir() if one.name != ".git")
    os.utime(root / ".git" / "index", ns=(newest, newest))  # also where git takes its time
    assert await noted(worktrees, root) == raw(root)
    assert len(read) == FILES + 1


@pytest.mark.parametrize(
    ("attributes", "settings"),
    [
        ("", {"core__autocrlf": "input"}),
        ("*.txt text=auto\n", {}),
        ("*.txt filter=other\n", {"filter__other__clean": "tr a-z n-za-m"}),
        ("[attr]odd filter=other\n*.txt odd\n", {"filter__other__clean": "tr a-z n-za-m"}),
    ],
)
async def test_what_git_has_converted_is_noted_as_it_lies_there(
    worktrees: Worktrees, tmp_path: Path, attributes: str, settings: dict[str, str]
) -> None:
    root = committed(tmp_path / "repo", attributes, **settings)
    long_ago(root)
    assert await noted(worktrees, root) == raw(root)


async def test_what_git_has_lost_is_kept(worktrees: Worktrees, tmp_path: Path) -> None:
    root = committed(tmp_path / "repo")
    long_ago(root)
    oid = raw(root)[b"part_1.txt"]
    (root / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    found = await worktrees.note(root)
    objects = await worktrees.objects(root)
    assert (await objects.contents([oid], 1000))[oid] == (root / "part_1.txt").read_bytes()
    assert found.new_bytes > 0
