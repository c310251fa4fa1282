"""Project references: an entry `{path: ...}` becomes the other project's primary agent.

Owns: finding the other project, cycles, overrides. Never: what an agent's keys mean. Works on nodes, so that
every value keeps its file, position and the root of its relative paths.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node
from app.harness.dsl.loader import ProjectLoader
from app.harness.dsl.overlay import merge, warn_of_idle_nulls
from app.harness.dsl.paths import PathProblem, contained, display_path, read_path
from app.harness.dsl.spec import MAX_AGENT_DEPTH, ProjectReference
from app.harness.dsl.validation import validate

MAX_AGENTS = 1000


@dataclass(frozen=True, slots=True)
class AgentNode:
    """One agent of the flattened tree, before it is validated."""

    key: str
    node: Node
    children: tuple[AgentNode, ...]
    name: str | None = None
    """Name that a reference gave it."""
    description: str | None = None
    """Description of the nested project, for an agent that has none of its own."""
    permissions: Node | None = None
    """Rules of the nested project as a whole, which hold for this agent and all below it."""


class Flattener:
    """Turns the node of a primary agent into a tree without references."""

    def __init__(
        self,
        loader: ProjectLoader,
        bag: DiagnosticBag,
        check_project: Callable[[Node], None],
        *,
        follow: bool = True,
    ) -> None:
        self._loader = loader
        self._bag = bag
        self._check_project = check_project
        self._follow = follow
        self._checked: set[Path] = set()
        self._agents = 0

    def flatten(self, primary: Node, project_root: Path) -> AgentNode:
        return AgentNode("primary", *self._agent(primary, (project_root,), level=1))

    def _agent(self, node: Node, chain: tuple[Path, ...], level: int) -> tuple[Node, tuple[AgentNode, ...]]:
        self._agents += 1
        subagents = node.get("subagents")
        if subagents is None or not node.is_map:
            return node, ()
        children = []
        for key, entry in subagents.entries.items():
            if self._too_deep(entry, level + 1) or self._too_many(entry):
                break
            child = self._entry(key, entry, chain, level + 1)
            if child is not None:
                children.append(child)
        return node, tuple(children)

    def _entry(self, key: str, entry: Node, chain: tuple[Path, ...], level: int) -> AgentNode | None:
        if entry.get("path") is None:
            return AgentNode(key, *self._agent(entry, chain, level))
        checked = validate(ProjectReference, entry, self._bag, stand_ins={"path": ""})
        overrides = self._overrides(entry)
        if checked is None or not checked.sound("path"):
            return None
        if not self._follow:
            message = "what is referred to is looked for in a loaded project only: name it with `project_id`"
            self._bag.error("reference_unchecked", message, entry.entries["path"].position)
            return None
        nested_root = self._nested_root(entry, chain)
        if nested_root is None:
            return None
        document = self._loader.load(nested_root).node
        if document is None:
            return None
        if nested_root not in self._checked:
            self._checked.add(nested_root)
            self._check_project(document)
        primary = document.get("primary")
        if primary is None or not primary.is_map:
            return None
        primary = lift_project_keys(primary, document, self._bag)
        if overrides is not None:
            warn_of_idle_nulls(primary, overrides, self._bag)
            primary = merge(primary, overrides)
        if (described := entry.get("description")) is not None:
            primary = primary.with_entries({**primary.entries, "description": described})
        own = document.get("description")
        node, children = self._agent(replace(primary, key=entry.key), (*chain, nested_root), level)
        described_by = own.text if own is not None else None
        return AgentNode(key, node, children, checked.model.name, described_by, document.get("permissions"))

    def _overrides(self, entry: Node) -> Node | None:
        """The overrides at the root and under `primary` as one map; a key in both is an error."""
        overrides = entry.get("overrides")
        if overrides is None or not overrides.is_map:
            return None
        described = entry.get("description")
        at_root = overrides.without("primary")
        under = overrides.get("primary")
        if under is not None and not under.is_map:
            self._bag.error("wrong_type", f"expected a map, found {under.kind}", under.position)
        nested = under.entries if under is not None else {}
        for name, node in nested.items():
            if name in at_root.entries:
                self._bag.error(
                    "override_conflict", f"`{name}` is overridden at the root of `overrides` too", node.key
                )
        merged = {**at_root.entries, **nested}
        if described is not None and "description" in merged:
            where = merged["description"].key
            self._bag.error("override_conflict", "`description` is given by the reference too", where)
        return overrides.with_entries(merged)

    def _nested_root(self, entry: Node, chain: tuple[Path, ...]) -> Path | None:
        path = entry.entries["path"]
        text = path.text or ""
        try:
            written = read_path(text, may_climb=True)
            nested = contained(written.under(path.position.source.project_root), self._loader.root)
        except PathProblem as problem:
            self._bag.error(problem.code, f"`{text}`: {problem.message}", path.position)
            return None
        if nested in chain:
            names = [self._name(root) for root in (*chain[chain.index(nested) :], nested)]
            whole = " -> ".join(names)
            self._bag.error("reference_cycle", f"projects refer to each other in a circle: {whole}", path.key)
            return None
        if not self._loader.exists(nested):
            self._loader.files[str(nested / ".kaged" / "project.yaml")] = None
            message = f"there is no project at `{text}` ({self._name(nested)}/.kaged/project.yaml)"
            self._bag.error("nested_project_missing", message, path.key)
            return None
        return nested

    def _name(self, root: Path) -> str:
        return display_path(root, self._loader.root)

    def _too_deep(self, entry: Node, level: int) -> bool:
        if level <= MAX_AGENT_DEPTH:
            return False
        self._bag.error("agent_depth", f"agents are nested at most {MAX_AGENT_DEPTH} levels deep", entry.key)
        return True

    def _too_many(self, entry: Node) -> bool:
        if self._agents < MAX_AGENTS:
            return False
        self._bag.error("too_many_agents", f"a project has at most {MAX_AGENTS} agents", entry.key)
        return True


def lift_project_keys(primary: Node, document: Node, bag: DiagnosticBag) -> Node:
    """Give a primary agent what its project says for it: root `plugins`."""
    shorthand = document.get("plugins")
    if shorthand is None or not shorthand.is_map:
        return primary
    own = primary.get("plugins")
    if own is None:
        return primary.with_entries({**primary.entries, "plugins": shorthand})
    for name, node in shorthand.entries.items():
        if name in own.entries:
            bag.error("plugin_conflict", f"plugin `{name}` stands under `primary.plugins` too", node.key)
    if not own.is_map:
        return primary
    joined = own.with_entries({**shorthand.entries, **own.entries})
    return primary.with_entries({**primary.entries, "plugins": joined})
