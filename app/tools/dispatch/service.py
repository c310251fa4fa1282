"""Calls tools, for models and operators alike.

Owns: the order of steps: look up, scope, enabled, validate, capabilities, rules, watchdogs, hooks, run,
follow. Never: a step's decision.

`ToolService.call` raises nothing but `asyncio.CancelledError`, and `CallWaits` when the call waits for a
person.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pydantic import BaseModel

from app.errors import RPC_TOOL_NOT_FOUND, ToolError
from app.nearest_names import closest
from app.observability import Redactor
from app.tools.authorisation.capabilities import check_capabilities, check_principal
from app.tools.authorisation.permission_rules import check_rules
from app.tools.authorisation.subjects import path_rule_names
from app.tools.authorisation.watchdog import Watchdog, consult
from app.tools.contract.call import PathConsent, ToolCallContext, ToolEnvelope
from app.tools.contract.definition import NO_OWN_TOOLS, Delegation, Effects, OwnTools, ToolDefinition
from app.tools.contract.naming import rule_name, wire_name
from app.tools.contract.output import envelope_of, without_secrets
from app.tools.contract.ports import WriteObserver
from app.tools.dispatch.arguments import misplaced, parse_arguments, validate
from app.tools.dispatch.hooks import CallHooks, Hooks
from app.tools.dispatch.registry import ToolRegistry
from app.tools.dispatch.wrappers import audited, contained
from app.tools.processes.cage_notes import with_way_out

Settle = Callable[[ToolCallContext], Awaitable[tuple[str, ...]]]
"""Returns the notes on its cage that a caged caller gets after a call."""
MayCall = Callable[[str, dict[str, Any]], Awaitable[bool]]
"""Tells whether the caller may call a tool with these arguments, without asking a person."""


class CallObserver(WriteObserver, Protocol):
    """Observes the writes of one call."""

    async def finished(self, envelope: ToolEnvelope) -> ToolEnvelope:
        """Return the answer with what the observer adds to it."""

    def close(self) -> None:
        """The call is over."""


class AfterEdit(Protocol):
    """Adds to the answers of calls that write files. `after_edit.edit_feedback` implements it."""

    def follow(
        self, context: ToolCallContext, allowed: Collection[str], may_call: MayCall
    ) -> CallObserver | None:
        """Return the observer of a call that may write, if it is to have one."""

    async def note(self, session_id: str, agent_path: str) -> str | None:
        """Return, once, what came after the answers to an agent's calls; None for nothing."""


async def no_notes(_context: ToolCallContext) -> tuple[str, ...]:
    return ()


