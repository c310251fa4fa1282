"""The rows that a delegation makes. Pure: values in, values out."""

from __future__ import annotations

from app.harness.delegation.hooks import Delegation
from app.harness.run.run_context import RunContext
from app.ids import new_id, now_ms
from app.storage.models import Message, MessageDetails

DELEGATION, FORWARDED, TASK_RESULT = "delegation", "forwarded", "task_result"
"""Kinds of messages: what a child is asked, what it is shown before, what a background task came to."""


def delegation_row(delegation: Delegation, child: RunContext, prompt: str) -> Message:
    """Return the message that asks the child; `prompt` is what it may be shown of the delegation's."""
    parent = delegation.parent
    details: MessageDetails = {
        "kind": DELEGATION,
        "from": parent.scope.agent_path,
        "parentRunId": parent.scope.run_id,
        "parentToolCallId": delegation.call_id,
    }
    return _row(child, prompt, details)


def forwarded_row(delegation: Delegation, child: RunContext, content: str, left_out: int) -> Message:
    """Return the message with what the child is shown of its parent's conversation."""
    details: MessageDetails = {"kind": FORWARDED, "from": delegation.parent.scope.agent_path}
    if left_out:
        details["linesLeftOut"] = left_out
    return _row(child, content, details)


def task_result_row(
    session_id: str, agent_path: str, content: str, *, child_path: str, run_id: str, state: str
) -> Message:
    """Return the message to an agent about the end of a background task; it has no place
    in the conversation yet."""
    return Message(
        id=new_id("msg"),
        session_id=session_id,
        agent_path=agent_path,
        role="system",
        content=content,
        details={
            "kind": TASK_RESULT,
            "createdBy": "daemon",
            "agentPath": child_path,
            "runId": run_id,
            "state": state,
        },
        delivery="steer",
        created_at=now_ms(),
    )


def _row(child: RunContext, content: str, details: MessageDetails) -> Message:
    return Message(
        id=new_id("msg"),
        session_id=child.scope.session_id,
        run_id=child.scope.run_id,
        agent_path=child.scope.agent_path,
        position=child.history.take_position(),
        role="system",
        content=content,
        details={**details, "createdBy": "daemon"},
        created_at=now_ms(),
    )
