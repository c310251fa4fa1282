"""Why an MCP server cannot be used now.

Owns: the exceptions of this bridge. Never: what tools answer.
"""

from __future__ import annotations

from app.bridges.processes.child import ChildEnded
from app.bridges.processes.supervised_child import NeedsOperator
from app.errors import Failure, ToolError


class ServerEnded(ChildEnded):
    """A server could not be started or reached, or has ended; `reason` says why, in words."""


class SignInNeeded(NeedsOperator):
    """A server that asks for a sign-in, which only an operator can make."""

    event = "sign_in_needed"

    def __init__(self, name: str) -> None:
        super().__init__(f"it needs a sign-in; the operator makes it with `kaged mcp login {name}`")


class BadAnswer(Failure):
    """An error as answer, or an answer that cannot be used; `reason` says why."""


def unavailable(name: str, reason: str, error: ToolError | None = None) -> ToolError:
    """Return the error of a call to a server that is not there."""
    if error is not None:
        return ToolError(error.code, error.message, detail=error.detail)
    message = f"mcp server {name} is unavailable: {reason}"
    return ToolError("mcp_unavailable", message[:1_000], detail={"server": name})
