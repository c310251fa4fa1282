"""The record of a hook that ended: an event of the session, and an audit row.

Owns: both, made of one report. Never: where they are stored.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app.events.hooks import HookEnded
from app.harness.hooks.commands.answer import HookAnswer
from app.harness.hooks.commands.hook import CommandHook
from app.harness.hooks.commands.running import HookRun
from app.tools.contract.hook_report import HookDecision, HookReport

AUDIT = "hook.ended"


def report_of(
    hook: CommandHook,
    run: HookRun,
    decision: HookDecision,
    answer: HookAnswer,
    *,
    tool: str | None = None,
    call_id: str | None = None,
) -> HookReport:
    return HookReport(
        hook=hook.name,
        event=hook.event,
        source=hook.source,
        decision=decision,
        duration_ms=run.duration_ms,
        exit_code=run.exit_code,
        timed_out=run.timed_out,
        reason=answer.reason or None,
        tool=tool,
        tool_call_id=call_id,
    )


def audit_data(report: HookReport) -> dict[str, Any]:
    return {key: value for key, value in asdict(report).items() if value not in (None, False)}


def event_of(report: HookReport) -> HookEnded:
    fields = asdict(report) | {"timed_out": True if report.timed_out else None}
    return HookEnded(**fields)
