"""Why an MCP server cannot be used now.

Owns: the exceptions of this bridge. Never: what tools answer.
"""

from __future__ import annotations

from app.bridges.processes.child import ChildEnded
from app.errors import Failure, ToolError


class ServerEnded(ChildEnded):
    """A server could not be started or reached, or has ended; `reason` says why, in words."""


class ServerUnavailable(Failure):
    """A server that cannot be used now. `error` is the answer of its tools, when it has one of its own."""

    def __init__(self, reason: str, error: ToolError | None = None) -> None:
        super().__init__(reason)
        self.error = error


class ServerRefused(ServerUnavailable):
    """A server that gets no place to run. A retry would not help."""


class BadAnswer(Failure):
    """An error as answer, or an answer that cannot be used; `reason` says why."""


def unavailable(name: str, reason: str, error: ToolError | None = None) -> ToolError:
    """Return the error of a call to a server that is not there."""
    if error is not None:
        return ToolError(error.code, error.message, detail=error.detail)
    message = f"mcp server {name} is unavailable: {reason}"
    return ToolError("mcp_unavailable", message[:1_000], detail={"server": name})
