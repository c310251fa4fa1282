"""What the compiler needs to know about the tools of a daemon, and nothing more.

Owns: the `ToolCatalog` protocol and the split of its names into tools and actions. Never: the tools
themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class ToolCatalog(Protocol):
    """The registered tools. `names` lists tools and, for tools with actions, every `tool.action`."""

    def names(self) -> tuple[str, ...]: ...

    def principal_scope(self, name: str) -> str | None:
        """`root-only`, or None, for a tool or an action of it."""

    def root_default(self, name: str) -> bool:
        """Whether the root agent has this tool without asking for it."""

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Group name (with or without `@`) to the names of its tools."""


def split_actions(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Map each tool to its full action names, in the order given.

    A name is an action when what stands before its last dot is itself a registered name:
    `kaged.issue.create` belongs to `kaged.issue`, while `kaged.workflow.list` is a tool of its own.
    """
    known = tuple(dict.fromkeys(names))
    present = set(known)
    tools: dict[str, list[str]] = {}
    for name in known:
        owner, dot, _ = name.rpartition(".")
        if dot and owner in present:
            tools.setdefault(owner, []).append(name)
        else:
            tools.setdefault(name, [])
    return {tool: tuple(actions) for tool, actions in tools.items()}
