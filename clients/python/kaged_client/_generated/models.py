"""Bodies and answers. Written by `python -m generator`; change the generator instead."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from kaged_client._model import Model, absent


class ActAnswer(Model):
    """One thing that a project does or is allowed to do."""

    change: Literal["added", "removed"] | None
    """Compared with the trusted version: a new request, or a removed protection."""
    digest: str | None
    """The digest of a prompt's text."""
    file: str | None
    """The project file that declares it, below the project's root."""
    kind: Literal[
        "tool",
        "program",
        "argument",
        "environment",
        "schedule",
        "hook",
        "plugin",
        "grant",
        "host",
        "rule",
        "prompt",
        "project",
    ]
    line: int | None
    text: str
    where: str
    """The path of the agent, or the entry of the section, that declares it."""


class AgentToolAnswer(Model):
    """A tool of one agent. `origin` is the rule that enabled or disabled it."""

    description: str | None
    enabled: bool
    loading: Literal["full", "deferred", "late"] | None
    """Whether every request has the tool in `full`, or `tool_search` finds it; null when the tool is disabled."""
    name: str
    origin: str
    parameters: dict[str, Any] | None
    """What the model gets; null when the tool is disabled."""


class AnswerInteraction(Model):
    """An answer: one of `answer` (to a `permission`), `answers` (to an `ask` or a `question`), `values` (to a
    `form`) and `decision` (to a `plan`). `rule` and `scope` belong to the answer `always`, `comment` to
    `reject` and to a `decision`, `mode` and `plan` to a `decision`.
    """

    answer: Literal["once", "always", "reject"] | None = None
    answers: dict[str, list[str]] | list[list[str]] | None = None
    """By question id (`ask`), or in the order of the questions (`question`): the labels of the chosen options, or free text where that is allowed."""
    comment: str | None = None
    """A comment for the model."""
    decision: Literal["accept", "edit", "reject"] | None = None
    """`edit` accepts the plan with your changes."""
    mode: Literal["plan", "ask", "edits", "full"] | None = None
    """The mode that the accepted plan is carried out in; not `plan`."""
    plan: str | None = None
    """The plan with your changes, for `edit`."""
    rule: int | str | None = None
    """The rule that `always` stores: the index of a suggestion, or a pattern of your own for the same permission. By default every suggestion is stored."""
    scope: Literal["session", "project"] | None = None
    """Where `always` stores the rule; by default in the session."""
    values: dict[str, str | bool | float | None] | None = None
    """By field name; for a file, the id of its upload."""


class AskAttempts(Model):
    """Several sessions attempt one task, each in its own workspace, and all from the same commit."""

    n: int
    """How many attempts; at most `workspaces.max_attempts`."""
    base: str | None = None
    """What all start from, as for a workspace. Default: `working` for a message to a session, `head` otherwise."""
    budget: AttemptsBudget | None = None
    check: str | None = None
    """A shell command that runs in each workspace after its run, like the project's `setup`."""
    check_seconds: int = 600
    """How long a check may take."""
    models: list[str] = absent(list)
    """At most `n` aliases or `provider:model`; fewer are used in turn. Default: the agent's."""


class AskedCall(Model):
    """The call that waits for consent, with its arguments as the model wrote them. Secrets are masked. `cut`:
    the arguments are longer than 64,000 characters, and only their beginning is here.
    """

    arguments: dict[str, Any]
    cut: bool
    name: str


class AskedCheck(Model):
    """`AskedCheck` of the interface."""

    command: str
    seconds: float


class AttachFiles(Model):
    """`AttachFiles` of the interface."""

    upload_ids: list[str]


class AttemptAnswer(Model):
    """One attempt: a session in a workspace. `problem` says why it failed. `changes` is null in lists, and
    when the workspace has no files: it is being created, or is removed.
    """

    branch: str | None
    changes: CountedChanges | None
    check: CheckAnswer | None
    cost_usd: float | None
    """US dollars; null when no price is known."""
    duration_ms: int
    """How long its runs have taken."""
    model: str | None
    """The model of its newest run, or the one that it will use."""
    number: int
    problem: str | None
    session_id: str
    state: Literal[
        "creating",
        "queued",
        "running",
        "waiting",
        "paused",
        "checking",
        "succeeded",
        "failed",
        "cancelled",
        "idle",
    ]
    title: str
    tokens: int
    workflow_run_id: str | None
    workspace_id: str | None
    workspace_state: Literal["creating", "ready", "merging", "merged", "kept", "discarded", "broken"] | None


class AttemptGroupAnswer(Model):
    """Attempts at one task. `state` is `running` while an attempt works, waits for capacity or for a person,
    or is being checked. `tokens` and `cost_usd` are sums. Attempts whose session is deleted are left out.
    """

    attempts: list[AttemptAnswer]
    base: str
    base_commit: str | None
    """The commit that all start from."""
    budget: BudgetAnswer | None
    check: AskedCheck | None
    cost_usd: float | None
    """US dollars, of the calls whose price is known."""
    created_at: datetime
    created_by: str
    id: str
    picked_at: datetime | None
    picked_session_id: str | None
    project_id: str
    session_id: str | None
    """The session that they are forks of."""
    state: Literal["running", "done", "picking", "picked", "discarded"]
    title: str
    tokens: int
    workflow: str | None


class AttemptsBudget(Model):
    """The budget of all attempts together. When the sum reaches it, each attempt pauses before its next
    model call.
    """

    cost_usd: float | None = None
    tokens: int | None = None


class AuditEntry(Model):
    """`AuditEntry` of the interface."""

    actor: str
    agent_path: str | None
    created_at: datetime
    data: dict[str, Any]
    event: str
    id: int
    project_id: str | None
    request_id: str | None
    run_id: str | None
    session_id: str | None


class BudgetAnswer(Model):
    """`BudgetAnswer` of the interface."""

    cost_usd: float | None
    tokens: int | None


class BudgetUse(Model):
    """How much of a limit is used."""

    limit: float
    shared: bool
    """The limit is that of all attempts together."""
    unit: Literal["tokens", "usd", "seconds"]
    used: float
    """Until now; of `seconds`, when the warning came."""


class CageAnswer(Model):
    """What an agent may reach, as its project file says. Whatever the files are, prompts, programs and other
    names that steer agents are read-only. Variables of the cage are left out.
    """

    capabilities: list[str]
    """For example `shell` and `exec`. Without: it runs nothing."""
    files: list[CageFileAnswer]
    """Nothing else of the machine is there but the system."""
    hosts: list[str]
    """`host`, `host:port` or `*.host:port`. Empty: no network."""
    keeps_state: bool
    """Its home is kept from run to run."""
    memory_mb: int | None
    seconds: int | None
    """After so long everything that runs in it is ended."""
    unix_sockets: bool


class CageFileAnswer(Model):
    """What may be done below a path of the session's folder; of nested ones the deeper decides."""

    mode: Literal["ro", "rw", "deny"]
    """`ro`: it is read, `rw`: read and written, `deny`: hidden."""
    path: str


class CallTool(Model):
    """`CallTool` of the interface."""

    agent_path: str = "primary"
    """The agent that the call is made as."""
    params: dict[str, Any] | None = None


class Capability(Model):
    """A program or feature of the machine. `reason` says why it is not available."""

    available: bool
    kind: Literal["sandbox", "language_server", "debug_adapter", "runner", "provider", "program"]
    name: str
    reason: str | None = None
    version: str | None = None


class CapabilityRequirementAnswer(Model):
    """The cage must name the capability."""

    kind: Literal["capability"]
    name: str


class CatchUp(Model):
    """`CatchUp` of the interface."""

    sessions: list[SessionCatchUp]


class ChangeAnswer(Model):
    """One file that differs from the baseline. Lines of binary files, and of files above 10 MB, are not
    counted: `additions` and `deletions` are null.
    """

    additions: int | None
    binary: bool
    by: list[EditAnswer]
    """The newest 50 calls of agents that wrote it, the oldest first."""
    deletions: int | None
    new_mode: str | None
    note: str | None
    """The reason why lines are not counted."""
    old_mode: str | None
    """git's mode: 100644, 100755, or 120000 for a symbolic link."""
    old_path: str | None
    """The earlier name of a renamed file."""
    others: bool
    """Whether a command, a person or another session changed it, too: `by` does not say all."""
    path: str
    """Relative to the session's root. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64."""
    status: Literal["added", "modified", "deleted", "renamed", "mode"]


class ChangeDiffAnswer(Model):
    """A change with its hunks: empty for a changed mode, null for a binary file and where `note` says why."""

    additions: int | None
    binary: bool
    by: list[EditAnswer]
    """The newest 50 calls of agents that wrote it, the oldest first."""
    deletions: int | None
    digest: str
    """Identifies this state of the file, for a revert."""
    hunks: list[HunkAnswer] | None
    new_encoding: str | None
    new_mode: str | None
    new_text: str | None
    note: str | None
    """The reason why lines are not counted."""
    old_encoding: str | None
    old_mode: str | None
    """git's mode: 100644, 100755, or 120000 for a symbolic link."""
    old_path: str | None
    """The earlier name of a renamed file."""
    old_text: str | None
    """With `content`: the whole text, up to 1 MB."""
    others: bool
    """Whether a command, a person or another session changed it, too: `by` does not say all."""
    path: str
    """Relative to the session's root. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64."""
    status: Literal["added", "modified", "deleted", "renamed", "mode"]
    truncated: bool
    """Whether hunks beyond 4 MB are left out."""


