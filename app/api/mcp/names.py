"""Names that the MCP server of the daemon and its bridge over standard input have in common."""

from __future__ import annotations

PATH = "/mcp"
SESSION = "session"
"""The parameter of tools, and the part of the address, that holds a handle."""
NEW_SESSION_TOOLS = frozenset({"open_session", "ask_agent"})
"""The tools that begin a session of their own without a handle."""
