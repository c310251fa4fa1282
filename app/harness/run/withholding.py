"""The content gate of a run: what its model must not be sent leaves the conversation before a request does.

Owns: when messages are examined, and the record of what was withheld. Never: which content that is
(`content_gate`); the stored messages keep theirs.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from app.harness.conversation.content_gate import ContentGate
from app.harness.conversation.entry import Entry
from app.harness.conversation.withheld import Cuts, noted
from app.harness.run.run_context import RunContext
from app.messages import AssistantMessage, ToolCallBlock
from app.storage.unit_of_work import UnitOfWork

MAX_AUDITED_PATHS = 50
_Open = list[tuple[Entry, dict[str, ToolCallBlock]]]


async def withhold(run: RunContext, step: int) -> None:
    """Take what the gates of the run's agent withhold out of every message that they have not examined.

    `step` is that of the request that follows."""
    gate = _gate_of(run)
    while gate is not None and (opened := _unexamined(run, gate)):
        messages = [(entry.message, calls) for entry, calls in opened]
        examined = await asyncio.to_thread(gate.examine, messages)
        counts: Counter[str] = Counter()
        changed: list[tuple[Sequence[str], Mapping[str, Cuts]]] = []
        for (entry, _), (before, _), found in zip(opened, messages, examined, strict=True):
            if entry.message is not before or entry not in run.history.entries:
                continue  # it has changed meanwhile
            entry.passed |= {gate.digest}
            if found.cuts:
                run.history.withhold(entry, found.message)
                counts.update(found.paths)
                changed.append((entry.row_ids, found.cuts))
        if changed:
            paths = [{"path": path, "count": count} for path, count in counts.most_common(MAX_AUDITED_PATHS)]
            run.journal.audit("policy.withheld", {"step": step, "count": counts.total(), "paths": paths})
            run.journal.record(statements=partial(_note, changed), kept=True)


def _gate_of(run: RunContext) -> ContentGate | None:
    globs, history = run.scope.agent.content_gates, run.history
    if history.gate is None or history.gate.globs != globs:
        history.gate = ContentGate(run.scope.project_root, globs) if globs else None
    return history.gate


def _unexamined(run: RunContext, gate: ContentGate) -> _Open:
    """Return the messages that the gate has not examined; beside results the calls of their answer."""
    opened: _Open = []
    calls: dict[str, ToolCallBlock] = {}
    for entry in run.history.entries:
        if isinstance(entry.message, AssistantMessage):
            calls = {block.id: block for block in entry.message.blocks if isinstance(block, ToolCallBlock)}
        elif gate.digest not in entry.passed:
            opened.append((entry, calls))
    return opened


def _note(changed: Sequence[tuple[Sequence[str], Mapping[str, Cuts]]], uow: UnitOfWork) -> None:
    """Note the cuts with the rows that they are made in, so that the same is sent ever after."""
    for row_ids, cuts in changed:
        for row_id in row_ids:
            row = uow.messages.get(row_id)
            own = None if row is None else cuts.get(row.details.get("toolCallId", ""))
            if row is not None and own is not None:
                uow.messages.update(row_id, details=noted(row.details, own))
