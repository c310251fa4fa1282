"""A running Ruby program under the debugger, and after it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.bridges.conftest import until
from tests.driver.debug_adapters import PATIENT, adapter_path
from tests.driver.debug_desk import debug_desk
from tests.driver.rounds import rounds
from tests.tools.debug.targets import by_port

COUNTS = """rounds = 0
loop do
  rounds += 1
  File.write("next.txt", rounds.to_s)
  File.rename("next.txt", "rounds.txt")
  sleep 0.001
end
"""


@pytest.mark.requirement("debugger.detach.running", "debugger.real.rdbg")
async def test_a_program_that_stands_when_it_is_let_go_runs_on(tmp_path: Path) -> None:
    rdbg = str(adapter_path("rdbg"))
    limits = replace(PATIENT, attach_seconds=60.0)  # it stops each time
    async with debug_desk(tmp_path, limits=limits) as desk, AsyncExitStack() as stack:
        desk.put("counts.rb", COUNTS)
        listens = ("--open", "--host", "127.0.0.1", "--port", "{port}", "--nonstop")
        target = await by_port(rdbg, *listens, "counts.rb")(desk.root, stack)
        counted = desk.root / "rounds.txt"

        def has_gone_on_from(seen: str) -> bool:
            return not target.lives() or counted.read_text() != seen

        await until(counted.exists)
        for _ in range(rounds(1, 4)):
            begun = await desk.debug("attach", runtime="ruby", **target.where)
            assert begun["status"] == "stopped"
            left = await desk.debug("disconnect")
            assert left["debuggee_terminated"] is False
            before = counted.read_text()
            await until(partial(has_gone_on_from, before))
            assert target.lives()
