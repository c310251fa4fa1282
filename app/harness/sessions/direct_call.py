"""An operator's own tool call: the same service, permissions and audit as a model's call.

Owns: the stored record of such a call. It adds nothing to the conversation, so a model never
sees it; the file tools' memory of what has been read is the agent's, as if it had called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.errors import Conflict, NotFound, ToolError
from app.events.payload import Origin
from app.events.union import ToolProgress
from app.harness.conversation.session_rows import session_audit
from app.harness.dsl.compiled import CompiledAgent, CompiledProject
from app.harness.guidance.agent_guidance import AgentGuidance
from app.harness.guidance.system_parts import has_skills
from app.harness.hooks.agent_plugins import Caller
from app.harness.hooks.commands.reports import AUDIT, audit_data, event_of
from app.harness.loop.run_factory import extra_tools
from app.harness.projects.permissions import declared_rules
from app.harness.projects.run_cage import cage_of
from app.harness.projects.session_roots import SessionRoot
from app.harness.projects.tool_selection import allowed_tools, to_find, tool_specs
from app.harness.run.call_counts import calls_made
from app.harness.run.journal import Journal
from app.harness.run.scope import Scope
from app.harness.run.todo_lists import SessionTodos
from app.harness.sessions.inspection import guidance_now
from app.harness.sessions.remote_client import CallOutsideRuns, RemoteClient, ask_operator
from app.harness.sessions.session import Session
from app.harness.sessions.session_services import SessionServices
from app.ids import new_id, now_ms
from app.messages import ToolSpec
from app.states import SessionState, ToolCallState
from app.storage.models import AuditEvent, ToolCall
from app.storage.unit_of_work import UnitOfWork
from app.tools.agents.definition import agent_tool_name
from app.tools.contract.call import ToolCallContext, ToolEnvelope
from app.tools.contract.hook_report import HookReport
from app.tools.contract.ports import (
    ChildAnswer,
    ChildTask,
    FileWrite,
    HumanQuestion,
    SkillContent,
    TodoItem,
)
from app.tools.contract.rules import ConsentAnswer, ConsentRequest
from app.tools.dispatch.model_view import for_model


class _Ports:
    """Progress goes to the session's stream; audit rows are kept until the call is stored."""

    def __init__(
        self,
        session: Session,
        services: SessionServices,
        call_id: str,
        actor: str,
        agent: CompiledAgent,
        guidance: AgentGuidance,
        remote: RemoteClient | None,
        outside: CallOutsideRuns,
    ) -> None:
        self.rows: list[AuditEvent] = []
        self.to_find: tuple[ToolSpec, ...] = ()
        self._session = session
        self._redactor = services.runs.redactor
        self._storage = services.runs.storage
        self._todos = SessionTodos(self._storage, session.id)
        self._call_id = call_id
        self._actor = actor
        self._agent = agent
        self._agent_path = agent.path
        self._guidance = guidance
        self._remote = remote
        self._outside = outside
        self._questions = services.runs.questions

    async def progress(self, text: str) -> None:
        if self._remote is not None:
            self._remote.progress(self._redactor.known(text))
        self._session.stream.emit(
            ToolProgress(tool_call_id=self._call_id, text=self._redactor.known(text)),
            origin=Origin(agent_path=self._agent_path),
        )

    def audit(self, event: str, data: dict[str, Any]) -> None:
        row, redacted = self._session.row, self._redactor.data(data)
        self.rows.append(session_audit(row, event, self._actor, redacted, agent_path=self._agent_path))

    def hook_ended(self, report: HookReport) -> None:
        self.audit(AUDIT, audit_data(report))
        origin = Origin(agent_path=self._agent_path)
        self._session.stream.record([event_of(report)], origin=origin, kept=True)

    async def consent(self, request: ConsentRequest) -> ConsentAnswer:
        """The operator who makes a call consents to it, this once. The model of a remote client does not:
        its user is asked, or the operator."""
        answer: ConsentAnswer | None = "once"
        if self._remote is not None:
            answer = await self._remote.consent(request)
            if answer is None:
                return await ask_operator(
                    self._questions, self._outside, self._call_id, request, self._remote
                )
        data = {"call_id": self._call_id, "tool": request.tool, "subjects": list(request.subjects)}
        by = "direct_call" if self._remote is None else "remote_client"
        self.audit("permission.answered", {**data, "answer": answer, "by": by})
        return answer or "reject"

    async def ask(self, question: HumanQuestion) -> dict[str, Any]:
        raise ToolError(
            "no_run",
            "This call is the operator's own: there is nobody else to ask. An agent asks in its run.",
        )

    def skill_folders(self) -> tuple[Path, ...]:
        return self._guidance.skill_folders()

    async def skill(self, name: str) -> SkillContent:
        return await self._guidance.skill(name)

    def children(self) -> dict[str, dict[str, Any]]:
        return {key: child.parameters for key, child in self._agent.children.items()}

    def tools_to_find(self) -> tuple[ToolSpec, ...]:
        return self.to_find

    async def delegate(self, task: ChildTask) -> ChildAnswer:
        raise ToolError(
            "not_callable_directly",
            f"A subagent works for a run of its parent. Post a message that asks {self._agent_path} to call "
            f"{agent_tool_name(task.child)}.",
        )

    async def todos(self) -> tuple[TodoItem, ...]:
        return await self._todos.read()

    async def replace_todos(self, todos: Sequence[TodoItem]) -> None:
        await self._todos.replace(todos, self._agent_path)

    async def calls_made(self) -> int:
        return await calls_made(self._storage, self._session.id, None, self._call_id)

    def wrote(self, write: FileWrite) -> None:
        """Nothing is noted: what an operator writes is not an agent's."""

    def request_checkpoint(self, reason: str | None) -> None:
        raise ToolError(
            "no_run",
            "This call is the operator's own: there is no run to pause. Pause the session instead.",
        )


