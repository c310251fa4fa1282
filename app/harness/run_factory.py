"""How a run of an agent is put together: its context with its loop.

Owns: turning a project's agent, what it is to do and its limits into a `RunContext`. Never: session
state, or storing the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.harness.active_run import ActiveRun
from app.harness.dsl.compiled import CompiledAgent, CompiledProject
from app.harness.limits import Limits
from app.harness.loop import AgentLoop
from app.harness.permissions import manifest_rules
from app.harness.prompts.assemble import SystemPrompt
from app.harness.run_context import RunContext
from app.harness.session_services import SessionServices, model_of
from app.harness.todo_lists import SessionTodos
from app.harness.tool_selection import allowed_tools, tool_specs
from app.ids import new_id, now_ms
from app.states import RunState
from app.storage.models import Checkpoint, Message, Run
from app.storage.models import Session as SessionRow

if TYPE_CHECKING:
    from app.harness.session_runs import SessionRuns


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
    prompts = await services.projects.prompts_of(row.project_id, project)
    run_id = new_id("run")
    assert session.history is not None
    context = RunContext(
        session_id=row.id,
        project_id=row.project_id,
        project_root=services.projects.root_of(row.project_id),
        run_id=run_id,
        agent_path=agent.path,
        actor=actor_of(message, row),
        project=project,
        agent=agent,
        stream=session.stream,
        history=session.history,
        estimate=session.estimate,
        route=route,
        limits=limits_of(row, project, agent).tightened(services.limits),
        system=SystemPrompt(prompts, agent).blocks,
        tools=tool_specs(services.tools.registry, agent),
        allowed_tools=allowed_tools(agent),
        scratch_dir=services.scratch_root / row.id,
        headless=row.headless,
        redactor=services.redactor,
        permissions=services.permissions,
        consents=services.consents,
        todos=SessionTodos(services.storage, row.id),
        manifest_rules=manifest_rules(project, agent),
        on_overflow=project.limits.on_overflow,
        span=services.telemetry.traces,
        metrics=services.telemetry.metrics,
    )
    loop = AgentLoop(
        context,
        router=services.router,
        catalog=services.catalog,
        pipeline=services.pipeline,
        tools=services.tools,
        take_steers=session.take_steers,
    )
    record = run_row(context, message, checkpoint)
    return ActiveRun(record, context, loop, session, services.spawn, over=services.run_over)


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
