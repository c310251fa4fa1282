"""A server that never answers holds nobody for long, and one that floods leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.bridges.lsp.manager import ServerLimits
from app.errors import ToolError
from tests.bridges.lsp.conftest import Open
from tests.driver.language_servers import ROOT

WAITING = ServerLimits(
    initialize_seconds=4.0, start_seconds=6.0, wait_seconds=0.2, look_seconds=0.05, back_off=(0.01, 0.01)
)
FLOOD = """
import asyncio, sys, tempfile
from pathlib import Path
from app.bridges.lsp.manager import Declared
from tests.bridges.lsp.conftest import HOSTILE, QUICK, open_place

def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmRSS"))

async def main():
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        command = (sys.executable, str(HOSTILE), "--log", str(base / "server.log"), "--flood-items", "400")
        declared = Declared(language="hostile", command=command, extensions=(".hostile",))
        async with open_place(base, declared=[declared], limits=QUICK, caged=False) as place:
            place.put("one.hostile", "bad\\n")
            before = resident()
            server = await place.project.server_for("one.hostile")
            found = await server.diagnostics("one.hostile", seconds=60)
            assert [item["message"] for item in found.items] == ["this is bad"], found
            print(resident() - before)

asyncio.run(main())
"""


@pytest.mark.requirement("security.silent_server")
async def test_a_call_waits_for_a_start_for_a_bounded_time_and_says_so(hostile: Open) -> None:
    """The start goes on without the call, is the same for the next one, and is given up in the end."""
    async with hostile("--never-answer", "initialize", limits=WAITING) as place:
        for _ in range(2):
            with pytest.raises(ToolError) as silent:
                await place.project.server_for("one.hostile")
            assert silent.value.code == "lsp_timeout"
            assert "0.2 s" in silent.value.message and "initialize" in silent.value.message
        assert len(place.events("spawned")) == 1
        codes = set()
        async with asyncio.timeout(60):
            while "lsp_server_unavailable" not in codes:
                with pytest.raises(ToolError) as silent:
                    await place.project.server_for("one.hostile")
                codes.add(silent.value.code)
        assert codes == {"lsp_timeout", "lsp_server_unavailable"}


@pytest.mark.requirement("security.silent_server")
def test_the_usual_bounds_hold_no_call_for_more_than_half_a_minute_at_each_step() -> None:
    limits = ServerLimits()
    assert limits.wait_seconds <= 30 and limits.request_seconds <= 30
    assert limits.initialize_seconds <= limits.start_seconds <= 60


@pytest.mark.requirement("security.server_flood")
def test_a_flood_of_small_diagnostics_leaves_little_memory_in_the_daemon() -> None:
    """40 MB of them were 370 MiB of objects."""
    done = subprocess.run(
        [sys.executable, "-c", FLOOD],
        cwd=Path(ROOT),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()[-2_000:]
    assert int(done.stdout) < 96