class ToolService:
    def __init__(
        self,
        registry: ToolRegistry,
        *,
        watchdogs: Sequence[Watchdog] = (),
        after_edit: AfterEdit | None = None,
        hooks: Hooks | None = None,
        redactor: Redactor | None = None,
        settle: Settle = no_notes,
    ) -> None:
        self.registry = registry
        self._settle = settle
        self._redactor = redactor
        self._watchdogs = tuple(watchdogs)
        self._after_edit = after_edit
        self._hooks = hooks

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str,
        context: ToolCallContext,
        *,
        allowed: Collection[str],
        own: OwnTools = NO_OWN_TOOLS,
    ) -> ToolEnvelope:
        """Call the tool and return its answer, which may be an error. `arguments` is a JSON object, parsed or
        as text. `allowed` are the names enabled for the agent, actions as `tool.action`. `own` are tools
        beside the catalogue; their names are in `allowed`, too."""

        async def dispatch() -> ToolEnvelope:
            return await self._dispatch(name, arguments, context, allowed, own)

        async def finished() -> ToolEnvelope:
            envelope = await contained(name, dispatch)
            notes = await self._settle(context) if context.cage is not None else ()
            return envelope.with_cage_notes(notes) if notes else envelope

        envelope = await audited(finished, name, arguments, context)
        return envelope if self._redactor is None else without_secrets(envelope, self._redactor)

    async def refusal(
        self,
        name: str,
        arguments: dict[str, Any],
        context: ToolCallContext,
        *,
        allowed: Collection[str],
    ) -> str | None:
        """Return why a call is not one that its caller may make without a question; None when it is one.
        Nothing is run, and no hook is asked."""
        context = replace(context, headless=True)
        try:
            definition = self._resolve(name, context, allowed, NO_OWN_TOOLS)
            params = validate(definition, arguments)
            _check_action(definition, params, allowed)
            await self._authorised(definition, params, context)
        except ToolError as error:
            return error.message
        return None

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
        watch = self._observer(definition, context, allowed)
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
        hooks = None if self._hooks is None else self._hooks.of_call(context)
        try:
            result = await self._permitted(definition, params, context, hooks)
            if isinstance(result, Delegation):
                result = await self._delegated(result, context, own, hooks)
            envelope = await envelope_of(definition, result, context)
        except ToolError as error:
            if hooks is None:
                raise
            envelope = await hooks.after(ToolEnvelope.of_error(error))
            if envelope.metadata.hook_notes is None:
                raise
            return envelope
        return envelope if hooks is None else await hooks.after(envelope)

    def _observer(
        self, definition: ToolDefinition, context: ToolCallContext, allowed: Collection[str]
    ) -> CallObserver | None:
        if self._after_edit is None or definition.read_only:
            return None

        async def may_call(name: str, arguments: dict[str, Any]) -> bool:
            tool = self.registry.get(name)
            if tool is None:
                return False
            try:
                await self._authorised(tool, validate(tool, arguments), replace(context, headless=True))
            except ToolError:
                return False
            return True

        return self._after_edit.follow(context, allowed, may_call)

    async def _permitted(
        self,
        definition: ToolDefinition,
        params: BaseModel,
        context: ToolCallContext,
        hooks: CallHooks | None,
    ) -> BaseModel | Delegation:
        try:
            context = await self._authorised(definition, params, context)
            if hooks is not None:
                effects, tools = _use(definition, params)
                await hooks.before(definition, tools, effects, params, context)
            return await definition.run(params, context)
        except ToolError as error:
            raise with_way_out(misplaced(definition, error), context) from None

    async def _authorised(
        self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext
    ) -> ToolCallContext:
        """Return the context to run the call with. Raises ToolError when a layer refuses it."""
        effects, tools = _use(definition, params)
        check_capabilities(definition, effects, context)
        context = replace(context, paths=PathConsent(path_rule_names(tools, effects)))
        context = await check_rules(definition, tools, effects, context)
        await consult(self._watchdogs, definition, params, context)
        return context

    async def _delegated(
        self, delegation: Delegation, context: ToolCallContext, own: OwnTools, hooks: CallHooks | None
    ) -> BaseModel:
        """Run the call that a tool left to another one, with all that such a call must pass."""
        named = delegation.tool
        definition = self.find(named, own) if isinstance(named, str) else named
        if definition is None:
            raise LookupError(f"there is no tool {named!r} to delegate to")
        try:
            params = delegation.adjust(validate(definition, delegation.arguments))
            result = await self._permitted(definition, params, context, hooks)
        except ToolError as error:
            raise delegation.explain(error) from None
        if isinstance(result, Delegation):
            raise TypeError(f"{definition.name} must not delegate what was delegated to it")
        return delegation.finish(result)

    def find(self, name: str, own: OwnTools = NO_OWN_TOOLS) -> ToolDefinition | None:
        """Return the tool that an agent means by a name; what is in the catalogue goes first."""
        return self.registry.get(name) or own.get(name)

    def _check_is_no_action(self, name: str) -> None:
        """Raise ToolError `tool_not_found` that says how to call a tool's action when a name is one."""
        if (found := self._action(name)) is not None:
            owner, action = found
            raise ToolError(
                "tool_not_found",
                f"{name} is an action of {owner}: call {owner} with action {action!r}",
                detail={"closest": [owner], "action": action},
                rpc_code=RPC_TOOL_NOT_FOUND,
            )

    def _action(self, name: str) -> tuple[str, str] | None:
        """Return tool and action that a name stands for, spelled with dots or as providers are sent names."""
        wanted = wire_name(name)
        actions = ((tool.name, one) for tool in self.registry.definitions() for one in tool.actions)
        return next((pair for pair in actions if wire_name(".".join(pair)) == wanted), None)

    def _calls(self, name: str) -> str:
        """Return a name as it can be called: an action with its tool."""
        found = self._action(name)
        return name if found is None else f"{found[0]} with action {found[1]!r}"

    def _resolve(
        self, name: str, context: ToolCallContext, allowed: Collection[str], own: OwnTools
    ) -> ToolDefinition:
        definition = self.find(name, own)
        if definition is None:
            self._check_is_no_action(name)
            raise _not_found(f"there is no tool called {name[:100]!r}", name, allowed, self._calls)
        check_principal(definition, context)
        if not any(one in allowed for one in definition.qualified_names):
            raise _not_found(f"{name} is not enabled for this agent", name, allowed, self._calls)
        return definition


def _check_action(definition: ToolDefinition, params: BaseModel, allowed: Collection[str]) -> None:
    if not definition.actions:
        return
    action = _names(definition, params)[-1]
    also = [one for one in definition.effects(params).judged_as if one in definition.qualified_names]
    for needed in (action, *also):
        if needed not in allowed:
            raise _not_found(f"{needed} is not enabled for this agent", needed, allowed)


def _use(definition: ToolDefinition, params: BaseModel) -> tuple[Effects, tuple[str, ...]]:
    """Return what a call touches, and the names of tools and actions whose rules apply to it."""
    effects = definition.effects(params)
    names = (*_names(definition, params), *effects.judged_as)
    return effects, tuple(dict.fromkeys(map(rule_name, names)))


def _names(definition: ToolDefinition, params: BaseModel) -> tuple[str, ...]:
    """The tool's name, and its action's where it has actions."""
    if not definition.actions:
        return (definition.name,)
    return definition.name, f"{definition.name}.{getattr(params, 'action', '')}"


def _not_found(
    message: str, name: str, allowed: Collection[str], calls: Callable[[str], str] = str
) -> ToolError:
    near = closest(name, allowed)
    hint = f"; the closest are {', '.join(map(calls, near))}" if near else ""
    return ToolError(
        "tool_not_found",
        (message + hint).encode("utf-8", "replace").decode(),
        detail={"closest": near},
        rpc_code=RPC_TOOL_NOT_FOUND,
    )
