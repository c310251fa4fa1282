"""Compiling the sections beside the agents: their checks, and the workflows.

Owns: what needs more than the shape of one section. Never: agents.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.harness.dsl.cage_scope import rebase_cage
from app.harness.dsl.compiled import CompiledAgent, CompiledWorkflow
from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node
from app.harness.dsl.inputs import value_problem
from app.harness.dsl.paths import PathProblem, read_path
from app.harness.dsl.prompt_files import PromptFiles
from app.harness.dsl.spec import AgentSpec, ProjectSpec
from app.harness.dsl.spec_mcp import McpServerSpec, reserved_server_name
from app.harness.dsl.spec_sections import WorkflowSpec
from app.harness.dsl.spec_types import reserved_plugin_name
from app.harness.dsl.tool_resolution import ToolResolver
from app.harness.dsl.validation import Validated, validate

# Stands for the primary agent, which is checked on its own.
_SOME_AGENT = AgentSpec(model="unknown", system_prompt="unknown", cage="disabled")
_STAND_INS: dict[str, Any] = {"version": 1, "project": "unknown", "primary": _SOME_AGENT}


def check_sections(document: Node, bag: DiagnosticBag) -> Validated[ProjectSpec] | None:
    """Check everything of a document but its agents; these are checked one by one in the flattened tree."""
    given = {"primary": _SOME_AGENT} if document.get("primary") is not None else {}
    checked = validate(ProjectSpec, document.without("primary"), bag, stand_ins=_STAND_INS, given=given)
    for name, node in document.map_at("plugins").items():
        check_plugin_name(name, node, bag)
    for name, node in document.map_at("mcp").items():
        if reserved_server_name(name):
            message = f"`{name}` begins the names of built-in tools; a server cannot have this name"
            bag.error("server_reserved", message, node.key)
    _check_unique(document, "lsp", "servers", "lang", bag)
    _check_unique(document, "dap", "adapters", "runtime", bag)
    for node in document.list_at("skills", "paths"):
        _check_path(node, bag)
    for key in ("copy", "link"):
        for node in document.list_at("workspace", key):
            _check_path(node, bag)
    for task in document.map_at("tasks").values():
        _check_path(task.get("cwd"), bag)
    return checked


def compile_servers(
    servers: dict[str, McpServerSpec], section: Node | None, root: Path, bag: DiagnosticBag
) -> dict[str, McpServerSpec]:
    """Return the MCP servers of a project, the paths of their cages checked."""
    compiled = {}
    for name, spec in servers.items():
        node = section.get(name) if section is not None else None
        written = node.get("cage") if node is not None else None
        if spec.cage != "disabled" and written is not None:
            spec = spec.model_copy(update={"cage": rebase_cage(spec.cage, written, root, bag)})
        compiled[name] = spec
    return compiled


def check_plugin_name(name: str, node: Node, bag: DiagnosticBag) -> None:
    if reserved_plugin_name(name):
        message = f"`{name}` is the namespace of built-in tools; a plugin cannot have this name"
        bag.error("plugin_reserved", message, node.key)


def _check_path(node: Node | None, bag: DiagnosticBag) -> None:
    if node is None or node.text is None:
        return
    try:
        read_path(node.text)
    except PathProblem as problem:
        bag.error(problem.code, f"`{node.text}`: {problem.message}", node.position)


def _check_unique(document: Node, section: str, items: str, key: str, bag: DiagnosticBag) -> None:
    seen: dict[str, int] = {}
    for item in document.list_at(section, items):
        node = item.get(key)
        if node is None or node.text is None:
            continue
        if node.text in seen:
            message = f"`{node.text}` stands here twice; first in line {seen[node.text]}"
            bag.error("duplicate_entry", message, node.position)
        seen.setdefault(node.text, node.position.line)


@dataclass(frozen=True, slots=True)
class WorkflowCompiler:
    """Compiles workflows against the root agent, whose tools they share."""

    bag: DiagnosticBag
    resolver: ToolResolver
    prompts: PromptFiles

    def compile(
        self, workflows: dict[str, WorkflowSpec], section: Node | None, root_agent: CompiledAgent
    ) -> dict[str, CompiledWorkflow]:
        nodes = section.entries if section is not None else {}
        return {
            name: self._workflow(spec, nodes[name], root_agent)
            for name, spec in workflows.items()
            if name in nodes
        }

    def _workflow(self, spec: WorkflowSpec, node: Node, root_agent: CompiledAgent) -> CompiledWorkflow:
        prompt = self.prompts.resolve(node.get("system_prompt"))
        self._check_schedule(spec, node)
        self._check_defaults(spec, node)
        return CompiledWorkflow(
            description=spec.description,
            system_prompt_file=prompt.file,
            system_prompt_candidates=prompt.candidates,
            inputs=spec.inputs,
            tools=self._tools(spec, node, root_agent),
            plugin_tools=None if spec.tools is None else tuple(spec.tools),
            invokable_by=tuple(dict.fromkeys(spec.invokable_by)),
            timeout_seconds=spec.timeout_seconds,
            concurrency=spec.concurrency,
            schedule=spec.schedule,
            workspace=spec.workspace,
        )

    def _check_schedule(self, spec: WorkflowSpec, node: Node) -> None:
        """A schedule has nobody who gives inputs."""
        inputs = node.get("inputs")
        for name, given in spec.inputs.items() if spec.schedule is not None else ():
            entry = inputs.get(name) if inputs is not None else None
            if given.required and given.default is None and entry is not None:
                message = (
                    f"`{name}` is required, and a schedule has nobody who gives it: "
                    "give it a default, or remove `schedule`"
                )
                self.bag.error("schedule_input", message, entry.key)

    def _check_defaults(self, spec: WorkflowSpec, node: Node) -> None:
        """A default is a value that a run could be given."""
        for name, declared in spec.inputs.items():
            entry = node
            for step in ("inputs", name, "default"):
                entry = entry.get(step) or entry
            if declared.default is None:
                continue
            problem = value_problem(declared, declared.default)
            if problem is not None:
                message = f"the default of `{name}` {problem}; or leave `default` out"
                self.bag.error("invalid_value", message, entry.position)

    def _tools(self, spec: WorkflowSpec, node: Node, root_agent: CompiledAgent) -> tuple[str, ...]:
        """The named tools that the root agent has; an action alone only where its tool is not named."""
        if spec.tools is None:
            return root_agent.enabled_tools()
        available = set(root_agent.enabled_tools())
        for name, tool in root_agent.tools.items():
            available.update(f"{name}.{action}" for action, state in tool.actions.items() if state.enabled)
        chosen: dict[str, None] = {}
        written = node.get("tools")
        for index, pattern in enumerate(spec.tools):
            item = written.step(index) if written is not None else None
            matched = self.resolver.match(pattern)
            allowed = [name for name in matched if name in available]
            beyond = pattern.partition(".")[0] in root_agent.plugins or self.resolver.means_server(pattern)
            if item is not None and not matched and not beyond:
                self.bag.warning("tool_unmatched", self.resolver.describe_miss(pattern), item.position)
            elif item is not None and matched and not allowed:
                message = f"`{pattern}`: the root agent does not have it, so the workflow does not either"
                self.bag.warning("workflow_tool", message, item.position)
            chosen.update(dict.fromkeys(allowed))
        whole = set(chosen) & set(root_agent.tools)
        return tuple(name for name in chosen if name in whole or name.rpartition(".")[0] not in whole)
