"""The first layer: tools that are kept for the root agent.

Owns: the check of a tool's principal scope at every call. The compiler refuses such a project
already; this holds also when it should not. Never: which tools an agent has.
"""

from __future__ import annotations

from app.errors import ToolError
from app.tools.contract.call import ROOT_AGENT, ToolCallContext
from app.tools.contract.definition import ToolDefinition


def check_principal(definition: ToolDefinition, context: ToolCallContext) -> None:
    """Raise ToolError `principal_scope_violation` when the caller may not use this tool at all."""
    if definition.principal_scope == "root-only" and not context.is_root_agent:
        raise ToolError(
            "principal_scope_violation",
            f"{definition.name} is reserved for the root agent ({ROOT_AGENT}); ask it to make this call",
            detail={
                "needed": f"to be the root agent ({ROOT_AGENT})",
                "principal_scope": "root-only",
                "caller": context.agent_path,
            },
        )
