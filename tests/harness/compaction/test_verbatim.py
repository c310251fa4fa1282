"""A long real transcript is summarized by a model that remembers nothing: what must survive, survives.

The transcript is tool traffic over this code base: real tools, real files, a scripted model.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.harness.run.todo_lists import SessionTodos
from app.ids import new_id, now_ms
from app.storage.models import Interaction, Message
from app.tools.contract.ports import TodoItem, TodoState
from tests.driver.sessions import Driver
from tests.driver.small_window import LIMITS, PRICES, SUMMARIZE, compactions, small, texts, to, verified
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("compaction.verbatim")

TRANSCRIPT = Path(__file__).parents[2] / "fixtures" / "compaction" / "transcript.jsonl"

TODOS: list[tuple[str, TodoState]] = [
    ("Measure how long ten thousand messages take to drop", "in_progress"),
    ("Describe the thresholds in docs/compaction.md", "pending"),
    ("Find every reader of History.messages", "completed"),
    ("Ask whether pictures count as tool output", "pending"),
]
QUESTION = "May the old table be dropped once the migration has run?"
DECISIONS = (
    "Decided: a list that changes gets a new encoding cache, because cached bytes are found by index.",
    (
        "Decision: the summary takes the position of the last message that it stands for, so that reading by "
        "position needs no new column."
    ),
    "Decided: `truncate` stays what it is and comes after compaction, never before it.",
    "Decision: a refused answer is superseded and not deleted, because its step points at it.",
    "We decided not to read paths out of shell commands: they are words there, not arguments.",
    "It was decided that a request is read back by what was visible then, also after later compactions.",
)


def transcript(session_id: str) -> list[Message]:
    at = now_ms()
    return [
        Message(id=new_id("msg"), session_id=session_id, position=n, created_at=at, **orjson.loads(line))
        for n, line in enumerate(TRANSCRIPT.read_bytes().splitlines(), 1)
    ]


def paths_of(rows: list[Message]) -> set[str]:
    """Return the paths that the calls in these rows were made with, read plainly."""
    blocks = [b for r in rows for b in r.details.get("contentBlocks", ()) if b["type"] == "tool_call"]
    return {b["arguments"]["path"] for b in blocks if "path" in b.get("arguments", {})}


async def prepared(driver: Driver) -> list[Message]:
    """Put the transcript, the todos and an unanswered question into the session."""
    rows = transcript(driver.session_id)
    question = Interaction(
        id=new_id("itx"),
        session_id=driver.session_id,
        kind="question",
        request={"questions": [{"question": QUESTION}]},
        created_at=now_ms(),
    )

    def store(uow: Any) -> None:
        uow.messages.add_many(rows)
        uow.interactions.add(question)

    storage = driver.daemon.services.storage
    await storage.write(store)
    todos = SessionTodos(storage, driver.session_id)
    await todos.replace([TodoItem(content, status) for content, status in TODOS], "primary")
    return rows


async def test_open_todos_questions_paths_and_decisions_are_kept_word_for_word(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.respond = lambda _: text_reply("They looked at the code.", usage=None)
    prices = {**PRICES, "fake:small": {"context_window": 48_000}, "fake:sum": {"context_window": 16_000}}
    async with small(
        tmp_path, settings_overrides, "strategy: summarize, " + SUMMARIZE, LIMITS, prices=prices
    ) as driver:
        rows = await prepared(driver)
        assert len(rows) > 200
        await driver.run("What is left to be done?")
        (record,) = await compactions(driver)
        gone = [r for r in rows if r.id in record["superseded_message_ids"]]
        assert len(gone) > 100
        said = [line for r in gone if r.role == "primary" for line in r.content.splitlines()]
        expected = [line for line in DECISIONS if line in said]
        assert len(expected) >= 3
        sent = texts(to("small", fake)[-1])[2]
        assert sent == record["summary"]
        check(sent, gone, expected)

        for _ in range(3):  # and again, through summaries of summaries
            await driver.run("Go on. " + "word " * 3_000)
            assert (await driver.session_call("POST", "/compact"))["outcome"] == "completed"
        made = await compactions(driver)
        assert len(made) >= 4
        for earlier, later in itertools.pairwise(made):
            assert earlier["summary_message_id"] in later["superseded_message_ids"]
        named = {row_id for one in made for row_id in one["superseded_message_ids"]}
        gone = [r for r in rows if r.id in named]
        said = [line for r in gone if r.role == "primary" for line in r.content.splitlines()]
        check(made[-1]["summary"], gone, [line for line in DECISIONS if line in said])
        await verified(driver, fake)


def check(summary: str, gone: list[Message], decisions: list[str]) -> None:
    lines = summary.splitlines()
    for content, status in TODOS:
        assert (f"- [{status}] {content}" in lines) == (status != "completed")
    assert f"- {QUESTION}" in lines
    missing = {path for path in paths_of(gone) if f"- {path}" not in lines}
    assert not missing
    assert len(paths_of(gone)) > 40
    for line in decisions:
        assert lines.count(f"- {line}") == 1
