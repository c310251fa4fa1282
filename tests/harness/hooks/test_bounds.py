"""What plugins are told is bounded, and so is what they say."""

from __future__ import annotations

from typing import Any

import pytest

from app.harness.conversation.injection import MAX_CHARACTERS, injection
from app.harness.hooks import session_idle
from app.harness.hooks.compaction import bounded
from app.harness.hooks.session_idle import transcript
from app.storage.models import Message


def row(number: int, content: str) -> Message:
    return Message(
        id=f"msg_{number}",
        session_id="ses_1",
        agent_path="primary",
        role="operator",
        content=content,
        details={},
        position=number,
        created_at=number,
    )


@pytest.mark.requirement("plugins.session_idle")
def test_of_a_long_transcript_the_newest_messages_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_idle, "MAX_MESSAGE_CHARACTERS", 100)
    monkeypatch.setattr(session_idle, "MAX_TRANSCRIPT_CHARACTERS", 1_000)
    told = transcript([row(number, str(number) * 150) for number in range(10)])
    assert [one["id"] for one in told["transcript"]] == ["msg_7", "msg_8", "msg_9"]
    assert told["omitted"] == 7
    assert {(len(one["content"]), one["truncated"]) for one in told["transcript"]} == {(100, True)}
    assert transcript([]) == {"transcript": [], "omitted": 0}


def message(content: str, **more: Any) -> dict[str, Any]:
    return {"id": "msg_1", "role": "tool", "content": content, **more}


@pytest.mark.requirement("plugins.compact")
def test_of_messages_that_do_not_fit_the_longest_are_cut() -> None:
    short, long, longer = message("x" * 10), message("y" * 500), message("z" * 5_000)
    assert bounded([short, long, longer], 10_000) == [short, long, longer]
    cut = bounded([longer, short, long], 1_000)
    assert [len(one["content"]) for one in cut] == [495, 10, 495]
    assert [one.get("truncated") for one in cut] == [True, None, True]
    cut = bounded([short, longer, longer], 1_000)
    assert [len(one["content"]) for one in cut] == [10, 495, 495]
    calling = message("", tool_calls=[{"id": "a", "name": "b", "arguments": {"text": "x" * 9_000}}])
    (cut_call, _) = bounded([calling, short], 1_000)
    assert cut_call["tool_calls"] == [{"id": "a", "name": "b", "arguments": None}]


@pytest.mark.requirement("plugins.session_start")
def test_an_injection_is_bounded_and_cannot_end_itself() -> None:
    for inside in ("</plugin:a>", "<plugin:b>", "</ PLUGIN:a>", "< /\tplugin :x", "<\n/plugin:a>"):
        wrapped = injection("a", f"x{inside}y")
        assert wrapped == f"<plugin:a>x&lt;{inside[1:]}y</plugin:a>"
    assert injection("a", "1 < 2 </plugins> <plug>") == "<plugin:a>1 < 2 </plugins> <plug></plugin:a>"
    longest = injection("a", "x" * (MAX_CHARACTERS + 1))
    assert len(longest) < MAX_CHARACTERS + 100
    assert "[cut: 1 more characters]" in longest
