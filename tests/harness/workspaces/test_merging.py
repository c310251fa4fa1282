"""The changes of a workspace come into the checkout as edits, all or none, and only where nothing is lost."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from app.harness.workspaces.merging import Merging
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.sessions import Driver
from tests.driver.workspaces import Workplace, digest_of, git, new_workplace
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider

SHOP = [f"line {n}" for n in range(1, 21)]

pytestmark = pytest.mark.requirement("workspaces.merge")


@pytest.fixture
async def place(driver: Driver) -> Workplace:
    return await new_workplace(driver.client, driver.project_id)


def text(**lines: str) -> str:
    changed = dict(enumerate(SHOP)) | {int(number[1:]): line for number, line in lines.items()}
    return "\n".join(changed.values()) + "\n"


def git_state(root: Path) -> dict[str, str]:
    """Everything in the user's repository but the pins: refs, the index, objects, settings."""
    return digest_of(root / ".git", without=("refs/kaged",))


async def test_changes_arrive_as_edits_and_a_dry_run_changes_nothing(
    place: Workplace, project_root: Path
) -> None:
    (place.root / "src" / "shop.py").write_text(text(_2="three"))
    (place.root / "src" / "added.py").write_text("added\n")
    (place.root / "README.md").unlink()
    (place.root / "run.sh").write_text("#!/bin/sh\n"), (place.root / "run.sh").chmod(0o755)
    (place.root / "link").symlink_to("src/shop.py")
    (place.root / "noise.log").write_text("ignored\n")
    git(place.root, "add", "src/added.py"), git(place.root, "commit", "-qm", "an agent's")
    before, repository = digest_of(project_root), git_state(project_root)
    dry = await place.merge(dry_run=True)
    assert digest_of(project_root) == before
    assert {one["path"]: one["status"] for one in dry["files"]} == {
        "README.md": "deleted",
        "link": "added",
        "run.sh": "added",
        "src/added.py": "added",
        "src/shop.py": "modified",
    }
    counted = {one["path"]: (one["additions"], one["deletions"]) for one in dry["files"]}
    assert counted["src/shop.py"] == (1, 1)
    assert "-line 3\n+three\n" in dry["diff"]
    assert (dry["conflicts"], dry["blocked"], dry["workspace_state"]) == ([], {}, "ready")
    done = await place.merge()
    assert [one["path"] for one in done["files"]] == [one["path"] for one in dry["files"]]
    assert done["workspace_state"] == "merged"
    assert (project_root / "src" / "shop.py").read_text() == text(_2="three")
    assert os.access(project_root / "run.sh", os.X_OK)
    assert os.readlink(project_root / "link") == "src/shop.py"
    assert not (project_root / "README.md").exists() and not (project_root / "noise.log").exists()
    assert git_state(project_root) == repository


async def test_what_the_user_committed_meanwhile_is_joined(place: Workplace, project_root: Path) -> None:
    (place.root / "src" / "shop.py").write_text(text(_2="three"))
    (project_root / "src" / "shop.py").write_text(text(_15="sixteen"))
    git(project_root, "commit", "-qam", "the user's")
    (project_root / "own.txt").write_text("the user's own\n")
    await place.merge()
    assert (project_root / "src" / "shop.py").read_text() == text(_2="three", _15="sixteen")
    assert git(project_root, "status", "--porcelain") == "M src/shop.py\n?? own.txt"
    # The session goes on, and what it does next is brought back on top.
    (place.root / "src" / "shop.py").write_text(text(_2="three", _8="nine"))
    await place.merge()
    assert (project_root / "src" / "shop.py").read_text() == text(_2="three", _8="nine", _15="sixteen")
    assert (await place.merge())["files"] == []


