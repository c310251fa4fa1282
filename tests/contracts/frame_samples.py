"""One sample of every event type, from which the golden frames under `frames/` were written."""

from __future__ import annotations

from app.events import (
    BudgetWarning,
    CheckpointCreated,
    EventPayload,
    Heartbeat,
    MessageDelta,
    MessageEnd,
    MessagePosted,
    MessageSnapshot,
    MessageStart,
    MessageStats,
    MessageToolCall,
    MessageToolResult,
    ModelRetry,
    PermissionAnswered,
    PermissionRequested,
    PromptReloaded,
    Resync,
    RunEnded,
    RunQueued,
    RunStarted,
    SessionStateChanged,
    SessionUpdated,
    StepEnded,
    StepStarted,
    Sync,
    ToolProgress,
    WireRule,
    WireUsage,
)
from app.messages import Cost, Usage

RUN, MESSAGE = "run_01JZ0000000000000000000001", "msg_01JZ0000000000000000000002"
INTERACTION = "itx_01JZ0000000000000000000004"
CHECKPOINT = "ckp_01JZ0000000000000000000003"
USAGE = Usage(
    input_tokens=120, output_tokens=34, reasoning_tokens=8, cache_read_tokens=64, cache_write_tokens=16
)
COST = Cost(input=0.0012, output=0.00051, cache_read=0.00002, cache_write=0.00006, total=0.00179)

SAMPLES: tuple[EventPayload, ...] = (
    MessageStart(run_id=RUN, message_id=MESSAGE, provider="openai", model="gpt-x", attempt=2),
    MessageDelta(message_id=MESSAGE, delta="Grüße ✓\n", kind="text"),
    MessageToolCall(message_id=MESSAGE, id="call_1", name="file.read", arguments={"path": "a.py"}),
    MessageToolResult(
        message_id=MESSAGE,
        tool_call_id="call_1",
        name="file.read",
        content='{"content": "x"}',
        is_error=False,
        duration_ms=1.25,
        content_ref=f"/api/v1/sessions/ses_01JZ0000000000000000000000/messages/{MESSAGE}",
    ),
    MessageEnd(
        message_id=MESSAGE,
        stop_reason="toolUse",
        usage=WireUsage.of(USAGE),
        stats=MessageStats(ttft=210.5, duration=900.25, tps=37.76, cost=COST),
    ),
    MessageSnapshot(
        message_id=MESSAGE,
        attempt=1,
        text="So far",
        thinking="Hm.",
        tool_calls=({"id": "call_1", "name": "file.read", "arguments": {"path": "a.py"}},),
    ),
    MessagePosted(
        message_id=MESSAGE,
        role="operator",
        content="Why does it fail?",
        delivery="queued",
        queued=True,
        created_by="operator",
    ),
    Sync(from_seq=13, through_seq=40),
    Resync(from_seq=13, snapshot="/api/v1/sessions/ses_01JZ0000000000000000000000"),
    RunQueued(message_id=MESSAGE, position=1, reason="busy"),
    RunStarted(run_id=RUN, model="openai:gpt-x", trigger_message_id=MESSAGE, checkpoint_id=CHECKPOINT),
    RunEnded(
        run_id=RUN,
        state="failed",
        reason="rate_limit",
        error={"code": "rate_limit", "message": "Slow down.", "status": 429},
        steps=3,
        usage=USAGE,
        cost_usd=0.00179,
        duration_ms=1520.5,
    ),
    StepStarted(step=1, message_id=MESSAGE),
    StepEnded(step=1, message_id=MESSAGE, stop_reason="toolUse", tool_calls=2),
    ModelRetry(
        step=1,
        attempt=1,
        provider="openai",
        model="gpt-x",
        error="overload",
        message="The server is overloaded.",
        delay_ms=1000,
        fallback_to="anthropic:claude-x",
    ),
    SessionStateChanged(state="paused", previous="running", reason="daemon_restart"),
    SessionUpdated(title="A new title"),
    CheckpointCreated(
        checkpoint_id=CHECKPOINT,
        created_by="operator",
        reason="operator",
        detail="lunch",
        message_cursor=MESSAGE,
    ),
    PromptReloaded(agents=("primary", "primary.subagents.tester")),
    ToolProgress(tool_call_id="call_1", text="12 of 40 files"),
    BudgetWarning(unit="usd", limit=1.0, used=0.8, reached=False),
    Heartbeat(),
    PermissionRequested(
        interaction_id=INTERACTION,
        tool_call_id="call_1",
        tool="shell.bash",
        permission="shell.bash",
        subjects=("git push origin main", "curl example.org"),
        reason="The rule shell.bash * asks.",
        source="rule",
        suggestions=(WireRule(permission="shell.bash", pattern="git push *", action="allow"),),
        request_ref=f"/api/v1/sessions/ses_01JZ0000000000000000000000/interactions/{INTERACTION}",
    ),
    PermissionAnswered(
        interaction_id=INTERACTION,
        tool_call_id="call_1",
        state="answered",
        answer="reject",
        answered_by="operator",
        comment="Not on a Friday.",
        rules=(),
        covered_by="rul_01JZ0000000000000000000005",
    ),
)
