"""Which units of a conversation no compaction takes away.

Owns: the set: the task, what is being answered, marked messages, and the project's own conditions.
Pure. Never: the system prompt, which is not part of the conversation and always sent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from app.harness.compaction.units import Unit
from app.harness.conversation.entry import Entry
from app.harness.dsl.spec import AlwaysKeep
from app.messages import (
    AssistantMessage,
    TextBlock,
    ToolCallBlock,
    ToolResult,
    ToolResultsMessage,
    UserMessage,
)
from app.tools.contract.ports import SKILL_TOOL
from app.workspace.globs import text_matches

MAX_SKILL_TOKENS = 24_000
"""Tokens of the steps with bodies of skills that stay; those that were loaded first may go."""
SKILL_MARK = re.compile(r"<skill_content name=[^\n<>]*>")
_ROLES = {"operator": "user", "system": "user", "primary": "assistant", "tool": "tool"}


def always_kept(units: Sequence[Unit], conditions: Sequence[AlwaysKeep] = ()) -> set[int]:
    """Return the indexes of the units that stay.

    Those are the first message of an operator (of a child what it was given at its start: its task),
    every message marked `always_keep`, every one that fulfils a condition, the newest about each instruction
    file, the newest body of each skill, and what the model is just answering: the newest unit and the newest
    message of an operator."""
    if not units:
        return set()
    posted = [i for i, unit in enumerate(units) if unit.entries[0].role == "operator"]
    kept = {*posted[:1], *posted[-1:], len(units) - 1}
    if not posted:
        kept.update(takewhile(lambda index: _is_user(units[index]), range(len(units))))
    files: dict[str, int] = {}
    skills: dict[str, int] = {}
    for index, unit in enumerate(units):
        for entry in unit.entries:
            if entry.always_keep or (conditions and any(_fulfils(entry, one) for one in conditions)):
                kept.add(index)
            if entry.role == "tool":
                for name in _skills_in(entry):
                    skills[name] = index
        if unit.entries[0].told:
            files.update((origin, index) for origin in unit.entries[0].told)
    return kept | set(files.values()) | _within_bound(units, set(skills.values()))


def _within_bound(units: Sequence[Unit], skills: set[int]) -> set[int]:
    """Return which units with bodies of skills stay: those loaded last first, within their bound."""
    kept: set[int] = set()
    room = MAX_SKILL_TOKENS
    for index in sorted(skills, reverse=True):
        room -= units[index].tokens
        if kept and room < 0:
            break
        kept.add(index)
    return kept


def _skills_in(entry: Entry) -> list[str]:
    results = entry.message.results if isinstance(entry.message, ToolResultsMessage) else ()
    return [_mark_of(result) for result in results if result.name == SKILL_TOOL and not result.is_error]


def _mark_of(result: ToolResult) -> str:
    mark = SKILL_MARK.search(result.content)
    return result.tool_call_id if mark is None else mark[0]


def names_tool(pattern: str, name: str) -> bool:
    """Tell whether a name or glob is meant for a tool: `read` stands for `file.read` as well."""
    return text_matches(name, pattern) or text_matches(name.rpartition(".")[2], pattern)


def _is_user(unit: Unit) -> bool:
    return isinstance(unit.entries[0].message, UserMessage) and unit.entries[0].facts is None


def _fulfils(entry: Entry, condition: AlwaysKeep) -> bool:
    if condition.role is not None and _ROLES.get(entry.role) != condition.role:
        return False
    message = entry.message
    if isinstance(message, ToolResultsMessage):
        return any(
            (condition.tool is None or names_tool(condition.tool, result.name))
            and (condition.contains is None or condition.contains in result.content)
            for result in message.results
        )
    if condition.tool is not None:
        return False
    return condition.contains is None or any(condition.contains in text for text in _texts(entry))


def _texts(entry: Entry) -> list[str]:
    message = entry.message
    if isinstance(message, UserMessage):
        return [block.text for block in message.blocks if isinstance(block, TextBlock)]
    assert isinstance(message, AssistantMessage)
    return [
        block.text if isinstance(block, TextBlock) else repr(block.arguments)
        for block in message.blocks
        if isinstance(block, TextBlock | ToolCallBlock)
    ]