@pytest.mark.parametrize("how", ["edited", "staged", "untracked", "folder"])
async def test_a_file_with_changes_of_the_user_is_named_and_nothing_is_written(
    place: Workplace, project_root: Path, how: str
) -> None:
    (place.root / "src" / "shop.py").write_text(text(_2="three"))
    (place.root / "new.py").write_text("an agent's\n")
    named = "new.py"
    if how in {"edited", "staged"}:
        named = "src/shop.py"
        (project_root / named).write_text(text(_15="sixteen"))
        if how == "staged":
            git(project_root, "add", named)
            (project_root / named).write_text(text())
    elif how == "untracked":
        (project_root / named).write_text("the user's\n")
    else:
        (project_root / named).mkdir()
        (project_root / named / "inside").write_text("the user's\n")
    before = digest_of(project_root)
    refused = await place.merge(409)
    assert refused["error"]["details"]["reason"] == "checkout_in_the_way", refused
    assert list(refused["error"]["details"]["paths"]) == [named]
    dry = await place.merge(dry_run=True)
    assert list(dry["blocked"]) == [named]
    assert digest_of(project_root) == before
    assert (await place.look())["state"] == "ready"


@pytest.mark.parametrize("into", ["main", "working_tree"])
@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
async def test_changes_that_git_was_told_to_overlook_are_not_overwritten(
    place: Workplace, project_root: Path, flag: str, into: str
) -> None:
    git(project_root, "update-index", flag, "README.md", "src/shop.py")
    (project_root / "README.md").write_text("the user's own\n")
    (place.root / "README.md").write_text("an agent's\n")
    refused = await place.merge(409, into=into)
    assert refused["error"]["details"]["paths"] == {"README.md": "it has uncommitted changes"}
    assert (project_root / "README.md").read_text() == "the user's own\n"


async def test_lines_that_both_have_changed_are_conflicts(place: Workplace, project_root: Path) -> None:
    (place.root / "src" / "shop.py").write_text(text(_2="the agent's"))
    (project_root / "src" / "shop.py").write_text(text(_2="the user's"))
    git(project_root, "commit", "-qam", "the user's")
    before = digest_of(project_root)
    dry = await place.merge(dry_run=True)
    assert dry["conflicts"] == ["src/shop.py"]
    refused = await place.merge(409)
    assert refused["error"]["details"] == {"reason": "merge_conflicts", "paths": ["src/shop.py"]}
    assert digest_of(project_root) == before


async def test_uncommitted_changes_that_came_along_do_not_hinder(driver: Driver, project_root: Path) -> None:
    (project_root / "src" / "shop.py").write_text(text(_15="sixteen"))
    (project_root / "draft.md").write_text("a draft\n")
    place = await new_workplace(driver.client, driver.project_id, base="working")
    (place.root / "src" / "shop.py").write_text(text(_2="three", _15="sixteen"))
    (place.root / "draft.md").write_text("a better draft\n")
    done = await place.merge()
    assert [one["path"] for one in done["files"]] == ["draft.md", "src/shop.py"]
    assert (project_root / "src" / "shop.py").read_text() == text(_2="three", _15="sixteen")
    assert (project_root / "draft.md").read_text() == "a better draft\n"


async def test_a_branch_gets_one_commit_or_those_of_the_workspace(
    place: Workplace, project_root: Path
) -> None:
    git(project_root, "branch", "one"), git(project_root, "branch", "many")
    (place.root / "src" / "shop.py").write_text(text(_2="three"))
    git(place.root, "commit", "-qam", "an agent's")
    (place.root / "new.py").write_text("new\n")
    main, before = git(project_root, "rev-parse", "main"), digest_of(project_root, without=(".git/",))
    done = await place.merge(into="one", message="Fix the third line")
    assert git(project_root, "rev-parse", "one") == done["commit"]
    assert git(project_root, "log", "-1", "--format=%P %an %s", "one") == f"{main} Ada Fix the third line"
    assert git(project_root, "show", "one:new.py") == "new"
    assert digest_of(project_root, without=(".git/",)) == before
    assert git(project_root, "status", "--porcelain") == ""
    again = await place.merge(into="one")
    assert again["files"] == []
    await place.post("discard"), await place.post("undo")
    (place.root / "more.py").write_text("more\n")
    done = await place.merge(into="many", strategy="merge")
    assert [one["path"] for one in done["files"]] == ["more.py", "new.py", "src/shop.py"]
    assert git(project_root, "log", "--format=%s", "--first-parent", "many").count("\n") == 1
    assert "an agent's" in git(project_root, "log", "--format=%s", "many")
    git(project_root, "worktree", "add", "-q", "-b", "elsewhere", str(project_root.parent / "elsewhere"))
    refused = await place.merge(409, into="elsewhere")
    assert refused["error"]["details"]["reason"] == "branch_checked_out"
    await place.merge(400, into="nowhere")
    assert git(project_root, "fsck", "--full", "--no-dangling") == ""