class ChangeSession(Model):
    """Omitted fields do not change."""

    issue_number: int | None = None
    """The issue to work on; null unbinds the session."""
    mode: Literal["plan", "ask", "edits", "full"] | None = None
    """How much the session asks, from the next call on; see `GET /modes`."""
    model: str | None = None
    """An alias or `provider:model` for the next runs; null restores the agent's own model."""
    seen_run_id: str | None = None
    """The run of the root agent whose end you have seen: it leaves the inbox."""
    title: str | None = None


class Check(Model):
    """One check; `absent`: the daemon works without it; `warning`: it works, and `detail` says what will
    fail.
    """

    status: Literal["ok", "failed", "absent", "warning"]
    detail: str | None = None


class CheckAnswer(Model):
    """The check of an attempt after its newest run. `problem` says why it failed. `exit_code` is null when
    the command did not start or was killed. `output` is the last 16 KB of its output; null in lists.
    """

    exit_code: int | None
    output: str | None
    problem: str | None
    seconds: float | None
    state: Literal["none", "running", "passed", "failed", "stopped"]


class CheckpointAnswer(Model):
    """`CheckpointAnswer` of the interface."""

    created_at: datetime
    created_by: str
    detail: str | None
    id: str
    message_cursor: str | None
    reason: str
    resumed_at: datetime | None
    rolled_back: bool
    run_id: str | None
    session_id: str
    superseded_by: str | None


class CheckpointDetail(Model):
    """`CheckpointDetail` of the interface."""

    created_at: datetime
    created_by: str
    detail: str | None
    edits: list[PromptEditAnswer]
    id: str
    message_cursor: str | None
    messages: list[MessageAnswer]
    """The conversation at the checkpoint, in order, including messages superseded since."""
    prompts: list[PromptAnswer]
    proposal: str | None
    """The compaction that waits for a decision."""
    reason: str
    resumed_at: datetime | None
    rolled_back: bool
    run_id: str | None
    session_id: str
    superseded_by: str | None
    worktree: WorktreeAnswer | None


class ChildRunAnswer(Model):
    """The run of a subagent in the detail of its parent's run. `call_id` is the tool call of the parent."""

    agent_path: str
    background: bool
    call_id: str | None
    cost_usd: float | None
    id: str
    reason: str | None
    state: Literal["pending", "running", "succeeded", "failed", "cancelled", "interrupted"]
    total_cost_usd: float | None
    total_usage: Usage
    usage: Usage


class CommandAnswer(Model):
    """A shell command: `running` until its shell exits, then `background` while processes that it started
    continue.
    """

    agent_path: str
    command: str
    cwd: str
    ended_at: datetime | None
    exit_code: int | None
    """The exit code of the shell; null while it runs."""
    id: str
    pid: int | None
    started_at: datetime
    state: Literal["running", "background", "ended"]
    timed_out: bool


class CommandOutputAnswer(Model):
    """`CommandOutputAnswer` of the interface."""

    agent_path: str
    command: str
    cwd: str
    ended_at: datetime | None
    exit_code: int | None
    """The exit code of the shell; null while it runs."""
    id: str
    output: str
    """The last 64 KB of its output, as plain text."""
    pid: int | None
    started_at: datetime
    state: Literal["running", "background", "ended"]
    timed_out: bool


class CommentOnIssue(Model):
    """`CommentOnIssue` of the interface."""

    body: str
    """Markdown, at most 16 KB (16384 bytes of UTF-8)."""
    visibility: Literal["all", "operator_only"] = "all"


class CommitFiles(Model):
    """What to commit: what is staged, or only `paths` as they are now."""

    allow_empty: bool = False
    amend: bool = False
    """Replace the last commit."""
    hooks: bool = False
    """Run the hooks of the repository. The project must be trusted."""
    message: str | None = None
    """Without it an amended commit keeps its message."""
    paths: list[str] | None = None
    unsigned: bool = False
    """Commit without a signature even if git's settings require one."""


class CompactAnswer(Model):
    """The result; `compaction` is null when nothing could be removed."""

    compaction: CompactionAnswer | None
    outcome: Literal["completed", "noop", "proposed"]


class CompactSession(Model):
    """`CompactSession` of the interface."""

    agent_path: str = "primary"
    """The agent; a subagent must be running."""
    strategy: Literal["drop", "summarize", "delegate", "checkpoint"] | None = None
    """Overrides the strategy of the project file. `checkpoint` only proposes."""


class CompactionAnswer(Model):
    """One compaction. Estimates are tokens of a whole request plus the reserve for its answer."""

    after_estimate: int
    agent_path: str
    checkpoint_id: str | None
    created_at: datetime
    details: dict[str, Any]
    fallback_occurred: bool
    fallback_reason: str | None
    id: str
    operator_flag: Literal["good", "bad", "neutral"] | None
    operator_notes: str | None
    plugin_cost: dict[str, Any] | None
    """The usage of the summarizer: tokens and `cost_usd`, null when the price is unknown."""
    plugins_fired: list[dict[str, Any]]
    run_id: str | None
    session_id: str
    state: Literal["proposed", "applied", "rejected"]
    strategy: Literal["drop", "summarize", "delegate", "checkpoint"]
    summary: str | None
    summary_message_id: str | None
    superseded_message_ids: list[str]
    threshold_estimate: int
    trigger: Literal["threshold_crossed", "provider_overflow_retry", "operator_manual", "scheduled"]
    undone_by: str | None
    """The rollback that restored the original messages."""
    window_lower: float
    window_upper: float


class CompactionPreview(Model):
    """A compaction that was not applied, and the conversation that it would leave."""

    messages: list[PreviewedMessage]
    record: CompactionAnswer


class ContextShares(Model):
    """What the tokens of a context are, together all of them. They are estimated by the text, and scaled to
    what the provider has counted.
    """

    messages: int
    """What people, the agent and kaged have said, and the calls of tools."""
    results: int
    """What tools have answered."""
    system: int
    """The system prompt."""
    tools: int
    """The descriptions of tools."""


class ContextUse(Model):
    """How full an agent's context was at its last model call. `window_assumed`: the window of the model is
    unknown, and `window` is the default that compaction assumes.
    """

    agent_path: str
    fraction: float
    model: str
    shares: ContextShares | None
    """What the tokens are; null for a call that an earlier version of kaged made."""
    tokens: int
    window: int
    window_assumed: bool


class CostSplit(Model):
    """US dollars by spender: the sum of the calls with a known price, null when there is none. `incomplete`:
    the sum lacks calls whose price is unknown (their steps have no `cost`).
    """

    compactor: float | None
    incomplete: bool
    primary: float | None
    subagents: float | None
    total: float | None


class CountedChanges(Model):
    """What an attempt has changed since its first message. `incomplete` says what the counts lack."""

    additions: int
    deletions: int
    files: int
    incomplete: str | None


class CreateBranch(Model):
    """A new branch. It starts at `from`, a commit or branch (default: the current commit)."""

    _wire_names = {"from_": "from"}

    name: str
    from_: str | None = None
    switch: bool = False
    """Also check it out."""


class CreateIssue(Model):
    """`CreateIssue` of the interface."""

    title: str
    """One line, at most 200 characters."""
    attachments: list[str] | None = None
    """Ids of files uploaded for this project."""
    body: str = ""
    """Markdown, at most 16 KB (16384 bytes of UTF-8)."""


class CreatePermission(Model):
    """`CreatePermission` of the interface."""

    pattern: str
    """The subject: a command, a path or a host; or `*`."""
    permission: str
    """A tool, a `tool.action`, a capability, a glob over those, or `*`."""
    action: Literal["allow", "deny", "ask"] = "ask"


class CreateSession(Model):
    """`CreateSession` of the interface."""

    project_id: str
    headless: bool = False
    """True when nobody can answer questions."""
    issue_number: int | None = None
    mode: Literal["plan", "ask", "edits", "full"] = "ask"
    """How much the session asks; see `GET /modes`."""
    overrides: SessionOverrides | None = None
    """Overrides of the project file for this session."""
    title: str | None = None
    workspace: Literal["shared", "worktree"] | WorkspaceWish | None = None
    """Where the session works: `shared` is the project's folder, `worktree` its own clone. The project file has the default."""


class CreateTodo(Model):
    """`CreateTodo` of the interface."""

    content: str
    """The task, on one line."""
    kind: Literal["step", "criterion"] = "step"
    """`step` of the plan, or acceptance `criterion` that an operator signs off."""
    phase: str | None = None
    """The phase of the work."""
    position: int | None = None
    """The index in the whole list, from 0; later entries move down."""


class CreateToken(Model):
    """The scope `agent` requires `session_id` and `agent_path`; the scope `plugin` requires `project_id` and
    `plugin`; the scope `chat` requires `project_id` and takes `agent_path`. Others take none of these.
    """

    name: str
    agent_path: str | None = None
    """Scope `agent`: the agent whose tools the token calls. Scope `chat`: the only agent that the token talks to; by default it talks to all agents of the project."""
    expires_at: datetime | None = None
    """By default the token never expires."""
    plugin: str | None = None
    """Scope `plugin`: the name of the plugin."""
    project_id: str | None = None
    """Scope `plugin`: the project whose sessions the token reads. Scope `chat`: the project whose agents the token talks to."""
    scope: Literal["operator", "read-only", "agent", "plugin", "chat"] = "operator"
    session_id: str | None = None
    """Scope `agent`: the only session of the token."""


