"""What a new version of a project adds or widens, compared with the version that was trusted.

Owns: the comparison; narrowing, models, limits, descriptions and texts of prompts never count. Never: what
follows from it. Pure, with properties in `tests/harness/dsl/test_widening.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from app.harness.dsl.acts import Act, ActReader, all_uses, asked_uses, uses_of
from app.harness.dsl.cage_scope import grants, widened
from app.harness.dsl.compiled import CompiledAgent, CompiledPermission, CompiledProject
from app.harness.dsl.tool_resolution import server_prefix
from app.ids import SUBAGENTS

_STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}


def compare(old: CompiledProject, new: ActReader) -> tuple[Act, ...]:
    """Return the acts of the new version, those marked that the old one did not have; after them the
    protections that it no longer has."""
    return (*_acts(old, new), *_protections_gone(old, new))


def _acts(old: CompiledProject, new: ActReader) -> Iterator[Act]:
    known = {act.key for act in ActReader(old).all()}
    agents = {agent.path: agent for agent in old.agents()}
    apart = {agent.path for agent in new.project.agents()}
    for act in new.all():
        if act.kind in ("tool", "grant", "host") and act.where in apart and not _of_plugin(act, new):
            continue
        if act.kind == "rule" or new.is_of_server_cage(act):
            continue
        yield act if act.key in known else act.changed("added")
    for agent in new.project.agents():
        before = agents.get(agent.path)
        yield from _tools(agent, before, new)
        yield from _cage(agent, before, new)
        yield from _allowed(agent.path, agent.permissions, before.permissions if before else (), new)
    yield from _allowed("", new.project.permissions, old.permissions, new)
    yield from _workflow_tools(old, new)
    yield from _server_cages(old, new)


def _server_cages(old: CompiledProject, new: ActReader) -> Iterator[Act]:
    """Yield what the cages of MCP servers grant; of one that was trusted less may be granted now."""
    for name, server in new.project.mcp.items():
        before = old.mcp.get(name)
        known = before is not None and before.enabled and before.command is not None
        more = widened(server.cage, before.cage) if known and before is not None else grants(server.cage)
        listed = [text for text in grants(server.cage) if text not in more]
        yield from new.server_cage(name, listed)
        yield from (act.changed("added") for act in new.server_cage(name, more))


def _workflow_tools(old: CompiledProject, new: ActReader) -> Iterator[Act]:
    """Yield what a workflow gets of the tools that the root agent had already; new tools of the root agent
    are acts of their own."""
    root = old.root
    for name, workflow in new.project.workflows.items():
        before = old.workflows.get(name)
        if before is None:
            continue
        had = set(_uses(root, before.tools))
        more = [use for use in _uses(root, workflow.tools) if use not in had]
        patterns = before.plugin_tools
        if patterns is not None:
            now = ("*",) if workflow.plugin_tools is None else workflow.plugin_tools
            more += [pattern for pattern in now if pattern not in patterns]
        if more:
            text = ", ".join(dict.fromkeys(more))
            yield new.act("tool", f"workflows.{name}", text, "", "workflows", name, "tools").changed("added")


def _uses(root: CompiledAgent, tools: Iterable[str]) -> list[str]:
    """Return what the root agent may use by these names of tools and actions."""
    enabled = {use for use, (on, _) in all_uses(root).items() if on}
    named: list[str] = []
    for tool in tools:
        state = root.tools.get(tool)
        named += (tool,) if state is None else uses_of(tool, state.actions)
    return [use for use in named if use in enabled]


def _of_plugin(act: Act, new: ActReader) -> bool:
    """Tell whether a tool's act names a pattern for tools of plugins, which are known by pattern only."""
    agent = new.project.agent(act.where)
    return act.kind == "tool" and agent is not None and act.text in agent.plugin_tools


