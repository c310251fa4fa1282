"""Debug sessions end with the run that they belong to, with the kaged session, and with the daemon."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.config import load_settings
from app.daemon.debug_adapters import debug_declarations
from app.harness.dsl.spec_sections import DapSection
from tests.driver.debug_desk import gone, lives
from tests.driver.sessions import (
    PROJECT_YAML,
    WAIT_SECONDS,
    Driver,
    Watch,
    check_stream,
    driven,
    write_project,
)
from tests.fakes.provider_script import Document, Reply, Stall, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

ENDLESS = """\
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def begun():
    open(f"../process-{os.getpid()}", "w").close()
    print("pids", os.getpid(), flush=True)
begun()
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    begun()
    os.write(writer, b"1")
else:
    os.read(reader, 1)
while True:
    time.sleep(0.05)
"""
LOOP = {"action": "set_breakpoint", "path": "endless.py", "line": len(ENDLESS.splitlines())}
LAUNCH = {
    "action": "launch",
    "runtime": "python",
    "script": "endless.py",
    "stop_on_entry": False,
    "timeout": 1500,
}
YAML = PROJECT_YAML + "    debug: { enabled: true }\n"


@pytest.fixture
async def driver(tmp_path: Path, settings_overrides: dict[str, Any]) -> AsyncIterator[Driver]:
    root = write_project(tmp_path / "shop", YAML)
    (root / "endless.py").write_text(ENDLESS)
    (root / "short.py").write_text("total = 1\nprint('total', total)\n")
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        yield driver


def shown_pids(watch: Watch) -> list[int]:
    shown = "".join(frame["payload"]["text"] for frame in watch.of("tool.progress"))
    return [int(pid) for pid in re.findall(r"pids (\d+)", shown)]


async def both_pids(folder: Path) -> list[int]:
    """Return the processes of the program, once both have begun. A busy machine may need more time for that
    than the launch waits."""
    async with asyncio.timeout(60):
        while True:
            found = [int(one.name.removeprefix("process-")) for one in folder.glob("process-*")]
            if len(found) == 2:
                return found
            await asyncio.sleep(0.02)


async def until_launched(watch: Watch, folder: Path) -> list[int]:
    """Wait for the answer of the launch; return the processes of the program."""
    result = await watch.until_type("message.tool_result")
    assert not result["payload"]["isError"], result
    return await both_pids(folder)


async def audited(driver: Driver, event: str) -> list[dict[str, Any]]:
    """Return the events once there is one: nobody waits for their being stored."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            found = (await driver.call("GET", f"/audit?event={event}&limit=50"))["items"]
            if found:
                return [one["data"] for one in found]
            await asyncio.sleep(0.02)


@pytest.mark.requirement("debugger.session.run_end")
async def test_auto_cleanup_on_run_end(driver: Driver, fake: FakeProvider, tmp_path: Path) -> None:
    """Auto-cleanup on run end: cancel a run while a debug session is active. Assert debug session is
    cleaned up."""
    fake.script(Reply((ToolCall("debug", LAUNCH),)), Reply((Text("It runs."), Stall())))
    async with driver.watching() as watch:
        await driver.post("Debug it")
        pids = await until_launched(watch, tmp_path)
        assert all(map(lives, pids))
        await watch.until_text("It runs.")
        await driver.session_call("POST", "/cancel")
        assert not any(map(lives, pids))
        await watch.until_type("run.ended")
    check_stream(watch.frames)
    (ended,) = await audited(driver, "debug.session_ended")
    assert ended["reason"] == "run_ended"
    (started,) = await audited(driver, "debug.session_started")
    assert started["debug_session_id"] == ended["debug_session_id"]
    assert started["caller"] == "primary"


@pytest.mark.requirement("debugger.session.run_end", "debugger.stop.progress")
async def test_a_cancel_during_the_launch_leaves_nothing(driver: Driver, fake: FakeProvider) -> None:
    fake.script(Reply((ToolCall("debug", {**LAUNCH, "timeout": 60_000}),)))
    async with driver.watching() as watch:
        await driver.post("Debug it")
        await watch.until(lambda _: len(shown_pids(watch)) == 2, seconds=60)
        await driver.session_call("POST", "/cancel")
        await gone(*shown_pids(watch))
        await watch.until_type("run.ended")
    check_stream(watch.frames)


