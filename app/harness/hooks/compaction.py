"""`pre_compact` and `post_compact`: the plugins of the agent whose context is compacted.

Owns: asking observers in the order of the project file and the compactor by its name, and reading what
they answer. Never: what is taken away (`harness/compaction`), or believing a compactor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from app.bridges.plugins.calls import HookOutcome
from app.harness.compaction.ports import (
    CompactorAnswer,
    CompactorFailed,
    ObserverAnswer,
    PostCompact,
    PreCompact,
    ResultKind,
)
from app.harness.hooks.agent_plugins import AgentPlugins, Caller, Declared, HookName
from app.harness.run.run_context import RunContext

MAX_RETAINED = 10_000
MAX_INJECTED = 16 * 1024
"""Characters of a summary that one plugin may have."""
MAX_TOLD = 8 * 1024 * 1024
"""Characters of messages that a plugin is sent; beyond, the longest ones are cut."""


class CompactionHooks:
    """The plugins of the agents whose contexts are compacted. Fills `compaction.ports.CompactorPlugins`."""

    def __init__(self, plugins: AgentPlugins) -> None:
        self._plugins = plugins

    async def pre_compact(self, run: RunContext, notice: PreCompact) -> Sequence[ObserverAnswer]:
        """Ask every observer, in the order declared; one that fails answers `error`."""
        observers = await self._plugins.with_hook(Caller.of(run.scope), "pre_compact")
        if not observers:
            return ()
        params = await asyncio.to_thread(_before, notice)
        return [await self._observe(run, one, "pre_compact", params, notice.dry_run) for one in observers]

    async def compact(self, run: RunContext, plugin: str, notice: PreCompact) -> CompactorAnswer:
        """Ask the compactor. Raises `CompactorFailed`."""
        caller = Caller.of(run.scope)
        for declared in await self._plugins.with_hook(caller, "pre_compact", role="compactor"):
            if declared.name == plugin:
                break
        else:
            raise CompactorFailed(f"the agent has no plugin {plugin!r} that can be used as compactor")
        params = await asyncio.to_thread(_before, notice, whole=True)
        context = caller.context(dry_run=notice.dry_run)
        outcome = await self._plugins.fire(declared, "pre_compact", params, context, role="compactor")
        if outcome.kind != "result":
            reason = outcome.error or "it answered nothing"
            raise CompactorFailed(f"the plugin {plugin} ({outcome.kind}): {reason}", outcome.duration_ms)
        return CompactorAnswer(outcome.duration_ms, outcome.result)

    async def post_compact(self, run: RunContext, notice: PostCompact) -> Sequence[ObserverAnswer]:
        """Tell every observer; what they answer is not asked for."""
        params = {
            "compaction_id": notice.compaction_id,
            "trigger": notice.trigger,
            "strategy": notice.strategy,
            "method": notice.method,
            "after_estimate": notice.after_estimate,
            "superseded_message_ids": list(notice.superseded_message_ids),
            "summary_message_id": notice.summary_message_id,
            "summary": notice.summary,
        }
        observers = await self._plugins.with_hook(Caller.of(run.scope), "post_compact")
        return [await self._observe(run, one, "post_compact", params, False) for one in observers]

    async def _observe(
        self, run: RunContext, plugin: Declared, hook: HookName, params: dict[str, Any], dry_run: bool
    ) -> ObserverAnswer:
        context = Caller.of(run.scope).context(dry_run=dry_run)
        outcome = await self._plugins.fire(plugin, hook, params, context)
        if outcome.kind != "result" or hook == "post_compact":
            kind: ResultKind = "null" if outcome.kind in ("null", "result") else "error"
            return ObserverAnswer(plugin.name, outcome.duration_ms, kind)
        problem = _problem(outcome.result)
        if problem is not None:
            self._plugins.malformed(plugin, hook, context, problem)
            return ObserverAnswer(plugin.name, outcome.duration_ms, "error")
        return _answer(plugin.name, outcome)


def _problem(result: dict[str, Any]) -> str | None:
    retain, inject = result.get("retain"), result.get("inject")
    if retain is not None:
        if not isinstance(retain, list) or not all(isinstance(one, str) for one in retain):
            return "`retain` is no list of message ids"
        if len(retain) > MAX_RETAINED:
            return f"`retain` has {len(retain)} ids, {MAX_RETAINED} are allowed"
    if inject is not None and not isinstance(inject, str):
        return "`inject` is no text"
    return None


def _answer(name: str, outcome: HookOutcome) -> ObserverAnswer:
    retain = tuple(outcome.result.get("retain") or ())
    inject = (outcome.result.get("inject") or "").strip()
    if len(inject) > MAX_INJECTED:
        inject = f"{inject[:MAX_INJECTED]}\n[cut: {len(inject) - MAX_INJECTED} more characters]"
    kind: ResultKind = "inject" if inject else "retain" if retain else "null"
    return ObserverAnswer(name, outcome.duration_ms, kind, retain, inject or None)


def _before(notice: PreCompact, *, whole: bool = False) -> dict[str, Any]:
    """Return what a plugin is sent before a compaction. An observer gets what may go, a compactor the
    whole conversation, too."""
    params: dict[str, Any] = {
        "compaction_id": notice.compaction_id,
        "trigger": notice.trigger,
        "strategy": notice.strategy,
        "threshold_estimate": notice.threshold_estimate,
        "target_estimate": notice.target_estimate,
        "messages_being_compacted": bounded(notice.messages_being_compacted, MAX_TOLD // 2),
    }
    if whole:
        params["messages"] = bounded(notice.messages, MAX_TOLD // 2)
    return params


def bounded(messages: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """Return the messages with texts and arguments cut so that all of them fit."""
    sizes = sorted(len(message["content"]) + _arguments_size(message) for message in messages)
    if sum(sizes) <= limit:
        return messages
    left, longest = limit, 0
    for number, size in enumerate(sizes):  # the largest bound under which everything fits
        longest = left // (len(sizes) - number)
        if size > longest:
            break
        left -= size
    return [_cut(message, longest) for message in messages]


def _arguments_size(message: dict[str, Any]) -> int:
    return sum(len(str(call.get("arguments"))) for call in message.get("tool_calls", ()))


def _cut(message: dict[str, Any], longest: int) -> dict[str, Any]:
    if len(message["content"]) + _arguments_size(message) <= longest:
        return message
    cut = {**message, "content": message["content"][:longest], "truncated": True}
    if "tool_calls" in cut:
        cut["tool_calls"] = [{**call, "arguments": None} for call in cut["tool_calls"]]
    return cut