def _tools(agent: CompiledAgent, before: CompiledAgent | None, new: ActReader) -> Iterator[Act]:
    """What an agent has by its position alone is not the project's doing, unless the project had turned it
    off."""
    old = all_uses(before) if before is not None else {}
    added = set()
    for use, (enabled, said) in all_uses(agent).items():
        had, said_before = old.get(use, (False, False))
        if enabled and not had and (said or said_before):
            added.add(use)
    yield from new.tools(agent, asked_uses(agent) - added)
    yield from (act.changed("added") for act in new.tools(agent, added))


def _cage(agent: CompiledAgent, before: CompiledAgent | None, new: ActReader) -> Iterator[Act]:
    more = grants(agent.cage) if before is None else widened(agent.cage, before.cage)
    yield from new.cage(agent.path, [text for text in grants(agent.cage) if text not in more])
    yield from (act.changed("added") for act in new.cage(agent.path, more))


def _allowed(
    holder: str,
    rules: Iterable[CompiledPermission],
    before: tuple[CompiledPermission, ...],
    new: ActReader,
) -> Iterator[Act]:
    """A rule that allows what none allowed before is more, and so is a question in the place of a denial."""
    denies = any(rule.action == "deny" for rule in before)
    for rule in rules:
        if rule in before:
            if rule.action == "allow":
                yield new.rule(holder, rule)
        elif rule.action == "allow" or (rule.action == "ask" and denies and not _covered(rule, before)):
            yield new.rule(holder, rule).changed("added")


def _protections_gone(old: CompiledProject, new: ActReader) -> Iterator[Act]:
    agents = {agent.path: agent for agent in new.project.agents()}
    for before in old.agents():
        agent = agents.get(before.path)
        if agent is None:
            continue
        yield from _rules_gone(agent.path, before.permissions, agent.permissions, new)
        yield from _gates_gone(before, old.agent(before.path.rpartition(SUBAGENTS)[0]), agent, new)
        for pattern, override in before.plugin_tools.items():
            now = agent.plugin_tools.get(pattern)
            beyond = agent.plugins or server_prefix(pattern) is not None
            if not override.enabled and (now is None or now.enabled) and beyond:
                act = new.act("tool", agent.path, f"{pattern} is off", agent.path, "tools")
                yield act.changed("removed")
    yield from _rules_gone("", old.permissions, new.project.permissions, new)
    yield from _hooks_gone(old, new)


def _hooks_gone(old: CompiledProject, new: ActReader) -> Iterator[Act]:
    """Hooks that could refuse something and that the new version no longer has, or has otherwise."""
    still = {(event, new.hook(event, hook).key) for event, hook in new.project.hooks.all()}
    for event, hook in old.hooks.all():
        act = new.hook(event, hook)
        if event != "after_tool" and (event, act.key) not in still:
            yield act.changed("removed")


def _rules_gone(
    holder: str,
    before: Iterable[CompiledPermission],
    after: tuple[CompiledPermission, ...],
    new: ActReader,
) -> Iterator[Act]:
    for rule in before:
        if rule.action != "allow" and not _covered(rule, after):
            yield new.rule(holder, rule).changed("removed")


def _gates_gone(
    before: CompiledAgent, above: CompiledAgent | None, agent: CompiledAgent, new: ActReader
) -> Iterator[Act]:
    """Content gates that an agent no longer has; what was its parent's is listed with the parent."""
    inherited = () if above is None else above.content_gates
    for glob in before.content_gates:
        if glob not in agent.content_gates and glob not in inherited:
            text = f"withhold content of `{glob}`"
            yield new.act("rule", agent.path, text, agent.path, "content_gates").changed("removed")


def _covered(rule: CompiledPermission, others: Iterable[CompiledPermission]) -> bool:
    """Tell whether one of the others is about the same and at least as strict."""
    return any(
        (other.permission, other.pattern) == (rule.permission, rule.pattern)
        and _STRICTNESS[other.action] >= _STRICTNESS[rule.action]
        and (other.pinned or not rule.pinned)
        for other in others
    )
