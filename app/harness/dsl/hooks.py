"""Compiling the hooks of a project file: their names, cages and matchers.

Owns: what needs more than the shape of one hook. Never: running a hook.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.harness.dsl.cage_scope import rebase_cage
from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node
from app.harness.dsl.spec_cage import CageSpec
from app.harness.dsl.spec_hooks import HOOK_EVENTS, HookSpec, HooksSection


def compile_hooks(section: HooksSection, node: Node | None, root: Path, bag: DiagnosticBag) -> HooksSection:
    """Return the hooks with the paths of their cages relative to `root`; report names that stand twice."""
    if node is None:
        return section
    _check_names(node, bag)
    compiled: dict[str, Any] = {
        event: [
            _compiled(spec, found, root, bag)
            for spec, found in zip(getattr(section, event), node.list_at(event), strict=False)
        ]
        for event in HOOK_EVENTS
    }
    return section.model_copy(update=compiled)


def hooks_of(document: Node) -> Iterator[Node]:
    """Yield the entries of a document's hooks, in the order of the events."""
    for event in HOOK_EVENTS:
        yield from document.list_at("hooks", event)


def _compiled(spec: HookSpec, node: Node, root: Path, bag: DiagnosticBag) -> HookSpec:
    block = node.get("cage")
    if not isinstance(spec.cage, CageSpec) or block is None:
        return spec
    return spec.model_copy(update={"cage": rebase_cage(spec.cage, block, root, bag)})


def _check_names(node: Node, bag: DiagnosticBag) -> None:
    seen: dict[str, int] = {}
    for event in HOOK_EVENTS:
        for hook in node.list_at(event):
            name = hook.get("name")
            if name is None or name.text is None:
                continue
            if name.text in seen:
                message = f"two hooks are called `{name.text}`; the first is in line {seen[name.text]}"
                bag.error("duplicate_entry", message, name.position)
            seen.setdefault(name.text, name.position.line)
