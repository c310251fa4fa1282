"""The repository of a project over HTTP: real git beside it says what came of each request."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.workspace.any_names import address_of
from tests.driver.daemon import Daemon, running_daemon, write_project
from tests.driver.git_desk import IDENTITY, GitDesk, git

pytestmark = pytest.mark.requirement("git.operator")

LINES = "".join(f"line {number}\n" for number in range(40))
Make = Callable[..., Awaitable[GitDesk]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the daemon's user, with an identity."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(IDENTITY)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


@pytest.fixture(params=["cages", "off"])
async def daemon(
    request: pytest.FixtureRequest, home: Path, tmp_path: Path, model_settings: dict[str, Any]
) -> AsyncIterator[Daemon]:
    """A daemon with the cages of this machine, and one that has none."""
    mode = {} if request.param == "cages" else {"sandbox": {"mode": "off"}}
    async with running_daemon(tmp_path / "data", **model_settings, **mode) as running:
        yield running


@pytest.fixture
async def desk(client: httpx2.AsyncClient, tmp_path: Path) -> GitDesk:
    """A project at the top of its repository, with one commit."""
    root = write_project(tmp_path / "shop")
    git(root, "init", "-q", "-b", "main")
    (root / "list.txt").write_text(LINES)
    desk = await GitDesk.load(client, root)
    desk.commit("first")
    return desk


async def test_hunks_are_staged_unstaged_and_committed_one_by_one(desk: GitDesk, daemon: Daemon) -> None:
    text = LINES.replace("line 3\n", "line three\n").replace("line 35\n", "line 35\nnew\n")
    desk.write("list.txt", text.removesuffix("\n"))
    first, second = (await desk.get("diff", path="list.txt"))["hunks"]

    async def lines() -> list[Any]:
        (file,) = (await desk.get("status"))["items"]
        return [one and list(one.values()) for one in (file["staged_lines"], file["unstaged_lines"])]

    assert await lines() == [None, [3, 2]]
    assert ["-", "line 3"] in first["lines"] and ["+", "line three"] in first["lines"]
    assert second["lines"][-1] == ["\\", " No newline at end of file"]

    staged = await desk.post("stage", path="list.txt", hunks=[second["digest"]])
    assert staged["counts"] == {"staged": 1, "unstaged": 1, "untracked": 0, "conflicted": 0}
    assert "+new" in desk.git("diff", "--cached") and "three" not in desk.git("diff", "--cached")
    assert (desk.root / "list.txt").read_text() == text.removesuffix("\n")
    assert await lines() == [[2, 1], [1, 1]]
    # The other hunk is another one now: its lines are counted from another content.
    (left,) = (await desk.get("diff", path="list.txt"))["hunks"]
    assert left["lines"] == first["lines"]
    await desk.post("stage", path="list.txt", hunks=[left["digest"]])
    assert desk.git("show", ":list.txt") == text.removesuffix("\n")

    found = (await desk.get("diff", path="list.txt", staged=True))["hunks"]
    await desk.post("unstage", path="list.txt", hunks=[found[0]["digest"]])
    assert "+new" in desk.git("diff", "--cached") and "three" not in desk.git("diff", "--cached")

    made = await desk.post("commit", message="One hunk\n\nand no other\n\n\n")
    assert desk.git("log", "-1", "--format=%H %an <%ae> %cn%n%B").splitlines() == [
        f"{made['commit']} Ada <ada@example.org> Ada", "One hunk", "", "and no other", "",
    ]  # fmt: skip
    assert (made["branch"], made["subject"], made["files"]) == ("main", "One hunk", ["list.txt"])
    refusal = await desk.refused("stage", path="list.txt", hunks=[first["digest"], "0" * 32])
    assert refusal["reason"] == "changed_since"
    assert await desk.states() == {"list.txt": (None, "modified")}
    desk.git("mv", "list.txt", "renamed.txt")
    assert await lines() == [[0, 0], [1, 1]]

    rows = await daemon.services.storage.read(lambda uow: uow.audit.list(limit=50, cursor=None))
    noted = {row.event: row for row in rows.items}
    commit = noted["operator.commit_files"]
    assert commit.project_id == desk.project_id
    assert (commit.data["commit"], commit.data["paths"]) == (made["commit"], ["list.txt"])
    assert noted["operator.stage_files"].data["hunks"] == 1
    assert not any("line three" in str(row.data) or "no other" in str(row.data) for row in rows.items)


async def test_files_are_staged_committed_and_branched(desk: GitDesk, daemon: Daemon) -> None:
    desk.write("new.txt", "new\n")
    desk.write("README.md", "# Other\n")
    (desk.root / "list.txt").unlink()
    await desk.post("stage", paths=["new.txt", "list.txt"])
    assert await desk.states() == {
        "README.md": (None, "modified"), "list.txt": ("deleted", None), "new.txt": ("added", None),
    }  # fmt: skip
    await desk.post("unstage", paths=["list.txt"])
    page = await desk.get("status", limit=2)
    assert [one["path"] for one in page["items"]] == ["README.md", "list.txt"] and page["total"] == 3
    rest = await desk.get("status", limit=2, cursor=page["next_cursor"])
    assert [one["path"] for one in rest["items"]] == ["new.txt"] and rest["next_cursor"] is None

    # These files and nothing else: what is staged stays staged.
    key = {"Idempotency-Key": "once"}
    body = {"message": "Only the page", "paths": ["README.md"]}
    first = await desk.send("POST", "commit", json=body, headers=key)
    again = await desk.send("POST", "commit", json=body, headers=key)
    assert first.status_code == 201 and again.json() == first.json()
    assert desk.git("rev-list", "--count", "HEAD") == "2\n"
    assert desk.git("show", "--format=", "--name-only").split() == ["README.md"]
    assert await desk.states() == {"list.txt": (None, "deleted"), "new.txt": ("added", None)}

    made = await desk.post("branches", name="work/one", switch=True)
    assert made["switched"] and desk.git("branch", "--show-current") == "work/one\n"
    await desk.post("commit", message="New")
    amended = await desk.post("commit", amend=True, paths=["."])
    assert amended["files"] == ["list.txt", "new.txt"]
    assert desk.git("log", "--format=%s") == "New\nOnly the page\nfirst\n"
    assert desk.git("status", "--porcelain") == ""

    desk.write("list.txt", "mine\n")
    refusal = await desk.refused("switch", name="main")
    assert (refusal["reason"], refusal["paths"]) == ("would_overwrite", ["list.txt"])
    assert (desk.root / "list.txt").read_text() == "mine\n"
    (desk.root / "list.txt").unlink()
    await desk.post("switch", name="main")
    assert (desk.root / "list.txt").read_text() == LINES and not (desk.root / "new.txt").exists()
    assert desk.git("status", "--porcelain") == ""
    await desk.post("branches", **{"name": "old", "from": "HEAD~1"})
    listed = (await desk.get("branches"))["items"]
    assert [(one["name"], one["current"], one["subject"]) for one in listed] == [
        ("main", True, "Only the page"), ("old", False, "first"), ("work/one", False, "New"),
    ]  # fmt: skip
    for body, reason in (
        ({"name": "old"}, "branch_exists"),
        ({"name": "x", "from": "nothing"}, "unknown_revision"),
        ({"name": "-x"}, None),
        ({"name": "a..b"}, None),
    ):
        answer = await desk.send("POST", "branches", json=body)
        assert answer.status_code in (400, 404, 409)
        assert answer.json()["error"]["details"].get("reason") == reason
    assert (await desk.refused("switch", 404, name="nothing"))["reason"] == "unknown_branch"

    reader = await daemon.services.access.create("reader", scope="read-only")
    async with daemon.client(reader.secret) as limited:
        desk.client = limited
        for method, what in (("GET", "status"), ("POST", "stage")):
            body = {"json": {"paths": ["."]}} if method == "POST" else {}
            assert (await desk.send(method, what, **body)).status_code == 403
    assert os.listdir(daemon.services.settings.daemon.data_dir / "git") == []
    assert not [name for name in os.listdir(desk.root / ".git") if "kaged" in name or "lock" in name]


async def test_files_are_committed_by_paths_that_git_has_moved_or_removed(desk: GitDesk) -> None:
    for name in ("gone.txt", "old.txt"):
        desk.write(name, f"{name}\n")
    desk.commit()
    desk.git("rm", "-q", "gone.txt"), desk.git("mv", "old.txt", "new.txt")
    made = await desk.post("commit", message="Moved", paths=["gone.txt", "new.txt", "old.txt"])
    assert made["files"] == ["gone.txt", "new.txt", "old.txt"]
    assert desk.git("status", "--porcelain") == ""
    assert (await desk.refused("commit", message="x", paths=["gone.txt"]))["reason"] == "git_failed"


async def test_a_diff_is_of_one_file_and_its_hunks_of_one_kind(desk: GitDesk) -> None:
    for name in ("list.txt", "far/one", "far/two"):
        desk.write(name, LINES)
    desk.commit()
    desk.write("far/one", "other\n"), desk.write("new/one", "new\n")
    for path in ("far", "new", "."):
        answer = await desk.send("GET", "diff", params={"path": path})
        assert answer.status_code == 400 and "one file" in answer.json()["error"]["message"], path
    for content in (LINES, b"\0\1"):  # a file with lines, and one without
        desk.write("list.txt", content)
        desk.git("add", "list.txt")
        desk.git("commit", "-qm", "as a file", "--allow-empty")
        (desk.root / "list.txt").unlink()
        os.symlink("far/one", desk.root / "list.txt")
        for staged in (False, True):
            found = await desk.get("diff", path="list.txt", staged=staged)
            assert (found["hunks"], found["old_mode"], found["new_mode"]) == ([], "100644", "120000"), content
            await desk.post("stage", paths=["list.txt"])
        desk.git("reset", "-q", "--hard")


async def test_a_branch_whose_name_is_no_text_is_shown(desk: GitDesk) -> None:
    desk.git("switch", "-qc", b"caf\xe9")
    shown = "caf\\xe9"
    assert (await desk.get("status"))["branch"] == shown
    assert [one["name"] for one in (await desk.get("branches"))["items"]] == [shown, "main"]
    assert (await desk.post("commit", message="x", allow_empty=True))["branch"] == shown
    tree = await desk.client.get(f"/api/v1/projects/{desk.project_id}/files")
    assert (tree.status_code, tree.json()["git"]["branch"]) == (200, shown)


async def test_a_switch_leaves_ignored_files_alone(desk: GitDesk) -> None:
    desk.git("switch", "-qc", "side")
    desk.write("local.env", "theirs\n")
    desk.commit()
    desk.git("switch", "-q", "main")
    desk.write(".gitignore", "*.env\n")
    desk.commit()
    mine = desk.write("local.env", "mine\n")
    refused = await desk.refused("switch", name="side")
    assert (refused["reason"], "local.env" in refused["message"]) == ("git_failed", True)
    assert (mine.read_text(), desk.git("branch", "--show-current")) == ("mine\n", "main\n")
    assert desk.git("status", "--porcelain") == ""


async def test_each_refusal_says_why_and_changes_nothing(desk: GitDesk, home: Path) -> None:
    nothing = await desk.refused("commit", message="x")
    assert nothing["reason"] == "nothing_to_commit"
    desk.write("README.md", "# Two\n")
    before = desk.git("rev-parse", "HEAD")

    (home / ".gitconfig").write_text("")
    missing = await desk.refused("commit", message="x", paths=["."])
    assert missing["reason"] == "identity_missing"
    assert missing["commands"] == [
        'git config --global user.name "Your Name"',
        'git config --global user.email "you@example.com"',
    ]
    (home / ".gitconfig").write_text(IDENTITY + "[commit]\n\tgpgSign = true\n")
    assert (await desk.refused("commit", message="x", paths=["."]))["reason"] == "signing_required"

    lock = desk.write(".git/index.lock", "of somebody else")
    index = (desk.root / ".git" / "index").read_bytes()
    for what, body in (
        ("stage", {"paths": ["."]}),
        ("unstage", {"paths": ["."]}),
        ("commit", {"message": "x", "paths": ["."], "unsigned": True}),
        ("switch", {"name": "main"}),
    ):
        assert (await desk.refused(what, **body))["reason"] == "index_locked"
    assert lock.read_text() == "of somebody else"
    assert (desk.root / ".git" / "index").read_bytes() == index
    lock.unlink()

    desk.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    desk.write("large.bin", b"\0" * 100)
    refusal = await desk.refused("stage", paths=["."])
    assert (refusal["reason"], refusal["paths"]) == ("filtered", ["large.bin"])
    await desk.post("stage", paths=[".gitattributes", "README.md"])

    for paths in (["../x"], ["/etc/passwd"], ["~bytes:/"], []):
        assert (await desk.send("POST", "stage", json={"paths": paths})).status_code == 400
    assert (await desk.refused("stage", paths=["gone.txt"]))["reason"] == "git_failed"
    assert desk.git("rev-parse", "HEAD") == before
    await desk.post("commit", message="x", unsigned=True)
    assert desk.git("log", "-1", "--format=%G?") == "N\n"


async def test_a_merge_is_concluded_once_its_conflicts_are_resolved(desk: GitDesk) -> None:
    desk.git("switch", "-qc", "side")
    desk.write("list.txt", "side\n")
    desk.commit("side")
    desk.git("switch", "-q", "main")
    desk.write("list.txt", "main\n")
    desk.commit("main")
    desk.git("merge", "side", check=False)
    status = await desk.get("status")
    assert (status["operation"], status["items"][0]["conflict"]) == ("merge", "both_modified")
    assert (await desk.refused("commit", message="x"))["reason"] == "conflicts"
    assert (await desk.refused("switch", name="side"))["reason"] == "operation_in_progress"
    assert (await desk.refused("commit", message="x", paths=["."]))["reason"] == "operation_in_progress"
    desk.write("list.txt", "both\n")
    await desk.post("stage", paths=["list.txt"])
    made = await desk.post("commit", message="Both")
    assert len(made["parents"]) == 2 and desk.git("status", "--porcelain") == ""
    assert not (desk.root / ".git" / "MERGE_HEAD").exists()

    desk.git("switch", "-q", "side")
    desk.git("rebase", "main~1", check=False)
    assert (await desk.get("status"))["operation"] == "rebase"
    desk.write("list.txt", "rebased\n")
    await desk.post("stage", paths=["list.txt"])
    assert (await desk.refused("commit", message="x"))["reason"] == "operation_in_progress"


async def _is_complete(desk: GitDesk, *, message: str = "by kaged") -> list[str]:
    """Stage and commit everything; return the files of the commit, once git finds nothing more."""
    await desk.post("stage", paths=["."])
    made = await desk.post("commit", message=message)
    assert desk.git("status", "--porcelain", "--", ".") == ""
    assert desk.git("rev-parse", "HEAD") == f"{made['commit']}\n"
    desk.git("fsck", "--strict")
    return list(made["files"])


async def test_names_of_every_kind_are_staged_and_committed(desk: GitDesk) -> None:
    odd = ["a\nb.txt", ":(glob)*", "*.txt", '"quoted"', "-dash", "ümlaut", "tab\tname", "back\\slash"]
    for name in odd:
        desk.write(name, "odd\n")
    raw = os.path.join(os.fsencode(desk.root), b"caf\xe9")
    Path(os.fsdecode(raw)).write_text("odd\n")
    newline, tab, address = map(address_of, (b"a\nb.txt", b"tab\tname", b"caf\xe9"))
    names = {*odd, newline, tab, address} - {"a\nb.txt", "tab\tname"}
    assert address == "~bytes:Y2Fm6Q" and set(await desk.states()) == names
    # A name is that of one file, not a pattern.
    await desk.post("stage", paths=["*.txt", newline, address])
    states = await desk.states()
    assert {one for one, (staged, _) in states.items() if staged} == {"*.txt", newline, address}
    assert (await desk.get("diff", path=address, staged=True))["hunks"][0]["lines"] == [["+", "odd"]]
    (hunk,) = (await desk.get("diff", path=newline, staged=True))["hunks"]
    await desk.post("unstage", path=newline, hunks=[hunk["digest"]])
    assert set(await _is_complete(desk)) == names

    # Only the case of a name changes.
    (desk.root / "list.txt").rename(desk.root / "List.txt")
    assert await _is_complete(desk) == ["List.txt", "list.txt"]
    os.symlink("/etc/passwd", desk.root / "link")
    desk.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    await _is_complete(desk)
    assert [line.split()[0] for line in desk.git("ls-files", "-s", "link", "run.sh").splitlines()] == [
        "120000", "100755",
    ]  # fmt: skip


async def test_line_ends_and_ignored_files_are_those_of_the_users_settings(desk: GitDesk, home: Path) -> None:
    (home / ".gitconfig").write_text(IDENTITY + "[core]\n\tautocrlf = input\n\texcludesFile = ~/ignored\n")
    (home / "ignored").write_text("*.log\n")
    desk.write("noise.log", "noise\n")
    desk.write("list.txt", LINES.replace("\n", "\r\n").replace("line 3\r", "three\r"))
    desk.write("dos.bat", "echo\n").with_name(".gitattributes").write_text("*.bat text eol=crlf\n")
    assert set(await desk.states()) == {".gitattributes", "dos.bat", "list.txt"}
    (hunk,) = (await desk.get("diff", path="list.txt"))["hunks"]
    await desk.post("stage", path="list.txt", hunks=[hunk["digest"]])
    assert desk.git("show", ":list.txt") == LINES.replace("line 3\n", "three\n")
    await _is_complete(desk)
    desk.git("rm", "-q", "--cached", "dos.bat"), (desk.root / "dos.bat").unlink(), desk.git("reset", "-q")
    desk.git("branch", "other", "HEAD~1")
    desk.git("checkout", "-q", "--", ".")
    await desk.post("switch", name="other")
    await desk.post("switch", name="main")
    assert (desk.root / "dos.bat").read_bytes() == b"echo\r\n"
    assert desk.git("status", "--porcelain") == ""


@pytest.fixture
def make(client: httpx2.AsyncClient, tmp_path: Path) -> Make:
    """Makes a project in a repository of some kind."""

    async def make(kind: str) -> GitDesk:
        origin = tmp_path / "origin"
        (origin / "far").mkdir(parents=True)
        git(origin, "init", "-q", "-b", "main")
        if kind == "no commits":
            write_project(origin / "shop" if kind == "subfolder" else origin)
            return await GitDesk.load(client, origin)
        root = origin / "shop" if kind == "subfolder" else origin
        write_project(root)
        (origin / "far" / "away.txt").write_text("far\n")
        git(origin, "add", "--all"), git(origin, "commit", "-qm", "first")
        if kind == "detached":
            git(origin, "checkout", "-q", "--detach")
        elif kind == "linked worktree":
            git(origin, "worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked"))
            root = tmp_path / "linked"
        elif kind == "submodule":
            (tmp_path / "above").mkdir()
            git(tmp_path / "above", "init", "-q", "-b", "main")
            git(tmp_path / "above", "submodule", "--quiet", "add", str(origin), "sub")
            root = tmp_path / "above" / "sub"
        elif kind == "sparse":
            git(
                origin,
                "sparse-checkout",
                "set",
                "--no-cone",
                "/.kaged/",
                "/prompts/",
                "/README.md",
                "/new.txt",
            )
        elif kind == "elsewhere":
            git(origin, "init", "-q", f"--separate-git-dir={tmp_path / 'repository'}")
        elif kind == "settings lead elsewhere":
            (tmp_path / "trap").mkdir()
            git(origin, "config", "core.worktree", str(tmp_path / "trap"))
        return await GitDesk.load(client, root)

    return make


KINDS = ("no commits", "detached", "linked worktree", "submodule", "sparse", "elsewhere", "subfolder")


@pytest.mark.parametrize("kind", [*KINDS, "settings lead elsewhere"])
async def test_repositories_of_every_kind_take_a_commit(make: Make, tmp_path: Path, kind: str) -> None:
    desk = await make(kind)
    trapped = kind == "settings lead elsewhere"
    if trapped:
        desk.git("config", "--unset", "core.worktree", check=False)
        shown = desk.git("rev-parse", "--show-toplevel")
        git(desk.root, "--git-dir=.git", "config", "core.worktree", str(tmp_path / "trap"))
        assert shown.strip() == str(desk.root)
    desk.write("README.md", "# Other\n")
    desk.write("new.txt", "new\n")
    if kind == "subfolder":
        (desk.root.parent / "far" / "away.txt").write_text("changed\n")
        git(desk.root.parent, "add", "far")
        assert (await desk.get("status"))["staged_outside"] == 1
    made = await desk.post("commit", message="Two files", paths=["README.md", "new.txt"])
    if trapped:
        git(desk.root, "--git-dir=.git", "config", "--unset", "core.worktree")
    prefix = "shop/" if kind == "subfolder" else ""
    assert made["files"] == [f"{prefix}README.md", f"{prefix}new.txt"]
    assert desk.git("rev-parse", "HEAD").strip() == made["commit"]
    clean = desk.git("status", "--porcelain", "--", ".")
    assert clean == ("" if kind != "no commits" else "?? .kaged/\n?? prompts/\n")
    assert made["branch"] == {"detached": None, "submodule": "main", "linked worktree": "linked"}.get(
        kind, "main"
    )
    if kind == "subfolder":
        assert git(desk.root.parent, "diff", "--cached", "--name-only") == "far/away.txt\n"
    if kind == "sparse":
        assert "far/away.txt" in desk.git("ls-tree", "-r", "--name-only", "HEAD")
        desk.write("README.md", "# Third\n")
        await desk.post("commit", message="All that is there", paths=["."])
        assert "far/away.txt" in desk.git("ls-tree", "-r", "--name-only", "HEAD")
    await desk.post("branches", name="next", switch=True)
    assert desk.git("branch", "--show-current") == "next\n"
    desk.git("fsck", "--strict")


async def test_without_a_repository_there_is_nothing_to_show(
    client: httpx2.AsyncClient, tmp_path: Path
) -> None:
    desk = await GitDesk.load(client, write_project(tmp_path / "plain"))
    for method, what in (("GET", "status"), ("POST", "commit"), ("GET", "branches")):
        answer = await desk.send(method, what, **({"json": {"message": "x"}} if method == "POST" else {}))
        assert answer.status_code == 409, answer.text
        assert answer.json()["error"]["details"] == {"reason": "no_repository"}
        assert "git init" in answer.json()["error"]["message"]
