"""The shape of `.kaged/project.yaml`: the project and the one recursive agent.

Owns: `ProjectSpec`, `AgentSpec`, `ProjectReference` and what belongs to an agent. These models are the only
source of the editors' JSON Schema. Never: anything that needs the file system or the tools of a daemon.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from app.errors import ToolError
from app.harness.dsl.spec_cage import Cage
from app.harness.dsl.spec_hooks import HooksSection
from app.harness.dsl.spec_mcp import McpServerSpec, ServerName
from app.harness.dsl.spec_sections import (
    DapSection,
    LimitsSection,
    LspSection,
    PermissionRule,
    SkillsSection,
    TaskSpec,
    WorkflowSpec,
    WorkspaceSection,
)
from app.harness.dsl.spec_types import (
    AGENT_KEY_PATTERN,
    ModelName,
    Name,
    PluginName,
    PositiveFloat,
    PositiveInt,
    ProjectPath,
    Slug,
    StrictModel,
    Text,
    invalid,
)
from app.tools.search.glob_pattern import parse_glob

MAX_AGENT_DEPTH = 16
MAX_SUBAGENTS = 64


def _file_glob(text: str) -> str:
    try:
        parse_glob(text)
    except ToolError as problem:
        raise invalid("invalid_value", problem.message) from None
    return text


AgentKey = Annotated[str, Field(pattern=AGENT_KEY_PATTERN)]
ToolPattern = Annotated[str, Field(min_length=1, max_length=200)]
ContentGlob = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_file_glob)]
Strategy = Literal["drop", "summarize", "delegate", "checkpoint"]

_MOVED_TO_PRIMARY = "write it under `primary`, or under the agent it is meant for"
_TREE_IS_GRAPH = "an agent calls its own `subagents`; put the called agent under its caller"


class ToolLimits(StrictModel):
    """Bounds of one tool for one agent."""

    timeout_seconds: PositiveFloat | None = None
    """Seconds that one call may take."""
    max_calls: PositiveInt | None = None
    """Calls in one run."""
    max_output_bytes: PositiveInt | None = None
    """Bytes of a result that the model is shown."""


class ToolOverride(StrictModel):
    """Turns a tool on or off for one agent."""

    enabled: bool
    """Whether the agent has the tool."""
    description: Text | None = None
    """Replaces the description that the model reads."""
    limits: ToolLimits | None = None
    """Bounds of the tool."""


class PluginSpec(StrictModel):
    """A plugin that an agent uses."""

    package: Annotated[str, Field(min_length=1, max_length=1000)]
    """Installed package, or a path to the plugin's folder."""
    isolation: Literal["agent", "project"] = "agent"
    """One process for this agent, or one shared by the project's agents."""
    config: dict[str, Any] = Field(default={})
    """Checked against the plugin's own schema."""


class AlwaysKeep(StrictModel):
    """Messages that compaction never takes away. All given conditions must hold."""

    role: Literal["user", "assistant", "tool"] | None = None
    """The author of the message."""
    tool: ToolPattern | None = None
    """Results of tools with this name or glob."""
    contains: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """Text that the message contains."""

    @model_validator(mode="after")
    def _says_something(self) -> AlwaysKeep:
        if self.role is None and self.tool is None and self.contains is None:
            raise invalid("missing_key", "give at least one of `role`, `tool`, `contains`")
        return self


class PruneSpec(StrictModel):
    """Shortening of old tool results, which runs before compaction."""

    protect_tokens: Annotated[int, Field(ge=0)] = 40_000
    """Tokens of the newest tool results that stay whole."""
    minimum_savings: Annotated[int, Field(ge=0)] = 20_000
    """Nothing is pruned when less than this many tokens would be saved."""
    protected_tools: list[ToolPattern] = Field(default=["skill"])
    """Tools whose results stay whole."""


