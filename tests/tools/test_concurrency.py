"""Many agents on the same files, and calls that are cancelled in the middle."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from app.errors import ToolError
from app.tools.file_locks import FileLocks
from app.tools.threads import to_the_end

pytestmark = pytest.mark.requirement("R2.6.4")


async def test_forty_agents_editing_twenty_files_lose_no_update(desk):
    for number in range(20):
        desk.put(f"f{number}.txt", "start\n" + "filler\n" * 200 + "end\n")
    tallies: dict[str, int] = {}

    async def work(agent: int) -> None:
        mine = desk.as_agent(f"primary.subagents.a{agent}")
        for turn in range(6):
            path = f"f{(agent + 7 * turn) % 20}.txt"
            while True:
                await mine.ok("file.read", path=path)
                envelope = await mine.call(
                    "edit.text", path=path, old_string="end\n", new_string=f"a{agent} t{turn}\nend\n"
                )
                tallies[envelope.code or "done"] = tallies.get(envelope.code or "done", 0) + 1
                if envelope.type == "output":
                    break
                assert envelope.code in {"file_changed_since_read", "file_busy"}, envelope.error_text

    await asyncio.gather(*(work(agent) for agent in range(40)))
    lines = [line for n in range(20) for line in (desk.root / f"f{n}.txt").read_text().splitlines()]
    marks = [line for line in lines if line.startswith("a")]
    assert len(marks) == len(set(marks)) == 240
    assert lines.count("start") == lines.count("end") == 20
    assert lines.count("filler") == 20 * 200
    assert tallies["done"] == 240
    assert sorted(os.listdir(desk.root)) == sorted(f"f{n}.txt" for n in range(20))


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
    outcomes = set()
    for turn in range(60):
        file.write_text(content["old"])
        await desk.ok("file.read", path="a.txt")
        task = asyncio.create_task(desk.call("file.write", path="a.txt", content=content["new"]))
        loop = asyncio.get_running_loop()
        loop.call_later(turn * 0.00015, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            outcomes.add("cancelled")
        found = file.read_text()
        assert found in content.values()
        outcomes.add("new" if found == content["new"] else "old")
        known = await desk.call("edit.text", path="a.txt", old_string="\n", new_string="x")
        assert known.code == "multiple_matches", "a write that happened must count as read"
    assert outcomes >= {"cancelled", "old", "new"}
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
