"""One sample of every event type, from which the golden frames under `frames/` were written."""

from __future__ import annotations

from app.events.budgets import BudgetSeen, BudgetWarning
from app.events.changes import ChangesUpdated
from app.events.compaction import (
    CompactionCompleted,
    CompactionDecided,
    CompactionFailed,
    CompactionFlagged,
    CompactionNoop,
    CompactionProposed,
    CompactionTriggered,
)
from app.events.hooks import HookEnded
from app.events.interactions import (
    InteractionAnswered,
    InteractionRequested,
    PermissionAnswered,
    PermissionRequested,
    WireRule,
)
from app.events.issues import IssueChanged, TodoChanged, TodoProposed, TodoRejected, WireTodo
from app.events.payload import EventPayload
from app.events.sessions import (
    AttemptChecked,
    MessageEdited,
    MessageRemoved,
    PromptFailed,
    PromptReloaded,
    RollbackUndone,
    SessionCreated,
    SessionRolledBack,
    SessionStateChanged,
    SessionUpdated,
    UnusablePrompt,
    WorkspaceUpdated,
)
from app.events.union import (
    CheckpointCreated,
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
    Resync,
    RunEnded,
    RunQueued,
    RunStarted,
    StepEnded,
    StepStarted,
    Sync,
    ToolProgress,
    WireUsage,
)
from app.events.workflows import WorkflowEnded, WorkflowQueued, WorkflowStarted
from app.messages import Cost, Usage

RUN, MESSAGE = "run_01JZ0000000000000000000001", "msg_01JZ0000000000000000000002"
INTERACTION = "itx_01JZ0000000000000000000004"
CHECKPOINT = "ckp_01JZ0000000000000000000003"
COMPACTION = "cmp_01JZ0000000000000000000007"
WORKFLOW_RUN = "wfr_01JZ000000000000000000000A"
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
        total_usage=USAGE,
        total_cost_usd=0.00179,
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
    SessionUpdated(title="A new title", issue_number=42),
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
    BudgetSeen(run_id=RUN),
    HookEnded(
        hook="frozen",
        event="before_tool",
        source="project",
        decision="deny",
        duration_ms=41,
        exit_code=2,
        reason="LICENSE is frozen",
        tool="file.write",
        tool_call_id="call_9",
    ),
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
    SessionRolledBack(
        rollback_id="rbk_01JZ0000000000000000000006",
        checkpoint_id=CHECKPOINT,
        message_cursor=MESSAGE,
        created_by="operator",
        compactions=(COMPACTION,),
        files=2,
    ),
    AttemptChecked(
        attempt_group_id="att_01JZ000000000000000000000C",
        state="failed",
        exit_code=2,
        problem="`check` ended with 2",
    ),
    WorkspaceUpdated(workspace_id="wks_01JZ000000000000000000000B", state="creating", step="clone"),
    RollbackUndone(rollback_id="rbk_01JZ0000000000000000000006", undone_by="operator"),
    ChangesUpdated(paths=("a.txt", "src/b.py"), total=2, additions=12, deletions=3),
    CompactionTriggered(
        compaction_id=COMPACTION,
        trigger="threshold_crossed",
        strategy="summarize",
        threshold_estimate=110_000,
        window=128_000,
    ),
    CompactionCompleted(
        compaction_id=COMPACTION,
        trigger="threshold_crossed",
        strategy="summarize",
        threshold_estimate=110_000,
        after_estimate=76_000,
        superseded_count=212,
        summary_message_id=MESSAGE,
        fallback_reason=None,
        duration_ms=1830.5,
    ),
    CompactionNoop(compaction_id=COMPACTION, strategy="drop", reason="nothing that may go is left"),
    CompactionFailed(
        compaction_id=COMPACTION,
        attempted_strategy="summarize",
        fallback_strategy="drop",
        reason="the summarizer said nothing",
    ),
    CompactionProposed(
        compaction_id=COMPACTION,
        trigger="operator_manual",
        strategy="checkpoint",
        threshold_estimate=110_000,
        after_estimate=76_000,
        superseded_count=212,
    ),
    CompactionDecided(compaction_id=COMPACTION, decision="approved", decided_by="operator"),
    CompactionFlagged(compaction_id=COMPACTION, flag="good", notes_length=12),
    IssueChanged(
        issue_id="iss_01JZ0000000000000000000007",
        number=42,
        project_id="prj_01JZ0000000000000000000008",
        status="assigned",
        assignment="workflow:deploy",
        change="assigned",
        actor="operator:daemon",
    ),
    TodoProposed(number=42, project_id="prj_01JZ0000000000000000000008"),
    TodoRejected(
        number=42,
        project_id="prj_01JZ0000000000000000000008",
        proposal_id="tpr_01JZ0000000000000000000011",
    ),
    TodoChanged(
        issue_id="iss_01JZ0000000000000000000007",
        number=42,
        project_id="prj_01JZ0000000000000000000008",
        change="completed",
        actor="agent:primary",
        open=0,
        total=1,
        todos=(
            WireTodo(
                id="todo_01JZ0000000000000000000009",
                content="All endpoints answer 200",
                status="completed",
                kind="criterion",
                phase=None,
                position=0,
                accepted=False,
                origin_agent="primary.subagents.tester",
            ),
        ),
    ),
    SessionCreated(project_id="prj_01JZ0000000000000000000008", title="The failing test"),
    WorkflowQueued(
        workflow_run_id=WORKFLOW_RUN,
        workflow="deploy",
        project_id="prj_01JZ0000000000000000000008",
        cause="issue",
        invoked_by="operator:daemon",
        issue_number=42,
    ),
    WorkflowStarted(
        workflow_run_id=WORKFLOW_RUN, workflow="deploy", project_id="prj_01JZ0000000000000000000008"
    ),
    WorkflowEnded(
        workflow_run_id=WORKFLOW_RUN,
        workflow="deploy",
        project_id="prj_01JZ0000000000000000000008",
        state="failed",
        error={"code": "timeout", "message": "The run worked for more than 600 seconds."},
        duration_ms=600_012,
        cost_usd=0.42,
    ),
    InteractionRequested(
        interaction_id=INTERACTION,
        tool_call_id="call_1",
        kind="ask",
        request={
            "summary": "Before I write the migration.",
            "questions": [
                {
                    "id": "database",
                    "title": "Which database?",
                    "description": "",
                    "options": [{"label": "PostgreSQL", "description": ""}],
                    "multiple": False,
                    "allow_other": True,
                }
            ],
        },
    ),
    InteractionAnswered(
        interaction_id=INTERACTION,
        tool_call_id="call_1",
        kind="ask",
        state="answered",
        answer={"answers": {"database": ["PostgreSQL"]}},
        answer_ref=f"/api/v1/sessions/ses_01JZ0000000000000000000000/interactions/{INTERACTION}",
        answered_by="operator",
    ),
    PromptFailed(
        prompts=(
            UnusablePrompt(agent_path="primary", file="prompts/primary.md", message="the file is empty"),
        )
    ),
    MessageEdited(message_id=MESSAGE, content="Why does it fail now?"),
    MessageRemoved(message_id=MESSAGE),
)