async def test_a_discarded_workspace_comes_back_and_a_kept_one_leaves_its_branch(
    driver: Driver, place: Workplace, project_root: Path
) -> None:
    (place.root / "new.py").write_text("new\n")
    assert (await place.post("discard"))["state"] == "discarded"
    refused = await driver.client.post(
        f"/api/v1/sessions/{place.session_id}/messages", json={"content": "Go on"}
    )
    assert refused.json()["error"]["details"]["reason"] == "workspace_not_ready"
    await place.merge(409)
    assert (await place.post("undo"))["state"] == "ready"
    assert (place.root / "new.py").read_text() == "new\n"
    before = digest_of(project_root, without=(".git/",))
    kept = await place.post("keep")
    assert kept["state"] == "kept"
    branch = kept["branch"]
    assert git(project_root, "show", f"{branch}:new.py") == "new"
    assert git(project_root, "log", "--format=%an", branch) == "Ada\nada"
    await place.until_removed()
    assert not place.root.exists()
    assert git(project_root, "for-each-ref", "refs/kaged") == ""
    assert digest_of(project_root, without=(".git/",)) == before
    assert git(project_root, "fsck", "--full", "--no-dangling") == ""
    await place.post("undo", 409)


async def test_an_unchanged_workspace_goes_with_its_session_and_a_changed_one_stays(
    driver: Driver, place: Workplace, project_root: Path
) -> None:
    other = await new_workplace(driver.client, driver.project_id)
    (other.root / "new.py").write_text("new\n")
    for one in (place, other):
        answer = await driver.client.post(f"/api/v1/sessions/{one.session_id}/archive")
        assert answer.status_code == 200, answer.text
    await place.until_removed()
    assert place.workspace["state"] == "discarded"
    assert (await other.look())["state"] == "ready"
    assert (other.root / "new.py").exists()
    pins = git(project_root, "for-each-ref", "--format=%(refname)", "refs/kaged")
    assert pins == f"refs/kaged/base/{other.workspace['id']}"
    await other.merge()
    assert (project_root / "new.py").exists()


async def test_an_agent_is_given_the_conflicts_in_its_workspace(
    driver: Driver, fake: FakeProvider, place: Workplace, project_root: Path
) -> None:
    (place.root / "src" / "shop.py").write_text(text(_2="the agent's", _15="sixteen"))
    (place.root / "new.py").write_text("new\n")
    (project_root / "src" / "shop.py").write_text(text(_2="the user's", _8="nine"))
    (project_root / "own.py").write_text("own\n")
    git(project_root, "add", "-A"), git(project_root, "commit", "-qm", "the user's")
    before = digest_of(project_root)
    fake.script(text_reply("I resolve them."))
    given = await place.merge(conflicts="agent")
    assert (given["given_to_agent"], given["conflicts"]) == (True, ["src/shop.py"])
    assert digest_of(project_root) == before
    marked = (place.root / "src" / "shop.py").read_text()
    assert "<<<<<<<" in marked and "the user's\n" in marked and "the agent's\n" in marked
    assert "nine\n" in marked and "sixteen\n" in marked
    messages = (await driver.client.get(f"/api/v1/sessions/{place.session_id}/messages")).json()["items"]
    assert any("- src/shop.py" in one["content"] for one in messages)
    (place.root / "src" / "shop.py").write_text(text(_2="both's", _8="nine", _15="sixteen"))
    async with asyncio.timeout(WAIT_SECONDS):
        while (await driver.client.get(f"/api/v1/sessions/{place.session_id}")).json()["state"] != "idle":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    done = await place.merge()
    assert [one["path"] for one in done["files"]] == ["new.py", "src/shop.py"]
    assert (project_root / "src" / "shop.py").read_text() == text(_2="both's", _8="nine", _15="sixteen")


