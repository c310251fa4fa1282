"""How a run of an agent is put together: its context with its loop.

Owns: turning a project's agent, what it is to do and its limits into a `RunContext`. Never: session
state, or storing the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import date
from typing import TYPE_CHECKING

from app.harness.active_run import ActiveRun, Owner
from app.harness.dsl.compiled import CompiledAgent, CompiledProject
from app.harness.estimate import ConversationEstimate
from app.harness.history import History
from app.harness.hooks.agent_plugins import Caller
from app.harness.interactions.open_calls import waiting_calls
from app.harness.limits import Limits
from app.harness.loop import AgentLoop
from app.harness.permissions import declared_rules
from app.harness.prompts.assemble import SystemPrompt
from app.harness.prompts.environment import environment
from app.harness.run_cage import cage_of
from app.harness.run_context import RunContext
from app.harness.session_services import SessionServices, model_of, reminding
from app.harness.todo_lists import SessionTodos
from app.harness.tool_selection import allowed_tools, tool_specs
from app.harness.workflows.narrowed import prompt_of
from app.ids import new_id, now_ms
from app.messages import SystemBlock
from app.observability import Span
from app.states import RunState
from app.storage.models import Checkpoint, Message, Run
from app.storage.models import Session as SessionRow
from app.tools.agents.definition import agent_tool
from app.tools.definition import ToolDefinition

if TYPE_CHECKING:
    from app.harness.session_runs import SessionRuns

HANDED_DOWN = (
    "session_id",
    "project_id",
    "project_root",
    "actor",
    "project",
    "stream",
    "prompt_edits",
    "surroundings",
    "scratch_dir",
    "headless",
    "redactor",
    "permissions",
    "consents",
    "questions",
    "todos",
    "on_overflow",
    "checkpoints",
    "metrics",
    "delegations",
    "compaction",
)
"""What a child's run has as its parent has it."""


async def build_run(
    services: SessionServices,
    session: SessionRuns,
    message: Message | None,
    checkpoint: Checkpoint | None,
    model: str | None,
) -> ActiveRun:
    """Return a run of the session's root agent that is ready to start; nothing is stored yet."""
    row = session.row
    project = await services.project_of(row)
    agent = project.root
    route = services.router.resolve(model or model_of(row, agent))
    await services.catalog.prepare(route.candidates[0].provider)
    run_id, actor = new_id("run"), actor_of(message, row)
    root = services.projects.root_of(row.project_id)
    own = await own_tools(services, Caller(actor, row.project_id, root, agent, row.id))
    surroundings = environment(root, date.today())
    await session.prompts.load()
    assert session.history is not None
    context = RunContext(
        session_id=row.id,
        project_id=row.project_id,
        project_root=root,
        run_id=run_id,
        agent_path=agent.path,
        actor=actor,
        project=project,
        agent=agent,
        stream=session.stream,
        history=session.history,
        estimate=session.estimate,
        route=route,
        limits=limits_of(row, project, agent).tightened(services.limits),
        system=await _system_of(services, session, project, surroundings),
        prompt_edits=session.prompts.edited,
        files_noted=services.notes.waiting_for(row.id),
        surroundings=surroundings,
        prepare=session.recall.prepare,
        tools=tool_specs(services.tools.registry, agent, own),
        allowed_tools=allowed_tools(agent, own),
        own_tools=own,
        scratch_dir=services.scratch_root / row.id,
        headless=row.headless,
        redactor=services.redactor,
        permissions=services.permissions,
        consents=services.consents,
        questions=services.questions,
        todos=SessionTodos(services.storage, row.id),
        remind=reminding(services, lambda: session.row),
        manifest_rules=declared_rules(project, agent),
        on_overflow=project.limits.on_overflow,
        span=services.telemetry.traces,
        metrics=services.telemetry.metrics,
        delegations=session.delegations,
        compaction=services.compaction,
        waiting_calls=await waiting_calls(services.storage, row.id, session.history),
    )
    loop, record = _loop(services, context, session.take_steers), run_row(context, message, checkpoint)
    return ActiveRun(record, context, loop, session, services.spawn, over=services.run_over)


