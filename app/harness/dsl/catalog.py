"""What the compiler needs to know about the tools of a daemon, and nothing more.

Owns: the `ToolCatalog` protocol. Never: the tools themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class ToolCatalog(Protocol):
    """The registered tools."""

    def actions(self) -> Mapping[str, tuple[str, ...]]:
        """Each tool's name to the full names of its actions (`kaged.issue.create`), often none.

        A dot alone says nothing: `edit.text` is no action of `edit`.
        """

    def principal_scope(self, name: str) -> str | None:
        """`root-only`, or None, for a tool or an action of it."""

    def root_default(self, name: str) -> bool:
        """Whether the root agent has this tool without asking for it."""

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Group name (with or without `@`) to the names of its tools."""
