"""A start after a crash finishes what was under way with workspaces."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.harness.workspaces.creation import Creation
from app.harness.workspaces.layout import Layout
from app.harness.workspaces.merging import MergeWish
from app.states import WorkspaceState
from tests.driver.daemon import Daemon, running_daemon
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.sessions import Driver, write_project
from tests.driver.workspaces import Workplace, digest_of, git, new_workplace

pytestmark = pytest.mark.requirement("workspaces.recovery")


async def under_way(daemon: Daemon, place: Workplace, wish: MergeWish) -> None:
    """Leave a merge as it is right after its journal is stored."""
    workspaces = daemon.services.management.folders.workspaces
    row = await workspaces.of_session(place.session_id)
    root = daemon.services.projects.root_of(row.project_id)
    layout = workspaces._tools.layout(row.project_id, row.id)
    prepared = await workspaces._tools.merging.prepare(row, layout, root, wish)
    await workspaces._record.move(row, WorkspaceState.MERGING, {"journal": prepared.journal})


async def started_again(
    data: Path, place: Workplace, settings: dict[str, Any], *states: str
) -> dict[str, Any]:
    async with running_daemon(data, **settings) as daemon, daemon.client() as client:
        return await Workplace(client, place.session_id, {}).until(*states)


async def test_a_merge_of_which_a_file_is_written_is_finished(
    tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    data = tmp_path / "data"
    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(project_root)
        place = await new_workplace(client, driver.project_id)
        (place.root / "one.py").write_text("one\n"), (place.root / "two.py").write_text("two\n")
        (place.root / "README.md").unlink()
        await under_way(daemon, place, MergeWish())
        (project_root / "one.py").write_text("one\n")
    found = await started_again(data, place, settings_overrides, "merged")
    assert found["merged"]["into"] == "working_tree"
    assert (project_root / "two.py").read_text() == "two\n"
    assert not (project_root / "README.md").exists()


async def test_a_merge_is_given_up_when_the_user_has_changed_one_of_its_files(
    tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    data = tmp_path / "data"
    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(project_root)
        place = await new_workplace(client, driver.project_id)
        (place.root / "README.md").write_text("an agent's\n"), (place.root / "new.py").write_text("new\n")
        (place.root / "src" / "shop.py").unlink()
        await under_way(daemon, place, MergeWish())
        (project_root / "README.md").write_text("the user's\n")
        before = digest_of(project_root)
        (project_root / "new.py").write_text("new\n"), (project_root / "src" / "shop.py").unlink()
    found = await started_again(data, place, settings_overrides, "ready")
    assert "README.md" in found["detail"]
    assert digest_of(project_root) == before


async def test_a_branch_that_was_moved_is_recorded_and_one_that_was_not_is_moved(
    tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    data = tmp_path / "data"
    git(project_root, "branch", "one")
    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(project_root)
        place = await new_workplace(client, driver.project_id)
        (place.root / "new.py").write_text("new\n")
        await under_way(daemon, place, MergeWish(into="one"))
    found = await started_again(data, place, settings_overrides, "merged")
    assert found["merged"]["commit"] == git(project_root, "rev-parse", "one")
    assert git(project_root, "show", "one:new.py") == "new"


async def test_a_commit_onto_the_checked_out_branch_is_finished(
    tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    data = tmp_path / "data"
    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(project_root)
        place = await new_workplace(client, driver.project_id)
        (place.root / "new.py").write_text("new\n"), (place.root / "README.md").unlink()
        await under_way(daemon, place, MergeWish(into="main"))
        (project_root / "new.py").write_text("new\n")
    found = await started_again(data, place, settings_overrides, "merged")
    assert found["merged"]["commit"] == git(project_root, "rev-parse", "HEAD")
    assert git(project_root, "status", "--porcelain") == ""
    assert not (project_root / "README.md").exists()


async def test_what_was_being_made_is_made_and_a_folder_that_is_gone_is_reported(
    tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    data = tmp_path / "data"
    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(project_root)
        gone = await new_workplace(client, driver.project_id)
        body = {"project_id": driver.project_id, "workspace": "worktree"}
        answer = await client.post("/api/v1/sessions", json=body)
        place = Workplace(client, answer.json()["id"], {})
        await daemon.services.management.folders.workspaces.aclose()
        half = Path((await place.look())["root"])
        half.mkdir(parents=True, exist_ok=True)
        (half / "left.py").write_text("half of a clone\n")
        gone.root.rename(tmp_path / "elsewhere")
        state = place.workspace["state"]
    found = await started_again(data, place, settings_overrides, "ready")
    if state == "creating":
        assert not (Path(found["root"]) / "left.py").exists()
    assert git(Path(found["root"]), "rev-parse", "HEAD") == git(project_root, "rev-parse", "HEAD")
    broken = await started_again(data, gone, settings_overrides, "broken")
    assert "is gone" in broken["detail"]
    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        gone = Workplace(client, gone.session_id, {})
        (await client.post(f"/api/v1/workspaces/{broken['id']}/retry")).raise_for_status()
        made = await gone.until("ready")
        assert (made["branch"], made["detail"]) == (broken["branch"], None)
        assert git(gone.root, "rev-parse", "HEAD") == git(project_root, "rev-parse", "HEAD")


async def test_what_is_made_already_is_not_made_anew_by_who_knew_it_before(
    tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    async with running_daemon(tmp_path / "data", **settings_overrides) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(project_root)
        place = await new_workplace(client, driver.project_id)
        (place.root / "work.py").write_text("an agent's\n")
        workspaces = daemon.services.management.folders.workspaces
        row = await workspaces.of_session(place.session_id)
        row.state = WorkspaceState.CREATING.value  # as a look for what is over has read it, some time ago
        workspaces.begin(row)
        await workspaces.ready(await daemon.services.sessions.get(place.session_id))
        assert (place.root / "work.py").read_text() == "an agent's\n"
        assert (await place.look())["state"] == "ready"


async def test_a_merge_whose_hooks_have_not_passed_is_taken_back(
    tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    data = tmp_path / "data"
    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(project_root)
        place = await new_workplace(client, driver.project_id)
        before = digest_of(project_root, without=(".git/",))
        (place.root / "README.md").write_text("an agent's\n"), (place.root / "new.py").write_text("new\n")
        await under_way(daemon, place, MergeWish(into="main", hooks=True))
        (project_root / "new.py").write_text("new\n")
    found = await started_again(data, place, settings_overrides, "ready")
    assert "hooks" in found["detail"] and digest_of(project_root, without=(".git/",)) == before
    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        place = Workplace(client, place.session_id, {})
        await under_way(daemon, place, MergeWish(into="main", hooks=True))
        for name in ("README.md", "new.py"):
            (project_root / name).write_text("an agent's\n" if name == "README.md" else "new\n")
        git(project_root, "add", "README.md", "new.py"), git(project_root, "commit", "-qm", "the merge")
    found = await started_again(data, place, settings_overrides, "merged")
    assert found["merged"]["commit"] == git(project_root, "rev-parse", "main")


@pytest.mark.parametrize("how", ["locked", "committed", "switched", "changed"])
async def test_a_merge_onto_the_checked_out_branch_that_cannot_be_finished_leaves_nothing(
    how: str, tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    data, lock = tmp_path / "data", project_root / ".git" / "index.lock"
    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(project_root)
        place = await new_workplace(client, driver.project_id)
        (place.root / "new.py").write_text("new\n"), (place.root / "README.md").write_text("an agent's\n")
        await under_way(daemon, place, MergeWish(into="main"))
        if how == "locked":
            lock.touch()
        elif how == "switched":
            git(project_root, "checkout", "-q", "-b", "other")
        elif how == "committed":
            git(project_root, "commit", "-q", "--allow-empty", "-m", "the user's")
        else:
            (project_root / "README.md").write_text("the user's\n")
        before, status = git(project_root, "rev-parse", "main"), git(project_root, "status", "--porcelain")
        (project_root / "new.py").write_text("new\n")  # the kill came after this
    if how == "locked":
        await started_again(data, place, settings_overrides, "merging")
        assert git(project_root, "rev-parse", "main") == before
        lock.unlink()
        await started_again(data, place, settings_overrides, "merged")
        assert git(project_root, "status", "--porcelain") == ""
        assert git(project_root, "show", "main:README.md") == "an agent's"
        return
    await started_again(data, place, settings_overrides, "ready")
    assert git(project_root, "rev-parse", "main") == before
    assert git(project_root, "status", "--porcelain") == status


@pytest.mark.parametrize("wait_for_retry", [False, True])
async def test_a_folder_that_is_there_again_is_taken_up_with_its_work(
    tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any], wait_for_retry: bool
) -> None:
    data, away = tmp_path / "data", tmp_path / "not-mounted"
    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(project_root)
        place = await new_workplace(client, driver.project_id)
        (place.root / "work.py").write_text("an agent's\n")
    (data / "workspaces").rename(away)
    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        place = Workplace(client, place.session_id, {})
        await place.until("broken")
        if wait_for_retry:
            away.rename(data / "workspaces")
            await place.post("retry", 202)
            assert (await place.look())["state"] == "ready"
    if not wait_for_retry:
        away.rename(data / "workspaces")
        await started_again(data, place, settings_overrides, "ready")
    assert (place.root / "work.py").read_text() == "an agent's\n"


async def test_a_workspace_without_the_folder_of_its_project_keeps_its_other_files(
    tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    data, top = tmp_path / "data", tmp_path / "shop"
    part = write_project(top / "part")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "first")):
        git(top, *arguments)
    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(part)
        place = await new_workplace(client, driver.project_id)
        place.root.rename(place.root.parent / "renamed")
    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        place = Workplace(client, place.session_id, {})
        assert (await place.look())["state"] == "ready"
        await place.post("discard"), await place.post("undo")
        kept = await place.post("keep")
        assert "renamed/.kaged/project.yaml" in git(top, "ls-tree", "-r", "--name-only", kept["branch"])


@pytest.mark.parametrize("end", ["keep", "archive"])
async def test_a_folder_that_was_being_removed_is_removed(
    tmp_path: Path,
    project_root: Path,
    settings_overrides: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    end: str,
) -> None:
    data, begun = tmp_path / "data", asyncio.Event()

    async def cut_off(self: Creation, root: Path, layout: Layout, workspace_id: str) -> None:
        (layout.tree / "README.md").unlink()
        begun.set()
        raise RuntimeError("killed")

    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(project_root)
        place = await new_workplace(client, driver.project_id)
        with monkeypatch.context() as patch:
            patch.setattr(Creation, "abandon", cut_off)
            url = f"/api/v1/sessions/{place.session_id}"
            (await client.post(f"{url}/{'workspace/keep' if end == 'keep' else end}")).raise_for_status()
            async with asyncio.timeout(WAIT_SECONDS):
                await begun.wait()
            await place.post("undo", 409)
    assert place.root.is_dir()
    async with running_daemon(data, **settings_overrides) as daemon, daemon.client() as client:
        place = Workplace(client, place.session_id, place.workspace)
        await place.until_removed()
        assert place.workspace["state"] == ("kept" if end == "keep" else "discarded")
    assert not place.root.exists()
    assert git(project_root, "for-each-ref", "refs/kaged") == ""