@pytest.mark.requirement("debugger.session.run_end")
@pytest.mark.parametrize("how", ["completes", "fails"])
async def test_a_run_that_ends_by_itself_ends_its_debug_session(
    driver: Driver, fake: FakeProvider, tmp_path: Path, how: str
) -> None:
    last = (
        text_reply("Done.") if how == "completes" else Document(400, {"error": {"message": "no such thing"}})
    )
    stops = {**LAUNCH, "timeout": 60_000}  # both processes have begun by then
    fake.script(Reply((ToolCall("debug", LOOP, "a"), ToolCall("debug", stops, "b"))), last)
    async with driver.watching() as watch:
        await driver.post("Debug it")
        await watch.until_type("run.ended", seconds=60)
        pids = await both_pids(tmp_path)
        assert not any(map(lives, pids))
    told = (await driver.last_run())["state"]
    assert told == ("succeeded" if how == "completes" else "failed")


@pytest.mark.requirement("debugger.session.run_end")
async def test_the_next_run_starts_again_with_the_breakpoints_kept(
    driver: Driver, fake: FakeProvider
) -> None:
    short = {**LAUNCH, "script": "short.py", "timeout": 60_000}
    place = {"action": "set_breakpoint", "path": "short.py", "line": 2}
    fake.script(
        Reply((ToolCall("debug", place, "a"), ToolCall("debug", short, "b"))),
        text_reply("Stopped."),
        Reply((ToolCall("debug", {"action": "stack_trace"}, "c"), ToolCall("debug", short, "d"))),
        text_reply("Stopped again."),
    )
    first = await driver.run("Debug it")
    stopped = first.of("message.tool_result")[1]["payload"]
    assert '"breakpoint_id":1' in stopped["content"] and '"total"' in stopped["content"]
    second = await driver.run("Once more")
    gone_by_now, again = (frame["payload"] for frame in second.of("message.tool_result"))
    assert gone_by_now["isError"] and "dap_session_ended" in gone_by_now["content"]
    assert '"breakpoint_id":1' in again["content"]


async def launched_directly(driver: Driver, folder: Path) -> list[int]:
    answer = await driver.session_call("POST", "/tools/debug", {"params": LAUNCH, "agent_path": "primary"})
    assert answer["type"] == "output", answer
    pids = await both_pids(folder)
    assert all(map(lives, pids))
    return pids


@pytest.mark.requirement("debugger.session.end")
@pytest.mark.parametrize("end", ["archive", "delete"])
async def test_the_end_of_the_session_ends_its_debug_sessions(
    driver: Driver, tmp_path: Path, end: str
) -> None:
    pids = await launched_directly(driver, tmp_path)
    if end == "archive":
        await driver.session_call("POST", "/archive")
    else:
        await driver.session_call("DELETE", status=204)
    assert not any(map(lives, pids))
    (ended,) = await audited(driver, "debug.session_ended")
    assert ended["reason"] == "session_ended"


@pytest.mark.requirement("debugger.session.end")
async def test_the_end_of_the_daemon_ends_all_debug_sessions(
    tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_project(tmp_path / "shop", YAML)
    (root / "endless.py").write_text(ENDLESS)
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        pids = await launched_directly(driver, tmp_path)
    assert not any(map(lives, pids))


CONFIG = """
[dap.adapters.go]
adapter = ["dlv", "dap"]
[dap.adapters.node]
command = ["node", "--inspect-brk"]
type = "pwa-node"
[dap.adapters.node.launch]
smartStep = false
"""


@pytest.mark.requirement("debugger.adapters.declared")
def test_every_key_of_a_declared_adapter_is_taken_over(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(CONFIG)
    local = load_settings(config_file=file, environ={}).dap
    adapter = {"runtime": "python", "command": ["python3", "-X", "dev"], "adapter": ["debugpy"], "type": "x"}
    project = DapSection.model_validate({"adapters": [{**adapter, "launch": {"justMyCode": True}}]})
    found = debug_declarations(project, local)
    (mine,) = found.project
    assert (mine.runtime, mine.command, mine.adapter) == ("python", ("python3", "-X", "dev"), ("debugpy",))
    assert (mine.type, mine.launch) == ("x", {"justMyCode": True})
    theirs = {one.runtime: one for one in found.local}
    assert (theirs["go"].adapter, theirs["go"].command) == (("dlv", "dap"), ())
    assert (theirs["node"].adapter, theirs["node"].command) == (None, ("node", "--inspect-brk"))
    assert (theirs["node"].type, theirs["node"].launch) == ("pwa-node", {"smartStep": False})
    assert debug_declarations(None, local).project == ()
