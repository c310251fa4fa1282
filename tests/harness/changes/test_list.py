"""The files that a session changed, in real git repositories and without git."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.caged_machine import until
from tests.driver.sessions import Driver, driven, write_project
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.changes.desk import changes, diff, reason, revert
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
from tests.harness.checkpoints.test_rollback import paused

pytestmark = pytest.mark.requirement("changes.list")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(write_project(tmp_path / "repo", YAML))


@pytest.fixture
async def at(
    root: Path, tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> AsyncIterator[Driver]:
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        yield driver


def counts(item: dict[str, Any]) -> tuple[str, int | None, int | None]:
    return item["status"], item["additions"], item["deletions"]


async def test_edits_commands_and_people_are_told_apart_and_counted(
    at: Driver, fake: FakeProvider, root: Path
) -> None:
    before = fingerprint(root)
    assert (await changes(at))["items"] == {}
    (root / "a.txt").write_text("a, before the session\n")
    await work(
        at, fake, "Change",
        (read("a.txt"),),
        (write("a.txt", "a, second\nb\n"), create("new/b.txt", "b\nc\n")),
        (shell("echo by a command > loose.txt; chmod -x tool.sh; rm staged.txt; echo n > named"),),
    )  # fmt: skip
    found = await changes(at)
    assert {path: counts(one) for path, one in found["items"].items()} == {
        "a.txt": ("modified", 2, 1),
        "loose.txt": ("modified", 1, 1),
        "named": ("added", 1, 0),
        "new/b.txt": ("added", 2, 0),
        "staged.txt": ("deleted", 0, 1),
        "tool.sh": ("mode", 0, 0),
    }
    assert (found["additions"], found["deletions"], found["incomplete"]) == (6, 3, None)
    assert {path for path, one in found["items"].items() if one["others"]} == {
        "loose.txt", "named", "staged.txt", "tool.sh",
    }  # fmt: skip
    by = found["items"]["a.txt"]["by"]
    assert [(one["agent_path"], one["call_id"]) for one in by] == [("primary", "w-a.txt")]
    message = await at.session_call("GET", f"/messages/{by[0]['message_id']}")
    assert (message["run_id"], message["role"]) == (by[0]["run_id"], "tool")
    assert (found["items"]["tool.sh"]["old_mode"], found["items"]["tool.sh"]["new_mode"]) == (
        "100755",
        "100644",
    )

    (root / "a.txt").write_text("a, mine\n")
    assert (await changes(at))["items"]["a.txt"]["others"]
    shown = await diff(at, "a.txt")
    assert shown["hunks"][0]["lines"] == [["-", "a, before the session"], ["+", "a, mine"]]
    (root / "a.txt").write_text("a, before the session\n")
    assert "a.txt" not in (await changes(at))["items"]
    assert fingerprint(root) == before


async def test_each_baseline_has_its_own_changes(at: Driver, fake: FakeProvider, root: Path) -> None:
    git(root, "checkout", "-q", "-b", "feature")
    (root / "own.txt").write_text("own\n")
    git(root, "add", "own.txt")
    git(root, "commit", "-q", "-m", "second")
    await work(at, fake, "Change", (create("one.txt", "1\n"),))
    checkpoint = await paused(at, fake, "Again", "Half")
    await at.session_call("POST", "/cancel")
    await work(at, fake, "More", (create("two.txt", "2\n"),))
    assert set((await changes(at))["items"]) == {"one.txt", "two.txt"}
    since = f"checkpoint:{checkpoint['id']}"
    assert set((await changes(at, since))["items"]) == {"two.txt"}
    # `repository` leaves these two uncommitted; the second is committed, and no change since HEAD.
    head = {".kaged/project.yaml", "loose.txt"} & set((await changes(at, "head"))["items"])
    assert head == {"loose.txt"}
    at_head = set((await changes(at, "head"))["items"])
    assert at_head == {"loose.txt", "one.txt", "two.txt"}
    assert set((await changes(at, "base"))["items"]) == at_head | {"own.txt", "staged.txt"}
    for wrong, status in (("checkpoint:ckp_01JZ0000000000000000000000", 404), ("yesterday", 400)):
        await at.session_call("GET", f"/changes?since={wrong}", status=status)


async def test_renames_links_binaries_and_encodings_are_known(
    at: Driver, fake: FakeProvider, root: Path
) -> None:
    lines = "".join(f"line {number}\n" for number in range(20))
    (root / "moved.txt").write_text(lines)
    (root / "similar.txt").write_text(lines.replace("line", "other"))
    (root / "wide.txt").write_bytes("eins\r\nzwei\r\n".encode("utf-16"))
    (root / "old.txt").write_bytes("grün\r\nblau\r\n".encode("latin-1"))
    (root / "picture").write_bytes(b"\0\1\2")
    os.symlink("a.txt", root / "link")
    await work(
        at, fake, "Change",
        (shell("mv moved.txt there.txt; mkdir x; sed s/19/20/ similar.txt > x/alike.txt; rm similar.txt"),),
    )  # fmt: skip
    (root / "wide.txt").write_bytes("eins\r\ndrei\r\n".encode("utf-16"))
    (root / "old.txt").write_bytes("grün\r\nweiß\r\n".encode("latin-1"))
    (root / "picture").write_bytes(b"\0\1\3")
    (root / "link").unlink()
    os.symlink("loose.txt", root / "link")
    found = (await changes(at))["items"]
    assert {path: (one["status"], one["old_path"]) for path, one in found.items()} == {
        "link": ("modified", None),
        "old.txt": ("modified", None),
        "picture": ("modified", None),
        "there.txt": ("renamed", "moved.txt"),
        "wide.txt": ("modified", None),
        "x/alike.txt": ("renamed", "similar.txt"),
    }
    assert counts(found["x/alike.txt"]) == ("renamed", 1, 1)
    assert (found["picture"]["binary"], found["picture"]["additions"]) == (True, None)
    wide, old = await diff(at, "wide.txt", "context=0&content=true"), await diff(at, "old.txt")
    assert (wide["new_encoding"], wide["new_text"]) == ("utf-16-le", "eins\r\ndrei\r\n")
    assert wide["hunks"][0]["lines"] == [["-", "zwei\r"], ["+", "drei\r"]]
    assert old["hunks"][0]["lines"][0] == [" ", "grün\r"]
    assert (await diff(at, "picture"))["hunks"] is None
    assert [one["lines"] for one in (await diff(at, "link"))["hunks"]] == [
        [["-", "a.txt"], ["\\", " No newline at end of file"],
         ["+", "loose.txt"], ["\\", " No newline at end of file"]]
    ]  # fmt: skip


async def test_names_that_are_no_text_have_an_address(at: Driver, fake: FakeProvider, root: Path) -> None:
    name = b"caf\xe9 \xff"
    for one in (name, b"two\nlines", b"~bytes:x", "ü #?%.txt".encode()):
        (root / os.fsdecode(one)).write_bytes(b"first\n")
    await work(at, fake, "Change", (shell('for f in *; do [ -f "$f" ] && echo second >> "$f"; done'),))
    found = (await changes(at))["items"]
    assert len(found) >= 4
    assert "ü #?%.txt" in found
    assert "~bytes:Y2Fm6SD_" in found
    for path in found:
        assert (await diff(at, path))["path"] == path
    await diff(at, "~bytes:%", status=400)
    await diff(at, "README.md/none", status=404)


async def test_ignored_nested_and_large_files(at: Driver, fake: FakeProvider, root: Path) -> None:
    (root / "large.bin").write_bytes(b"x" * (11 * 1024 * 1024))
    (root / "large.old").write_bytes(b"x" * (11 * 1024 * 1024))
    git(root, "add", "large.old")
    git(root, "commit", "-q", "-m", "large")
    git(root, "init", "-q", "nested")
    (root / "ignored").mkdir()
    (root / "ignored" / "kept.txt").write_text("kept\n")
    git(root, "add", "ignored/kept.txt")
    (root / ".gitignore").write_text("*.log\nignored/\n")
    await work(
        at, fake, "Change",
        (shell("echo x >> own.log; echo x > nested/x; echo x >> ignored/kept.txt; echo x > ignored/other"),),
        (create("grown.txt", "small\n"),),
    )  # fmt: skip
    assert set((await changes(at))["items"]) == {"grown.txt", "ignored/kept.txt"}
    assert "large.old" not in (await changes(at, "head"))["items"]
    with (root / "grown.txt").open("ab") as file:
        file.truncate(100 * 1024 * 1024)
    (root / "ignored" / "kept.txt").write_text("kept, once more\n")  # in a folder that is not watched
    found = (await changes(at))["items"]
    assert found["grown.txt"]["note"] == "larger than 10 MB"
    assert found["grown.txt"]["additions"] is None
    assert found["ignored/kept.txt"]["additions"] == 1
    shown = await diff(at, "grown.txt")
    assert (shown["hunks"], shown["note"]) == (None, "larger than 10 MB")


async def test_a_repository_with_filters_sparse_files_and_programs_gains_nothing(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    root = repository(write_project(tmp_path / "repo", YAML))
    evil = tmp_path / "evil"
    run = f"touch {evil} #"
    (root / ".gitattributes").write_text("*.crlf text eol=crlf\n*.evil filter=evil diff=evil\n* diff=evil\n")
    (root / "a.crlf").write_bytes(b"one\r\ntwo\r\n")
    (root / "x.evil").write_text("x\n")
    (root / "far").mkdir()
    (root / "far" / "away.txt").write_text("away\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "all")
    git(root, "sparse-checkout", "set", "--no-cone", "/*", "!/far/")
    assert not (root / "far").exists()
    for key in ("diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "core.pager",
                "filter.evil.smudge", "core.fsmonitor", "core.sshCommand", "core.editor"):  # fmt: skip
        git(root, "config", key, run)
    hooks = root / ".git" / "hooks"
    for hook in ("post-index-change", "reference-transaction", "pre-commit"):
        (hooks / hook).write_text(f"#!/bin/sh\n{run}\n")
        (hooks / hook).chmod(0o755)
    before = fingerprint(root)
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await work(driver, fake, "Change", (read("x.evil"),), (write("x.evil", "y\n"),))
        for since in ("start", "head", "base"):
            assert set((await changes(driver, since))["items"]) == {"x.evil"}, since
        assert (await diff(driver, "x.evil"))["hunks"][0]["lines"] == [["-", "x"], ["+", "y"]]
        os.utime(root / "a.crlf")
        (root / "a.crlf").write_bytes(b"one\r\nthree\r\n")
        assert set((await changes(driver, "head"))["items"]) == {"a.crlf", "x.evil"}
    assert not evil.exists()
    assert fingerprint(root) == before


@pytest.mark.parametrize("kind", ["none", "no commit", "below"])
async def test_without_git_without_a_commit_and_below_a_repository(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any], kind: str
) -> None:
    above = tmp_path / "above"
    root = write_project(above / "project", YAML)
    (root / ".gitignore").write_text("*.log\n/out\n")
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "er" / "a.txt").write_text("a\n")
    (above / "outside.txt").write_text("outside\n")
    if kind != "none":
        git(above if kind == "below" else root, "init", "-q", "-b", "main")
    if kind == "below":
        git(above, "add", ".")
        git(above, "commit", "-q", "-m", "first")
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await work(
            driver, fake, "Change",
            (read("deep/er/a.txt"),), (write("deep/er/a.txt", "b\n"), create("deep/new.txt", "n\n")),
            (shell("mkdir out; echo x > out/x; echo x > x.log; rm README.md; echo x > ../outside.txt"),),
        )  # fmt: skip
        found = await changes(driver)
        assert {path: counts(one) for path, one in found["items"].items()} == {
            "README.md": ("deleted", 0, 3),
            "deep/er/a.txt": ("modified", 1, 1),
            "deep/new.txt": ("added", 1, 0),
        }
        if kind == "none":
            refused = await driver.session_call("GET", "/changes?since=head", status=409)
            assert refused["error"]["details"]["reason"] == "no_repository"
            assert not (root / ".git").exists()
            return
        at_head = await changes(driver, "head")
        if kind == "below":
            assert {path: counts(one) for path, one in at_head["items"].items()} == {
                path: counts(one) for path, one in found["items"].items()
            }
        else:
            assert {one["status"] for one in at_head["items"].values()} == {"added"}
            assert "deep/er/a.txt" in at_head["items"]


async def test_what_was_not_noted_is_listed_by_the_records_alone(
    at: Driver, fake: FakeProvider, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await work(at, fake, "Change", (read("a.txt"),), (write("a.txt", "b\n"), create("c.txt", "c\n")))
    monkeypatch.setattr("app.harness.checkpoints.git_objects.MAX_UNTRACKED", 1)
    # Everything is looked at once more: somebody may have looked since the run.
    monkeypatch.setattr("app.harness.changes.present.MAX_AGAIN", -1)
    found = await changes(at)
    assert ".gitignore" in found["incomplete"]
    assert {path: (one["status"], one["additions"]) for path, one in found["items"].items()} == {
        "a.txt": ("modified", None), "c.txt": ("modified", None),
    }  # fmt: skip
    assert [one["call_id"] for one in found["items"]["a.txt"]["by"]] == ["w-a.txt"]


async def test_what_nobody_has_looked_at_for_a_while_is_not_remembered(
    at: Driver, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.harness.changes.present.IDLE_SECONDS", 0.05)
    await work(at, fake, "Begin", (create("one.txt", "1\n"),))
    kept = at.daemon.services.management.folders.changes.list._roots
    for _ in range(2):
        assert "one.txt" in (await changes(at))["items"]
        await until(lambda: not kept)


async def test_a_read_only_token_gets_no_difference_of_a_file_with_credentials(
    at: Driver, root: Path, fake: FakeProvider
) -> None:
    for name in ("id_rsa", "plain.txt"):
        (root / name).write_text("TOKEN=1\n")
    fake.script(text_reply("Done."))
    await at.run("Go")
    assert (await changes(at))["items"] == {}  # it waits until the files are noted
    for name in ("id_rsa", "plain.txt"):
        (root / name).write_text("TOKEN=2\n")
    made = await at.call("POST", "/tokens", {"name": "r", "scope": "read-only"}, status=201)
    async with at.daemon.client(made["token"]) as reader:
        path = f"/api/v1/sessions/{at.session_id}/changes"
        refused = await reader.get(f"{path}/id_rsa?since=start")
        assert (refused.status_code, reason(refused.json())) == (403, "secret_file")
        assert (await reader.get(f"{path}/plain.txt")).status_code == 200
    hunks = (await diff(at, "id_rsa"))["hunks"]
    await revert(at, "id_rsa", hunks=[hunks[0]["digest"]])
    async with at.daemon.client(made["token"]) as reader:
        found = (await reader.get(f"/api/v1/sessions/{at.session_id}/reverts")).json()["items"]
        assert [(one["hunks"], one["lines"]) for one in found] == [(1, None)]
    found = (await at.session_call("GET", "/reverts"))["items"]
    assert [one["lines"] for one in found] == [[[["-", "TOKEN=1"], ["+", "TOKEN=2"]]]]
