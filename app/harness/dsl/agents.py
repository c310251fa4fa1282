"""Compiling agents: one flattened node becomes one `CompiledAgent`, with its children.

Owns: the rules of an agent that need its position, its parent, its files or the daemon's tools.
Never: the project's other sections, or where the nodes came from.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.harness.dsl.advice import instead_of
from app.harness.dsl.cage_scope import AnyCage, broader, effective, rebase_cage
from app.harness.dsl.compaction import compile_compaction
from app.harness.dsl.compiled import CompiledAgent, CompiledCompaction, CompiledPermission
from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node
from app.harness.dsl.paths import display_path
from app.harness.dsl.permissions import compile_permissions
from app.harness.dsl.plugins import PluginCatalog, check_plugins, overrides_beyond, packages_below
from app.harness.dsl.prompt_files import PromptFiles
from app.harness.dsl.references import AgentNode
from app.harness.dsl.sections import check_plugin_name
from app.harness.dsl.spec import MAX_SUBAGENTS, AgentSpec, PluginSpec
from app.harness.dsl.spec_types import AGENT_KEY_PATTERN, PATTERN_MEANING
from app.harness.dsl.tool_resolution import ToolResolver, check_overrides
from app.harness.dsl.validation import Validated, validate
from app.ids import ROOT_AGENT, SUBAGENTS
from app.json_schema import schema_problem
from app.nearest_names import did_you_mean
from app.tools.contract.ports import CHANGES_TOOL

DEFAULT_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"task": {"type": "string", "description": "What to do, with everything needed to do it."}},
    "required": ["task"],
    "additionalProperties": False,
}
_STAND_INS: dict[str, Any] = {"model": "unknown", "system_prompt": "unknown", "cage": "disabled"}
_AGENT_KEY = re.compile(AGENT_KEY_PATTERN)


@dataclass(frozen=True, slots=True)
class _Above:
    """What a parent hands down."""

    path: str
    cage: AnyCage
    compaction: CompiledCompaction
    compaction_node: Node | None
    permissions: tuple[CompiledPermission, ...]
    content_gates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AgentCompiler:
    """Compiles the agents of one project."""

    root: Path
    bag: DiagnosticBag
    resolver: ToolResolver
    prompts: PromptFiles
    known_models: Collection[str] | None
    plugins: PluginCatalog | None = None

    def compile(self, tree: AgentNode, above: _Above | None = None) -> CompiledAgent | None:
        """Compile an agent and all below it; None when its node is no agent at all."""
        path = f"{above.path}{SUBAGENTS}{tree.key}" if above is not None else ROOT_AGENT
        node = self._one_name_for_tools(tree.node)
        self._check_subagents(node)
        own = node.without("subagents", "compaction") if node.is_map else node
        checked = validate(AgentSpec, own, self.bag, stand_ins=_STAND_INS)
        if checked is None:
            return None
        spec = checked.model
        if checked.sound("model"):
            self.check_model(spec.model, node.get("model"))
        cage = self._cage(checked, node, above)
        compaction_node, compaction = compile_compaction(
            node.get("compaction"),
            above.compaction_node if above is not None else None,
            spec.plugins,
            self,
        )
        handed = (*(above.permissions if above else ()), *compile_permissions(tree.permissions, pinned=False))
        gates = tuple(dict.fromkeys((*(above.content_gates if above else ()), *self._gates(spec, node))))
        below = _Above(path, cage, compaction, compaction_node, handed, gates)
        children = {child.key: self.compile(child, below) for child in tree.children}
        check_overrides(
            spec.tools, node.get("tools"), self.resolver, self.bag, agent_path=path, plugins=spec.plugins
        )
        plugins = self._plugins(node, spec, path, compaction.delegate)
        prompt = self.prompts.resolve(node.get("system_prompt") if checked.sound("system_prompt") else None)
        compiled = CompiledAgent(
            path=path,
            key=tree.key,
            name=tree.name or tree.key,
            model=spec.model,
            system_prompt_file=prompt.file,
            system_prompt_candidates=prompt.candidates,
            description=self._description(checked, node, tree, is_root=above is None),
            parameters=self._parameters(spec, node),
            output=self._output(spec, node),
            cage=cage,
            tools=self.resolver.resolve(
                spec.tools, is_root=above is None, also=_tools_for(children.values())
            ),
            tools_loading=spec.tools_loading,
            children={key: child for key, child in children.items() if child is not None},
            compaction=compaction,
            max_steps=spec.max_steps,
            max_output_tokens=spec.max_output_tokens,
            include_tool_results_in_context=spec.include_tool_results_in_context,
            content_gates=gates,
            todo_review=spec.todo_review,
            workspace=spec.workspace,
            permissions=(*handed, *compile_permissions(node.get("permissions"), pinned=True)),
            plugins=plugins,
            plugin_tools=overrides_beyond(spec.tools, plugins, self.resolver),
        )
        self._warn_when_idle(compiled, checked, node)
        return compiled

    def check_model(self, model: str, node: Node | None) -> None:
        """Report an alias that the local config does not know. `provider:model` needs no alias."""
        if node is None or self.known_models is None or ":" in model or model in self.known_models:
            return
        known = ", ".join(sorted(self.known_models)[:10]) or "none"
        hint = did_you_mean(model, self.known_models) or f"; known: {known}"
        message = f"no model alias `{model}` in the local config{hint}; or write `provider:model`"
        self.bag.error("model_alias_unknown", message, node.position)

    def _one_name_for_tools(self, node: Node) -> Node:
        """Accept `tool_overrides` for `tools`, but not both."""
        alias = node.get("tool_overrides")
        if alias is None:
            return node
        if node.get("tools") is not None:
            message = "`tools` and `tool_overrides` are the same; write all of it under `tools`"
            self.bag.error("tools_twice", message, alias.key)
            return node.without("tool_overrides")
        return node.with_entries({**node.without("tool_overrides").entries, "tools": alias})

    def _check_subagents(self, node: Node) -> None:
        subagents = node.get("subagents")
        if subagents is None:
            return
        if not subagents.is_map:
            hint = instead_of(subagents, "a map")
            self.bag.error("wrong_type", f"expected a map, found {subagents.kind}{hint}", subagents.position)
        if len(subagents.entries) > MAX_SUBAGENTS:
            found = f"found {len(subagents.entries)}"
            self.bag.error(
                "too_many", f"an agent has at most {MAX_SUBAGENTS} subagents, {found}", subagents.key
            )
        for key, child in subagents.entries.items():
            if not _AGENT_KEY.fullmatch(key):
                self.bag.error(
                    "invalid_value", f"`{key}` is not {PATTERN_MEANING[AGENT_KEY_PATTERN]}", child.key
                )

    def _cage(self, checked: Validated[AgentSpec], node: Node, above: _Above | None) -> AnyCage:
        written = node.get("cage")
        if written is None or not checked.sound("cage"):
            return "disabled" if above is None else above.cage
        cage = checked.model.cage
        if cage != "disabled":
            cage = rebase_cage(cage, written, self.root, self.bag)
        if above is None:
            return cage
        reasons = broader(cage, above.cage)
        if reasons:
            more = "; ".join(reasons)
            message = f"the cage grants more than the parent's, which has no effect: {more}"
            self.bag.warning("cage_broader", message, written.key)
        return effective(cage, above.cage)

    def _gates(self, spec: AgentSpec, node: Node) -> Iterator[str]:
        """Yield the globs of an agent relative to the root; those of a nested project name files of it."""
        written = node.get("content_gates")
        for index, glob in enumerate(spec.content_gates):
            item = written.step(index) if written is not None else None
            project = (item or node).position.source.project_root
            nested = "" if project == self.root else f"{_literal(display_path(project, self.root))}/"
            yield nested + glob
            if nested and ("/" not in glob or "{" in glob):
                yield f"{nested}**/{glob}"

    def _description(
        self, checked: Validated[AgentSpec], node: Node, tree: AgentNode, *, is_root: bool
    ) -> str | None:
        described = checked.model.description or tree.description
        if described is None and not is_root and checked.sound("description"):
            message = "`description` is required on a subagent: its parent reads it to decide when to call"
            self.bag.error("missing_key", message, node.position_of_missing("description"))
        return described

    def _parameters(self, spec: AgentSpec, node: Node) -> dict[str, Any]:
        parameters = spec.parameters
        written = node.get("parameters")
        if parameters is None or written is None:
            return DEFAULT_PARAMETERS
        properties = parameters.get("properties", {})
        required = parameters.get("required", [])
        if parameters.get("type") != "object":
            self._bad_parameters(written, "type", "parameters are a JSON Schema with `type: object`")
        if not isinstance(properties, dict) or not all(
            isinstance(p, dict | bool) for p in properties.values()
        ):
            self._bad_parameters(written, "properties", "`properties` maps each name to a schema")
            return parameters
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            self._bad_parameters(written, "required", "`required` is a list of property names")
        elif missing := [name for name in required if name not in properties]:
            self._bad_parameters(
                written, "required", f"`{missing[0]}` is required but not among `properties`"
            )
        elif parameters.get("type") == "object" and (problem := schema_problem(parameters)):
            self.bag.error("parameters_invalid", f"the schema {problem}", written.position)
        return parameters

    def _output(self, spec: AgentSpec, node: Node) -> dict[str, Any] | None:
        written = node.get("output")
        if spec.output is not None and written is not None and (problem := schema_problem(spec.output)):
            self.bag.error("output_invalid", f"the schema {problem}", written.position)
        return spec.output

    def _bad_parameters(self, written: Node, key: str, message: str) -> None:
        child = written.get(key)
        position = child.position if child is not None else written.position_of_missing(key)
        self.bag.error("parameters_invalid", message, position)

    def _plugins(
        self, node: Node, spec: AgentSpec, path: str, compactor: str | None
    ) -> dict[str, PluginSpec]:
        written = node.get("plugins")
        for name, plugin in node.map_at("plugins").items():
            check_plugin_name(name, plugin, self.bag)
        plugins = packages_below(spec.plugins, written, self.root)
        check_plugins(
            plugins,
            written,
            node.get("tools"),
            self.plugins,
            self.bag,
            root=self.root,
            agent_path=path,
            compactor=compactor,
        )
        return plugins

    def _warn_when_idle(self, agent: CompiledAgent, checked: Validated[AgentSpec], node: Node) -> None:
        asks_for_tools = any(override.enabled for override in checked.model.tools.values())
        does_something = agent.enabled_tools() or asks_for_tools or agent.plugins or node.get("subagents")
        if not does_something and checked.sound("tools"):
            message = f"`{agent.key}` has no tools and no subagents: it can only talk"
            self.bag.warning("agent_idle", message, node.key)


def _tools_for(children: Iterable[CompiledAgent | None]) -> tuple[str, ...]:
    """Return the tools that an agent has because of its children: that for the changes of those which work in
    workspaces of their own."""
    apart = any(child is not None and child.workspace == "worktree" for child in children)
    return (CHANGES_TOOL,) if apart else ()


def _literal(path: str) -> str:
    """Return the glob that names exactly a path."""
    return re.sub(r"([*?\[\]{},\\])", r"\\\1", path)
