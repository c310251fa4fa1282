"""Leaves out the tool results of earlier turns for an agent whose author wants it so.

Owns: `include_tool_results_in_context: false`. Never: pruning for want of room (`compaction`).
"""

from __future__ import annotations

from app.harness.conversation.estimate import estimate_text
from app.harness.conversation.history import History
from app.messages import ToolResultsMessage
from app.tools.contract.ports import SKILL_TOOL


def leave_out_results(history: History) -> None:
    """Show a notice in place of every tool result that the conversation has so far, but for skills."""
    notices: dict[int, dict[int, int]] = {}
    for index, entry in enumerate(history.entries):
        if isinstance(entry.message, ToolResultsMessage):
            new = {
                number: estimate_text(result.content)
                for number, result in enumerate(entry.message.results)
                if number not in entry.pruned and result.name != SKILL_TOOL
            }
            if new:
                notices[index] = new
    if notices:
        history.prune(notices)
