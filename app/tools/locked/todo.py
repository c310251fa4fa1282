"""`todo`: the list of what the agents of a session mean to do.

Owns: the tool's parameters and result. Never: keeping the list; the harness does.
"""

from __future__ import annotations

from pydantic import Field

from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Effects, ToolDefinition, ToolParams, ToolResult, load_description
from app.tools.contract.ports import MAX_TODO_CHARACTERS, MAX_TODOS, TodoItem, TodoState


class Todo(ToolParams):
    content: str = Field(
        min_length=1, max_length=MAX_TODO_CHARACTERS, description="What is to be done, in one sentence."
    )
    status: TodoState = Field(description="pending, in_progress or completed.")


class TodoParams(ToolParams):
    todos: list[Todo] | None = Field(
        default=None,
        max_length=MAX_TODOS,
        description="The whole list, in place of the one before. Left out, the list is only shown.",
    )


class TodoResult(ToolResult):
    todos: list[Todo] = Field(description="The list as it is now.")


def todo() -> ToolDefinition:
    async def run(params: TodoParams, context: ToolCallContext) -> TodoResult:
        if params.todos is not None:
            await context.ports.replace_todos([TodoItem(one.content, one.status) for one in params.todos])
        kept = await context.ports.todos()
        return TodoResult(todos=[Todo(content=one.content, status=one.status) for one in kept])

    return ToolDefinition(
        name="todo",
        title="Keep a todo list",
        description=load_description("app.tools.locked", "todo.md"),
        parameters=TodoParams,
        result=TodoResult,
        run=run,
        acp_kind="think",
        # Of two lists in one step the one that was asked for last has to stay.
        effects_of=lambda params: Effects(exclusive=params.todos is not None),
    )
