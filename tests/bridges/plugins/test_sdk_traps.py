"""What authors of plugins do without thinking of the wire: the SDK keeps it from doing harm."""

from __future__ import annotations

import pytest

from app.errors import ToolError
from tests.bridges.conftest import until
from tests.bridges.plugins.conftest import Open

pytestmark = pytest.mark.requirement("plugins.sdk")

MANIFEST = """
name: notes
version: "1.0.0"
kaged_api: 1
description: Keeps notes for a project.
command: [python, -m, app.plugins.sdk, plugin.py]
hooks: [pre_compact]
tools:
  - {name: ask, description: Various things., parameters_schema: {type: object}}
"""

PLUGIN = """
import os, subprocess, sys, time
from app.plugins.sdk import Plugin, PluginError

print("read from the top")
os.system("echo said by a program")
plugin = Plugin("notes", "1.0.0")
try:
    plugin.storage.get("notes")
except PluginError as problem:
    early = str(problem)

@plugin.at_start
def begin():
    raise PluginError("nothing to begin with")

@plugin.hook("pre_compact")
def before(call):
    return {"role": call.role, "params": call.params}

def deep():
    value = []
    for _ in range(100_000):
        value = [value]
    return value

@plugin.tool("ask")
def ask(call, what="", role=None):
    if what == "exit":
        sys.exit(3)
    if what == "pipe":
        raise BrokenPipeError("a program of its own has ended")
    if what == "deep":
        return deep()
    if what == "large":
        return "x" * 3_000_000
    if what == "large error":
        raise PluginError("x" * 3_000_000)
    if what == "large line":
        plugin.log("info", "y" * 3_000_000)
        return "said"
    if what == "large value":
        try:
            plugin.storage.set("key", "z" * 3_000_000)
        except PluginError as problem:
            return str(problem)
    if what == "hang":
        time.sleep(600)
    if what == "early":
        return early
    if what == "program":
        return subprocess.run(["cat"], capture_output=True, timeout=20).stdout.decode()
    if what == "line":
        return sys.stdin.readline()
    return [role, call.role]
"""


async def test_what_is_printed_while_the_file_is_read_is_no_message(bench: Open) -> None:
    async with bench() as it:
        notes = it.package(MANIFEST, script=PLUGIN)
        assert await it.tool(notes, "ask") == [None, "observer"]
        await until(lambda: any("read from the top" in line for line in it.lines()))
        await until(lambda: any("said by a program" in line for line in it.lines()))
        assert it.events("failed") == []


async def test_a_tool_may_have_a_parameter_called_role(bench: Open) -> None:
    async with bench() as it:
        notes = it.package(MANIFEST, script=PLUGIN)
        assert await it.tool(notes, "ask", role="boss") == ["boss", "observer"]
        outcome = await it.hook(notes, "pre_compact", trigger="manual")
        assert outcome.result == {"role": "observer", "params": {"trigger": "manual"}}


@pytest.mark.parametrize("what", ["program", "line"])
async def test_a_program_that_a_function_starts_does_not_read_the_daemons_messages(
    bench: Open, what: str
) -> None:
    async with bench() as it:
        notes = it.package(MANIFEST, script=PLUGIN)
        assert await it.tool(notes, "ask", what=what, seconds=30) == ""
        assert await it.tool(notes, "ask", what="x") == [None, "observer"]


async def test_asking_before_the_plugin_serves_says_what_to_do(bench: Open) -> None:
    async with bench() as it:
        notes = it.package(MANIFEST, script=PLUGIN)
        assert "ask in one of its functions" in await it.tool(notes, "ask", what="early")


async def test_what_fails_at_the_start_is_in_the_log(bench: Open) -> None:
    async with bench() as it:
        notes = it.package(MANIFEST, script=PLUGIN)
        await it.tool(notes, "ask")
        await until(lambda: any("nothing to begin with" in line for line in it.lines()))


async def test_a_function_that_never_returns_has_the_plugin_restarted(bench: Open) -> None:
    async with bench(health_seconds=1.5) as it:
        notes = it.package(MANIFEST, script=PLUGIN)
        assert await it.tool(notes, "ask") == [None, "observer"]
        with pytest.raises(ToolError) as failure:
            await it.tool(notes, "ask", what="hang", seconds=1)
        assert failure.value.code == "plugin_timeout"
        await until(lambda: len(it.events("started")) == 2)
        assert "did not answer 3 pings" in it.events("failed")[0]["reason"]
        assert await it.tool(notes, "ask") == [None, "observer"]


async def test_a_function_that_is_slow_is_let_work(bench: Open) -> None:
    async with bench(health_seconds=1) as it:
        notes = it.package(MANIFEST, script=PLUGIN.replace("sleep(600)", "sleep(5)"))
        assert await it.tool(notes, "ask", what="hang", seconds=60) == [None, "observer"]
        assert it.events("failed") == []


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("exit", "SystemExit: 3"),
        ("pipe", "BrokenPipeError: a program of its own has ended"),
        ("deep", "no JSON"),
        ("large", "too large"),
        ("large error", "xxx"),
    ],
)
async def test_no_function_takes_the_plugin_along(bench: Open, what: str, said: str) -> None:
    async with bench() as it:
        notes = it.package(MANIFEST, script=PLUGIN)
        with pytest.raises(ToolError) as caught:
            await it.tool(notes, "ask", what=what)
        assert caught.value.code == "plugin_tool_failed"
        assert said in caught.value.message
        assert await it.tool(notes, "ask", what="next") == [None, "observer"]
        assert not it.events("failed")


async def test_what_is_too_large_for_the_daemon_is_not_sent_to_it(bench: Open) -> None:
    async with bench() as it:
        notes = it.package(MANIFEST, script=PLUGIN)
        assert await it.tool(notes, "ask", what="large line") == "said"
        await until(lambda: any("log: yyy" in line for line in it.lines()))
        assert "bytes as JSON" in await it.tool(notes, "ask", what="large value")
        assert not it.events("failed")
