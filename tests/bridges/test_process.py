"""Children: how they are started, what they inherit, how they and all that they started end."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import sys
from pathlib import Path

import pytest

from app.bridges.processes.child import Child, SpawnFailed
from app.bridges.processes.process import ChildProcesses
from tests.bridges.conftest import ENVIRONMENT, alive, children_of, descriptors, until


async def started(children: ChildProcesses, script: str, folder: Path, **options: object) -> Child:
    return await children.start(
        ["/bin/sh", "-c", script],
        owner="test",
        cwd=folder,
        env=ENVIRONMENT,
        **options,  # type: ignore[arg-type]
    )


async def pids_in(file: Path, count: int) -> list[int]:
    """Return the process ids that a script wrote, one to a line, once there are so many."""
    await until(lambda: file.exists() and len(file.read_text().split()) >= count)
    return [int(line) for line in file.read_text().split()]


async def test_a_small_program_is_run_to_its_end_with_its_whole_output(
    children: ChildProcesses, tmp_path: Path
) -> None:
    finished = await children.run(
        ["sh", "-c", "cat; echo wrong >&2; exit 3"],
        owner="test",
        cwd=tmp_path,
        env=ENVIRONMENT,
        input=b"given",
        seconds=60,
        max_output=100,
    )
    assert (finished.exit_code, finished.stdout, finished.stderr) == (3, b"given", b"wrong\n")
    assert not finished.truncated
    assert not finished.timed_out


async def test_a_program_that_takes_too_long_or_says_too_much_is_killed(
    children: ChildProcesses, tmp_path: Path
) -> None:
    async def run(*argv: str, seconds: float) -> tuple[int, bytes, bool, bool]:
        done = await children.run(
            argv, owner="test", cwd=tmp_path, env=ENVIRONMENT, seconds=seconds, max_output=10
        )
        return done.exit_code, done.stdout, done.truncated, done.timed_out

    for seconds in (0.3, 1.0, 5.0, 20.0):
        late = await run("sh", "-c", "echo before; sleep 60", seconds=seconds)
        if late[1]:  # on a busy machine it says nothing so soon
            break
    assert late == (137, b"before\n", False, True)
    assert await run("yes", seconds=60) == (137, b"y\ny\ny\ny\ny\n", True, False)


@pytest.mark.parametrize("by_descriptor", [False, True])
async def test_the_working_folder_may_be_a_descriptor_whose_path_leads_elsewhere_by_now(
    children: ChildProcesses, tmp_path: Path, by_descriptor: bool
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "mark").write_text("the right one")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    if by_descriptor:
        folder.rename(tmp_path / "moved")
        (tmp_path / "folder").mkdir()
    done = await children.run(
        ["cat", "mark"],
        owner="test",
        cwd=descriptor if by_descriptor else folder,
        env=ENVIRONMENT,
        seconds=60,
        max_output=100,
    )
    os.close(descriptor)
    assert done.stdout == b"the right one"


@pytest.mark.parametrize(
    ("argv", "env", "reason"),
    [
        (["no-such-program"], {}, "no program 'no-such-program'"),
        (["./missing"], {}, "No such file"),
        (["/etc/passwd"], {}, "Permission denied"),
        (["a\0b"], {}, "null character"),
        (["sh", "\ud800"], {}, "not valid text"),
        (["sh", "x" * 300_000], {}, "too long"),
        (["sh"], {"a=b": "c"}, "not the name of a variable"),
    ],
)
async def test_what_cannot_be_started_is_reported_in_words_and_leaves_nothing_open(
    children: ChildProcesses, tmp_path: Path, argv: list[str], env: dict[str, str], reason: str
) -> None:
    async with await started(children, "true", tmp_path):
        pass  # the guardian is there from now on
    before = descriptors()
    with pytest.raises(SpawnFailed) as told:
        await children.start(argv, owner="test", cwd=tmp_path, env=ENVIRONMENT | env, stdin="pipe")
    assert reason in told.value.reason
    assert descriptors() == before


async def test_a_folder_that_is_gone_is_reported(children: ChildProcesses, tmp_path: Path) -> None:
    with pytest.raises(SpawnFailed, match="No such file"):
        await children.start(["true"], owner="test", cwd=tmp_path / "gone", env=ENVIRONMENT)


async def test_a_child_inherits_no_descriptor_no_ignored_signal_and_no_blocked_one(
    children: ChildProcesses, tmp_path: Path
) -> None:
    leaky = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(leaky, True)
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        done = await children.run(
            ["sh", "-c", "ls /proc/self/fd; grep -E 'Sig(Ign|Blk)' /proc/self/status"],
            owner="test",
            cwd=tmp_path,
            env=ENVIRONMENT,
            seconds=60,
            max_output=10_000,
        )
    finally:
        signal.signal(signal.SIGHUP, previous)
        os.close(leaky)
    words = done.stdout.decode().split()
    assert words[:4] == ["0", "1", "2", "3"]  # 3 is the folder that ls reads
    blocked, ignored = (int(words[number], 16) for number in (5, 7))
    assert blocked == 0
    assert ignored & 0x7FFF_FFFF == 0  # the C library keeps two beyond for itself


async def test_a_child_on_a_terminal_has_it_as_the_controlling_one(
    children: ChildProcesses, tmp_path: Path
) -> None:
    outer, inner = pty.openpty()
    script = "echo told > /dev/tty; cut -d ' ' -f 1,6,8 /proc/$$/stat; test -t 1 && test -t 2; echo $?"
    async with await started(children, script, tmp_path, terminal=inner) as child:
        assert await child.wait() == 0
        told: list[bytes] = []
        while len(told) < 5:
            told += os.read(outer, 1000).split()
        assert (told[0], told[4]) == (b"told", b"0")
        pid, session, foreground = told[1:4]
        assert int(session) == int(pid) == int(foreground) == child.pid
    os.close(inner)
    os.close(outer)


async def test_exit_codes_tell_signals_apart(children: ChildProcesses, tmp_path: Path) -> None:
    for script, code in (("exit 42", 42), ("kill -TERM $$", 143), ("kill -KILL $$", 137)):
        async with await started(children, script, tmp_path) as child:
            assert await child.wait() == code
            assert child.exit_code == code


@pytest.mark.parametrize("way", ["leaving", "stopping", "cancelling"])
async def test_however_a_child_is_left_nothing_that_it_started_remains(
    children: ChildProcesses, tmp_path: Path, way: str
) -> None:
    """Children, grandchildren in sessions of their own, some without the environment."""
    script = """
        trap '' TERM
        echo $$ >> pids
        sleep 600 & echo $! >> pids
        setsid sh -c 'echo $$ >> pids; sleep 600' &
        env -i setsid /bin/sh -c '/bin/sleep 600 & echo $! >> pids; trap "" TERM; /bin/sleep 600' &
        setsid sh -c 'setsid sh -c "echo \\$\\$ >> pids; exec sleep 600" & exit' &
        wait
    """
    child = await started(children, script, tmp_path)
    pids = await pids_in(tmp_path / "pids", 5)
    if way == "leaving":
        async with child:
            pass
    elif way == "stopping":
        assert await child.stop(0.2) == 137
    else:
        task = asyncio.create_task(child.stop(60))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await until(lambda: not any(alive(pid) for pid in pids))


async def test_what_a_child_leaves_behind_ends_with_it(children: ChildProcesses, tmp_path: Path) -> None:
    async with await started(children, "setsid sleep 600 & echo $! > pids", tmp_path) as child:
        (pid,) = await pids_in(tmp_path / "pids", 1)
        await child.wait()
        await child.wait_for_all()
        assert not alive(pid)


async def test_what_a_lingering_child_leaves_behind_lives_until_it_is_stopped(
    children: ChildProcesses, tmp_path: Path
) -> None:
    child = await started(children, "setsid sleep 600 & echo $! > pids", tmp_path, lingers=True)
    (pid,) = await pids_in(tmp_path / "pids", 1)
    await child.wait()
    assert child.left_behind == (pid,)
    await child.stop(5)
    assert not alive(pid)
    assert child.left_behind == ()


@pytest.mark.parametrize("start", ["setsid -f sleep 600", "setsid setsid -f env KEPT=1 sleep 600"])
async def test_an_orphan_in_a_session_of_its_own_ends_with_the_child_that_started_it(
    children: ChildProcesses, tmp_path: Path, start: str
) -> None:
    """Two children do the same, and only one of them is ended."""
    first, second = [
        await started(children, f"{start}; exec sleep 601", tmp_path, lingers=True) for _ in range(2)
    ]
    await until(lambda: len(first.left_behind) == len(second.left_behind) == 1)
    (gone,), (stays,) = first.left_behind, second.left_behind
    await first.stop(5)
    assert not alive(gone)
    assert alive(stays)
    await second.aclose()
    assert not alive(stays)


async def test_an_ambiguous_orphan_ends_with_the_last_child_it_may_belong_to(
    children: ChildProcesses, tmp_path: Path
) -> None:
    """It has a session of its own, no environment, and two children ran when it was started."""
    script = "env -i setsid /bin/sh -c '/bin/sleep 600 & echo $! > orphan'; sleep 600"
    first = await started(children, script, tmp_path)
    second = await started(children, "sleep 600", tmp_path)
    (pid,) = await pids_in(tmp_path / "orphan", 1)
    await until(lambda: pid in children_of(os.getpid()))
    await first.aclose()
    await second.aclose()
    await until(lambda: not alive(pid))


async def test_an_orphan_that_has_ended_before_it_comes_is_reaped_though_no_child_is_left(
    children: ChildProcesses, tmp_path: Path
) -> None:
    await (await started(children, "exit 0", tmp_path)).aclose()
    script = (
        "import os; pid = os.fork() or (os.setsid(), os._exit(0));"
        "os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT); os._exit(0)"
    )
    before = children_of(os.getpid()).keys()
    forker = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
    await forker.wait()
    assert "Z" in {state for pid, state in children_of(os.getpid()).items() if pid not in before}
    children.adopt_now()
    await until(lambda: children_of(os.getpid()).keys() <= before)


async def test_children_of_others_in_this_process_are_left_alone(
    children: ChildProcesses, tmp_path: Path
) -> None:
    others = ChildProcesses()
    theirs = await started(others, "sleep 0.5; exit 7", tmp_path)
    mine = await started(children, "exit 0", tmp_path)
    await mine.aclose()
    await children.aclose()
    assert await theirs.wait() == 7
    await others.aclose()


async def test_closing_kills_and_reaps_every_child(tmp_path: Path) -> None:
    before = children_of(os.getpid()).keys()
    children = ChildProcesses()
    for _ in range(5):
        await started(children, "trap '' TERM HUP; sleep 600 & wait", tmp_path)
    assert len(children_of(os.getpid()).keys() - before) == 6  # one is the guardian
    await children.aclose()
    assert children_of(os.getpid()).keys() <= before


async def test_pipes_and_watches_leave_no_descriptor_behind(children: ChildProcesses, tmp_path: Path) -> None:
    async with await started(children, "true", tmp_path):
        pass  # the guardian is there from now on
    before = descriptors()
    for _ in range(20):
        await children.run(
            ["cat"], owner="test", cwd=tmp_path, env=ENVIRONMENT, input=b"x", seconds=60, max_output=9
        )
        async with await started(children, "sleep 600", tmp_path, stdin="pipe"):
            pass
    await until(lambda: descriptors().keys() == before.keys())


@pytest.mark.parametrize("size", [1, 5_000_000])
async def test_when_a_child_is_closed_its_streams_are_also_with_input_that_it_has_not_read(
    children: ChildProcesses, tmp_path: Path, size: int
) -> None:
    async with await started(children, "true", tmp_path):
        pass  # the guardian is there from now on
    before = descriptors()
    child = await started(children, "sleep 600", tmp_path, stdin="pipe")
    assert child.stdin is not None
    child.stdin.write(b"x" * size)
    await child.aclose()
    assert descriptors().keys() == before.keys()
