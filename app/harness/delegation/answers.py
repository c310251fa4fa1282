"""From a child's last message to what its parent reads.

Owns: the answer of a child that succeeded, the error of one that did not, and what is taken out of the
last message: a proposed checklist, the output by the child's schema. Pure. Never: storing anything.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import Any, Literal

import orjson

from app.errors import ToolError
from app.harness.delegation.folders import in_words
from app.harness.loop.loop import LoopOutcome
from app.harness.run.run_context import RunContext
from app.json_schema import violations
from app.messages import AssistantMessage, TextBlock, ToolCallBlock
from app.tools.contract.ports import (
    MAX_TODO_CHARACTERS,
    MAX_TODOS,
    ChildAnswer,
    ChildFiles,
    ProposedTodo,
)

COMPLETE_REASONS = frozenset({"stop", "length"})
"""Reasons of a child's run that leave an answer; with `length` it was cut off by its model's limit."""
_SAID = 2_000
_ITEM = re.compile(r"^\s*[-*]\s+\[([ xX~-])\]\s+(\S.*)$")
_JSON_FENCE = re.compile(r"^\s*```(?:json)?[ \t]*\n(.*?)\n```\s*$", re.DOTALL)
_STATUS: dict[str, Literal["pending", "in_progress", "completed"]] = {
    "x": "completed",
    "X": "completed",
    "~": "in_progress",
    "-": "in_progress",
}


def last_text(run: RunContext) -> str:
    """Return the text of the last message of a conversation in which its agent said anything."""
    for message in reversed(run.history.messages):
        if isinstance(message, AssistantMessage):
            text = "".join(block.text for block in message.blocks if isinstance(block, TextBlock))
            if text.strip():
                return text
    return ""


def answer_of(
    run: RunContext, outcome: LoopOutcome, feedback: list[str], files: ChildFiles | None = None
) -> ChildAnswer:
    """Return the answer of a child that got to its end; `files` are those in a workspace of its own. Raises
    ToolError for every other end."""
    if outcome.state != "succeeded" or outcome.reason not in COMPLETE_REASONS:
        raise failure_of(run, outcome, feedback, files)
    text = last_text(run)
    output, problem = structured(text, run.scope.agent.output)
    return ChildAnswer(
        agent_path=run.scope.agent_path,
        run_id=run.scope.run_id,
        state="succeeded",
        reason=outcome.reason,
        steps=run.meter.step,
        todos=proposed_todos(text) or None,
        output=output,
        output_problem=problem,
        feedback=feedback or None,
        files=files,
        message=text,
    )


def failure_of(
    run: RunContext, outcome: LoopOutcome, feedback: list[str], files: ChildFiles | None = None
) -> ToolError:
    """Return the error that says how a child's run ended, and how far it had come."""
    code, what = _what_happened(run, outcome)
    parts = [f"{run.scope.agent_path} {what}", _done_so_far(run)]
    said = last_text(run)
    if said:
        parts.append(f"The last it said: {said[-_SAID:]}")
    left = in_words(files) if files is not None and files.changed else None
    parts += [left] if left is not None else []
    parts += feedback
    detail: dict[str, Any] = {
        "agent_path": run.scope.agent_path,
        "run_id": run.scope.run_id,
        "state": outcome.state,
        "reason": outcome.reason,
        "steps": run.meter.step,
    }
    return ToolError(code, "\n".join(parts), detail=detail)


def _what_happened(run: RunContext, outcome: LoopOutcome) -> tuple[str, str]:
    reason = outcome.reason
    if reason == "max_steps":
        return (
            "agent_out_of_budget",
            f"has used all of its {run.meter.limits.max_steps} steps and is not done.",
        )
    if reason.startswith("budget_"):
        unit = reason.removeprefix("budget_")
        return "agent_out_of_budget", f"has used up its budget of {unit} and is not done."
    if reason == "stuck":
        return "agent_stuck", "repeated itself without progress and was stopped."
    if outcome.state in ("cancelled", "interrupted"):
        return "agent_stopped", f"was stopped before it was done ({reason})."
    if outcome.state == "failed":
        message = str((outcome.error or {}).get("message", reason))
        return "agent_failed", f"failed ({reason}): {message}"
    return "agent_not_done", f"ended without a whole answer ({reason})."


def _done_so_far(run: RunContext) -> str:
    calls: Counter[str] = Counter()
    for message in run.history.messages:
        if isinstance(message, AssistantMessage):
            calls.update(block.name for block in message.blocks if isinstance(block, ToolCallBlock))
    listed = ", ".join(f"{name} ({count})" for name, count in calls.most_common(10))
    return f"Done so far: {run.meter.step} model calls" + (f"; tools called: {listed}." if listed else ".")


def proposed_todos(text: str) -> list[ProposedTodo]:
    """Return the checklist in a fenced block `todos`, one `- [ ] item` in a line; empty without one."""
    items = (_ITEM.match(line) for line in _fenced(text, "```todos"))
    found = (
        ProposedTodo(content=item[2].rstrip()[:MAX_TODO_CHARACTERS], status=_STATUS.get(item[1], "pending"))
        for item in items
        if item is not None
    )
    return list(islice(found, MAX_TODOS))


def _fenced(text: str, opening: str) -> list[str]:
    """Return the lines of the first block that begins so; empty when it is not closed. Line by line: an
    expression over the whole text would start again at each opening."""
    lines = [line.rstrip(" \t") for line in text.split("\n")]
    try:
        first = lines.index(opening) + 1
        return lines[first : lines.index("```", first)]
    except ValueError:
        return []


def structured(text: str, schema: dict[str, Any] | None) -> tuple[dict[str, Any] | None, str | None]:
    """Return the JSON object in `text` and None, or None and what is wrong with it."""
    if schema is None:
        return None, None
    fenced = _JSON_FENCE.match(text)
    try:
        value = orjson.loads(fenced[1] if fenced is not None else text)
    except ValueError as problem:
        return None, f"the answer is not JSON: {problem}"
    if not isinstance(value, dict):
        return None, "the answer is not a JSON object"
    broken = violations(schema, value)
    return (None, "; ".join(broken)) if broken else (value, None)
