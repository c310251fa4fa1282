"""Sessions on the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from app.api.schemas.model import AnswerModel, RequestModel, Time
from app.api.schemas.runs import RunStateName
from app.api.schemas.workspaces import WishedWorkspace, WorkspaceKind, WorkspaceWish
from app.storage.models import Run
from app.tools.contract.modes import ModeName

SessionModeName = ModeName
SessionStateName = Literal["idle", "queued", "running", "paused", "archived"]
Title = Annotated[str, Field(max_length=200)]


class SessionOverrides(RequestModel):
    """Overrides of the project file for the root agent of one session."""

    model: str | None = Field(
        default=None, min_length=1, max_length=200, description="An alias or `provider:model`."
    )
    max_steps: int | None = Field(default=None, ge=1, le=1_000_000)
    max_output_tokens: int | None = Field(default=None, ge=1, le=10_000_000)


class CreateSession(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {"project_id": "prj_01JZ0000000000000000000000", "title": "Fix the tests"}
        }
    )

    project_id: str = Field(max_length=64)
    title: Title | None = None
    issue_number: int | None = Field(default=None, ge=1, le=2**31)
    headless: bool = Field(default=False, description="True when nobody can answer questions.")
    overrides: SessionOverrides | None = Field(
        default=None, description="Overrides of the project file for this session."
    )
    mode: SessionModeName = Field(default="ask", description="How much the session asks; see `GET /modes`.")
    workspace: WishedWorkspace = Field(
        default=None,
        description="Where the session works: `shared` is the project's folder, `worktree` its own clone. "
        "The project file has the default.",
    )

    def wished_workspace(self, default: WorkspaceKind) -> WorkspaceWish | None:
        """Return what folder of its own the session wants, or None; `default` is the project's."""
        wish = self.workspace or default
        wish = wish if isinstance(wish, WorkspaceWish) else WorkspaceWish(kind=wish)
        return wish if wish.kind != "shared" else None


class ChangeSession(RequestModel):
    """Omitted fields do not change."""

    model_config = ConfigDict(json_schema_extra={"example": {"title": "Fix the flaky tests"}})

    title: Title | None = None
    issue_number: int | None = Field(
        default=None, ge=1, le=2**31, description="The issue to work on; null unbinds the session."
    )

    model: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="An alias or `provider:model` for the next runs; null restores the agent's own model.",
    )

    mode: SessionModeName | None = Field(
        default=None, description="How much the session asks, from the next call on; see `GET /modes`."
    )

    seen_run_id: str | None = Field(
        default=None,
        max_length=64,
        description="The run of the root agent whose end you have seen: it leaves the inbox.",
    )

    @model_validator(mode="after")
    def _says_something(self) -> ChangeSession:
        always_set = {"title", "mode", "seen_run_id"}
        empty = any(getattr(self, name) is None for name in self.model_fields_set & always_set)
        if not self.model_fields_set or empty:
            raise ValueError("give one of title, issue_number, model, mode and seen_run_id, or several")
        return self

    def values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.model_fields_set}


class Tokens(AnswerModel):
    """Token counts; `input` excludes cached tokens, `output` includes `reasoning`."""

    input: int
    output: int
    reasoning: int
    cache_read: int
    cache_write: int
    total: int


class CostSplit(AnswerModel):
    """US dollars by spender: the sum of the calls with a known price, null when there is none. `incomplete`:
    the sum lacks calls whose price is unknown (their steps have no `cost`)."""

    primary: float | None
    compactor: float | None
    subagents: float | None
    total: float | None
    incomplete: bool


class ContextShares(AnswerModel):
    """What the tokens of a context are, together all of them. They are estimated by the text, and scaled to
    what the provider has counted."""

    system: int = Field(description="The system prompt.")
    tools: int = Field(description="The descriptions of tools.")
    messages: int = Field(description="What people, the agent and kaged have said, and the calls of tools.")
    results: int = Field(description="What tools have answered.")


class ContextUse(AnswerModel):
    """How full an agent's context was at its last model call. `window_assumed`: the window of the model is
    unknown, and `window` is the default that compaction assumes."""

    agent_path: str
    model: str
    tokens: int
    window: int
    window_assumed: bool
    fraction: float
    shares: ContextShares | None = Field(
        description="What the tokens are; null for a call that an earlier version of kaged made."
    )


class SessionAnswer(AnswerModel):
    id: str
    project_id: str
    title: str
    kind: str
    state: SessionStateName
    state_reason: str | None
    issue_number: int | None
    headless: bool
    mode: SessionModeName = Field(description="How much the session asks; see `GET /modes`.")
    workspace_id: str | None = Field(description="Its workspace; null when it works in the project's folder.")
    seen_run_id: str | None = Field(
        description="The newest run of the root agent whose end a person has seen; a later one is unread."
    )
    created_by: str
    context_overflow: bool
    created_at: Time
    updated_at: Time
    archived_at: Time | None


class LastRun(AnswerModel):
    """The newest run of a session's root agent."""

    id: str
    state: RunStateName
    reason: str | None = Field(description="Why it ended, for example `stop`, `error` or `stuck`.")

    @classmethod
    def of(cls, run: Run | None) -> LastRun | None:
        return None if run is None else cls.model_validate(run)


class ListedSession(SessionAnswer):
    pending_interactions: int = Field(default=0, description="The number of open questions.")
    last_run: LastRun | None = Field(default=None, description="The newest run of the root agent.")


class SessionDetail(SessionAnswer):
    overrides: dict[str, Any]
    tokens: Tokens
    cost_usd: CostSplit
    context: list[ContextUse]
    queued_messages: int
    pending_interactions: int = Field(description="The number of open questions.")
    last_run: LastRun | None = Field(description="The newest run of the root agent.")
    active_run: str | None = Field(
        description="The active run of the root agent, also while it waits for an answer or for capacity."
    )
    background_runs: list[str] = Field(
        description="Running subagents that no agent waits for. Cancelling the session ends them."
    )
    last_seq: int = Field(description="The newest durable event; connect with it as `after_seq`.")


class ImportedSessionDetail(SessionDetail):
    """An imported session, with warnings about its file."""

    warnings: list[str]
