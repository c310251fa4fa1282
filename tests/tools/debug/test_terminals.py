"""Programs that an adapter wants to have on a terminal get one of the session's terminals."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.bridges.dap.manager import Declared
from app.daemon import debug_terminals
from tests.driver.debug_desk import DebugDesk, debug_desk, gone, lives

PROGRAM = """\
import os, sys
width = os.get_terminal_size().columns
print("on a terminal:", sys.stdout.isatty(), width > 20, os.getpid(), flush=True)
child = os.fork()
if child == 0:
    os.setsid()
    while True:
        __import__("time").sleep(1)
total = 1
print("total", total)
sys.stdout.write("without an end")
"""
RUN = {"runtime": "python", "script": "tell it's.py", "args": ["a b", "$HOME"]}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[DebugDesk]:
    in_terminal = Declared(runtime="python", launch={"console": "integratedTerminal"})
    async with debug_desk(tmp_path, declared=[in_terminal]) as opened:
        opened.put("tell it's.py", PROGRAM)
        yield opened


def told_pid(output: str) -> int:
    found = re.search(r"on a terminal: True True (\d+)", output)
    assert found is not None, output
    return int(found[1])


@pytest.mark.requirement("debugger.order.terminal")
async def test_a_program_on_a_terminal_is_debugged_like_any_other(desk: DebugDesk) -> None:
    await desk.debug("set_breakpoint", path="tell it's.py", line=10)
    stopped = await desk.debug("launch", **RUN, stop_on_entry=False)
    assert stopped["location"]["line"] == 10 and await desk.local("total") == "1"
    assert json.loads((await desk.value("sys.argv[1:]")).replace("'", '"')) == ["a b", "$HOME"]
    pid = told_pid(stopped["output"])
    (listed,) = (await desk.ok("shell.background", action="list"))["commands"]
    assert listed["pid"] is not None and "debugpy" in listed["command"]
    ended = await desk.debug("continue")
    assert (ended["status"], ended["exit_code"]) == ("exited", 0)
    assert "total 1" in ended["output"]
    await desk.debug("disconnect")
    await gone(pid)
    assert (await desk.ok("shell.background", action="list"))["commands"] == []


@pytest.mark.requirement("debugger.order.terminal", "debugger.session.descendants")
async def test_what_runs_on_the_terminal_ends_with_the_debug_session(desk: DebugDesk) -> None:
    await desk.debug("set_breakpoint", path="tell it's.py", line=10)
    stopped = await desk.debug("launch", **RUN, stop_on_entry=False)
    pid = told_pid(stopped["output"])
    child = int(await desk.local("child"))
    assert lives(pid) and lives(child)
    await desk.debuggers.end_run("ses_1", "primary")
    await gone(pid, child)


@pytest.mark.requirement("debugger.order.terminal")
async def test_a_stop_has_all_that_was_written_on_the_terminal_before_it(
    desk: DebugDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debug_terminals, "SHOWN_SECONDS", 600)
    for line in (10, 11):
        await desk.debug("set_breakpoint", path="tell it's.py", line=line)
    first = await desk.debug("launch", **RUN, stop_on_entry=False)
    assert told_pid(first["output"])
    second = await desk.debug("continue")
    assert (second["location"]["line"], second["output"]) == (11, "total 1\n")
