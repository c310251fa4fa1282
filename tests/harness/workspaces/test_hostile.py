"""Repositories that want more than a workspace: the daemon has no cages here, so that git alone holds."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import zlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon import Daemon, running_daemon
from tests.driver.sessions import Driver
from tests.driver.workspaces import Workplace, git, new_workplace, write_repository

pytestmark = pytest.mark.requirement("workspaces.hostile")


@pytest.fixture
def newer_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have git run the hooks of its settings, as from version 2.54 on it does, also where the folder of hooks
    is turned off."""
    real = shutil.which("git")
    (tmp_path / "bin").mkdir()
    git = tmp_path / "bin" / "git"
    git.write_text(
        f"""#!/bin/sh
        for word in "$@"; do case "$word" in
            update-ref|update-index|read-tree|commit|reset|branch|switch)
                if [ "$({real} config --get --type=bool hook.evil.enabled)" != false ]; then
                    eval "$({real} config --get hook.evil.command)"
                fi;;
        esac; done
        exec {real} "$@"
        """
    )
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")


@pytest.fixture
async def daemon(tmp_path: Path, settings_overrides: dict[str, Any]) -> AsyncIterator[Daemon]:
    settings = {**settings_overrides, "sandbox": {"mode": "off"}}
    async with running_daemon(tmp_path / "data", **settings) as running:
        yield running


@pytest.fixture
async def loaded(daemon: Daemon):
    """Return what loads a project and makes a workspace of it."""
    async with daemon.client() as client:
        driver = Driver(daemon, client)

        async def load(root: Path, *, base: str = "head", state: str = "ready") -> Workplace:
            await driver.load(root)
            return await new_workplace(client, driver.project_id, base=base, state=state)

        yield load


