"""What the tools of project management ask of the daemon.

Owns: the protocols, and the shapes that cross them. Never: an implementation; the harness has those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from app.messages import Frozen
from app.tools.contract.call import ToolCallContext

TodoAction = Literal["view", "set", "add", "start", "done", "drop", "note"]
TodoKind = Literal["step", "criterion"]
TodoStatus = Literal["pending", "in_progress", "completed", "abandoned"]


@dataclass(frozen=True, slots=True)
class TodoCommand:
    """One action of `kaged.todo`; each action needs only some of the fields."""

    action: TodoAction
    content: str = ""
    items: Sequence[str] = ()
    phase: str | None = None
    kind: TodoKind = "step"
    text: str = ""


class TodoEntry(Frozen):
    """One entry of an issue's checklist as an agent reads it. `phase` is there also when it is null."""

    id: str
    content: str
    status: TodoStatus
    kind: TodoKind
    phase: str | None
    position: int
    completed_at: int | None = Field(default=None, description="Seconds since the epoch.")
    accepted: bool | None = Field(
        default=None, description="Of criteria: whether the operator has signed off."
    )
    origin_agent: str | None = Field(default=None, description="The subagent that proposed it.")
    notes: list[str] | None = None

    @model_serializer(mode="wrap")
    def _with_phase(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # noqa: ANN202
        # Without a declared type here, so that the schema stays that of the fields.
        return {**handler(self), "phase": self.phase}


@dataclass(frozen=True, slots=True)
class TodoListing:
    """A checklist in its order. `left_out` counts the oldest abandoned entries that are not in it."""

    entries: tuple[TodoEntry, ...]
    markdown: str
    left_out: int = 0


class IssueTodos(Protocol):
    """The checklists of issues, as the agents of sessions that are bound to one work with them."""

    async def carry_out(self, command: TodoCommand, context: ToolCallContext) -> TodoListing:
        """Do what the command says on the list of the issue that the caller's session is bound to, and
        return the list as it is then.

        Raises ToolError `no_bound_issue`, `todo_not_found`, `content_addressing_hint`, `ambiguous_todo`,
        `invalid_transition` or `invalid_params`."""


RunStatus = Literal["queued", "running", "succeeded", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class WorkflowFacts:
    """A workflow as an agent reads it; `inputs` are what each input declares, by name."""

    name: str
    description: str
    inputs: Mapping[str, dict[str, Any]]
    invokable_by: Sequence[str]
    timeout_seconds: int
    schedule: str | None


@dataclass(frozen=True, slots=True)
class WorkflowRunFacts:
    """A run of a workflow. `created_at` and `completed_at` are seconds since the epoch, `duration_ms` goes
    from its beginning to its end, `error` is a code and a message, `cost_usd` is None when not known."""

    run_id: str
    workflow_name: str
    status: RunStatus
    inputs: Mapping[str, Any]
    created_at: int
    completed_at: int | None
    duration_ms: int | None
    output: str | None
    error: tuple[str, str] | None
    cost_usd: float | None


class Workflows(Protocol):
    """The workflows of the caller's project. Every method may raise ToolError."""

    async def workflows(self, context: ToolCallContext, invokable_by: str | None) -> Sequence[WorkflowFacts]:
        """Return the workflows, those that such callers may start when it is given."""

    async def trigger(
        self, name: str, inputs: Mapping[str, Any], context: ToolCallContext
    ) -> WorkflowRunFacts:
        """Start a run and return at once. Raises ToolError `workflow_not_found`, `invalid_params` (with
        `fields`), `file_input_not_supported`, `not_invokable`, `queue_full` or `workflow_too_deep`."""

    async def status(self, run_id: str, context: ToolCallContext) -> WorkflowRunFacts:
        """Return a run of the project. Raises ToolError `run_not_found`."""