async def _agent(
    services: SessionServices, session: Session, agent_path: str
) -> tuple[CompiledProject, CompiledAgent]:
    if session.row.state == SessionState.ARCHIVED.value:
        raise Conflict(
            "The session is archived: no tool can be called in it.",
            reason="invalid_transition",
            details={"state": session.row.state},
        )
    project = await services.runs.projects.of_session(session.row)
    agent = project.agent(agent_path)
    if agent is None:
        known = ", ".join(one.path for one in project.agents())
        raise NotFound(f"There is no agent {agent_path!r} in this project. Agents: {known}.")
    return project, agent


def _running(context: ToolCallContext, name: str, params: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        id=context.call_id,
        session_id=context.session_id,
        agent_path=context.agent_path,
        call_id=context.call_id,
        name=name,
        arguments=dict(params),
        state=ToolCallState.RUNNING.value,
        started_at=now_ms(),
    )


def _outside(
    services: SessionServices,
    session: Session,
    project: CompiledProject,
    agent: CompiledAgent,
    actor: str,
    cage: Mapping[str, Any] | None,
    root: SessionRoot,
) -> CallOutsideRuns:
    runs, row = services.runs, session.row
    scope = Scope(
        session_id=session.id,
        project_id=row.project_id,
        root=root,
        run_id="",
        agent_path=agent.path,
        actor=actor,
        project=project,
        agent=agent,
        cage=cage,
    )
    journal = Journal(scope, session.stream, runs.redactor, metrics=runs.telemetry.metrics)
    return CallOutsideRuns(scope, journal, declared_rules(project, agent), runs.questions.rules)


async def call_directly(
    services: SessionServices,
    session: Session,
    name: str,
    params: Mapping[str, Any],
    *,
    agent_path: str,
    actor: str,
    consents: bool,
    remote: RemoteClient | None = None,
) -> ToolEnvelope:
    """Run one tool as `agent_path` would. Unless `actor` `consents`, nobody can be asked. The call of a
    `remote` client asks its user or the operator, and its answer has the size that a model gets.

    Raises `NotFound` for an unknown agent, `Conflict` in an archived session."""
    project, agent = await _agent(services, session, agent_path)
    call_id = new_id("tcl")
    root = services.runs.projects.root_of_session(session.row)
    cage = await asyncio.to_thread(cage_of, project, agent, root.path)
    recall = session.runs.root.recall
    found = await guidance_now(recall, project, root.path) if has_skills(agent) else recall.guidance
    guidance = AgentGuidance(found, agent, cage, root.path)
    outside = _outside(services, session, project, agent, actor, cage, root)
    ports = _Ports(session, services, call_id, actor, agent, guidance, remote, outside)
    context = ToolCallContext(
        session_id=session.id,
        run_id=None,
        agent_path=agent_path,
        project_id=session.row.project_id,
        project_root=root.path,
        cage=cage,
        request_id=call_id,
        call_id=call_id,
        scratch_dir=services.runs.scratch_root / session.id,
        ports=ports,
        rules=await outside.rules(),
        headless=not consents and remote is None,
    )
    row = _running(context, name, params)
    state, envelope = ToolCallState.CANCELLED, None
    try:
        # A client that leaves while the row is written cancels the call, too: its end is stored behind it.
        await services.runs.storage.write(lambda uow: uow.tool_calls.add(row))
        caller = Caller(actor, context.project_id, root.project, agent, session.id)
        own = await extra_tools(services.runs, caller)
        allowed = allowed_tools(agent, own)
        ports.to_find = to_find(tool_specs(services.runs.tools.registry, agent, own), allowed)
        envelope = await services.runs.tools.call(name, params, context, allowed=allowed, own=own)
        envelope = envelope if remote is None else await for_model(envelope, name, context)
        state = ToolCallState.FAILED if envelope.is_error else ToolCallState.SUCCEEDED
    finally:
        code = envelope.code if envelope is not None else "cancelled"

        def store(uow: UnitOfWork) -> None:
            uow.tool_calls.update(call_id, state=state.value, error_code=code, ended_at=now_ms())
            uow.audit.add_many(ports.rows)

        stored = services.runs.storage.submit(store, durable=True)
    await stored
    return envelope
