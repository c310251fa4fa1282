"""`<plugin>.<tool>`: a tool of a plugin.

Owns: its declaration, requirements and answer. Never: calling the plugin, enabling the tool.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel, Field

from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    CapabilityRequirement,
    GivenParams,
    NetRequirement,
    Requirement,
    ToolDefinition,
    ToolResult,
)
from app.tools.contract.naming import is_tool_name

MAX_ANSWER_BYTES = 100_000
CallPlugin = Callable[[Mapping[str, Any]], Awaitable[Any]]


class PluginAnswer(ToolResult):
    """What the plugin answered: a text as `text`, any other value as `result`."""

    text: str | None = Field(default=None, description="The answer, when it is a text.")
    result: Any = Field(default=None, description="The answer, when it is any other JSON value.")


def plugin_tool(
    plugin: str,
    name: str,
    description: str,
    schema: Mapping[str, Any],
    requires: Iterable[tuple[str, str]],
    call: CallPlugin,
) -> ToolDefinition | None:
    """Return the tool `<plugin>.<name>`, or None when the name is too long for providers. `schema` is the
    JSON Schema of the parameters, `requires` are capabilities that the caller must have, as kind and text
    (`net`, `net:example.org:443`), and `call` asks the plugin."""
    full_name = f"{plugin}.{name}"
    if not is_tool_name(full_name):
        return None

    async def run(params: GivenParams, _context: ToolCallContext) -> BaseModel:
        answer = await call(params.given)
        return PluginAnswer(text=answer) if isinstance(answer, str) else PluginAnswer(result=answer)

    return ToolDefinition(
        name=full_name,
        title=f"{plugin}: {name.replace('_', ' ')}",
        description=description,
        parameters=GivenParams,
        schema=schema,
        result=PluginAnswer,
        run=run,
        acp_kind="other",
        requires=tuple(one for kind, text in requires for one in _requirement(kind, text)),
        source="plugin",
        body_field="text",
        max_output_bytes=MAX_ANSWER_BYTES,
    )


def _requirement(kind: str, text: str) -> tuple[Requirement, ...]:
    """What a capability of the plugin asks of the caller's cage. What the plugin keeps is its own affair;
    a host must be one that the cage allows; everything else the cage must name word for word."""
    if kind == "storage" or text == "net:[]":
        return ()
    host = text.removeprefix("net:")
    if kind == "net" and host != "*":
        return (NetRequirement(host.removesuffix(":*")),)
    return (CapabilityRequirement(text),)
