"""Plugins in cages of their own: they do what their manifest says, and reach nothing beyond it."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from app.bridges.processes.supervisor import FailureLimits
from app.bridges.sandbox.tier import Tier
from app.errors import ToolError
from tests.bridges.conftest import children_of
from tests.bridges.plugins.conftest import Bench, Open

pytestmark = pytest.mark.requirement("cages.where.plugins")

SCRIPT = """
import os, socket
from app.plugins.sdk import Plugin

plugin = Plugin("notes", "1.0.0", capabilities={capabilities!r})

def tried(what):
    try:
        return what()
    except OSError:
        return None

@plugin.tool("look")
def look(call, path):
    return tried(lambda: open(path).read())

@plugin.tool("write")
def write(call, path):
    return tried(lambda: open(path, "w").close() or True)

@plugin.tool("connect")
def connect(call, port):
    return tried(lambda: bool(socket.create_connection(("127.0.0.1", port), timeout=2)))

@plugin.tool("itself")
def itself(call):
    return {{"home": os.environ["HOME"], "pid": os.getpid(), "variables": sorted(os.environ)}}
"""


def plugin(it: Bench, *capabilities: str, installed: bool = True, **more: Any) -> Any:
    """Write a plugin that tries what it is told to."""
    names = ("look", "write", "connect", "itself")
    manifest = {
        "name": "notes",
        "version": "1.0.0",
        "kaged_api": 1,
        "description": "Looks around",
        "command": ["python", "-m", "app.plugins.sdk", "plugin.py"],
        "capabilities": list(capabilities),
        "tools": [
            {"name": name, "description": "x", "parameters_schema": {"type": "object"}} for name in names
        ],
    }
    script = SCRIPT.format(capabilities=list(capabilities))
    return it.package(json.dumps({**manifest, **more}), script=script, installed=installed)


@pytest.mark.parametrize("caged", [True, False])
async def test_files_beyond_its_manifest_are_not_there(bench: Open, tmp_path: Path, caged: bool) -> None:
    places = {name: tmp_path / name / "file.txt" for name in ("read", "write", "other", "data")}
    for place in places.values():
        place.parent.mkdir()
        place.write_text("canary")
    async with bench(caged=caged) as it:
        granted = (f"read:fs:{tmp_path}/read", f"write:fs:{tmp_path}/write", f"read:fs:{tmp_path}/data")
        notes = plugin(it, *granted)
        seen = {name: await it.tool(notes, "look", path=str(place)) for name, place in places.items()}
        own = tmp_path / "plugins" / "notes" / "plugin.py"
        tried = [*places.values(), own.with_name("more.py")]
        wrote = {path.parent.name for path in tried if await it.tool(notes, "write", path=str(path))}
        assert "canary" not in (await it.tool(notes, "look", path=str(own)) or "canary")
    beyond = None if caged else "canary"
    assert seen == {"read": "canary", "write": "canary", "other": beyond, "data": beyond}
    assert wrote == ({"write"} if caged else {"read", "write", "other", "data", "notes"})


@pytest.mark.parametrize("caged", [True, False])
async def test_it_has_no_network_and_no_other_processes(bench: Open, caged: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with bench(caged=caged) as it:
            notes = plugin(it)
            reached = await it.tool(notes, "connect", port=listener.getsockname()[1])
            process = await it.tool(notes, "look", path=f"/proc/{os.getpid()}/cmdline")
            itself = await it.tool(notes, "itself")
            (status,) = await it.plugins.status()
    assert (reached is None) is caged and (process is None) is caged
    assert (itself["home"] == "/home/agent") is caged
    assert "OPENAI_API_KEY" not in itself["variables"]
    assert (itself["pid"] != status.pid) is caged and status.memory_bytes > 1_000_000


async def test_what_it_cannot_have_keeps_it_from_running(bench: Open) -> None:
    async with bench(caged=True) as it:
        asked = ((True, "read:fs:/proc"), (False, "write:fs:/srv"), (False, "net:127.0.0.1:80"))
        for installed, capability in asked:
            notes = plugin(it, capability, installed=installed)
            with pytest.raises(ToolError) as refused:
                await it.tool(notes, "itself")
            assert refused.value.code == "plugin_unavailable" and capability in refused.value.message
            assert not it.events("started")


async def test_a_manifest_that_was_changed_in_the_project_gains_nothing_outside(
    bench: Open, tmp_path: Path
) -> None:
    """Whoever may write in the project may write the manifest of a plugin that lies there."""
    secret = tmp_path / "secret.txt"
    secret.write_text("canary")
    async with bench(caged=True) as it:
        notes = plugin(it, installed=False)
        assert await it.tool(notes, "look", path=str(secret)) is None
        notes = plugin(it, f"read:fs:{secret}", installed=False)
        with pytest.raises(ToolError) as refused:
            await it.tool(notes, "look", path=str(secret))
        assert "installed outside of the project" in refused.value.message
        notes = plugin(it, f"read:fs:{secret}")
        assert await it.tool(notes, "look", path=str(secret)) == "canary"


async def test_its_cage_ends_with_it_and_the_next_run_has_another(bench: Open) -> None:
    async with bench(caged=True, restarts=FailureLimits(first_seconds=0.0)) as it:
        notes = plugin(it)
        before = await it.tool(notes, "write", path="/tmp/left")
        (status,) = await it.plugins.status()
        cages = children_of(os.getpid()).keys()
        os.kill(status.pid, 9)
        again = None
        while again is None:
            try:
                again = await it.tool(notes, "look", path="/tmp/left")
                break
            except ToolError as problem:
                assert problem.code in {"plugin_unavailable", "plugin_tool_failed"}
        (status,) = await it.plugins.status()
        assert before is True and again is None and status.failures == 1
        await it.plugins.end_project("prj_1")
        assert not children_of(os.getpid()).keys() - cages


async def test_where_no_cage_can_be_held_no_plugin_is_started(bench: Open) -> None:
    none = Tier("none", "namespaces are not allowed", "Allow them.")
    async with bench(caged=True, tier=none) as it:
        notes = plugin(it)
        for _ in range(2):
            with pytest.raises(ToolError) as refused:
                await it.tool(notes, "itself")
            assert refused.value.code == "cage_unavailable" and "Allow them." in refused.value.message
        assert not it.events("started") and await it.state() == "disabled"
