"""Rolling back the files with the conversation, in real git repositories."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.harness.checkpoints.git_objects import GitObjects
from app.harness.checkpoints.stored_objects import MAX_UNTRACKED
from app.ids import new_id
from tests.driver.sessions import PROJECT_YAML, WAIT_SECONDS, Driver, driven, restarted, write_project
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.checkpoints.test_rollback import paused, say

pytestmark = pytest.mark.requirement("checkpoint.files")

YAML = PROJECT_YAML + '    "shell.bash": { enabled: true }\n'


def git(folder: Path, *arguments: str) -> str:
    names = {"GIT_AUTHOR_NAME": "T", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "T"}
    env = os.environ | names | {"GIT_COMMITTER_EMAIL": "t@t", "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(["git", *arguments], cwd=folder, env=env, capture_output=True, check=True)
    return done.stdout.decode()


def repository(folder: Path) -> Path:
    """Make a repository with a commit, something staged, something stashed and something ignored."""
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "a.txt").write_text("a, first\n")
    (folder / "tool.sh").write_text("#!/bin/sh\n")
    (folder / "tool.sh").chmod(0o755)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    (folder / "a.txt").write_text("a, stashed\n")
    git(folder, "stash")
    (folder / "staged.txt").write_text("staged\n")
    git(folder, "add", "staged.txt")
    (folder / "loose.txt").write_text("not tracked\n")
    (folder / "own.log").write_text("ignored\n")
    return folder


def fingerprint(folder: Path) -> dict[str, str]:
    """Everything in `.git`, byte for byte."""
    found = {}
    for file in sorted((folder / ".git").rglob("*")):
        if file.is_file():
            found[str(file.relative_to(folder))] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def contents(folder: Path) -> dict[str, str]:
    """The project's own files, without what kaged and git keep there."""
    return {
        str(file.relative_to(folder)): f"{file.stat().st_mode & 0o111:o}:{file.read_text()}"
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.is_symlink() and ".git" not in file.relative_to(folder).parts
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(write_project(tmp_path / "repo", YAML))


@pytest.fixture
async def at(
    root: Path, tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> AsyncIterator[Driver]:
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        yield driver


def write(path: str, content: str, call: str = "w") -> ToolCall:
    return ToolCall("file_write", {"path": path, "content": content}, id=f"{call}-{path}")


def create(path: str, content: str) -> ToolCall:
    return ToolCall("file_create", {"path": path, "content": content}, id=f"c-{path}")


def read(path: str) -> ToolCall:
    return ToolCall("file_read", {"path": path}, id=f"r-{path}")


def shell(command: str) -> ToolCall:
    return ToolCall("shell_bash", {"command": command}, id="s")


async def work(driver: Driver, fake: FakeProvider, text: str, *steps: tuple[ToolCall, ...]) -> str:
    """Let the agent do the steps on a message; return the message's id."""
    fake.script(*(Reply(step) for step in steps), text_reply(f"{text}: done."))
    watch = await driver.run(text)
    wrong = [f["payload"]["content"] for f in watch.of("message.tool_result") if f["payload"]["isError"]]
    assert wrong == []
    return next(m["id"] for m in reversed(await driver.messages()) if m["role"] == "operator")


async def staged(driver: Driver, message_id: str, **more: Any) -> dict[str, Any]:
    """Ask twice with one key, as a client does whose first answer was lost."""
    body = {"message_id": message_id, "files": True, "stage": True, **more}
    path, key = f"/api/v1/sessions/{driver.session_id}/rollback", {"idempotency-key": new_id("req")}
    answers = [await driver.client.post(path, json=body, headers=key) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200], answers[0].text
    assert answers[0].json() == answers[1].json()
    return answers[0].json()


async def rolled_back(driver: Driver, message_id: str, **more: Any) -> dict[str, Any]:
    body = {"message_id": message_id, "files": True, **more}
    return await driver.session_call("POST", "/rollback", body, status=201)


async def test_what_the_agent_wrote_is_restored_in_two_steps_and_can_be_undone(
    at: Driver, fake: FakeProvider, root: Path
) -> None:
    before, repository_before = contents(root), fingerprint(root)
    first = await work(
        at, fake, "Change",
        (read("a.txt"), read("tool.sh")),
        (write("a.txt", "a, second\n"), write("tool.sh", "#!/bin/sh\nls\n"), create("new/b.txt", "b\n")),
    )  # fmt: skip
    after = contents(root)
    assert after != before

    plan = await staged(at, first)
    assert contents(root) == after
    assert len(await at.messages()) > 1
    assert {one["path"]: one["change"] for one in plan["restored"]} == {
        "a.txt": "modified", "tool.sh": "modified", "new/b.txt": "deleted",
    }  # fmt: skip
    assert plan["conflicts"] == []
    diff = next(one["diff"] for one in plan["restored"] if one["path"] == "a.txt")
    assert "-a, second\n" in diff
    assert "+a, first\n" in diff

    rollback = await rolled_back(at, first, plan=plan["plan"])
    assert contents(root) == before
    assert not (root / "new").exists()
    assert sorted(rollback["files"]["restored"]) == ["a.txt", "new/b.txt", "tool.sh"]
    kept = await at.session_call("GET", f"/checkpoints/{rollback['files']['checkpoint_id']}")
    assert (kept["reason"], kept["worktree"]["state"]) == ("rollback", "taken")
    assert fingerprint(root) == repository_before

    undone = await at.session_call("POST", f"/rollbacks/{rollback['id']}/undo")
    assert undone["files"]["undo_conflicts"] == []
    assert contents(root) == after
    assert fingerprint(root) == repository_before


async def test_what_somebody_else_changed_is_a_conflict_and_is_left_unless_forced(
    at: Driver, fake: FakeProvider, root: Path
) -> None:
    first = await work(
        at, fake, "Change",
        (read("a.txt"), read("tool.sh")),
        (write("a.txt", "a, second\n"), write("tool.sh", "#!/bin/sh\nls\n")),
        (shell("echo by a command > loose.txt"),),
    )  # fmt: skip
    (root / "a.txt").write_text("a, mine\n")
    (root / "mine.txt").write_text("mine\n")
    (root / "own.log").write_text("ignored, changed\n")
    plan = await staged(at, first)
    assert [one["path"] for one in plan["restored"]] == ["tool.sh"]
    reasons = {one["path"]: one["reason"] for one in plan["conflicts"]}
    assert set(reasons) == {"a.txt", "loose.txt", "mine.txt"}
    assert "after an agent wrote it" in reasons["a.txt"]
    assert "a command or somebody else" in reasons["loose.txt"]

    rollback = await rolled_back(at, first)
    assert (root / "tool.sh").read_text() == "#!/bin/sh\n"
    assert (root / "tool.sh").stat().st_mode & 0o777 == 0o755
    assert (root / "a.txt").read_text() == "a, mine\n"
    assert (root / "mine.txt").read_text() == "mine\n"
    assert {one["path"] for one in rollback["files"]["conflicts"]} == set(reasons)
    await at.session_call("POST", f"/rollbacks/{rollback['id']}/undo")
    assert (root / "tool.sh").read_text() == "#!/bin/sh\nls\n"

    await rolled_back(at, first, force=True)
    assert (root / "a.txt").read_text() == "a, first\n"
    assert (root / "loose.txt").read_text() == "not tracked\n"
    assert not (root / "mine.txt").exists()
    assert (root / "own.log").read_text() == "ignored, changed\n"


async def test_a_plan_that_is_not_the_staged_one_any_more_is_refused(
    at: Driver, fake: FakeProvider, root: Path
) -> None:
    first = await work(at, fake, "Change", (read("a.txt"),), (write("a.txt", "a, second\n"),))
    plan = await staged(at, first)
    (root / "a.txt").write_text("a, mine\n")
    body = {"message_id": first, "files": True, "plan": plan["plan"]}
    refused = await at.session_call("POST", "/rollback", body, status=409)
    assert refused["error"]["details"]["reason"] == "plan_changed"
    assert (root / "a.txt").read_text() == "a, mine\n"
    assert len(await at.messages()) > 1
    await at.session_call("POST", "/rollback", {"message_id": first, "stage": True}, status=400)


async def test_only_the_projects_own_folder_of_a_monorepo_is_noted_and_restored(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    whole = tmp_path / "mono"
    root = write_project(whole / "apps" / "shop", YAML)
    (whole / "other.txt").write_text("other\n")
    (root / "a.txt").write_text("a, first\n")
    git(whole, "init", "-q", "-b", "main")
    git(whole, "add", ".")
    git(whole, "commit", "-q", "-m", "first")
    before = fingerprint(whole)
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        first = await work(driver, fake, "Change", (read("a.txt"),), (write("a.txt", "a, second\n"),))
        (whole / "other.txt").write_text("other, changed\n")
        plan = await staged(driver, first)
        assert ([one["path"] for one in plan["restored"]], plan["conflicts"]) == (["a.txt"], [])
        await rolled_back(driver, first)
    assert (root / "a.txt").read_text() == "a, first\n"
    assert (whole / "other.txt").read_text() == "other, changed\n"
    assert fingerprint(whole) == before


async def test_without_git_files_are_noted_and_restored_as_well(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    root = write_project(tmp_path / "plain", YAML)
    (root / "a.txt").write_text("a, first\n")
    (root / ".gitignore").write_text("*.log\n")
    (root / "own.log").write_text("ignored\n")
    before = contents(root)
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        first = await work(
            driver, fake, "Change",
            (read("a.txt"),), (write("a.txt", "a, second\n"), create("new/b.txt", "b\n")),
        )  # fmt: skip
        (root / "own.log").write_text("ignored, changed\n")
        after = contents(root)
        checkpoint = await paused(driver, fake, "Again", "Half")
        await driver.daemon.services.sessions._services.notes.settled(driver.session_id)
        shown = await driver.session_call("GET", f"/checkpoints/{checkpoint['id']}")
        assert shown["worktree"]["state"] == "unchanged"
    async with restarted(tmp_path / "data", **settings_overrides) as again:
        again.session_id = driver.session_id
        rollback = await rolled_back(again, first)
        assert contents(root) == {**before, "own.log": after["own.log"]}
        assert sorted(rollback["files"]["restored"]) == ["a.txt", "new/b.txt"]
        await again.session_call("POST", f"/rollbacks/{rollback['id']}/undo")
    assert contents(root) == after
    assert not (root / ".git").exists()


async def test_a_git_that_fails_is_reported_on_the_checkpoint_and_never_stands_for_an_older_note(
    at: Driver, fake: FakeProvider, root: Path
) -> None:
    await work(at, fake, "Change", (read("a.txt"),), (write("a.txt", "a, second\n"),))
    index = root / ".git" / "index"
    good = index.read_bytes()
    index.write_bytes(b"broken" * 20)
    checkpoint = await paused(at, fake, "Again", "Half")
    await at.daemon.services.sessions._services.notes.settled(at.session_id)
    shown = await at.session_call("GET", f"/checkpoints/{checkpoint['id']}")
    assert shown["worktree"]["state"] == "failed"
    assert "bad signature" in shown["worktree"]["detail"]
    index.write_bytes(good)
    body = {"checkpoint_id": checkpoint["id"], "files": True}
    refused = await at.session_call("POST", "/rollback", body, status=409)
    assert refused["error"]["details"]["reason"] == "files_not_noted"
    assert await at.state() == "paused"


async def test_a_file_above_the_cap_and_links_are_left_unless_they_can_be_restored(
    at: Driver, fake: FakeProvider, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("outside\n")
    (root / "link").symlink_to("a.txt")
    (root / "away").symlink_to(outside)
    with (root / "huge.bin").open("wb") as file:
        file.truncate(11 * 1024 * 1024)
    first = await work(
        at, fake, "Change",
        (read("a.txt"),), (write("a.txt", "a, second\n"),),
        (shell("ln -sf tool.sh link && rm away && echo in > away && printf x >> huge.bin"),),
    )  # fmt: skip
    plan = await staged(at, first)
    assert [one["path"] for one in plan["restored"]] == ["a.txt"]
    assert {one["path"] for one in plan["conflicts"]} == {"link", "away"}
    rollback = await rolled_back(at, first, force=True)
    assert sorted(rollback["files"]["restored"]) == ["a.txt", "away", "link"]
    assert os.readlink(root / "link") == "a.txt"
    assert os.readlink(root / "away") == str(outside)
    assert outside.read_text() == "outside\n"
    assert (root / "huge.bin").stat().st_size == 11 * 1024 * 1024 + 1
    await at.session_call("POST", f"/rollbacks/{rollback['id']}/undo", {"force": True})
    assert os.readlink(root / "link") == "tool.sh"
    assert (root / "away").read_text() == "in\n"


async def test_what_was_written_is_known_after_a_restart_and_through_moves(
    tmp_path: Path, root: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    before = contents(root)
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        session_id = driver.session_id
        first = await work(driver, fake, "Change", (read("a.txt"),), (write("a.txt", "a, second\n"),))
        await say(driver, fake, "And?", "Nothing.")
        second = await work(driver, fake, "More", (read("a.txt"),), (write("a.txt", "a, third\n"),))
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        await driver.load(root)
        driver.session_id = session_id
        await rolled_back(driver, second)
        assert (root / "a.txt").read_text() == "a, second\n"
        await say(driver, fake, "On", "Yes.")
        await rolled_back(driver, first)
    assert contents(root) == before


async def test_nothing_is_kept_when_nothing_has_changed(
    at: Driver, fake: FakeProvider, root: Path, tmp_path: Path
) -> None:
    def kept() -> int:
        return sum(1 for file in (tmp_path / "data" / "worktrees").rglob("*") if file.is_file())

    await say(at, fake, "One", "First.")
    notes = at.daemon.services.sessions._services.notes
    await notes.settled(at.session_id)
    storage = at.daemon.services.storage
    assert len(await storage.read(lambda uow: uow.worktrees.of_session(at.session_id))) == 1
    files = kept()
    await say(at, fake, "Two", "Second.")
    await say(at, fake, "Three", "Third.")
    await notes.settled(at.session_id)
    assert kept() == files
    assert len(await storage.read(lambda uow: uow.worktrees.of_session(at.session_id))) == 1
    last = (await at.messages())[-1]["id"]
    assert (await staged(at, last))["restored"] == []


async def test_filters_hooks_and_monitors_of_a_repository_are_not_run(
    at: Driver, fake: FakeProvider, root: Path, tmp_path: Path
) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    (root / ".gitattributes").write_text("*.txt filter=trap text eol=crlf\n")
    for key in ("core.fsmonitor", "filter.trap.clean", "filter.trap.smudge"):
        git(root, "config", key, str(trap))
    hooks = root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "post-index-change").write_text(trap.read_text())
    (hooks / "post-index-change").chmod(0o755)
    first = await work(at, fake, "Change", (read("a.txt"),), (write("a.txt", "a, second\n"),))
    await rolled_back(at, first)
    assert (root / "a.txt").read_bytes() == b"a, first\n"
    assert not (tmp_path / "sprung").exists()


async def test_old_notes_are_given_up_when_they_take_too_much_room_and_say_so(
    at: Driver, fake: FakeProvider, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await work(at, fake, "One", (read("a.txt"),), (write("a.txt", "a, second\n"),))
    await work(at, fake, "Two", (read("a.txt"),), (write("a.txt", "a, third\n"),))
    await say(at, fake, "Between", "Yes.")
    monkeypatch.setattr("app.harness.checkpoints.worktrees.MAX_STORE_BYTES", 1)
    third = await work(at, fake, "Three", (read("a.txt"),), (write("a.txt", "a, fourth\n"),))
    await say(at, fake, "Four", "Yes.")
    await at.daemon.services.sessions._services.notes.settled(at.session_id)
    body = {"message_id": first, "files": True, "stage": True}
    refused = await at.session_call("POST", "/rollback", body, status=409)
    assert "took too much room" in refused["error"]["message"]
    await rolled_back(at, third)
    assert (root / "a.txt").read_text() == "a, third\n"


async def test_tools_wait_until_the_files_are_noted(
    at: Driver, fake: FakeProvider, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = at.daemon.services.sessions._services.notes
    noting, go_on = asyncio.Event(), asyncio.Event()
    note = notes.worktrees.note

    async def slow(folder: Path) -> Any:
        noting.set()
        await go_on.wait()
        return await note(folder)

    monkeypatch.setattr(notes.worktrees, "note", slow)
    fake.script(Reply((create("new.txt", "new\n"),)), text_reply("Done."))
    async with at.watching() as watch:
        posted = await at.post("Go")
        async with asyncio.timeout(WAIT_SECONDS):
            await noting.wait()
        await watch.until_type("message.tool_call")
        await at.rename("the call was asked for")
        assert not (root / "new.txt").exists()
        go_on.set()
        await watch.until_state("idle")
    assert (root / "new.txt").exists()
    await rolled_back(at, posted["message"]["id"])
    assert not (root / "new.txt").exists()


@pytest.mark.requirement("durability.untracked_files")
async def test_generated_files_in_great_number_are_not_noted_and_cost_a_later_message_nothing(
    at: Driver, fake: FakeProvider, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "generated").mkdir()
    for number in range(MAX_UNTRACKED + 1):
        (root / "generated" / f"{number}").touch()
    checkpoint = await paused(at, fake, "One", "Half")
    notes = at.daemon.services.sessions._services.notes
    await notes.settled(at.session_id)
    shown = await at.session_call("GET", f"/checkpoints/{checkpoint['id']}")
    assert shown["worktree"]["state"] == "skipped"
    assert ".gitignore" in shown["worktree"]["detail"]
    asked: list[str] = []
    real = GitObjects._git

    async def counted(self: GitObjects, arguments: Any, *more: Any, **options: Any) -> bytes:
        asked.append(arguments[0])
        return await real(self, arguments, *more, **options)

    monkeypatch.setattr(GitObjects, "_git", counted)
    fake.script(text_reply("Well."))
    await at.session_call("POST", "/resume", status=201)
    await notes.settled(at.session_id)
    async with at.watching() as watch:
        await watch.until_state("idle")
    fake.script(text_reply("Two: done."))
    await at.run("Two")
    await notes.settled(at.session_id)
    assert "ls-files" not in asked
