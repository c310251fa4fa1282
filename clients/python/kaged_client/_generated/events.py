"""Frames of the WebSockets. Written by `python -m generator`; change the generator instead."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from kaged_client._event import BaseEvent, UnknownEvent
from kaged_client._model import Model


class AttemptChecked(Model):
    """The check of an attempt began or ended. `state` is `running`, `passed`, `failed`, `stopped`, or `none`
    when the session continues and the check will run again. `problem` says why it failed.
    """

    attempt_group_id: str
    state: str
    exit_code: int | None = None
    problem: str | None = None


class BudgetSeen(Model):
    """A person has seen the warnings of a run: they have left the inbox."""

    run_id: str


class BudgetWarning(Model):
    """A limit is near (`reached` false) or reached; `limit` and `used` are in `unit`. `shared`: the limit is
    that of all attempts together. With `unpriced_model` it does not hold: what calls of that model cost is
    not known, nor in `used`.
    """

    limit: float
    reached: bool
    unit: Literal["tokens", "usd", "seconds", "steps"]
    used: float
    shared: bool = False
    unpriced_model: str | None = None


class ChangesUpdated(Model):
    """What differs from the session's start is not what it was: `paths` are the files in question, at most
    100. `total`, `additions` and `deletions` are of all changes.
    """

    additions: int
    deletions: int
    paths: list[str]
    total: int


class CheckpointCreated(Model):
    """`CheckpointCreated` of the interface."""

    checkpoint_id: str
    created_by: str
    detail: str | None
    message_cursor: str | None
    reason: str


class CompactionCompleted(Model):
    """Messages were taken out of what the model is sent; they stay readable as superseded ones."""

    after_estimate: int
    compaction_id: str
    duration_ms: float
    fallback_reason: str | None
    strategy: str
    summary_message_id: str | None
    superseded_count: int
    threshold_estimate: int
    trigger: str


class CompactionDecided(Model):
    """An operator has decided on a proposal."""

    compaction_id: str
    decided_by: str
    decision: Literal["approved", "edited", "rejected"]


class CompactionFailed(Model):
    """A strategy failed and another one takes its place."""

    attempted_strategy: str
    compaction_id: str
    fallback_strategy: str
    reason: str


class CompactionFlagged(Model):
    """An operator has judged a compaction."""

    compaction_id: str
    flag: str | None
    notes_length: int


class CompactionNoop(Model):
    """Nothing could be taken away; there is no record."""

    compaction_id: str
    reason: str
    strategy: str


class CompactionProposed(Model):
    """The session waits until an operator approves, edits or rejects what is proposed."""

    after_estimate: int
    compaction_id: str
    strategy: str
    superseded_count: int
    threshold_estimate: int
    trigger: str


class CompactionTriggered(Model):
    """A compaction begins. `threshold_estimate` are the tokens that the next request would be, what is
    reserved for the answer included.
    """

    compaction_id: str
    strategy: str
    threshold_estimate: int
    trigger: str
    window: int


class Cost(Model):
    """US dollars of one model call, as the harness source lists them."""

    _wire_names = {"cache_read": "cacheRead", "cache_write": "cacheWrite"}

    cache_read: float = 0.0
    cache_write: float = 0.0
    input: float = 0.0
    output: float = 0.0
    reasoning: float = 0.0
    total: float = 0.0


class FrameError(Model):
    """The error of a frame that the client sent."""

    code: str
    message: str
    details: dict[str, Any] | None = None


class Heartbeat(Model):
    """`Heartbeat` of the interface."""


class HookEnded(Model):
    """A hook has ended. `decision` is what followed: `continue`; `ask` (the operator is asked); `deny` (the
    call does not run, or the message is withheld); `sent_back` (the agent goes on); `warning` (the hook
    failed, and nothing follows); `ignored` (it would have sent the agent back a fourth time). `exit_code` is
    left out for a hook that was killed or not started.
    """

    decision: Literal["continue", "ask", "deny", "sent_back", "warning", "ignored"]
    duration_ms: int
    event: Literal["before_tool", "after_tool", "on_prompt", "on_stop"]
    hook: str
    source: Literal["config", "project"]
    exit_code: int | None = None
    reason: str | None = None
    timed_out: bool | None = None
    tool: str | None = None
    tool_call_id: str | None = None


class InteractionAnswered(Model):
    """A question is not open any more. `state` is `answered`, `cancelled` (its session went on or ended
    without an answer) or `expired` (its waiter is gone); only the first has an `answer`, which stands at
    `answer_ref` when it is above 64 KB.
    """

    interaction_id: str
    kind: Literal["ask", "form", "question", "plan"]
    state: Literal["answered", "cancelled", "expired"]
    tool_call_id: str
    answer: dict[str, Any] | None = None
    answer_ref: str | None = None
    answered_by: str | None = None


class InteractionRequested(Model):
    """A tool call asks a person something. `request` has the shape of the kind; one above 64 KB is left out
    (null), and `request_ref` is the address of the question.
    """

    interaction_id: str
    kind: Literal["ask", "form", "question", "plan"]
    request: dict[str, Any] | None
    tool_call_id: str
    request_ref: str | None = None


class IssueChanged(Model):
    """An issue is new or has changed; `status` and `assignment` are those after it. It goes to the
    sessions that are bound to the issue, and to who listens to all sessions.
    """

    actor: str
    assignment: str | None
    change: Literal[
        "created",
        "edited",
        "assigned",
        "commented",
        "transitioned",
        "linked",
        "unlinked",
        "attached",
        "detached",
    ]
    issue_id: str
    number: int
    project_id: str
    status: Literal["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"]


class MessageDelta(Model):
    """`MessageDelta` of the interface."""

    _wire_names = {"message_id": "messageId"}

    delta: str
    kind: Literal["text", "thinking"]
    message_id: str
    attempt: int = 1


class MessageEdited(Model):
    """A message that waits has another text or turn; above 64 KB only the head of the text is here."""

    content: str
    message_id: str
    content_ref: str | None = None


class MessageEnd(Model):
    """`MessageEnd` of the interface."""

    _wire_names = {"error_message": "errorMessage", "message_id": "messageId", "stop_reason": "stopReason"}

    message_id: str
    stop_reason: Literal["stop", "length", "toolUse", "error", "aborted"]
    error_message: str | None = None
    stats: MessageStats | None = None
    usage: WireUsage | None = None


class MessagePosted(Model):
    """A message entered the conversation from outside the model: operator, system or a steer.

    It is published once more, with `queued` false, when one that waited gets its place. Of a content
    above 64 KB only the head is here, and `content_ref` is the address of the whole message.
    """

    content: str
    created_by: str
    delivery: str
    message_id: str
    queued: bool
    role: str
    content_ref: str | None = None


class MessageRemoved(Model):
    """A message that waited was taken away; no run begins with it."""

    message_id: str


class MessageSnapshot(Model):
    """What a client that joins in the middle of a message gets in place of the missed deltas."""

    _wire_names = {"message_id": "messageId"}

    attempt: int
    message_id: str
    text: str
    thinking: str
    tool_calls: list[dict[str, Any]]


class MessageStart(Model):
    """`MessageStart` of the interface."""

    _wire_names = {"message_id": "messageId", "run_id": "runId"}

    message_id: str
    model: str
    provider: str
    run_id: str
    attempt: int = 1


class MessageStats(Model):
    """Timing and cost of one model call. `ttft` and `duration` are milliseconds, `tps` output
    tokens per second; `cost` is null when the model's price is not known.
    """

    cost: Cost | None
    duration: float
    tps: float
    ttft: float | None


class MessageToolCall(Model):
    """Arguments above 64 KB are left out (null), and `argumentsRef` is the address of the message
    that has them.
    """

    _wire_names = {"arguments_ref": "argumentsRef", "message_id": "messageId"}

    arguments: Any
    id: str
    message_id: str
    name: str
    arguments_ref: str | None = None
    attempt: int = 1


class MessageToolResult(Model):
    """`content` is what the model reads; above 64 KB only its head is here and `content_ref`
    is the address of the whole message, as it is when there are `images`.
    """

    _wire_names = {
        "content_ref": "contentRef",
        "duration_ms": "durationMs",
        "is_error": "isError",
        "message_id": "messageId",
        "tool_call_id": "toolCallId",
    }

    content: str
    is_error: bool
    message_id: str
    name: str
    tool_call_id: str
    content_ref: str | None = None
    duration_ms: float | None = None
    images: list[ShownImage] | None = None


class ModelRetry(Model):
    """A model call failed and will be tried again, here or elsewhere. The next attempt starts the answer
    again.
    """

    attempt: int
    delay_ms: int | None
    error: str
    fallback_to: str | None
    message: str
    model: str
    provider: str
    step: int


class PermissionAnswered(Model):
    """A call does not wait any more. `state` is `answered`, `cancelled` (its run was stopped) or
    `expired` (the daemon was restarted); only the first has an `answer`. `rules` are those that the
    answer stored; `covered_by` is the interaction, rule or mode (`mode:edits`) that answered this as well.
    """

    interaction_id: str
    state: Literal["answered", "cancelled", "expired"]
    tool_call_id: str
    answer: Literal["once", "always", "reject"] | None = None
    answered_by: str | None = None
    comment: str | None = None
    covered_by: str | None = None
    rules: list[WireRule] | None = None


class PermissionRequested(Model):
    """A tool call waits for consent. `subjects` are the parts that need it: of more than 64 KB only
    the beginning is here, and `request_ref` is the address of the whole question. `suggestions` are
    the rules that the answer `always` stores.
    """

    interaction_id: str
    permission: str
    reason: str
    source: Literal["rule", "watchdog", "hook"]
    subjects: list[str]
    suggestions: list[WireRule]
    tool: str
    tool_call_id: str
    request_ref: str | None = None


class Pong(Model):
    """The answer to a `ping`, with its `id`."""

    id: str | int | None


class PromptFailed(Model):
    """The files of these prompts are missing, empty or unreadable: the last good text of each stays."""

    prompts: list[UnusablePrompt]


class PromptReloaded(Model):
    """The prompts of these agents have another text, which holds from the next message boundary on."""

    agents: list[str]


class Resync(Model):
    """The log no longer reaches back to what the client asked for: reload from `snapshot`."""

    from_seq: int
    snapshot: str


class RollbackUndone(Model):
    """The conversation is again as it was before the rollback."""

    rollback_id: str
    undone_by: str


class RunEnded(Model):
    """`RunEnded` of the interface."""

    cost_usd: float | None
    duration_ms: float | None
    reason: str
    run_id: str
    state: str
    steps: int
    total_cost_usd: float | None
    total_usage: Usage
    usage: Usage
    error: dict[str, Any] | None = None


class RunQueued(Model):
    """`RunQueued` of the interface."""

    message_id: str
    position: int
    reason: Literal["busy", "capacity", "workspace"]


class RunStarted(Model):
    """`RunStarted` of the interface."""

    model: str
    run_id: str
    trigger_message_id: str | None
    background: bool | None = None
    """True when the parent does not wait for it."""
    checkpoint_id: str | None = None
    parent_run_id: str | None = None
    """The run whose subagent this is."""


class SessionCreated(Model):
    """A session is stored: created, forked or imported. It comes before the session's own events, so only
    subscribers to all sessions get it.
    """

    project_id: str
    title: str


class SessionRolledBack(Model):
    """What came after `message_cursor` is no part of the conversation any more (null: all of it).
    `compactions` are those that were undone by it, because they were made later; `files` is how many
    files were restored.
    """

    checkpoint_id: str | None
    compactions: list[str]
    created_by: str
    message_cursor: str | None
    rollback_id: str
    files: int = 0


class SessionStateChanged(Model):
    """A session has another state. With the reason `cannot_run`, `detail` says why the message that waited
    does not run; it stays, and goes with the next one.
    """

    previous: str
    state: str
    detail: str | None = None
    reason: str | None = None


class SessionUpdated(Model):
    """A session has another title, works on another issue of its project (null: on none), has another
    model from its next run on (null: its agent's), or another mode from the next call on, or a person has
    seen the end of a run (`seen_run_id`).
    """

    title: str
    issue_number: int | None = None
    mode: str = "ask"
    model: str | None = None
    seen_run_id: str | None = None


class ShownImage(Model):
    """A picture that a model was shown; it is kept with its message."""

    _wire_names = {"media_type": "mediaType"}

    media_type: str
    size: int
    """Bytes of the picture."""


class StepEnded(Model):
    """`StepEnded` of the interface."""

    message_id: str
    step: int
    stop_reason: Literal["stop", "length", "toolUse", "error", "aborted"]
    tool_calls: int


class StepStarted(Model):
    """`StepStarted` of the interface."""

    message_id: str
    step: int


class Sync(Model):
    """`Sync` of the interface."""

    from_seq: int
    through_seq: int


class TodoChanged(Model):
    """The checklist of an issue has changed: `todos` are its entries after that, without what was
    abandoned. Above 64 KB they are left out, and `todos_ref` is the address of the list. It goes
    where `issue.changed` goes.
    """

    actor: str
    change: Literal[
        "set",
        "added",
        "started",
        "completed",
        "dropped",
        "noted",
        "reopened",
        "edited",
        "accepted",
        "rejected",
    ]
    issue_id: str
    number: int
    open: int
    project_id: str
    total: int
    todos: list[WireTodo] | None = None
    todos_ref: str | None = None


class TodoProposed(Model):
    """A subagent's answer proposes entries for the checklist of its session's issue (`number`, null without
    one), for a person or the root agent to decide about: `GET /sessions/{id}/todo-proposals`. Accepting
    one publishes `todo.changed`.
    """

    number: int | None
    project_id: str | None


class TodoRejected(Model):
    """An operator has rejected a proposal for the checklist of the session's issue."""

    number: int | None
    project_id: str | None
    proposal_id: str


class ToolProgress(Model):
    """`ToolProgress` of the interface."""

    text: str
    tool_call_id: str


class UnusablePrompt(Model):
    """A prompt's file, below the project's root, and why its text cannot be used."""

    agent_path: str
    file: str
    message: str


class Usage(Model):
    """Token counts of one model call. `input_tokens` never includes cache tokens;
    `output_tokens` includes `reasoning_tokens`.
    """

    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0


class WireRule(Model):
    """A permission rule as events and answers show it."""

    action: Literal["allow", "deny", "ask"]
    pattern: str
    permission: str


class WireTodo(Model):
    """An entry of a checklist as events show it. `accepted`: an operator has signed the criterion off."""

    accepted: bool
    content: str
    id: str
    kind: Literal["step", "criterion"]
    origin_agent: str | None
    phase: str | None
    position: int
    status: Literal["pending", "in_progress", "completed"]


class WireUsage(Model):
    """Token counts as the `message.end` contract names them."""

    _wire_names = {
        "cache_read_tokens": "cacheReadTokens",
        "cache_write_tokens": "cacheWriteTokens",
        "input_tokens": "inputTokens",
        "output_tokens": "outputTokens",
        "reasoning_tokens": "reasoningTokens",
        "total_tokens": "totalTokens",
    }

    cache_read_tokens: int
    cache_write_tokens: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    total_tokens: int


class WorkflowEnded(Model):
    """A run is over. `error` is `{code, message}` of one that failed."""

    duration_ms: int
    project_id: str
    state: Literal["succeeded", "failed", "cancelled"]
    workflow: str
    workflow_run_id: str
    cost_usd: float | None = None
    error: dict[str, Any] | None = None


class WorkflowQueued(Model):
    """A run is stored. It has no session before its turn comes, so only subscribers to all sessions get
    this event.
    """

    cause: Literal["operator", "agent", "schedule", "issue"]
    invoked_by: str
    project_id: str
    workflow: str
    workflow_run_id: str
    issue_number: int | None = None


class WorkflowStarted(Model):
    """The session of a run works for the first time."""

    project_id: str
    workflow: str
    workflow_run_id: str
    issue_number: int | None = None


class WorkspaceUpdated(Model):
    """The folder of its own that a session works in has another state. `step` says what is done meanwhile;
    `detail` what is wrong, or worth knowing. For a subagent's workspace the frame has its `agent_path`.
    """

    state: str
    workspace_id: str
    detail: str | None = None
    step: str | None = None


class MessageStartEvent(BaseEvent):
    """The frame `message.start`."""

    durable: ClassVar[bool] = True

    payload: MessageStart
    type: Literal["message.start"] = "message.start"


class MessageDeltaEvent(BaseEvent):
    """The frame `message.delta`."""

    durable: ClassVar[bool] = False

    payload: MessageDelta
    type: Literal["message.delta"] = "message.delta"


class MessageToolCallEvent(BaseEvent):
    """Arguments above 64 KB are left out (null), and `argumentsRef` is the address of the message
    that has them.
    """

    durable: ClassVar[bool] = True

    payload: MessageToolCall
    type: Literal["message.tool_call"] = "message.tool_call"


class MessageToolResultEvent(BaseEvent):
    """`content` is what the model reads; above 64 KB only its head is here and `content_ref`
    is the address of the whole message, as it is when there are `images`.
    """

    durable: ClassVar[bool] = True

    payload: MessageToolResult
    type: Literal["message.tool_result"] = "message.tool_result"


class MessageEndEvent(BaseEvent):
    """The frame `message.end`."""

    durable: ClassVar[bool] = True

    payload: MessageEnd
    type: Literal["message.end"] = "message.end"


class MessageSnapshotEvent(BaseEvent):
    """What a client that joins in the middle of a message gets in place of the missed deltas."""

    durable: ClassVar[bool] = False

    payload: MessageSnapshot
    type: Literal["message.snapshot"] = "message.snapshot"


class MessagePostedEvent(BaseEvent):
    """A message entered the conversation from outside the model: operator, system or a steer.

    It is published once more, with `queued` false, when one that waited gets its place. Of a content
    above 64 KB only the head is here, and `content_ref` is the address of the whole message.
    """

    durable: ClassVar[bool] = True

    payload: MessagePosted
    type: Literal["message.posted"] = "message.posted"


class SyncEvent(BaseEvent):
    """The frame `sync`."""

    durable: ClassVar[bool] = False

    payload: Sync
    type: Literal["sync"] = "sync"


class ResyncEvent(BaseEvent):
    """The log no longer reaches back to what the client asked for: reload from `snapshot`."""

    durable: ClassVar[bool] = False

    payload: Resync
    type: Literal["resync"] = "resync"


class RunQueuedEvent(BaseEvent):
    """The frame `run.queued`."""

    durable: ClassVar[bool] = True

    payload: RunQueued
    type: Literal["run.queued"] = "run.queued"


class RunStartedEvent(BaseEvent):
    """The frame `run.started`."""

    durable: ClassVar[bool] = True

    payload: RunStarted
    type: Literal["run.started"] = "run.started"


class RunEndedEvent(BaseEvent):
    """The frame `run.ended`."""

    durable: ClassVar[bool] = True

    payload: RunEnded
    type: Literal["run.ended"] = "run.ended"


class StepStartedEvent(BaseEvent):
    """The frame `step.started`."""

    durable: ClassVar[bool] = True

    payload: StepStarted
    type: Literal["step.started"] = "step.started"


class StepEndedEvent(BaseEvent):
    """The frame `step.ended`."""

    durable: ClassVar[bool] = True

    payload: StepEnded
    type: Literal["step.ended"] = "step.ended"


class ModelRetryEvent(BaseEvent):
    """A model call failed and will be tried again, here or elsewhere. The next attempt starts the answer
    again.
    """

    durable: ClassVar[bool] = True

    payload: ModelRetry
    type: Literal["model.retry"] = "model.retry"


class SessionStateEvent(BaseEvent):
    """A session has another state. With the reason `cannot_run`, `detail` says why the message that waited
    does not run; it stays, and goes with the next one.
    """

    durable: ClassVar[bool] = True

    payload: SessionStateChanged
    type: Literal["session.state"] = "session.state"


class SessionUpdatedEvent(BaseEvent):
    """A session has another title, works on another issue of its project (null: on none), has another
    model from its next run on (null: its agent's), or another mode from the next call on, or a person has
    seen the end of a run (`seen_run_id`).
    """

    durable: ClassVar[bool] = True

    payload: SessionUpdated
    type: Literal["session.updated"] = "session.updated"


class CheckpointCreatedEvent(BaseEvent):
    """The frame `checkpoint.created`."""

    durable: ClassVar[bool] = True

    payload: CheckpointCreated
    type: Literal["checkpoint.created"] = "checkpoint.created"


class PromptReloadedEvent(BaseEvent):
    """The prompts of these agents have another text, which holds from the next message boundary on."""

    durable: ClassVar[bool] = True

    payload: PromptReloaded
    type: Literal["prompt.reloaded"] = "prompt.reloaded"


class ToolProgressEvent(BaseEvent):
    """The frame `tool.progress`."""

    durable: ClassVar[bool] = False

    payload: ToolProgress
    type: Literal["tool.progress"] = "tool.progress"


class BudgetWarningEvent(BaseEvent):
    """A limit is near (`reached` false) or reached; `limit` and `used` are in `unit`. `shared`: the limit is
    that of all attempts together. With `unpriced_model` it does not hold: what calls of that model cost is
    not known, nor in `used`.
    """

    durable: ClassVar[bool] = True

    payload: BudgetWarning
    type: Literal["budget.warning"] = "budget.warning"


class BudgetSeenEvent(BaseEvent):
    """A person has seen the warnings of a run: they have left the inbox."""

    durable: ClassVar[bool] = True

    payload: BudgetSeen
    type: Literal["budget.seen"] = "budget.seen"


class HeartbeatEvent(BaseEvent):
    """The frame `heartbeat`."""

    durable: ClassVar[bool] = False

    payload: Heartbeat
    type: Literal["heartbeat"] = "heartbeat"


class PermissionRequestedEvent(BaseEvent):
    """A tool call waits for consent. `subjects` are the parts that need it: of more than 64 KB only
    the beginning is here, and `request_ref` is the address of the whole question. `suggestions` are
    the rules that the answer `always` stores.
    """

    durable: ClassVar[bool] = True

    payload: PermissionRequested
    type: Literal["permission.requested"] = "permission.requested"


class PermissionAnsweredEvent(BaseEvent):
    """A call does not wait any more. `state` is `answered`, `cancelled` (its run was stopped) or
    `expired` (the daemon was restarted); only the first has an `answer`. `rules` are those that the
    answer stored; `covered_by` is the interaction, rule or mode (`mode:edits`) that answered this as well.
    """

    durable: ClassVar[bool] = True

    payload: PermissionAnswered
    type: Literal["permission.answered"] = "permission.answered"


class SessionRolledBackEvent(BaseEvent):
    """What came after `message_cursor` is no part of the conversation any more (null: all of it).
    `compactions` are those that were undone by it, because they were made later; `files` is how many
    files were restored.
    """

    durable: ClassVar[bool] = True

    payload: SessionRolledBack
    type: Literal["session.rolled_back"] = "session.rolled_back"


class SessionRollbackUndoneEvent(BaseEvent):
    """The conversation is again as it was before the rollback."""

    durable: ClassVar[bool] = True

    payload: RollbackUndone
    type: Literal["session.rollback_undone"] = "session.rollback_undone"


class CompactionTriggeredEvent(BaseEvent):
    """A compaction begins. `threshold_estimate` are the tokens that the next request would be, what is
    reserved for the answer included.
    """

    durable: ClassVar[bool] = True

    payload: CompactionTriggered
    type: Literal["compaction.triggered"] = "compaction.triggered"


class CompactionCompletedEvent(BaseEvent):
    """Messages were taken out of what the model is sent; they stay readable as superseded ones."""

    durable: ClassVar[bool] = True

    payload: CompactionCompleted
    type: Literal["compaction.completed"] = "compaction.completed"


class CompactionNoopEvent(BaseEvent):
    """Nothing could be taken away; there is no record."""

    durable: ClassVar[bool] = True

    payload: CompactionNoop
    type: Literal["compaction.noop"] = "compaction.noop"


class CompactionFailedEvent(BaseEvent):
    """A strategy failed and another one takes its place."""

    durable: ClassVar[bool] = True

    payload: CompactionFailed
    type: Literal["compaction.failed"] = "compaction.failed"


class CompactionProposedEvent(BaseEvent):
    """The session waits until an operator approves, edits or rejects what is proposed."""

    durable: ClassVar[bool] = True

    payload: CompactionProposed
    type: Literal["compaction.proposed"] = "compaction.proposed"


class CompactionDecidedEvent(BaseEvent):
    """An operator has decided on a proposal."""

    durable: ClassVar[bool] = True

    payload: CompactionDecided
    type: Literal["compaction.decided"] = "compaction.decided"


class CompactionFlaggedEvent(BaseEvent):
    """An operator has judged a compaction."""

    durable: ClassVar[bool] = True

    payload: CompactionFlagged
    type: Literal["compaction.flagged"] = "compaction.flagged"


class IssueChangedEvent(BaseEvent):
    """An issue is new or has changed; `status` and `assignment` are those after it. It goes to the
    sessions that are bound to the issue, and to who listens to all sessions.
    """

    durable: ClassVar[bool] = True

    payload: IssueChanged
    type: Literal["issue.changed"] = "issue.changed"


class TodoChangedEvent(BaseEvent):
    """The checklist of an issue has changed: `todos` are its entries after that, without what was
    abandoned. Above 64 KB they are left out, and `todos_ref` is the address of the list. It goes
    where `issue.changed` goes.
    """

    durable: ClassVar[bool] = True

    payload: TodoChanged
    type: Literal["todo.changed"] = "todo.changed"


class TodoProposedEvent(BaseEvent):
    """A subagent's answer proposes entries for the checklist of its session's issue (`number`, null without
    one), for a person or the root agent to decide about: `GET /sessions/{id}/todo-proposals`. Accepting
    one publishes `todo.changed`.
    """

    durable: ClassVar[bool] = True

    payload: TodoProposed
    type: Literal["todo.proposed"] = "todo.proposed"


class TodoRejectedEvent(BaseEvent):
    """An operator has rejected a proposal for the checklist of the session's issue."""

    durable: ClassVar[bool] = True

    payload: TodoRejected
    type: Literal["todo.rejected"] = "todo.rejected"


class WorkflowQueuedEvent(BaseEvent):
    """A run is stored. It has no session before its turn comes, so only subscribers to all sessions get
    this event.
    """

    durable: ClassVar[bool] = False

    payload: WorkflowQueued
    type: Literal["workflow.queued"] = "workflow.queued"


class WorkflowStartedEvent(BaseEvent):
    """The session of a run works for the first time."""

    durable: ClassVar[bool] = True

    payload: WorkflowStarted
    type: Literal["workflow.started"] = "workflow.started"


class WorkflowEndedEvent(BaseEvent):
    """A run is over. `error` is `{code, message}` of one that failed."""

    durable: ClassVar[bool] = True

    payload: WorkflowEnded
    type: Literal["workflow.ended"] = "workflow.ended"


class InteractionRequestedEvent(BaseEvent):
    """A tool call asks a person something. `request` has the shape of the kind; one above 64 KB is left out
    (null), and `request_ref` is the address of the question.
    """

    durable: ClassVar[bool] = True

    payload: InteractionRequested
    type: Literal["interaction.requested"] = "interaction.requested"


class InteractionAnsweredEvent(BaseEvent):
    """A question is not open any more. `state` is `answered`, `cancelled` (its session went on or ended
    without an answer) or `expired` (its waiter is gone); only the first has an `answer`, which stands at
    `answer_ref` when it is above 64 KB.
    """

    durable: ClassVar[bool] = True

    payload: InteractionAnswered
    type: Literal["interaction.answered"] = "interaction.answered"


class PromptFailedEvent(BaseEvent):
    """The files of these prompts are missing, empty or unreadable: the last good text of each stays."""

    durable: ClassVar[bool] = True

    payload: PromptFailed
    type: Literal["prompt.failed"] = "prompt.failed"


class HookEndedEvent(BaseEvent):
    """A hook has ended. `decision` is what followed: `continue`; `ask` (the operator is asked); `deny` (the
    call does not run, or the message is withheld); `sent_back` (the agent goes on); `warning` (the hook
    failed, and nothing follows); `ignored` (it would have sent the agent back a fourth time). `exit_code` is
    left out for a hook that was killed or not started.
    """

    durable: ClassVar[bool] = True

    payload: HookEnded
    type: Literal["hook.ended"] = "hook.ended"


class MessageEditedEvent(BaseEvent):
    """A message that waits has another text or turn; above 64 KB only the head of the text is here."""

    durable: ClassVar[bool] = True

    payload: MessageEdited
    type: Literal["message.edited"] = "message.edited"


class MessageRemovedEvent(BaseEvent):
    """A message that waited was taken away; no run begins with it."""

    durable: ClassVar[bool] = True

    payload: MessageRemoved
    type: Literal["message.removed"] = "message.removed"


class WorkspaceUpdatedEvent(BaseEvent):
    """The folder of its own that a session works in has another state. `step` says what is done meanwhile;
    `detail` what is wrong, or worth knowing. For a subagent's workspace the frame has its `agent_path`.
    """

    durable: ClassVar[bool] = True

    payload: WorkspaceUpdated
    type: Literal["workspace.updated"] = "workspace.updated"


class AttemptCheckedEvent(BaseEvent):
    """The check of an attempt began or ended. `state` is `running`, `passed`, `failed`, `stopped`, or `none`
    when the session continues and the check will run again. `problem` says why it failed.
    """

    durable: ClassVar[bool] = True

    payload: AttemptChecked
    type: Literal["attempt.checked"] = "attempt.checked"


class SessionCreatedEvent(BaseEvent):
    """A session is stored: created, forked or imported. It comes before the session's own events, so only
    subscribers to all sessions get it.
    """

    durable: ClassVar[bool] = False

    payload: SessionCreated
    type: Literal["session.created"] = "session.created"


class ChangesUpdatedEvent(BaseEvent):
    """What differs from the session's start is not what it was: `paths` are the files in question, at most
    100. `total`, `additions` and `deletions` are of all changes.
    """

    durable: ClassVar[bool] = False

    payload: ChangesUpdated
    type: Literal["changes.updated"] = "changes.updated"


Event: TypeAlias = (
    MessageStartEvent
    | MessageDeltaEvent
    | MessageToolCallEvent
    | MessageToolResultEvent
    | MessageEndEvent
    | MessageSnapshotEvent
    | MessagePostedEvent
    | SyncEvent
    | ResyncEvent
    | RunQueuedEvent
    | RunStartedEvent
    | RunEndedEvent
    | StepStartedEvent
    | StepEndedEvent
    | ModelRetryEvent
    | SessionStateEvent
    | SessionUpdatedEvent
    | CheckpointCreatedEvent
    | PromptReloadedEvent
    | ToolProgressEvent
    | BudgetWarningEvent
    | BudgetSeenEvent
    | HeartbeatEvent
    | PermissionRequestedEvent
    | PermissionAnsweredEvent
    | SessionRolledBackEvent
    | SessionRollbackUndoneEvent
    | CompactionTriggeredEvent
    | CompactionCompletedEvent
    | CompactionNoopEvent
    | CompactionFailedEvent
    | CompactionProposedEvent
    | CompactionDecidedEvent
    | CompactionFlaggedEvent
    | IssueChangedEvent
    | TodoChangedEvent
    | TodoProposedEvent
    | TodoRejectedEvent
    | WorkflowQueuedEvent
    | WorkflowStartedEvent
    | WorkflowEndedEvent
    | InteractionRequestedEvent
    | InteractionAnsweredEvent
    | PromptFailedEvent
    | HookEndedEvent
    | MessageEditedEvent
    | MessageRemovedEvent
    | WorkspaceUpdatedEvent
    | AttemptCheckedEvent
    | SessionCreatedEvent
    | ChangesUpdatedEvent
    | UnknownEvent
)
"""Every event; `type` tells them apart. One of an unknown type is an `UnknownEvent`."""

EVENT_TYPES: dict[str, type[BaseEvent]] = {
    "message.start": MessageStartEvent,
    "message.delta": MessageDeltaEvent,
    "message.tool_call": MessageToolCallEvent,
    "message.tool_result": MessageToolResultEvent,
    "message.end": MessageEndEvent,
    "message.snapshot": MessageSnapshotEvent,
    "message.posted": MessagePostedEvent,
    "sync": SyncEvent,
    "resync": ResyncEvent,
    "run.queued": RunQueuedEvent,
    "run.started": RunStartedEvent,
    "run.ended": RunEndedEvent,
    "step.started": StepStartedEvent,
    "step.ended": StepEndedEvent,
    "model.retry": ModelRetryEvent,
    "session.state": SessionStateEvent,
    "session.updated": SessionUpdatedEvent,
    "checkpoint.created": CheckpointCreatedEvent,
    "prompt.reloaded": PromptReloadedEvent,
    "tool.progress": ToolProgressEvent,
    "budget.warning": BudgetWarningEvent,
    "budget.seen": BudgetSeenEvent,
    "heartbeat": HeartbeatEvent,
    "permission.requested": PermissionRequestedEvent,
    "permission.answered": PermissionAnsweredEvent,
    "session.rolled_back": SessionRolledBackEvent,
    "session.rollback_undone": SessionRollbackUndoneEvent,
    "compaction.triggered": CompactionTriggeredEvent,
    "compaction.completed": CompactionCompletedEvent,
    "compaction.noop": CompactionNoopEvent,
    "compaction.failed": CompactionFailedEvent,
    "compaction.proposed": CompactionProposedEvent,
    "compaction.decided": CompactionDecidedEvent,
    "compaction.flagged": CompactionFlaggedEvent,
    "issue.changed": IssueChangedEvent,
    "todo.changed": TodoChangedEvent,
    "todo.proposed": TodoProposedEvent,
    "todo.rejected": TodoRejectedEvent,
    "workflow.queued": WorkflowQueuedEvent,
    "workflow.started": WorkflowStartedEvent,
    "workflow.ended": WorkflowEndedEvent,
    "interaction.requested": InteractionRequestedEvent,
    "interaction.answered": InteractionAnsweredEvent,
    "prompt.failed": PromptFailedEvent,
    "hook.ended": HookEndedEvent,
    "message.edited": MessageEditedEvent,
    "message.removed": MessageRemovedEvent,
    "workspace.updated": WorkspaceUpdatedEvent,
    "attempt.checked": AttemptCheckedEvent,
    "session.created": SessionCreatedEvent,
    "changes.updated": ChangesUpdatedEvent,
}
