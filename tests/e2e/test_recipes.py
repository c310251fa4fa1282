"""The recipes of docs/recipes.md, run as they are written there."""

from __future__ import annotations

import asyncio
import csv
import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.kaged import WAIT_SECONDS, DaemonProcess
from tests.e2e.interop_reader import Reader
from tests.e2e.recipes_page import Kitchen, prepare, written
from tests.fakes.provider_script import Answer, Document, RecordedRequest, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("recipes")

APPROVE = "Approve all questions of one kind"


@pytest.fixture
async def kitchen(model: FakeProvider, tmp_path: Path) -> AsyncIterator[Kitchen]:
    """A reader with a new project, whose daemon runs."""
    reader = Reader(tmp_path, model_port=model.port)
    prepare(reader)
    await reader.paste("kaged init --model smart", cwd=reader.project)
    with DaemonProcess(reader, ("--project", str(reader.project))).start() as daemon:
        yield Kitchen(reader, daemon)


@pytest.mark.needs("curl")
async def test_a_message_is_posted_and_its_answer_awaited(kitchen: Kitchen, model: FakeProvider) -> None:
    by_command, by_http = written("Post a message and wait for the answer")
    model.script(text_reply("It sells things."), text_reply("In shop.toml."))
    assert (await kitchen.cook(by_command)).splitlines()[-1] == "It succeeded."
    assert (kitchen.reader.project / "answer.md").read_text() == "It sells things.\n"
    assert (await kitchen.cook(by_http)).splitlines()[-2:] == ["succeeded", "In shop.toml."]


async def test_a_failed_run_is_a_failed_command(kitchen: Kitchen, model: FakeProvider) -> None:
    model.script(Document(400, {"error": {"message": "There is no such model."}}))
    command, _ = written("Post a message and wait for the answer")
    code, printed = await kitchen.reader.shell(command, cwd=kitchen.reader.project)
    assert code == 1 and "It succeeded." not in printed


@pytest.mark.needs("cages")
async def test_all_questions_of_a_kind_are_approved_or_refused(kitchen: Kitchen, model: FakeProvider) -> None:
    approve, refuse = written(APPROVE)
    model.respond = asks_for_a_command
    first, second = await waiting(kitchen, "one"), await waiting(kitchen, "two")
    printed = await kitchen.cook(approve)
    assert printed.count("shell.bash echo") == 4  # listed, then answered
    for session in (first, second):
        await until(kitchen, session, "idle")
        assert answers(kitchen, session) == [{"answer": "once"}]
    third = await waiting(kitchen, "three")
    await kitchen.cook(refuse)
    await until(kitchen, third, "idle")
    assert answers(kitchen, third) == [{"answer": "reject", "comment": "Not before the release."}]
    assert "Not before the release." in model.requests[-1].body.decode()


async def test_costs_are_exported(kitchen: Kitchen, model: FakeProvider) -> None:
    [commands] = written("Export costs")
    model.script(text_reply("It sells things."), text_reply("In shop.toml."))
    for text in ("=What is it?", "Where is it configured?"):
        await kitchen.cook(f"kaged send '{text}'")
    printed = await kitchen.cook(commands)
    assert re.search(r"^total +2 +20 +0 +10 +0\.0002$", printed, re.MULTILINE)
    with (kitchen.reader.project / "costs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["title"], row["cost_usd"], row["incomplete"]) for row in rows] == [
        ("Where is it configured?", "0.000105", "false"),
        ("'=What is it?", "0.000105", "false"),
    ]


async def test_all_sessions_are_watched(kitchen: Kitchen, model: FakeProvider) -> None:
    stream, look = written("Watch all sessions")
    kitchen.reader.program("python3", f'exec {sys.executable} "$@"')
    (kitchen.reader.project / "watch.py").write_text(
        kitchen.at_home(written("Watch all sessions", "python")[0])
    )
    watching = started(stream, kitchen.reader)
    try:
        assert watching.stdout is not None
        assert await asyncio.to_thread(watching.stdout.readline) == "watching\n"
        model.script(text_reply("It sells things."))
        await kitchen.cook("kaged send 'What is it?'")
        session = kitchen.daemon.newest_session()["id"]
        seen = []
        while f"{session} run.ended succeeded\n" not in seen:
            line = await asyncio.wait_for(asyncio.to_thread(watching.stdout.readline), WAIT_SECONDS)
            assert line, seen
            seen.append(line)
        assert f"{session} session.state running\n" in seen
    finally:
        watching.send_signal(signal.SIGTERM)
        watching.communicate()
    assert "no question is open" in await kitchen.cook(look)


