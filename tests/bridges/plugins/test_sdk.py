"""A plugin made with the SDK, as a real process: hooks, tools, storage, log."""

from __future__ import annotations

import asyncio
import sys
import time

import pytest

from app.bridges.processes.process import ChildProcesses
from app.errors import ToolError
from tests.bridges.conftest import ENVIRONMENT, until
from tests.bridges.plugins.conftest import Open

MANIFEST = """
name: notes
version: "1.2.0"
kaged_api: 1
description: Keeps notes for a project.
command: [python, -m, app.plugins.sdk, plugin.py]
env: {NOTES_MODE: quiet}
capabilities: ["kaged:storage:read", "kaged:storage:write", "net:[]"]
hooks: [on_session_start, pre_compact]
tools:
  - name: add
    description: Add a note.
    parameters_schema:
      type: object
      properties: {text: {type: string, maxLength: 100}}
      required: [text]
      additionalProperties: false
    requires: ["kaged:storage:write"]
  - name: ask
    description: Various things.
    parameters_schema: {type: object}
config_schema:
  type: object
  properties: {greeting: {type: string}}
  additionalProperties: false
shutdown_timeout_sec: 2
"""

PLUGIN = """
import os, sys, time
from app.plugins.sdk import Call, Plugin, PluginError

plugin = Plugin("notes", "1.2.0", capabilities=["kaged:storage:read", "kaged:storage:write"])

@plugin.hook("on_session_start")
def start(call):
    notes = [plugin.storage.get(key) for key in plugin.storage.keys("note.")]
    return {"inject": plugin.config.get("greeting", "") + ";".join(notes)} if notes else None

@plugin.hook("pre_compact")
def before(call: Call):
    return {"saw": call.params, "role": call.role, "context": dict(call.context), "dry": call.dry_run}

@plugin.tool("add")
def add(call, text):
    number = len(list(plugin.storage.keys()))
    plugin.storage.set(f"note.{number}", text)
    plugin.log("warning", "a note\\nmore", number=number)
    print("printed by chance")
    return {"number": number}

@plugin.tool("ask")
def ask(call, what, **more):
    if what == "environment":
        return dict(os.environ)
    if what == "refuse":
        raise PluginError("not today")
    if what == "break":
        return [][1]
    if what == "no json":
        return {1, 2}
    if what == "sleep":
        time.sleep(more["seconds"])
    if what == "hello":
        return {"project": plugin.project, "config": plugin.config, "cwd": os.getcwd(), "argv": sys.argv}
    if what == "storage":
        return getattr(plugin.storage, more["do"])(*more["arguments"])
    if what == "modules":
        return [name for name in sys.modules if name.split(".")[0] == "app"]
    return what
"""


@pytest.mark.requirement("plugins.sdk")
async def test_hooks_tools_and_storage_work_together(bench: Open) -> None:
    async with bench() as it:
        notes = it.package(MANIFEST, script=PLUGIN)
        outcome = await it.hook(notes)
        assert (outcome.kind, outcome.result, outcome.error) == ("null", None, None)
        assert await it.tool(notes, "add", text="first") == {"number": 0}
        assert await it.tool(notes, "add", text="second ä") == {"number": 1}
        assert it.storage.values["prj_1", "notes", "note.1"] == "second ä"
        outcome = await it.hook(notes)
        assert (outcome.kind, outcome.result) == ("result", {"inject": "first;second ä"})
        assert outcome.role == "observer"
        assert outcome.duration_ms > 0
        (status,) = await it.plugins.status("prj_1")
        assert status.state == "ready"
        assert status.memory_bytes > 1_000_000
        await until(lambda: any("stderr: printed by chance" in line for line in it.lines()))
        assert 'log: a note more {"number":0}' in it.lines()
        assert [data["result"] for data in it.events("hook.fired")] == ["null", "result"]
        assert await it.plugins.status("prj_2") == []
    assert it.events("stopped") == [
        {"plugin": "notes", "agent_path": "primary", "reason": "daemon_shutdown"},
    ]
    assert not it.events("failed")


@pytest.mark.requirement("plugins.sdk")
async def test_the_plugin_learns_who_calls_and_what_for(bench: Open) -> None:
    async with bench() as it:
        notes = it.package(MANIFEST, script=PLUGIN)
        context = it.context(agent_path="primary.subagents.coder", dry_run=True, session_id=None)
        outcome = await it.plugins.hook(notes, "pre_compact", {"messages": [1]}, context)
        assert outcome.result == {
            "saw": {"messages": [1]},
            "role": "observer",
            "context": {
                "operator_id": "op_1",
                "project_id": "prj_1",
                "project_root": str(it.root),
                "agent_path": "primary.subagents.coder",
                "session_id": None,
                "request_id": "req_1",
                "dry_run": True,
            },
            "dry": True,
        }
        hello = await it.tool(it.declaration(config={"greeting": "Hi"}), "ask", what="hello")
        assert hello["project"] == {"id": "prj_1", "root": str(it.root)}
        assert hello["config"] == {"greeting": "Hi"}
        assert hello["cwd"] == str(it.root / "plugins" / "notes")


