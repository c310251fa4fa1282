"""How a run of an agent is put together: its context with its loop.

Owns: turning a project's agent, what it is to do and its limits into a `RunContext`. Never: session
state, or storing the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from app.harness.conversation.estimate import ConversationEstimate
from app.harness.conversation.history import History
from app.harness.conversation.session_conversation import SessionConversation
from app.harness.dsl.compiled import CompiledAgent, CompiledProject
from app.harness.dsl.workflow_view import prompt_of
from app.harness.guidance.agent_guidance import AgentGuidance
from app.harness.hooks.agent_plugins import Caller
from app.harness.hooks.session_start import SessionRecall
from app.harness.loop.active_run import ActiveRun, Owner
from app.harness.loop.loop import AgentLoop
from app.harness.loop.run_hooks import RunHooks
from app.harness.loop.run_services import CallServices, RunServices, model_of
from app.harness.projects.permissions import declared_rules
from app.harness.projects.prompts.assemble import SystemPrompt, environment
from app.harness.projects.prompts.session_prompts import SessionPrompts
from app.harness.projects.prompts.store import PromptStore
from app.harness.projects.run_cage import cage_of
from app.harness.projects.session_roots import SessionRoot
from app.harness.projects.tool_loading import SessionTools
from app.harness.projects.tool_selection import allowed_tools, tool_specs
from app.harness.run.answers import WaitingCall
from app.harness.run.journal import Journal
from app.harness.run.limits import Limits
from app.harness.run.meter import Meter
from app.harness.run.plan import Plan, Prepare, Remind
from app.harness.run.run_context import Controls, RunContext
from app.harness.run.scope import Scope
from app.harness.run.shared_budgets import SharedBudgets
from app.harness.run.todo_lists import SessionTodos
from app.harness.stream.session_stream import SessionStream
from app.ids import new_id, now_ms
from app.messages import SystemBlock
from app.observability import Span
from app.states import RunState
from app.storage.models import Checkpoint, Message, Run
from app.storage.models import Session as SessionRow
from app.tools.agents.definition import agent_tool
from app.tools.contract.definition import ToolDefinition


class RootOwner(Owner, Protocol):
    """The session whose root agent runs. `take_steers` gives messages to inject at a boundary."""

    def take_steers(self) -> list[Message]: ...


@dataclass(frozen=True, slots=True)
class RootAgent:
    """What the runs of a session's root agent have in common."""

    stream: SessionStream
    conversation: SessionConversation
    prompts: SessionPrompts
    recall: SessionRecall
    calls: CallServices
    remind: Remind | None
    files_noted: Callable[[], Awaitable[None]]
    budgets: SharedBudgets
    tools: SessionTools = field(default_factory=SessionTools)


@dataclass(frozen=True, slots=True)
class Start:
    """What a run begins with; all of it is optional. `waiting` are calls that it resumes."""

    message: Message | None = None
    checkpoint: Checkpoint | None = None
    model: str | None = None
    waiting: tuple[WaitingCall, ...] = ()


async def build_run(
    services: RunServices, root: RootAgent, row: SessionRow, owner: RootOwner, start: Start
) -> ActiveRun:
    """Return a run of the session's root agent that is ready to start; nothing is stored yet."""
    actor = actor_of(start.message, row)
    context = await root_context(services, root, row, run_id=new_id("run"), actor=actor, start=start)
    loop = _loop(services, context, root.calls, owner.take_steers)
    record = run_row(context, start.message, start.checkpoint)
    return ActiveRun(record, context, loop, root.calls, owner, on_end=services.on_run_end)


