"""Delegate: a compactor plugin decides what goes; what it answers is checked before it is believed.

Owns: the check. Never: asking the plugin (`ports`), or what happens when the answer is wrong (the
compactor falls back to drop).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.harness.compaction.notes import loses_summary
from app.harness.compaction.plan import Plan, StrategyFailed, Summary, Window

MAX_SUMMARY_CHARACTERS = 400_000

DROPPED_ALWAYS_KEEP = "compactor_dropped_always_keep"
SPLIT_TOOL_PAIR = "compactor_split_tool_pair"
INVALID_RESULT = "compactor_invalid_result"


def checked_plan(result: Mapping[str, Any], window: Window) -> Plan:
    """Return the plan that a compactor's answer stands for. Raises `StrategyFailed` with its code.

    `messages` is the new conversation: objects with the `id` of a message that stays, in their order,
    and at most one without an id whose `content` is the summary; `superseded` lists the ids of all
    others."""
    stays, text = _messages(result.get("messages"))
    gone = _ids(result.get("superseded"))
    known = {row_id for unit in window.units for row_id in unit.row_ids}
    if unknown := (set(stays) | gone) - known:
        raise StrategyFailed(f"{INVALID_RESULT}: {min(unknown)!r} is not a message of this conversation")
    if gone & set(stays):
        raise StrategyFailed(f"{INVALID_RESULT}: a message both stays and is superseded")
    for index in window.kept:
        if not set(window.units[index].row_ids) <= set(stays):
            raise StrategyFailed(f"{DROPPED_ALWAYS_KEEP}: {window.units[index].row_ids[0]}")
    for unit in window.units:
        here = [row_id in gone for row_id in unit.row_ids]
        if any(here) and not all(here):
            raise StrategyFailed(f"{SPLIT_TOOL_PAIR}: {unit.row_ids[0]} and its results")
    if gone | set(stays) != known:
        raise StrategyFailed(f"{INVALID_RESULT}: {min(known - gone - set(stays))!r} is left out unsaid")
    if stays != [row_id for unit in window.units for row_id in unit.row_ids if row_id not in gone]:
        raise StrategyFailed(f"{INVALID_RESULT}: the messages are in another order")
    summary = text if text is not None else result.get("summary")
    if summary is not None and (not isinstance(summary, str) or len(summary) > MAX_SUMMARY_CHARACTERS):
        raise StrategyFailed(f"{INVALID_RESULT}: the summary is not a text of acceptable length")
    units = [unit for unit in window.units if unit.row_ids and unit.row_ids[0] in gone]
    says = bool(summary and summary.strip() and units)
    if not says and loses_summary(units):
        raise StrategyFailed(f"{DROPPED_ALWAYS_KEEP}: a summary of earlier messages, and there is no new one")
    return Plan("delegate", units, summary=Summary(str(summary)) if says else None)


def _messages(value: Any) -> tuple[list[str], str | None]:
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise StrategyFailed(f"{INVALID_RESULT}: `messages` is not a list")
    stays: list[str] = []
    text: str | None = None
    for item in value:
        if not isinstance(item, Mapping):
            raise StrategyFailed(f"{INVALID_RESULT}: a message is not an object")
        if isinstance(item.get("id"), str):
            stays.append(item["id"])
        elif text is None and isinstance(item.get("content"), str):
            text = item["content"]
        else:
            raise StrategyFailed(f"{INVALID_RESULT}: a message has no id, and there is one summary at most")
    if len(set(stays)) != len(stays):
        raise StrategyFailed(f"{INVALID_RESULT}: a message is there twice")
    return stays, text


def _ids(value: Any) -> set[str]:
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise StrategyFailed(f"{INVALID_RESULT}: `superseded` is not a list")
    if not all(isinstance(item, str) for item in value):
        raise StrategyFailed(f"{INVALID_RESULT}: `superseded` holds something that is no id")
    return set(value)