class SummarizeSpec(StrictModel):
    """Who summarizes, and how."""

    model: ModelName
    """Model alias, or `provider:model`."""
    prompt: ProjectPath
    """Prompt file of the summarizer."""


class DelegateSpec(StrictModel):
    """Who compacts instead of the harness."""

    plugin: PluginName
    """A plugin of this agent with the role `compactor`."""


class CompactionCheckpoint(StrictModel):
    """What the operator is shown as a proposal."""

    fallback: Literal["drop", "summarize"] = "drop"
    """Strategy of the proposal."""


class CompactionSpec(StrictModel):
    """How an agent's context is kept below its model's window. Subagents inherit what they do not say."""

    strategy: Strategy = "drop"
    """How messages are taken away."""
    upper: Annotated[float, Field(gt=0, le=1)] = 0.85
    """Fraction of the context window at which compaction starts."""
    lower: Annotated[float, Field(gt=0, le=1)] = 0.60
    """Fraction at which it stops."""
    always_keep: list[AlwaysKeep] = Field(default=[], max_length=64)
    """Messages that stay."""
    prune: PruneSpec = PruneSpec()
    """Shortening of old tool results."""
    summarize: SummarizeSpec | None = None
    """Needed by `strategy: summarize`; with `drop` it is tried first."""
    delegate: DelegateSpec | None = None
    """Needed by `strategy: delegate`."""
    checkpoint: CompactionCheckpoint = CompactionCheckpoint()
    """Used by `strategy: checkpoint`."""

    @model_validator(mode="after")
    def _is_consistent(self) -> CompactionSpec:
        if self.lower >= self.upper:
            raise invalid("invalid_value", f"`lower` must be below `upper` ({self.upper})", at="lower")
        if self.strategy == "summarize" and self.summarize is None:
            raise invalid("missing_key", "`strategy: summarize` needs `summarize`", at="summarize")
        if self.strategy == "delegate" and self.delegate is None:
            raise invalid("missing_key", "`strategy: delegate` needs `delegate`", at="delegate")
        return self


class ProjectReference(StrictModel):
    """Another project, whose primary agent becomes this entry."""

    path: ProjectPath
    """Folder of the other project, relative to this project's root."""
    name: Name | None = None
    """Name shown to operators. Default: the key of the entry."""
    description: Text | None = None
    """What the parent's model reads to decide to call it. Default: the other project's own."""
    overrides: dict[str, Any] | None = None
    """Keys of an agent that are laid over the other project's primary, here or under `primary`."""


def _subagent_kind(value: Any) -> str:
    return "<reference>" if isinstance(value, dict) and "path" in value else "<agent>"


