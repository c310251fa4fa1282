"""What a project would do once it is trusted: each tool, program, grant, schedule and prompt of it.

Owns: the list of acts that people read before they trust a project. Never: comparing two versions
(`widening`), storing a decision, or reading files. Pure.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import orjson

from app.harness.dsl.cage_scope import grants
from app.harness.dsl.compiled import CompiledAgent, CompiledPermission, CompiledProject
from app.harness.dsl.paths import CONFIG_FOLDER, display_path
from app.harness.dsl.spec_hooks import HookSpec

ActKind = Literal[
    "tool",
    "program",
    "argument",
    "environment",
    "schedule",
    "hook",
    "plugin",
    "grant",
    "host",
    "rule",
    "prompt",
    "project",
]
Steps = tuple[str | int, ...]
Locate = Callable[[str, Steps], tuple[str, int]]
"""Gives the file and line where something stands: below an agent's path, or "" for the document."""

_NET = "net `"
_SAID = "override:"
_MCP = "mcp."


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that a project would do or be allowed.

    `where` is the agent's path or the section's entry, `text` what is done. `digest` is that of a prompt's
    text, for the reader alone. `change` is set in a comparison only: `added`, or `removed` for a
    protection that the new version no longer has. `line` is 0 where no place is known.
    """

    kind: ActKind
    where: str
    text: str
    file: str = ""
    line: int = 0
    digest: str | None = None
    change: Literal["added", "removed"] | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two acts the same act."""
        return self.kind, self.where, self.text

    def changed(self, change: Literal["added", "removed"]) -> Act:
        return replace(self, change=change)


def nowhere(_where: str, _steps: Steps) -> tuple[str, int]:
    """The position of what comes from a stored version: its files may be gone."""
    return "", 0


