"""The bounds that the project file sets for one tool of one agent: calls, seconds, bytes for the model.

Owns: holding a model's call within them. Never: the limits of a run (`limits`), or an operator's own calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from app.errors import ToolError
from app.harness.dsl.spec import ToolLimits
from app.harness.hooks.plugin_tools import override_of
from app.harness.run.run_context import RunContext
from app.tools.contract.call import ToolCallContext, ToolEnvelope
from app.tools.dispatch.model_view import MODEL_BYTES, for_model
from app.tools.dispatch.service import ToolService

_NONE = ToolLimits()


def limits_of_tool(run: RunContext, name: str, arguments: Mapping[str, Any] | str) -> ToolLimits:
    """Return the limits of a call: those of its action where these are set, else the tool's."""
    tool = run.scope.agent.tools.get(name)
    if tool is None:
        plugins = override_of(run.scope.agent, name)
        return (plugins.limits if plugins is not None else None) or _NONE
    action = _limited_action(run, name, arguments)
    return (tool.actions[action].limits if action is not None else tool.limits) or _NONE


def _limited_action(run: RunContext, name: str, arguments: Mapping[str, Any] | str) -> str | None:
    """Return the action of a call, where it has limits that are not its tool's."""
    tool = run.scope.agent.tools.get(name)
    action = arguments.get("action") if isinstance(arguments, Mapping) else None
    own = tool.actions.get(action) if tool is not None and isinstance(action, str) else None
    return action if tool is not None and own is not None and own.limits != tool.limits else None


async def call_within_limits(
    run: RunContext,
    service: ToolService,
    name: str,
    arguments: Mapping[str, Any] | str,
    context: ToolCallContext,
    waits_for_person: Callable[[], bool],
) -> ToolEnvelope:
    """Call a tool for a model. What the limits refuse is an answer with the code `tool_limit_reached` or
    `timed_out`. While a person is asked, no time passes."""
    limits = limits_of_tool(run, name, arguments)
    counted = f"{name}.{action}" if (action := _limited_action(run, name, arguments)) else name
    used = run.meter.tool_uses.get(counted, 0)
    if limits.max_calls is not None and used >= limits.max_calls:
        return _refused(
            "tool_limit_reached",
            f"{counted} was called {used} times in this run, which is all that this agent may "
            "(limits.max_calls of the project file). Go on without it.",
        )
    run.meter.tool_uses[counted] = used + 1
    call = service.call(name, arguments, context, allowed=run.plan.allowed_tools, own=run.plan.extra_tools)
    envelope = await _in_time(call, name, limits.timeout_seconds, waits_for_person)
    return await for_model(envelope, name, context, limits.max_output_bytes or MODEL_BYTES)


async def _in_time(
    call: Any, name: str, seconds: float | None, waits_for_person: Callable[[], bool]
) -> ToolEnvelope:
    if seconds is None:
        return await _envelope(call)
    task: asyncio.Task[ToolEnvelope] = asyncio.ensure_future(_envelope(call))
    try:
        while not (await asyncio.wait({task}, timeout=seconds))[0]:
            if not waits_for_person():
                return _refused(
                    "timed_out",
                    f"{name} was stopped after {seconds:g} seconds (limits.timeout_seconds of the project "
                    "file); it may have partly run. Ask for less at once.",
                )
        return task.result()
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _envelope(call: Any) -> ToolEnvelope:
    found: ToolEnvelope = await call
    return found


def _refused(code: str, message: str) -> ToolEnvelope:
    return ToolEnvelope.of_error(ToolError(code, message))