async def root_context(
    services: RunServices,
    root: RootAgent,
    row: SessionRow,
    *,
    run_id: str,
    actor: str,
    start: Start = Start(),
) -> RunContext:
    """Return the context of the session's root agent. `run_id` is "" for work outside of a run."""
    project = await services.projects.of_session(row)
    agent = project.root
    route = services.router.resolve(start.model or model_of(row, agent))
    await services.router.catalog.prepare(route.candidates[0].provider)
    where = services.projects.root_of_session(row)
    extra = await extra_tools(services, Caller(actor, row.project_id, where.project, agent, row.id))
    surroundings = environment(where, root.recall.guidance.day)
    scope = Scope(
        session_id=row.id,
        project_id=row.project_id,
        root=where,
        run_id=run_id,
        agent_path=agent.path,
        actor=actor,
        project=project,
        agent=agent,
        headless=row.headless,
        cage=await asyncio.to_thread(cage_of, project, agent, where.path),
    )
    guidance = AgentGuidance(root.recall.guidance, agent, scope.cage, where.path)
    plan = Plan(
        route=route,
        system=await _system_of(services, root, row, project, guidance, surroundings),
        tools=root.tools.keep(tool_specs(services.tools.registry, agent, extra), project.digest),
        allowed_tools=allowed_tools(agent, extra),
        scratch_dir=services.scratch_root / row.id,
        permissions=services.questions.rules,
        extra_tools=extra,
        manifest_rules=declared_rules(project, agent),
        on_overflow=project.limits.on_overflow,
        prompt_edits=root.prompts.edited,
        surroundings=surroundings,
        prepare=root.recall.prepare,
        remind=root.remind,
        files_noted=root.files_noted,
        waiting_calls=start.waiting,
    )
    history = await root.conversation.load()
    return RunContext(
        scope=scope,
        plan=plan,
        journal=_journal(services, scope, root.stream, services.telemetry.traces),
        meter=Meter(
            limits_of(row, project, agent).tightened(services.limits), above=await root.budgets.above(row)
        ),
        history=history,
        estimate=root.conversation.estimate,
        todos=SessionTodos(services.storage, row.id),
        guidance=guidance,
    )


def _journal(services: RunServices, scope: Scope, stream: SessionStream, span: Span) -> Journal:
    return Journal(scope, stream, services.redactor, metrics=services.telemetry.metrics, span=span)


async def _system_of(
    services: RunServices,
    root: RootAgent,
    row: SessionRow,
    project: CompiledProject,
    guidance: AgentGuidance,
    surroundings: tuple[SystemBlock, ...],
) -> Callable[[], tuple[SystemBlock, ...]]:
    """Return what gives the blocks of the root agent's system prompt at each message boundary."""
    workflow = prompt_of(row)
    await root.prompts.load()
    return SystemPrompt(
        await services.projects.prompts_of(row.project_id, project, workflow=workflow),
        project.root,
        root.recall.blocks,
        edits=root.prompts.edited,
        workflow=workflow,
        instructions=guidance.instructions,
        skills=guidance.skill_list,
        environment=surroundings,
    ).blocks


async def build_child(  # noqa: PLR0913
    services: RunServices,
    parent: RunContext,
    agent: CompiledAgent,
    owner: Owner,
    calls: CallServices,
    *,
    run_id: str,
    call_id: str,
    span: Span,
    background: bool,
    take_steers: Callable[[], list[Message]],
    on_end: Callable[[str, str, str], Awaitable[None]],
    root: SessionRoot | None = None,
    prepare: Prepare | None = None,
) -> ActiveRun:
    """Return a run of one of the parent's children that is ready to start; nothing is stored yet.

    It has what its parent has left of its budgets, and its own conversation. `root` is where it works when
    that is not its parent's; `prepare` is awaited first. Raises `ValidationFailed` for an unknown model."""
    route = services.router.resolve(agent.model)
    await services.router.catalog.prepare(route.candidates[0].provider)
    above, shared = parent.scope, parent.plan
    prompts = await services.projects.prompts_of(above.project_id, above.project)
    caller = Caller(above.actor, above.project_id, above.root.project, agent, above.session_id)
    extra = await extra_tools(services, caller)
    scope = await _child_scope(above, agent, run_id, call_id, root or above.root)
    guidance = AgentGuidance(parent.guidance.session, agent, scope.cage, above.project_root)
    surroundings = shared.surroundings if root is None else environment(root, guidance.session.day)
    plan = Plan(
        route=route,
        system=_child_system(prompts, agent, shared, guidance, surroundings).blocks,
        tools=tool_specs(services.tools.registry, agent, extra),
        allowed_tools=allowed_tools(agent, extra),
        scratch_dir=shared.scratch_dir,
        permissions=services.questions.rules,
        extra_tools=extra,
        manifest_rules=declared_rules(above.project, agent),
        on_overflow=shared.on_overflow,
        prompt_edits=shared.prompt_edits,
        surroundings=surroundings,
        prepare=prepare,
    )
    context = RunContext(
        scope=scope,
        plan=plan,
        journal=_journal(services, scope, parent.journal.stream, span),
        meter=Meter(child_limits(services, parent, agent), above=parent.meter),
        history=History(positions=parent.history.positions),
        estimate=ConversationEstimate(),
        todos=parent.todos,
        guidance=guidance,
        controls=Controls(checkpoints=parent.controls.checkpoints),
        parent=parent,
    )
    loop = _loop(services, context, calls, take_steers)
    record = run_row(context, None, None).model_copy(
        update={"parent_run_id": above.run_id, "parent_call_id": call_id, "background": background}
    )
    return ActiveRun(record, context, loop, calls, owner, on_end=on_end)


