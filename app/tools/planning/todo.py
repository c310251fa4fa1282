"""`kaged.todo`: the checklist of the session's issue.

Owns: the tool's parameters and result, the interface to the daemon. Never: the list and its rules (the
harness).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Protocol, get_args

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from app.errors import ToolError, invalid_params
from app.messages import Frozen
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    Effects,
    ToolDefinition,
    ToolParams,
    ToolResult,
    WholeText,
    load_description,
)

TodoAction = Literal["view", "set", "add", "start", "done", "drop", "note"]
TodoKind = Literal["step", "criterion"]
TodoStatus = Literal["pending", "in_progress", "completed", "abandoned"]

NAME = "kaged.todo"
ACTIONS: tuple[TodoAction, ...] = get_args(TodoAction)
MAX_ITEMS = 100
MAX_CHARACTERS = 2_000
MAX_PHASE_CHARACTERS = 100

_Text = Annotated[WholeText, Field(max_length=MAX_CHARACTERS)]
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "set": ("items",),
    "add": ("items",),
    "start": ("content",),
    "done": ("content",),
    "drop": ("content",),
    "note": ("content", "text"),
}
_WHAT = {
    "items": "the texts of the tasks",
    "content": "the full text of the task",
    "text": "the note itself",
}


class TodoParams(ToolParams):
    action: TodoAction = Field(
        description="view: return the list. set: replace it by items. add: append items. start: put a task "
        "in progress; another one that was goes back to pending. done: mark a task completed. drop: abandon "
        "a task. note: append a note to a task."
    )
    content: _Text | None = Field(
        default=None,
        description="start, done, drop, note: the task, by its text, or a part of it that no other has.",
    )
    items: Annotated[list[_Text], Field(max_length=MAX_ITEMS)] | None = Field(
        default=None, description="set, add: the texts of the tasks."
    )
    phase: Annotated[WholeText, Field(max_length=MAX_PHASE_CHARACTERS)] | None = Field(
        default=None, description="set, add: the stage of the work that the tasks belong to."
    )
    kind: TodoKind = Field(
        default="step", description="set, add: step of the plan, or criterion that the operator signs off."
    )
    text: _Text | None = Field(default=None, description="note: what to remember.")


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


class TodoResult(ToolResult):
    todos: list[TodoEntry] = Field(description="The list as it is now, in its order.")
    left_out: int | None = Field(
        default=None, description="How many of the oldest abandoned tasks are not shown."
    )
    markdown: str = Field(description="The same list to read; notes stand below the task in progress.")


class IssueTodos(Protocol):
    """The checklists of issues, for the agents of the sessions that are bound to them."""

    async def carry_out(self, command: TodoParams, context: ToolCallContext) -> TodoResult:
        """Do the action on the checklist of the issue bound to the caller's session, and return the new list.
        Raises ToolError `no_bound_issue`, `todo_not_found`, `content_addressing_hint`, `ambiguous_todo`,
        `invalid_transition` or `invalid_params`."""


def build(todos: IssueTodos | None) -> ToolDefinition:
    """Return the tool. Without `todos` every call answers `unavailable`."""

    async def run(params: TodoParams, context: ToolCallContext) -> TodoResult:
        _check(params)
        if todos is None:
            raise ToolError("unavailable", f"{NAME} works only inside the daemon.")
        return await todos.carry_out(params, context)

    return ToolDefinition(
        name=NAME,
        title="Work through the issue's checklist",
        description=load_description("app.tools.planning", "todo.md"),
        parameters=TodoParams,
        result=TodoResult,
        run=run,
        acp_kind="think",
        actions=ACTIONS,
        audits_itself=True,
        principal_scope="root-only",
        root_default=True,
        # Two commands of one step have to be carried out in the order in which they were given.
        effects_of=lambda params: Effects(exclusive=params.action != "view"),
        body_field="markdown",
    )


def _check(params: TodoParams) -> None:
    """Raise ToolError `invalid_params` when something is missing that the action needs."""
    missing = [name for name in _REQUIRED.get(params.action, ()) if not _given(getattr(params, name))]
    if missing:
        names = ", ".join(f"{name} ({_WHAT[name]})" for name in missing)
        fields = dict.fromkeys(missing, f"is required for {params.action}")
        raise invalid_params(f"{NAME}: {params.action} needs {names}.", fields)


def _given(value: str | list[str] | None) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value is not None
