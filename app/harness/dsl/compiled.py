"""The compiled project: what the harness runs, with nothing left to look up in the project file.

Owns: frozen models that round-trip through JSON; a session keeps the project it started with. Never: nodes of
the document. Prompt paths are absolute, cage paths relative to the compiled root.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.harness.dsl.spec import AlwaysKeep, PluginSpec, PruneSpec, Strategy, ToolLimits, ToolOverride
from app.harness.dsl.spec_cage import CageSpec
from app.harness.dsl.spec_hooks import HooksSection
from app.harness.dsl.spec_mcp import McpServerSpec
from app.harness.dsl.spec_sections import (
    DapSection,
    LimitsSection,
    LspSection,
    SkillsSection,
    TaskSpec,
    WorkflowInput,
    WorkspaceSection,
)
from app.ids import paths_above


class CompiledModel(BaseModel):
    """Base of what is stored: lenient on the way in, because sessions of an older release must still load."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ResolvedAction(CompiledModel):
    """Whether one action of a tool is offered. `origin` as in `ResolvedTool`; `limits` are those that hold
    for this action."""

    enabled: bool
    origin: str
    limits: ToolLimits | None = None


class ResolvedTool(CompiledModel):
    """Whether an agent has a tool, and why.

    `origin` is `default` (nobody asked for it), `role` (the root agent has it by position) or
    `override:<pattern>`.
    `actions` maps the short names of a tool's actions to their state; empty for a tool without actions.
    """

    enabled: bool
    origin: str
    description: str | None = None
    limits: ToolLimits | None = None
    actions: dict[str, ResolvedAction] = {}


class CompiledPermission(CompiledModel):
    permission: str
    pattern: str
    action: Literal["allow", "deny", "ask"]
    pinned: bool


class CompiledSummarize(CompiledModel):
    model: str
    prompt_file: str


class CompiledCompaction(CompiledModel):
    strategy: Strategy = "drop"
    upper: float = 0.85
    lower: float = 0.60
    always_keep: tuple[AlwaysKeep, ...] = ()
    prune: PruneSpec = PruneSpec()
    summarize: CompiledSummarize | None = None
    delegate: str | None = None
    """Name of the compactor plugin."""
    checkpoint_fallback: Literal["drop", "summarize"] = "drop"


class CompiledAgent(CompiledModel):
    """One agent. `path` is its position: `primary`, `primary.subagents.x`, and so on."""

    path: str
    key: str
    name: str
    model: str
    system_prompt_file: str
    system_prompt_candidates: tuple[str, ...]
    """Files that are the prompt when they exist, best first: a `.local` sibling, then the file itself."""
    description: str | None
    parameters: dict[str, Any]
    output: dict[str, Any] | None = None
    cage: Literal["disabled"] | CageSpec
    tools: dict[str, ResolvedTool]
    tools_loading: Literal["deferred", "eager"] = "eager"
    """Of a project that an older release compiled: `eager`, so that its sessions keep their list of tools."""
    children: dict[str, CompiledAgent]
    compaction: CompiledCompaction
    max_steps: int | None
    max_output_tokens: int | None
    include_tool_results_in_context: bool
    content_gates: tuple[str, ...] = ()
    """Globs of files below the project's root whose content the agent's model is not sent, those of its
    ancestors first."""
    todo_review: Literal["auto", "review"]
    workspace: Literal["shared", "worktree"] = "shared"
    """Where it works as a subagent, unless who calls it says so."""
    permissions: tuple[CompiledPermission, ...]
    plugins: dict[str, PluginSpec]
    plugin_tools: dict[str, ToolOverride] = {}
    """What `tools` says by names and globs that may mean tools of these plugins or of MCP servers, in the
    order of the file."""
    plugin_tools_within: tuple[str, ...] | None = Field(default=None, exclude=True)
    """Names and globs, one of which a tool of a plugin or an MCP server must match in a run of a workflow;
    None: no bound."""
    declared: str | None = Field(default=None, exclude=True)
    """The agent's path in the project file, when it has another one in its session (`agent_view`)."""

    @property
    def declared_path(self) -> str:
        """The agent's position in the project file."""
        return self.declared or self.path

    def enabled_tools(self) -> tuple[str, ...]:
        """Names of the tools this agent has, in the catalog's order."""
        return tuple(name for name, tool in self.tools.items() if tool.enabled)

    def walk(self) -> Iterator[CompiledAgent]:
        """Yield this agent and all below it, parents first."""
        yield self
        for child in self.children.values():
            yield from child.walk()


class CompiledWorkflow(CompiledModel):
    description: str
    system_prompt_file: str
    inputs: dict[str, WorkflowInput]
    tools: tuple[str, ...]
    """Tools of the root agent that a run has; a `tool.action` stands for that action alone."""
    system_prompt_candidates: tuple[str, ...] = ()
    """As those of an agent."""
    plugin_tools: tuple[str, ...] | None = None
    """Names and globs, one of which a plugin's tool must match; None: all that the root agent has."""
    invokable_by: tuple[Literal["operator", "guest"], ...]
    timeout_seconds: int
    concurrency: int
    schedule: str | None
    workspace: Literal["shared", "worktree"] | None = None
    """Where the sessions of its runs work; None: as the project's default says."""

    @property
    def prompt_files(self) -> tuple[str, ...]:
        """Files that are the prompt when they exist, best first."""
        return self.system_prompt_candidates or (self.system_prompt_file,)


WORKFLOW_PROMPTS = "workflows."
"""What the paths of workflows' prompts begin with, which are kept beside those of a project's agents."""


def workflow_prompt(name: str) -> str:
    """Return by what the prompt of a workflow is known among those of a project's agents."""
    return WORKFLOW_PROMPTS + name


class CompiledProject(CompiledModel):
    """A whole project. `digest` names exactly this content, the folder it lies in included."""

    slug: str
    description: str | None
    root_dir: str
    root: CompiledAgent
    workflows: dict[str, CompiledWorkflow]
    tasks: dict[str, TaskSpec]
    lsp: LspSection
    dap: DapSection
    limits: LimitsSection
    permissions: tuple[CompiledPermission, ...]
    skills: SkillsSection
    workspace: WorkspaceSection = WorkspaceSection()
    hooks: HooksSection = HooksSection()
    prompt_files: tuple[str, ...]
    """Prompt files to watch, and where a `.local` sibling would appear."""
    source_files: tuple[str, ...]
    """Project files to watch, and where an overlay or a missing nested project would appear."""
    guarded_files: tuple[str, ...] = ()
    """Files below the root that no cage may write, by their relative paths: prompts and programs that the
    project file names, and those of projects that it refers to."""
    mcp: dict[str, McpServerSpec] = {}
    digest: str
    above_root: tuple[CompiledAgent, ...] = Field(default=(), exclude=True)
    """In the view of a session whose root is another agent (`agent_view`): the agents above it in the project
    file, the nearest first."""

    def agents(self) -> Iterator[CompiledAgent]:
        """Every agent, parents first."""
        return self.root.walk()

    def declared_agents(self) -> Iterator[CompiledAgent]:
        """Every agent of the project file, also those that a session does not see."""
        return (self.above_root[-1] if self.above_root else self.root).walk()

    def agent(self, path: str) -> CompiledAgent | None:
        """The agent at a path such as `primary.subagents.coder`."""
        return next((agent for agent in self.agents() if agent.path == path), None)

    def above(self, path: str) -> list[CompiledAgent]:
        """The agents above the one at a path, its parent first."""
        agents = {agent.path: agent for agent in self.agents()}
        return [agents[one] for one in paths_above(path) if one in agents]
