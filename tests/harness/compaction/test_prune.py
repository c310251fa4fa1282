"""Old tool output is shortened first: by the rule of the source, step by step as well as at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.harness.compaction.always_keep import names_tool
from app.harness.compaction.prune import ToolOutputPruner
from app.harness.conversation.estimate import estimate_text
from app.harness.conversation.history import History
from app.harness.conversation.view import notice
from app.harness.dsl.spec import PruneSpec
from app.messages import ToolResultsMessage
from tests.driver.conversations import exchange, row
from tests.driver.small_window import compactions, events, small, texts, verified
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("compaction.prune")


def by_the_rule(history: History, settings: PruneSpec) -> dict[tuple[int, int], int]:
    """Walk from the newest result to the oldest, as the source says it, without any shortcut."""
    results = [
        (index, number, result.name, estimate_text(result.content))
        for index, entry in enumerate(history.entries)
        if isinstance(entry.message, ToolResultsMessage)
        for number, result in enumerate(entry.message.results)
    ]
    accumulated, found, saved = 0, {}, 0
    for index, number, name, tokens in reversed(results):
        protected = accumulated < settings.protect_tokens
        accumulated += tokens
        savings = tokens - estimate_text(notice(tokens))
        if protected or savings <= 0 or any(names_tool(p, name) for p in settings.protected_tools):
            continue
        found[index, number] = tokens
        saved += savings
    return found if saved > settings.minimum_savings else {}


shapes = st.lists(
    st.tuples(st.sampled_from(["file.read", "shell.bash", "skill", "search.text"]), st.integers(0, 300)),
    max_size=25,
)


def grown(shape: list[tuple[str, int]]) -> History:
    rows = [row("operator", "task", 1)]
    for number, (name, words) in enumerate(shape):
        rows += exchange(2 + 2 * number, "s", (name, {}, "word " * words))
    return History(rows)


def shown_notices(history: History) -> dict[tuple[int, int], int]:
    return {(i, n): t for i, entry in enumerate(history.entries) for n, t in entry.pruned.items()}


@settings(deadline=None)
@given(shapes, st.integers(0, 600), st.integers(0, 600))
def test_all_at_once_it_is_the_rule_of_the_source(
    shape: list[tuple[str, int]], protect: int, minimum: int
) -> None:
    settings = PruneSpec(protect_tokens=protect, minimum_savings=minimum)
    history = grown(shape)
    expected = by_the_rule(history, settings)
    before = history.tokens()
    pruned = ToolOutputPruner(history, settings).prune()
    found = shown_notices(history)
    assert found == expected
    assert pruned.count == len(found)
    assert before - history.tokens() == pruned.tokens_saved


@settings(deadline=None)
@given(shapes)
def test_what_was_pruned_stays_so_and_nothing_is_pruned_for_little(shape: list[tuple[str, int]]) -> None:
    settings = PruneSpec(protect_tokens=200, minimum_savings=300)
    whole = grown(shape)
    history = History()
    pruner = ToolOutputPruner(history, settings)
    known: dict[tuple[int, int], int] = {}
    for entry in whole.entries:
        history._append(entry)
        pruned = pruner.prune()
        found = shown_notices(history)
        assert known.items() <= found.items()
        assert pruned.tokens_saved == 0 or pruned.tokens_saved > settings.minimum_savings
        known = found
    assert list(history.visible) == [entry.shown for entry in history.entries]


async def test_a_pruned_result_is_a_notice_for_the_model_and_whole_for_the_operator(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    block = "prune: { protect_tokens: 400, minimum_savings: 500, protected_tools: [skill] }"
    async with small(tmp_path, settings_overrides, block) as driver:
        calls = [
            Reply((ToolCall("file_read", {"path": f"file{n}.txt"}, id=f"c{n}"),), usage=None)
            for n in range(7)
        ]
        fake.script(*calls, text_reply("Done.", usage=None))
        await driver.run("Read")
        assert await compactions(driver) == []
        shown = texts(fake.requests[-1])
        notices = [text for text in shown if text.startswith("[Pruned \u2014 ")]
        assert len(notices) >= 2
        assert shown[-1].count("word") >= 300  # the newest stays whole
        rows = [m for m in await driver.messages() if m["role"] == "tool"]
        assert all("word" in m["content"] for m in rows)
        assert (await events(driver, "context.pruned"))[0]["data"]["results"] >= 2
        await verified(driver, fake)