class AgentSpec(StrictModel):
    """An agent, at any depth."""

    removed_keys: ClassVar[dict[str, str]] = {
        "can_be_called_by": _TREE_IS_GRAPH,
        "interconnect": _TREE_IS_GRAPH,
        "agents": "write `subagents`",
        "cage_defaults": "write `cage` on every agent",
    }

    model: ModelName
    """Model alias of the local config, or `provider:model`."""
    system_prompt: ProjectPath
    """Prompt file: `project:/x.md`, `config:/x.md` (inside `.kaged/`), or a path relative to the project."""
    cage: Cage
    """`disabled`, or what the agent may touch."""
    description: Text | None = None
    """What the parent's model reads to decide to call this agent. Required on every subagent."""
    parameters: dict[str, Any] | None = None
    """JSON Schema of the input that the parent gives. Default: one string, `task`."""
    output: dict[str, Any] | None = None
    """JSON Schema of the agent's last message, when it is to answer with an object. Default: plain text."""
    tools: dict[ToolPattern, ToolOverride] = Field(default={}, max_length=512)
    """Tool, `tool.action`, glob or `@group` to whether the agent has it. The most specific entry wins."""
    tool_overrides: dict[ToolPattern, ToolOverride] | None = Field(default=None, max_length=512)
    """Another name for `tools`; only one of the two may stand on an agent."""
    tools_loading: Literal["deferred", "eager"] = "deferred"
    """Whether a request has only the common tools in full and `tool_search` finds the others, or has all."""
    permissions: list[PermissionRule] = Field(default=[], max_length=512)
    """Rules for the use of tools by this agent."""
    subagents: dict[
        AgentKey,
        Annotated[
            Annotated[AgentSpec, Tag("<agent>")] | Annotated[ProjectReference, Tag("<reference>")],
            Discriminator(_subagent_kind),
        ],
    ] = Field(default={}, max_length=MAX_SUBAGENTS)
    """Agents that this agent may call."""
    plugins: dict[PluginName, PluginSpec] = Field(default={}, max_length=64)
    """Plugins of this agent."""
    compaction: CompactionSpec | None = None
    """How the context is kept small. Default: the parent's, else `drop`."""
    max_steps: PositiveInt | None = None
    """Model calls in one run of this agent. Default: the project's limit."""
    max_output_tokens: PositiveInt | None = None
    """Output tokens of one model call. Default: the project's limit."""
    include_tool_results_in_context: bool = True
    """Whether results of earlier turns are sent to the model again."""
    content_gates: list[ContentGlob] = Field(default=[], max_length=64)
    """Globs of files whose content is withheld from the model of this agent and of the agents below it."""
    todo_review: Literal["auto", "review"] = "review"
    """Whether a claimed todo criterion counts at once or waits for the operator."""
    workspace: Literal["shared", "worktree"] = "shared"
    """Where a subagent works: where the agent that calls it does, or in a workspace of its own."""


def _version_one(value: Any) -> Any:
    # Literal compares by equality, so that `true` and `1.0` would pass for 1.
    if type(value) is not int or value != 1:
        raise invalid("unsupported_version", "write `version: 1`, the only version there is")
    return value


class ProjectSpec(StrictModel):
    """A kaged project."""

    removed_keys: ClassVar[dict[str, str]] = {
        "agents": "write the agents as `subagents` below `primary`",
        "subagents": "write `subagents` below `primary`",
        "tools": f"tools belong to an agent; {_MOVED_TO_PRIMARY}",
        "tool_overrides": f"tools belong to an agent; {_MOVED_TO_PRIMARY}",
        "cage_defaults": "write `cage` on every agent",
        "interconnect": _TREE_IS_GRAPH,
        "can_be_called_by": _TREE_IS_GRAPH,
    }

    version: Annotated[Literal[1], BeforeValidator(_version_one)]
    """Version of this format."""
    project: Slug
    """Slug of the project."""
    primary: AgentSpec
    """The root agent."""
    description: Annotated[str, Field(max_length=280)] | None = None
    """What the project is, in at most 280 characters."""
    workflows: dict[Name, WorkflowSpec] = Field(default={}, max_length=64)
    """Workflows by name."""
    tasks: dict[Name, TaskSpec] = Field(default={}, max_length=64)
    """Shell commands that the operator starts, by name."""
    lsp: LspSection = LspSection()
    """Language servers."""
    dap: DapSection = DapSection()
    """Debug adapters."""
    limits: LimitsSection = LimitsSection()
    """Bounds of every run."""
    permissions: list[PermissionRule] = Field(default=[], max_length=512)
    """Rules for every agent of the project."""
    skills: SkillsSection = SkillsSection()
    """Where skills are looked for."""
    workspace: WorkspaceSection = WorkspaceSection()
    """Folders of their own for sessions."""
    hooks: HooksSection = HooksSection()
    """Commands that the daemon runs around tool calls, prompts and the ends of runs."""
    plugins: dict[PluginName, PluginSpec] = Field(default={}, max_length=64)
    """Shorthand for `primary.plugins`."""
    mcp: dict[ServerName, McpServerSpec] = Field(default={}, max_length=32)
    """MCP servers by name."""
