"""Connections to MCP servers of both eras: lists, calls, progress, cancellation, ends and restarts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from app.bridges.mcp.entries import Image
from app.bridges.mcp.manager import CallClock
from app.bridges.processes.supervised_child import Unavailable
from app.bridges.processes.supervisor import FailureLimits
from app.errors import ToolError
from app.states import PluginState
from tests.bridges.conftest import alive, until
from tests.bridges.mcp.conftest import READS, Open
from tests.fakes.mcp_server import PICTURE

pytestmark = pytest.mark.requirement("mcp.client.connections")


async def test_a_server_of_the_newer_era_lists_and_answers(bench: Open) -> None:
    async with bench() as it:
        notes = it.notes()
        listing = await it.servers.listing("prj_1", it.root, notes)
        assert (listing.protocol, listing.server) == ("2026-07-28", "notes 1.2.3")
        assert {"add", "readNote", "odd name/with:signs"} <= {one.name for one in listing.tools}
        assert (listing.resources, listing.prompts) == (True, True)
        assert (await it.call(notes, "add", a=1, b=2)).structured == {"sum": 3}
        echoed = await it.call(notes, "echo", text="hello")
        assert (echoed.text, echoed.structured) == ("hello", None)
        assert (await it.call(notes, "steps", count=3)).text == "all steps done"
        assert it.progress == ["1 of 3 step 1", "2 of 3 step 2", "3 of 3 step 3"]
        assert (await it.call(notes, "picture")).images == (Image("image/png", PICTURE),)
        failed = await it.call(notes, "fail")
        assert failed.is_error
        assert "no such note" in failed.text
    assert [event for event, _, _ in it.audited] == ["mcp.started", "mcp.stopped"]


async def test_a_server_of_the_older_era_is_greeted_by_the_handshake(bench: Open) -> None:
    async with bench() as it:
        listing = await it.servers.listing("prj_1", it.root, it.hostile("plain"))
        assert listing.protocol == "2025-11-25"
        assert (await it.call(it.hostile("plain"), "harm")).text == "ok[2Jhidden"


async def test_resources_and_prompts_are_listed_and_read(bench: Open) -> None:
    async with bench() as it:
        notes = it.notes()
        resources, prompts = await it.servers.content("prj_1", it.root, notes)
        assert [one.get("uri") or one.get("uri_template") for one in resources] == [
            "notes://first",
            "notes://{name}/text",
        ]
        assert [(one["name"], one["arguments"][0]["name"]) for one in prompts] == [("review", "file")]

        async def ask(request: Any) -> Any:
            return await it.servers.call("prj_1", it.root, notes, "content", request)

        assert (await ask(lambda one: one.read("notes://first"))).text.endswith("\nthe first note")
        assert (await ask(lambda one: one.read("notes://b/text"))).text.endswith("\nthe note b")
        assert (await ask(lambda one: one.prompt("review", {"file": "a.py"}))).text.endswith(
            "Review a.py now."
        )
        with pytest.raises(ToolError) as refused:
            await ask(lambda one: one.read("notes://gone"))
        assert refused.value.code == "mcp_tool_failed"


async def test_a_list_that_changes_is_seen_when_it_is_asked_for_again(bench: Open) -> None:
    async with bench() as it:
        notes = it.notes()
        before = await it.servers.listing("prj_1", it.root, notes)
        assert (await it.call(notes, "grow")).text == "grown"
        known = it.servers.known_listing("prj_1", notes)
        after = await it.servers.listing("prj_1", it.root, notes)
        assert known == before
        assert {one.name for one in after.tools} - {one.name for one in before.tools} == {"later"}


async def test_a_cancelled_call_is_cancelled_in_the_server(bench: Open, tmp_path: Path) -> None:
    async with bench() as it:
        notes, marker = it.notes(), tmp_path / "marker"
        call = asyncio.create_task(it.call(notes, "wait", marker=str(marker)))
        await until(lambda: marker.with_suffix(".began").exists(), 60)
        call.cancel()
        await asyncio.wait({call})
        await until(lambda: marker.with_suffix(".cancelled").exists(), 60)
        assert (await it.call(notes, "echo", text="still there")).text == "still there"


async def test_a_call_without_an_answer_ends_in_time(bench: Open) -> None:
    async with bench() as it:
        mute = it.hostile("mute", timeout_seconds=1.0)
        await it.servers.listing("prj_1", it.root, mute)
        with pytest.raises(ToolError) as late:
            await it.call(mute, "harm")
        assert late.value.code == "mcp_timeout"
        assert "did not answer within 1 s" in late.value.message


async def test_a_crash_in_a_call_is_an_error_and_the_server_comes_back(bench: Open) -> None:
    async with bench() as it:
        notes = it.notes()
        with pytest.raises(ToolError) as crashed:
            await it.call(notes, "crash")
        assert crashed.value.code == "mcp_unavailable"
        said = "mcp server notes is unavailable: it ended (exit code 3); the server dies now"
        assert crashed.value.message == said
        with pytest.raises(ToolError, match="mcp server notes is unavailable: it has failed and is started"):
            await it.call(notes, "echo", text="x")
        it.clock.running.set()
        await until(lambda: it.servers.status("prj_1", notes).state is PluginState.READY, 60)
        assert (await it.call(notes, "echo", text="back")).text == "back"
        assert it.clock.slept == [1.0]
        assert [one["exit_code"] for one in it.events("failed")] == [3]


async def test_a_server_that_fails_again_and_again_is_disabled_until_it_is_enabled(bench: Open) -> None:
    async with bench(restarts=FailureLimits(failures=3)) as it:
        gone = it.entry("gone", "mcp_server.py")
        (it.root / "mcp_server.py").write_text("raise SystemExit('cannot start')")
        it.clock.running.set()
        with pytest.raises(Unavailable):
            await it.servers.listing("prj_1", it.root, gone)
        await until(lambda: it.servers.status("prj_1", gone).state is PluginState.DISABLED, 60)
        with pytest.raises(Unavailable, match=r"3 failures in 10 minutes.*cannot start.*enable it"):
            await it.servers.listing("prj_1", it.root, gone)
        assert it.clock.slept == [1.0, 2.0]
        it.notes()
        assert it.servers.enable("prj_1", "gone") == 1
        assert (await it.call(gone, "echo", text="now")).text == "now"


async def test_the_processes_end_with_the_project_and_a_new_declaration_takes_over(bench: Open) -> None:
    async with bench() as it:
        first, second = it.notes(), it.notes(timeout_seconds=59.0)
        await it.call(first, "echo", text="x")
        pid = it.servers.status("prj_1", first).pid
        assert pid is not None
        await it.call(second, "echo", text="x")
        await until(lambda: not alive(pid), 60)
        other = it.servers.status("prj_1", second).pid
        await it.servers.end_project("prj_1")
        assert other is not None
        assert not alive(other)


@pytest.mark.needs("cages")
async def test_a_caged_server_reads_the_project_and_reaches_nothing_else(bench: Open, tmp_path: Path) -> None:
    async with bench(caged=True) as it:
        (it.root / "note.txt").write_text("buy milk")
        listening = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        notes = it.notes(cage=READS, env={"OWN": "1"})
        assert (await it.call(notes, "readNote")).text == "buy milk"
        for place in (it.root / "new.txt", tmp_path / "outside.txt"):
            found = (await it.call(notes, "attempt", path=str(place), port=port)).structured
            assert found["connected"] is not True
            assert not place.exists()
        assert found["home"] not in (None, str(tmp_path))
        assert "OWN" in found["variables"]
        assert "OPENAI_API_KEY" not in found["variables"]
        listening.close()


@pytest.mark.needs("cages")
async def test_a_cage_that_grants_more_lets_the_server_write(bench: Open) -> None:
    async with bench(caged=True) as it:
        notes = it.notes(cage={"fs": [{"mode": "rw", "path": "."}, {"mode": "deny", "path": "secret"}]})
        (it.root / "secret").mkdir()
        assert (await it.call(notes, "attempt", path=str(it.root / "new.txt"))).structured["wrote"] is True
        hidden = await it.call(notes, "attempt", path=str(it.root / "secret" / "new.txt"))
        assert hidden.structured["wrote"] is not True


async def test_the_time_of_a_call_stands_still_while_a_person_is_asked(bench: Open) -> None:
    async with bench() as it:
        notes, clock = it.notes(timeout_seconds=20.0), CallClock()
        asked: list[dict[str, Any]] = []

        async def ask(form: dict[str, Any]) -> dict[str, Any]:
            clock.stop()
            asked.append(form)
            clock.go_on()
            return {"send": True, "field_0": "because", "field_1": False}

        found = await it.call(notes, "ask", clock, ask)
        assert found.text.startswith("accept: ")
        assert "because" in found.text
        (form,) = asked
        assert form["summary"] == "Why is it done?"
        assert [one["type"] for one in form["fields"]] == ["boolean", "text", "boolean"]
        assert (await it.call(notes, "ask", clock, lambda _: declined())).text.startswith("decline")
        assert (await it.call(notes, "ask")).text.startswith("cancel")


async def test_a_question_of_the_older_era_is_asked_and_sampling_is_refused(bench: Open) -> None:
    async with bench() as it:
        asked: list[dict[str, Any]] = []

        async def ask(form: dict[str, Any]) -> dict[str, Any]:
            asked.append(form)
            return {"send": True, "field_0": "Second", "field_1": 2.0}

        found = await it.call(it.hostile("asks"), "harm", None, ask)
        assert json.loads(found.text) == {"action": "accept", "content": {"which": "b", "count": 2}}
        assert asked[0]["summary"] == "Which one?"
        assert asked[0]["fields"][1]["description"] == "One of: a, b The server requires it."
        refused = await it.call(it.hostile("samples"), "harm", None, ask)
        assert json.loads(refused.text)["message"] == "Sampling not supported"


async def declined() -> dict[str, Any]:
    return {"send": False}
