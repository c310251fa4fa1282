"""`task`: calls a subagent by the portable name.

Owns: the tool's parameters, and finding the subagent. Never: running it: the call goes to `agent-<key>`, with
its permissions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import BaseModel, Field

from app.errors import ToolError
from app.tools.agents.definition import ChildParams, agent_tool_name
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Boolean, Delegation, ToolDefinition, ToolParams, load_description
from app.tools.contract.ports import ChildAnswer, ChildPlace

MAX_PROMPT_CHARACTERS = 200_000


class TaskParams(ToolParams):
    agent: str = Field(min_length=1, max_length=64, description="The subagent, without `agent-`.")
    prompt: str = Field(
        min_length=1, max_length=MAX_PROMPT_CHARACTERS, description="What is to be done, in full."
    )
    background: Boolean = Field(default=False, description="Do not wait; the answer comes as a message.")
    workspace: ChildPlace | None = Field(
        default=None,
        description="Where it works: `shared` (in your folder) or `worktree` (in a copy of your folder). "
        "Default: as the subagent is defined.",
    )


def task() -> ToolDefinition:
    async def run(params: TaskParams, context: ToolCallContext) -> BaseModel | Delegation:
        children = context.ports.children()
        key = params.agent if params.agent in children else params.agent.removeprefix("agent-")
        if key not in children:
            known = ", ".join(children) or "none"
            raise ToolError("agent_not_found", f"There is no subagent {params.agent!r}. Subagents: {known}.")
        return Delegation(
            tool=agent_tool_name(key),
            arguments=_input(params.prompt, children[key]),
            finish=_as_it_is,
            explain=_as_said,
            adjust=lambda given: _placed(given, params),
        )

    return ToolDefinition(
        name="task",
        title="Give a task to a subagent",
        description=load_description("app.tools.locked", "task.md"),
        parameters=TaskParams,
        result=ChildAnswer,
        run=run,
        acp_kind="other",
        body_field="message",
    )


def _input(prompt: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the prompt as the subagent's input: its one text, or the JSON object that it takes."""
    texts = [name for name, one in schema.get("properties", {}).items() if one == {**one, "type": "string"}]
    required = schema.get("required", [])
    try:
        given = orjson.loads(prompt)
    except ValueError:
        given = None
    if isinstance(given, dict) and set(required) <= set(given):
        return given
    if len(texts) == 1 and set(required) <= set(texts):
        return {texts[0]: prompt}
    return {"task": prompt}


def _placed(given: ChildParams, params: TaskParams) -> ChildParams:
    return given.model_copy(update={"background": params.background, "workspace": params.workspace})


def _as_it_is(answer: BaseModel) -> BaseModel:
    return answer


def _as_said(error: ToolError) -> ToolError:
    return error