class CreatedTokenAnswer(Model):
    """`CreatedTokenAnswer` of the interface."""

    _secret_names = frozenset(["token"])

    agent_path: str | None
    created_at: datetime
    expires_at: datetime | None
    id: str
    name: str
    plugin: str | None
    project_id: str | None
    revoked_at: datetime | None
    scope: str
    session_id: str | None
    token: str
    """The secret; it is shown once and is not stored."""


class Diagnostic(Model):
    """One finding. Lines and columns count from 1; `path` is the value's path inside `file`."""

    code: str
    column: int
    file: str
    line: int
    message: str
    path: str
    severity: Literal["error", "warning"]


class DslAnswer(Model):
    """The project file and its overlay, as they are on disk now."""

    files: list[DslFile]


class DslFile(Model):
    """`DslFile` of the interface."""

    content: str
    path: str
    """The path of the file, as the project names it."""


class EditAnswer(Model):
    """The call of an agent that wrote the file."""

    agent_path: str
    call_id: str | None
    message_id: str
    run_id: str | None


class EditCompaction(Model):
    """Omitted fields do not change."""

    summary: str | None = None
    """Empty for none."""
    superseded_message_ids: list[str] | None = None


class EditIssue(Model):
    """Omitted fields do not change; an assignment of null removes it."""

    assignment: str | None = None
    """`primary`, `workflow:<name>` or `session:<session id>`; it starts the work. Null removes it."""
    body: str | None = None
    """Markdown, at most 16 KB (16384 bytes of UTF-8). The original text is kept."""
    title: str | None = None
    """One line, at most 200 characters."""


class EditMessage(Model):
    """Omitted fields do not change."""

    content: str | None = None
    mode: Literal["queue", "steer"] | None = None
    """Let the message wait for the end of the run (`queue`), or for its next message boundary (`steer`). In an idle session either one runs the message now."""


class EditPrompt(Model):
    """A new text for one agent's prompt in this session. `write` changes the file itself, for every session
    of the project.
    """

    content: str
    base_hash: str | None = None
    """The digest of the text that was edited; another digest is a conflict."""
    write: bool = False


class EditTodo(Model):
    """Omitted fields do not change. At most one of `status`, `accept` and `reject` is allowed."""

    accept: Literal[True] | None = None
    """Sign off a criterion."""
    content: str | None = None
    """The task, on one line."""
    note: str | None = None
    phase: str | None = None
    """The phase of the work. Null removes it."""
    position: int | None = None
    """The index in the whole list, from 0; later entries move down."""
    reject: RejectClaim | None = None
    """Decline the claim that a criterion is met; it becomes pending again."""
    resolve: ResolveIssue | None = None
    """With `accept` of the last criterion: also resolve the issue."""
    status: Literal["pending", "in_progress", "completed", "abandoned"] | None = None
    """`in_progress` resets the entry that was in progress to `pending`."""


class EditedIssue(Model):
    """An issue after an edit."""

    assignment: str | None
    """`primary`, `workflow:<name>` or `session:<session id>`"""
    body: str
    created_at: datetime
    created_by: str
    id: str
    number: int
    original_body: str | None
    """The original text, after an edit."""
    project_id: str
    resolved_at: datetime | None
    resolved_by: str | None
    status: Literal["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"]
    title: str
    updated_at: datetime
    updated_fields: list[Literal["title", "body", "assignment"]]
    """The fields that changed."""


class EnabledAnswer(Model):
    """`EnabledAnswer` of the interface."""

    enabled: int
    """How many of its processes were disabled before."""


class FileChangeAnswer(Model):
    """A file that is restored; `diff` leads from now to then, null for binary or long files."""

    change: Literal["modified", "created", "deleted"]
    diff: str | None
    path: str
    """Relative to the session's root. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64."""


class FileEntry(Model):
    """A file, a folder, a symbolic link, or something else, such as a named pipe."""

    changes: dict[str, int]
    """For a folder: how many files below it are `modified`, `added`, `deleted`, `renamed`, `conflicted` and `untracked`. A folder of which nothing is tracked counts as one."""
    executable: bool
    git: Literal["added", "modified", "deleted", "renamed", "conflicted", "untracked"] | None
    """How it differs from the last commit, if it does. A deleted file is listed, too."""
    ignored: bool
    """Whether git ignores it."""
    kind: Literal["file", "folder", "link", "other"]
    modified_at: datetime | None
    name: str
    """For people: bytes that are not UTF-8 are replaced."""
    old_path: str | None
    """Where a renamed file was."""
    path: str
    """Relative to the project's folder, with `/` between names. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64."""
    readable: bool
    """False for a folder that cannot be read, and for what is deleted."""
    size: int | None
    """In bytes; null for what is not a file."""
    target: FileLinkTarget | None
    """Null for a link that leads out of the project or nowhere, and for all that is no link."""


class FileHit(Model):
    """A file or folder whose path matches."""

    kind: Literal["file", "folder"]
    modified_at: datetime | None
    name: str
    """For people: bytes that are not UTF-8 are replaced."""
    path: str
    """Relative to the project's folder, with `/` between names. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64."""
    positions: list[int]
    """The indexes of the characters of `path` that match, in code points from 0. Empty for a `~bytes:` path."""
    score: int
    """A higher score is better; comparable within one answer."""


class FileLeftAnswer(Model):
    """A file that is not restored, and why."""

    path: str
    """Relative to the session's root. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64."""
    reason: str


class FileLinkTarget(Model):
    """Where a symbolic link leads within the project."""

    kind: Literal["file", "folder", "link", "other"]
    path: str


class FilePosition(Model):
    """A place in a text."""

    column: int
    """From 1, in code points."""
    line: int
    """From 1."""


class FileProblem(Model):
    """What a language server reports for a part of a file."""

    code: str | None
    """Its rule or number there."""
    end: FilePosition
    """Behind the last character."""
    message: str
    """At most 2,000 characters, without control characters."""
    severity: Literal["error", "warning", "information", "hint"]
    source: str | None
    """Which program reports it."""
    start: FilePosition


class FileText(Model):
    """Lines of a text file."""

    digest: str | None
    """XXH3 in 128 bits of the whole file, in hexadecimal; null when it is too large."""
    encoding: str
    """The encoding in the file; `lines` are always Unicode."""
    first_line: int
    """The number of the first of `lines`, from 1."""
    line_ending: Literal["lf", "crlf", "mixed"]
    """Of the lines that are shown."""
    lines: list[str]
    """Without their ends. Of a line beyond 2,000 characters the beginning, and ` [truncated]`."""
    modified_at: datetime | None
    next_line: int | None
    """The `line` of the next request; null at the end."""
    path: str
    """The real path, links followed, relative to the project's folder."""
    size: int
    total_lines: int | None
    """Null when the file is too large to be counted."""


class FileWarning(Model):
    """An instruction file or a skill that cannot be used as it is, or not as a whole."""

    file: str
    reason: str


class FlagCompaction(Model):
    """`FlagCompaction` of the interface."""

    flag: Literal["good", "bad", "neutral"] | None
    notes: str | None = None


class ForkSession(Model):
    """`ForkSession` of the interface."""

    message_id: str
    """The last message of the fork; a message of the root agent."""


class FsRequirementAnswer(Model):
    """The cage must allow the caller to read (`ro`) or write (`rw`) the paths of the call."""

    kind: Literal["fs"]
    mode: Literal["ro", "rw"]
    path: Literal["caller"] = "caller"


class GitBranchAnswer(Model):
    """A branch of the repository, or with `remote` a remote-tracking branch."""

    ahead: int
    behind: int
    commit: str
    current: bool
    elsewhere: bool
    """Whether another working tree has it checked out."""
    name: str
    remote: bool
    subject: str
    """The first line of its newest commit."""
    upstream: str | None
    upstream_gone: bool
    """Whether its upstream branch no longer exists."""


class GitCommitAnswer(Model):
    """A commit that was made."""

    branch: str | None
    """Null when HEAD is detached."""
    commit: str
    files: list[str]
    """The first 100 files that it changes, by their paths in the repository."""
    parents: list[str]
    subject: str
    total_files: int


class GitCountsAnswer(Model):
    """The number of files in each state. A file can be in two."""

    conflicted: int
    staged: int
    unstaged: int
    untracked: int


class GitDiffAnswer(Model):
    """The diff of one file. It has no hunks when the file is binary, or only its mode differs."""

    binary: bool
    hunks: list[HunkAnswer]
    new_mode: str | None
    old_mode: str | None
    path: str
    staged: bool


class GitFileAnswer(Model):
    """A file that differs from the last commit."""

    conflict: str | None
    """How both sides of a merge changed it, as `both_modified`."""
    old_path: str | None
    """The earlier path of a staged rename."""
    path: str
    """Relative to the project. A name that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64."""
    staged: Literal["added", "modified", "deleted", "renamed"] | None
    """From the last commit to the index."""
    staged_lines: GitLinesAnswer | None
    """Lines from the last commit to the index; null for a binary file, submodule or conflict."""
    unstaged: Literal["added", "modified", "deleted", "renamed"] | None
    """From the index to the working tree."""
    unstaged_lines: GitLinesAnswer | None
    """Lines from the index to the working tree; null also for an untracked file."""
    untracked: bool


