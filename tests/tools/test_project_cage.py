"""The daemon's own programs look at a project in a cage that shows it read-only, whoever asks."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.bridges.processes.process import ChildProcesses
from app.harness.checkpoints.git_objects import GitObjects
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import GitCommands, GitProblem
from app.tools.processes.project_cage import GitWork, places_for_refs
from app.workspace.repository import repository_folders
from tests.driver.caged_machine import FULL, LANDLOCK, CagedMachine, caged_machine
from tests.tools import documents


@pytest.fixture(params=[FULL, LANDLOCK], ids=lambda tier: tier.name)
async def machine(
    desk: Any, children: ChildProcesses, request: pytest.FixtureRequest
) -> AsyncIterator[CagedMachine]:
    async with caged_machine(desk, request.param, children) as machine:
        yield machine


def git(folder: Path, *arguments: str) -> str:
    options = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    done = subprocess.run(
        ["git", *options, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    (folder / "tracked.txt").write_text("tracked\n")
    git(folder, "add", "."), git(folder, "commit", "-qm", "first")
    return folder


def plainly(root: Path) -> None:
    """Run git as anybody would."""
    for arguments in (["status"], ["cat-file", "-p", "f" * 40]):
        subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False, timeout=60)


async def names_of(machine: CagedMachine, root: Path) -> list[bytes]:
    folder = machine.desk.base / "data" / "worktrees" / "one"
    objects = GitObjects(machine.processes, dict(os.environ), root, folder)
    await objects.open()
    oid = objects.oid(b"new\n")
    await asyncio.to_thread(objects.keep, b"new\n")
    assert await objects.missing([oid]) == set()
    return sorted(await objects.names())


@pytest.mark.requirement("cages.where.search")
async def test_a_long_line_is_shown_around_its_match_from_a_cage(machine):
    for path in ("src/a.js", "other/a.js"):
        machine.desk.put(path, "x" * 5_000 + "needle" + "y" * 4_000 + "\n")
    caged = machine.desk.caged(("ro", "src"), outside="mark")
    data = await caged.ok("search.grep", pattern="n[e]edle", output_mode="content")
    outside, inside = data["matches"]
    assert outside == {"file": "./other/a.js", "line": 1, "outside_cage": True}
    assert inside["content"] == "[truncated] " + "x" * 500 + "needle" + "y" * 1_494 + " [truncated]"


@pytest.mark.requirement("cages.where.search")
@pytest.mark.parametrize("caged", [False, True])
async def test_searches_and_readers_find_what_they_find_without_a_cage(desk, machine, caged):
    desk.put(".gitignore", "*.log\n")
    desk.put("src/a.py", "def alpha(x):\n    return alpha(x - 1)\n")
    desk.put("src/b.log", "alpha\n")
    desk.put("other/c.py", "alpha(2)\n")
    desk.put("paper.pdf", documents.pdf(["One page."]))
    bare, inside = desk, machine.desk
    if caged:
        bare, inside = (one.caged(("rw", "src"), ("ro", "paper.pdf")) for one in (bare, inside))
    for tool, params in (
        ("search.grep", {"pattern": r"al\w+\("}),
        ("search.glob", {"pattern": "**/*.py"}),
        ("search.ast", {"pattern": "alpha($A)", "lang": "python"}),
        ("search.ast", {"pattern": "alpha($A)", "lang": "python", "paths": ["src/a.py"]}),
        ("file.read", {"path": "paper.pdf"}),
        ("edit.ast", {"rewrites": {"alpha($A)": "beta($A)"}, "lang": "python", "path": "src"}),
    ):
        expected = await bare.call(tool, params)
        assert not expected.is_error, expected
        assert (await inside.call(tool, params)).data == expected.data


@pytest.mark.requirement("cages.where.search")
async def test_a_reader_sees_the_project_and_writes_nowhere(machine):
    """What runs in place of the real program reads all it can."""
    root = machine.desk.root
    (machine.desk.base / "outside.txt").write_text("canary")
    (machine.desk.base / "data" / "token").write_text("canary")
    children = await machine.processes.of_project(root, caged=False)
    base = machine.desk.base
    script = f"cat {base}/outside.txt {base}/data/token; touch here /tmp/there; ls {base}"
    done = await children.run(
        ["/bin/sh", "-c", script],
        owner="test",
        cwd=root,
        env={"PATH": "/usr/bin:/bin"},
        seconds=60,
        max_output=10_000,
    )
    told = (done.stdout + done.stderr).decode()
    landlock = machine.processes.tier.name == "landlock"
    assert "canary" not in told
    assert ("Permission denied" if landlock else "Read-only file system") in told
    assert not (root / "here").exists()
    assert sorted(done.stdout.decode().split()) == ([] if landlock else ["data", "project"])


@pytest.mark.requirement("cages.where.search")
async def test_rules_above_the_project_hold_in_its_cage(machine):
    desk = machine.desk
    repository(desk.base)
    (desk.base / ".gitignore").write_text("*.tmp\n")
    desk.put("a.tmp", "alpha\n")
    desk.put("a.txt", "alpha\n")
    found = await desk.ok("search.grep", pattern="al.ha")
    assert [one["file"] for one in found["matches"]] == ["./a.txt"]
    (desk.base / ".gitignore").write_text("*.txt\n")
    found = await desk.ok("search.grep", pattern="al.ha")
    assert [one["file"] for one in found["matches"]] == ["./a.tmp"]


@pytest.mark.requirement("cages.where.search")
@pytest.mark.parametrize("caged", [False, True])
async def test_what_was_cut_from_an_answer_can_be_searched(machine, caged):
    desk = machine.desk.caged(("ro", "src")) if caged else machine.desk
    desk.put("src/a.txt", "".join(f"alpha {number}\n" for number in range(20_000)))
    envelope = await desk.call("search.grep", pattern="al.ha", output_mode="content")
    whole = envelope.metadata.output_path
    found = await desk.ok("search.grep", pattern="al.ha 19999$", path=whole)
    assert [one["file"] for one in found["matches"]] == [whole]
    folder = str(Path(whole).parent)
    assert (await desk.call("search.glob", pattern="*.txt", path=folder)).code == "file_not_found"
    (Path(folder) / "a.py").write_text("beta(1)\n")
    found = await desk.ok("search.ast", pattern="beta($A)", lang="python", paths=[f"{folder}/a.py", "."])
    assert [one["file"] for one in found["matches"]] == [f"{folder}/a.py"]


@pytest.mark.requirement("cages.where.search")
@pytest.mark.parametrize("machine", [FULL], ids=["full"], indirect=True)
async def test_a_caged_search_reads_only_what_its_caller_may_read(machine, monkeypatch):
    """Whoever exchanges a file for a link just when it is read finds nothing else to lead to."""
    desk = machine.desk.caged(("rw", "src"), ("ro", "one.txt"), outside="mark")
    for path in ("src/a.txt", "other/b.txt", "one.txt", ".gitignore"):
        desk.put(path, "alpha\n")
    (desk.root / "src/c.txt").symlink_to("../other/b.txt")
    root, shown = desk.root, []
    of_project = machine.processes._looking

    async def looking(where, cage):
        children = await of_project(where, cage)
        script = f"cat {root}/src/c.txt {root}/other/b.txt {root}/src/a.txt {root}/one.txt"
        done = await children.run(
            ["/bin/sh", "-c", script], owner="t", cwd=root, env={"PATH": "/bin"}, seconds=60, max_output=999
        )
        shown.append(done.stdout.decode())
        return children

    monkeypatch.setattr(machine.processes, "_looking", looking)
    found = await desk.ok("search.grep", pattern="al.ha", output_mode="content")
    assert shown == ["alpha\nalpha\n", "alpha\n" * 4]
    inside = {one["file"]: one.get("content") for one in found["matches"]}
    assert inside == {
        "./.gitignore": None, "./one.txt": "alpha", "./other/b.txt": None, "./src/a.txt": "alpha",
    }  # fmt: skip
    shown.clear()
    narrow = machine.desk.caged(("rw", "src"), ("ro", "one.txt"))
    found = await narrow.ok("search.grep", pattern="al.ha", output_mode="content")
    assert shown == ["alpha\nalpha\n"]
    assert [one["file"] for one in found["matches"]] == ["./one.txt", "./src/a.txt"]


@pytest.mark.requirement("cages.where.git")
async def test_git_notes_a_project_from_its_cage(machine):
    root = repository(machine.desk.root)
    (root / "new.txt").write_text("new\n")
    assert await names_of(machine, root) == [b"new.txt", b"tracked.txt"]


@pytest.mark.requirement("cages.where.git")
async def test_git_finds_a_repository_that_lies_elsewhere(machine):
    base = machine.desk.base
    main = repository(base / "main")
    (main / ".gitignore").write_text("*.tmp\n")
    git(main, "add", "."), git(main, "commit", "-qm", "rules")
    git(main, "worktree", "add", "-q", str(base / "linked"))
    git(base, "clone", "-q", "--shared", str(main), str(base / "shared"))
    git(main, "submodule", "add", "-q", str(base / "shared"), "module")
    (main / "below").mkdir()
    (main / "below" / "a.txt").write_text("a")
    (main / "below" / "a.tmp").write_text("a")
    assert await names_of(machine, base / "linked") == [b".gitignore", b"tracked.txt"]
    assert await names_of(machine, base / "shared") == [b".gitignore", b"tracked.txt"]
    assert await names_of(machine, main / "module") == [b".gitignore", b"tracked.txt"]
    assert await names_of(machine, main / "below") == [b"a.txt"]


@pytest.mark.requirement("cages.where.git")
async def test_what_says_that_it_is_a_repository_elsewhere_is_not_shown_as_one(machine):
    base, root = machine.desk.base, machine.desk.root
    (base / "private").mkdir()
    (base / "private" / "HEAD.txt").write_text("canary")
    (root / ".git").write_text(f"gitdir: {base / 'private'}\n")
    with pytest.raises(GitProblem):
        await names_of(machine, root)


@pytest.mark.requirement("cages.where.git")
@pytest.mark.parametrize("caged", [False, True])
async def test_a_repository_has_git_run_nothing(machine, children, caged):
    """Of what a repository may name, each leaves a mark when it is run; plain git runs some of them."""
    root, base = repository(machine.desk.root), machine.desk.base
    mark = base / "ran" if not caged else root / "ran"
    program = base / "program"
    program.write_text(f"#!/bin/sh\necho $0 >> {mark}\nexit 1\n")
    program.chmod(0o755)
    for name in ("post-index-change", "post-checkout", "pre-commit", "reference-transaction"):
        (root / ".git" / "hooks" / name).write_text(program.read_text())
        (root / ".git" / "hooks" / name).chmod(0o755)
    for key, value in (
        ("core.fsmonitor", str(program)),
        ("core.sshCommand", str(program)),
        ("core.pager", str(program)),
        ("core.editor", str(program)),
        ("filter.f.clean", str(program)),
        ("filter.f.process", str(program)),
        ("credential.helper", f"!{program}"),
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "far"),
        ("remote.far.promisor", "true"),
        ("remote.far.url", f"ext::{program} %S"),
        ("protocol.ext.allow", "always"),
    ):
        git(root, "config", key, value)
    (root / ".gitattributes").write_text("* filter=f\n")
    processes = machine.processes if caged else CallProcesses.uncaged(children)
    objects = GitObjects(processes, dict(os.environ), root, base / "data" / "worktrees" / "one")
    await objects.open()
    assert b"tracked.txt" in await objects.names()
    assert await objects.missing(["f" * 40]) == {"f" * 40}
    await asyncio.to_thread(objects.keep, b"x")
    await objects.write_tree({})
    with pytest.raises(GitProblem):
        await objects.contents(["f" * 40], 1_000)
    assert not mark.exists()
    if not caged:
        await asyncio.to_thread(plainly, root)
        assert mark.exists()  # the programs do run where nothing holds them back


@pytest.mark.requirement("git.programs")
@pytest.mark.parametrize("files", [False, True])
async def test_gits_work_for_an_operator_writes_no_more_than_it_needs(machine, files):
    root = repository(machine.desk.root)
    folders = repository_folders(root)
    machine.desk.put(".kaged/project.yaml", "version: 1\n")
    needed = [".git/index.new", ".git/objects/x", ".git/refs/heads/x", ".git/HEAD.lock"]
    steering = [".git/config", ".git/hooks/x", ".git/info/x"]
    of_tree = ["new.txt", ".kaged/project.yaml"]
    outside = [machine.desk.base / "outside", machine.desk.base / "data" / "x"]
    tried = " ".join([*needed, *steering, *of_tree, *map(str, outside)])
    children = await machine.processes.of_operator(root, folders, (), GitWork(writes=True, files=files))
    done = await children.run(
        ["/bin/sh", "-c", f"for one in {tried}; do (echo x >> $one) 2>/dev/null && echo $one; done; true"],
        owner="test",
        cwd=root,
        env={"PATH": "/usr/bin:/bin"},
        seconds=60,
        max_output=10_000,
    )
    landlock = machine.processes.tier.name == "landlock"
    expected = {*needed, *(steering if landlock else ()), *(of_tree if files else ())}
    # What a cage has for itself may be at the same path.
    assert set(done.stdout.decode().split()) - {*map(str, outside)} == expected
    assert not any(path.exists() for path in outside)


@pytest.mark.requirement("git.programs")
async def test_a_ref_is_made_and_removed_in_a_repository_whose_refs_are_packed(machine):
    root = repository(machine.desk.root)
    commit = git(root, "rev-parse", "HEAD")
    common = root / ".git"
    for arguments in (["refs/kaged/base/one", commit], ["-d", "refs/kaged/base/one"]):
        commands = GitCommands(machine.processes, {}, root, places_for_refs(common))
        await commands.open()
        await commands.run(["update-ref", "--no-deref", *arguments])
        git(root, "pack-refs", "--all")
        assert ("refs/kaged/base/one" in git(root, "for-each-ref")) == (arguments[0] != "-d")
