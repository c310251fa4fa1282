"""The one way to call a tool, for models and operators alike.

Owns: the order of the steps: look up, principal scope, enabled, validate, capabilities, permission
rules, watchdogs, run, and asking after what an edit broke. Never: what a step decides, or a tool's
own work. Never raises, except `asyncio.CancelledError`, and `CallWaits` when the call waits for a person.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from app.errors import RPC_TOOL_NOT_FOUND, ToolError
from app.observability import Redactor
from app.tools.after_edit.edit_feedback import EditFeedback
from app.tools.after_edit.edit_watch import EditWatch
from app.tools.authorisation.capabilities import check_capabilities
from app.tools.authorisation.permission_rules import check_rules
from app.tools.authorisation.principal import check_principal
from app.tools.authorisation.subjects import path_rule_names
from app.tools.authorisation.watchdog import Watchdog, consult
from app.tools.contract.call import ToolCallContext, ToolEnvelope
from app.tools.contract.definition import NO_OWN_TOOLS, Delegation, OwnTools, ToolDefinition
from app.tools.contract.naming import closest, rule_name
from app.tools.contract.output import envelope_of, without_secrets
from app.tools.dispatch.arguments import misplaced, parse_arguments, validate
from app.tools.dispatch.registry import ToolRegistry
from app.tools.dispatch.wrappers import audited, contained
from app.tools.processes.cage_notes import with_way_out

DIAGNOSTICS_TOOL, DIAGNOSTICS = "code.lsp", "diagnostics"
"""The tool and action that an agent must have for what language servers say after its edits."""


Settle = Callable[[ToolCallContext], Awaitable[tuple[str, ...]]]
"""Returns what a caged caller is to be told of its cage after a call."""


async def nothing_to_tell(_context: ToolCallContext) -> tuple[str, ...]:
    return ()


class ToolService:
    """Dispatches calls to the tools of one registry."""

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        watchdogs: Sequence[Watchdog] = (),
        after_edit: EditFeedback | None = None,
        redactor: Redactor | None = None,
        settle: Settle = nothing_to_tell,
    ) -> None:
        self.registry = registry
        self._settle = settle
        self._redactor = redactor
        self._watchdogs = tuple(watchdogs)
        self._after_edit = after_edit

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str,
        context: ToolCallContext,
        *,
        allowed: Collection[str],
        own: OwnTools = NO_OWN_TOOLS,
    ) -> ToolEnvelope:
        """Call the tool and return its answer, an error being an answer too.

        `arguments` is a JSON object, parsed or as text. `allowed` lists the names that are
        enabled for the calling agent, actions as `tool.action`. `own` are tools that the agent has
        beside the catalogue; their names are in `allowed`, too.
        """

        async def dispatch() -> ToolEnvelope:
            return await self._dispatch(name, arguments, context, allowed, own)

        async def finished() -> ToolEnvelope:
            envelope = await contained(name, dispatch)
            notes = await self._settle(context) if context.cage is not None else ()
            return envelope.with_cage_notes(notes) if notes else envelope

        envelope = await audited(finished, name, arguments, context)
        return envelope if self._redactor is None else without_secrets(envelope, self._redactor)

    async def late_note(self, session_id: str, agent_path: str) -> str | None:
        """Return, once, what language servers said about an agent's edits after their results were
        given; None when there is nothing."""
        return None if self._after_edit is None else await self._after_edit.note(session_id, agent_path)

    async def _dispatch(
        self,
        name: str,
        arguments: Mapping[str, Any] | str,
        context: ToolCallContext,
        allowed: Collection[str],
        own: OwnTools,
    ) -> ToolEnvelope:
        definition = self._resolve(name, context, allowed, own)
        params = validate(definition, parse_arguments(arguments))
        _check_action(definition, params, allowed)
        watch = self._watch(definition, context, allowed)
        if watch is None:
            return await self._answer(definition, params, context, own)
        try:
            envelope = await self._answer(definition, params, replace(context, writes=watch), own)
            return await watch.finished(envelope)
        finally:
            watch.close()

    async def _answer(
        self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext, own: OwnTools
    ) -> ToolEnvelope:
        result = await self._permitted(definition, params, context)
        if isinstance(result, Delegation):
            result = await self._delegated(result, context, own)
        return await envelope_of(definition, result, context)

    def _watch(
        self, definition: ToolDefinition, context: ToolCallContext, allowed: Collection[str]
    ) -> EditWatch | None:
        """Return what is to hear of the call's writes, for agents that may ask for diagnostics."""
        asking = self.registry.get(DIAGNOSTICS_TOOL)
        if self._after_edit is None or definition.read_only or asking is None:
            return None
        if f"{DIAGNOSTICS_TOOL}.{DIAGNOSTICS}" not in allowed:
            return None

        async def may_read(path: str) -> bool:
            try:
                params = validate(asking, {"action": DIAGNOSTICS, "path": path})
                await self._authorised(asking, params, replace(context, headless=True))
            except ToolError:
                return False
            return True

        return self._after_edit.watch(context, may_read)

    async def _permitted(
        self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext
    ) -> BaseModel | Delegation:
        try:
            context = await self._authorised(definition, params, context)
            return await definition.run(params, context)
        except ToolError as error:
            raise with_way_out(misplaced(definition, error), context) from None

    async def _authorised(
        self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext
    ) -> ToolCallContext:
        """Return the context to run the call with. Raises ToolError when a layer refuses it."""
        effects = definition.effects(params)
        tools = tuple(map(rule_name, _names(definition, params)))
        check_capabilities(definition, effects, context)
        context = replace(context, tool_names=path_rule_names(tools, effects), consented=frozenset())
        context = await check_rules(definition, tools, effects, context)
        await consult(self._watchdogs, definition, params, context)
        return context

    async def _delegated(self, delegation: Delegation, context: ToolCallContext, own: OwnTools) -> BaseModel:
        """Run the call that a tool left to another one, with all that such a call must pass."""
        definition = self.find(delegation.tool, own)
        if definition is None:
            raise LookupError(f"there is no tool {delegation.tool!r} to delegate to")
        try:
            params = delegation.adjust(validate(definition, delegation.arguments))
            result = await self._permitted(definition, params, context)
        except ToolError as error:
            raise delegation.explain(error) from None
        if isinstance(result, Delegation):
            raise TypeError(f"{delegation.tool} must not delegate what was delegated to it")
        return delegation.finish(result)

    def find(self, name: str, own: OwnTools = NO_OWN_TOOLS) -> ToolDefinition | None:
        """Return the tool that an agent means by a name; what is in the catalogue goes first."""
        return self.registry.get(name) or own.get(name)

    def _check_is_no_action(self, name: str) -> None:
        """Raise ToolError `tool_not_found` that says how to call a tool's action when a name is one."""
        owner, _, action = name.rpartition(".")
        tool = self.registry.get(owner) if owner else None
        if tool is not None and name in tool.qualified_names:
            raise ToolError(
                "tool_not_found",
                f"{name} is an action of {owner}: call {owner} with action {action!r}",
                detail={"closest": [owner], "action": action},
                rpc_code=RPC_TOOL_NOT_FOUND,
            )

    def _resolve(
        self, name: str, context: ToolCallContext, allowed: Collection[str], own: OwnTools
    ) -> ToolDefinition:
        definition = self.find(name, own)
        if definition is None:
            self._check_is_no_action(name)
            raise _not_found(f"there is no tool called {name[:100]!r}", name, allowed)
        check_principal(definition, context)
        if not any(one in allowed for one in definition.qualified_names):
            raise _not_found(f"{name} is not enabled for this agent", name, allowed)
        return definition


def _check_action(definition: ToolDefinition, params: BaseModel, allowed: Collection[str]) -> None:
    if not definition.actions:
        return
    action = _names(definition, params)[-1]
    if action not in allowed:
        raise _not_found(f"{action} is not enabled for this agent", action, allowed)


def _names(definition: ToolDefinition, params: BaseModel) -> tuple[str, ...]:
    """The tool's name, and its action's where it has actions."""
    if not definition.actions:
        return (definition.name,)
    return definition.name, f"{definition.name}.{getattr(params, 'action', '')}"


def _not_found(message: str, name: str, allowed: Collection[str]) -> ToolError:
    near = closest(name, allowed)
    hint = f"; the closest are {', '.join(near)}" if near else ""
    return ToolError(
        "tool_not_found",
        (message + hint).encode("utf-8", "replace").decode(),
        detail={"closest": near},
        rpc_code=RPC_TOOL_NOT_FOUND,
    )