class GitHeadAnswer(Model):
    """A branch, and whether it is checked out now."""

    branch: str
    commit: str
    switched: bool


class GitLinesAnswer(Model):
    """The number of lines that a file has more and less."""

    additions: int
    deletions: int


class GitStagingAnswer(Model):
    """What was staged or unstaged, and the state after it."""

    counts: GitCountsAnswer
    paths: list[str]


class GitStateAnswer(Model):
    """What git says of the project. `none`: it is no repository. `pending`: git takes long; ask again.
    `unavailable`: git failed, for `reason`. Only with `ok` do the entries have `git`.
    """

    branch: str | None
    """Null with a detached `HEAD`."""
    commit: str | None
    """The last commit; null before the first."""
    reason: str | None
    state: Literal["ok", "none", "pending", "unavailable"]


class Health(Model):
    """`Health` of the interface."""

    status: Literal["ok"]
    version: str


class HookAnswer(Model):
    """A hook: a command that runs at an event. Its runs are those in sessions since the daemon started."""

    agents: list[str] | None
    """Globs of agent paths; null: as usual for the event."""
    cage: Literal["disabled"] | dict[str, Any] | None
    """Null: the project read-only, and no network."""
    command: str | list[str]
    """A shell line, or program and arguments."""
    event: Literal["before_tool", "after_tool", "on_prompt", "on_stop"]
    failures: int
    input: Literal["kaged", "claude"]
    last_failure: HookFailureAnswer | None
    """Kept when later runs succeed."""
    last_run_at: datetime | None
    match: list[HookMatchAnswer]
    """Empty: every call."""
    name: str
    runs: int
    source: Literal["config", "project"]
    """The operator's config file, or the project file."""
    state: Literal["not_run", "ok", "failed"]
    """How its newest run ended. A denial is no failure."""
    timeout_seconds: float


class HookFailureAnswer(Model):
    """The newest failure of a hook."""

    at: datetime
    reason: str


class HookMatchAnswer(Model):
    """Which tool calls a hook is for, as a permission rule says it."""

    pattern: str
    permission: str


class HookTestAnswer(Model):
    """How the hook ended, and what would follow."""

    context: str
    """What the model would read."""
    decision: Literal["continue", "ask", "deny", "failed"]
    """`failed`: the hook could not be run, was killed, or ended with another exit code than 0 and 2. Before a tool call that is a denial, else a warning."""
    duration_ms: int
    event: Literal["before_tool", "after_tool", "on_prompt", "on_stop"]
    exit_code: int | None
    name: str
    reason: str
    source: Literal["config", "project"]
    stderr: str
    """The beginning of it."""
    stdout: str
    """The beginning of it."""
    timed_out: bool


class HookTestRequest(Model):
    """The input of the hook. An example stands for each value that is missing. No tool is called."""

    agent_path: str = "primary"
    answer: str = "An example."
    """The agent's last words, for `on_stop`."""
    arguments: dict[str, Any] = absent(dict)
    is_error: bool = False
    prompt: str = "An example."
    result: Any = "An example."
    stop_reason: str = "stop"
    tool: str = "file.write"


class HunkAnswer(Model):
    """A hunk of a diff. Each line is its sign and its text without the newline: `" "` in both files, `"-"` in
    the old, `"+"` in the new one. `"\\\\"` marks a last line without a newline.
    """

    digest: str
    """Identifies this hunk in this state of the file, to revert, stage or unstage it."""
    header: str
    lines: list[list[Any]]
    new_lines: int
    new_start: int
    old_lines: int
    old_start: int


class ImageAttachment(Model):
    """An image, base64 encoded."""

    data: str
    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    type: Literal["image"] = "image"


class ImportedSessionDetail(Model):
    """An imported session, with warnings about its file."""

    active_run: str | None
    """The active run of the root agent, also while it waits for an answer or for capacity."""
    archived_at: datetime | None
    background_runs: list[str]
    """Running subagents that no agent waits for. Cancelling the session ends them."""
    context: list[ContextUse]
    context_overflow: bool
    cost_usd: CostSplit
    created_at: datetime
    created_by: str
    headless: bool
    id: str
    issue_number: int | None
    kind: str
    last_run: LastRun | None
    """The newest run of the root agent."""
    last_seq: int
    """The newest durable event; connect with it as `after_seq`."""
    mode: Literal["plan", "ask", "edits", "full"]
    """How much the session asks; see `GET /modes`."""
    overrides: dict[str, Any]
    pending_interactions: int
    """The number of open questions."""
    project_id: str
    queued_messages: int
    seen_run_id: str | None
    """The newest run of the root agent whose end a person has seen; a later one is unread."""
    state: Literal["idle", "queued", "running", "paused", "archived"]
    state_reason: str | None
    title: str
    tokens: Tokens
    updated_at: datetime
    warnings: list[str]
    workspace_id: str | None
    """Its workspace; null when it works in the project's folder."""


class InboxItem(Model):
    """Something that waits for a person. `id` is the id of the question, the proposal, the compaction or the
    run; the operations of that noun answer it. A run that ended leaves the inbox when `PATCH /sessions/{id}`
    names it as `seen_run_id`, or the session goes on; one that is near a limit with
    `POST /runs/{id}/see-warnings`, or when it ends.
    """

    agent_path: str
    """The agent that asks, or that ran."""
    at: datetime
    """Since when it waits."""
    budget: list[BudgetUse] | None
    """The limits of which 80 % are used, or more, for `budget_warning`."""
    error: str | None
    """Why the run failed, for `failed_run`."""
    failure: dict[str, Any] | None
    """The whole error of the run, as `error` of `GET /runs/{id}`, for `failed_run`."""
    id: str
    kind: Literal[
        "question", "todo_proposal", "compaction", "budget", "budget_warning", "failed_run", "finished_run"
    ]
    project: str
    """The slug of the project."""
    project_id: str
    proposal: str | None
    """The entry for the checklist, for `todo_proposal`."""
    question: InteractionAnswer | None
    """The open question, for `question`."""
    run: LastRun | None
    """The run, for `budget`, `budget_warning`, `failed_run` and `finished_run`. For `budget`, its `reason` is the limit: `budget_tokens`, `budget_usd` or `budget_seconds`."""
    session_id: str
    session_title: str
    summary: str | None
    """The beginning of the agent's last answer, up to 500 characters, for `finished_run`."""


class InteractionAnswer(Model):
    """A question and its outcome. `kind` decides the shape of `request` and `answer`.

    `permission`: `request` has `tool`, `permission`, `subjects` (what needs consent, complete), `reason`,
    `source` (`rule` or `watchdog`) and `suggestions` (the rules that `always` stores); `answer` has
    `answer`, and `comment`, `rules`, `scope` or `covered_by` where they apply. `ask`: `summary` and
    `questions`, each with `id`, `title`, `description`, `options`, `multiple`, `allow_other`; `answers` by
    id. `question`: `questions`, each with `question`, `header`, `options`, `multi_select`; `answers` in
    their order. `form`: `summary` and `fields`, each with `name`, `label`, `type`, `required`,
    `description`; `values` by name, a file being `{upload_id, path, name, size}`. `plan`: `plan` (Markdown);
    `state` (`accepted`, `edited` or `rejected`), and `mode`, `plan` or `comment` where they apply.
    """

    agent_path: str
    answer: dict[str, Any] | None
    answered_by: str | None
    closed_at: datetime | None
    created_at: datetime
    id: str
    kind: str
    request: dict[str, Any]
    run_id: str | None
    session_id: str
    state: Literal["pending", "answered", "cancelled", "expired"]
    tool_call_id: str | None
    call: AskedCall | None = None
    """Of an open `permission`."""


class InvokeWorkflow(Model):
    """`InvokeWorkflow` of the interface."""

    attempts: AskAttempts | None = None
    """Start several runs, each in its own workspace. They queue like other runs."""
    inputs: dict[str, Any] | None = None
    """Values by input name; for a `file`, the id of an upload."""
    issue_number: int | None = None
    """The issue of the run."""
    workspace: Literal["shared", "worktree"] | None = None
    """Where the run's session works. Default: as the project file says. Not `shared` with `attempts`, which have workspaces."""


class Invoker(Model):
    """The author of a run. An agent acts with the authority of an operator; its `id` is `agent:primary`."""

    id: str
    type: Literal["operator", "guest"]


class IssueAnswer(Model):
    """One issue."""

    assignment: str | None
    """`primary`, `workflow:<name>` or `session:<session id>`"""
    body: str
    created_at: datetime
    created_by: str
    id: str
    number: int
    original_body: str | None
    """The original text, after an edit."""
    project_id: str
    resolved_at: datetime | None
    resolved_by: str | None
    status: Literal["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"]
    title: str
    updated_at: datetime


class IssueAttachments(Model):
    """All files of an issue, on one page."""

    items: list[UploadAnswer]
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""
    total: int
    """The number of items on all pages."""


