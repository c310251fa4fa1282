"""Changes since a commit in files that git writes with other line endings than the commit has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import driven, write_project
from tests.fakes.provider_server import FakeProvider
from tests.harness.changes.desk import changes, diff, revert
from tests.harness.checkpoints.test_files import YAML, git, read, repository, work, write

pytestmark = pytest.mark.requirement("changes.list", "changes.revert")

CONTENT = b"one\r\ntwo\r\nthree\r\n"


def counted(found: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {path: (one["additions"], one["deletions"]) for path, one in found["items"].items()}


@pytest.mark.parametrize(
    ("attributes", "settings"),
    [
        ("* text=auto eol=crlf\n", {}),
        ("*.txt text\n", {"core.eol": "crlf"}),
        ("", {"core.autocrlf": "true"}),
        ("", {"user": "[core]\n\tautocrlf = true\n"}),
    ],
)
async def test_only_the_lines_that_changed_differ_and_a_revert_writes_what_git_does(
    tmp_path: Path,
    fake: FakeProvider,
    settings_overrides: dict[str, Any],
    attributes: str,
    settings: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    root = repository(write_project(tmp_path / "repo", YAML))
    for key, value in settings.items():
        if key == "user":
            (tmp_path / ".gitconfig").write_text(value)
        else:
            git(root, "config", key, value)
    (root / ".gitattributes").write_text(attributes)
    odd = os.fsdecode(b"caf\xe9.txt")
    for name in ("a.txt", "b.txt", "gone.txt", odd):
        (root / name).write_bytes(CONTENT)
    git(root, "-c", "core.autocrlf=input", "add", "."), git(root, "commit", "-q", "-m", "all")
    assert git(root, "show", "HEAD:a.txt") == "one\ntwo\nthree\n"
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await work(driver, fake, "Change", (read("a.txt"),), (write("a.txt", "one\n2\nthree\n"),))
        assert (root / "a.txt").read_bytes() == b"one\r\n2\r\nthree\r\n"
        (root / "b.txt").write_bytes(CONTENT + b"four\r\n"), (root / odd).write_bytes(CONTENT + b"4\r\n")
        (root / "gone.txt").rename(root / "new.txt")
        found = await changes(driver, "head")
        assert sorted(counted(found).values()) == [(0, 0), (1, 0), (1, 0), (1, 1)], counted(found)
        assert found["items"]["new.txt"]["old_path"] == "gone.txt"
        shown = await diff(driver, "a.txt", "since=head")
        (hunk,) = shown["hunks"]
        assert [line for line in hunk["lines"] if line[0] != " "] == [["-", "two\r"], ["+", "2\r"]]
        await revert(driver, "a.txt", since="head", hunks=[hunk["digest"]])
        await revert(driver, "b.txt", since="head")
        await revert(driver, "new.txt", since="head")
        assert {(root / name).read_bytes() for name in ("a.txt", "b.txt", "gone.txt")} == {CONTENT}
        assert len(counted(await changes(driver, "head"))) == 1
    assert (
        git(root, "-c", "core.autocrlf=true", "status", "--porcelain", "-uno", "a.txt", "b.txt", "gone.txt")
        == ""
    )


async def test_line_endings_that_git_keeps_are_changes(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    root = repository(write_project(tmp_path / "repo", YAML))
    (root / ".gitattributes").write_text("*.raw -text\n*.unix text eol=lf\n")
    for name in ("a.raw", "b.unix", "c.txt"):
        (root / name).write_bytes(b"one\ntwo\n")
    git(root, "add", "."), git(root, "commit", "-q", "-m", "all")
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await work(driver, fake, "Look", (read("c.txt"),))
        for name in ("a.raw", "b.unix", "c.txt"):
            (root / name).write_bytes(b"one\r\ntwo\r\n")
        assert counted(await changes(driver, "head")) == dict.fromkeys(("a.raw", "b.unix", "c.txt"), (2, 2))
