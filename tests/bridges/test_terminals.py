"""Commands on terminals: output, bounds, ends, and a thousand unpleasant ones."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest

from app.bridges.processes.process import ChildProcesses
from app.bridges.pty.command import Command, CommandSpec
from app.bridges.pty.manager import TERMINAL_VARIABLES, TerminalManager, TooManyCommands
from app.bridges.pty.output import MAX_KEPT
from tests.bridges.conftest import ENVIRONMENT, children_of, descriptors, started_from_here, until


class Bench:
    """Runs commands in a folder of the test."""

    def __init__(self, children: ChildProcesses, folder: Path) -> None:
        self.terminals = TerminalManager(children, per_session=4, grace_seconds=0.3)
        self.children = children
        self.folder = folder
        self.descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)

    def spec(self, command: str, session: str = "ses") -> CommandSpec:
        def open_file() -> BinaryIO:
            return open(self.folder / "whole.txt", "wb")

        return CommandSpec(
            command=command,
            session_id=session,
            agent_path="primary",
            cwd=self.descriptor,
            shown_cwd=".",
            env=ENVIRONMENT | TERMINAL_VARIABLES,
            open_file=open_file,
            children=self.children,
        )

    async def run(self, command: str, seconds: float = 60, session: str = "ses") -> tuple[Command, str]:
        """Run a command; return it with its output."""
        async with self.terminals.command(self.spec(command, session)) as running:
            await self.terminals.finish(running, seconds)
            return running, running.output.text()


@pytest.fixture
async def bench(children: ChildProcesses, tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(children, tmp_path)
    yield made
    await made.terminals.aclose()
    os.close(made.descriptor)


async def test_all_output_is_read_also_what_comes_last_without_a_line_end(bench: Bench) -> None:
    command, text = await bench.run("printf 'first\\nsecond'; printf ' third' >&2; exit 4")
    assert text == "first\nsecond third"
    assert (command.exit_code, command.timed_out, command.state) == (4, False, "ended")


@pytest.mark.parametrize("command", ["cat", "read answer; echo got:$answer", "cat <&0; cat -"])
async def test_reading_standard_input_ends_at_once(bench: Bench, command: str) -> None:
    finished, _ = await bench.run(command, 60)
    assert not finished.timed_out


async def test_who_closes_its_output_and_opens_the_terminal_again_is_heard(bench: Bench) -> None:
    _, text = await bench.run("exec >/dev/null 2>&1; sleep 0.2; echo again >/dev/tty")
    assert text == "again\n"


async def test_beyond_the_kept_beginning_the_whole_goes_to_a_file(bench: Bench) -> None:
    command, text = await bench.run("seq 1 400000")
    whole = "".join(f"{number}\n" for number in range(1, 400_001))
    assert text == whole[:MAX_KEPT]
    assert command.output.path is not None
    assert command.output.path.read_text() == whole


async def test_a_cut_through_a_character_leaves_no_broken_one(bench: Bench) -> None:
    _, text = await bench.run("printf x; yes ééééééééé | tr -d '\\n' | head -c 3000000")
    assert set(text) == {"x", "é"}
    assert len(text.encode()) in (MAX_KEPT, MAX_KEPT - 1)


async def test_a_session_has_so_many_commands_at_a_time_and_another_has_its_own(bench: Bench) -> None:
    running = [asyncio.create_task(bench.run("sleep 600")) for _ in range(4)]
    await until(lambda: len(bench.terminals.list("ses")) == 4)
    with pytest.raises(TooManyCommands) as refused:
        await bench.run("true")
    assert [one.spec.command for one in refused.value.commands] == ["sleep 600"] * 4
    _, text = await bench.run("echo here", session="other")
    assert text == "here\n"
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    assert bench.terminals.list("ses") == ()
    await bench.run("true")


async def test_what_goes_on_counts_until_it_ends_and_its_end_frees_the_terminal(bench: Bench) -> None:
    await bench.run("true")
    before = descriptors()
    for _ in range(4):
        await bench.run("while ! test -e end; do sleep 0.05; done & echo started")
    assert [one.state for one in bench.terminals.list("ses")] == ["background"] * 4
    with pytest.raises(TooManyCommands):
        await bench.run("true")
    (bench.folder / "end").touch()
    await until(lambda: all(one.state == "ended" for one in bench.terminals.list("ses")))
    await bench.run("true")
    await until(lambda: descriptors().keys() == before.keys())


async def test_a_file_that_cannot_be_written_does_not_stop_the_command(bench: Bench) -> None:
    def refuse() -> BinaryIO:
        raise OSError("no space")

    spec = replace(bench.spec("seq 1 400000; exit 5"), open_file=refuse)
    async with bench.terminals.command(spec) as command:
        await bench.terminals.finish(command, 60)
    assert (command.exit_code, command.output.truncated, command.output.path) == (5, True, None)


async def test_a_flood_from_a_background_command_is_kept_within_bounds(bench: Bench) -> None:
    command, _ = await bench.run("yes & sleep 0.1")
    begun = command.output.position
    await until(lambda: command.output.position > begun + 1_000_000)
    text, lost = command.read()
    assert len(text) < 200_000
    assert lost > 0
    await bench.terminals.stop(command)


TORTURE = (
    "true",
    "false",
    "exit 42",
    "echo hello",
    "no-such-program",
    "syntax ( error",
    "cat",
    "cat <&-",
    "exec <&-; cat; echo x",
    "exec >&-; echo lost",
    "exec >&- 2>&- <&-; sleep 0.01",
    "for i in 1 2 3 4 5 6 7 8; do (sleep 0.0$i; echo $i) & done; wait",
    "sleep 0.05 & sleep 0.06 & echo going",
    "(sleep 0.1 &) ; echo forked",
    "setsid sleep 0.2 & exit 3",
    "setsid -f sleep 0.2",
    "setsid sh -c 'setsid sleep 0.2 & exit' &",
    "env -i setsid /bin/sh -c '/bin/sleep 0.2 & exit' & exit",
    "nohup sleep 0.2 >/dev/null 2>&1 &",
    "(trap '' HUP; sleep 0.2) & echo deaf",
    "trap '' TERM INT HUP; sleep 5",
    "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 600' & sleep 600",
    "kill -STOP $$",
    "kill -KILL $$",
    "kill -TERM $$",
    "kill -SEGV $$",
    "sh -c 'kill -STOP $$'; echo stopped",
    "sleep 600 & kill -STOP $!; echo asleep",
    "seq 1 20000",
    "yes | head -c 300000",
    "head -c 100000 /dev/urandom",
    "yes",
    "printf 'no line end'",
    "printf '\\033[31mred\\033[0m\\r\\n'",
    "i=0; while [ $i -lt 200 ]; do printf '\\r%d' $i; i=$((i+1)); done",
    "set +m; sleep 0.1 & wait",
    "exec sleep 0.02",
    "stty sane </dev/tty; stty -icanon </dev/tty; echo raw",
    "cat </dev/tty",
    "f() { test $1 -gt 2 && exec sleep 600; f $(($1+1)) & f $(($1+1)) & wait; }; f 0",
    "f() { test $1 -gt 2 && exec sleep 600; setsid sh -c 'sleep 0.1; true' & f $(($1+1)) & }; f 0",
)
SHORT = 0.4
ROUNDS = 25
PARTS = 250


def resident_kilobytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


async def test_what_a_command_leaves_behind_belongs_to_it_at_once(bench: Bench, tmp_path: Path) -> None:
    """Also a process in a session of its own that comes to the daemon between two looks for orphans."""
    leave = "setsid -f sh -c 'echo $$ > made; mv made pid; sleep 600'"
    await bench.run(f"(while test ! -e go; do sleep 0.01; done; {leave}; sleep 600) &")
    (tmp_path / "go").touch()
    await until((tmp_path / "pid").exists)
    left = int((tmp_path / "pid").read_text())
    await until(lambda: left in children_of(os.getpid()))  # the program that has made it is over
    (listed,) = bench.terminals.list("ses")
    assert left in listed.pids


@pytest.mark.timeout(240)
@pytest.mark.requirement("shell.torture")
async def test_a_thousand_commands_of_all_kinds_leave_nothing(
    children: ChildProcesses, tmp_path: Path
) -> None:
    """Each kind in turn, several at a time; what takes too long is stopped, what goes on is left to
    its session's end."""
    bench = Bench(children, tmp_path)
    commands = [command for _ in range(ROUNDS) for command in TORTURE]
    assert len(commands) >= 1000
    await bench.run("true")
    before, guardian = descriptors(), children_of(os.getpid()).keys()

    async def work(waiting: list[tuple[int, str]]) -> None:
        while waiting:
            number, command = waiting.pop()
            await bench.run(command, SHORT, f"ses_{number}")
            if number % 2:
                await bench.terminals.end_session(f"ses_{number}")

    grown_from = 0
    for start in range(0, len(commands), PARTS):
        waiting = list(enumerate(commands))[start : start + PARTS]
        await asyncio.gather(*(work(waiting) for _ in range(8)))
        gc.collect()
        grown_from = grown_from or resident_kilobytes()
    await bench.terminals.aclose()
    grown = resident_kilobytes() - grown_from
    assert grown < 40_000
    await until(lambda: children_of(os.getpid()).keys() <= guardian)
    await until(lambda: not started_from_here())
    await until(lambda: descriptors().keys() <= before.keys())
    os.close(bench.descriptor)
