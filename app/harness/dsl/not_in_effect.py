"""Warnings about what a project file asks for and this version checks, but does not do yet.

Owns: the keys whose silence would mislead: bounds and limits that an author relies on. Never: sections
that plainly do nothing without their subsystem (tasks, skills). Gone once all of them are applied.
"""

from __future__ import annotations

from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node


def warn_of_what_has_no_effect(document: Node, bag: DiagnosticBag) -> None:
    """Warn about the keys of the root agent and of those below it that are written in this file."""
    primary = document.get("primary")
    left = [primary] if primary is not None else []
    while left:
        agent = left.pop(0)
        for name in ("tools", "tool_overrides"):
            tools = agent.get(name)
            for entry in tools.entries.values() if tools is not None and tools.is_map else ():
                limits = entry.get("limits") if entry.is_map else None
                if limits is not None:
                    bag.warning(
                        "not_in_effect", "the limits of a single tool are not applied yet", limits.key
                    )
        below = agent.get("subagents")
        if below is not None and below.is_map:
            left += [child for child in below.entries.values() if child.is_map]
