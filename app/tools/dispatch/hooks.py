"""What the dispatch of a call asks of hooks: commands that may refuse it, or add to its answer.

Owns: the interface that the harness implements. Never: running a hook.
"""

from __future__ import annotations

from typing import Protocol

from pydantic import BaseModel

from app.tools.contract.call import ToolCallContext, ToolEnvelope
from app.tools.contract.definition import Effects, ToolDefinition


class CallHooks(Protocol):
    """The hooks of one call."""

    async def before(
        self,
        definition: ToolDefinition,
        tools: tuple[str, ...],
        effects: Effects,
        params: BaseModel,
        context: ToolCallContext,
    ) -> None:
        """Run the hooks for a permitted use of a tool, each once in a call. `tools` are the names that rules
        apply to. Raises ToolError `hook_denied`."""

    async def after(self, envelope: ToolEnvelope) -> ToolEnvelope:
        """Return the answer of a call that ran with what hooks add to it. Raises nothing but a
        cancellation."""


class Hooks(Protocol):
    """All hooks of the daemon, as tool calls see them."""

    def of_call(self, context: ToolCallContext) -> CallHooks | None:
        """Return the hooks of a call, None where none is for it."""
