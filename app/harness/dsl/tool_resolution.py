"""Which tools an agent has, and why.

Owns: which entry wins, weakest first: nothing, the root agent's default, `@group`, globs (longer ones later),
a tool, an action. Never: running a tool, or knowing one by name (`ToolCatalog`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from app.harness.dsl.compiled import ResolvedAction, ResolvedTool
from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node
from app.harness.dsl.spec import ToolLimits, ToolOverride
from app.ids import ROOT_AGENT
from app.nearest_names import did_you_mean
from app.workspace.globs import text_matches


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


ROOT_ONLY = "root-only"
_WILDCARDS = frozenset("*?[")


def is_glob(pattern: str) -> bool:
    return any(character in _WILDCARDS for character in pattern)


def server_prefix(pattern: str) -> str | None:
    """Return what stands before the first wildcard when it has the shape of an MCP tool's beginning."""
    end = next((place for place, one in enumerate(pattern) if one in _WILDCARDS), len(pattern))
    start = pattern[:end]
    return start if "_" in start and "." not in start and start[:1].isalpha() else None


@dataclass(frozen=True, slots=True)
class _Roles:
    """What an agent is, as far as it has tools by that: the root agent, and what it has `also`."""

    is_root: bool
    also: Collection[str]


class ToolResolver:
    """Resolves patterns against one catalog. `servers` are the names of the known MCP servers."""

    def __init__(self, catalog: ToolCatalog, servers: Collection[str] = ()) -> None:
        self._servers = tuple(f"{name}_" for name in servers)
        self.tools: Mapping[str, tuple[str, ...]] = catalog.actions()
        self._groups = {name.removeprefix("@"): members for name, members in catalog.groups().items()}
        self._owner = {action: tool for tool, actions in self.tools.items() for action in actions}
        names = (*self.tools, *self._owner)
        self._root_only = {name for name in names if catalog.principal_scope(name) == ROOT_ONLY}
        self._root_defaults = {name for name in names if catalog.root_default(name)}
        self._matches: dict[str, tuple[str, ...]] = {}

    def match(self, pattern: str) -> tuple[str, ...]:
        """The tools and actions (full names) that a pattern stands for; empty when it matches nothing."""
        if pattern not in self._matches:
            self._matches[pattern] = self._match(pattern)
        return self._matches[pattern]

    def _match(self, pattern: str) -> tuple[str, ...]:
        if pattern.startswith("@"):
            members = self._groups.get(pattern[1:], ())
            return tuple(name for name in members if name in self.tools or name in self._owner)
        if not is_glob(pattern):
            return (pattern,) if pattern in self.tools or pattern in self._owner else ()
        family = pattern.removesuffix(".*")  # `kaged.issue.*` means the tool as well as its actions
        owner = family if self.tools.get(family) else None
        return tuple(
            name for name in (*self.tools, *self._owner) if text_matches(name, pattern) or name == owner
        )

    def resolve(
        self, overrides: Mapping[str, ToolOverride], *, is_root: bool, also: Collection[str] = ()
    ) -> dict[str, ResolvedTool]:
        """The state of every tool of the catalog for one agent, which has the tools in `also` without asking
        for them."""
        roles = _Roles(is_root, also)
        ordered = sorted(overrides.items(), key=lambda item: self._rank(item[0]))
        hits = [(pattern, override, frozenset(self.match(pattern))) for pattern, override in ordered]
        result = {}
        for tool, actions in self.tools.items():
            own = [(pattern, override) for pattern, override, matched in hits if tool in matched]
            description = next((o.description for _, o in reversed(own) if o.description is not None), None)
            limits = _merged(override for _, override in own)
            enabled, origin = self._state(tool, tool, hits, roles)
            states = {
                action.rpartition(".")[2]: ResolvedAction(
                    enabled=on,
                    origin=why,
                    limits=_merged(one for _, one, matched in hits if {tool, action} & matched),
                )
                for action in actions
                for on, why in [self._state(action, tool, hits, roles)]
            }
            if states and any(state.enabled for state in states.values()) != enabled:
                enabled = not enabled
                origin = next(s.origin for s in states.values() if s.enabled == enabled)
            result[tool] = ResolvedTool(
                enabled=enabled, origin=origin, description=description, limits=limits, actions=states
            )
        return result

    def _state(
        self, name: str, tool: str, hits: list[tuple[str, ToolOverride, frozenset[str]]], roles: _Roles
    ) -> tuple[bool, str]:
        if not roles.is_root and (name in self._root_only or tool in self._root_only):
            return False, "default"
        enabled, origin = False, "default"
        by_role = roles.is_root and (name in self._root_defaults or tool in self._root_defaults)
        if by_role or tool in roles.also:
            enabled, origin = True, "role"
        for pattern, override, matched in hits:
            if name in matched or tool in matched:
                enabled, origin = override.enabled, f"override:{pattern}"
        return enabled, origin

    def _rank(self, pattern: str) -> tuple[int, int]:
        if pattern.startswith("@"):
            return 0, 0
        if is_glob(pattern):
            return 1, sum(character not in _WILDCARDS for character in pattern)
        return (3, 0) if pattern in self._owner else (2, 0)

    def is_root_only(self, name: str) -> bool:
        return name in self._root_only or self._owner.get(name) in self._root_only

    def may_mean_server(self, pattern: str) -> bool:
        """Tell whether a pattern may name tools of an MCP server, which are known at run time only: it
        matches nothing in the catalog, and begins with a name and an underscore."""
        return server_prefix(pattern) is not None and not self.match(pattern)

    def means_server(self, pattern: str) -> bool:
        """Tell whether a pattern names tools of an MCP server that is known."""
        return self.may_mean_server(pattern) and pattern.startswith(self._servers)

    def describe_miss(self, pattern: str) -> str:
        """Why a pattern has no effect, with the nearest name there is."""
        if pattern.startswith("@"):
            return f"no tool group `{pattern}`{did_you_mean(pattern[1:], self._groups)}"
        if is_glob(pattern):
            return f"`{pattern}` matches no tool"
        return f"no tool is named `{pattern}`{did_you_mean(pattern, (*self.tools, *self._owner))}"


