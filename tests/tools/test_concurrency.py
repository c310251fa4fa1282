"""Many agents on the same files, and calls that are cancelled in the middle."""

from __future__ import annotations

import ast
import asyncio
import os
import sys
import threading
from collections import Counter
from dataclasses import replace
from itertools import count

import pytest

from app.errors import ToolError
from app.tools.dispatch.registry import ToolRegistry
from app.tools.dispatch.service import ToolService
from app.tools.edit import text as edit
from app.tools.file import write
from app.tools.project_files.file_locks import WAIT_SECONDS, FileLocks
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.threads import to_the_end

pytestmark = pytest.mark.requirement("tools.edit_text")


FILES = 200
TURNS = 15


def _path(agent: int, turn: int) -> str:
    """Four agents want the same file at about the same time, and 40 of them walk over all files."""
    return f"f{(20 * (agent // 4) + 7 * turn) % FILES}.txt"


async def _insert(desk, path: str, mark: str, tallies: Counter[str]) -> str:
    """Put a line before the file's last one, reading it again whenever somebody was faster.

    Returns the first line of what the edit was made on."""
    while True:
        known = await desk.ok("file.read", path=path)
        envelope = await desk.call("edit.text", path=path, old_string="end\n", new_string=f"{mark}\nend\n")
        tallies[envelope.code or "done"] += 1
        if envelope.type == "output":
            return known["content"].split("\n")[0].removeprefix("1: ")
        assert envelope.code in {"file_changed_since_read", "file_busy"}, envelope.error_text


@pytest.mark.requirement("file.crowd")
async def test_forty_agents_editing_two_hundred_files_lose_no_update(desk):
    for number in range(FILES):
        desk.put(f"f{number}.txt", "start\n" + "filler\n" * 200 + "end\n")
    tallies: Counter[str] = Counter()

    async def work(agent: int) -> None:
        mine = desk.as_agent(f"primary.subagents.a{agent}")
        for turn in range(TURNS):
            await _insert(mine, _path(agent, turn), f"a{agent} t{turn}", tallies)

    await asyncio.gather(*(work(agent) for agent in range(40)))
    for number in range(FILES):
        lines = (desk.root / f"f{number}.txt").read_text().split("\n")
        expected = {
            f"a{agent} t{turn}"
            for agent in range(40)
            for turn in range(TURNS)
            if _path(agent, turn) == f"f{number}.txt"
        }
        assert lines[:201] == ["start"] + ["filler"] * 200
        assert (set(lines[201:-2]), len(lines[201:-2]), lines[-2:]) == (expected, len(expected), ["end", ""])
    assert tallies["done"] == 40 * TURNS
    assert tallies["file_changed_since_read"] > 0, "nobody was in anybody's way"
    assert sorted(os.listdir(desk.root)) == sorted(f"f{n}.txt" for n in range(FILES))


OUTSIDER = """
import os, random, sys, time
generations = {}
chance = random.Random(7)
os.chdir(sys.argv[1])
for _ in range(500):
    name = f"f{chance.randrange(int(sys.argv[2]))}.txt"
    generations[name] = generations.get(name, 0) + 1
    beside = os.path.join(sys.argv[3], name)
    with open(beside, "w") as file:
        file.write(f"generation {generations[name]}\\nend\\n")
    os.replace(beside, name)
    time.sleep(chance.random() * 0.008)  # its pace: nobody could ever write between two of its writes
print(repr(generations))
"""


@pytest.mark.requirement("file.crowd")
async def test_a_program_outside_that_replaces_files_meanwhile_loses_nothing_either(desk):
    """It writes whole files and means to drop what was there. Its last content of each file has to be
    there in the end, with every edit that was made on it."""
    files, beside = 6, desk.base / "beside"
    beside.mkdir()
    for number in range(files):
        desk.put(f"f{number}.txt", "generation 0\nend\n")
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OUTSIDER, str(desk.root), str(files), str(beside),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    tallies: Counter[str] = Counter()
    made: list[tuple[str, str, str]] = []

    async def work(agent: int) -> None:
        mine = desk.as_agent(f"primary.subagents.a{agent}")
        for turn in range(12):
            path, mark = f"f{(agent + turn) % files}.txt", f"a{agent} t{turn}"
            made.append((path, await _insert(mine, path, mark, tallies), mark))

    try:
        await asyncio.gather(*(work(agent) for agent in range(8)))
        written, _ = await program.communicate()
    finally:
        if program.returncode is None:
            program.kill()
            await program.communicate()
    generations = ast.literal_eval(written.decode())
    assert tallies["file_changed_since_read"] > 0
    for number in range(files):
        name = f"f{number}.txt"
        last = f"generation {generations.get(name, 0)}"
        marks = {mark for path, generation, mark in made if (path, generation) == (name, last)}
        lines = (desk.root / name).read_text().split("\n")
        assert (lines[0], set(lines[1:-2]), lines[-2:]) == (last, marks, ["end", ""])
    assert sorted(os.listdir(desk.root)) == sorted(f"f{n}.txt" for n in range(files))


