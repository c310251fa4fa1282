"""Warnings about what a project file asks for and this version checks, but does not do yet.

Owns: the keys whose silence would mislead: bounds and limits that an author relies on. Never: sections
that plainly do nothing without their subsystem (workflows, plugins). Gone once all of them are applied.
"""

from __future__ import annotations

from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node


def warn_of_what_has_no_effect(document: Node, bag: DiagnosticBag) -> None:
    """Warn about the root agent's own keys; only the root agent runs so far."""
    primary = document.get("primary")
    if primary is None:
        return
    shown = primary.get("include_tool_results_in_context")
    if shown is not None and shown.value is False:
        bag.warning(
            "not_in_effect", "tool results cannot be left out yet: the model sees them all", shown.key
        )
    for name in ("tools", "tool_overrides"):
        tools = primary.get(name)
        for entry in tools.entries.values() if tools is not None and tools.is_map else ():
            limits = entry.get("limits") if entry.is_map else None
            if limits is not None:
                bag.warning("not_in_effect", "the limits of a single tool are not applied yet", limits.key)