@pytest.mark.requirement("plugins.process")
async def test_the_environment_is_scrubbed(bench: Open) -> None:
    async with bench() as it:
        notes = it.package(MANIFEST, script=PLUGIN)
        seen = await it.tool(notes, "ask", what="environment")
        own = {name for name in seen if not name.startswith(("LC_", "KAGED_COMMAND"))}
        assert own - {"TMPDIR", "USER", "LOGNAME"} == {"PATH", "HOME", "LANG", "NOTES_MODE"}
        assert seen["NOTES_MODE"] == "quiet"


@pytest.mark.requirement("plugins.tools")
async def test_tools_that_fail_say_so_and_the_plugin_goes_on(bench: Open) -> None:
    async with bench() as it:
        notes = it.package(MANIFEST, script=PLUGIN)

        async def refused(tool: str, seconds: float = 60, **params: object) -> ToolError:
            with pytest.raises(ToolError) as caught:
                await it.tool(notes, tool, seconds, **params)
            return caught.value

        assert (await refused("ask", what="refuse")).message == "not today"
        assert (await refused("ask", what="break")).code == "plugin_tool_failed"
        assert "no JSON" in (await refused("ask", what="no json")).message
        assert (await refused("ask")).code == "plugin_tool_failed"
        wrong = await refused("add", text=7, colour="red")
        assert wrong.code == "invalid_params"
        assert len(wrong.detail["problems"]) == 2
        assert (await refused("unknown")).code == "plugin_unavailable"
        assert await it.tool(notes, "ask", what="still here") == "still here"
        assert await it.state() == "ready"


@pytest.mark.requirement("plugins.tools")
async def test_a_tool_that_takes_too_long_is_given_up_and_its_late_answer_dropped(bench: Open) -> None:
    async with bench() as it:
        notes = it.package(MANIFEST, script=PLUGIN)
        assert await it.tool(notes, "ask", what="warm") == "warm"
        with pytest.raises(ToolError) as caught:
            context = it.context()
            params = {"what": "sleep", "seconds": 0.5}
            await it.plugins.call_tool(notes, "ask", params, context, seconds=0.1)
        assert caught.value.code == "plugin_timeout"
        assert await it.tool(notes, "ask", what="next") == "next"


@pytest.mark.requirement("plugins.storage")
async def test_the_storage_is_bounded_and_needs_its_capability(bench: Open) -> None:
    async with bench() as it:
        notes = it.package(MANIFEST, script=PLUGIN)

        async def stored(do: str, *arguments: object) -> object:
            return await it.tool(notes, "ask", what="storage", do=do, arguments=list(arguments))

        async def refusal(do: str, *arguments: object) -> str:
            with pytest.raises(ToolError) as caught:
                await stored(do, *arguments)
            return caught.value.message

        await stored("set", "a key", {"x": [None, 1.5, "ä"]})
        assert await stored("get", "a key") == {"x": [None, 1.5, "ä"]}
        assert await stored("get", "other", 5) == 5
        assert await stored("delete", "a key") is True
        assert await stored("delete", "a key") is False
        deep: object = 1
        for _ in range(40):
            deep = [deep]
        assert "deep" in await refusal("set", "k", deep)
        assert "bytes" in await refusal("set", "k", "x" * 70_000)
        for key in ("", "x" * 257, "a\nb", " a", "ä", 5, None):
            assert "key" in await refusal("get", key)
        it.storage.full = True
        assert "full" in await refusal("set", "k", 1)
        it.storage.full = False
        for number in range(1_500):
            it.storage.values["prj_1", "notes", f"n{number:05}"] = number
        it.storage.values["prj_1", "foreign", "secret"] = 1
        it.storage.values["prj_2", "notes", "secret"] = 1
        notes = it.package(
            MANIFEST.replace('"kaged:storage:write", "net:[]"', '"net:[]"').replace(
                '    requires: ["kaged:storage:write"]\n', ""
            ),
            script=PLUGIN.replace(', "kaged:storage:write"]', "]").replace(
                "return getattr(", 'return list(plugin.storage.keys()) if more["do"] == "keys" else getattr('
            ),
        )
        keys = await stored("keys")
        assert isinstance(keys, list)
        assert len(keys) == 1_500
        assert keys == sorted(keys)
        assert "kaged:storage:write" in await refusal("set", "k", 1)


@pytest.mark.requirement("plugins.sdk")
async def test_a_plugin_starts_without_anything_of_the_daemon(bench: Open) -> None:
    async with bench() as it:
        notes = it.package(MANIFEST, script=PLUGIN)
        assert await it.tool(notes, "ask", what="modules") == ["app", "app.plugins", "app.plugins.sdk"]


