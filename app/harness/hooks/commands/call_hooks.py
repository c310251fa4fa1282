"""The hooks of one tool call: which of them are for it, and what their answers do to it.

Owns: matching by the subjects that permission rules judge, denial and question before the call, notes
after it. Never: running a process, or allowing what another layer refuses.
Keeps S4 of docs/security.md.

A hook before a call fails closed: when it cannot be run, hangs or breaks, the call does not run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from app.errors import ToolError
from app.harness.hooks.commands.answer import HookAnswer, in_marks
from app.harness.hooks.commands.hook import CommandHook
from app.harness.hooks.commands.input import HookInput, arguments_of
from app.harness.hooks.commands.reports import report_of
from app.harness.hooks.commands.running import HookRun
from app.tools.authorisation.decision import RuleBook
from app.tools.authorisation.subjects import subjects_of
from app.tools.contract.call import ToolCallContext, ToolEnvelope
from app.tools.contract.definition import Effects, ToolDefinition
from app.tools.contract.modes import mode_of
from app.tools.contract.rules import ConsentRequest, PermissionRule, Subject

CODE = "hook_denied"
PERMISSION = "hook"
MAX_SUBJECTS = 20
Ask = Callable[[CommandHook, HookInput], Awaitable[tuple[HookRun, HookAnswer]]]
"""Runs a hook and reads its answer."""


@dataclass(frozen=True, slots=True)
class _Use:
    """A use of a tool that a hook after the call is for."""

    hook: CommandHook
    tool: str
    arguments: dict[str, Any]


class CommandCallHooks:
    """The hooks of one call; made for each."""

    def __init__(self, hooks: Sequence[CommandHook], context: ToolCallContext, ask: Ask) -> None:
        self._before = [hook for hook in hooks if hook.event == "before_tool"]
        self._after = [hook for hook in hooks if hook.event == "after_tool"]
        self._context = context
        self._ask = ask
        self._ran: set[tuple[str, str]] = set()
        self._due: dict[tuple[str, str], _Use] = {}
        self._notes: list[str] = []

    async def before(
        self,
        definition: ToolDefinition,
        tools: tuple[str, ...],
        effects: Effects,
        params: BaseModel,
        context: ToolCallContext,
    ) -> None:
        """Run the hooks for a permitted use of a tool, the operator's first."""
        self._context = context
        subjects = await self._subjects(definition, tools, effects)
        arguments = arguments_of(params)
        for hook in self._before:
            if hook.key not in self._ran and covers(hook, subjects):
                self._ran.add(hook.key)
                await self._judged(hook, definition, arguments, subjects)
        for hook in self._after:
            if covers(hook, subjects):
                self._due.setdefault(hook.key, _Use(hook, definition.name, arguments))

    async def after(self, envelope: ToolEnvelope) -> ToolEnvelope:
        """Run the hooks that are due, and return the answer with all words of hooks."""
        for use in self._due.values():
            subject = {
                "tool": use.tool,
                "call_id": self._context.call_id,
                "arguments": use.arguments,
                "result": envelope.data if not envelope.is_error else envelope.error_text,
                "is_error": envelope.is_error,
            }
            run, answer = await self._ask(use.hook, self._input(subject))
            objects = answer.decision in ("deny", "ask")
            decision = "deny" if objects else "warning" if answer.decision == "failed" else "continue"
            self._report(use.hook, run, answer, decision, use.tool)
            words = answer.reason if objects else answer.context
            if words:
                self._notes.append(in_marks(use.hook, words))
        return envelope.with_hook_notes(tuple(self._notes)) if self._notes else envelope

    async def _judged(
        self,
        hook: CommandHook,
        definition: ToolDefinition,
        arguments: dict[str, Any],
        subjects: Sequence[Subject],
    ) -> None:
        tool = definition.name
        subject = {"tool": tool, "call_id": self._context.call_id, "arguments": arguments}
        run, answer = await self._ask(hook, self._input(subject))
        match answer.decision:
            case "continue":
                self._report(hook, run, answer, "continue", tool)
                if answer.context:
                    self._notes.append(in_marks(hook, answer.context))
            case "ask":
                self._report(hook, run, answer, "ask", tool)
                await self._put_to_operator(hook, answer, tool, subjects)
            case "deny":
                self._report(hook, run, answer, "deny", tool)
                raise self._denied(hook, f"denies this call: {answer.reason}")
            case "failed":
                self._report(hook, run, answer, "deny", tool)
                raise self._denied(
                    hook,
                    f"did not decide about this call, so the call does not run: {answer.reason}. "
                    "The operator repairs or removes the hook",
                )

    async def _put_to_operator(
        self, hook: CommandHook, answer: HookAnswer, tool: str, subjects: Sequence[Subject]
    ) -> None:
        if self._context.headless:
            raise self._denied(
                hook, f"wants the operator's approval, and this run cannot ask: {answer.reason}"
            )
        texts = tuple(dict.fromkeys(one.text or tool for one in subjects))[:MAX_SUBJECTS]
        request = ConsentRequest(
            tool=tool,
            permission=PERMISSION,
            subjects=texts,
            reason=f"Hook `{hook.name}` asks for approval: {answer.reason}",
            source="hook",
        )
        if await self._context.ports.consent(request) not in {"once", "always"}:
            raise self._denied(hook, f"asked for approval, and the operator refused: {answer.reason}")

    async def _subjects(
        self, definition: ToolDefinition, tools: tuple[str, ...], effects: Effects
    ) -> tuple[Subject, ...]:
        if effects.reads or effects.writes or effects.commands:
            return await asyncio.to_thread(subjects_of, definition, tools, effects, self._context)
        return subjects_of(definition, tools, effects, self._context)

    def _input(self, subject: dict[str, Any]) -> HookInput:
        context = self._context
        mode = mode_of(context.rules)
        root = context.project_root
        return HookInput(context.session_id, context.agent_path, context.run_id, subject, mode, root)

    def _report(self, hook: CommandHook, run: HookRun, answer: HookAnswer, decision: Any, tool: str) -> None:
        report = report_of(hook, run, decision, answer, tool=tool, call_id=self._context.call_id)
        self._context.ports.hook_ended(report)

    def _denied(self, hook: CommandHook, what: str) -> ToolError:
        self._due.clear()
        self._notes.clear()
        return ToolError(
            CODE,
            f"The hook {hook.name} {what}",
            detail={"needed": "a call that the hook lets pass", "hook": hook.name, "source": hook.source},
        )


def covers(hook: CommandHook, subjects: Sequence[Subject]) -> bool:
    """Tell whether a hook is for a call with these subjects: whether a rule that denies with the same words
    would deny or doubt one of them."""
    if not hook.spec.match:
        return True
    rules = [PermissionRule(one.permission, one.pattern, "deny", "manifest") for one in hook.spec.match]
    return any(
        RuleBook(rules, subject.tools, subject.capability).decide(subject).action != "allow"
        for subject in subjects
    )
