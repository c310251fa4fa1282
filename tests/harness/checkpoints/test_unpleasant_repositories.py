"""Rolling back files in repositories of the unpleasant kind: it works, or says why not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.workspace.any_names import address_of
from tests.driver.sessions import driven, write_project
from tests.fakes.provider_server import FakeProvider
from tests.harness.checkpoints.test_files import (
    YAML,
    create,
    fingerprint,
    git,
    read,
    repository,
    rolled_back,
    shell,
    staged,
    work,
    write,
)

pytestmark = pytest.mark.requirement("checkpoint.files")

ODD = os.fsdecode(b"caf\xe9.txt")


def _committed(folder: Path) -> Path:
    write_project(folder, YAML)
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("a, first\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def no_commits(at: Path) -> Path:
    root = write_project(at / "repo", YAML)
    git(root, "init", "-q")
    (root / "a.txt").write_text("a, first\n")
    return root


def dirty(at: Path) -> Path:
    return repository(write_project(at / "repo", YAML))


def detached(at: Path) -> Path:
    root = _committed(at / "repo")
    git(root, "checkout", "-q", "--detach")
    return root


def rebasing(at: Path) -> Path:
    root = _committed(at / "repo")
    for branch, text in (("other", "theirs\n"), ("main", "ours\n")):
        git(root, "checkout", "-q", *(["-b", branch] if branch == "other" else [branch]))
        (root / "contested.txt").write_text(text)
        git(root, "add", ".")
        git(root, "commit", "-q", "-m", branch)
    with pytest.raises(Exception, match="non-zero"):
        git(root, "rebase", "other")
    assert (root / ".git" / "rebase-merge").is_dir()
    return root


def submodule(at: Path) -> Path:
    library, root = at / "library", _committed(at / "repo")
    library.mkdir()
    git(library, "init", "-q")
    (library / "lib.py").write_text("lib\n")
    git(library, "add", ".")
    git(library, "commit", "-q", "-m", "first")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "library")
    git(root, "commit", "-q", "-m", "library")
    return root


def sparse(at: Path) -> Path:
    root = _committed(at / "repo")
    (root / "away").mkdir()
    (root / "away" / "far.txt").write_text("far\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "away")
    git(root, "sparse-checkout", "set", "prompts", ".kaged")
    assert not (root / "away").exists()
    return root


def shallow(at: Path) -> Path:
    git(at, "clone", "-q", "--depth", "1", f"file://{_committed(at / 'origin')}", "repo")
    return at / "repo"


def partial(at: Path) -> Path:
    origin = _committed(at / "origin")
    (origin / "old.txt").write_text("old\n")
    git(origin, "add", ".")
    git(origin, "commit", "-q", "-m", "old")
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(at, "clone", "-q", "--filter=blob:none", f"file://{origin}", "repo")
    return at / "repo"


def linked_worktree(at: Path) -> Path:
    git(_committed(at / "origin"), "worktree", "add", "-q", "-b", "work", str(at / "repo"))
    return at / "repo"


def lfs_pointers(at: Path) -> Path:
    root = _committed(at / "repo")
    (root / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 10\n"
    (root / "big.bin").write_text(pointer)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "pointer")
    git(root, "config", "filter.lfs.clean", f"touch {at / 'ran'}; cat")
    git(root, "config", "filter.lfs.required", "true")
    (root / "big.bin").write_text(pointer)
    return root


def large_files(at: Path) -> Path:
    root = _committed(at / "repo")
    with (root / "large.bin").open("wb") as file:
        file.truncate(100 * 2**20)
    return root


KINDS = (
    *(no_commits, dirty, detached, rebasing, submodule, sparse, shallow, partial, linked_worktree),
    *(lfs_pointers, large_files),
)


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
async def test_files_are_noted_and_restored(
    make: Callable[[Path], Path], tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    root = make(tmp_path)
    first_text = (root / "a.txt").read_text()
    async with driven(tmp_path / "data", root, **settings_overrides) as at:
        repositories = [one for one in (root, tmp_path / "origin") if (one / ".git").is_dir()]
        before = [fingerprint(one) for one in repositories]
        first = await work(
            at, fake, "Change", (read("a.txt"),), (write("a.txt", "second\n"), create("new/b.txt", "b\n"))
        )  # fmt: skip
        plan = await staged(at, first)
        assert {one["path"]: one["change"] for one in plan["restored"]} == {
            "a.txt": "modified",
            "new/b.txt": "deleted",
        }
        assert plan["conflicts"] == []
        rollback = await rolled_back(at, first, plan=plan["plan"])
        assert ((root / "a.txt").read_text(), (root / "new").exists()) == (first_text, False)
        await at.session_call("POST", f"/rollbacks/{rollback['id']}/undo")
        assert (root / "a.txt").read_text() == "second\n"
        assert [fingerprint(one) for one in repositories] == before
        assert not (tmp_path / "ran").exists()


async def test_files_are_brought_back_without_git(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    root = write_project(tmp_path / "repo", YAML)
    (root / "a.txt").write_text("a, first\n")
    async with driven(tmp_path / "data", root, **settings_overrides) as at:
        first = await work(at, fake, "Change", (read("a.txt"),), (write("a.txt", "second\n"),))
        assert [one["path"] for one in (await staged(at, first))["restored"]] == ["a.txt"]
        await at.session_call("POST", "/rollback", {"message_id": first, "files": True})
        assert (root / "a.txt").read_text() == "a, first\n"


async def test_names_that_are_not_utf8_are_conflicts_that_can_be_forced(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    root = _committed(tmp_path / "repo")
    (root / ODD).write_text("odd, first\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "odd")
    async with driven(tmp_path / "data", root, **settings_overrides) as at:
        first = await work(
            at, fake, "Change",
            (read("a.txt"),),
            (write("a.txt", "second\n"),),
            (shell("for one in caf*.txt; do echo changed > \"$one\"; done"),),
        )  # fmt: skip
        plan = await staged(at, first)
        assert [one["path"] for one in plan["restored"]] == ["a.txt"]
        assert [one["path"] for one in plan["conflicts"]] == [address_of(ODD)]
        rollback = await rolled_back(at, first)
        assert ((root / "a.txt").read_text(), (root / ODD).read_text()) == ("a, first\n", "changed\n")
        assert [one["path"] for one in rollback["files"]["conflicts"]] == [address_of(ODD)]
        await at.session_call("POST", f"/rollbacks/{rollback['id']}/undo")
        forced = await rolled_back(at, first, force=True)
        assert (root / ODD).read_text() == "odd, first\n"
        assert sorted(forced["files"]["restored"]) == ["a.txt", address_of(ODD)]
        await at.session_call("POST", f"/rollbacks/{forced['id']}/undo")
        assert (root / ODD).read_text() == "changed\n"


async def test_a_rename_by_case_alone_is_brought_back(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    root = _committed(tmp_path / "repo")
    async with driven(tmp_path / "data", root, **settings_overrides) as at:
        first = await work(at, fake, "Change", (create("B.txt", "b\n"),), (shell("mv a.txt A.txt"),))
        plan = await staged(at, first, force=True)
        assert {one["path"]: one["change"] for one in plan["restored"]} == {
            "A.txt": "deleted", "a.txt": "created", "B.txt": "deleted",
        }  # fmt: skip
        await rolled_back(at, first, force=True, plan=plan["plan"])
        assert sorted(one.name for one in root.glob("*.txt")) == ["a.txt"]