class IssueDetailAnswer(Model):
    """One issue with its history, links, files and checklist counts. `updates` are the newest 200, oldest
    first. `legal_transitions` are the statuses that it can change to.
    """

    assignment: str | None
    """`primary`, `workflow:<name>` or `session:<session id>`"""
    attachments: list[UploadAnswer]
    body: str
    created_at: datetime
    created_by: str
    earlier_updates: int
    """How many updates are older; `GET .../updates` has all."""
    id: str
    legal_transitions: list[
        Literal["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"]
    ]
    links: list[IssueLinkAnswer]
    number: int
    original_body: str | None
    """The original text, after an edit."""
    project_id: str
    resolved_at: datetime | None
    resolved_by: str | None
    status: Literal["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"]
    title: str
    todo_counts: TodoCountsAnswer
    updated_at: datetime
    updates: list[IssueUpdateAnswer]


class IssueLinkAnswer(Model):
    """A link, seen from one of its issues; `outgoing` is false when it starts at the other one."""

    created_at: datetime
    created_by: str
    id: str
    kind: Literal["blocks", "relates", "duplicates"]
    number: int
    outgoing: bool
    status: Literal["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"]
    title: str


class IssueSummary(Model):
    """One issue of a list, without its text."""

    assignment: str | None
    created_at: datetime
    created_by: str
    id: str
    number: int
    project_id: str
    resolved_at: datetime | None
    status: Literal["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"]
    title: str
    updated_at: datetime


class IssueUpdateAnswer(Model):
    """One entry of the history. `metadata` has the old and the new value."""

    author: str
    body: str | None
    created_at: datetime
    id: str
    kind: Literal["comment", "status_change", "title_edit", "body_edit", "assignment_change"]
    metadata: dict[str, Any] | None
    visibility: Literal["all", "operator_only"]


class KeptParts(Model):
    """How many of each stay here, because `include` does not name them."""

    attached_files: int
    images: int
    notes: int
    results: int
    subagents: int
    thinking: int


class LastMerge(Model):
    """The last merge. `into` is `working_tree` (the checkout's files), a branch, which has `commit`, or
    `parent` (the folder of the agent that called the subagent).
    """

    at: datetime
    into: str
    commit: str | None = None


class LastRun(Model):
    """The newest run of a session's root agent."""

    id: str
    reason: str | None
    """Why it ended, for example `stop`, `error` or `stuck`."""
    state: Literal["pending", "running", "succeeded", "failed", "cancelled", "interrupted"]


class LaunchLink(Model):
    """`url` signs one browser in, once."""

    _secret_names = frozenset(["url"])

    url: str


class LinkIssue(Model):
    """`LinkIssue` of the interface."""

    kind: Literal["blocks", "relates", "duplicates"]
    target: int
    """The number of the other issue in the same project."""


class ListedSession(Model):
    """`ListedSession` of the interface."""

    archived_at: datetime | None
    context_overflow: bool
    created_at: datetime
    created_by: str
    headless: bool
    id: str
    issue_number: int | None
    kind: str
    mode: Literal["plan", "ask", "edits", "full"]
    """How much the session asks; see `GET /modes`."""
    project_id: str
    seen_run_id: str | None
    """The newest run of the root agent whose end a person has seen; a later one is unread."""
    state: Literal["idle", "queued", "running", "paused", "archived"]
    state_reason: str | None
    title: str
    updated_at: datetime
    workspace_id: str | None
    """Its workspace; null when it works in the project's folder."""
    last_run: LastRun | None = None
    """The newest run of the root agent."""
    pending_interactions: int = 0
    """The number of open questions."""


class LoadProject(Model):
    """`LoadProject` of the interface."""

    path: str
    """The project's root folder on the daemon's machine."""


class LogRecord(Model):
    """One record. `fields` depend on the event; the event `log` has a `message`."""

    created_at: datetime
    event: str
    fields: dict[str, Any]
    id: int
    level: Literal["debug", "info", "warning", "error", "critical"]
    logger: str
    run_id: str | None
    session_id: str | None


class MachineFolderAnswer(Model):
    """A folder on the daemon's machine."""

    is_project: bool
    """Whether it has a project file, so that it can be loaded."""
    name: str
    path: str
    """Absolute. Of a symbolic link its own path, not where it leads."""


class McpContentAnswer(Model):
    """What a server offers beside tools."""

    prompts: list[dict[str, Any]]
    """Each with its arguments."""
    resources: list[dict[str, Any]]
    """Each with `uri` or `uri_template`."""


class McpServerAnswer(Model):
    """An MCP server that agents of a project may use."""

    name: str
    origin: Literal["config", "added", "project"]
    """`config`: the config file; `added`: `kaged mcp add`; `project`: the project file."""
    state: Literal["unusable", "stopped", "starting", "ready", "restarting", "disabled"]
    """`stopped`: nothing has used it yet. `disabled`: it failed too often."""
    transport: Literal["stdio", "http"] | None
    """Null when the declaration is unusable."""
    failures: int = 0
    left_out: list[str] = absent(list)
    """Tools that cannot be used, each with the reason."""
    log: list[str] = absent(list)
    """The last lines of its stderr, oldest first."""
    pid: int | None = None
    protocol: str | None = None
    """The version of the protocol that is spoken with it."""
    reason: str | None = None
    """Why it is unusable, restarting or disabled."""
    server: str | None = None
    """What the server calls itself."""
    tools: list[McpToolAnswer] = absent(list)
    """What it offered when it was asked last."""


class McpToolAnswer(Model):
    """A tool as its server lists it."""

    description: str
    name: str
    title: str


class MergeAnswer(Model):
    """What a merge changed, or with `dry_run` would change. `conflicts` has the files in which both sides
    changed the same lines. `blocked` has the files that cannot be written, each with the reason. With
    either, nothing is merged. `diff` has up to 1 MB, and is empty without `dry_run`.
    """

    blocked: dict[str, str]
    commit: str | None
    conflicts: list[str]
    diff: str
    dry_run: bool
    files: list[MergedFile]
    given_to_agent: bool
    """Whether the agent got the conflicts. If so, nothing is merged."""
    into: str
    workspace_state: Literal["creating", "ready", "merging", "merged", "kept", "discarded", "broken"]


class MergeWorkspace(Model):
    """`MergeWorkspace` of the interface."""

    conflicts: Literal["refuse", "agent"] = "refuse"
    """`agent`: when both sides changed the same lines, the workspace gets the target's changes with conflict markers, and a message tells the agent to resolve them. Merge again afterwards."""
    create: bool = False
    """Create the branch `into` if it does not exist, at the commit that is checked out."""
    dry_run: bool = False
    """Show what the merge would change; write nothing."""
    hooks: bool = False
    """Run the hooks of the repository. Only for one commit (`squash`) on the branch that is checked out. The project must be trusted."""
    into: str = "working_tree"
    """`working_tree`: the files of the checkout change, and nothing is committed. Otherwise a branch, which gets a commit. If it is checked out, its files change, too."""
    message: str | None = None
    """The message of the commit on a branch. Default: the name of the workspace's branch."""
    strategy: Literal["squash", "merge"] = "squash"
    """For a branch: one commit, or a merge commit that keeps the commits of the workspace."""


class MergedFile(Model):
    """One file that changes; `additions` and `deletions` are lines, null for binary files."""

    additions: int | None
    deletions: int | None
    path: str
    """Relative to the session's root. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64."""
    status: Literal["added", "modified", "deleted", "mode"]
    """A renamed file is a deleted and an added one."""


class MessageAnswer(Model):
    """One message. `position` is null while it is queued."""

    agent_path: str
    complete: bool
    content: str
    created_at: datetime
    delivery: str
    details: dict[str, Any]
    id: str
    position: int | None
    role: str
    run_id: str | None
    session_id: str
    superseded: bool
    superseded_by: str | None
    """The rollback (`rbk_`) or compaction (`cmp_`) that superseded it."""


class ModeAnswer(Model):
    """`ModeAnswer` of the interface."""

    description: str
    label: str
    name: Literal["plan", "ask", "edits", "full"]
    rules: list[RuleAnswer]


class ModelAnswer(Model):
    """An alias and its `provider:model` candidates, in order. `problem` says why none of them can be called;
    `context_window` is that of the first candidate, in tokens; `input_usd` and `output_usd` are its prices
    for a million tokens. Null is unknown: prices of a public provider are known from its first call on.
    """

    alias: str
    chain: list[str]
    context_window: int | None
    input_usd: float | None
    output_usd: float | None
    problem: str | None
    ready: bool


class NetRequirementAnswer(Model):
    """The cage must allow connections to `target`, a host or `host:port`."""

    kind: Literal["net"]
    target: str


class NextPart(Model):
    """One part of the system prompt of the next call, with its origin: a file, or the name of a plugin."""

    name: str
    origin: str | None
    text: str
    tokens: int
    """Estimated."""


class PauseSession(Model):
    """`PauseSession` of the interface."""

    reason: str | None = None


class PermissionAnswer(Model):
    """`PermissionAnswer` of the interface."""

    action: Literal["allow", "deny", "ask"]
    created_at: datetime
    created_by: str
    effective: bool
    """False when the project file overrules it for every agent, so that it has no effect."""
    id: str
    overruled_by: RuleAnswer | None
    """The rule of the project file that overrules it; null when it is effective."""
    pattern: str
    permission: str
    project_id: str
    session_id: str | None
    """Null for a rule of the whole project."""


