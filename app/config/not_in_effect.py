"""Settings that are checked and not acted on: what they are for comes with a later version.

Owns: the list, so that the daemon can say so instead of seeming to obey. It gets shorter with every
subsystem that is added, and is empty at the end.
"""

from __future__ import annotations

from app.config.settings import Settings


def settings_not_in_effect(settings: Settings) -> dict[str, str]:
    """Return key to consequence, for each setting that an operator has made in vain so far."""
    found: dict[str, str] = {}
    found |= {f"mcp.{name}": "no MCP server is started yet" for name in settings.mcp}
    if settings.search.provider is not None:
        found["search.provider"] = "there is no tool that searches the web yet"
    return found
