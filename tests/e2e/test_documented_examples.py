"""The examples of pages on modes, skills, providers, workspaces and first steps, pasted as by a reader."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon_process import REPOSITORY
from tests.driver.kaged import WAIT_SECONDS, DaemonProcess
from tests.e2e.interop_reader import Reader
from tests.e2e.pasted_commands import steps
from tests.fakes.provider_script import RecordedRequest, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

DOCS = REPOSITORY / "docs"
PLAN = Reply((ToolCall("kaged_plan", {"plan": "1. Split it."}, id="p"),))


@pytest.fixture
async def reader(model: FakeProvider, tmp_path: Path) -> AsyncIterator[tuple[Reader, DaemonProcess]]:
    """A reader with a new project, whose daemon runs."""
    at = Reader(tmp_path, model_port=model.port)
    await at.paste("kaged init", cwd=at.project)
    daemon = DaemonProcess(at, ("--project", str(at.project))).start()
    yield at, daemon
    daemon.stop()


def newest(daemon: DaemonProcess) -> dict[str, Any]:
    return dict(daemon.call("GET", f"/sessions/{daemon.newest_session()['id']}"))


@pytest.mark.requirement("guidance.documented")
async def test_an_agent_gets_the_instructions_and_loads_the_skill(
    reader: tuple[Reader, DaemonProcess], model: FakeProvider
) -> None:
    at, _ = reader
    page = (DOCS / "skills-and-instructions.md").read_text()
    files = re.findall(r"in `([A-Za-z./]+\.md)`:\n\n```markdown\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert [name for name, _ in files] == ["AGENTS.md", ".agents/skills/release/SKILL.md"]
    for name, content in files:
        (at.project / name).parent.mkdir(parents=True, exist_ok=True)
        (at.project / name).write_text(content)
    [command] = [step.script for step in steps(DOCS / "skills-and-instructions.md")]
    model.script(Reply((ToolCall("skill", {"name": "release"}, id="s"),)), text_reply("Released."))
    assert "Released." in await at.paste(command, cwd=at.project)
    first, second = (request.body.decode() for request in model.requests)
    assert "Write British English." in first
    assert "- release: How to make a release of this project." in first
    assert "Run the tests." not in first and "Run the tests." in second


@pytest.mark.requirement("modes.clients", "modes.plan")
async def test_the_commands_of_the_page_on_modes(
    reader: tuple[Reader, DaemonProcess], model: FakeProvider
) -> None:
    at, daemon = reader
    choose, decide = (step.script for step in steps(DOCS / "modes.md"))
    model.script(text_reply("There is nothing to split."))
    printed = await at.paste(choose, cwd=at.project)
    assert "deny" in printed and "fs.write" in printed
    assert newest(daemon)["mode"] == "edits"

    (at.project / "plan.md").write_text("1. Split it in three.\n")
    show, *decisions = decide.strip().splitlines()
    project = daemon.project_id
    for line, mode, state in zip(
        decisions, ("edits", "ask", "plan"), ("accepted", "edited", "rejected"), strict=True
    ):
        model.script(PLAN, text_reply("Carried on."))
        session = daemon.call("POST", "/sessions", {"project_id": project, "mode": "plan"})["id"]
        daemon.call("POST", f"/sessions/{session}/messages", {"content": "Split the parser"})
        await until(daemon, session, "paused")
        assert "1. Split it." in await at.paste(show, cwd=at.project)
        await at.paste(line, cwd=at.project)
        await until(daemon, session, "idle")
        (closed,) = daemon.call("GET", f"/sessions/{session}/interactions")["items"]
        assert (newest(daemon)["mode"], closed["answer"]["state"]) == (mode, state)


async def until(daemon: DaemonProcess, session: str, state: str) -> None:
    """Wait until a session is in a state."""
    async with asyncio.timeout(WAIT_SECONDS):
        while daemon.call("GET", f"/sessions/{session}")["state"] != state:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.requirement("usability.commands")
async def test_the_first_steps_in_a_project(model: FakeProvider, tmp_path: Path) -> None:
    page = DOCS / "getting-started.md"
    test, prepare, use = (step.script for step in steps(page))
    at = Reader(tmp_path, model_port=model.port)
    [settings] = re.findall(r"^```toml\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    at.config.write_text(f"{settings}\n{at.config.read_text()}")
    (tmp_path / "my-app").mkdir()
    model.script(text_reply("OK"))
    assert "✓ anthropic" in await at.paste(test)
    *commands, serve = prepare.strip().splitlines()
    assert serve == "kaged serve"
    # What this machine lacks is no failure of the page.
    printed = await at.paste("\n".join(commands).replace("kaged doctor ", "kaged doctor || true "))
    assert "wrote " in printed and "no problems" in printed
    with DaemonProcess(at).start():
        model.script(text_reply("It sells things."), text_reply("In shop.toml."))
        printed = await at.paste(use, cwd=tmp_path / "my-app")
    assert "It sells things." in printed and "In shop.toml." in printed
    assert len(model.requests[-1].json["messages"]) == 3


@pytest.mark.requirement("usability.commands")
async def test_providers_are_tested_and_listed(model: FakeProvider, tmp_path: Path) -> None:
    at = Reader(tmp_path, model_port=model.port)
    at.config.write_text(
        f'{at.config.read_text()}\n[providers.ollama]\nbase_url = "http://127.0.0.1:{model.port}/v1"\n'
    )
    model.respond = lambda _: text_reply("OK")
    [commands] = [step.script for step in steps(DOCS / "providers.md") if step.heading == "Test a provider"]
    printed = await at.paste(commands)
    assert printed.count("✓ anthropic") >= 2 and printed.count("✓ ollama") >= 2
    assert "qwen3:8b" in {one.json["model"] for one in model.requests if one.body}


@pytest.mark.requirement("changes.command_line")
async def test_the_commands_of_the_page_on_changes(
    reader: tuple[Reader, DaemonProcess], model: FakeProvider
) -> None:
    at, _ = reader
    file = at.project / "src" / "app.py"
    file.parent.mkdir()
    old = "".join(f"value_{number} = {number}\n" for number in range(30))
    new = old.replace("value_3 = 3", "value_3 = 4").replace("value_25 = 25", "value_25 = 26")
    file.write_text(old)
    model.script(text_reply("Begun."))
    await at.paste('kaged send "Begin"', cwd=at.project)
    file.write_text(new)
    [script] = [
        step.script for step in steps(DOCS / "changes.md") if "kaged revert last --undo" in step.script
    ]
    listed, whole, one, revert, hunk, reverts, undo = [
        line.partition("#")[0].strip() for line in script.strip().splitlines()
    ]
    assert "src/app.py" in await at.paste(listed, cwd=at.project)
    assert "+value_25 = 26" in await at.paste(whole, cwd=at.project)
    assert "+value_25 = 26" in await at.paste(one, cwd=at.project)
    await at.paste(revert, cwd=at.project)
    assert file.read_text() == old
    file.write_text(new)
    made = await at.paste(hunk, cwd=at.project)
    assert file.read_text() == new.replace("value_25 = 26", "value_25 = 25")
    revert_id = made.partition("--undo ")[2].partition("`")[0]
    assert revert_id in await at.paste(reverts, cwd=at.project)
    await at.paste(undo.replace("rvt_...", revert_id), cwd=at.project)
    assert file.read_text() == new


TOKENS = "".join(f"{name} = 0\n" for name in ("word", "space", "number", "sign", "end"))
EDITS = {"Fix the parser.": "word = 1", "Fix the lexer.": "word = 2", "Write the docs.": "end = 3"}
KEEP_OWN = "sed -i '/^<<<<<<< /,/^=======$/d; /^>>>>>>> /d' tokens.toml"


def work(request: RecordedRequest) -> Reply:
    """Answer as an agent that changes the line it is asked to, or resolves conflicts in favour of its own."""
    messages: list[dict[str, Any]] = request.json["messages"]
    if messages[-1]["role"] == "user" and "tool_result" in str(messages[-1]["content"]):
        return text_reply("Done.")
    asked = str(messages[-1]["content"])
    line = next((line for task, line in EDITS.items() if task in asked), None)
    if line is None:
        assert "The lines above ======= are the project" in asked
        return Reply((ToolCall("shell_bash", {"command": KEEP_OWN}, id="c1"),))
    edit = f"sed -i 's/^{line.split()[0]} = .*/{line}/' tokens.toml"
    return Reply((ToolCall("shell_bash", {"command": edit}, id="c1"),))


@pytest.mark.requirement("workspaces.merge")
async def test_three_agents_work_side_by_side_as_the_page_on_workspaces_says(
    reader: tuple[Reader, DaemonProcess], model: FakeProvider
) -> None:
    at, daemon = reader
    model.respond = work
    asks = '{ permission: shell.bash, pattern: "*", action: ask }'
    project = at.project_file.read_text()
    assert asks in project
    at.project_file.write_text(project.replace(asks, asks.replace("ask }", "allow }")))
    await at.paste("kaged trust", cwd=at.project)
    (at.project / "tokens.toml").write_text(TOKENS)
    await at.paste(
        "git init -q -b main; git config user.name Ada; git config user.email ada@example.org;"
        " git add -A; git commit -qm first",
        cwd=at.project,
    )
    [script] = [step.script for step in steps(DOCS / "workspaces.md") if "--to-agent" in step.script]
    # The merge of conflicts ends with 1, which ends a shell that stops at the first failure.
    printed = await at.paste(script.replace("--to-agent ", "--to-agent || true "), cwd=at.project)
    assert "+word = 1" in printed and "conflict: tokens.toml" in printed
    assert re.search("`kaged attach ses_[A-Z0-9]+ --until-idle` waits for it", printed)
    assert (at.project / "tokens.toml").read_text() == TOKENS.replace("word = 0", "word = 2")
    assert await at.paste("git log --format=%s; git status --short", cwd=at.project) == (
        "Parser\nfirst\n M tokens.toml\n"
    )
    found = daemon.call("GET", f"/projects/{daemon.project_id}/workspaces")["items"]
    assert {one["state"] for one in found} == {"merged", "discarded"}
