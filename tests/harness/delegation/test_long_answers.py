"""Delegation in long conversations, and answers of children that are made to be slow to read."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from app.harness.compaction.facts import Facts
from app.harness.conversation.estimate import estimate_text
from app.harness.delegation.answers import proposed_todos
from app.harness.delegation.forwarding import MAX_TOKENS, forward
from app.harness.delegation.hooks import Delegation, DelegationHooks
from app.harness.delegation.outside_cage import Outside, SeenLines
from app.messages import AssistantMessage, ModelMessage, TextBlock, UserMessage
from tests.driver.loop_watch import watched_loop

ENOUGH_SECONDS = 2.0
"""Each of these took from eleven seconds to many minutes, in which the daemon did nothing else."""


def in_time(work: Callable[[], Any]) -> Any:
    began = time.process_time()
    done = work()
    assert time.process_time() - began < ENOUGH_SECONDS
    return done


@pytest.mark.requirement("delegation.result")
def test_a_checklist_is_read_in_time_whatever_it_is_made_of() -> None:
    spaces = " " * 60_000
    assert in_time(lambda: proposed_todos("```todos\n" * 25_000)) == []
    (wide,) = in_time(lambda: proposed_todos(f"```todos\n- [x] a{spaces}b{spaces}\n```"))
    assert (wide.content[:2], wide.status) == ("a ", "completed")


@pytest.mark.requirement("delegation.result")
@pytest.mark.parametrize(
    ("text", "contents"),
    [
        (
            "Done.\n```todos  \n- [ ] One  \n* [x] Two\nnothing\n- [~] Three\n``` \nMore",
            ["One", "Two", "Three"],
        ),
        ("```todos\n- [ ] One\n```\n```todos\n- [ ] Two\n```", ["One"]),
        ("```todos\n- [ ] One", []),
        (" ```todos\n- [ ] One\n```", []),
        ("```todos\n- [ ]   \n- [?] No\n  - [-] Yes\n```", ["Yes"]),
    ],
)
def test_the_first_closed_block_is_the_checklist(text: str, contents: list[str]) -> None:
    assert [todo.content for todo in proposed_todos(text)] == contents


@pytest.mark.requirement("compaction.verbatim")
def test_the_headings_of_a_summary_are_found_in_time() -> None:
    facts, spaces = Facts(), " " * 6_000
    summary = f"# Files{spaces}: **{spaces}x\n- a.py\n**Decisions:**\n- Tabs.\n## Next\n- Nothing."
    in_time(lambda: facts.take_headed(summary))
    assert facts.decisions == ["Tabs."]


def conversation(count: int) -> list[ModelMessage]:
    line = "These are the words of message {}, of which there are many in a long conversation.\n"
    return [
        (UserMessage, AssistantMessage)[index % 2](blocks=(TextBlock(text=line.format(index) * 30),))
        for index in range(count)
    ]


def delegation(messages: list[ModelMessage]) -> Delegation:
    class _History:
        def __init__(self) -> None:
            self.messages = messages

    class _Parent:
        history = _History()

    return Delegation(cast(Any, _Parent()), cast(Any, None), "call_1", {}, "Do it.")


@pytest.mark.requirement("delegation.filter")
@pytest.mark.parametrize("caged", [False, True])
async def test_what_is_forwarded_of_a_long_conversation_does_not_hold_up_the_daemon(
    caged: bool, tmp_path: Path
) -> None:
    outside = Outside(SeenLines(), (lambda _: False) if caged else None)
    asked = delegation(conversation(6_000))
    with watched_loop() as watch:
        shown = await forward(asked, DelegationHooks(), outside, 200_000)
    watch.check()
    assert "of message 0," in shown.text and "of message 5999," in shown.text
    assert "[earlier messages left out]" in shown.text
    assert MAX_TOKENS * 0.8 < estimate_text(shown.text) < MAX_TOKENS * 1.1
    assert shown.text.index("of message 5998,") < shown.text.index("of message 5999,")


@pytest.mark.requirement("delegation.filter")
async def test_a_short_conversation_is_forwarded_whole() -> None:
    shown = await forward(delegation(conversation(3)), DelegationHooks(), Outside(SeenLines(), None), None)
    assert "left out" not in shown.text
    assert [shown.text.count(f"of message {n},") for n in range(3)] == [30, 30, 30]
    nothing = await forward(delegation([]), DelegationHooks(), Outside(SeenLines(), None), None)
    assert (nothing.text, nothing.prompt, nothing.left_out) == ("", "Do it.", 0)
