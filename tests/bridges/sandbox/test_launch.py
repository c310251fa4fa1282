"""Starting in a cage: what a command sees, what it inherits, how it and all that it started end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.process import ChildProcesses
from app.bridges.pty.command import CommandSpec
from app.bridges.pty.manager import TerminalManager
from tests.bridges.conftest import children_of, descriptors, until
from tests.driver.caging import INSIDE, Caged, caged


@pytest.fixture
async def cage(children: ChildProcesses, tmp_path: Path) -> AsyncIterator[Caged]:
    root = tmp_path / "project"
    root.mkdir()
    async with caged(children, root) as made:
        yield made


@pytest.mark.requirement("cages.kernel.launch")
async def test_a_command_reads_and_writes_its_project_and_sees_nothing_else(cage: Caged) -> None:
    (cage.root.parent / "secret").write_text("canary")
    (cage.root / "given").write_text("given")
    assert await cage.says("cat given; pwd; echo made > made") == f"given{cage.root}\n"
    assert (cage.root / "made").read_text() == "made\n"
    assert "canary" not in await cage.says("cat ../secret; ls -la ..; cat ~/* /srv/*/* 2>/dev/null")
    assert await cage.says("ls ..") == "project\n"


@pytest.mark.requirement("cages.kernel.launch")
async def test_the_system_is_there_to_read_and_not_to_write(cage: Caged) -> None:
    said = await cage.says(
        "for one in / /usr /usr/bin /etc /dev /proc /proc/sys/kernel /run /var /home; do"
        " touch $one/new 2>/dev/null && echo written: $one; done;"
        " echo 1 > /proc/sys/vm/drop_caches; echo 0 > /proc/self/oom_score_adj; true"
    )
    assert "written" not in said
    assert said.count("Read-only file system") == 2
    assert "agent" in await cage.says("id -un")
    assert await cage.says("head -c 3 /dev/urandom | wc -c; echo lost > /dev/null") == "3\n"
    assert await cage.says("echo kept > /tmp/a; echo too > ~/b; cat /tmp/a ~/b") == "kept\ntoo\n"


@pytest.mark.requirement("cages.kernel.launch")
async def test_the_process_ids_and_the_network_are_its_own(cage: Caged) -> None:
    # The holder, sh, ls, and grep when it has begun; the machine has many more.
    assert (await cage.says("ls /proc | grep -c '^[0-9]'")).strip() in {"3", "4", "5"}
    assert await cage.says("cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '") == "lo\n"


@pytest.mark.requirement("cages.kernel.environment")
async def test_the_environment_is_what_was_given_and_what_the_cage_says(cage: Caged) -> None:
    said = await cage.says("env; cat /proc/1/environ", GIVEN="yes", HOME="/root", SSH_AUTH_SOCK="/x")
    names = {line.partition("=")[0] for line in said.splitlines() if "=" in line}
    assert names <= {
        "GIVEN",
        "HOME",
        "TMPDIR",
        "USER",
        "LOGNAME",
        "LANG",
        "PATH",
        "PWD",
        "KAGED_COMMAND",
        "_",
    }
    assert "HOME=/home/agent" in said
    assert "/proc/1/environ: Permission denied" in said


@pytest.mark.requirement("cages.kernel.launch")
async def test_a_command_inherits_no_descriptor_no_ignored_signal_and_no_capability(cage: Caged) -> None:
    said = await cage.says(
        "ls /proc/self/fd; grep -E 'Sig(Ign|Blk)|Cap(Prm|Eff|Bnd)|NoNewPrivs|Seccomp:' /proc/self/status"
    )
    words = said.split()
    assert words[:4] == ["0", "1", "2", "3"]  # 3 is the folder that ls reads
    found = dict(zip(words[4::2], words[5::2], strict=True))
    assert int(found["SigBlk:"], 16) == 0
    assert int(found["SigIgn:"], 16) & 0x7FFF_FFFF == 0
    assert {found[f"Cap{one}:"] for one in ("Prm", "Eff", "Bnd")} == {"0" * 16}
    assert (found["NoNewPrivs:"], found["Seccomp:"]) == ("1", "2")


@pytest.mark.requirement("cages.kernel.holder")
async def test_exit_codes_input_and_bounds_are_those_of_any_child(cage: Caged) -> None:
    assert (await cage.sh("exit 7")).exit_code == 7
    assert (await cage.sh("kill -TERM $$")).exit_code == 143
    for seconds in (0.5, 2.0, 8.0, 20.0):
        late = await cage.sh("echo before; sleep 60", seconds=seconds)
        if late.stdout:  # on a busy machine it says nothing so soon
            break
    assert (late.exit_code, late.stdout, late.timed_out) == (137, b"before\n", True)
    done = await cage.starter.run(
        ["cat"],
        owner="test",
        cwd=cage.root,
        env=INSIDE,
        input=b"x" * 300_000,
        seconds=60,
        max_output=1_000_000,
    )
    assert done.stdout == b"x" * 300_000


@pytest.mark.requirement("cages.kernel.holder")
async def test_long_command_lines_come_through_whole(cage: Caged) -> None:
    text = "ä\udcff" + "y" * 100_000
    done = await cage.starter.run(
        ["printf", "%s", text], owner="test", cwd=cage.root, env=INSIDE, seconds=60, max_output=1_000_000
    )
    assert done.stdout == os.fsencode(text)


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["no-such-program"], "no program 'no-such-program' in the cage"),
        (["./missing"], "No such file"),
        (["/etc/passwd"], "Permission denied"),
        (["a\0b"], "null character"),
        (["sh", "x" * 300_000], "too long"),
    ],
)
async def test_what_cannot_be_started_is_reported_in_words_and_leaves_nothing_open(
    cage: Caged, argv: list[str], reason: str
) -> None:
    await cage.says("true")
    await cage.cages.settle("test")  # what looks for new names has folders open meanwhile
    before = descriptors()
    with pytest.raises(SpawnFailed) as told:
        await cage.starter.start(argv, owner="test", cwd=cage.root, env=INSIDE, stdin="pipe")
    assert reason in told.value.reason
    await until(lambda: descriptors() == before)


@pytest.mark.requirement("cages.kernel.descriptors")
async def test_the_working_folder_is_the_one_that_is_meant_or_none(cage: Caged) -> None:
    folder = cage.root / "folder"
    folder.mkdir()
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    outside = os.open(cage.root.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        child = await cage.starter.start(["pwd"], owner="test", cwd=descriptor, env=INSIDE)
        async with child:
            assert child.stdout is not None
            assert await child.stdout.read() == f"{folder}\n".encode()
        folder.rmdir()
        folder.mkdir()
        for one in (descriptor, outside):
            with pytest.raises(SpawnFailed, match="is not in the cage"):
                await cage.starter.start(["pwd"], owner="test", cwd=one, env=INSIDE)
    finally:
        os.close(descriptor)
        os.close(outside)


@pytest.mark.requirement("cages.kernel.holder")
async def test_what_a_command_leaves_behind_ends_with_it(cage: Caged) -> None:
    child = await cage.start("setsid sh -c 'exec env -i sleep 1000' & (sleep 1000 &) ; echo here; exit 3")
    async with child:
        assert await child.wait() == 3
        async with asyncio.timeout(60):
            await child.wait_for_all()
    assert (await cage.says("ps -eo args")).count("sleep 1000") == 0


@pytest.mark.requirement("cages.kernel.holder")
async def test_what_lingers_is_stopped_with_its_own_command_and_not_with_another(cage: Caged) -> None:
    first = await cage.start("sleep 1001 & setsid sleep 1002 & echo", lingers=True)
    second = await cage.start("sleep 1003 & echo", lingers=True)
    assert await first.wait() == await second.wait() == 0
    await until(lambda: len(first.left_behind) == 2 and len(second.left_behind) == 1)
    await first.stop(0.5)
    assert first.is_gone
    said = await cage.says("ps -eo args")
    assert "sleep 1003" in said
    assert "sleep 1001" not in said
    assert "sleep 1002" not in said
    await second.aclose()
    assert "sleep 1003" not in await cage.says("ps -eo args")


@pytest.mark.requirement("cages.kernel.holder")
async def test_a_command_is_asked_before_it_is_killed(cage: Caged) -> None:
    child = await cage.start("trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.05; done")
    assert child.stdout is not None
    assert await child.stdout.readline() == b"ready\n"
    assert await child.stop(60) == 5
    assert await child.stdout.read() == b"asked\n"
    await child.aclose()
    stubborn = await cage.start("trap '' TERM; echo ready; while :; do sleep 0.05; done")
    assert stubborn.stdout is not None
    await stubborn.stdout.readline()
    assert await stubborn.stop(0.2) == 128 + signal.SIGKILL
    await stubborn.aclose()


@pytest.mark.requirement("cages.kernel.holder")
async def test_the_end_of_a_cage_is_the_end_of_everything_in_it(
    children: ChildProcesses, tmp_path: Path
) -> None:
    before = children_of(os.getpid()).keys()
    async with caged(children, tmp_path) as cage:
        child = await cage.start("setsid sleep 1004 & sleep 1004", lingers=True)
        pid = child.pid
        assert Path(f"/proc/{pid}").exists()
    assert await child.wait() == 137
    assert not Path(f"/proc/{pid}").exists()
    await child.aclose()
    await children.aclose()
    assert children_of(os.getpid()).keys() <= before


@pytest.mark.requirement("cages.kernel.terminal")
async def test_a_terminal_is_a_controlling_one_and_its_commands_go_on_in_the_background(
    children: ChildProcesses, cage: Caged
) -> None:
    terminals = TerminalManager(children, per_session=4, grace_seconds=0.3)
    folder = os.open(cage.root, os.O_RDONLY | os.O_DIRECTORY)

    def spec(command: str) -> CommandSpec:
        return CommandSpec(
            command=command,
            session_id="ses",
            agent_path="primary",
            cwd=folder,
            shown_cwd=".",
            env=INSIDE,
            open_file=lambda: open(cage.root / "whole.txt", "wb"),
            children=cage.starter,
        )

    try:
        async with terminals.command(
            spec("echo direct > /dev/tty; stty size < /dev/tty; test -t 1 && echo terminal")
        ) as one:
            await terminals.finish(one, 60)
        assert one.output.text() == "direct\n40 120\nterminal\n"
        async with terminals.command(spec("sleep 1005 & echo first")) as other:
            await terminals.finish(other, 60)
        assert (other.exit_code, other.state) == (0, "background")
        await terminals.stop(other)
        assert other.state == "ended"
        assert "sleep 1005" not in await cage.says("ps -eo args")
    finally:
        os.close(folder)
        await terminals.aclose()