def _child_system(
    prompts: PromptStore,
    agent: CompiledAgent,
    shared: Plan,
    guidance: AgentGuidance,
    surroundings: tuple[SystemBlock, ...],
) -> SystemPrompt:
    return SystemPrompt(
        prompts,
        agent,
        edits=shared.prompt_edits,
        instructions=guidance.instructions,
        skills=guidance.skill_list,
        environment=surroundings,
    )


async def _child_scope(
    parent: Scope, agent: CompiledAgent, run_id: str, call_id: str, root: SessionRoot
) -> Scope:
    """The cage is worked out where the parent works: the folder of the child may not be there yet, and will
    be as that one."""
    return replace(
        parent,
        root=root,
        run_id=run_id,
        agent_path=agent.path,
        agent=agent,
        cage=await asyncio.to_thread(cage_of, parent.project, agent, parent.project_root),
        parent_call_id=call_id,
    )


def _loop(
    services: RunServices,
    context: RunContext,
    calls: CallServices,
    take_steers: Callable[[], list[Message]],
) -> AgentLoop:
    return AgentLoop(
        context,
        calls,
        router=services.router,
        pipeline=services.pipeline,
        tools=services.tools,
        compaction=services.compaction,
        hooks=RunHooks(context, services.hooks.commands),
        take_steers=take_steers,
    )


async def extra_tools(services: RunServices, caller: Caller) -> dict[str, ToolDefinition]:
    """Return what an agent has beside the catalogue: its children, and the tools of its plugins."""
    return child_tools(caller.agent) | await services.hooks.tools(caller)


def child_tools(agent: CompiledAgent) -> dict[str, ToolDefinition]:
    """Return the tools that call an agent's children, by name."""
    tools = (
        agent_tool(child.key, child.description or f"The agent {child.name}.", child.parameters)
        for child in agent.children.values()
    )
    return {tool.name: tool for tool in tools}


def child_limits(services: RunServices, parent: RunContext, agent: CompiledAgent) -> Limits:
    """Return what a child may use: what its parent has left, and steps of its own."""
    declared = parent.scope.project.limits
    own = Limits(
        max_steps=agent.max_steps or declared.max_steps,
        max_output_tokens=agent.max_output_tokens or declared.max_output_tokens,
    )
    return own.tightened(services.limits).tightened(parent.meter.limits.remainder(parent.meter.spent()))


def run_row(context: RunContext, message: Message | None, checkpoint: Checkpoint | None) -> Run:
    """Return the row of a run that begins now."""
    return Run(
        id=context.scope.run_id,
        session_id=context.scope.session_id,
        agent_path=context.scope.agent_path,
        state=RunState.RUNNING.value,
        trigger_message_id=message.id if message is not None else None,
        checkpoint_id=checkpoint.id if checkpoint is not None else None,
        model=str(context.plan.route.candidates[0]),
        created_at=now_ms(),
        started_at=now_ms(),
    )


def limits_of(row: SessionRow, project: CompiledProject, agent: CompiledAgent) -> Limits:
    """Return what a run may use: the session's overrides, else the agent's own, else the project's."""
    declared, overrides = project.limits, row.overrides
    return Limits(
        max_steps=overrides.get("max_steps") or agent.max_steps or declared.max_steps,
        max_output_tokens=overrides.get("max_output_tokens")
        or agent.max_output_tokens
        or declared.max_output_tokens,
        tokens=declared.tokens,
        cost_usd=declared.cost_usd,
        walltime_seconds=declared.walltime_seconds,
    )


def actor_of(message: Message | None, row: SessionRow) -> str:
    return str(message.details.get("createdBy") or row.created_by) if message is not None else row.created_by
