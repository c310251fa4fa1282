"""What a merge writes is written whole: links, folders, and the branch that is checked out."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.errors import ToolError
from app.harness.checkpoints.stored_objects import LINK, TreeEntry
from app.harness.sessions.restoring import FileChange, FilePlan, apply_plan
from app.workspace import Workspace
from app.workspace.target import MAX_WHOLE_FILE
from tests.driver.sessions import Driver
from tests.driver.workspaces import Workplace, digest_of, git, new_workplace
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.workspaces.test_merging import text

pytestmark = pytest.mark.requirement("workspaces.merge")


@pytest.fixture
async def place(driver: Driver) -> Workplace:
    return await new_workplace(driver.client, driver.project_id)


@pytest.mark.parametrize("into", ["working_tree", "main"])
async def test_a_link_in_a_new_folder_is_written(place: Workplace, project_root: Path, into: str) -> None:
    (place.root / "new" / "deep").mkdir(parents=True)
    (place.root / "new" / "deep" / "link").symlink_to("../../README.md")
    (place.root / "plain.py").write_text("plain\n")
    await place.merge(into=into)
    assert (project_root / "new" / "deep" / "link").readlink() == Path("../../README.md")
    assert (project_root / "plain.py").read_text() == "plain\n"


def test_nothing_is_written_when_a_link_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("run\n"), (tmp_path / "old.py").write_text("old\n")
    (tmp_path / "link").symlink_to("run.sh"), (tmp_path / "gone").symlink_to("run.sh")
    before = digest_of(tmp_path)
    texts = {"run": b"run\n", "old": b"old\n", "new": b"new\n", "way": b"run.sh", "long": b"x" * 5000}

    def entry(name: str, mode: str = "100644") -> TreeEntry:
        return TreeEntry(mode, name)

    changes = (
        FileChange("run.sh", entry("run"), entry("run", "100755")),
        FileChange("old.py", entry("old"), entry("new")),
        FileChange("new/new.py", None, entry("new")),
        FileChange("new/link", None, entry("way", LINK)),
        FileChange("link", entry("way", LINK), entry("new")),
        FileChange("gone", entry("way", LINK), None),
        FileChange("zz", None, entry("long", LINK)),  # no file system has a link that is so long
    )
    workspace = Workspace(tmp_path, any_name=True)
    with pytest.raises(ToolError):
        apply_plan(workspace, FilePlan("", "", changes, ()), texts)
    assert digest_of(tmp_path) == before
    assert not (tmp_path / "new").exists()
    apply_plan(workspace, FilePlan("", "", changes[:-1], ()), texts)
    assert (tmp_path / "new" / "link").readlink() == Path("run.sh")
    assert not (tmp_path / "link").is_symlink() and not (tmp_path / "gone").is_symlink()


async def test_of_two_merges_at_once_none_is_half_done(
    driver: Driver, place: Workplace, project_root: Path
) -> None:
    places = [place, *[await new_workplace(driver.client, driver.project_id) for _ in range(2)]]
    for number, one in enumerate(places):
        (one.root / f"new{number}.py").write_text("new\n")

    async def merged(one: Workplace) -> bool:
        answer = await driver.client.post(f"{one.url}/merge", json={"into": "main"})
        reason = answer.json().get("error", {}).get("details", {}).get("reason")
        assert reason in (None, "changed_since", "index_locked"), answer.text
        return reason is None

    done = await asyncio.gather(*map(merged, places))
    assert any(done)
    assert git(project_root, "status", "--porcelain") == ""
    there = [f"new{number}.py" for number, one in enumerate(done) if one]
    assert git(project_root, "diff", "--name-only", "main~1", "main").split()[0] in there
    assert [name for name in git(project_root, "ls-files").split() if name.startswith("new")] == there


async def test_an_agent_that_is_given_conflicts_without_markers_keeps_its_version(
    driver: Driver, fake: FakeProvider, project_root: Path
) -> None:
    (project_root / "logo.bin").write_bytes(b"\0first")
    for name in ("changed", "deleted", "text"):
        (project_root / name).write_text("first\n")
    git(project_root, "add", "-A"), git(project_root, "commit", "-qm", "more")
    place = await new_workplace(driver.client, driver.project_id)
    for root, who in ((place.root, "the agent's"), (project_root, "the user's")):
        (root / "logo.bin").write_bytes(f"\0{who}".encode())
        (root / "text").write_text(f"{who}\n")
    (place.root / "changed").write_text("the agent's\n"), (project_root / "changed").unlink()
    (place.root / "deleted").unlink(), (project_root / "deleted").write_text("the user's\n")
    git(project_root, "commit", "-qam", "the user's")
    fake.script(text_reply("I resolve them."))
    given = await place.merge(conflicts="agent")
    assert given["conflicts"] == ["changed", "deleted", "logo.bin", "text"]
    assert (place.root / "logo.bin").read_bytes() == b"\0the agent's"
    assert (place.root / "changed").read_text() == "the agent's\n"
    assert not (place.root / "deleted").exists()
    assert "<<<<<<<" in (place.root / "text").read_text()
    messages = (await driver.client.get(f"/api/v1/sessions/{place.session_id}/messages")).json()["items"]
    said = next(one["content"] for one in messages if "conflict markers" in one["content"])
    with_markers, without = said.split("have no markers")
    assert "- text\n" in with_markers and "- text\n" not in without
    assert all(f"- {name}\n" in without for name in ("changed", "deleted", "logo.bin"))
    head = git(project_root, "rev-parse", "main")
    assert f"`git show {head}:PATH`" in without
    assert "the user's" in git(place.root, "show", f"{head}:logo.bin")


async def test_an_edit_of_a_file_that_the_user_renamed_is_blocked_by_their_edits(
    place: Workplace, project_root: Path
) -> None:
    (place.root / "src" / "shop.py").write_text(text(_2="the agent's"))
    git(project_root, "mv", "src/shop.py", "src/store.py"), git(project_root, "commit", "-qm", "rename")
    (project_root / "src" / "store.py").write_text(text(_15="the user's"))
    tried = await place.merge(dry_run=True)
    assert tried["blocked"] == {"src/store.py": "it has uncommitted changes"}
    refused = (await place.merge(409))["error"]["details"]
    assert refused == {"reason": "checkout_in_the_way", "paths": tried["blocked"]}
    git(project_root, "commit", "-qam", "edit")
    await place.merge()
    assert (project_root / "src" / "store.py").read_text() == text(_2="the agent's", _15="the user's")


@pytest.mark.parametrize(("first", "then"), [("working_tree", "main"), ("main", "working_tree")])
async def test_what_one_target_has_by_way_of_another_is_no_conflict(
    place: Workplace, project_root: Path, first: str, then: str
) -> None:
    (place.root / "src" / "shop.py").write_text(text(_2="three"))
    await place.merge(into=first)
    if first == "working_tree":
        git(project_root, "commit", "-qam", "the agent's")
    (place.root / "src" / "shop.py").write_text(text(_2="four"))
    assert (await place.merge(into=then))["conflicts"] == []
    assert (project_root / "src" / "shop.py").read_text() == text(_2="four")
    git(project_root, "checkout", "-q", "-f", "main")
    (project_root / "src" / "shop.py").write_text(text(_2="the user's"))
    git(project_root, "commit", "-qam", "the user's")
    (place.root / "src" / "shop.py").write_text(text(_2="five"))
    refused = await place.merge(409, into=first)
    assert refused["error"]["details"] == {"reason": "merge_conflicts", "paths": ["src/shop.py"]}


@pytest.mark.nightly
async def test_a_file_that_is_too_large_to_be_replaced_is_told_of(driver: Driver, project_root: Path) -> None:
    with (project_root / "large.bin").open("wb") as large:
        large.truncate(MAX_WHOLE_FILE + 1)
    git(project_root, "add", "-A"), git(project_root, "commit", "-qm", "more")
    place = await new_workplace(driver.client, driver.project_id)
    (place.root / "large.bin").write_bytes(b"small")
    refused = (await place.merge(409))["error"]
    assert refused["details"]["reason"] == "file_too_large"
    assert "nothing was changed" in refused["message"] and "256 MB" in refused["message"]
    assert (await place.look())["state"] == "ready"
    assert (project_root / "large.bin").stat().st_size > MAX_WHOLE_FILE
