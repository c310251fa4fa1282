"""The rows that a delegation makes. Pure: values in, values out."""

from __future__ import annotations

from app.harness.conversation.session_rows import daemon_message, placed_in
from app.harness.delegation.hooks import Delegation
from app.harness.run.run_context import RunContext
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
    details: MessageDetails = {
        "kind": TASK_RESULT,
        "agentPath": child_path,
        "runId": run_id,
        "state": state,
    }
    return daemon_message(session_id, agent_path, content, details).model_copy(update={"delivery": "steer"})


def _row(child: RunContext, content: str, details: MessageDetails) -> Message:
    scope = child.scope
    return placed_in(
        child.history, daemon_message(scope.session_id, scope.agent_path, content, details), scope.run_id
    )
