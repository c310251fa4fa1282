"""`kaged.todo`: the checklist of the issue that the session works on.

Owns: the tool's parameters, which of them each action needs, and its result. Never: the list or its rules;
the harness keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import Field

from app.errors import RPC_INVALID_PARAMS, ToolError
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    Effects,
    ToolDefinition,
    ToolParams,
    ToolResult,
    WholeText,
    load_description,
)
from app.tools.planning.ports import IssueTodos, TodoAction, TodoCommand, TodoEntry, TodoKind

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


class TodoResult(ToolResult):
    todos: list[TodoEntry] = Field(description="The list as it is now, in its order.")
    left_out: int | None = Field(
        default=None, description="How many of the oldest abandoned tasks are not shown."
    )
    markdown: str = Field(description="The same list to read; notes stand below the task in progress.")


def build(todos: IssueTodos | None) -> ToolDefinition:
    """Return the tool. Without `todos` it exists, for who only asks what tools there are, and every call
    answers `unavailable`."""

    async def run(params: TodoParams, context: ToolCallContext) -> TodoResult:
        _check(params)
        if todos is None:
            raise ToolError("unavailable", f"{NAME} works only inside the daemon.")
        command = TodoCommand(
            action=params.action,
            content=params.content or "",
            items=params.items or (),
            phase=params.phase,
            kind=params.kind,
            text=params.text or "",
        )
        listing = await todos.carry_out(command, context)
        return TodoResult(
            todos=list(listing.entries), left_out=listing.left_out or None, markdown=listing.markdown
        )

    return ToolDefinition(
        name=NAME,
        title="Work through the issue's checklist",
        description=load_description("app.tools.planning", "todo.md"),
        parameters=TodoParams,
        result=TodoResult,
        run=run,
        acp_kind="think",
        actions=ACTIONS,
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
        raise ToolError(
            "invalid_params",
            f"{NAME}: {params.action} needs {names}.",
            detail={"fields": dict.fromkeys(missing, f"is required for {params.action}")},
            rpc_code=RPC_INVALID_PARAMS,
        )


def _given(value: str | list[str] | None) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value is not None
