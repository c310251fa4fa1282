"""Hooks in the modes of a session: what they are told, what they may not change, what stays theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import driven
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.asking import answer, until_asked
from tests.harness.hooks.hooked import PRIMARY, WRITES, ended, hook, result_of, uncaged, write_hooked

pytestmark = pytest.mark.requirement("hooks.modes", "modes.plan")

MODES = {"plan": "plan", "ask": "default", "edits": "acceptEdits", "full": "bypassPermissions"}
"""The modes, and the words of Claude Code for them."""
PLANNING = {"mode": "plan"}
READ = ToolCall("file_read", {"path": "README.md"}, id="r")
WRITE = ToolCall("file_write", {"path": "a.txt", "content": "x\n"}, id="w")
TOUCH = ToolCall("shell_bash", {"command": "touch a.txt"}, id="t")
KEEP = 'cat >> "$KAGED_HOOK.jsonl"; echo >> "$KAGED_HOOK.jsonl"'


async def test_each_hook_is_told_the_mode_that_the_session_has_now(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_hooked(
        tmp_path / "shop",
        before_tool=[uncaged("before", KEEP), uncaged("theirs", KEEP, input="claude")],
        after_tool=[uncaged("after", KEEP)],
        on_prompt=[uncaged("prompt", KEEP)],
        on_stop=[uncaged("stop", KEEP)],
    )
    fake.script(*(reply for _ in MODES for reply in (Reply((READ,)), text_reply("Read."))))
    async with driven(tmp_path / "data", root, session=PLANNING, **settings_overrides) as driver:
        for mode in MODES:
            await driver.session_call("PATCH", "", {"mode": mode})
            await driver.run("Read it")

    def told(name: str, field: str = "mode") -> list[str]:
        return [json.loads(line)[field] for line in (root / f"{name}.jsonl").read_text().splitlines()]

    for name in ("before", "after", "prompt", "stop"):
        assert told(name) == list(MODES), name
    assert told("theirs", "permission_mode") == list(MODES.values())


@pytest.mark.parametrize(
    "allows",
    [
        {"decision": "allow", "context": "You may write now."},
        {"hookSpecificOutput": {"permissionDecision": "allow"}},
    ],
    ids=["kaged", "claude"],
)
async def test_no_hook_lets_a_planning_agent_write(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], allows: dict[str, Any]
) -> None:
    say = f"echo '{json.dumps(allows)}'"
    root = write_hooked(
        tmp_path / "shop",
        before_tool=[uncaged("generous", say)],
        on_prompt=[uncaged("prompt", say)],
    )
    fake.script(Reply((WRITE, TOUCH)), text_reply("I could not."))
    async with driven(tmp_path / "data", root, session=PLANNING, **settings_overrides) as driver:
        watch = await driver.run("Write it")

    for call in ("w", "t"):
        assert result_of(watch, call)["content"].startswith("Error permission_denied")
        assert "mode `plan`" in result_of(watch, call)["content"]
    assert [one["hook"] for one in ended(watch)] == ["prompt"]  # the other one is not even run
    assert not (root / "a.txt").exists()


async def test_a_hook_denies_what_plan_mode_allows_and_sends_a_planning_agent_back(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_hooked(
        tmp_path / "shop",
        before_tool=[uncaged("private", "echo 'not this file' >&2; exit 2")],
        on_stop=[uncaged("more", """grep -q '"sent_back":0' || exit 0; echo 'name the files' >&2; exit 2""")],
    )
    fake.script(Reply((READ,)), text_reply("A plan."), Reply((WRITE,)), text_reply("A plan with files."))
    async with driven(tmp_path / "data", root, session=PLANNING, **settings_overrides) as driver:
        watch = await driver.run("Plan it")

    assert "The hook private denies this call: not this file" in result_of(watch, "r")["content"]
    assert [one["decision"] for one in ended(watch, "more")] == ["sent_back", "continue"]
    assert "mode `plan`" in result_of(watch, "w")["content"]  # sent back it plans on
    assert not (root / "a.txt").exists()


@pytest.mark.parametrize("mode", ["plan", "full"])
@pytest.mark.parametrize("said", ["once", "reject"])
async def test_a_hook_that_asks_is_answered_by_the_operator_in_every_mode(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], mode: str, said: str
) -> None:
    asks = """echo '{"decision": "ask", "reason": "it is private"}'"""
    root = write_hooked(tmp_path / "shop", before_tool=[uncaged("careful", asks)])
    fake.script(Reply((READ,)), text_reply("Done."))
    session = {"mode": mode}
    async with (
        driven(tmp_path / "data", root, session=session, **settings_overrides) as driver,
        driver.watching() as watch,
    ):
        await driver.post("Read it")
        (question,) = await until_asked(watch)
        assert (question["source"], question["reason"]) == (
            "hook",
            "Hook `careful` asks for approval: it is private",
        )
        await answer(driver, question, answer=said)
        await watch.until_state("idle")

    assert result_of(watch, "r")["isError"] is (said == "reject")


@pytest.mark.needs("cages")
async def test_a_hook_writes_as_its_own_cage_says_while_its_agent_plans(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    """The operator has granted the hook its cage; the mode binds the agents. A hook that is to change
    nothing while they plan looks at `mode`."""
    root = write_hooked(
        tmp_path / "shop",
        {**PRIMARY, "cage": {**WRITES, "capabilities": ["shell"]}},
        after_tool=[
            hook("log", "echo read >> log.txt", cage=WRITES),
            hook("polite", """grep -q '"mode":"plan"' && exit 0; echo x > polite.txt""", cage=WRITES),
            hook("default", "touch default.txt || exit 1"),
        ],
    )
    fake.script(Reply((READ, WRITE)), text_reply("Planned."))
    async with driven(tmp_path / "data", root, session=PLANNING, **settings_overrides) as driver:
        watch = await driver.run("Plan it")

    assert (root / "log.txt").read_text() == "read\n"  # and once: the denied write has no hook
    assert not any((root / name).exists() for name in ("a.txt", "polite.txt", "default.txt"))
    decisions = {one["hook"]: one["decision"] for one in ended(watch)}
    assert decisions == {"log": "continue", "polite": "continue", "default": "warning"}
