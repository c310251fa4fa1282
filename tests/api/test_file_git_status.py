"""What git says of a project's files over HTTP, in repositories of all kinds, hostile ones too."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import pytest

from tests.driver.file_reader import FileReader, git

pytestmark = pytest.mark.requirement("http.files.git")


async def test_git_status_is_told_of_files_and_summed_up_for_folders(shop: Path, files: FileReader) -> None:
    git(shop, "init", "-q", "-b", "main")
    assert (await files.page())["git"] | {"state": "ok", "commit": None} == (await files.page())["git"]
    for name in ("src/kept.py", "src/changed.py", "src/gone.py", "src/old_name.py", "old/only.py"):
        (shop / name).parent.mkdir(exist_ok=True)
        (shop / name).write_text(f"{name}\n" * 20)
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "first")
    assert await files.words(depth=9) == {}

    (shop / "src" / "changed.py").write_text("other\n")
    (shop / "src" / "gone.py").unlink()
    git(shop, "mv", "src/old_name.py", "src/new_name.py")
    (shop / "src" / "added.py").write_text("added\n")
    git(shop, "add", "src/added.py")
    (shop / "src" / "fresh.py").write_text("fresh\n")
    (shop / "made").mkdir()
    (shop / "made" / "inner.py").write_text("fresh\n")
    (shop / "old" / "only.py").unlink()
    (shop / "old").rmdir()

    found = await files.entries(depth=9)
    assert {name: one["git"] for name, one in found.items() if one["git"] is not None} == {
        "src/changed.py": "modified",
        "src/gone.py": "deleted",
        "src/new_name.py": "renamed",
        "src/added.py": "added",
        "src/fresh.py": "untracked",
        "made": "untracked",
        "made/inner.py": "untracked",
        "old/only.py": "deleted",
    }
    assert found["src/new_name.py"]["old_path"] == "src/old_name.py"
    assert (found["src/gone.py"]["size"], found["src/gone.py"]["readable"]) == (None, False)
    assert found["src"]["changes"] == {
        "modified": 1, "deleted": 1, "renamed": 1, "added": 1, "untracked": 1,
    }  # fmt: skip
    assert [one["path"] for one in (await files.page("src", limit=2))["items"]] == [
        "src/added.py",
        "src/changed.py",
    ]
    # What changes in the repository alone is noticed, too.
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "second")
    assert await files.words(depth=9) == {}
    state = (await files.page())["git"]
    assert (state["branch"], state["commit"]) == ("main", git(shop, "rev-parse", "HEAD").strip())


async def test_a_project_within_a_repository_is_told_of_its_own_part(
    client: httpx2.AsyncClient, tmp_path: Path, shop: Path, project_id: str
) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "elsewhere.txt").write_text("not of this project\n")
    (tmp_path / ".gitignore").write_text("/shop/build/\n/data/\n")
    git(tmp_path, "add", "shop", ".gitignore")
    git(tmp_path, "commit", "-qm", "first")
    (shop / "README.md").write_text("changed\n")
    (shop / "build").mkdir()
    (shop / "build" / "out.bin").write_bytes(b"\0")

    assert await FileReader(client, project_id).words(depth=3) == {"README.md": "modified"}
    assert "build" not in await FileReader(client, project_id).entries()


async def test_a_hostile_configuration_runs_nothing_and_shows_nothing_else(
    shop: Path, files: FileReader, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    run = f"touch {ran}; cat"
    git(shop, "init", "-q")
    (shop / ".gitattributes").write_text("*.md filter=evil\n*.py filter=a=b diff=evil\n")
    (shop / "one.py").write_text("one\n")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "first")
    outside = tmp_path / "private"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret\n")
    hook = shop / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    with (shop / ".git" / "config").open("a") as config:
        config.write(
            f'[core]\n fsmonitor = "{run}"\n pager = "{run}"\n sshCommand = "{run}"\n worktree = {outside}\n'
            f' [filter "evil"]\n clean = "{run}"\n smudge = "{run}"\n process = "{run}"\n required = true\n'
            f' [filter "a=b"]\n clean = "{run} >&2; echo one"\n required = true\n'
            f' [diff "evil"]\n command = "{run}"\n textconv = "{run}"\n'
            "[status]\n submoduleSummary = true\n"
        )
    (shop / "README.md").write_text("changed, with a filter\n")
    (shop / "one.py").write_text("two\n")

    assert await files.words() == {"README.md": "modified", "one.py": "modified"}
    assert (await files.content("README.md")).text == "changed, with a filter\n"
    assert not ran.exists()
    git(shop, "config", "--unset", "core.worktree")
    git(shop, "status", fails=True)
    assert ran.exists(), "the configuration runs programs, by git itself"


async def test_submodules_and_sparse_checkouts_are_told_as_they_are(
    shop: Path, files: FileReader, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    (library / "lib.py").write_text("lib\n")
    git(library, "add", ".")
    git(library, "commit", "-qm", "first")
    git(shop, "init", "-q")
    for name in ("here/a.py", "away/b.py"):
        (shop / name).parent.mkdir()
        (shop / name).write_text("x\n")
    git(shop, "submodule", "--quiet", "add", str(library), "library")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "first")
    git(shop, "sparse-checkout", "set", "here", "prompts", ".kaged")

    assert "away" not in await files.entries()
    assert await files.words(depth=3) == {}
    (shop / "library" / "lib.py").write_text("changed\n")
    git(shop / "library", "commit", "-qam", "second")
    assert await files.words(depth=3) == {"library": "modified"}
    assert (await files.text("library/lib.py"))["lines"] == ["changed"]


async def test_requests_at_the_same_time_share_one_answer_of_git(shop: Path, files: FileReader) -> None:
    git(shop, "init", "-q")
    (shop / "one.py").write_text("x\n")
    found = await asyncio.gather(*(files.words() for _ in range(8)))
    assert all(one["one.py"] == "untracked" for one in found)
