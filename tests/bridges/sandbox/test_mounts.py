"""What a cage shows of a project, what it freezes, and what happens to protected names made anew."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox import quarantine
from app.bridges.sandbox.egress import Outside
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.new_names import Settled
from app.bridges.sandbox.protected import ProtectedNames
from app.bridges.sandbox.quarantine import take_away
from app.cages.cage import Cage, Mount
from app.errors import ToolError
from tests.bridges.sandbox import mounting_outside
from tests.driver.caging import FULL, INSIDE, Caged, cage_of
from tests.driver.machine import need_tier

REPOSITORY = Path(__file__).parents[3]


class Project:
    """A folder of a test with something protected in it, and what is told of its cages."""

    def __init__(self, children: ChildProcesses, folder: Path) -> None:
        self.root = folder / "project"
        self.quarantine = folder / "quarantine"
        self.told: list[tuple[str, dict[str, Any]]] = []
        outside = Outside(record=lambda event, _, data: self.told.append((event, data)))
        need_tier(FULL)
        self.cages = Cages(children, FULL, outside=outside, quarantine=self.quarantine)
        for name in (".git", "a/b/.git", "docs", "secrets/deep/open"):
            (self.root / name).mkdir(parents=True)
        (self.root / ".git/config").write_text("mine")
        (self.root / "a/.envrc").write_text("mine")
        (self.root / "secrets/deep/key").write_text("canary")
        (self.root / "key").write_text("canary")

    async def cage(self, *more: Mount, key: str = "test", **fields: Any) -> Caged:
        starter = await self.cages.children(key, cage_of(self.root, *more, **fields), self.root)
        return Caged(self.cages, starter, self.root)


@pytest.fixture
async def project(children: ChildProcesses, tmp_path: Path) -> AsyncIterator[Project]:
    made = Project(children, tmp_path)
    yield made
    await made.cages.aclose()


@pytest.mark.requirement("cages.kernel.launch")
async def test_of_nested_grants_the_deepest_decides(project: Project) -> None:
    root = project.root
    cage = await project.cage(
        Mount(root / "docs", "ro"),
        Mount(root / "secrets", "deny"),
        Mount(root / "secrets/deep/open", "rw"),
        Mount(root / "key", "deny"),
    )
    said = await cage.says("cat key secrets/deep/key; ls secrets secrets/deep")
    assert "canary" not in said
    assert said.count("Permission denied") == 4 - 1  # what is beside an open folder is absent
    assert "No such file" in said
    for script in (
        "touch docs/new",
        "echo x > key",
        "touch secrets/new",
        "rm key",
        "rmdir secrets",
        "mv secrets s",
    ):
        assert (await cage.sh(script)).exit_code != 0, script
    assert (await cage.sh("touch new secrets/deep/open/new && rm new")).exit_code == 0
    assert (root / "secrets/deep/open/new").exists()
    assert (root / "key").read_text() == "canary"


@pytest.mark.requirement("cages.kernel.launch")
async def test_what_is_not_granted_is_absent(project: Project) -> None:
    starter = await project.cages.children(
        "test", Cage(mounts=(Mount(project.root / "docs", "ro"),)), project.root
    )
    done = await starter.run(
        ["ls", "-A", str(project.root)],
        owner="test",
        cwd=project.root / "docs",
        env={"PATH": "/usr/bin"},
        seconds=20,
        max_output=1000,
    )
    assert done.stdout == b"docs\n"


@pytest.mark.requirement("cages.policy.protected")
async def test_protected_names_are_frozen_with_the_folders_on_the_way_there(project: Project) -> None:
    cage = await project.cage()
    for script in (
        "echo x > .git/config",
        "touch a/b/.git/new",
        "echo x >> a/.envrc",
        "rm a/.envrc",
        "rm -r .git",
        "mv .git other",
        "mv a/b other",
        "mv a other",
        "chmod 777 .git",
        "ln -f key a/.envrc",
        "mv key a/.envrc",
    ):
        assert (await cage.sh(script)).exit_code != 0, script
    assert await cage.says("touch a/new a/b/new docs/new && cat .git/config a/.envrc") == "minemine"
    assert (project.root / ".git/config").read_text() == "mine"
    assert (project.root / "a/b/.git").is_dir()


@pytest.mark.requirement("cages.policy.protected")
async def test_what_a_protected_link_leads_to_is_frozen_and_the_link_is_not_replaced(
    project: Project,
) -> None:
    (project.root / "shared").mkdir()
    (project.root / "shared/variables").write_text("mine")
    (project.root / ".envrc").symlink_to("shared/variables")
    (project.root / ".vscode").symlink_to("shared/../docs")
    (project.root / ".idea").symlink_to("/etc")
    (project.root / ".husky").symlink_to("nowhere")
    cage = await project.cage()
    for script in (
        "echo x > shared/variables",
        "echo x > .envrc",
        "touch .vscode/new docs/new",
        "mv shared s",
    ):
        assert (await cage.sh(script)).exit_code != 0, script
    assert (await cage.sh("touch shared/new; rm .envrc; echo run > .envrc")).exit_code == 0
    (taken,) = (await project.cages.settle("test")).taken_away
    assert taken.path == str(project.root / ".envrc")
    assert (project.root / "shared/variables").read_text() == "mine"


@pytest.mark.requirement("cages.policy.protected")
async def test_hundreds_of_protected_names_are_frozen(project: Project) -> None:
    for number in range(300):
        (project.root / f"docs/{number}/.git").mkdir(parents=True)
    cage = await project.cage()
    said = await cage.says(
        "for i in $(seq 0 299); do touch docs/$i/.git/new 2>/dev/null && echo $i; done; touch docs/0/new"
    )
    assert said == ""


@pytest.mark.requirement("cages.policy.protected")
async def test_protected_names_are_read_only_though_they_are_granted(project: Project) -> None:
    cage = await project.cage(Mount(project.root / "a/b/.git", "rw"))
    assert (await cage.sh("touch a/b/.git/new")).exit_code != 0


@pytest.mark.requirement("cages.policy.protected")
async def test_what_is_made_under_a_protected_name_is_taken_away_and_reported(project: Project) -> None:
    cage = await project.cage()
    script = (
        "mkdir -p x/y/.git docs/.VSCode && echo run > x/y/.git/hook && echo run > .envrc"
        " && ln -s /etc/passwd .bashrc && mkfifo a/.profile"
        " && mkdir .husky && touch .husky/pre && chmod 000 .husky && touch kept"
    )
    assert (await cage.sh(script)).exit_code == 0
    settled = await project.cages.settle("test")
    names = {".envrc", "x/y/.git", "docs/.VSCode", ".bashrc", "a/.profile", ".husky"}
    assert {one.path for one in settled.taken_away} == {str(project.root / name) for name in names}
    assert settled.complete
    assert all(one.whole and one.kept_at for one in settled.taken_away)
    assert not any(os.path.lexists(project.root / name) for name in names)
    assert (project.root / "kept").exists()
    by_name = {Path(one.path).name: Path(str(one.kept_at)) for one in settled.taken_away}
    assert (by_name[".git"] / ".git/hook").read_text() == "run\n"
    assert {data["path"] for event, data in project.told if event == "cage.name_taken_away"} == {
        str(project.root / name) for name in names
    }
    assert await project.cages.settle("test") == Settled()


@pytest.mark.requirement("cages.policy.protected")
@pytest.mark.parametrize("mode", ["ro", "rw", "deny"])
async def test_a_protected_name_that_a_cage_names_is_taken_away_like_any_other(
    project: Project, mode: Any
) -> None:
    """Nothing can be mounted where nothing is, so that naming it must not take it from what is looked at."""
    named = [Mount(project.root / name, mode) for name in (".vscode", "docs/.envrc", ".git", "later")]
    cage = await project.cage(*named)
    script = "mkdir -p .vscode later/.git && echo run >docs/.envrc && touch later/.git/config"
    assert (await cage.sh(script)).exit_code == 0
    gone = {".vscode", "docs/.envrc", "later/.git"}
    settled = await project.cages.settle("test")
    assert {one.path for one in settled.taken_away} == {str(project.root / name) for name in gone}
    assert not any((project.root / name).exists() for name in gone)
    assert (await cage.sh("touch .git/new")).exit_code != 0
    assert (project.root / ".git/config").read_text() == "mine"
    assert (await cage.sh("mkdir -p later/deeper/.git docs/.git")).exit_code == (0 if mode == "rw" else 1)
    await project.cages.settle("test")
    assert not (project.root / "later/deeper/.git").exists()
    assert not (project.root / "docs/.git").exists()


@pytest.mark.requirement("cages.policy.protected")
async def test_a_folder_that_somebody_else_makes_again_is_looked_through_as_well(project: Project) -> None:
    build = project.root / "build"
    build.mkdir()
    cage = await project.cage(Mount(build, "rw"))
    await cage.says("true")
    for _ in range(2):
        build.rename(project.root / f"old{len(os.listdir(project.root))}")
        build.mkdir()
        await asyncio.sleep(0.05)  # time stamps of files are some milliseconds coarse
        assert (await cage.sh("mkdir build/.git")).exit_code == 0
        (taken,) = (await project.cages.settle("test")).taken_away
        assert taken.path == str(build / ".git")
        assert not (build / ".git").exists()


@pytest.mark.requirement("cages.policy.protected")
async def test_what_was_made_in_the_background_is_taken_away_at_the_end(project: Project) -> None:
    cage = await project.cage()
    child = await cage.start("sleep 0.2; mkdir -p z/.git; touch z/made; sleep 1000", lingers=True)
    async with asyncio.timeout(60):
        while not (project.root / "z/made").exists():  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(0.01)
    await project.cages.end("test")
    assert not (project.root / "z/.git").exists()
    await child.aclose()


@pytest.mark.requirement("cages.policy.protected")
async def test_what_somebody_else_makes_while_nothing_runs_stays_and_is_frozen(project: Project) -> None:
    cage = await project.cage()
    await cage.says("true")
    await asyncio.sleep(0.05)  # time stamps of files are some milliseconds coarse
    (project.root / "docs/.git").mkdir()
    assert (await cage.sh("touch docs/.git/new")).exit_code != 0
    assert (await project.cages.settle("test")).taken_away == ()
    assert (project.root / "docs/.git").exists()


@pytest.mark.requirement("cages.kernel.holder")
async def test_a_cage_is_made_again_when_what_it_names_is_another_by_now(project: Project) -> None:
    root = project.root
    cage = await project.cage(Mount(root / "late", "deny"), Mount(root / "docs", "ro"))
    assert await cage.says("echo one > /tmp/kept; cat late 2>&1") == "cat: late: No such file or directory\n"
    background = await cage.start("echo $$; sleep 1000", lingers=True)
    (root / "late").write_text("canary")
    assert "Permission denied" in await cage.says("cat late")
    os.rename(root / "docs", root / "old")
    (root / "docs").mkdir()
    assert (await cage.sh("touch docs/new")).exit_code != 0
    assert not background.is_gone
    await background.aclose()


@pytest.mark.requirement("cages.kernel.launch")
async def test_links_in_a_project_lead_nowhere_else(project: Project, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("canary")
    (project.root / "link").symlink_to(tmp_path / "outside")
    (project.root / "up").symlink_to("../outside")
    cage = await project.cage(Mount(project.root / "link", "ro"), key="other")
    assert "canary" not in await cage.says("cat link/secret up/secret")


@pytest.mark.requirement("cages.kernel.launch")
async def test_a_project_that_is_called_by_a_link_is_where_it_is_called(
    children: ChildProcesses, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "named").symlink_to(tmp_path / "real")
    root = tmp_path / "named"
    need_tier(FULL)
    cages = Cages(children, FULL)
    try:
        starter = await cages.children("test", cage_of(root), root)
        cage = Caged(cages, starter, root)
        assert (await cage.sh(f"touch {root}/new {tmp_path}/real/other")).exit_code == 0
        assert sorted(os.listdir(tmp_path / "real")) == ["new", "other"]
    finally:
        await cages.aclose()


async def test_the_whole_file_system_is_not_granted(children: ChildProcesses, tmp_path: Path) -> None:
    need_tier(FULL)
    cages = Cages(children, FULL)
    try:
        starter = await cages.children("test", Cage(mounts=(Mount(Path("/"), "rw"),)), tmp_path)
        with pytest.raises(ToolError, match="whole file system") as told:
            await starter.run(["true"], owner="test", cwd=tmp_path, env={}, seconds=20, max_output=10)
        assert told.value.code == "cage_unavailable"
    finally:
        await cages.aclose()


def test_what_lies_on_another_file_system_is_copied_and_removed(tmp_path: Path) -> None:
    other = Path("/dev/shm")
    if other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is only one file system")
    folder = other / f"kaged-test-{os.getpid()}"
    (folder / "x/.git/deep").mkdir(parents=True)
    try:
        (folder / "x/.git/deep/file").write_text("kept")
        (folder / "x/.git/link").symlink_to("/etc/passwd")
        os.mkfifo(folder / "x/.git/pipe")
        names = ProtectedNames(os.open(folder, os.O_RDONLY), frozenset())
        (found,) = names.look()
        one = take_away(names.descriptor, str(folder), found, tmp_path / "kept")
        names.close()
        assert one is not None
        assert one.kept_at is not None
        assert not one.whole  # the pipe is not kept
        kept = Path(one.kept_at) / ".git"
        assert (kept / "deep/file").read_text() == "kept"
        assert os.readlink(kept / "link") == "/etc/passwd"
        assert not (kept / "pipe").exists()
        assert os.listdir(folder / "x") == []
    finally:
        os.rmdir(folder / "x")
        os.rmdir(folder)


def test_copies_leave_room_for_the_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Path("/dev/shm")
    if other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is only one file system")
    folder = other / f"kaged-test-room-{os.getpid()}"
    folder.mkdir()
    try:
        names = ProtectedNames(os.open(folder, os.O_RDONLY), frozenset())
        for share, kept in ((1.0, ""), (0.0, "kept")):
            monkeypatch.setattr(quarantine, "FREE_SHARE", share)
            (folder / ".envrc").write_text("kept")
            (found,) = names.look()
            one = take_away(names.descriptor, str(folder), found, tmp_path / "kept")
            assert one is not None
            assert one.kept_at is not None
            assert (Path(one.kept_at, ".envrc").read_text(), one.whole) == (kept, bool(kept))
            assert os.listdir(folder) == []
        names.close()
    finally:
        folder.rmdir()


def test_more_names_than_are_noted_are_found_one_part_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.bridges.sandbox.protected.MAX_KNOWN", 10)
    for number in range(25):
        (tmp_path / f"{number:02}").mkdir()
        (tmp_path / f"{number:02}/.git").mkdir()
    names = ProtectedNames(os.open(tmp_path, os.O_RDONLY), frozenset())
    seen = 0
    for _ in range(5):
        for found in names.look():
            (tmp_path.joinpath(*found.parts)).rmdir()
            del names.found[found.parts]
            seen += 1
    assert (seen, names.complete) == (25, True)
    names.close()


@pytest.mark.requirement("cages.policy.protected")
async def test_what_is_removed_and_made_again_by_somebody_else_is_frozen_again(project: Project) -> None:
    cage = await project.cage()
    for _ in range(5):
        assert (await cage.sh("echo x >> a/.envrc")).exit_code != 0
        await asyncio.sleep(0.05)  # time stamps of files are some milliseconds coarse
        (project.root / "a/.envrc").unlink()
        (project.root / "a/.envrc").write_text("again")
    assert (project.root / "a/.envrc").read_text() == "again"


@pytest.mark.needs("cages")
@pytest.mark.requirement("cages.kernel.launch")
def test_what_is_mounted_outside_does_not_come_into_a_cage_that_is_there(tmp_path: Path) -> None:
    for folder in mounting_outside.FOLDERS:
        (tmp_path / folder).mkdir(parents=True)
    own_user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    done = subprocess.run(
        [
            *("unshare", *own_user, "--mount", "--propagation", "shared"),
            *(sys.executable, mounting_outside.__file__, str(tmp_path)),
        ],
        env={"PYTHONPATH": os.pathsep.join([str(REPOSITORY), *filter(None, sys.path)]), **INSIDE},
        capture_output=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    seen = json.loads(done.stdout)
    assert seen.pop("shown") == "written\n"
    assert all("Read-only file system" in said for said in seen.values()), seen
    assert not any("later" in said or "written" in said for said in seen.values()), seen
