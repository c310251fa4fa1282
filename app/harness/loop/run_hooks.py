"""The hooks of one run beside its tool calls: when a person's message reaches it, and when its agent stops.

Owns: what their answers do to the conversation: a message withheld, a context added, the agent sent back.
Never: running a process (`hooks/commands`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from app.harness.hooks.commands.answer import HookAnswer, in_marks
from app.harness.hooks.commands.command_hooks import CommandHooks
from app.harness.hooks.commands.hook import CommandHook
from app.harness.hooks.commands.input import HookInput
from app.harness.hooks.commands.reports import AUDIT, audit_data, event_of, report_of
from app.harness.hooks.commands.running import HookRun
from app.harness.loop.daemon_words import add_message
from app.harness.run.run_context import RunContext
from app.messages import AssistantMessage, TextBlock
from app.storage.models import Message
from app.tools.contract.hook_report import HookDecision, HookReport
from app.tools.contract.modes import mode_of

log = logging.getLogger("kaged.hooks")

MOST_SENT_BACK = 3
"""So often hooks may send an agent back in one run."""
HOOK = "hook"
"""What kind of message has the words of hooks."""
HOOK_DENIED = "hook_denied"
"""Why a run ends whose message a hook has withheld."""


class RunHooks:
    """The hooks of one run; made for each."""

    def __init__(self, run: RunContext, hooks: CommandHooks) -> None:
        self._run = run
        self._hooks = hooks
        self._sent_back = 0

    async def take_prompts(self) -> str | None:
        """Show the hooks the messages that began the run. Returns why one was withheld, None otherwise."""
        rows, self._run.controls.prompts = self._run.controls.prompts, []
        return await self._shown(rows)

    async def inject(self, rows: Sequence[Message]) -> bool:
        """Put steering messages into the conversation, but for those that a hook withholds. Returns whether
        there is one that the model has not read."""
        for row in rows:
            self._run.history.add_user(row)
        await self._shown([row for row in rows if row.role == "operator"])
        newest = self._run.history.messages[-1:]
        return bool(rows) and not any(isinstance(message, AssistantMessage) for message in newest)

    async def sends_back(self, stop_reason: str) -> bool:
        """Run the `on_stop` hooks; return whether one objects, so that the agent continues with its text."""
        for hook in self._hooks.due(self._run.scope.project_id, self._run.scope.agent_path, "on_stop"):
            subject = {
                "stop_reason": stop_reason,
                "answer": self._newest_answer(),
                "sent_back": self._sent_back,
            }
            run, answer = await self._ask(hook, subject)
            if answer.decision not in ("deny", "ask"):
                self._report(hook, run, answer, "warning" if answer.decision == "failed" else "continue")
                continue
            if self._sent_back >= MOST_SENT_BACK:
                self._report(hook, run, answer, "ignored")
                return False
            self._sent_back += 1
            self._report(hook, run, answer, "sent_back")
            add_message(self._run, in_marks(hook, answer.reason), {"kind": HOOK})
            return True
        return False

    async def _shown(self, rows: Sequence[Message]) -> str | None:
        scope, withheld = self._run.scope, None
        for row in rows:
            contexts: list[str] = []
            for hook in self._hooks.due(scope.project_id, scope.agent_path, "on_prompt"):
                run, answer = await self._ask(hook, {"prompt": row.content, "message_id": row.id})
                if answer.decision in ("deny", "ask"):  # the person who could be asked has just said it
                    self._report(hook, run, answer, "deny")
                    self._withhold(row)
                    withheld = f"The hook {hook.name} withheld the message: {answer.reason}"
                    contexts.clear()
                    break
                self._report(hook, run, answer, "warning" if answer.decision == "failed" else "continue")
                if answer.context:
                    contexts.append(in_marks(hook, answer.context))
            if contexts:
                add_message(self._run, "\n".join(contexts), {"kind": HOOK})
        return withheld

    def _withhold(self, row: Message) -> None:
        """Take a message out of what the model is sent; it stays stored, as one that was taken back."""
        run = self._run
        run.history.drop(row.id)
        run.journal.record(
            statements=lambda uow: uow.messages.supersede_ids(run.scope.session_id, [row.id], by=None),
            kept=True,
        )

    def _newest_answer(self) -> str:
        newest = self._run.history.messages[-1] if self._run.history.messages else None
        if not isinstance(newest, AssistantMessage):
            return ""
        return "".join(block.text for block in newest.blocks if isinstance(block, TextBlock))

    async def _ask(self, hook: CommandHook, subject: dict[str, Any]) -> tuple[HookRun, HookAnswer]:
        scope = self._run.scope
        mode = mode_of(await self._run.rules())
        root = scope.project_root
        given = HookInput(scope.session_id, scope.agent_path, scope.run_id, subject, mode, root)
        return await self._hooks.ask(hook, scope.project_id, given)

    def _report(self, hook: CommandHook, run: HookRun, answer: HookAnswer, decision: HookDecision) -> None:
        record_hook(self._run, report_of(hook, run, decision, answer))


def record_hook(run: RunContext, report: HookReport) -> None:
    """Store and publish that a hook has ended in a run."""
    if report.decision == "warning":
        log.warning("hook %s (%s) failed: %s", report.hook, report.event, report.reason)
    run.journal.audit(AUDIT, audit_data(report))
    run.journal.record(event_of(report), kept=True)
