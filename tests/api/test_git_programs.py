"""git's work for operators in a hostile repository: no program that it names is run, and hooks when asked."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon import Daemon, running_daemon, write_project
from tests.driver.git_desk import IDENTITY, GitDesk, git

pytestmark = pytest.mark.requirement("git.programs")

HOOKS = (
    *("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout", "post-rewrite"),
    *("pre-auto-gc", "reference-transaction", "post-index-change", "fsmonitor-watchman", "applypatch-msg"),
)
SETTINGS = (
    *("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy"),
    *("diff.external", "diff.evil.textconv", "diff.evil.command", "merge.evil.driver", "sequence.editor"),
    *("gpg.program", "gpg.ssh.program", "gpg.x509.program", "credential.helper", "interactive.diffFilter"),
    *("pager.status", "pager.diff", "pager.log", "pager.branch", "pager.config", "pager.for-each-ref"),
    *(
        "remote.origin.uploadpack",
        "remote.origin.receivepack",
        "uploadpack.packObjectsHook",
        "trailer.x.command",
    ),
    *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "core.alternateRefsCommand"),
    *("filter.e=vil.clean", "filter.e=vil.smudge", "filter.e=vil.process", "init.templateDir"),
)
VERBS = (
    "status",
    "diff",
    "add",
    "commit",
    "branch",
    "switch",
    "log",
    "config",
    "reset",
    "ls-files",
    "check-attr",
)


@pytest.fixture(params=["auto", pytest.param("landlock", marks=pytest.mark.needs("landlock")), "off"])
async def daemon(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model_settings: dict[str, Any],
) -> AsyncIterator[Daemon]:
    """A daemon with the cages of this machine, with weaker ones, and with none; it trusts `trusted`."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(IDENTITY)
    monkeypatch.setenv("HOME", str(home))
    (tmp_path / "trusted").mkdir()
    projects = {"trusted": [str(tmp_path / "trusted")]}
    async with running_daemon(
        tmp_path / "data", projects=projects, sandbox={"mode": request.param}, **model_settings
    ) as running:
        yield running


