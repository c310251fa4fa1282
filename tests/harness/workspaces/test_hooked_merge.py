"""What became of a merge with hooks that was cut off: its own commit is found, no other one is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.errors import Conflict
from app.harness.workspaces.bringing import Bringer, Bringing, Checkout
from app.harness.workspaces.hooked_merge import HookedMerge, Unended
from app.harness.workspaces.tending import Tending
from app.harness.workspaces.trees import differences
from app.states import WorkspaceState
from app.storage.models import Workspace
from app.tools.processes.git_commands import GitProblem
from tests.driver.workspaces import git
from tests.harness.workspaces.plain_git import PlainGit

pytestmark = pytest.mark.requirement("workspaces.recovery")


@dataclass
class Cut:
    """A checkout whose merge changes `a`, adds `new` and deletes `gone`, with its files written."""

    root: Path
    before: str
    bringing: Bringing

    async def end(self) -> str:
        return await self.hooked().end(*self.sides(), "main")

    def sides(self) -> tuple[Any, Any, Any]:
        head = git(self.root, "rev-parse", "HEAD")
        checkout = Checkout(self.root, "", self.root / ".git", head, ())
        repository = SimpleNamespace(head=head, top=self.root, prefix="")
        return Bringer(PlainGit(self.root / ".git"), checkout), self.bringing, repository

    def hooked(self, desk: Any = None, tip: Callable[[], str] | None = None) -> HookedMerge:
        async def found(*_: object) -> str:
            return git(self.root, "rev-parse", "main") if tip is None else tip()

        return HookedMerge(desk, SimpleNamespace(tip=found))

    def files(self) -> dict[str, str]:
        return {one.name: one.read_text() for one in self.root.iterdir() if one.is_file()}

    def commit(self, *names: str) -> str:
        git(self.root, "add", "-A", "--", *names), git(self.root, "commit", "-qm", "x", "--", *names)
        return git(self.root, "rev-parse", "HEAD")

    def write(self) -> None:
        (self.root / "a").write_text("merged\n"), (self.root / "new").write_text("new\n")
        (self.root / "gone").unlink()


BEFORE = {"a": "a\n", "gone": "gone\n", "other": "other\n"}


@pytest.fixture
async def cut(tmp_path: Path) -> Cut:
    git(tmp_path, "init", "-q", "-b", "main")
    for name, text in BEFORE.items():
        (tmp_path / name).write_text(text)
    git(tmp_path, "add", "-A"), git(tmp_path, "commit", "-qm", "first")
    before = git(tmp_path, "rev-parse", "HEAD")
    found = Cut(tmp_path, before, Bringing("", "", ()))
    found.write()
    git(tmp_path, "add", "-A")
    after = git(tmp_path, "write-tree")
    git(tmp_path, "read-tree", before)
    changes = await differences(PlainGit(tmp_path / ".git"), before, after)
    found.bringing = Bringing(before, after, changes)
    return found


async def test_a_commit_of_somebody_else_is_not_the_merge(cut: Cut) -> None:
    git(cut.root, "reset", "-q", "--hard"), git(cut.root, "clean", "-qf")
    (cut.root / "other").write_text("the user's\n")
    mine = cut.commit("other")
    with pytest.raises(Conflict) as refused:
        await cut.end()
    assert refused.value.details["reason"] == "interrupted" and "paths" not in refused.value.details
    assert git(cut.root, "rev-parse", "main") == mine
    assert cut.files() == {**BEFORE, "other": "the user's\n"}


async def test_what_others_did_of_it_stays_and_the_rest_is_taken_back(cut: Cut) -> None:
    (cut.root / "a").write_text("the user's\n")
    cut.commit("new")
    with pytest.raises(Conflict) as refused:
        await cut.end()
    assert refused.value.details["paths"] == ["a"] and "commit or restore" in refused.value.message
    assert cut.files() == {**BEFORE, "a": "the user's\n", "new": "new\n"}


async def test_its_own_commit_is_found_below_those_of_others(cut: Cut) -> None:
    (cut.root / "a").write_text("merged, and formatted by a hook\n")
    made = cut.commit("a", "new", "gone")
    assert await cut.end() == made
    (cut.root / "other").write_text("the user's\n"), (cut.root / "a").write_text("a\n")
    cut.commit("other", "a")
    files = cut.files()
    assert await cut.end() == made and cut.files() == files


async def test_a_branch_that_was_reset_has_no_merge(cut: Cut) -> None:
    git(cut.root, "checkout", "-q", "--orphan", "away"), git(cut.root, "branch", "-qD", "main")
    git(cut.root, "checkout", "-q", "--orphan", "main")
    git(cut.root, "add", "-A"), git(cut.root, "commit", "-qm", "all of it anew")
    with pytest.raises(Conflict):
        await cut.end()
    assert set(cut.files()) == {"a", "new", "other"}  # they are that commit's


async def test_what_cannot_be_taken_back_is_left_to_the_next_start(cut: Cut) -> None:
    async def refuse(*_: object) -> None:
        raise Conflict("A hook refused.", reason="hook_failed", details={"output": "no"})

    def fail() -> str:
        raise GitProblem("git cannot be run")

    cut.root.joinpath("gone").write_text("gone\n"), cut.root.joinpath("new").unlink()
    cut.root.joinpath("a").write_text("a\n")
    hooked = cut.hooked(SimpleNamespace(make_commit=refuse), fail)
    with pytest.raises(Unended) as refused:
        await hooked.carry_out(*cut.sides(), "main", "x")
    assert refused.value.details == {"reason": "hook_failed", "output": "no"}
    assert "A hook refused." in refused.value.message and "next start" in refused.value.message
    assert set(cut.files()) == {"a", "new", "other"}

    async def carry_out(*_: object, **__: object) -> str:
        raise refused.value

    stored: list[tuple[object, ...]] = []

    class Record:
        storage = None

        async def move(self, _: object, target: WorkspaceState, columns: dict[str, Any]) -> None:
            stored.append((target, columns))

        async def note(self, _: object, columns: dict[str, Any]) -> None:
            stored.append((None, columns))

    tools: Any = SimpleNamespace(merging=SimpleNamespace(carry_out=carry_out))
    nothing: Any = None
    record: Any = Record()
    making: Any = SimpleNamespace(seeds=None)
    tending = Tending(record, nothing, tools, nothing, making)
    row = Workspace(
        id="wks_1", project_id="prj_1", kind="worktree", state="merging", root=str(cut.root), base="head",
        journal={"into": "main", "hooks": True}, created_at=0, updated_at=0,
    )  # fmt: skip
    with pytest.raises(Unended):
        await tending.finish_merge(row, nothing, cut.root)
    [(target, columns)] = stored
    assert target is None and "journal" not in columns
    with pytest.raises(Conflict):
        await cut.end()
    assert cut.files() == BEFORE