class PickAnswer(Model):
    """What a pick did, or with `dry_run` would do. `discarded` has the sessions whose workspaces are
    discarded. It is empty when the agent gets the conflicts, and when the attempt was already picked.
    """

    attempt_group: AttemptGroupAnswer
    discarded: list[str]
    merge: MergeAnswer


class PickAttempt(Model):
    """`PickAttempt` of the interface."""

    session_id: str
    """The session of the attempt to merge."""
    conflicts: Literal["refuse", "agent"] = "refuse"
    """`agent`: when both sides changed the same lines, the workspace gets the target's changes with conflict markers, and a message tells the agent to resolve them. Merge again afterwards."""
    create: bool = False
    """Create the branch `into` if it does not exist, at the commit that is checked out."""
    dry_run: bool = False
    """Show what the merge would change; write nothing."""
    hooks: bool = False
    """Run the hooks of the repository. Only for one commit (`squash`) on the branch that is checked out. The project must be trusted."""
    into: str = "working_tree"
    """`working_tree`: the files of the checkout change, and nothing is committed. Otherwise a branch, which gets a commit. If it is checked out, its files change, too."""
    message: str | None = None
    """The message of the commit on a branch. Default: the name of the workspace's branch."""
    strategy: Literal["squash", "merge"] = "squash"
    """For a branch: one commit, or a merge commit that keeps the commits of the workspace."""


class PluginAnswer(Model):
    """A plugin as one agent declares it."""

    agent_path: str
    description: str | None
    failures: int
    hooks: list[str]
    isolation: Literal["agent", "project"]
    log: list[str]
    """The last lines of its log and stderr, oldest first."""
    memory_bytes: int
    """Of its process and its child processes."""
    name: str
    package: str
    """As written in the project file."""
    pid: int | None
    reason: str | None
    """Why it is unusable, restarting or disabled."""
    roles: list[str]
    state: Literal["unusable", "stopped", "starting", "ready", "restarting", "disabled"]
    """`unusable`: manifest or config are missing or wrong. `disabled`: it failed too often and is not started until an operator enables it."""
    tools: list[str]
    """Full names; an agent gets those that its `tools` enable."""
    version: str | None
    """Null when the manifest is unusable."""


class PostMessage(Model):
    """`PostMessage` of the interface."""

    content: str
    attachments: list[ImageAttachment] = absent(list)
    attempts: AskAttempts | None = None
    """Post the message to several forks of the session, each in its own workspace. The session itself does not get it. Not with `model` or `mode`."""
    mode: Literal["queue", "steer", "reject"] | None = None
    """During an active run: queue the message (`queue`, the default), steer the run at its next message boundary (`steer`), or refuse the message (`reject`)."""
    model: str | None = None
    """An alias or `provider:model` for the run of this message."""
    upload_ids: list[str] = absent(list)
    """Uploaded files. The session owns them. They are copied to where it works, `.kaged/tmp/<session>/<name>`, and the text names their paths."""


class PostedMessageAnswer(Model):
    """The stored message, and the run that it started (null when it was queued or steered). With `attempts`
    it is the message of the first attempt, and `attempt_group` is what was started.
    """

    message: MessageAnswer
    queued: bool
    run: RunAnswer | None
    attempt_group: AttemptGroupAnswer | None = None


class PreviewedMessage(Model):
    """A message that would remain, shortened. `id` is null for a summary that is not stored yet."""

    always_keep: bool
    content: str
    id: str | None
    role: str
    tokens: int


class ProjectAnswer(Model):
    """`ProjectAnswer` of the interface."""

    created_at: datetime
    description: str
    id: str
    loaded_at: datetime
    root: str
    slug: str
    state: str
    trust: TrustAnswer


class ProjectDetail(Model):
    """`ProjectDetail` of the interface."""

    compiled_digest: str | None
    created_at: datetime
    description: str
    diagnostics: list[Diagnostic]
    """Diagnostics of the last load, including warnings."""
    id: str
    loaded_at: datetime
    root: str
    slug: str
    state: str
    trust: TrustAnswer


class PromptAnswer(Model):
    """One agent's prompt: its file below the project's root, and the text of the next call."""

    agent_path: str
    content: str
    digest: str
    file: str
    file_digest: str
    parts: list[NextPart]
    """The whole system prompt of the next call, in order; empty for the prompt of a workflow."""
    pending: bool
    """The edit applies from the end of the pause on."""
    sent: SentPromptAnswer | None
    """What was last sent; null before the first call."""
    source: Literal["file", "edited"]
    """`edited`: this session has an edit."""
    warnings: list[FileWarning]
    """About instruction files and skills."""


class PromptEditAnswer(Model):
    """`PromptEditAnswer` of the interface."""

    applied_at: datetime | None
    checkpoint_id: str
    edited_at: datetime
    edited_by: str
    id: str
    new_hash: str
    old_hash: str
    target: str


class PromptPart(Model):
    """One part of a system prompt: `agent`, `workflow`, `instructions:FILE`, `plugin:NAME`, `skills` or
    `environment`.
    """

    name: str
    text: str


class ProposalAnswer(Model):
    """An entry that a subagent proposed; `call_id` is the tool call of its delegation."""

    agent_path: str
    call_id: str | None
    content: str
    created_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    id: str
    kind: Literal["step", "criterion"]
    run_id: str | None
    session_id: str
    state: Literal["proposed", "accepted", "rejected"]


class ProviderAnswer(Model):
    """A configured provider. `problem` says what is missing, `key_from` where its key is from: the settings,
    a usual environment variable, or stored by `PUT /providers/{name}/key`. Null: it has none.
    """

    base_url: str | None
    driver: str
    key_from: Literal["settings", "variable", "stored"] | None
    name: str
    problem: str | None
    ready: bool


class ProviderTestAnswer(Model):
    """The outcome of one real call. Times are milliseconds. `error` is the kind and `message` the server's
    own words; `cause`, `explanation` and `advice` say why the call failed and what to do.
    """

    advice: str | None
    cause: (
        Literal[
            "no_key",
            "refused_key",
            "no_permission",
            "quota",
            "rate_limited",
            "unknown_model",
            "no_network",
            "no_server",
            "tls",
            "proxy",
            "time_out",
            "wrong_address",
            "wrong_type",
            "refused_request",
            "overloaded",
            "other",
        ]
        | None
    )
    duration_ms: int
    error: str | None
    explanation: str | None
    message: str | None
    model: str
    ok: bool
    provider: str
    text: str
    ttft_ms: int | None
    usage: Usage | None


class Readiness(Model):
    """`ready` is true when no required check failed."""

    checks: dict[str, Check]
    ready: bool


class RedactedPlace(Model):
    """A message in which something was redacted; `number` is that of the answer or message in the file."""

    count: int
    message_id: str
    number: int


class RejectClaim(Model):
    """`RejectClaim` of the interface."""

    comment: str
    """What is missing; stored as a note."""


class ResolveIssue(Model):
    """`ResolveIssue` of the interface."""

    comment: str
    """What was done. Markdown, at most 16 KB."""


class RestoredFilesAnswer(Model):
    """The effect of a rollback on files. `checkpoint_id` has their state before; `undo_conflicts` are the
    files that undoing it did not restore.
    """

    checkpoint_id: str
    conflicts: list[FileLeftAnswer]
    restored: list[str]
    undo_conflicts: list[FileLeftAnswer]


class ResumeSession(Model):
    """`ResumeSession` of the interface."""

    checkpoint_id: str | None = None
    """The checkpoint to resume from; by default the newest open one."""


class ResumedAnswer(Model):
    """The new run; null when nothing was left to do."""

    run: RunAnswer | None


class RetryRun(Model):
    """`RetryRun` of the interface."""

    model: str | None = None
    """An alias or `provider:model` for this run; by default that of the message or session."""


class RevertAnswer(Model):
    """A revert. `files` are those that it wrote or removed: two for a renamed file."""

    created_at: datetime
    created_by: str
    files: list[str]
    hunks: int | None
    """How many hunks were reverted; null for the whole file."""
    id: str
    lines: list[list[list[Any]]] | None
    """The lines of each reverted hunk, up to 16 kB; null for a whole file or an old revert."""
    path: str
    session_id: str
    since: str
    undone_at: datetime | None
    undone_by: str | None


class RevertChange(Model):
    """What to revert: a file, or some of its hunks."""

    path: str
    """Relative to the session's root. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64."""
    digest: str | None = None
    """The `digest` of the diff which the caller has seen."""
    hunks: list[str] | None = None
    """The `digest` of each hunk, all from one answer. Without it, the whole file."""
    since: str = "start"
    """The baseline, as in the list."""


class RollBack(Model):
    """The target of a rollback: a checkpoint, or a message of the root agent, which is kept."""

    before: bool = False
    """With `message_id`: the message itself goes, too, as if never posted."""
    checkpoint_id: str | None = None
    files: bool = False
    """Also restore files that only agents wrote since."""
    force: bool = False
    """With `files`: also restore files changed by others or by commands."""
    message_id: str | None = None
    plan: str | None = None
    """With `files`: the `plan` of the preview; a conflict when the files changed since."""
    stage: bool = False
    """With `files`: preview what would be restored, and the conflicts."""


class RollbackAnswer(Model):
    """A rollback: how many `messages` it removed from the conversation, which `compactions` it undid, and
    which `checkpoints` it superseded.
    """

    checkpoint_id: str | None
    checkpoints: list[str]
    compactions: list[str]
    created_at: datetime
    created_by: str
    files: RestoredFilesAnswer | None
    id: str
    message_cursor: str | None
    messages: int
    session_id: str
    undone_at: datetime | None


