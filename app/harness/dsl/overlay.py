"""Laying one document over another: `project.local.yaml`, and what a parent injects into a nested project.

Owns: the merge: maps deeply, lists and scalars replace, `null` removes, or warns where it removes nothing.
Never: reading files. Every node keeps the position where it was written.
"""

from __future__ import annotations

from dataclasses import replace

from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node, Position
from app.nearest_names import did_you_mean


def merge(below: Node | None, above: Node) -> Node:
    """Return `above` laid over `below`."""
    if not above.is_map:
        return above
    if below is None or not below.is_map:
        return _without_nulls(above)
    entries = dict(below.entries)
    removed: dict[str, Position] = dict(below.removed)
    for name, node in above.entries.items():
        if node.value is None:
            entries.pop(name, None)
            removed[name] = node.position
        else:
            entries[name] = merge(entries.get(name), node)
            removed.pop(name, None)
    return replace(below, value=entries, removed=removed)


def warn_of_idle_nulls(below: Node | None, above: Node, bag: DiagnosticBag) -> None:
    """Warn of each `null` in `above` that removes nothing from `below`: what it was to take away stays."""
    there = below.entries if below is not None else {}
    for name, node in above.entries.items():
        if node.value is not None:
            warn_of_idle_nulls(there.get(name), node, bag)
        elif name not in there:
            hint = did_you_mean(name, there)
            if not hint and above.position.path[-1:] == ("tools",):
                hint = "; to turn a tool off write `{ enabled: false }`"
            bag.warning(
                "overlay_idle", f"`{name}` is not there, so that `null` removes nothing{hint}", node.key
            )


def _without_nulls(node: Node) -> Node:
    """A map that has nothing below it: a `null` in it still removes, so nothing is left of it."""
    if not node.is_map:
        return node
    kept = {name: _without_nulls(child) for name, child in node.entries.items() if child.value is not None}
    removed = {name: child.position for name, child in node.entries.items() if child.value is None}
    return replace(node, value=kept, removed=removed)
