"""The bounds of a cage: memory, processes, processor, files, and time."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.bounds import ControlGroups, process_limits
from app.bridges.sandbox.holder import Holder
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.one_cage import OneCage
from app.bridges.sandbox.tier import Tier
from app.cages.cage import Cage, CageLimits, Mount
from app.cages.file_grants import Mode
from app.errors import ToolError
from tests.bridges.conftest import until
from tests.driver.caging import FULL, INSIDE, Caged, cage_of, caged
from tests.driver.machine import need_tier

TAKES = "python3 -c \"x = b'x' * {mib} * 2**20; print(len(x))\""


def _groups_left() -> list[Path]:
    return [*Path("/sys/fs/cgroup").glob(f"**/kaged-{os.getpid()}-*")]


@pytest.mark.requirement("cages.kernel.limits")
async def test_memory_is_bounded(children: ChildProcesses, tmp_path: Path) -> None:
    async with caged(children, tmp_path, cage_of(tmp_path, limits=CageLimits(memory_mb=100))) as cage:
        assert (await cage.sh(TAKES.format(mib=20))).exit_code == 0
        assert (await cage.sh(TAKES.format(mib=300))).exit_code != 0
        assert await cage.says("echo the cage goes on") == "the cage goes on\n"
    assert _groups_left() == []


@pytest.mark.requirement("cages.kernel.limits")
async def test_processes_are_bounded_for_all_of_the_cage(children: ChildProcesses, tmp_path: Path) -> None:
    limits = CageLimits(pids=20)
    groups = ControlGroups.make(limits)
    bounded = "pids" in groups.controllers
    groups.remove()
    if not bounded and os.getuid() == 0:
        pytest.skip("root's processes are bounded by control groups only, and there are none")
    async with caged(children, tmp_path, cage_of(tmp_path, limits=limits)) as cage:
        said = await cage.says("for i in $(seq 100); do sleep 5 & done; ps -eo args | grep -c '^sleep 5'")
        assert "fork" in said.lower() or "Resource temporarily unavailable" in said
        assert (await cage.sh("true")).exit_code == 0


@pytest.mark.requirement("cages.kernel.limits")
async def test_files_are_bounded_in_size_and_number(children: ChildProcesses, tmp_path: Path) -> None:
    limits = CageLimits(file_size_mb=1, open_files=32)
    async with caged(children, tmp_path, cage_of(tmp_path, limits=limits)) as cage:
        assert (await cage.sh("head -c 1000000 /dev/zero > fits")).exit_code == 0
        assert (await cage.sh("head -c 3000000 /dev/zero > does-not")).exit_code != 0
        assert (tmp_path / "does-not").stat().st_size <= 1 << 20
        assert await cage.says("ulimit -n; ulimit -Hn; ulimit -c") == "32\n32\n0\n"


@pytest.mark.requirement("cages.kernel.limits")
async def test_processor_time_is_bounded_for_each_process_and_for_the_cage(
    children: ChildProcesses, tmp_path: Path
) -> None:
    async with caged(children, tmp_path, cage_of(tmp_path, limits=CageLimits(cpu_seconds=1))) as cage:
        assert (await cage.sh("while :; do :; done", seconds=60)).exit_code in {128 + 24, 137}
        counted = ControlGroups.make(CageLimits(cpu_seconds=1))
        if counted.controllers:
            spinning = "timeout 0.9 sh -c 'while :; do :; done'; "
            assert (await cage.sh(spinning * 100, seconds=60)).exit_code == 137
        counted.remove()


def test_limits_of_processes_leave_out_what_is_bounded_for_all() -> None:
    limits = CageLimits(memory_mb=5, pids=7)
    assert process_limits(limits) == {"RLIMIT_CORE": 0, "RLIMIT_DATA": 5 << 20, "RLIMIT_NPROC": 8}
    assert process_limits(limits, grouped=frozenset({"memory", "pids"})) == {"RLIMIT_CORE": 0}


@pytest.mark.requirement("cages.kernel.limits")
async def test_limits_beyond_what_the_kernel_counts_are_no_hindrance(
    children: ChildProcesses, tmp_path: Path
) -> None:
    most = 10**18
    limits = CageLimits(most, most, most, most, most, most)
    async with caged(children, tmp_path, cage_of(tmp_path, limits=limits)) as cage:
        assert await cage.says("echo yes") == "yes\n"
    assert process_limits(CageLimits()) == {"RLIMIT_CORE": 0}


def test_control_groups_of_one_hierarchy_are_made_below_a_delegated_one(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("0::/service/daemon\n")
    above = tmp_path / "tree/service"
    (above / "daemon").mkdir(parents=True)
    (above / "daemon/cgroup.subtree_control").write_text("")
    (above / "cgroup.subtree_control").write_text("memory pids")
    groups = ControlGroups.make(CageLimits(memory_mb=3, pids=4, cpu_seconds=5), tmp_path / "tree", mine)
    assert groups.controllers == {"memory", "pids"}
    (folder,) = above.glob("kaged-*")
    assert (folder / "memory.max").read_text() == str(3 << 20)
    assert (folder / "pids.max").read_text() == "5"
    groups.take(17)
    assert (folder / "cgroup.procs").read_text() == "17"


def test_without_control_groups_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("3:pids:/gone\n0::/gone\n")
    for mine in (tmp_path / "mine", tmp_path / "missing"):
        assert (
            ControlGroups.make(CageLimits(memory_mb=3, pids=4), tmp_path / "tree", mine).controllers
            == frozenset()
        )


@pytest.mark.requirement("cages.kernel.limits")
@pytest.mark.parametrize("tier", [FULL, Tier("off", "the test says so")])
async def test_after_the_wall_time_everything_is_ended_and_nothing_is_started(
    children: ChildProcesses, tmp_path: Path, tier: Tier
) -> None:
    need_tier(tier)
    cages = Cages(children, tier)
    try:
        cage = cage_of(tmp_path, limits=CageLimits(walltime_seconds=5))
        starter = await cages.children("test", cage, tmp_path)
        held = Caged(cages, starter, tmp_path)
        began = time.monotonic()
        background = await held.start("setsid sleep 1000 & sleep 1000", lingers=True)
        done = await held.sh("echo begun; sleep 1000", seconds=60)
        assert (done.exit_code, done.stdout, done.timed_out) == (137, b"begun\n", False)
        assert time.monotonic() - began >= 5
        async with asyncio.timeout(60):
            await background.wait_for_all()
        assert cages.has_run_out("test")
        with pytest.raises(ToolError, match="wall time") as told:
            await starter.start(["true"], owner="test", cwd=tmp_path, env=INSIDE)
        assert told.value.code == "walltime_exceeded"
    finally:
        await cages.aclose()


@pytest.mark.requirement("cages.kernel.limits")
async def test_nothing_is_started_when_the_wall_time_ends_while_the_cage_is_made(
    children: ChildProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = OneCage._made

    async def slowly(cage: OneCage) -> Holder:
        holder = await made(cage)
        await until(lambda: cage.wall_time.is_over)
        return holder

    monkeypatch.setattr(OneCage, "_made", slowly)
    async with caged(children, tmp_path, cage_of(tmp_path, limits=CageLimits(walltime_seconds=1))) as cage:
        with pytest.raises(ToolError, match="wall time"):
            await cage.start("sleep 1000")
        assert not cage.cages.is_busy("test")


@pytest.mark.requirement("cages.kernel.holder")
async def test_nobody_looks_after_a_cage_that_is_ended_while_it_is_made(
    children: ChildProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = OneCage._made
    is_made = asyncio.Event()

    async def slowly(cage: OneCage) -> Holder:
        holder = await made(cage)
        is_made.set()
        await until(lambda: cage._ended)
        return holder

    monkeypatch.setattr(OneCage, "_made", slowly)
    async with caged(children, tmp_path) as cage:
        starting = asyncio.create_task(cage.sh("sleep 1000"))
        await is_made.wait()
        await cage.cages.end("test")
        await asyncio.wait({starting})
        assert [one.get_name() for one in asyncio.all_tasks() if "looked after" in one.get_name()] == []
        assert starting.exception() is not None or starting.result().exit_code == 137


@pytest.mark.requirement("cages.kernel.state")
async def test_home_and_temporary_files_go_with_the_cage_or_are_kept(
    children: ChildProcesses, tmp_path: Path
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    left = "cat ~/kept /tmp/kept 2>/dev/null; echo home > ~/kept; echo tmp > /tmp/kept"
    for folder, again in ((None, ""), (tmp_path / "state/agent", "home\ntmp\n")):
        for expected in ("", again):
            async with caged(children, root, cage_of(root, state_folder=folder)) as cage:
                assert await cage.says(left) == expected
    assert (tmp_path / "state/agent/home/kept").exists()
    assert (tmp_path / "state/agent").stat().st_mode & 0o077 == 0


@pytest.mark.requirement("cages.kernel.state")
@pytest.mark.parametrize("mode", ["rw", "ro"])
async def test_links_that_were_left_in_what_is_kept_lead_nowhere(
    children: ChildProcesses, tmp_path: Path, mode: Mode
) -> None:
    """The project lies below /tmp, which the cage has kept, and bubblewrap makes the folders on the way."""
    root, victim = tmp_path / "in/project", tmp_path / "victim"
    root.mkdir(parents=True)
    victim.mkdir()
    (root / "there").touch()
    cage = Cage(mounts=(Mount(root, mode),), state_folder=tmp_path / "state")
    first = root.parts[2]
    script = f"cd /; cat {root}/there && mv /tmp/{first} /tmp/old && ln -s /oldroot{victim} /tmp/{first}"
    async with caged(children, root, cage) as one:
        assert (await one.sh(script)).exit_code == 0
    async with caged(children, root, cage) as one:
        with pytest.raises(ToolError) as told:
            await one.sh("true")
        assert told.value.code == "cage_unavailable"
    assert list(victim.iterdir()) == []
    (tmp_path / "state/tmp" / first).unlink()
    async with caged(children, root, cage) as one:
        assert (await one.sh("touch new")).exit_code == (0 if mode == "rw" else 1)
        assert (await one.sh("ls /run/kaged/stage/0 /run/kaged/stage")).stdout == b""
    assert (root / "new").exists() is (mode == "rw")


@pytest.mark.requirement("cages.kernel.limits")
async def test_temporary_files_are_bounded(children: ChildProcesses, tmp_path: Path) -> None:
    async with caged(children, tmp_path) as cage:
        for folder in ("/tmp", "$HOME", "/dev/shm", "/var/tmp"):
            assert int((await cage.says(f"df -k --output=size {folder} | tail -1")).strip()) <= 1 << 20
