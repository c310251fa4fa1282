"""Permission rules of a project file.

Owns: their validation, the default of `pinned`, and the warning about a rule for nothing there is. Never:
deciding a permission; the tool service does that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from pydantic import ValidationError

from app.harness.dsl.compiled import CompiledPermission
from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node, to_plain
from app.harness.dsl.hooks import hooks_of
from app.harness.dsl.spec_sections import PermissionRule
from app.harness.dsl.tool_resolution import ToolResolver
from app.nearest_names import did_you_mean
from app.tools.contract.rules import CAPABILITIES
from app.workspace.globs import text_matches

_OF_PROJECT_FILES = tuple(name for name in CAPABILITIES if name != "watchdog")
_DELEGATION = "agent-"
MAX_TOLD = 100
"""How many different names that are not there are reported."""


def compile_permissions(rules: Node | None, *, pinned: bool) -> tuple[CompiledPermission, ...]:
    """Compile a list of rules, keeping their order. Wrong rules are reported elsewhere and left out here."""
    compiled = []
    items = rules.value if rules is not None and isinstance(rules.value, tuple) else ()
    for node in items:
        try:
            rule = PermissionRule.model_validate(to_plain(node), context=DiagnosticBag())
        except ValidationError:
            continue
        effective = rule.pinned if rule.pinned is not None else pinned
        compiled.append(
            CompiledPermission(
                permission=rule.permission, pattern=rule.pattern, action=rule.action, pinned=effective
            )
        )
    return tuple(compiled)


def warn_of_idle_rules(document: Node, resolver: ToolResolver, bag: DiagnosticBag) -> None:
    """Warn of each rule in a document, and each `match` of a hook, whose `permission` names nothing there is:
    a misspelled denial protects nothing. Tools of other servers and of referenced projects' plugins are not
    known here, so that what could be one is let pass."""
    primary = document.get("primary")
    agents = [primary] if primary is not None else []
    for agent in agents:
        agents += agent.map_at("subagents").values()
    holders = [document, *agents]
    plugins = {name for one in holders for name in one.map_at("plugins")}
    refers = any(agent.get("path") is not None for agent in agents)
    known = {name for tool, actions in resolver.tools.items() for name in (tool, *actions)}
    known.update(_OF_PROJECT_FILES)
    wired = {name.replace(".", "_"): name for name in known}
    warnings: dict[str, str] = {}
    for named in _names_of_rules(holders):
        name = named.text or ""
        if not name or _may_be_there(name, known, wired, plugins, refers=refers):
            continue
        if name not in warnings and len(warnings) < MAX_TOLD:  # looking for a similar name takes its time
            warnings[name] = _says_nothing(name, known, wired)
        if name in warnings:
            bag.warning("permission_unmatched", warnings[name], named.position)


def _names_of_rules(holders: Iterable[Node]) -> Iterator[Node]:
    for holder in holders:
        for rule in holder.list_at("permissions"):
            if (named := rule.get("permission")) is not None:
                yield named
        for hook in hooks_of(holder):
            for match in hook.list_at("match"):
                if (named := match.get("permission")) is not None:
                    yield named


def _may_be_there(
    name: str, known: Collection[str], wired: Collection[str], plugins: Collection[str], *, refers: bool
) -> bool:
    if name.startswith(_DELEGATION) or any(text_matches(one, name) for one in known):
        return True
    head, dot, _ = name.partition(".")
    if not dot and "_" in name:  # a tool of another server, unless it is a built-in one as providers know it
        return name not in wired
    is_built_in = any(one.startswith(f"{head}.") for one in known)
    return bool(dot) and (head in plugins or (refers and not is_built_in))


def _says_nothing(name: str, known: Collection[str], wired: Mapping[str, str]) -> str:
    hint = f"; did you mean `{wired[name]}`?" if name in wired else did_you_mean(name, known)
    hint = hint or f"; capabilities are {', '.join(_OF_PROJECT_FILES)}"
    return f"the rule does nothing: no tool, action or capability is called `{name}`{hint}"