@dataclass(frozen=True, slots=True)
class ActReader:
    """Reads the acts of one compiled project. `digests` are those of prompt texts, by absolute path."""

    project: CompiledProject
    locate: Locate = nowhere
    digests: Mapping[str, str] | None = None

    def all(self) -> tuple[Act, ...]:
        """Every act, agents first, parents before children."""
        return (*self._agents(), *self._sections(), *self._references())

    def act(self, kind: ActKind, where: str, text: str, holder: str, *steps: str | int) -> Act:
        """Return an act whose position is looked up from `holder`, an agent's path or "" for the document."""
        return Act(kind, where, text, *self.locate(holder, steps))

    # -- agents -----------------------------------------------------------------------------

    def _agents(self) -> Iterator[Act]:
        for agent in self.project.agents():
            own = agent.system_prompt_candidates or (agent.system_prompt_file,)
            yield self._prompt(agent.path, agent.path, own, "system_prompt")
            summarize = agent.compaction.summarize
            if summarize is not None:
                files = (summarize.prompt_file,)
                yield self._prompt(agent.path, agent.path, files, "compaction", "summarize")
            yield from self.cage(agent.path, grants(agent.cage))
            if agent.cage != "disabled":
                for name, value in agent.cage.env.items():
                    text = f"{name}={value}"
                    yield self.act("environment", agent.path, text, agent.path, "cage", "env", name)
            yield from self.tools(agent, asked_uses(agent))
            for pattern, override in agent.plugin_tools.items():
                if override.enabled:
                    yield self.act("tool", agent.path, pattern, agent.path, "tools", pattern)
            for rule in agent.permissions:
                if rule.action == "allow":
                    yield self.rule(agent.path, rule)
            for name, plugin in agent.plugins.items():
                text = f"{name}: {plugin.package} ({plugin.isolation}){_values(plugin.config)}"
                yield self.act("plugin", agent.path, text, agent.path, "plugins", name)

    def cage(self, agent_path: str, granted: Collection[str]) -> Iterator[Act]:
        """Acts of what a cage grants, in the words of `cage_scope`."""
        for text in granted:
            kind: ActKind = "host" if text.startswith(_NET) else "grant"
            yield self.act(kind, agent_path, text, agent_path, "cage")

    def tools(self, agent: CompiledAgent, uses: Collection[str]) -> Iterator[Act]:
        """Acts of some uses of an agent's tools: one for a whole tool, else one that names the actions."""
        for name, tool in agent.tools.items():
            every = uses_of(name, tool.actions)
            named = [use for use in every if use in uses]
            if not named:
                continue
            actions = ", ".join(use.removeprefix(f"{name}.") for use in named)
            text = name if len(named) == len(every) else f"{name} ({actions})"
            states = [tool.actions[use.removeprefix(f"{name}.")] if tool.actions else tool for use in named]
            yield self.act(
                "tool", agent.path, text, agent.path, "tools", states[0].origin.removeprefix(_SAID)
            )

    def rule(self, holder: str, rule: CompiledPermission) -> Act:
        """The act of a permission rule of an agent, or of the project ("")."""
        text = f"{rule.action} {rule.permission} `{rule.pattern}`{' (pinned)' if rule.pinned else ''}"
        return self.act(
            "rule", holder or "project", text, holder, "permissions", rule.permission, rule.pattern
        )

    # -- the rest ---------------------------------------------------------------------------

    def _sections(self) -> Iterator[Act]:
        project = self.project
        for rule in project.permissions:
            if rule.action == "allow":
                yield self.rule("", rule)
        for name, workflow in project.workflows.items():
            where, at = f"workflows.{name}", ("workflows", name)
            yield self._prompt(where, "", workflow.prompt_files, *at, "system_prompt")
            if workflow.schedule is not None:
                yield self.act("schedule", where, workflow.schedule, "", *at, "schedule")
            if "guest" in workflow.invokable_by:
                yield self.act("grant", where, "guests may start it", "", *at, "invokable_by")
        for name, task in project.tasks.items():
            where, at = f"tasks.{name}", ("tasks", name)
            text = task.command if isinstance(task.command, str) else shlex.join(task.command)
            yield self.act("program", where, f"{text} (in {task.cwd})", "", *at, "command")
            yield from self._environment(where, task.env, *at)
        for folder in project.skills.paths:
            yield self.act("prompt", "skills", folder, "", "skills", "paths")
        setup = project.workspace.setup
        if setup is not None:
            text = setup if isinstance(setup, str) else shlex.join(setup)
            yield self.act("program", "workspace", text, "", "workspace", "setup")
        yield from self._hooks()
        yield from self._servers()
        yield from self._adapters()
        yield from self._mcp_servers()

    def _hooks(self) -> Iterator[Act]:
        counts: dict[str, int] = {}
        for event, hook in self.project.hooks.all():
            index = counts[event] = counts.get(event, -1) + 1
            yield self.hook(event, hook, index)
            where, at = hook_place(hook), ("hooks", event, index, "cage")
            if hook.cage == "disabled":
                yield self.act("grant", where, "all rights of the daemon's user", "", *at)
            elif hook.cage is not None:
                for text in grants(hook.cage):
                    kind: ActKind = "host" if text.startswith(_NET) else "grant"
                    yield self.act(kind, where, text, "", *at)
                yield from self._environment(where, hook.cage.env, *at)

    def hook(self, event: str, hook: HookSpec, index: int = 0) -> Act:
        """The act of a hook: its command, and the calls and agents that it is for."""
        text = hook.command if isinstance(hook.command, str) else shlex.join(hook.command)
        calls = ", ".join(f"{one.permission} `{one.pattern}`" for one in hook.match)
        agents = ", ".join(hook.agents or ())
        text = f"{event}: {text}{f' (for {calls})' if calls else ''}{f' (agents {agents})' if agents else ''}"
        return self.act("hook", hook_place(hook), text, "", "hooks", event, index, "command")

    def _servers(self) -> Iterator[Act]:
        for index, server in enumerate(self.project.lsp.servers):
            where, at = f"lsp.{server.lang}", ("lsp", "servers", index)
            yield self.act("program", where, shlex.join(server.command), "", *at, "command")
            if server.settings:
                yield self.act("argument", where, f"settings{_values(server.settings)}", "", *at, "settings")
            yield from self._environment(where, server.env, *at)

    def _adapters(self) -> Iterator[Act]:
        for index, adapter in enumerate(self.project.dap.adapters):
            where, at = f"dap.{adapter.runtime}", ("dap", "adapters", index)
            for name, command in (("command", adapter.command), ("adapter", adapter.adapter)):
                if command is not None:
                    yield self.act("program", where, shlex.join(command), "", *at, name)
            if adapter.type is not None or adapter.launch:
                text = f"launch {adapter.type or ''}{_values(adapter.launch)}"
                yield self.act("argument", where, text, "", *at, "launch")

    def _mcp_servers(self) -> Iterator[Act]:
        for name, server in self.project.mcp.items():
            where, at = f"{_MCP}{name}", ("mcp", name)
            if not server.enabled:
                continue
            if server.command is not None:
                yield self.act("program", where, shlex.join(server.command), "", *at, "command")
                yield from self.server_cage(name, grants(server.cage))
            if server.url is not None:
                yield self.act("host", where, server.url, "", *at, "url")
            yield from self._environment(where, server.env, *at)
            if server.cage != "disabled":
                yield from self._environment(where, server.cage.env, *at, "cage")
            for header, value in server.headers.items():
                yield self.act("environment", where, f"{header}: {value}", "", *at, "headers", header)

    def server_cage(self, name: str, granted: Collection[str]) -> Iterator[Act]:
        """Acts of what the cage of an MCP server grants; none of one that is not started."""
        server = self.project.mcp[name]
        for text in granted if server.enabled and server.command is not None else ():
            kind: ActKind = "host" if text.startswith(_NET) else "grant"
            yield self.act(kind, f"{_MCP}{name}", text, "", "mcp", name, "cage")

    def is_of_server_cage(self, act: Act) -> bool:
        """Tell whether an act is one of those of `server_cage`."""
        return act.where.startswith(_MCP) and (act.kind == "grant" or act.text.startswith(_NET))

    def _references(self) -> Iterator[Act]:
        root = Path(self.project.root_dir)
        folders = (Path(file).parent.parent for file in self.project.source_files)
        for folder in dict.fromkeys(folder for folder in folders if folder != root):
            text = display_path(folder, root)
            yield Act("project", "project", text, f"{text}/{CONFIG_FOLDER}/project.yaml", 1)

    def _environment(self, where: str, env: Mapping[str, str], *at: str | int) -> Iterator[Act]:
        for name, value in env.items():
            yield self.act("environment", where, f"{name}={value}", "", *at, "env", name)

    def _prompt(self, where: str, holder: str, files: Sequence[str], *steps: str | int) -> Act:
        """The project file names the last of `files`; those before it take its place where they exist."""
        act = self.act(
            "prompt", where, display_path(Path(files[-1]), Path(self.project.root_dir)), holder, *steps
        )
        known = self.digests or {}
        return replace(act, digest=next((known[file] for file in files if file in known), None))


def hook_place(hook: HookSpec) -> str:
    return f"hooks.{hook.name}"


def uses_of(name: str, actions: Collection[str]) -> tuple[str, ...]:
    """Return a tool's uses: each action, or the tool itself when it has none."""
    return tuple(f"{name}.{action}" for action in actions) or (name,)


def all_uses(agent: CompiledAgent) -> dict[str, tuple[bool, bool]]:
    """Return each use of each tool: whether the agent has it, and whether the project file says so."""
    found: dict[str, tuple[bool, bool]] = {}
    for name, tool in agent.tools.items():
        if not tool.actions:
            found[name] = (tool.enabled, tool.origin.startswith(_SAID))
        for action, state in tool.actions.items():
            found[f"{name}.{action}"] = (tool.enabled and state.enabled, state.origin.startswith(_SAID))
    return found


def asked_uses(agent: CompiledAgent) -> set[str]:
    """Return the uses that the project file turns on; what an agent has by its position is not among them."""
    return {use for use, (enabled, said) in all_uses(agent).items() if enabled and said}


def _values(values: Mapping[str, Any]) -> str:
    return f" {orjson.dumps(values, option=orjson.OPT_SORT_KEYS).decode()}" if values else ""
