"""Folders of workspaces that do not go, or went by themselves; and what is stopped half-way."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from app.cages.file_grants import FileGrants, Mode
from app.harness.dsl.spec_sections import WorkspaceSection
from app.harness.workspaces import copying, creation, furnishing
from app.harness.workspaces.copying import CopyBounds, CopyStopped, copy_tree, stoppable
from app.harness.workspaces.furnishing import furnish
from app.harness.workspaces.sight import Sight
from app.harness.workspaces.sizes import size_of
from app.keyed_locks import KeyedLocks
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.sessions import Driver, driven
from tests.driver.workspaces import git, new_workplace, write_repository

pytestmark = pytest.mark.requirement("workspaces.recovery")


async def test_a_discarded_workspace_whose_folder_somebody_removed_cannot_be_restored(
    driver: Driver, project_root: Path
) -> None:
    place = await new_workplace(driver.client, driver.project_id)
    await place.post("discard")
    shutil.rmtree(place.root)
    answer = await place.post("undo", 409)
    assert answer["error"]["details"]["reason"] == "workspace_removed"
    assert (await place.look())["state"] == "discarded"


async def test_a_folder_that_cannot_be_removed_is_reported_and_tried_again_later(
    tmp_path: Path,
    project_root: Path,
    settings_overrides: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[float] = []

    def fails(_: object) -> None:
        tried.append(time.monotonic())
        raise OSError(16, "Device or resource busy")

    original = creation._remove
    monkeypatch.setattr(creation, "_remove", fails)
    settings = {**settings_overrides, "workspaces": {"undo_days": 0}}
    async with driven(tmp_path / "data", project_root, **settings) as driver:
        workspaces = driver.daemon.services.management.folders.workspaces
        place = await new_workplace(driver.client, driver.project_id)
        await place.post("discard")
        await workspaces._tending.look()
        for _ in range(3):
            await workspaces._tending.look()
        found = await place.look()
        assert len(tried) == 1
        assert found["detail"] == "Its folder cannot be removed: Device or resource busy"
        assert found["removed_at"] is None
        monkeypatch.setattr(creation, "_remove", original)
        workspaces._tending._put_off.clear()
        await workspaces._tending.look()
        found = await place.look()
        assert found["removed_at"] is not None and found["detail"] is None


async def test_what_agents_add_to_a_workspace_counts(driver: Driver) -> None:
    tending = driver.daemon.services.management.folders.workspaces._tending
    place = await new_workplace(driver.client, driver.project_id)
    await asyncio.gather(*tending._making._measuring)  # a new one is measured by itself, too
    tending._measure_after = 0.0
    await tending.look()
    before = (await place.look())["size_bytes"]
    (place.root / "large.bin").write_bytes(b"x" * 3_000_000)
    await tending.look()
    assert (await place.look())["size_bytes"] == before > 0
    tending._measure_after = 0.0
    await tending.look()
    assert 3_000_000 <= (await place.look())["size_bytes"] - before < 3_200_000


async def test_of_two_measurings_at_once_the_later_one_counts(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    making = driver.daemon.services.management.folders.workspaces._tending._making
    place = await new_workplace(driver.client, driver.project_id)
    await asyncio.gather(*making._measuring)
    row = await driver.daemon.services.storage.read(lambda uow: uow.workspaces.get(place.workspace["id"]))
    assert row is not None
    walked, goes_on = threading.Event(), threading.Event()

    def first(folder: Path) -> int:
        size = size_of(folder)
        walked.set()
        goes_on.wait(WAIT_SECONDS)
        return size

    monkeypatch.setattr("app.harness.workspaces.making.size_of", first)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(making.measure(row))
        assert await asyncio.to_thread(walked.wait, WAIT_SECONDS)
        (place.root / "large.bin").write_bytes(b"x" * 3_000_000)
        monkeypatch.setattr("app.harness.workspaces.making.size_of", size_of)
        await making.measure(row)
        goes_on.set()
    assert (await place.look())["size_bytes"] > 3_000_000


async def test_a_workspace_that_could_not_be_made_is_not_made_again_when_its_folder_stays(
    tmp_path: Path,
    project_root: Path,
    settings_overrides: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(_: object) -> None:
        raise OSError(16, "Device or resource busy")

    async def cannot(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(creation, "_remove", fails)
    monkeypatch.setattr(creation, "check_out", cannot)
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        place = await new_workplace(driver.client, driver.project_id, state="broken")
        detail = place.workspace["detail"]
        assert detail.startswith("No space left on device") and "Device or resource busy" in detail
        assert place.workspace["removed_at"] is None


async def test_a_copy_ends_with_who_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir(), target.mkdir()
    for name in ("a", "b", "c"):
        (source / name).write_bytes(b"x" * 100)
    begun, content = threading.Event(), copying._Copying._content
    bounds: list[CopyBounds] = []

    def copied(self: Any, *descriptors: int) -> None:
        content(self, *descriptors)
        begun.set()
        assert bounds[0].stop.wait(WAIT_SECONDS)  # the cancellation comes within the first file

    def work(stop: threading.Event) -> int:
        bounds.append(CopyBounds(10**9, stop=stop))
        return copy_tree(source, target, bounds[0])

    async def wait_for_it() -> None:
        await stoppable(work)

    monkeypatch.setattr(copying._Copying, "_content", copied)
    task = asyncio.create_task(wait_for_it())
    assert await asyncio.to_thread(begun.wait, WAIT_SECONDS)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [one.name for one in target.iterdir()] == ["a"]
    with pytest.raises(CopyStopped):
        copy_tree(source, tmp_path, bounds[0])


def test_a_linked_folder_is_copied_without_what_is_closed(tmp_path: Path) -> None:
    project, root = tmp_path / "project", tmp_path / "root"
    (project / "modules" / "data").mkdir(parents=True), root.mkdir()
    (project / "modules" / "data" / "token").write_text("secret\n")
    (project / "modules" / "one.js").write_text("one\n")
    section = WorkspaceSection(link=["modules"])
    closed = (project / "modules" / "data",)
    assert furnish(section, project, root, CopyBounds(10**9, closed=closed)) == []
    assert sorted(one.name for one in (root / "modules").iterdir()) == ["one.js"]


def test_what_comes_along_follows_no_link_and_is_what_the_agent_may_read(tmp_path: Path) -> None:
    project, root = tmp_path / "project", tmp_path / "root"
    for name in ("secrets/key", "modules/one.js", "modules/own/two.js", "modules/own/open/three.js"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(f"{name}\n")
    (project / "linked").symlink_to("secrets"), (project / "above").symlink_to("."), root.mkdir()
    section = WorkspaceSection(copy=["secrets/*", "above/secrets/key"], link=["linked", "above/secrets"])
    said = furnish(section.model_copy(update={"copy": section.copy[1:]}), project, root, CopyBounds(10**9))
    assert list(root.iterdir()) == [] and len(said) == 3, said
    entries: list[tuple[tuple[str, ...], Mode]] = [((), "rw"), (("secrets",), "deny")]
    entries += [(("modules", "own"), "deny"), (("modules", "own", "open"), "ro")]
    sight = Sight(FileGrants(tuple(entries)), beyond=False)
    section = WorkspaceSection(copy=["secrets/*"], link=["secrets", "modules"])
    said = furnish(section, project, root, CopyBounds(10**9), sight)
    assert said == [
        "`copy: secrets/*` names no file that its agent may read.",
        "`link: secrets`: its agent may not read it.",
    ]
    found = sorted(one.relative_to(root).as_posix() for one in root.rglob("*") if one.is_file())
    assert found == ["modules/one.js", "modules/own/open/three.js"]


def test_a_file_that_becomes_a_link_while_it_is_copied_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, root = tmp_path / "project", tmp_path / "root"
    (project / "secrets").mkdir(parents=True), root.mkdir()
    (project / "secrets" / "key").write_text("secret\n"), (project / ".env").write_text("plain\n")
    found = furnishing._found

    def swapped(*arguments: Any) -> list[str]:
        names = list(found(*arguments))
        (project / ".env").unlink(), (project / ".env").symlink_to("secrets/key")
        return names

    monkeypatch.setattr(furnishing, "_found", swapped)
    said = furnish(WorkspaceSection(copy=[".env"]), project, root, CopyBounds(10**9))
    assert said == ["`copy: .env`: a symbolic link is in its path."] and list(root.iterdir()) == []


def test_an_agent_of_a_part_of_a_repository_is_given_what_it_reads_there() -> None:
    grants = FileGrants((((), "rw"), (("notes",), "deny"), (("notes", "open"), "ro")))
    names = (b"packages/shop/a", b"packages/shop/notes/a", b"packages/shop/notes/open/a", b"packages/a", b"a")
    own, beyond = (Sight(grants, beyond=one).in_repository("packages/shop/") for one in (False, True))
    assert [*map(own, names)] == [True, False, True, False, False]
    assert [*map(beyond, names)] == [True, False, True, True, True]


async def test_locks_are_held_by_one_at_a_time_and_forgotten() -> None:
    locks = KeyedLocks[str]()
    inside, most = 0, 0

    async def work(rounds: int) -> None:
        nonlocal inside, most
        for _ in range(rounds):
            async with locks.holding("key"):
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

    await asyncio.gather(*(work(number % 5 + 1) for number in range(50)))
    assert most == 1
    assert len(locks) == 0


async def test_a_project_moves_to_where_an_empty_one_had_workspaces(driver: Driver, tmp_path: Path) -> None:
    other = write_repository(tmp_path / "other")
    second = Driver(driver.daemon, driver.client)
    await second.load(other)
    place = await new_workplace(driver.client, second.project_id)
    (place.root / "new.txt").write_text("not merged\n")
    await driver.call("DELETE", f"/sessions/{place.session_id}", status=204)
    move = f"/projects/{driver.project_id}/move"
    refused = await driver.call("POST", move, {"path": str(other)}, status=409)
    details = refused["error"]["details"]
    assert (details["reason"], details["workspaces"]) == ("project_exists", [place.workspace["id"]])
    workspaces = driver.daemon.services.management.folders.workspaces
    row = await workspaces.discard(await workspaces.get(place.workspace["id"]))
    await workspaces._tending._remove(row)
    moved = await driver.call("POST", move, {"path": str(other)})
    assert moved["root"] == str(other)


async def test_what_lies_beside_the_branch_is_not_removed_by_itself(driver: Driver) -> None:
    plain, gone, stashed, branched = [await new_workplace(driver.client, driver.project_id) for _ in range(4)]
    (stashed.root / "README.md").write_text("work\n")
    git(stashed.root, "stash")
    shutil.rmtree(gone.root / ".git")
    own = branched.workspace["branch"]
    git(branched.root, "checkout", "-qb", "idea")
    (branched.root / "idea.py").write_text("work\n")
    git(branched.root, "add", "-A"), git(branched.root, "commit", "-qm", "idea")
    git(branched.root, "checkout", "-q", own)
    for place in (stashed, branched, plain, gone):
        await driver.call("POST", f"/sessions/{place.session_id}/archive")
    await driver.daemon.services.management.folders.workspaces._tending.look()
    await plain.until_removed(), await gone.until_removed()
    assert [(await one.look())["removed_at"] for one in (stashed, branched)] == [None, None]
    kept = await branched.post("keep")
    await branched.until_removed()
    assert kept["state"] == "kept"


def test_a_folder_of_which_not_all_can_be_copied_is_left_out(tmp_path: Path) -> None:
    project, root = tmp_path / "project", tmp_path / "root"
    (project / "modules" / "deep").mkdir(parents=True), root.mkdir()
    (project / "modules" / "a.js").write_bytes(b"x" * 600_000)
    (project / "modules" / "deep" / "b.js").write_bytes(b"x" * 600_000)
    said = furnish(WorkspaceSection(link=["modules"]), project, root, CopyBounds(1_000_000))
    assert said == ["`link: modules`: A copy takes more than the 1 MB that are left for workspaces."]
    assert list(root.iterdir()) == []


def test_all_that_comes_along_takes_what_is_left_for_workspaces(tmp_path: Path) -> None:
    project, root = tmp_path / "project", tmp_path / "root"
    project.mkdir(), root.mkdir()
    for name in ("one", "two"):
        (project / name).mkdir()
        (project / name / "large.bin").write_bytes(b"x" * 600_000)
        (project / f"{name}.bin").write_bytes(b"x" * 300_000)
    section = WorkspaceSection(copy=["*.bin"], link=["one", "two"])
    said = furnish(section, project, root, CopyBounds(1_300_000))
    assert len(said) == 1 and said[0].startswith("`link: two`: "), said
    assert sorted(one.name for one in root.iterdir()) == ["one", "one.bin", "two.bin"]


def test_a_file_that_cannot_be_copied_is_named_and_keeps_no_other_out(tmp_path: Path) -> None:
    project, root = tmp_path / "project", tmp_path / "root"
    project.mkdir(), (root / "a.local").mkdir(parents=True)
    for name in ("a.local", "b.local"):
        (project / name).write_text("own\n")
    said = furnish(WorkspaceSection(copy=["*.local"]), project, root, CopyBounds(10**9))
    assert len(said) == 1 and "a.local" in said[0], said
    assert (root / "b.local").read_text() == "own\n"
