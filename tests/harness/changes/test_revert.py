"""Taking back changes of files and hunks, and undoing that."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.errors import ToolError
from app.harness.checkpoints.stored_objects import TreeEntry
from app.harness.sessions.restoring import FileChange, FilePlan, apply_plan
from app.ids import new_id
from app.workspace import Workspace
from tests.driver.sessions import Driver, driven, restarted, write_project
from tests.fakes.provider_server import FakeProvider
from tests.harness.changes.desk import changes, diff, files, reason, revert, undo
from tests.harness.checkpoints.test_files import (
    YAML,
    create,
    fingerprint,
    git,
    read,
    repository,
    shell,
    work,
    write,
)

pytestmark = pytest.mark.requirement("changes.revert")

LINES = "".join(f"line {number}\n" for number in range(1, 31))
CHANGED = (
    LINES.replace("line 2\n", "line two\n").replace("line 15\n", "").replace("line 30\n", "line 30\nend")
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = repository(write_project(tmp_path / "repo", YAML))
    (root / "lines.txt").write_text(LINES)
    (root / "wide.txt").write_bytes("eins\r\nzwei\r\n".encode("utf-16"))
    os.symlink("a.txt", root / "link")
    return root


@pytest.fixture
async def at(
    root: Path, tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> AsyncIterator[Driver]:
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        yield driver


async def test_every_kind_of_change_is_taken_back_and_brought_again_after_a_restart(
    fake: FakeProvider, root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        made, after = await _all_taken_back(driver, fake, root)
        await undo(driver, made[0])
        assert reason(await undo(driver, made[0], status=409)) == "already_undone"
    async with restarted(tmp_path / "data", **settings_overrides) as again:
        again.session_id = driver.session_id
        for one in made[1:]:
            await undo(again, one)
        assert files(root) == after
        assert os.readlink(root / "link") == "loose.txt"


async def _all_taken_back(at: Driver, fake: FakeProvider, root: Path) -> tuple[list[dict[str, Any]], Any]:
    before, git_before = files(root), fingerprint(root)
    links = os.readlink(root / "link")
    await work(
        at, fake, "Change",
        (read("a.txt"),),
        (write("a.txt", "a, second\n"), create("new/deep/b.txt", "b\n")),
        (shell(
            "rm staged.txt; chmod -x tool.sh; mv lines.txt there.txt; rm link; ln -s loose.txt link;"
            " printf '\\0\\1' > loose.txt"
        ),),
    )  # fmt: skip
    after = files(root)
    found = (await changes(at))["items"]
    assert {one["status"] for one in found.values()} == {"modified", "added", "deleted", "mode", "renamed"}
    made = [await revert(at, path, digest=(await diff(at, path))["digest"]) for path in found]
    assert (files(root), os.readlink(root / "link")) == (before, links)
    assert not (root / "new").exists()
    assert (await changes(at))["items"] == {}
    assert fingerprint(root) == git_before
    assert sorted(next(one["files"] for one in made if one["path"] == "there.txt")) == [
        "lines.txt",
        "there.txt",
    ]
    audit = (await at.call("GET", f"/audit?session_id={at.session_id}&event=changes.reverted"))["items"]
    assert {one["data"]["revert_id"] for one in audit} == {one["id"] for one in made}

    return made, after


async def test_hunks_are_taken_back_one_by_one_or_together(
    at: Driver, fake: FakeProvider, root: Path
) -> None:
    await work(at, fake, "Change", (read("lines.txt"),), (write("lines.txt", CHANGED),))
    shown = await diff(at, "lines.txt")
    assert [one["header"] for one in shown["hunks"]] == ["@@ -1,5 +1,5 @@", "@@ -12,7 +12,6 @@ line 11",
                                                         "@@ -28,3 +27,4 @@ line 27"]  # fmt: skip
    digests = [one["digest"] for one in shown["hunks"]]
    key = {"idempotency-key": new_id("req")}
    body = {"path": "lines.txt", "hunks": [digests[2]]}
    path = f"/api/v1/sessions/{at.session_id}/reverts"
    answers = [await at.client.post(path, json=body, headers=key) for _ in range(2)]
    assert [one.status_code for one in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["lines"] == [shown["hunks"][2]["lines"]]
    assert (root / "lines.txt").read_text() == CHANGED.removesuffix("end")
    item = (await changes(at))["items"]["lines.txt"]
    assert (item["others"], item["additions"], item["deletions"]) == (False, 1, 2)
    # The file is another one now: the digests of its earlier difference are refused.
    refused = await revert(at, "lines.txt", hunks=[digests[0]], status=409)
    assert reason(refused) == "changed_since"

    fresh = [one["digest"] for one in (await diff(at, "lines.txt", "context=0"))["hunks"]]
    await revert(at, "lines.txt", hunks=fresh)
    assert (root / "lines.txt").read_text() == LINES
    await undo(at, answers[0].json(), status=409)
    await revert(at, "lines.txt", status=404)
    await revert(at, "lines.txt", digest=shown["digest"], status=409)


async def test_a_revert_is_seen_with_its_record_or_not_at_all(
    at: Driver, fake: FakeProvider, root: Path
) -> None:
    """No list says that others changed the file, also one that is made while a revert is under way."""
    await work(at, fake, "Change", (read("lines.txt"),), (write("lines.txt", CHANGED),))
    first = (await diff(at, "lines.txt"))["hunks"][0]["digest"]
    ended = asyncio.Event()

    async def look() -> list[bool]:
        seen = []
        while not ended.is_set():
            seen.append((await changes(at))["items"]["lines.txt"]["others"])
        return seen

    async with asyncio.TaskGroup() as group:
        looking = group.create_task(look())
        for _ in range(5):
            await undo(at, await revert(at, "lines.txt", hunks=[first]))
        ended.set()
    assert set(looking.result()) == {False}


async def test_hunks_keep_encoding_line_ends_and_mode(at: Driver, fake: FakeProvider, root: Path) -> None:
    await work(at, fake, "Change", (shell("true"),))
    text = "eins\r\nzwei\r\n" + "".join(f"{number}\r\n" for number in range(20)) + "drei\r\n"
    (root / "wide.txt").write_bytes(text.replace("eins", "EINS").encode("utf-16"))
    (root / "wide.txt").chmod(0o755)
    hunks = (await diff(at, "wide.txt", "context=0"))["hunks"]
    assert len(hunks) == 2
    await revert(at, "wide.txt", hunks=[hunks[0]["digest"]])
    assert (root / "wide.txt").read_bytes() == text.encode("utf-16")
    assert (root / "wide.txt").stat().st_mode & 0o111 == 0o111


async def test_what_somebody_changed_meanwhile_stays(at: Driver, fake: FakeProvider, root: Path) -> None:
    await work(at, fake, "Change", (read("a.txt"),), (write("a.txt", "a, second\n"), create("b.txt", "b\n")))
    seen = {path: (await diff(at, path))["digest"] for path in ("a.txt", "b.txt")}
    (root / "a.txt").write_text("a, mine\n")
    assert reason(await revert(at, "a.txt", digest=seen["a.txt"], status=409)) == "changed_since"
    assert (root / "a.txt").read_text() == "a, mine\n"
    made = await revert(at, "b.txt", digest=seen["b.txt"])
    (root / "b.txt").write_text("b, mine\n")
    refused = await undo(at, made, status=409)
    assert (reason(refused), refused["error"]["details"]["path"]) == ("changed_since", "b.txt")
    assert refused["error"]["message"] == "b.txt has changed since the revert; nothing was undone."
    assert (root / "b.txt").read_text() == "b, mine\n"
    (root / "b.txt").unlink()
    await undo(at, made)
    assert (root / "b.txt").read_text() == "b\n"


def test_a_file_that_is_to_go_stays_when_somebody_wrote_it_after_the_look(tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_bytes(b"written meanwhile")
    seen = TreeEntry("100644", "seen")
    plan = FilePlan("", "", (FileChange("new.txt", seen, None),), ())
    with pytest.raises(ToolError) as refused:
        apply_plan(Workspace(tmp_path), plan, {"seen": b"seen"})
    assert refused.value.code == "file_changed_since_read"
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("new.txt", b"written meanwhile")]


async def test_protected_and_unkept_files_are_refused_and_names_of_any_bytes_reverted(
    at: Driver, fake: FakeProvider, root: Path, tmp_path: Path
) -> None:
    strange = os.fsdecode(b"caf\xe9")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("x\n")
    (root / "dir").mkdir()
    (root / "dir" / "x").write_text("y\n")
    await work(
        at, fake, "Change",
        (shell("mkdir .vscode; echo 1 > .vscode/x; printf x > \"$(printf 'caf\\351')\""),),
        (create("small.txt", "s\n"),),
    )  # fmt: skip
    with (root / "small.txt").open("ab") as file:
        file.truncate(11 * 1024 * 1024)
    (root / "dir" / "x").write_text("z\n")
    refused = {path: reason(await revert(at, path, status=409)) for path in (".vscode/x", "small.txt")}
    assert refused == {".vscode/x": "protected_name", "small.txt": "not_kept"}
    made = await revert(at, "~bytes:Y2Fm6Q")
    assert made["files"] == ["~bytes:Y2Fm6Q"] and not (root / strange).exists()
    await undo(at, made)
    assert (root / strange).read_text() == "x"
    for path in ("../outside/x", ".git/HEAD", "/etc/passwd", "README.md"):
        await revert(at, path, status=404)
    (root / "dir" / "x").unlink()
    (root / "dir").rmdir()
    os.symlink(tmp_path / "outside", root / "dir")
    # The folder leads elsewhere now: nothing is written through it.
    assert (await revert(at, "dir/x", status=409))["error"]["code"] == "conflict"
    assert (tmp_path / "outside" / "x").read_text() == "x\n"


async def test_content_that_is_gone_and_digests_that_are_none_are_refused(
    at: Driver, fake: FakeProvider, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await work(at, fake, "Change", (read("a.txt"),), (write("a.txt", "a, second\n"),))
    assert reason(await revert(at, "a.txt", hunks=["\u00b2.0"], status=409)) == "changed_since"
    oid = git(root, "rev-parse", "HEAD:a.txt").strip()
    (root / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    assert reason(await revert(at, "a.txt", since="head", status=409)) == "not_kept"
    # From now on nothing is noted: what files were is not known.
    monkeypatch.setattr("app.harness.checkpoints.git_objects.MAX_UNTRACKED", 1)
    monkeypatch.setattr("app.harness.changes.present.MAX_AGAIN", -1)
    assert reason(await revert(at, "a.txt", status=409)) == "not_kept"
    assert (root / "a.txt").read_text() == "a, second\n"


async def test_a_file_that_moved_into_a_folder_of_its_name_is_two_changes(
    at: Driver, fake: FakeProvider, root: Path
) -> None:
    await work(at, fake, "Move", (shell("mv lines.txt x && mkdir lines.txt && mv x lines.txt/main"),))
    found = (await changes(at))["items"]
    assert {path: one["status"] for path, one in found.items()} == {
        "lines.txt": "deleted", "lines.txt/main": "added",
    }  # fmt: skip
    after = files(root)
    made = [await revert(at, path) for path in ("lines.txt/main", "lines.txt")]
    assert (root / "lines.txt").read_text() == LINES
    for one in reversed(made):
        await undo(at, one)
    assert files(root) == after


async def test_an_agent_that_has_read_the_file_learns_of_it(
    at: Driver, fake: FakeProvider, root: Path
) -> None:
    await work(at, fake, "Change", (read("a.txt"),), (write("a.txt", "a, second\n"),))
    await revert(at, "a.txt")
    call = {"params": {"path": "a.txt", "old_string": "second", "new_string": "third"}}
    answer = await at.session_call("POST", "/tools/edit.text", call)
    assert answer["code"] == "file_changed_since_read", answer
    assert (root / "a.txt").read_text() == "a, first\n"


@pytest.mark.parametrize("undo_too", [False, True])
async def test_what_a_kill_left_half_done_is_ended_at_the_next_start(
    fake: FakeProvider, root: Path, tmp_path: Path, settings_overrides: dict[str, Any], undo_too: bool
) -> None:
    before = files(root)
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await work(driver, fake, "Change", (shell("sed s/15/16/ lines.txt > there.txt; rm lines.txt"),))
        after = files(root)
        made = await revert(driver, "there.txt")
        assert files(root) == before

        def as_if_killed(uow: Any) -> None:
            applied = {} if undo_too else {"applied_at": None}
            uow.reverts.update(made["id"], under_way=True, **applied)

        await driver.daemon.services.storage.write(as_if_killed)
    (root / "there.txt").write_bytes(after["there.txt"][1])  # both names are there
    (root / ".kaged-0123456789abcdef.old").write_text("put aside\n")
    async with restarted(tmp_path / "data", **settings_overrides) as again:
        again.session_id = driver.session_id
        assert files(root) == (after if undo_too else before)
        assert set((await changes(again))["items"]) == ({"there.txt"} if undo_too else set())
        if not undo_too:
            await undo(again, made)
            assert files(root) == after