async def test_the_branch_that_is_checked_out_gets_a_commit_with_its_files_and_index(
    place: Workplace, project_root: Path
) -> None:
    (place.root / "src" / "shop.py").write_text(text(_2="three"))
    (place.root / "new.py").write_text("new\n")
    (place.root / "README.md").unlink()
    (project_root / "src" / "shop.py").write_text(text(_8="nine"))
    git(project_root, "commit", "-qam", "the user's")
    (project_root / "prompts" / "primary.md").write_text("not committed\n")
    (project_root / "staged.py").write_text("staged\n")
    git(project_root, "add", "staged.py")
    before = git(project_root, "rev-parse", "main")
    (project_root / "README.md").write_text("the user's\n")
    refused = await place.merge(409, into="main")
    assert refused["error"]["details"]["paths"] == {"README.md": "it has uncommitted changes"}
    git(project_root, "checkout", "-q", "README.md")
    (project_root / ".git" / "index.lock").touch()
    assert (await place.merge(409, into="main"))["error"]["details"]["reason"] == "index_locked"
    (project_root / ".git" / "index.lock").unlink()
    (project_root / ".git" / "MERGE_HEAD").touch()
    busy = await place.merge(409, into="main")
    assert busy["error"]["details"] == {"reason": "operation_in_progress", "operation": "merge"}
    (project_root / ".git" / "MERGE_HEAD").unlink()
    done = await place.merge(into="main", message="Fix the third line")
    assert git(project_root, "rev-parse", "main", "HEAD") == f"{done['commit']}\n{done['commit']}"
    assert git(project_root, "log", "-1", "--format=%P %an") == f"{before} Ada"
    assert git(project_root, "status", "--porcelain") == "M prompts/primary.md\nA  staged.py"
    assert (project_root / "src" / "shop.py").read_text() == text(_2="three", _8="nine")
    assert not (project_root / "README.md").exists() and (project_root / "new.py").exists()
    assert git(project_root, "fsck", "--full", "--no-dangling") == ""