def script(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


async def test_no_program_that_a_repository_names_is_run(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    root = write_project(tmp_path / "hostile")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "--all"), git(root, "commit", "-qm", "first")
    git(root, "switch", "-qc", "side")
    (root / "side.txt").write_text("side\n")
    git(root, "add", "--all"), git(root, "commit", "-qm", "side")
    git(root, "switch", "-q", "main")
    mark = root / "mark"
    evil = script(root / ".git" / "evil", f"echo \"$0 $*\" >> '{mark}'; cat")
    for name in HOOKS:
        script(root / ".git" / "hooks" / name, f"echo hook {name} >> '{mark}'")
    for name in SETTINGS:
        git(root, "config", name, str(evil))
    for verb in VERBS:
        git(root, "config", f"alias.{verb}", f"!{evil}")
    git(root, "config", "core.hooksPath", str(root / ".git" / "hooks"))
    git(root, "config", "commit.template", str(evil))
    (root / ".git" / "more").write_text(f"[core]\n\tfsmonitor = {evil}\n[diff]\n\texternal = {evil}\n")
    git(root, "config", "include.path", str(root / ".git" / "more"))
    attributes = root / ".git" / "info" / "attributes"
    attributes.write_text("*.md diff=evil merge=evil\n")
    desk = await GitDesk.load(client, root)

    async def everything() -> None:
        desk.write("README.md", "# Changed\n")
        desk.write("new.md", "new\n")
        await desk.get("status")
        (hunk,) = (await desk.get("diff", path="README.md"))["hunks"]
        await desk.get("diff", path="new.md")
        await desk.post("stage", path="README.md", hunks=[hunk["digest"]])
        await desk.get("diff", path="README.md", staged=True)
        await desk.post("unstage", paths=["."])
        await desk.post("stage", paths=["README.md", "new.md"])
        await desk.post("commit", message="All\n\nSigned-off-by: x")
        await desk.post("commit", amend=True, message="Amended")
        await desk.post("branches", name="work", switch=True)
        await desk.post("switch", name="side")
        await desk.post("switch", name="main")
        await desk.get("branches")

    await everything()
    assert not mark.exists(), mark.read_text()
    # Files with a filter are refused, and reading them runs none.
    for driver in ("evil", "e=vil"):
        attributes.write_text(f"*.md filter={driver}\n")
        desk.write("README.md", "# Filtered\n")
        os.utime(root / "README.md", (1, 1))
        await desk.get("status")
        await desk.get("diff", path="README.md")
        for what, body in (
            ("stage", {"paths": ["README.md"]}),
            ("stage", {"paths": ["."]}),
            ("commit", {"message": "x", "paths": ["README.md"]}),
        ):
            assert (await desk.refused(what, **body))["reason"] == "filtered"
    assert not mark.exists(), mark.read_text()
    # Hooks of a project that nobody trusts are not run when asked, either.
    attributes.unlink()
    refusal = await desk.send("POST", "commit", json={"message": "x", "paths": ["."], "hooks": True})
    assert (refusal.status_code, refusal.json()["error"]["code"]) == (409, "project_untrusted")
    assert not mark.exists(), mark.read_text()


async def test_no_program_that_a_submodule_names_is_run(client: httpx2.AsyncClient, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    (origin / "a.md").write_text("a\n")
    git(origin, "add", "--all"), git(origin, "commit", "-qm", "first")
    root = write_project(tmp_path / "hostile")
    git(root, "init", "-q", "-b", "main")
    git(root, "submodule", "--quiet", "add", str(origin), "sub")
    git(root, "add", "--all"), git(root, "commit", "-qm", "first")
    mark = tmp_path / "mark"
    evil = script(tmp_path / "evil", f"echo \"$0 $*\" >> '{mark}'; cat")
    inside = root / ".git" / "modules" / "sub"
    (root / "sub" / "a.md").write_text("b\n")
    git(root / "sub", "commit", "-qam", "second")
    for name in SETTINGS:
        git(root / "sub", "config", name, str(evil))
    (inside / "info").mkdir(exist_ok=True)
    (inside / "info" / "attributes").write_text("*.md filter=evil diff=evil\n")
    os.utime(root / "sub" / "a.md", (1, 1))
    for name in HOOKS:
        script(inside / "hooks" / name, f"echo hook {name} >> '{mark}'")
    mark.unlink(missing_ok=True)  # git itself runs what it names
    desk = await GitDesk.load(client, root)
    assert await desk.states() == {"sub": (None, "modified")}
    assert "Subproject commit" in str(await desk.get("diff", path="sub"))
    desk.write("README.md", "# Changed\n")
    await desk.post("stage", paths=["."])
    await desk.post("unstage", paths=["."])
    made = await desk.post("commit", message="Both", paths=["sub", "README.md"])
    assert made["files"] == ["README.md", "sub"]
    await desk.post("branches", **{"name": "old", "from": "HEAD~1", "switch": True})
    await desk.post("switch", name="main")
    # Its commit is the one that is known: git would look into it for changes.
    os.utime(root / "sub" / "a.md", (2, 2))
    desk.write("README.md", "# Again\n")
    assert await desk.states() == {"README.md": (None, "modified")}
    await desk.post("stage", paths=["."])
    await desk.post("commit", message="Again", amend=True)
    desk.write("README.md", "# Third\n")
    await desk.post("commit", message="Third", paths=["."])
    assert not mark.exists(), mark.read_text()


async def test_hooks_run_as_git_runs_them_when_the_operator_asks(
    client: httpx2.AsyncClient, tmp_path: Path
) -> None:
    root = write_project(tmp_path / "trusted" / "shop")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "--all"), git(root, "commit", "-qm", "first")
    desk = await GitDesk.load(client, root)
    hooks = root / ".git" / "hooks"
    outside = tmp_path / "outside"
    script(
        hooks / "pre-commit",
        f"echo \"$HOME\" > '{outside}'\n"
        "grep -q secret README.md && echo 'a secret in it \x1b[31m' >&2 && exit 3\n"
        "echo formatted >> README.md; git add README.md",
    )
    script(hooks / "commit-msg", 'echo "Reviewed-by: hook" >> "$1"')
    desk.write("README.md", "secret\n")
    before = desk.git("rev-parse", "HEAD")
    refusal = await desk.refused("commit", message="x", paths=["README.md"], hooks=True)
    assert refusal["reason"] == "hook_failed" and "a secret in it" in refusal["output"]
    assert "\x1b" not in refusal["output"]
    assert desk.git("rev-parse", "HEAD") == before and desk.git("diff", "--cached") == ""

    desk.write("README.md", "fine\n")
    await desk.post("stage", paths=["README.md"])
    made = await desk.post("commit", message="Fine", hooks=True)
    assert desk.git("log", "-1", "--format=%H %s").startswith(f"{made['commit']} Fine")
    assert "Reviewed-by: hook" in desk.git("log", "-1", "--format=%B")
    assert desk.git("show", "HEAD:README.md") == "fine\nformatted\n"
    assert desk.git("status", "--porcelain") == ""
    assert outside.read_text() == f"{tmp_path / 'home'}\n"
    script(hooks / "post-commit", "yes | head -c 2000000")
    desk.write("README.md", "chatty\n")
    made = await desk.post("commit", message="Chatty", paths=["README.md"], hooks=True)
    assert desk.git("rev-parse", "HEAD") == f"{made['commit']}\n"
    desk.write("README.md", "without\n")
    await desk.post("commit", message="Without", paths=["README.md"])
    assert desk.git("show", "HEAD:README.md") == "without\n"
