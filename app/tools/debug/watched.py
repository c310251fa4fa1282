"""Expressions that each stop of an agent's programs shows.

Owns: their values at a stop. Never: keeping the lists, or evaluating what `evaluate` refuses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from app.errors import ToolError
from app.tools.debug.call import DebugCall
from app.tools.debug.evaluation import value_of
from app.tools.debug.results import Watched
from app.tools.processes.foreign_text import one_line

SECONDS = 5.0
MAX_VALUE = 300


async def watched(call: DebugCall, frame: dict[str, Any] | None) -> list[Watched] | None:
    """Return the values of the agent's watch list in a frame; None without a list."""
    expressions = call.tooling.watches.of(call.owner.key)
    if not expressions or frame is None or type(frame.get("id")) is not int:
        return None
    return await values_of(call, frame, expressions)


async def values_of(call: DebugCall, frame: dict[str, Any], expressions: Sequence[str]) -> list[Watched]:
    """Return what expressions are worth in a frame, each with its value or the reason that it has none."""
    found: list[Watched] = []
    deadline = asyncio.get_running_loop().time() + SECONDS
    for expression in expressions:
        try:
            async with asyncio.timeout_at(deadline):
                answer = await value_of(call, frame, expression)
        except TimeoutError:
            found.append(Watched(expression=expression, error="it took too long"))
        except ToolError as problem:
            found.append(Watched(expression=expression, error=one_line(problem.message, MAX_VALUE)))
        else:
            found.append(Watched(expression=expression, value=one_line(answer.get("result"), MAX_VALUE)))
    return found