@pytest.mark.requirement("plugins.sdk")
async def test_the_sdk_imports_little(children: ChildProcesses) -> None:
    unwanted = ("asyncio", "pydantic", "inspect", "logging", "subprocess")
    script = f"import app.plugins.sdk, sys; print([name for name in {unwanted} if name in sys.modules])"
    ran = await children.run(
        [sys.executable, "-c", script], owner="test", cwd="/", env=ENVIRONMENT, seconds=60, max_output=1_000
    )
    assert ran.stdout == b"[]\n", ran.stderr


@pytest.mark.requirement("plugins.process")
async def test_agents_have_processes_of_their_own_or_share_one(bench: Open) -> None:
    async with bench() as it:
        it.package(MANIFEST, script=PLUGIN)
        other = "primary.subagents.coder"
        for isolation, count in (("agent", 2), ("project", 1)):
            first = it.declaration(isolation=isolation)
            second = it.declaration(isolation=isolation, agent_path=other)
            it.clock.at += 61
            await it.hook(second)
            await asyncio.gather(it.hook(first), it.hook(second), it.hook(first))
            running = await it.plugins.status()
            assert len(running) == count, isolation
            assert [one.agent_path for one in running] == ([None] if count == 1 else ["primary", other])


@pytest.mark.requirement("plugins.process")
async def test_a_declaration_that_changes_is_served_by_a_new_process(bench: Open) -> None:
    async with bench() as it:
        it.package(MANIFEST, script=PLUGIN)
        await it.hook(it.declaration(config={"greeting": "a"}))
        (before,) = await it.plugins.status()
        it.clock.at += 61
        await it.hook(it.declaration(config={"greeting": "b"}))
        (after,) = await it.plugins.status()
        assert before.pid != after.pid
        await until(lambda: it.events("stopped"))
        it.plugins.keep_only("prj_1", {("primary", "notes")})
        assert len(await it.plugins.status()) == 1
        it.plugins.keep_only("prj_1", {("primary", "other")})
        assert await it.plugins.status() == []
    assert [data["reason"] for data in it.events("stopped")] == ["redeclared", "no_longer_declared"]


@pytest.mark.requirement("plugins.process")
async def test_sessions_with_an_older_config_do_not_end_each_others_processes(bench: Open) -> None:
    async with bench() as it:
        it.package(MANIFEST, script=PLUGIN)
        old, new = it.declaration(config={"greeting": "a"}), it.declaration(config={"greeting": "b"})
        told = {"what": "sleep", "seconds": 1}
        slow = asyncio.create_task(it.plugins.call_tool(old, "ask", told, it.context(), seconds=60))
        await until(lambda: it.events("started"))
        it.clock.at += 61
        for one in (new, old, new):
            assert await it.tool(one, "ask", what="here") == "here"
        assert await slow == "sleep"
        assert len(it.events("started")) == 2
        it.package(MANIFEST + "idle_debounce_sec: 9\n")
        await it.tool(new, "ask", what="here")
        assert len(await it.plugins.status()) == 1, "the manifest of both is not there any more"


@pytest.mark.requirement("plugins.sdk")
@pytest.mark.parametrize("command", ["[python, plugin.py]", "[python, -m, app.plugins.sdk, plugin.py]"])
async def test_a_plugin_may_call_run_itself(bench: Open, command: str) -> None:
    async with bench() as it:
        manifest = MANIFEST.replace("[python, -m, app.plugins.sdk, plugin.py]", command)
        manifest = manifest.replace("shutdown_timeout_sec: 2", "shutdown_timeout_sec: 30")
        notes = it.package(manifest, script=PLUGIN + "\nplugin.run()\n")
        assert await it.tool(notes, "ask", what="here") == "here"
        began = time.monotonic()
        await it.plugins.end_project("prj_1")
        assert time.monotonic() - began < 25, "it ends by itself"


@pytest.mark.requirement("plugins.sdk")
async def test_functions_of_several_threads_run_side_by_side(bench: Open) -> None:
    async with bench() as it:
        script = PLUGIN.replace('"kaged:storage:write"])', '"kaged:storage:write"], threads=2)', 1)
        notes = it.package(MANIFEST, script=script)
        assert await it.tool(notes, "ask", what="first") == "first"
        (plugin,) = it.plugins._plugins.values()
        connection = await plugin.connected()
        await until(lambda: not connection.peer.pending)
        told = {"what": "sleep", "seconds": 10}
        slow = asyncio.create_task(it.plugins.call_tool(notes, "ask", told, it.context(), seconds=60))
        await until(lambda: connection.peer.pending)
        assert await it.tool(notes, "ask", what="quick") == "quick"
        assert not slow.done()
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
