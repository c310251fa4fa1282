"""Skills and news of instruction files outlive every way in which a conversation gets shorter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.harness.compaction.always_keep import always_kept
from app.harness.compaction.units import units_of
from app.harness.conversation.history import History
from app.harness.conversation.older_results import leave_out_results
from app.messages import ToolResultsMessage
from app.storage.models import Message
from tests.driver.conversations import exchange, row
from tests.driver.sessions import FEW_TOOLS_YAML, Driver, driven, restarted, write_project
from tests.driver.small_window import LIMITS, MODELS, PRICES, SUMMARIZE, compactions, reads, to, verified
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.compaction.test_delegate import DECLARED, PLUGIN, Plugins, installed, oldest
from tests.harness.compaction.test_operators import resumed
from tests.harness.compaction.test_summarize import both
from tests.harness.guidance.test_skill_folders import skill

pytestmark = pytest.mark.requirement("guidance.kept")
FIRST = [
    Reply((ToolCall("skill", {"name": "greeting"}, id="s0"),), usage=None),
    Reply((ToolCall("file_read", {"path": "src/a.py"}, id="n0"),), usage=None),
]


@asynccontextmanager
async def guided(
    tmp_path: Path, overrides: dict[str, Any], compaction: str = "", more: str = LIMITS
) -> AsyncIterator[Driver]:
    """A session of an agent with a small window that has a skill and a nested file."""
    block = f"  compaction: {{ {compaction} }}\n" if compaction else ""
    yaml = FEW_TOOLS_YAML + "    skill: { enabled: true }\n" + block + more
    root = write_project(tmp_path / "small", yaml)
    (root / "prompts" / "summarizer.md").write_text("You summarize.\n")
    for number in range(40):
        (root / f"file{number}.txt").write_text(f"content of {number}: " + "word " * 300)
    skill(root / ".claude" / "skills" / "greeting", "greeting", body="Say AHOY.")
    (root / "src").mkdir()
    (root / "src" / "a.py").write_text("a = 1\n")
    (root / "src" / "AGENTS.md").write_text("End with GOODBYE.")
    merged = {**overrides, "models": MODELS, "prices": PRICES}
    async with driven(tmp_path / "data", root, **merged) as driver:
        yield driver


async def is_kept(driver: Driver, fake: FakeProvider) -> None:
    """Both are in the last request, and what they are older than is not."""
    said = to("small", fake)[-1].body
    assert b"Say AHOY." in said and b"End with GOODBYE." in said
    assert b"content of 0:" not in said
    await verified(driver, fake)


@pytest.mark.parametrize("strategy", ["drop", "summarize", "delegate", "checkpoint"])
async def test_each_strategy_keeps_them(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], strategy: str
) -> None:
    settings = {
        "drop": "strategy: drop",
        "summarize": f"strategy: summarize, {SUMMARIZE}",
        "delegate": PLUGIN,
        "checkpoint": "strategy: checkpoint",
    }[strategy]
    replies = [*FIRST, *reads(13)]
    if strategy == "summarize":
        fake.respond = both(replies)
    else:
        fake.script(*replies, text_reply("Done.", usage=None))
    more = DECLARED + LIMITS if strategy == "delegate" else LIMITS
    async with guided(tmp_path, settings_overrides, settings, more) as driver:
        if strategy == "delegate":
            installed(driver, Plugins(oldest))
        if strategy == "checkpoint":
            await driver.run("Read")
            proposal = (await compactions(driver))[0]
            await driver.session_call("POST", f"/compactions/{proposal['id']}/approve", status=200)
            await resumed(driver)
        else:
            await driver.run("Read")
        record = (await compactions(driver))[0]
        assert (record["strategy"], record["state"]) == (strategy, "applied")
        await is_kept(driver, fake)
        session = driver.session_id
    fake.respond = None
    fake.script(text_reply("Still here.", usage=None))
    async with restarted(
        tmp_path / "data", **settings_overrides | {"models": MODELS, "prices": PRICES}
    ) as driver:
        driver.session_id = session
        await driver.run("And now?")
        said = to("small", fake)[-1].body
        assert b"Say AHOY." in said and b"End with GOODBYE." in said
        rows = [one for one in await driver.messages() if one["details"].get("told")]
        assert len(rows) == 1


async def test_truncation_keeps_the_news_of_files(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    keep = "always_keep: [{ role: tool }]"
    more = "limits: { max_output_tokens: 500, on_overflow: truncate }\n"
    fake.script(*FIRST, *reads(15), text_reply("Done.", usage=None))
    async with guided(tmp_path, settings_overrides, keep, more) as driver:
        await driver.run("Read")
        events = [one["event"] for one in (await driver.call("GET", "/audit?limit=100"))["items"]]
        assert "policy.truncated" in events
        said = to("small", fake)[-1].body
        assert b"End with GOODBYE." in said and b"content of 0:" not in said
        await verified(driver, fake)


def test_results_of_earlier_turns_are_left_out_but_for_skills() -> None:
    history = History(
        [row("operator", "Go", 1), *exchange(2, "", ("skill", {}, "Body"), ("file.read", {}, "Text " * 50))]
    )
    leave_out_results(history)
    shown = history.visible[-1]
    assert isinstance(shown, ToolResultsMessage)
    assert [result.content[:7] for result in shown.results] == ["Body", "[Pruned"]


def told(position: int, **files: str) -> Message:
    return row("system", f"News {position}", position, kind="instructions", told=dict(files))


def test_of_several_about_one_file_or_skill_the_newest_is_kept() -> None:
    def body(name: str) -> tuple[str, dict[str, Any], str]:
        return "skill", {"name": name}, f'{{}}\n<skill_content name="{name}">\nBody\n</skill_content>'

    rows = [
        row("operator", "Go", 1),
        told(2, a="1", b="1"),
        told(3, a="2"),
        *exchange(4, "", body("x")),
        *exchange(6, "", body("x"), body("y")),
        *exchange(9, "", ("skill", {"name": "z"}, "Error skill_not_found: no")),
        told(11, a="3"),
        row("primary", "Yes.", 12),
        row("operator", "On", 13),
    ]
    rows[9].details["isError"] = True
    units = units_of(History(rows).entries)
    kept = always_kept(units)
    assert [index in kept for index in range(len(units))] == [
        *(True, True, False, False, True, False, True, False, True)
    ]