async def test_of_many_creators_exactly_one_succeeds(desk):
    agents = [desk.as_agent(f"primary.subagents.a{n}") for n in range(30)]
    answers = await asyncio.gather(
        *(agent.call("file.create", path="new/deep/a.txt", content=str(n)) for n, agent in enumerate(agents))
    )
    winners = [n for n, answer in enumerate(answers) if answer.type == "output"]
    assert len(winners) == 1
    assert {answer.code for answer in answers} == {None, "file_exists"}
    assert (desk.root / "new/deep/a.txt").read_text() == str(winners[0])
    assert os.listdir(desk.root / "new/deep") == ["a.txt"]


async def test_two_names_of_one_file_share_a_lock(desk):
    desk.put("dir/a.txt", "0")
    (desk.root / "alias").symlink_to("dir")
    agents = [desk.as_agent(f"primary.subagents.a{n}") for n in range(20)]
    for agent in agents:
        await agent.ok("file.read", path="dir/a.txt")
    answers = await asyncio.gather(
        *(
            agent.call("file.write", path=("dir/a.txt", "alias/a.txt")[n % 2], content=f"mine {n}")
            for n, agent in enumerate(agents)
        )
    )
    assert [answer.code for answer in answers].count(None) == 1
    assert {answer.code for answer in answers} == {None, "file_changed_since_read"}


@pytest.mark.requirement("file.edit.busy")
async def test_a_file_that_another_call_writes_for_too_long_is_busy_and_unchanged(desk):
    assert WAIT_SECONDS == 5.0
    file = desk.put("a.txt", "old\n")
    locks = FileLocks(wait_seconds=0.05)
    files = ProjectFiles(reads=desk.reads, locks=locks)
    impatient = replace(desk, service=ToolService(ToolRegistry((edit.build(files), write.build(files)))))
    await desk.ok("file.read", path="a.txt")
    with files.workspace(desk.context).target("a.txt") as target:
        identity = target.identity
    async with locks.holding(identity, "a.txt"):
        busy = await impatient.call("edit.text", path="a.txt", old_string="old", new_string="new")
        assert (busy.code, file.read_text()) == ("file_busy", "old\n")
        assert await impatient.code("file.write", path="./a.txt", content="new") == "file_busy"
    await impatient.ok("edit.text", path="a.txt", old_string="old", new_string="new")


@pytest.mark.requirement("file.edit.busy")
async def test_a_lock_that_stays_taken_is_file_busy_and_leaves_nothing_behind():
    locks = FileLocks(wait_seconds=0.02)
    async with locks.holding("file", "a.txt"):
        with pytest.raises(ToolError) as refused:
            async with locks.holding("file", "a.txt"):
                raise AssertionError("two holders at once")
        assert refused.value.code == "file_busy"
        async with locks.holding("other", "b.txt"):
            pass
    async with locks.holding("file", "a.txt"):
        pass
    assert locks._entries == {}


async def test_a_cancelled_write_happened_whole_or_not_at_all_and_frees_the_file(desk):
    content = {"old": "old\n" * 50_000, "new": "new\n" * 60_000}
    file = desk.put("a.txt", content["old"])
    outcomes, every = set(), {"cancelled", "old", "new"}
    for turn in count():  # later and later, until a write has happened on the slowest machine, too
        if turn >= 60 and outcomes >= every:
            break
        file.write_text(content["old"])
        await desk.ok("file.read", path="a.txt")
        task = asyncio.create_task(desk.call("file.write", path="a.txt", content=content["new"]))
        loop = asyncio.get_running_loop()
        loop.call_later(turn * 0.00015 * max(1, turn // 60), task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            outcomes.add("cancelled")
        found = file.read_text()
        assert found in content.values()
        outcomes.add("new" if found == content["new"] else "old")
        known = await desk.call("edit.text", path="a.txt", old_string="\n", new_string="x")
        assert known.code == "multiple_matches", "a write that happened must count as read"
    assert os.listdir(desk.root) == ["a.txt"]
    written = [data for event, data in desk.ports.events if event == "file.written"]
    assert written, "a write that happened is audited also when its call was cancelled"


async def test_a_cancelled_thread_is_waited_for_and_settled():
    release, settled = threading.Event(), []
    task = asyncio.create_task(to_the_end(lambda: release.wait(10), settled.append))
    await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=0.05)
    assert not done
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert settled == [True]


async def test_the_loop_stays_free_while_a_large_file_is_read(desk):
    desk.put("big.txt", b"x" * 99 + b"\n" + (b"y" * 99 + b"\n") * 400_000)
    task = asyncio.create_task(desk.call("file.read", path="big.txt"))
    turns = 0
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 20
    assert (await task).data["total_lines"] == 400_001