class RuleAnswer(Model):
    """A rule without its origin."""

    action: Literal["allow", "deny", "ask"]
    pattern: str
    permission: str


class RunAnswer(Model):
    """The run of a subagent has `parent_run_id` and `parent_call_id`; with `background` the parent did not
    wait for it. `usage` and `cost_usd` are those of the run alone; `total_usage` and `total_cost_usd` include
    all runs below it so far.
    """

    agent_path: str
    checkpoint_id: str | None
    cost_usd: float | None
    created_at: datetime
    ended_at: datetime | None
    error: dict[str, Any] | None
    id: str
    model: str | None
    reason: str | None
    session_id: str
    started_at: datetime | None
    state: Literal["pending", "running", "succeeded", "failed", "cancelled", "interrupted"]
    step_count: int
    total_cost_usd: float | None
    total_usage: Usage
    trigger_message_id: str | None
    usage: Usage
    background: bool = False
    parent_call_id: str | None = None
    parent_run_id: str | None = None
    retry_of: str | None = None
    """The failed run that this run retries."""


class RunDetail(Model):
    """`cost_incomplete`: `cost_usd` lacks model calls whose price is unknown."""

    agent_path: str
    checkpoint_id: str | None
    children: list[ChildRunAnswer]
    cost_incomplete: bool
    cost_usd: float | None
    created_at: datetime
    ended_at: datetime | None
    error: dict[str, Any] | None
    id: str
    model: str | None
    reason: str | None
    session_id: str
    started_at: datetime | None
    state: Literal["pending", "running", "succeeded", "failed", "cancelled", "interrupted"]
    step_count: int
    steps: list[StepAnswer]
    tool_calls: list[ToolCallAnswer]
    total_cost_usd: float | None
    total_usage: Usage
    trigger_message_id: str | None
    usage: Usage
    background: bool = False
    parent_call_id: str | None = None
    parent_run_id: str | None = None
    retry_of: str | None = None
    """The failed run that this run retries."""


class RunFailure(Model):
    """Why a run failed."""

    code: str
    message: str


class SeccompRequirementAnswer(Model):
    """`SeccompRequirementAnswer` of the interface."""

    kind: Literal["seccomp"]
    profile: Literal["relaxed"]


class SentPromptAnswer(Model):
    """The system prompt of an agent's last model call. The details of the answer have its digest as
    `systemDigest`; `blocks` is empty once the text was deleted.
    """

    blocks: list[PromptPart]
    created_at: datetime
    digest: str
    message_id: str
    run_id: str | None


class SentRequestAnswer(Model):
    """The request of one model call. `verified`: the bytes of `body` have the `request_digest` (128-bit xxh3)
    that was computed when they were sent. Otherwise the configuration of the provider changed since, and
    `body` is what would be sent today.
    """

    body: dict[str, Any]
    driver: str
    model: str
    path: str
    provider: str
    request_digest: str
    run_id: str
    step: int
    verified: bool


class SessionAgent(Model):
    """An agent of a session. `cage` is null without one: its programs have the rights of the daemon's
    user.
    """

    cage: CageAnswer | None
    description: str | None
    name: str
    path: str


class SessionCatchUp(Model):
    """The events of one session from `from_seq` on. With `has_more`, continue from `through_seq`. With
    `resync` the log was trimmed: reload the session.
    """

    frames: list[dict[str, Any]]
    from_seq: int
    has_more: bool
    resync: bool
    session_id: str
    through_seq: int


class SessionDetail(Model):
    """`SessionDetail` of the interface."""

    active_run: str | None
    """The active run of the root agent, also while it waits for an answer or for capacity."""
    archived_at: datetime | None
    background_runs: list[str]
    """Running subagents that no agent waits for. Cancelling the session ends them."""
    context: list[ContextUse]
    context_overflow: bool
    cost_usd: CostSplit
    created_at: datetime
    created_by: str
    headless: bool
    id: str
    issue_number: int | None
    kind: str
    last_run: LastRun | None
    """The newest run of the root agent."""
    last_seq: int
    """The newest durable event; connect with it as `after_seq`."""
    mode: Literal["plan", "ask", "edits", "full"]
    """How much the session asks; see `GET /modes`."""
    overrides: dict[str, Any]
    pending_interactions: int
    """The number of open questions."""
    project_id: str
    queued_messages: int
    seen_run_id: str | None
    """The newest run of the root agent whose end a person has seen; a later one is unread."""
    state: Literal["idle", "queued", "running", "paused", "archived"]
    state_reason: str | None
    title: str
    tokens: Tokens
    updated_at: datetime
    workspace_id: str | None
    """Its workspace; null when it works in the project's folder."""


class SessionOverrides(Model):
    """Overrides of the project file for the root agent of one session."""

    max_output_tokens: int | None = None
    max_steps: int | None = None
    model: str | None = None
    """An alias or `provider:model`."""


class SetProviderKey(Model):
    """`SetProviderKey` of the interface."""

    key: str
    """Visible ASCII characters without spaces."""


class SharePreview(Model):
    """What leaves. The lists have at most 1,000 entries each; the counts are complete."""

    agents: list[SharedName]
    bytes: int
    """The size of the file."""
    file_count: int
    files: list[str]
    """Names of files that tool calls and attachments mention."""
    images: list[SharedImage]
    kept: KeptParts
    redacted: list[RedactedPlace]
    shared: SharedParts
    title: str
    tools: list[SharedName]


class SharedImage(Model):
    """`SharedImage` of the interface."""

    bytes: int
    media_type: str


class SharedName(Model):
    """A tool or an agent, and how often it appears."""

    count: int
    name: str


class SharedParts(Model):
    """How many of each leave."""

    answers: int
    attached_files: int
    """Attached files whose contents leave; their names always do."""
    images: int
    messages: int
    notes: int
    """Notes of the daemon to its model."""
    redactions: int
    """Secrets that were replaced by `[redacted]`."""
    results: int
    subagents: int
    thinking: int
    tool_calls: int


class StageFiles(Model):
    """Files or folders as a whole (`paths`; `.` is the project), or hunks of one file (`path`, `hunks`)."""

    hunks: list[str] | None = None
    """Digests of hunks of the diff of `path`."""
    path: str | None = None
    paths: list[str] | None = None


class StagedRollbackAnswer(Model):
    """A preview of a rollback's effect on files. `plan` identifies it."""

    conflicts: list[FileLeftAnswer]
    plan: str
    restored: list[FileChangeAnswer]


class StartAttempts(Model):
    """`StartAttempts` of the interface."""

    attempts: AskAttempts
    content: str
    title: str | None = None
    """The start of each session's title."""


class StepAnswer(Model):
    """One model call. `stats` has usage, cost, time to the first token, duration, attempts, and in `context`
    about how many tokens of what it was sent were system prompt, tools, messages and results.
    """

    ended_at: datetime | None
    message_id: str
    model: str
    number: int
    provider: str
    request_digest: str | None
    started_at: datetime
    stats: dict[str, Any]
    stop_reason: str | None


class SupersededAnswer(Model):
    """`SupersededAnswer` of the interface."""

    items: list[SupersededMessages]


class SupersededMessages(Model):
    """Messages that left a conversation together. `messages` counts them without the results of tools."""

    by: str | None
    """The rollback (`rbk_`) or compaction (`cmp_`)."""
    messages: int
    position: int
    """Where the first of them stood."""


class SwitchBranch(Model):
    """The branch to check out."""

    name: str


class SymbolHit(Model):
    """A declaration whose name matches."""

    container: str | None
    """The name of the declaration around it."""
    kind: str
    """What it is: `class`, `function`, `method`, `interface`, `struct`, `enum`, `type`, `module`, `constant` and the like."""
    line: int
    """The line of the name, from 1."""
    name: str
    """At most 300 characters, without control and bidirectional characters."""
    path: str
    """Relative to the project's folder, with `/` between names. A path that is not UTF-8, or has control characters, is `~bytes:` and its bytes in URL-safe base64."""
    positions: list[int]
    """The indexes of the characters of `name` that match, in code points from 0."""
    score: int
    """A higher score is better; comparable within one answer."""


class TestProvider(Model):
    """`TestProvider` of the interface."""

    model: str | None = None
    """By default a model of an alias, or one that the provider offers."""


class TodoAnswer(Model):
    """One entry of a checklist. A completed criterion is a claim until `accepted_at` is set."""

    accepted_at: datetime | None
    accepted_by: str | None
    completed_at: datetime | None
    completed_by: str | None
    content: str
    created_at: datetime
    created_by: str
    id: str
    kind: Literal["step", "criterion"]
    notes: list[TodoNote]
    origin_agent: str | None
    """The subagent that proposed it."""
    phase: str | None
    position: int
    status: Literal["pending", "in_progress", "completed", "abandoned"]
    updated_at: datetime


class TodoCountsAnswer(Model):
    """Counts of the checklist, without abandoned entries."""

    completed: int
    criteria: int
    criteria_accepted: int
    in_progress: int
    total: int


class TodoNote(Model):
    """`TodoNote` of the interface."""

    author: str
    created_at: datetime
    text: str


