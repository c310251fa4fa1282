"""The tools that MCP servers give to an agent.

Owns: which servers and tools the agent has: those that its `tools` enable by the server's name; how long a
session's list of them stays the same; a call's progress and questions. Never: what a tool is made of, or
connections.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from app.bridges.mcp.entries import Answer, Listing, RemoteTool, ServerEntry
from app.bridges.mcp.manager import CallClock, McpServers
from app.bridges.mcp.problems import unavailable
from app.bridges.processes.supervised_child import Unavailable
from app.errors import KagedError
from app.harness.dsl.compiled import CompiledAgent
from app.harness.dsl.spec import ToolOverride
from app.harness.dsl.tool_resolution import server_prefix
from app.harness.hooks.agent_plugins import Caller
from app.harness.hooks.declared_servers import Declared, DeclaredServers
from app.harness.hooks.plugin_tools import override_of
from app.harness.projects.projects import ProjectRegistry
from app.tools.agents.definition import agent_tool_name
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolDefinition
from app.tools.contract.ports import CallWaits, HumanQuestion
from app.tools.dispatch.registry import ToolRegistry
from app.tools.external.server import server_tool, taken_names, tool_name
from app.tools.external.server_content import PROMPTS, RESOURCES, prompts_tool, resources_tool
from app.workspace.globs import text_matches

log = logging.getLogger("kaged.mcp")

MAX_SESSIONS = 10_000
_PROGRESS_SECONDS = 0.2
_Listed = dict[str, tuple[ServerEntry, Listing]]


class AgentServers:
    """The MCP servers of all agents. One instance; closing it ends the connections."""

    def __init__(
        self,
        servers: McpServers,
        declared: DeclaredServers,
        registry: ToolRegistry,
        projects: ProjectRegistry,
    ) -> None:
        self.servers = servers
        self._declared = declared
        self._registry = registry
        self._projects = projects
        self._fixed: dict[tuple[str, str], asyncio.Task[_Listed]] = {}
        self._checks: set[asyncio.Task[None]] = set()

    async def declared(self, project_id: str) -> list[Declared]:
        """Return the declarations of a trusted project. Raises what `ProjectRegistry.compiled` raises."""
        project, root = self._projects.compiled(project_id), self._projects.root_of(project_id)
        return await asyncio.to_thread(self._declared.at, project, root)

    async def tools(self, caller: Caller, taken: Collection[str] = ()) -> dict[str, ToolDefinition]:
        """Return the enabled tools of the agent's servers by name; `taken` are names of its other tools."""
        wanted = _wanted(caller.agent)
        if not wanted:
            return {}
        listed = await self._listed(caller, wanted)
        children = (agent_tool_name(key) for key in caller.agent.children)
        names = taken_names((*self._registry.names(), *children, *taken, RESOURCES, PROMPTS))
        found: dict[str, ToolDefinition] = {}
        for server in sorted(listed):
            entry, listing = listed[server]
            for tool in listing.tools:
                name = tool_name(server, tool.name, names)
                override = enabled_override(caller.agent, server, f"{server}_{tool.name}", name)
                names.add(name)
                if override is not None and name not in found:
                    found[name] = self._tool(caller, entry, tool, name, override)
        return found | self._content_tools(caller, listed)

    async def _listed(self, caller: Caller, wanted: Collection[str]) -> _Listed:
        """Return what the servers of an agent offer: in a session, those that it had at its first request;
        without one, what is known of them. What comes later changes no request's list (`tool_loading`)."""
        if caller.session_id is None:
            entries = await self._entries(caller, wanted)
            known = {one.name: self.servers.known_listing(caller.project_id, one) for one in entries}
            return {one.name: (one, listing) for one in entries if (listing := known[one.name]) is not None}
        key = (caller.session_id, caller.agent.path)
        task = self._fixed.get(key)
        if task is not None and task.done() and not task.cancelled() and task.exception() is None:
            return await self._again(caller, task.result())
        if task is None or task.done():
            while len(self._fixed) >= MAX_SESSIONS:
                self._fixed.pop(next(iter(self._fixed))).cancel()
            task = asyncio.create_task(self._ask_all(caller, wanted), name=f"mcp tools of {key[0]}")
            self._fixed[key] = task
        return await asyncio.shield(task)

    async def _again(self, caller: Caller, listed: _Listed) -> _Listed:
        """Return what the servers of a session offer now."""
        root = caller.project_root
        found = await asyncio.gather(
            *(self.servers.listing_now(caller.project_id, root, entry) for entry, _ in listed.values())
        )
        return {
            name: (entry, now or before)
            for (name, (entry, before)), now in zip(listed.items(), found, strict=True)
        }

    async def _ask_all(self, caller: Caller, wanted: Collection[str]) -> _Listed:
        """Ask each server what it offers now, all at once. One that does not answer gives what it offered
        last, so that its tools say that it is unavailable."""
        entries = await self._entries(caller, wanted)
        listings = await asyncio.gather(*(self._ask(caller, one) for one in entries))
        return {
            one.name: (one, found) for one, found in zip(entries, listings, strict=True) if found is not None
        }

    async def _ask(self, caller: Caller, entry: ServerEntry) -> Listing | None:
        try:
            return await self.servers.listing(caller.project_id, caller.project_root, entry)
        except Unavailable as problem:
            log.warning("mcp server %s is unavailable: %s", entry.name, problem.reason)
            return self.servers.known_listing(caller.project_id, entry)

    async def _entries(self, caller: Caller, wanted: Collection[str]) -> list[ServerEntry]:
        """Return the entries of the servers whose tools an agent enables."""
        entries = []
        for one in await self.declared(caller.project_id):
            if not any(prefix.startswith(f"{one.name}_") for prefix in wanted):
                continue
            if one.entry is not None:
                entries.append(one.entry)
            else:
                log.warning("mcp server %s cannot be used: %s", one.name, one.problem)
        return entries

    def _tool(
        self, caller: Caller, entry: ServerEntry, tool: RemoteTool, name: str, override: ToolOverride
    ) -> ToolDefinition:
        async def call(params: Mapping[str, Any], context: ToolCallContext) -> Answer:
            return await self._call(caller, entry, tool.name, params, context)

        return server_tool(entry, tool, name, call, description=override.description)

    async def _call(
        self,
        caller: Caller,
        entry: ServerEntry,
        tool: str,
        params: Mapping[str, Any],
        context: ToolCallContext,
    ) -> Answer:
        clock = CallClock()
        asking = _Asking(entry.name, context, clock)
        progress = _Progress(context)
        current = await self._current(caller, entry)
        answer = await self.servers.call(
            caller.project_id,
            caller.project_root,
            current,
            tool,
            lambda connection: connection.call(tool, params, progress.report, asking.ask),
            clock,
        )
        if asking.waits is not None:
            raise asking.waits
        return answer

    async def _current(self, caller: Caller, entry: ServerEntry) -> ServerEntry:
        """Return the present declaration of a server that a session knows. Raises ToolError when it is gone,
        or when what rules and readers were told of it is no longer true."""
        declared = await self.declared(caller.project_id)
        found = next((one for one in declared if one.name == entry.name), None)
        if found is None or found.entry is None:
            reason = "it is not declared any more" if found is None else found.problem or ""
            raise unavailable(entry.name, reason)
        if (found.entry.url, found.entry.cage) != (entry.url, entry.cage):
            raise unavailable(entry.name, "its declaration has changed; a new session can use it")
        return found.entry

    def _content_tools(self, caller: Caller, listed: _Listed) -> dict[str, ToolDefinition]:
        """Return the tools for resources and prompts, where the servers of an agent have some."""

        async def ask(entry: ServerEntry, tool: str, request: Callable[[Any], Awaitable[Any]]) -> Any:
            current = await self._current(caller, entry)
            root = caller.project_root
            return await self.servers.call(caller.project_id, root, current, tool, request)

        found: dict[str, ToolDefinition] = {}
        for name, build, offering in (
            (RESOURCES, resources_tool, {key: one for key, one in listed.items() if one[1].resources}),
            (PROMPTS, prompts_tool, {key: one for key, one in listed.items() if one[1].prompts}),
        ):
            override = override_of(caller.agent, name)
            if not offering or (override is not None and not override.enabled):
                continue
            found[name] = build(ask, {key: entry for key, (entry, _) in sorted(offering.items())})
        return found

    def reloaded(self, project_id: str) -> None:
        """End the connections to servers that a project does not declare any more."""
        task = asyncio.create_task(self._keep_declared(project_id), name=f"mcp servers of {project_id}")
        self._checks.add(task)
        task.add_done_callback(self._checks.discard)

    async def _keep_declared(self, project_id: str) -> None:
        try:
            declared = await self.declared(project_id)
        except KagedError:
            return  # it is not loaded, or not trusted: who says so ends its servers
        self.servers.keep_only(project_id, [one.entry for one in declared if one.entry is not None])

    async def close_session(self, session_id: str) -> None:
        """Forget the list of tools of a session."""
        tasks = [self._fixed.pop(key) for key in [one for one in self._fixed if one[0] == session_id]]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def aclose(self) -> None:
        tasks: list[asyncio.Task[Any]] = [*self._fixed.values(), *self._checks]
        self._fixed.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.servers.aclose()


