"""Workspaces of repositories of the unpleasant kind, and of folders without any."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from app.workspace.any_names import address_of
from tests.driver.daemon import Daemon
from tests.driver.sessions import Driver, write_project
from tests.driver.workspaces import Workplace, digest_of, git, new_workplace, write_repository


@pytest.fixture
async def loaded(daemon: Daemon):
    """Return what loads a project and makes a workspace of it."""
    async with daemon.client() as client:
        driver = Driver(daemon, client)

        async def load(root: Path, *, base: str = "head", state: str = "ready") -> Workplace:
            await driver.load(root)
            return await new_workplace(client, driver.project_id, base=base, state=state)

        yield load


async def test_a_folder_without_a_repository_is_copied_and_merged(loaded, tmp_path: Path) -> None:
    root = write_project(tmp_path / "plain")
    (root / "link").symlink_to("README.md")
    os.mkfifo(root / "pipe")
    place = await loaded(root)
    assert (place.workspace["kind"], place.workspace["branch"]) == ("copy", None)
    assert not (place.root / ".git").exists() and not (place.root / "pipe").exists()
    assert os.readlink(place.root / "link") == "README.md"
    (place.root / "README.md").write_text("changed\n"), (place.root / "new.txt").write_text("new\n")
    assert (root / "README.md").read_text().startswith("# Shop")
    (root / "own.txt").write_text("the user's\n")
    done = await place.merge()
    assert [one["path"] for one in done["files"]] == ["README.md", "new.txt"]
    assert (root / "README.md").read_text() == "changed\n" and (root / "new.txt").exists()
    (place.root / "README.md").write_text("again\n"), (root / "README.md").write_text("the user's\n")
    refused = await place.merge(409)
    assert refused["error"]["details"]["reason"] == "checkout_in_the_way"
    await place.post("keep", 409)
    await place.post("discard")


async def test_a_repository_without_a_commit_begins_with_its_files(loaded, tmp_path: Path) -> None:
    root = write_project(tmp_path / "young")
    git(root, "init", "-q")
    git(root, "add", "README.md")
    before = digest_of(root)
    place = await loaded(root)
    assert place.workspace["base"] == "working"
    assert "no commit yet" in place.workspace["detail"]
    assert git(place.root, "status", "--porcelain") == ""
    assert digest_of(root) == before
    (place.root / "new.txt").write_text("new\n")
    await place.merge()
    assert (root / "new.txt").read_text() == "new\n"


async def test_a_project_in_a_subfolder_works_there(loaded, tmp_path: Path) -> None:
    top = tmp_path / "mono"
    root = write_project(top / "packages" / "shop")
    (top / "other.txt").write_text("other\n")
    git(top, "init", "-q"), git(top, "add", "-A"), git(top, "commit", "-qm", "first")
    place = await loaded(root)
    assert place.root.parts[-2:] == ("packages", "shop")
    (place.root / "new.txt").write_text("new\n")
    assert [one["path"] for one in (await place.merge())["files"]] == ["packages/shop/new.txt"]
    assert (root / "new.txt").exists()
    (place.root.parent.parent / "other.txt").write_text("not the project's\n")
    refused = await place.merge(409)
    assert list(refused["error"]["details"]["paths"]) == ["other.txt"]


async def test_linked_worktrees_detached_heads_and_rebases(loaded, tmp_path: Path) -> None:
    main = write_repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    root = tmp_path / "linked"
    (root / "README.md").write_text("one\n")
    git(root, "commit", "-qam", "one")
    git(root, "checkout", "-q", "--detach", "HEAD^")
    (root / "README.md").write_text("two\n")
    git(root, "commit", "-qam", "two")
    git(root, "rebase", "-q", "HEAD@{2}", check=False)
    before = digest_of(main / ".git", without=("refs/kaged",))
    place = await loaded(root)
    assert "rebase is in progress" in place.workspace["detail"]
    assert git(place.root, "rev-parse", "HEAD") == git(root, "rev-parse", "HEAD")
    assert digest_of(main / ".git", without=("refs/kaged",)) == before
    assert git(main, "for-each-ref", "--format=%(refname)", "refs/kaged") != ""
    (place.root / "new.txt").write_text("new\n")
    await place.merge()
    assert (root / "new.txt").exists() and not (main / "new.txt").exists()


async def test_shallow_sparse_and_partial_clones(loaded, tmp_path: Path) -> None:
    origin = write_repository(tmp_path / "origin")
    (origin / "big").mkdir(), (origin / "big" / "file").write_text("big\n")
    git(origin, "add", "-A"), git(origin, "commit", "-qm", "second")
    git(origin, "config", "uploadpack.allowFilter", "true")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{origin}", str(shallow))
    place = await loaded(shallow)
    assert git(place.root, "log", "--format=%s") == "second"
    assert git(place.root, "fsck", "--full", "--no-dangling") == ""

    partial = tmp_path / "partial"
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--sparse", f"file://{origin}", str(partial))
    git(partial, "sparse-checkout", "set", "src", "prompts", ".kaged")
    assert not (partial / "big").exists()
    place = await loaded(partial)
    assert (place.root / "src" / "shop.py").exists() and not (place.root / "big").exists()
    assert git(place.root, "status", "--porcelain") == ""
    (place.root / "src" / "shop.py").write_text("changed\n")
    assert [one["path"] for one in (await place.merge())["files"]] == ["src/shop.py"]
    assert git(partial, "status", "--porcelain") == "M src/shop.py"

    git(partial, "sparse-checkout", "disable")
    bare = tmp_path / "bare"
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{origin}", str(bare))
    (
        shutil.copytree(partial / ".kaged", bare / ".kaged"),
        shutil.copytree(partial / "prompts", bare / "prompts"),
    )
    broken = await loaded(bare, state="broken")
    assert broken.workspace["detail"], broken.workspace
    assert broken.workspace["removed_at"] is not None
    assert not broken.root.exists()
    assert git(bare, "for-each-ref", "refs/kaged") == ""


async def test_submodules_pointer_files_and_odd_names(loaded, tmp_path: Path) -> None:
    inner = write_repository(tmp_path / "inner")
    root = write_repository(tmp_path / "outer")
    git(root, "submodule", "--quiet", "add", str(inner), "lib")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    (root / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n*.crlf text eol=crlf\n")
    (root / "data.bin").write_text(pointer)
    odd = Path(os.fsdecode(os.fsencode(root) + b"/src/odd \xff\nname.txt"))
    odd.write_text("odd\n")
    (root / "dos.crlf").write_bytes(b"one\r\ntwo\r\n")
    git(root, "add", "-A"), git(root, "commit", "-qm", "second")
    for key in ("clean", "smudge", "process"):
        git(root, "config", f"filter.lfs.{key}", f"touch {tmp_path}/ran-{key}")
    place = await loaded(root)
    assert place.workspace["detail"] == "Submodules are empty folders here: lib."
    assert (place.root / "data.bin").read_text() == pointer
    assert (place.root / "dos.crlf").read_bytes() == b"one\r\ntwo\r\n"
    (place.root / "dos.crlf").write_bytes(b"one\r\nthree\r\n")
    (place.root / "a\nb").write_text("two lines\n")
    done = await place.merge()
    assert [one["path"] for one in done["files"]] == ["~bytes:YQpi", "dos.crlf"]
    assert (root / "a\nb").exists()
    (place.root / "src" / odd.name).write_text("odder\n")
    odd.write_text("the user's\n")
    blocked = (await place.merge(409))["error"]["details"]["paths"]
    assert blocked == {address_of(b"src/odd \xff\nname.txt"): "it has uncommitted changes"}
    odd.write_text("odd\n")
    await place.merge()
    assert odd.read_text() == "odder\n"
    (place.root / "src" / odd.name).unlink()
    (place.root / "caf\udce9").symlink_to("dos.crlf")
    await place.merge()
    assert not odd.exists() and os.readlink(os.fsencode(root) + b"/caf\xe9") == b"dos.crlf"
    (place.root / "src" / odd.name).write_text("odder\n")
    git(root, "branch", "aside")
    await place.merge(into="aside")
    assert "odder" in git(root, "cat-file", "-p", "aside:" + os.fsdecode(b"src/odd \xff\nname.txt"))
    assert (root / "dos.crlf").read_bytes() == b"one\r\nthree\r\n"
    assert list(tmp_path.glob("ran-*")) == []


@pytest.mark.requirement("workspaces.hostile")
async def test_nothing_that_a_repository_names_is_run(loaded, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "hostile")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung-$$\ncat\n"), trap.chmod(0o755)
    for hook in ("post-checkout", "pre-commit", "reference-transaction", "post-index-change", "pre-push"):
        shutil.copy(trap, root / ".git" / "hooks" / hook)
    (root / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    git(root, "-c", "core.hooksPath=/dev/null", "add", "-A")
    git(root, "-c", "core.hooksPath=/dev/null", "commit", "-qm", "second")
    settings = {
        **{f"filter.evil.{key}": str(trap) for key in ("clean", "smudge", "process")},
        "diff.evil.textconv": str(trap),
        "diff.evil.command": str(trap),
        "merge.evil.driver": str(trap),
        "core.fsmonitor": str(trap),
        "core.sshCommand": str(trap),
        "core.pager": str(trap),
        "diff.external": str(trap),
        "core.alternateRefsCommand": str(trap),
        "gpg.program": str(trap),
        "commit.gpgSign": "true",
        "uploadpack.packObjectsHook": str(trap),
    }
    for key, value in settings.items():
        git(root, "config", key, value)
    place = await loaded(root, base="working")
    for key, value in settings.items():
        git(place.root, "config", key, value)
    (place.root / "README.md").write_text("changed\n")
    git_plainly = digest_of(tmp_path, without=("data", "hostile"))
    await place.merge(dry_run=True)
    await place.merge()
    await place.post("keep")
    await place.until_removed()
    assert digest_of(tmp_path, without=("data", "hostile")) == git_plainly
    assert [one for one in git_plainly if "sprung" in one] == [], time.time()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of who runs the daemon."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


async def test_the_users_own_ignore_rules_and_line_endings_hold(home: Path, loaded, tmp_path: Path) -> None:
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/ignored\n\tautocrlf = input\n")
    (home / "ignored").write_text("*.secret\n.venv/\n*.kept")
    root = write_repository(tmp_path / "shop")
    (root / ".git" / "info" / "exclude").write_text("!*.kept\nown\n")
    for name in ("a.secret", "a.kept", "own", "new.txt"):
        (root / name).write_bytes(b"one\r\n")
    for base in ("working", "head"):
        place = await loaded(root, base=base)
        names = {"a.kept", "new.txt"} if base == "working" else set()
        found = {one.name for one in place.root.iterdir()}
        assert found & {"a.secret", "a.kept", "own", "new.txt"} == names
        (place.root / ".venv").mkdir(), (place.root / ".venv" / "bin").write_text("not of the project\n")
        (place.root / "mine.txt").write_bytes(b"one\r\n")
        done = await place.merge(dry_run=True)
        assert [one["path"] for one in done["files"]] == ["mine.txt"]
        assert "\r" not in done["diff"]
        assert ".venv" not in git(place.root, "status", "--porcelain")


async def test_attributes_that_only_the_repository_has_hold(loaded, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    (root / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    (root / ".git" / "info" / "attributes").write_text("*.txt text eol=crlf\n")
    git(root, "add", "-A"), git(root, "commit", "-qm", "second")
    place = await loaded(root)
    assert (place.root / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    (place.root / "a.txt").write_bytes(b"one\r\nthree\r\n")
    await place.merge()
    assert (root / "a.txt").read_bytes() == b"one\r\nthree\r\n"
    assert git(root, "diff", "--numstat") == "1\t1\ta.txt"


async def test_a_setting_without_a_value_is_on_as_in_the_checkout(loaded, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    with (root / ".git" / "config").open("a") as settings:
        settings.write("[core]\n\tautocrlf\n")
    place = await loaded(root)
    assert git(place.root, "config", "--type=bool", "core.autocrlf") == "true"
    assert (place.root / "src" / "shop.py").read_bytes().startswith(b"line 1\r\nline 2\r\n")


async def test_names_that_differ_in_case_only(loaded, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "cases")
    git(root, "mv", "README.md", "Readme.md"), git(root, "commit", "-qm", "renamed")
    place = await loaded(root)
    (place.root / "Readme.md").rename(place.root / "readme.md")
    await place.merge()
    assert (root / "readme.md").exists() and not (root / "Readme.md").exists()


async def test_a_project_that_the_repository_around_it_ignores_is_as_one_without_a_repository(
    loaded, tmp_path: Path
) -> None:
    top = tmp_path / "outer"
    root = write_project(top / "scratch" / "shop")
    (top / ".gitignore").write_text("scratch/\n")
    git(top, "init", "-q"), git(top, "add", "-A"), git(top, "commit", "-qm", "first")
    place = await loaded(root)
    assert (place.workspace["kind"], place.workspace["branch"]) == ("copy", None)
    (place.root / "new.txt").write_text("new\n")
    changed = (await place.client.get(f"/api/v1/sessions/{place.session_id}/changes")).json()
    assert changed["items"] == [] and changed["incomplete"] is None
    (top / ".gitignore").write_text("")
    assert [one["path"] for one in (await place.merge())["files"]] == ["new.txt"]
    (top / ".gitignore").write_text("scratch/\n")
    assert (root / "new.txt").read_text() == "new\n" and git(top, "status", "--porcelain") == ""
    refused = await place.merge(409, into="main")
    assert refused["error"]["details"]["reason"] == "no_repository"
    project = f"/api/v1/projects/{place.workspace['project_id']}"
    answer = await place.client.get(f"{project}/git/status")
    assert answer.status_code == 409 and f"{top} ignores" in answer.json()["error"]["message"]
    files = (await place.client.get(f"{project}/files")).json()
    assert files["git"]["state"] == "none" and "README.md" in {one["path"] for one in files["items"]}


async def test_a_base_without_the_projects_folder_is_refused_at_once(loaded, tmp_path: Path) -> None:
    top = tmp_path / "outer"
    root = write_project(top / "shop")
    (top / "other.txt").write_text("other\n")
    git(top, "init", "-q"), git(top, "add", "other.txt"), git(top, "commit", "-qm", "first")
    place = await loaded(root, base="working")
    body = {"project_id": place.workspace["project_id"], "workspace": "worktree"}
    answer = await place.client.post("/api/v1/sessions", json=body)
    assert answer.status_code == 409 and "`base: working`" in answer.json()["error"]["message"]
    assert answer.json()["error"]["details"]["reason"] == "base_without_project"


async def test_paths_with_newlines_and_branches_with_odd_names_work(loaded, tmp_path: Path) -> None:
    top = write_repository(tmp_path / "new\nline" / "a:b")
    root = tmp_path / "linked"
    git(top, "worktree", "add", "-q", str(root))
    odd = ("sep\u2028arator", "caf\u00e9.x", 'quo"te', "next\u0085line")
    for name in odd:
        git(top, "branch", name)
    place = await loaded(root)
    (place.root / "new.txt").write_text("new\n")
    session, project = f"/api/v1/sessions/{place.session_id}", place.workspace["project_id"]
    for path in ("changes?since=head", "changes?since=base", "changes"):
        answer = await place.client.get(f"{session}/{path}")
        assert answer.status_code == 200, answer.text
    status = (await place.client.get(f"/api/v1/projects/{project}/git/status")).json()
    assert (status["branch"], status["items"]) == ("linked", [])
    files = (await place.client.get(f"/api/v1/projects/{project}/files")).json()
    assert files["git"]["state"] == "ok"
    for name in odd:
        await place.merge(into=name)
        assert git(top, "show", f"{name}:new.txt") == "new"
    refused = await place.merge(409, into="main")
    assert refused["error"]["details"]["reason"] == "branch_checked_out"
    await place.post("keep")


@pytest.mark.parametrize("has_commit", [True, False])
async def test_what_is_staged_comes_along_although_git_ignores_it(
    loaded, tmp_path: Path, has_commit: bool
) -> None:
    root = write_repository(tmp_path / "shop")
    (root / "build").mkdir()
    for name in ("build/kept.txt", "gone.log", "other.log"):
        (root / name).write_text("staged\n")
    if not has_commit:
        git(root, "update-ref", "-d", "HEAD")
    git(root, "add", "-f", "build/kept.txt", "gone.log")
    (root / "build" / "kept.txt").write_text("unstaged\n"), (root / "gone.log").unlink()
    index = (root / ".git" / "index").read_bytes()
    place = await loaded(root, base="working")
    assert (place.root / "build" / "kept.txt").read_text() == "unstaged\n"
    assert [*place.root.glob("*.log")] == [] and git(place.root, "status", "--porcelain") == ""
    assert (root / ".git" / "index").read_bytes() == index
