"""A second tool over an implementation that is there already.

Owns: how a locked tool is made of a dotted one. Never: work of its own; so that both share what
has been read, locks, permissions and every fix.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Delegation, Effects, ToolDefinition, ToolParams, load_description

CONTRACT_BYTES = 200_000
"""What a locked tool shows at most, of texts."""

Expand = Callable[[Any], ToolParams]
Shorten = Callable[[Any, Any, ToolCallContext], BaseModel]


def twin(
    original: ToolDefinition,
    name: str,
    parameters: type[ToolParams],
    expand: Expand,
    shorten: Shorten | None = None,
) -> ToolDefinition:
    """Return the tool `name` that does what `original` does.

    `expand` makes the original's parameters of its own, and must not refuse what `parameters`
    accepts. `shorten` gets its parameters, the result and the context, off the event loop.
    """

    async def run(params: Any, context: ToolCallContext) -> BaseModel | Delegation:
        result = await original.run(expand(params), context)
        if shorten is None or isinstance(result, Delegation):
            return result
        return await asyncio.to_thread(shorten, params, result, context)

    def effects_of(params: Any) -> Effects:
        return original.effects(expand(params))

    return replace(
        original,
        name=name,
        description=load_description("app.tools.locked", f"{name}.md"),
        parameters=parameters,
        run=run,
        effects_of=effects_of,
        version="1",
    )