class _Progress:
    """Shows the progress of one call, a few times a second at most."""

    def __init__(self, context: ToolCallContext) -> None:
        self._context = context
        self._shown_at = 0.0

    async def report(self, text: str) -> None:
        now = time.monotonic()
        if now - self._shown_at >= _PROGRESS_SECONDS:
            self._shown_at = now
            await self._context.ports.progress(text)


class _Asking:
    """Puts the questions of a server to a person, while the time of the call stands still. `waits` is set
    when the run was stopped before there was an answer."""

    def __init__(self, server: str, context: ToolCallContext, clock: CallClock) -> None:
        self._server = server
        self._context = context
        self._clock = clock
        self.waits: CallWaits | None = None

    async def ask(self, form: dict[str, Any]) -> Mapping[str, Any] | None:
        if self._context.headless:
            return None
        summary = f"The MCP server {self._server} asks, and gets what you send: {form['summary']}"
        self._clock.stop()
        try:
            question = HumanQuestion("form", {**form, "summary": summary}, within_call=True)
            answer = await self._context.ports.ask(question)
        except CallWaits as waits:
            self.waits = waits
            return None
        finally:
            self._clock.go_on()
        values = answer.get("values")
        return values if isinstance(values, dict) else None


def _wanted(agent: CompiledAgent) -> list[str]:
    """Return the beginnings of the names that an agent's `tools` enable."""
    found = (server_prefix(pattern) for pattern, one in agent.plugin_tools.items() if one.enabled)
    return [prefix for prefix in found if prefix is not None]


def enabled_override(agent: CompiledAgent, server: str, plain: str, name: str) -> ToolOverride | None:
    """Return what enables a tool of a server for an agent, None when nothing does. Entries may name the tool
    as it is called, or by the server's own name of it; a glob must name the server."""
    named = {pattern: one for pattern, one in agent.plugin_tools.items() if pattern.startswith(f"{server}_")}
    own = agent.model_copy(update={"plugin_tools": named})
    override = override_of(own, name) or (override_of(own, plain) if plain != name else None)
    bound = agent.plugin_tools_within
    if override is None or not override.enabled:
        return None
    if bound is not None and not any(
        text_matches(one, pattern) for pattern in bound for one in (name, plain)
    ):
        return None
    return override
