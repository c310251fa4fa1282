"""Sessions whose subagents ask people: the session waits once nothing in it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.family import Cast, agent, calling, enabled
from tests.driver.sessions import Watch, check_stream
from tests.fakes.provider_script import Hold, Reply, Text, text_reply
from tests.harness.asking import answer, until_asked
from tests.harness.delegation.conftest import Drive

pytestmark = pytest.mark.requirement("durability.waiting_session")

ASKS = {
    "tools": enabled("file.*"),
    "permissions": [{"permission": "file.*", "pattern": "*", "action": "ask"}],
}
READ = calling(("file_read", {"path": "prompts/primary.md"}))
LIMITS = {"sessions_per_project": 1}
BELOW = {"coder": agent("coder", **ASKS)}


def told(watch: Watch) -> list[str]:
    return [frame["payload"]["state"] for frame in watch.of("session.state")]


async def test_a_subagent_that_asks_keeps_no_place(drive: Drive, cast: Cast) -> None:
    cast.script(
        "primary", calling(("agent-coder", {"task": "Read."})), text_reply("Free."), text_reply("Read.")
    )
    cast.script("coder", READ)
    async with drive(agent("primary", subagents=BELOW), limits=LIMITS) as driver:
        async with driver.watching() as watch:
            await driver.post("Go")
            (question,) = await until_asked(watch)
            await watch.until_state("paused")
        asking = driver.session_id
        await driver.new_session()
        await driver.run("Hello")
        driver.session_id = asking
        async with driver.watching() as watch:
            await answer(driver, question, answer="once")
            await watch.until_state("idle")
        runs = (await driver.session_call("GET", "/runs?all=true"))["items"]
    check_stream(watch.frames)
    assert told(watch) == ["running", "paused", "running", "idle"]
    assert [run["state"] for run in runs] == ["succeeded", "succeeded"]


async def test_a_subagent_at_work_keeps_the_place_of_one_that_asks(drive: Drive, cast: Cast) -> None:
    hold = Hold()
    family = agent("primary", subagents={**BELOW, "writer": agent("writer")})
    cast.script("primary", calling(("agent-coder", {"task": "Read."}), ("agent-writer", {"task": "Write."})))
    cast.script("coder", READ)
    cast.script("writer", Reply((hold, Text("Written."))))
    async with drive(family) as driver, driver.watching() as watch:
        await driver.post("Go")
        (question,) = await until_asked(watch)
        await watch.until(lambda f: f.get("agent_path") == "primary.subagents.writer")
        await driver.rename("still at work")
        assert await driver.state() == "running"
        hold.gate.set()
        await watch.until_state("paused")
        await answer(driver, question, answer="once")
        await watch.until_state("idle")
    check_stream(watch.frames)


async def test_a_task_in_the_background_keeps_the_place_until_it_asks_or_ends(
    drive: Drive, cast: Cast
) -> None:
    hold = Hold()
    family = agent(
        "primary", tools=enabled("task", "file.*"), subagents=BELOW, permissions=ASKS["permissions"]
    )
    started: dict[str, Any] = {"agent": "coder", "prompt": "Read it.", "background": True}
    cast.script("primary", calling(("task", started), ("file_read", {"path": "prompts/primary.md"})))
    cast.script("coder", Reply((hold, *READ.parts)))
    async with drive(family, limits=LIMITS) as driver, driver.watching() as watch:
        await driver.post("Go")
        (first,) = await until_asked(watch)
        await driver.rename("the task is at work")
        assert await driver.state() == "running"
        hold.gate.set()
        _, second = await until_asked(watch, 2)
        await watch.until_state("paused")
        seen = len(watch.frames)
        await answer(driver, second, answer="once")
        await watch.until_state("running", start=seen)
        await watch.until_state("paused", start=seen)  # the task is over; the agent's own question is not
        await answer(driver, first, answer="once")
        await watch.until_state("idle")
    check_stream(watch.frames)


async def test_a_task_that_asks_while_its_session_is_idle_keeps_no_place(drive: Drive, cast: Cast) -> None:
    family = agent("primary", tools=enabled("task"), subagents=BELOW)
    started: dict[str, Any] = {"agent": "coder", "prompt": "Read it.", "background": True}
    cast.script("primary", calling(("task", started)), text_reply("Begun."), text_reply("Free."))
    cast.script("coder", READ)
    async with drive(family, limits=LIMITS) as driver:
        async with driver.watching() as watch:
            await driver.post("Go")
            (question,) = await until_asked(watch)
            await watch.until_state("idle")
        asking = driver.session_id
        await driver.new_session()
        watch = await driver.run("Hello")
        assert watch.text() == "Free."
        driver.session_id = asking
        async with driver.watching() as watch:
            await answer(driver, question, answer="once")
            await watch.until(lambda _: len(watch.of("run.ended")) == 3)
            await watch.until(lambda _: told(watch)[-1] == "idle")
    check_stream(watch.frames)


SCRIPT = "total = 1\nprint('total', total)\n"
CAGED: dict[str, Any] = {
    "tools": enabled("file.*", "shell.bash", "debug"),
    "permissions": [{"permission": "file.*", "pattern": "*", "action": "ask"}],
    "cage": {
        "fs": [{"mode": "rw", "path": "."}],
        "capabilities": ["shell", "exec"],
        "seccomp": "relaxed",
    },
}


@pytest.mark.needs("cages")
async def test_the_cage_and_the_debug_session_of_a_run_are_there_after_the_answer(
    drive: Drive, cast: Cast, tmp_path: Path
) -> None:
    launch = {"action": "launch", "runtime": "python", "script": "short.py", "timeout": 60_000}
    cast.script("primary", calling(("agent-coder", {"task": "Go."})))
    cast.script(
        "coder",
        calling(("shell_bash", {"command": "echo kept > /tmp/kept"}), ("debug", launch)),
        READ,
        calling(
            ("shell_bash", {"command": "cat /tmp/kept"}),
            ("debug", {"action": "evaluate", "expression": "20 + 22"}),
        ),
    )
    async with drive(agent("primary", subagents={"coder": agent("coder", **CAGED)}), limits=LIMITS) as driver:
        (tmp_path / "family" / "short.py").write_text(SCRIPT)
        async with driver.watching() as watch:
            await driver.post("Go")
            (question,) = await until_asked(watch)
            await watch.until_state("paused")
            before = [str(one["content"]) for one in cast.messages("coder") if one["role"] == "tool"]
            await answer(driver, question, answer="once")
            await watch.until_state("idle")
    check_stream(watch.frames)
    shell, debug = [str(one["content"]) for one in cast.messages("coder") if one["role"] == "tool"][-2:]
    assert "stopped" in before[-1], before
    assert "kept" in shell and '"exit_code":0' in shell
    assert "42" in debug and "Error" not in debug