async def test_what_is_written_while_the_branch_is_kept_stays_in_the_folder(
    driver: Driver, place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, plan = await new_workplace(driver.client, driver.project_id), Merging.plan_branch

    async def overtaken(self: Merging, *arguments: Any) -> dict[str, Any]:
        made = await plan(self, *arguments)
        (place.root / "late.py").write_text("late = 1\n")
        return made

    with monkeypatch.context() as patch:
        patch.setattr(Merging, "plan_branch", overtaken)
        await place.post("keep")
    await other.post("keep")
    await other.until_removed()  # it was looked at after the one before it
    assert (await place.look())["removed_at"] is None
    assert (place.root / "late.py").read_text() == "late = 1\n"
    (place.root / "late.py").unlink()
    await (await new_workplace(driver.client, driver.project_id)).post("keep")
    await place.until_removed()


async def test_a_branch_that_is_not_there_is_created_when_asked(place: Workplace, project_root: Path) -> None:
    (place.root / "new.py").write_text("new\n")
    (project_root / "own.py").write_text("own\n")
    git(project_root, "add", "own.py"), git(project_root, "commit", "-qm", "the user's")
    refused = await place.merge(400, into="work/new")
    assert "`create`" in refused["error"]["details"]["fields"]["into"]
    for name in ("bad..name", "-x", "a b", "x.lock", "HEAD", "@{-1}"):
        await place.merge(400, into=name, create=True)
    await place.merge(400, into="work/new", create=True, message=" \n")
    await place.merge(409, into="main/below", create=True)
    dry = await place.merge(into="work/new", create=True, dry_run=True)
    assert [one["path"] for one in dry["files"]] == ["new.py"]
    assert git(project_root, "for-each-ref", "refs/heads/work") == ""
    done = await place.merge(into="work/new", create=True, message="x" * 50_000)
    assert git(project_root, "rev-parse", "work/new") == done["commit"]
    assert git(project_root, "diff", "--name-status", "main", "work/new") == "A\tnew.py"
    assert git(project_root, "log", "-1", "--format=%P", "work/new") == git(project_root, "rev-parse", "main")
    again = await place.merge(into="work/new", create=True)
    assert again["commit"] is None and git(project_root, "rev-parse", "work/new") == done["commit"]
    assert (await place.look())["state"] == "merged"


async def test_the_hooks_of_the_user_run_for_a_merge_when_asked(place: Workplace, project_root: Path) -> None:
    said = project_root.parent / "said"
    hooks = {
        "pre-commit": f"git diff --cached --name-only >> {said}\ncat new.py; grep -q good new.py",
        "commit-msg": 'echo "Checked-by: hook" >> "$1"',
        "post-commit": f"git log -1 --format=%s >> {said}",
    }
    for name, does in hooks.items():
        hook = project_root / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >> {said}\n{does}\n"), hook.chmod(0o755)
    before = digest_of(project_root, without=(".git/",)), git(project_root, "rev-parse", "main")
    (place.root / "new.py").write_text("bad\n"), (place.root / "README.md").unlink()
    await place.merge(into="main", dry_run=True)
    assert not said.exists()
    for wish in (
        {"into": "working_tree"},
        {"into": "work", "create": True},
        {"strategy": "merge", "into": "main"},
    ):
        refused = await place.merge(409, hooks=True, **wish)
        assert refused["error"]["details"]["reason"] == "hooks_not_possible"
    refused = (await place.merge(409, into="main", hooks=True))["error"]["details"]
    assert refused["reason"] == "hook_failed" and "bad" in refused["output"]
    assert (digest_of(project_root, without=(".git/",)), git(project_root, "rev-parse", "main")) == before
    assert git(project_root, "status", "--porcelain") == "" and (await place.look())["state"] == "ready"
    (place.root / "new.py").write_text("good\n")
    said.unlink()
    done = await place.merge(into="main", hooks=True, message="Merged")
    assert git(project_root, "rev-parse", "main") == done["commit"]
    assert said.read_text().split()[:6] == [
        "pre-commit",
        "README.md",
        "new.py",
        "commit-msg",
        "post-commit",
        "Merged",
    ]
    assert "Checked-by: hook" in git(project_root, "log", "-1", "--format=%B")
    assert git(project_root, "status", "--porcelain") == "" and not (project_root / "README.md").exists()


async def test_no_hook_runs_that_the_merge_brings_itself(place: Workplace, project_root: Path) -> None:
    ran = project_root.parent / "ran"
    script = f"#!/bin/sh\necho $0 >> {ran}\n"
    git(project_root, "config", "core.hooksPath", "githooks")
    for name in ("githooks/pre-commit", "scripts/message", ".pre-commit-config.yaml", "web/.husky/pre-push"):
        new = place.root / name
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(script + "echo bad\n"), new.chmod(0o755)
        refused = (await place.merge(409, into="main", hooks=True))["error"]
        assert refused["details"] == {"reason": "hooks_not_possible", "paths": [name]}
        assert "review" in refused["message"]
        new.unlink()
        if name == "githooks/pre-commit":  # the next is one that a hook is a link to
            (project_root / "githooks").mkdir()
            (project_root / "githooks" / "commit-msg").symlink_to("../scripts/message")
    (project_root / "githooks" / "pre-commit").write_text(script)
    (project_root / "githooks" / "pre-commit").chmod(0o755)
    (place.root / "githooks" / "pre-commit").write_text("an agent's")
    git(project_root, "config", "--unset", "core.hooksPath")
    (project_root / ".git" / "hooks" / "pre-commit").symlink_to("../../githooks/pre-commit")
    refused = (await place.merge(409, into="main", hooks=True))["error"]
    assert refused["details"]["paths"] == ["githooks/pre-commit"]
    (place.root / "githooks" / "pre-commit").unlink(), (place.root / "new.py").write_text("new\n")
    assert not ran.exists()
    await place.merge(into="main", hooks=True)
    assert ran.read_text() and git(project_root, "show", "--name-only", "--format=").split() == ["new.py"]
