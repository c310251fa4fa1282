"""What a running tool may ask of its run, for one call.

Owns: passing each request on to who answers it, and what the call has written. Never: answering.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from app.events.union import ToolProgress
from app.harness.loop.run_hooks import record_hook
from app.harness.loop.run_services import CallServices
from app.harness.projects.tool_selection import to_find
from app.harness.questions.consent_rows import rejected
from app.harness.run.answers import GivenConsent
from app.harness.run.call_counts import calls_made
from app.harness.run.run_context import RunContext
from app.messages import ToolSpec
from app.observability import Span
from app.tools.contract.hook_report import HookReport
from app.tools.contract.ports import (
    CallWaits,
    ChildAnswer,
    ChildTask,
    FileWrite,
    HumanQuestion,
    SkillContent,
    TodoItem,
)
from app.tools.contract.rules import ConsentAnswer, ConsentRequest


class CallPorts:
    """What a running tool may ask of the run; filled for each call."""

    def __init__(
        self,
        run: RunContext,
        calls: CallServices,
        call_id: str,
        span: Span,
        *,
        given: Iterable[GivenConsent] = (),
        audits_itself: bool = False,
    ) -> None:
        self._run = run
        self._calls = calls
        self._given = list(given)
        self._call_id = call_id
        self._audits_itself = audits_itself
        self._span = span
        self.writes: list[FileWrite] = []
        self.asks = False
        """True while the call waits for a person."""

    async def progress(self, text: str) -> None:
        self._run.journal.emit(
            ToolProgress(tool_call_id=self._call_id, text=self._run.journal.redactor.known(text))
        )

    def audit(self, event: str, data: dict[str, Any]) -> None:
        self._run.journal.audit(event, data)
        if event == "tool.called" and self._audits_itself:
            self._run.journal.record(kept=True)  # before the rows of the tool, also in the same millisecond

    def hook_ended(self, report: HookReport) -> None:
        record_hook(self._run, report)

    async def consent(self, request: ConsentRequest) -> ConsentAnswer:
        known = next((one for one in self._given if one.is_about(request)), None)
        if known is not None:
            self._given.remove(known)
            return known.answer
        run, calls = self._run, self._calls
        asking = calls.questions.ask_permission(run, self._call_id, request)
        given = await calls.waits.answer(run, self, asking, lambda one: one.answer != "reject")
        if given.answer == "reject" and given.comment:
            raise rejected(request, given.comment)
        return given.answer

    async def ask(self, question: HumanQuestion) -> dict[str, Any]:
        """Ask the operator. A question of the root agent ends its run, and the answer starts the next one. A
        subagent waits within its call, and so does a question that is `within_call`."""
        if self._run.parent is None and not question.within_call:
            raise CallWaits(question)
        asking = self._calls.questions.ask(self._run, self._call_id, question)
        return await self._calls.waits.answer(self._run, self, asking, lambda _: True)

    def skill_folders(self) -> tuple[Path, ...]:
        return self._run.guidance.skill_folders()

    async def skill(self, name: str) -> SkillContent:
        return await self._run.guidance.skill(name)

    def children(self) -> dict[str, dict[str, Any]]:
        return {key: child.parameters for key, child in self._run.scope.agent.children.items()}

    def tools_to_find(self) -> tuple[ToolSpec, ...]:
        return to_find(self._run.plan.tools, self._run.plan.allowed_tools)

    async def delegate(self, task: ChildTask) -> ChildAnswer:
        delegations = self._calls.delegations
        return await delegations.delegate(self._run, self._calls, self._call_id, task, self._span)

    async def todos(self) -> tuple[TodoItem, ...]:
        return await self._run.todos.read()

    async def replace_todos(self, todos: Sequence[TodoItem]) -> None:
        await self._run.todos.replace(todos, self._run.scope.agent_path)

    async def calls_made(self) -> int:
        scope = self._run.scope
        return await calls_made(self._calls.storage, scope.session_id, scope.run_id, self._call_id)

    def wrote(self, write: FileWrite) -> None:
        self.writes.append(write)

    def request_checkpoint(self, reason: str | None) -> None:
        self._run.controls.checkpoints.ask(self._run.scope.agent_path, reason)