async def test_no_filter_of_a_submodule_is_run(loaded, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    ran = tmp_path / "ran"

    def with_filter(top: Path) -> None:
        inner = top / "inner"
        git(top, "init", "-q", "inner")
        (inner / ".gitattributes").write_text("*.txt filter=evil\n")
        (inner / "a.txt").write_text("one\n")
        git(inner, "add", "-A"), git(inner, "commit", "-qm", "first")
        git(top, "add", "inner"), git(top, "commit", "--allow-empty", "-qm", "inner")
        git(inner, "config", "filter.evil.clean", f"touch {ran}; cat")
        (inner / "a.txt").write_text("two\n")
        os.utime(inner / "a.txt", (1, 1))

    with_filter(root)
    place = await loaded(root, base="working")
    (place.root / "inner").rmdir()
    git(place.root, "rm", "-q", "--cached", "inner")
    with_filter(place.root)
    (place.root / "README.md").write_text("changed\n")
    await place.merge(dry_run=True)
    assert not ran.exists()


async def test_rules_that_are_links_bring_nothing_from_outside(loaded, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    secret = tmp_path / "id_ed25519"
    secret.write_text("a key\n")
    for name in ("exclude", "sparse-checkout"):
        (root / ".git" / "info" / name).unlink(missing_ok=True)
        (root / ".git" / "info" / name).symlink_to(secret)
    place = await loaded(root)
    for name in ("exclude", "sparse-checkout"):
        assert not (place.root / ".git" / "info" / name).exists()


async def test_a_working_tree_that_the_configuration_names_is_not_taken(loaded, tmp_path: Path) -> None:
    home = tmp_path / "home"
    root = write_repository(home / "shop")
    (home / "secret.txt").write_text("of somebody else\n")
    git(root, "config", "core.worktree", str(home))
    place = await loaded(root, base="working")
    assert (place.root / "README.md").exists()
    assert not list((tmp_path / "data").rglob("secret.txt"))


TREE, BLOB = 2, 3


def write_pack(folder: Path, objects: Mapping[str, tuple[int, bytes]]) -> None:
    """Write a pack in which each object has the name that is given, whatever its content is."""
    pack, rows = b"PACK" + struct.pack(">II", 2, len(objects)), []
    for name, (kind, content) in objects.items():
        size, head = len(content) >> 4, [kind << 4 | len(content) & 15]
        while size:
            head[-1] |= 128
            head.append(size & 127)
            size >>= 7
        raw = bytes(head) + zlib.compress(content)
        rows.append((bytes.fromhex(name), zlib.crc32(raw), len(pack)))
        pack += raw
    pack += hashlib.sha1(pack).digest()
    rows.sort()
    index = b"\xfftOc" + struct.pack(">I", 2)
    index += b"".join(struct.pack(">I", sum(row[0][0] <= n for row in rows)) for n in range(256))
    index += b"".join(row[0] for row in rows)
    index += b"".join(struct.pack(">I", row[1]) for row in rows)
    index += b"".join(struct.pack(">I", row[2]) for row in rows) + pack[-20:]
    name = f"pack-{hashlib.sha1(index).hexdigest()}"
    (folder / f"{name}.pack").write_bytes(pack)
    (folder / f"{name}.idx").write_bytes(index + hashlib.sha1(index).digest())


async def test_objects_under_wrong_names_do_not_reach_the_users_repository(loaded, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    before = git(root, "show", "HEAD:README.md")
    place = await loaded(root)
    (place.root / "new.txt").write_text("new\n")
    git(place.root, "add", "-A"), git(place.root, "commit", "-qm", "second")
    names = git(place.root, "rev-parse", "HEAD:README.md", "HEAD~1^{tree}").split()
    pack = {names[0]: (BLOB, b"something evil\n"), names[1]: (TREE, b"")}
    write_pack(place.root / ".git" / "objects" / "pack", pack)
    assert git(place.root, "show", "HEAD:README.md") == "something evil"
    await place.client.post(f"{place.url}/keep")
    assert git(root, "show", "HEAD:README.md") == before
    git(root, "fsck", "--strict", "--no-dangling", "HEAD")


def tree_entries(entries: Mapping[str, str]) -> bytes:
    """Return a tree of files by their names."""
    return b"".join(
        b"100644 " + name.encode() + b"\0" + bytes.fromhex(oid) for name, oid in sorted(entries.items())
    )


async def test_a_commit_holds_nothing_that_its_dry_run_did_not_show(loaded, tmp_path: Path) -> None:
    """An agent has the objects of the base under their names with another content, so that its change of a
    second file looks as if it had been there before."""
    root = write_repository(tmp_path / "shop")
    (root / "src" / "build.sh").write_text("make\n")
    git(root, "add", "-A"), git(root, "commit", "-qm", "second"), git(root, "branch", "side")
    place = await loaded(root)
    (place.root / "src" / "build.sh").write_text("evil\n")
    evil = git(place.root, "hash-object", "-w", "src/build.sh")
    src = git(root, "rev-parse", "HEAD:src")
    forged = {"build.sh": evil, "shop.py": git(root, "rev-parse", "HEAD:src/shop.py")}
    write_pack(place.root / ".git" / "objects" / "pack", {src: (TREE, tree_entries(forged))})
    (place.root / "src" / "shop.py").write_text("changed\n")
    shown = await place.merge(dry_run=True, into="side")
    await place.merge(into="side")
    differing = git(root, "diff", "--name-only", "main", "side").split()
    assert [one["path"] for one in shown["files"]] == differing == ["src/build.sh", "src/shop.py"]


async def test_packs_of_the_daemon_are_not_those_that_agents_write(loaded, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    (root / "README.md").write_text("mine\n")
    place = await loaded(root, base="working")
    packs = list((place.root / ".git" / "objects" / "pack").iterdir())
    assert packs and all(pack.stat().st_nlink == 1 for pack in packs)


@pytest.mark.parametrize("how", ["gone", "under another name"])
async def test_commits_of_which_something_is_missing_are_not_brought_over(
    how: str, loaded, tmp_path: Path
) -> None:
    root = write_repository(tmp_path / "shop")
    place = await loaded(root)
    for name in ("new", "last"):
        (place.root / name).mkdir(), (place.root / name / "one.txt").write_text(f"{name}\n")
        git(place.root, "add", "-A"), git(place.root, "commit", "-qm", name)
    git(place.root, "rm", "-qr", "new"), git(place.root, "commit", "-qm", "without new")
    before = git(root, "for-each-ref")
    objects = place.root / ".git" / "objects"
    tree = git(place.root, "rev-parse", "HEAD~1:new")
    (objects / tree[:2] / tree[2:]).unlink()
    if how == "under another name":
        other = {"one.txt": git(place.root, "rev-parse", "HEAD:last/one.txt")}
        write_pack(objects / "pack", {tree: (TREE, tree_entries(other))})
    for _ in range(2):
        assert (await place.post("keep", 409))["error"]["details"]["reason"] == "git_failed"
    assert git(root, "for-each-ref") == before
    assert (await place.look())["state"] == "ready"
    git(place.root, "update-ref", "HEAD", git(root, "rev-parse", "HEAD"))
    await place.post("keep")
    assert git(root, "show", f"{place.workspace['branch']}:last/one.txt") == "last"
    git(root, "fsck", "--strict", "--no-dangling")


async def test_no_hook_of_the_settings_is_run(newer_git: None, loaded, tmp_path: Path) -> None:
    root = write_repository(tmp_path / "shop")
    git(root, "branch", "side")
    git(root, "config", "hook.evil.command", f"touch {tmp_path}/ran")
    git(root, "config", "hook.evil.event", "reference-transaction")
    git(root, "tag", "theirs"), (tmp_path / "ran").unlink(missing_ok=True)
    git(root, "update-ref", "refs/heads/probe", "HEAD")
    assert (tmp_path / "ran").exists()
    (tmp_path / "ran").unlink()
    place = await loaded(root)
    for name, into in (("one", "working_tree"), ("two", "side")):
        (place.root / name).write_text(name)
        await place.merge(into=into)
    git_url = f"/api/v1/projects/{place.workspace['project_id']}/git"
    for what, body in (
        ("stage", {"paths": ["one"]}),
        ("unstage", {"paths": ["one"]}),
        ("commit", {"message": "one", "paths": ["one"]}),
        ("branches", {"name": "third"}),
        ("switch", {"name": "third"}),
    ):
        answer = await place.client.post(f"{git_url}/{what}", json=body)
        assert answer.is_success, answer.text
    (place.root / "three").write_text("three")
    await place.merge(into="third")
    await place.post("keep")
    await place.until_removed()
    assert not (tmp_path / "ran").exists()


async def test_the_settings_that_are_looked_at_are_those_that_count(daemon: Daemon, tmp_path: Path) -> None:
    """A file `.git` names another repository for who reads its first line than for git."""
    root = write_repository(tmp_path / "shop")
    (root / ".git").rename(root / "real")
    shutil.copytree(root / "real", root / "real\nother")
    (root / ".git").write_text("gitdir: real\nother\n")
    (root / ".gitattributes").write_text("*.md filter=evil\n")
    git(root, "--git-dir=real", "config", "filter.evil.clean", f"touch {tmp_path}/ran; cat")
    (root / "README.md").write_text("changed\n")
    async with daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(root)
        for what in ("status", "diff?path=README.md", "branches"):
            await client.get(f"/api/v1/projects/{driver.project_id}/git/{what}")
        await client.post(f"/api/v1/projects/{driver.project_id}/git/stage", json={"paths": ["README.md"]})
        await client.get(f"/api/v1/projects/{driver.project_id}/files?status=true")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("how", ["file", "link", "alternates", "common"])
async def test_a_project_that_names_another_repository_gets_no_workspace_of_it(
    daemon: Daemon, tmp_path: Path, how: str
) -> None:
    private = write_repository(tmp_path / "private")
    root = write_repository(tmp_path / "shop")
    own = root / ".git"
    if how == "alternates":
        (own / "objects" / "info" / "alternates").write_text(f"{private / '.git' / 'objects'}\n")
    elif how == "common":
        (own / "commondir").write_text(f"{private / '.git'}\n")
    else:
        own.rename(tmp_path / "away")
        (own.write_text if how == "file" else lambda _: own.symlink_to(private / ".git"))(
            f"gitdir: {private / '.git'}\n"
        )
    async with daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(root)
        body = {"project_id": driver.project_id, "workspace": {"kind": "worktree"}}
        answer = await client.post("/api/v1/sessions", json=body)
        assert answer.status_code == 409, answer.text
        details = answer.json()["error"]["details"]
        assert details["reason"] == "foreign_repository"
        assert details["places"] == [str(private / ".git" / "objects")]


async def test_trees_that_their_repository_names_have_workspaces(loaded, tmp_path: Path) -> None:
    main = write_repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    outer = write_repository(tmp_path / "outer")
    git(outer, "submodule", "--quiet", "add", str(main), "inner")
    for root in (tmp_path / "linked", outer / "inner"):
        place = await loaded(root)
        assert (place.root / "src" / "shop.py").is_file()


async def test_the_commands_of_a_rebase_that_somebody_left_are_not_run(
    daemon: Daemon, loaded, tmp_path: Path
) -> None:
    root = write_repository(tmp_path / "shop")
    place = await loaded(root)
    ran = tmp_path / "ran"

    def leave_rebase(top: Path) -> None:
        head, state = git(top, "rev-parse", "HEAD"), top / ".git" / "rebase-merge"
        state.mkdir()
        content = {"git-rebase-todo": f"exec touch {ran}\nbreak\n", "done": f"exec touch {ran}\n"}
        content |= {"head-name": "refs/heads/main", "onto": head, "orig-head": head, "interactive": ""}
        for name, text in content.items():
            (state / name).write_text(f"{text}\n")

    leave_rebase(root), leave_rebase(place.root)
    (place.root / "src" / "shop.py").write_text("changed\n")
    (root / "README.md").write_text("mine\n")
    async with daemon.client() as client:
        session = f"/api/v1/sessions/{place.session_id}"
        project = f"/api/v1/projects/{place.workspace['project_id']}"
        assert (await client.get(f"{session}/changes?since=head")).json()["total"] == 1
        assert (await client.get(f"{project}/git/status")).json()["operation"] == "rebase"
        staged = await client.post(f"{project}/git/stage", json={"paths": ["README.md"]})
        assert staged.status_code == 200, staged.text
        committed = await client.post(f"{project}/git/commit", json={"message": "mine"})
        assert committed.json()["error"]["details"]["reason"] == "operation_in_progress"
    await place.merge(dry_run=True)
    await place.merge()
    await place.until("merged")
    await place.post("keep")
    assert not ran.exists()