async def test_ollama_is_connected(model: FakeProvider, tmp_path: Path) -> None:
    pull, commands = written("Connect Ollama")
    [settings] = written("Connect Ollama", "toml")
    model.models = ("qwen3",)
    reader = Reader(tmp_path, model_port=model.port)
    reader.program("ollama", 'echo "$@" >> ../pulled')
    reader.config.write_text(
        f"{settings.replace('127.0.0.1:11434', f'127.0.0.1:{model.port}')}\n[daemon]\nport = 0\n"
    )
    with DaemonProcess(reader, ()).start() as daemon:
        kitchen = Kitchen(reader, daemon)
        model.respond = lambda _: text_reply("It sells things.")
        await kitchen.cook(pull)
        assert (reader.folder / "pulled").read_text() == "pull qwen3\n"
        printed = await kitchen.cook(commands)
        assert "✓ ollama" in printed and "It sells things." in printed
        assert {request.json["model"] for request in model.requests if request.body} == {"qwen3"}
        detail = daemon.call("GET", f"/sessions/{daemon.newest_session()['id']}")
        assert detail["context"][0]["window"] == 32768
        assert detail["cost_usd"]["total"] == 0


async def test_a_subagent_is_written_and_asked(kitchen: Kitchen, model: FakeProvider) -> None:
    recipe = "Write a subagent"
    [declared], [commands] = written(recipe, "yaml"), written(recipe)
    kitchen.reader.add_to_project(declared)
    kitchen.files(recipe, ".kaged/prompts/reviewer.md")
    model.script(
        Reply((ToolCall("agent-reviewer", {"task": "Review README.md"}, id="a"),)),
        Reply((ToolCall("file_read", {"path": "README.md"}, id="b"),)),
        text_reply("Line 3 says nothing."),
        text_reply("One defect was found."),
    )
    printed = await kitchen.cook(commands)
    assert "+ " in printed and "primary.subagents.reviewer" in printed  # what trusting it allows
    assert "One defect was found." in printed and "file.read README.md" in printed
    prompts = [json.dumps(request.json["system"]) for request in model.requests]
    assert ["You review code." in prompt for prompt in prompts] == [False, True, True, False]
    assert [one["pending_interactions"] for one in kitchen.daemon.call("GET", "/sessions")["items"]] == [0]


@pytest.mark.needs("cages")
async def test_what_the_agent_did_is_committed(kitchen: Kitchen, model: FakeProvider) -> None:
    recipe = "Let the agent commit"
    hook, commands = written(recipe)
    project = kitchen.reader.project
    await kitchen.cook(
        "git init --quiet && git config user.name Ada && git config user.email ada@example.org && "
        "git add --all && git commit --quiet -m Start"
    )
    trap = project / ".git" / "hooks" / "pre-commit"
    trap.parent.mkdir(exist_ok=True)
    trap.write_text("#!/bin/sh\ntouch trapped\n")
    trap.chmod(0o755)
    kitchen.reader.add_to_project(written(recipe, "yaml")[0])
    script = project / ".kaged" / "hooks" / "commit.sh"
    script.parent.mkdir()
    script.write_text(hook)
    script.chmod(0o755)
    model.script(
        Reply((ToolCall("file_write", {"path": "HOURS.md", "content": "From 8 to 18.\n"}, id="w"),)),
        text_reply("Note the opening hours"),
        text_reply("Nothing to do."),
    )
    printed = await kitchen.cook(commands)
    assert re.search(r"^    Note the opening hours$", printed, re.MULTILINE)
    assert "HOURS.md" in printed
    assert not (project / "trapped").exists()
    await kitchen.cook("kaged send 'Anything else?'")
    log = await kitchen.cook("git log --format=%s && git status --porcelain")
    assert log == "Note the opening hours\nStart\n"


def started(command: str, reader: Reader) -> subprocess.Popen[str]:
    """Start a command that goes on until it is ended."""
    return subprocess.Popen(
        ["sh", "-c", f"exec {command}"],
        cwd=reader.project,
        env=reader.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )


def asks_for_a_command(request: RecordedRequest) -> Answer:
    """Call a command that needs consent, then end."""
    if request.json["messages"][-1]["content"][0]["type"] == "tool_result":
        return text_reply("Done.")
    return Reply((ToolCall("shell_bash", {"command": "echo hello"}, id="c"),))


async def waiting(kitchen: Kitchen, text: str) -> str:
    """Return a session that waits for consent."""
    daemon = kitchen.daemon
    session = str(daemon.call("POST", "/sessions", {"project_id": daemon.project_id})["id"])
    daemon.call("POST", f"/sessions/{session}/messages", {"content": text})
    await until(kitchen, session, "paused")
    return session


def answers(kitchen: Kitchen, session: str) -> list[Any]:
    closed = kitchen.daemon.call("GET", f"/sessions/{session}/interactions")["items"]
    return [
        {key: one["answer"][key] for key in ("answer", "comment") if one["answer"].get(key)} for one in closed
    ]


async def until(kitchen: Kitchen, session: str, state: str) -> None:
    """Wait until a session is in a state."""
    async with asyncio.timeout(WAIT_SECONDS):
        while kitchen.daemon.call("GET", f"/sessions/{session}")["state"] != state:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