async def _system_of(
    services: SessionServices,
    session: SessionRuns,
    project: CompiledProject,
    surroundings: tuple[SystemBlock, ...],
) -> Callable[[], tuple[SystemBlock, ...]]:
    """Return what gives the blocks of the root agent's system prompt at each message boundary."""
    row, workflow = session.row, prompt_of(session.row)
    await session.prompts.load()
    return SystemPrompt(
        await services.projects.prompts_of(row.project_id, project, workflow=workflow),
        project.root,
        session.recall.blocks,
        edits=session.prompts.edited,
        workflow=workflow,
        environment=surroundings,
    ).blocks


async def build_child(
    services: SessionServices,
    parent: RunContext,
    agent: CompiledAgent,
    owner: Owner,
    *,
    call_id: str,
    span: Span,
    background: bool,
    take_steers: Callable[[], list[Message]],
    over: Callable[[str, str, str], Awaitable[None]],
) -> ActiveRun:
    """Return a run of one of the parent's children that is ready to start; nothing is stored yet.

    It has what its parent has left of its budgets, and a conversation of its own.
    Raises `ValidationFailed` when its model is not known."""
    route = services.router.resolve(agent.model)
    await services.catalog.prepare(route.candidates[0].provider)
    prompts = await services.projects.prompts_of(parent.project_id, parent.project)
    caller = Caller(parent.actor, parent.project_id, parent.project_root, agent, parent.session_id)
    own = await own_tools(services, caller)
    context = RunContext(
        **{name: getattr(parent, name) for name in HANDED_DOWN},
        run_id=new_id("run"),
        agent_path=agent.path,
        agent=agent,
        history=History(positions=parent.history.positions),
        estimate=ConversationEstimate(),
        route=route,
        limits=child_limits(services, parent, agent),
        system=SystemPrompt(
            prompts, agent, edits=parent.prompt_edits, environment=parent.surroundings
        ).blocks,
        tools=tool_specs(services.tools.registry, agent, own),
        allowed_tools=allowed_tools(agent, own),
        own_tools=own,
        manifest_rules=declared_rules(parent.project, agent),
        cage=await asyncio.to_thread(cage_of, parent.project, agent, parent.project_root),
        span=span,
        parent=parent,
        parent_call_id=call_id,
    )
    loop = _loop(services, context, take_steers)
    record = run_row(context, None, None).model_copy(
        update={"parent_run_id": parent.run_id, "parent_call_id": call_id, "background": background}
    )
    return ActiveRun(record, context, loop, owner, services.spawn, over=over)


def _loop(
    services: SessionServices, context: RunContext, take_steers: Callable[[], list[Message]]
) -> AgentLoop:
    return AgentLoop(
        context,
        router=services.router,
        catalog=services.catalog,
        pipeline=services.pipeline,
        tools=services.tools,
        take_steers=take_steers,
    )


async def own_tools(services: SessionServices, caller: Caller) -> dict[str, ToolDefinition]:
    """Return what an agent has beside the catalogue: its children, and the tools of its plugins."""
    return child_tools(caller.agent) | await services.hooks.tools(caller)


def child_tools(agent: CompiledAgent) -> dict[str, ToolDefinition]:
    """Return the tools that call an agent's children, by name."""
    tools = (
        agent_tool(child.key, child.description or f"The agent {child.name}.", child.parameters)
        for child in agent.children.values()
    )
    return {tool.name: tool for tool in tools}


def child_limits(services: SessionServices, parent: RunContext, agent: CompiledAgent) -> Limits:
    """Return what a child may use: what its parent has left, and steps of its own."""
    declared = parent.project.limits
    own = Limits(
        max_steps=agent.max_steps or declared.max_steps,
        max_output_tokens=agent.max_output_tokens or declared.max_output_tokens,
    )
    return own.tightened(services.limits).tightened(parent.limits.remainder(parent.spent()))


def run_row(context: RunContext, message: Message | None, checkpoint: Checkpoint | None) -> Run:
    """Return the row of a run that begins now."""
    return Run(
        id=context.run_id,
        session_id=context.session_id,
        agent_path=context.agent_path,
        state=RunState.RUNNING.value,
        trigger_message_id=message.id if message is not None else None,
        checkpoint_id=checkpoint.id if checkpoint is not None else None,
        model=str(context.route.candidates[0]),
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
