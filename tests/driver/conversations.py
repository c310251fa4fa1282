"""Conversations for tests that need no daemon: rows of every kind, and what must hold of any of them.

Owns: building rows, and the invariants: no pair split, what is kept is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from app.harness.conversation.history import History
from app.ids import new_id
from app.messages import AssistantMessage, ModelMessage, TextBlock, ToolCallBlock, ToolResultsMessage
from app.storage.models import Message
from app.storage.models.messages import MessageDetails

SESSION = "ses_01JZ0000000000000000000000"


def row(role: str, content: str, position: int, session_id: str = SESSION, **details: Any) -> Message:
    return Message(
        id=new_id("msg"),
        session_id=session_id,
        position=position,
        role=role,
        content=content,
        details=cast(MessageDetails, details),
        created_at=position,
    )


def exchange(
    position: int,
    said: str,
    *calls: tuple[str, dict[str, Any], str],
    session_id: str = SESSION,
    **details: Any,
) -> list[Message]:
    """Return the rows of an answer with calls (name, arguments, result) and their results."""
    blocks: list[TextBlock | ToolCallBlock] = [TextBlock(text=said)] if said else []
    blocks += [
        ToolCallBlock(id=f"p{position}_{number}", name=name, arguments=arguments)
        for number, (name, arguments, _) in enumerate(calls)
    ]
    stored = [{"type": block.type, **block.model_dump(exclude_defaults=True)} for block in blocks]
    answer = row("primary", said, position, session_id, contentBlocks=stored, stopReason="toolUse", **details)
    results = [
        row(
            "tool",
            result,
            position + 1 + number,
            session_id,
            toolCallId=f"p{position}_{number}",
            toolName=name,
        )
        for number, (name, _, result) in enumerate(calls)
    ]
    return [answer, *results]


def traffic(count: int, *, words: int = 30, session_id: str = SESSION) -> list[Message]:
    """Return a task and `count` exchanges of one call each, with an operator's word now and then."""
    rows = [row("operator", "The task: keep this sentence.", 1, session_id)]
    for number in range(count):
        position = rows[-1].position or 0
        if number % 50 == 49:
            rows.append(row("operator", f"Go on with part {number}.", position + 1, session_id))
            position += 1
        path = f"src/file{number}.py"
        call = ("file.read", {"path": path}, f"{path}: " + "word " * words)
        rows += exchange(position + 1, f"Reading {number}.", call, session_id=session_id)
    return rows


def check_pairs(messages: Sequence[ModelMessage]) -> None:
    """Every answer with calls is followed by exactly its results, and no results stand alone."""
    expected: list[str] = []
    for message in messages:
        if isinstance(message, ToolResultsMessage):
            assert [result.tool_call_id for result in message.results] == expected
            expected = []
            continue
        assert not expected, expected
        if isinstance(message, AssistantMessage):
            expected = [block.id for block in message.blocks if isinstance(block, ToolCallBlock)]
    assert not expected


def row_ids(history: History) -> list[str]:
    return [row_id for entry in history.entries for row_id in entry.row_ids]