class TokenAnswer(Model):
    """`TokenAnswer` of the interface."""

    agent_path: str | None
    created_at: datetime
    expires_at: datetime | None
    id: str
    name: str
    plugin: str | None
    project_id: str | None
    revoked_at: datetime | None
    scope: str
    session_id: str | None


class Tokens(Model):
    """Token counts; `input` excludes cached tokens, `output` includes `reasoning`."""

    cache_read: int
    cache_write: int
    input: int
    output: int
    reasoning: int
    total: int


class ToolAnswer(Model):
    """One tool. `parameters` and `result` are JSON Schemas."""

    actions: list[str]
    description: str
    destructive: bool
    name: str
    namespace: str
    """The first part of the name: `file` of `file.read`."""
    parameters: dict[str, Any]
    principal_scope: str | None
    read_only: bool
    requires: list[
        FsRequirementAnswer | SeccompRequirementAnswer | NetRequirementAnswer | CapabilityRequirementAnswer
    ]
    """What a cage must allow for a call. An agent without a cage may do all of it."""
    result: dict[str, Any]
    source: Literal["builtin", "agent", "plugin", "mcp"]
    """Who provides the tool."""
    title: str
    version: str
    wire_name: str


class ToolCallAnswer(Model):
    """`ToolCallAnswer` of the interface."""

    agent_path: str
    arguments: dict[str, Any]
    call_id: str
    ended_at: datetime | None
    error_code: str | None
    id: str
    message_id: str | None
    name: str
    result_message_id: str | None
    started_at: datetime | None
    state: str
    step: int | None


class ToolCallMetadata(Model):
    """`ToolCallMetadata` of the interface."""

    duration_ms: int
    cage_notes: list[str] | None = None
    """Changes of the agent's cage that its model should know."""
    output_path: str | None = None
    truncated: bool | None = None


class ToolEnvelopeAnswer(Model):
    """The result of every tool."""

    metadata: ToolCallMetadata
    type: Literal["output", "error"]
    code: str | None = None
    data: Any = None
    detail: dict[str, Any] | None = None
    error_text: str | None = None


class TransitionIssue(Model):
    """`TransitionIssue` of the interface."""

    to: Literal["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"]
    comment: str | None = None
    """Required for `resolved` and `rejected`. Markdown, at most 16 KB."""


class TransitionedIssue(Model):
    """An issue after a transition."""

    assignment: str | None
    """`primary`, `workflow:<name>` or `session:<session id>`"""
    body: str
    created_at: datetime
    created_by: str
    id: str
    number: int
    original_body: str | None
    """The original text, after an edit."""
    previous_status: Literal["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"]
    project_id: str
    resolved_at: datetime | None
    resolved_by: str | None
    status: Literal["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"]
    title: str
    updated_at: datetime


class TrustAnswer(Model):
    """Whether a project may run. `changed`: the trusted version stays active, and a newer one waits for
    trust.
    """

    acts: list[ActAnswer]
    """What the newest version asks for."""
    by: Literal["operator", "always", "settings"] | None
    """Why it is trusted."""
    digest: str | None
    """Identifies the newest version that compiles; send it to trust that version."""
    state: Literal["trusted", "untrusted", "changed"]


class TrustProject(Model):
    """`TrustProject` of the interface."""

    digest: str
    """The `trust.digest` of the version that you reviewed."""
    always: bool = False
    """Also trust every later version."""


class UndoRollback(Model):
    """`UndoRollback` of the interface."""

    force: bool = False
    """Also restore files that changed since."""


class UploadAnswer(Model):
    """An uploaded file."""

    created_at: datetime
    created_by: str
    id: str
    media_type: str
    name: str
    """Safe as a file name; it may differ from the name that was sent."""
    project_id: str
    sha256: str
    """In hexadecimal."""
    size_bytes: int
    used_at: datetime | None
    used_by: str | None
    """The issue, interaction or workflow run that uses it. An unused file is removed after a day."""


class Usage(Model):
    """Token counts of one model call. `input_tokens` never includes cache tokens;
    `output_tokens` includes `reasoning_tokens`.
    """

    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0


class ValidationAnswer(Model):
    """Whether a project file is valid, and all diagnostics."""

    diagnostics: list[Diagnostic]
    valid: bool


class Versions(Model):
    """`Versions` of the interface."""

    api: str
    commit: str | None
    """The commit of the build, with `-dirty` after it when the build had changes that were not committed. Null when it is not known."""
    database_schema: str
    """The revision of the database schema that this version uses."""
    kaged: str
    platform: str
    python: str


class WorkflowAnswer(Model):
    """A workflow of a project, as compiled now. `tools` are the tools of its root agent."""

    concurrency: int
    description: str
    inputs: dict[str, WorkflowInputAnswer]
    invokable_by: list[Literal["operator", "guest"]]
    name: str
    next_at: datetime | None
    """The next scheduled start."""
    queued: int
    """The number of queued runs."""
    running: int
    """The number of active runs, including runs that wait for a person."""
    schedule: str | None
    """Cron expression of five fields, UTC."""
    timeout_seconds: int
    tools: list[str]
    workspace: Literal["shared", "worktree"] | None
    """Where the sessions of runs work; null: as the project's `workspace.default` says."""


class WorkflowInputAnswer(Model):
    """One declared input of a workflow. `default` is null when there is none."""

    default: str | float | bool | None
    description: str | None
    max_length: int | None
    options: list[str] | None
    """The choices of an `enum`."""
    required: bool
    type: Literal["string", "text", "number", "integer", "boolean", "enum", "url", "file"]


class WorkflowRunAnswer(Model):
    """`WorkflowRunAnswer` of the interface."""

    cause: Literal["operator", "agent", "schedule", "issue"]
    completed_at: datetime | None
    cost_usd: float | None
    """US dollars, after the end; null when unknown."""
    created_at: datetime
    duration_ms: int | None
    """From start to end; null until then."""
    elapsed_ms: int
    """Working time, without waiting for people."""
    error: RunFailure | None
    id: str
    inputs: dict[str, Any]
    invoked_by: Invoker
    issue_number: int | None
    output: str | None
    """The agent's final answer."""
    pending_interactions: int
    """The number of open questions in its session."""
    project_id: str
    scheduled_for: datetime | None
    """The scheduled time."""
    session_id: str | None
    """The session of the run; null while it is queued."""
    session_state: Literal["idle", "queued", "running", "paused", "archived"] | None
    """The state of its session. An active run is `running` also while its session is `paused`."""
    started_at: datetime | None
    state: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    timeout_seconds: int
    workflow: str
    workspace: Literal["shared", "worktree"] | None
    """`workspace` of the invocation."""
    attempt_group: AttemptGroupAnswer | None = None
    """The attempts that were started; the run is the first of them."""


class WorkflowRunSummary(Model):
    """`WorkflowRunSummary` of the interface."""

    cause: Literal["operator", "agent", "schedule", "issue"]
    completed_at: datetime | None
    cost_usd: float | None
    """US dollars, after the end; null when unknown."""
    created_at: datetime
    duration_ms: int | None
    """From start to end; null until then."""
    elapsed_ms: int
    """Working time, without waiting for people."""
    error: RunFailure | None
    id: str
    invoked_by: Invoker
    issue_number: int | None
    pending_interactions: int
    """The number of open questions in its session."""
    project_id: str
    scheduled_for: datetime | None
    """The scheduled time."""
    session_id: str | None
    """The session of the run; null while it is queued."""
    session_state: Literal["idle", "queued", "running", "paused", "archived"] | None
    """The state of its session. An active run is `running` also while its session is `paused`."""
    started_at: datetime | None
    state: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    timeout_seconds: int
    workflow: str
    workspace: Literal["shared", "worktree"] | None
    """`workspace` of the invocation."""


class WorkspaceAnswer(Model):
    """Where a session works. For a session in the project's folder `kind` is `shared` and `id` is null.
    `detail` is a problem or a remark.
    """

    agent_path: str | None
    """The subagent that works in it; null for the workspace of a session."""
    base: str | None
    base_commit: str | None
    branch: str | None
    created_at: datetime
    created_by: str
    detail: str | None
    ended_at: datetime | None
    first_port: int | None
    """The first of `ports` consecutive ports reserved for it."""
    id: str | None
    kind: Literal["shared", "worktree", "copy"]
    merged: LastMerge | None
    parent_id: str | None
    """The workspace from which a subagent's workspace was made; null when it was made from the project's folder."""
    ports: int
    project_id: str
    removed_at: datetime | None
    """When its folder was removed. It cannot be restored then."""
    root: str
    run_id: str | None
    """The run of that subagent."""
    session_id: str | None
    setup_log: str | None
    """The last 64 KB of output of the project's `setup`."""
    size_bytes: int
    state: Literal["creating", "ready", "merging", "merged", "kept", "discarded", "broken"]
    updated_at: datetime


class WorkspaceWish(Model):
    """Where a session works."""

    base: str = "head"
    """What the workspace starts from: `head` (the last commit), `working` (also the uncommitted changes of the checkout), or a branch, a tag or a commit."""
    kind: Literal["shared", "worktree"] = "worktree"


class WorktreeAnswer(Model):
    """A snapshot of the project's files, stored as a git tree. `state` is `taken`, `unchanged`, `failed` or
    `skipped`; `detail` says why.
    """

    created_at: datetime
    detail: str | None
    id: str
    size_bytes: int
    state: str
    tree: str | None
