"""A process that is killed in the middle of writing loses nothing that it acknowledged."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.storage.storage import Storage
from tests.driver import rows

# Keeps fifty writes in flight and prints the number of each one that was answered.
_WRITER = """
import asyncio, sys
from pathlib import Path
from app.storage.storage import Storage
from tests.driver import rows

async def main():
    storage = await Storage.open(sys.argv[1] or None, Path(sys.argv[2]))
    def first(unit):
        if unit.projects.get("prj_00001") is None:
            rows.family(unit)
        return unit.messages.last_position("ses_00001")
    last = await storage.write(first)
    async def one(number):
        def add(unit):
            unit.messages.add(rows.message(number))
            unit.events.add_many([rows.event(number)])
        await storage.write(add, durable=number % 2 == 0)
        # Straight to the pipe: nothing may wait in a buffer of the process.
        import os; os.write(1, b"%d\\n" % number)
    async def lane(start):
        for number in range(start, 10**9, 50):
            await one(number)
    await asyncio.gather(*(lane(last + 1 + n) for n in range(50)))

asyncio.run(main())
"""


def write_until_killed(url: str | None, data_dir: Path, answers: int) -> set[int]:
    """Start the writer, kill it after some answers, and return the numbers that it acknowledged."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, url or "", str(data_dir)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": "."},
    )
    assert process.stdout is not None
    heard = [process.stdout.readline() for _ in range(answers)]
    process.send_signal(signal.SIGKILL)
    heard += process.stdout.readlines()
    process.wait(60)
    process.stdout.close()
    # The last line may have been cut by the kill.
    return {int(line) for line in heard if line.endswith(b"\n")}


@pytest.mark.timeout(180)
async def test_a_killed_process_lost_nothing_that_it_acknowledged(
    storage_url: str | None, tmp_path: Path
) -> None:
    chance = random.Random(20)
    acknowledged: set[int] = set()
    for _ in range(6):
        acknowledged |= write_until_killed(storage_url, tmp_path, chance.randint(1, 400))
        storage = await Storage.open(storage_url, tmp_path)
        messages = await storage.read(lambda unit: unit.messages.history("ses_00001", "primary"))
        events = await storage.read(lambda unit: unit.events.after("ses_00001", 0, 10**9, 10**9))
        await storage.close()
        stored = [message.position or 0 for message in messages]
        assert acknowledged <= set(stored)
        # Both halves of a unit, or none.
        assert stored == [event.seq for event in events]
        assert [message.content for message in messages] == [rows.message(n).content for n in stored]