def _merged(overrides: Iterable[ToolOverride]) -> ToolLimits | None:
    """Return the limits that hold: of each the one that the most specific override sets."""
    values: dict[str, Any] = {}
    for override in overrides:
        if override.limits is not None:
            values |= override.limits.model_dump(exclude_none=True)
    return ToolLimits.model_validate(values) if values else None


def check_overrides(
    overrides: Mapping[str, ToolOverride],
    nodes: Node | None,
    resolver: ToolResolver,
    bag: DiagnosticBag,
    *,
    agent_path: str,
    plugins: Mapping[str, object],
) -> None:
    """Report overrides that match nothing or break the principal scope."""
    for pattern, override in overrides.items():
        node = nodes.get(pattern) if nodes is not None else None
        if node is None:
            continue
        matched = resolver.match(pattern)
        if not matched:
            if pattern.partition(".")[0] not in plugins and not resolver.means_server(pattern):
                bag.warning("tool_unmatched", resolver.describe_miss(pattern), node.key)
        elif override.enabled and agent_path != ROOT_AGENT:
            _check_scope(pattern, matched, node, resolver, bag)


def _check_scope(
    pattern: str, matched: tuple[str, ...], node: Node, resolver: ToolResolver, bag: DiagnosticBag
) -> None:
    refused = [name for name in matched if resolver.is_root_only(name) and name in resolver.tools]
    refused = refused or [name for name in matched if resolver.is_root_only(name)]
    if not refused:
        return
    names = ", ".join(f"`{name}`" for name in refused)
    if pattern == "*" or pattern.startswith("@"):
        bag.warning(
            "principal_scope", f"{names}: only the root agent may have it, so it is left out here", node.key
        )
    elif node.key.path[:2] == ("primary", "tools") or node.key.path[:2] == ("primary", "tool_overrides"):
        # A nested project may well say this for its own root agent, which is a subagent here.
        message = f"{names}: only the root agent may have it; left out, as this project is a subagent here"
        bag.warning("principal_scope", message, node.key)
    else:
        bag.error(
            "principal_scope", f"{names}: only the root agent may have it; remove `{pattern}`", node.key
        )
