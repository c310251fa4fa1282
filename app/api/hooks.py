"""Routes for hooks: which there are in a project, and trying one.

Owns: parsing and answering. Never: running a hook.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path

from app.api.dependencies import ProjectId, ServicesDep
from app.api.kaged_route import noun_router
from app.api.schemas.hooks import (
    HookAnswer,
    HookFailureAnswer,
    HookList,
    HookMatchAnswer,
    HookTestAnswer,
    HookTestRequest,
)
from app.daemon.services import Services
from app.harness.dsl.spec_hooks import OF_TOOLS
from app.harness.hooks.commands.hook import CommandHook
from app.harness.hooks.commands.input import HookInput
from app.tools.processes.foreign_text import clean

router: APIRouter = noun_router("Hooks")

HookName = Annotated[str, Path(description="A hook's name.", max_length=64)]
MAX_SHOWN = 16 * 1024
TEST_CALL = "test"


@router.get("/projects/{project_id}/hooks", summary="List the hooks of a project")
async def list_hooks(services: ServicesDep, project_id: ProjectId) -> HookList:
    """The operator's hooks first, which run in every project, then those of the project file."""
    services.projects.compiled(project_id)
    hooks = services.hooks.commands.all(project_id)
    return HookList.whole([_answer(services, project_id, hook) for hook in hooks])


@router.post("/projects/{project_id}/hooks/{name}/test", summary="Run a hook on an example")
async def test_hook(
    services: ServicesDep, project_id: ProjectId, name: HookName, body: HookTestRequest
) -> HookTestAnswer:
    """Runs the command in its cage with the JSON that it would get, and answers what would follow. `match`
    and `agents` do not count here. A project's hook goes before the operator's of the same name."""
    hook = services.hooks.commands.find(project_id, name)
    run, answer = await services.hooks.commands.ask(hook, project_id, _example(hook, body))
    redacted = services.redactor.text
    return HookTestAnswer(
        name=hook.name,
        event=hook.event,
        source=hook.source,
        decision=answer.decision,
        reason=answer.reason,
        context=answer.context,
        exit_code=run.exit_code,
        timed_out=run.timed_out,
        duration_ms=run.duration_ms,
        stdout=redacted(clean(run.stdout.decode("utf-8", "replace"), MAX_SHOWN)),
        stderr=redacted(clean(run.stderr.decode("utf-8", "replace"), MAX_SHOWN)),
    )


def _example(hook: CommandHook, body: HookTestRequest) -> HookInput:
    subject: dict[str, Any]
    if hook.event in OF_TOOLS:
        subject = {"tool": body.tool, "call_id": TEST_CALL, "arguments": body.arguments}
        if hook.event == "after_tool":
            subject |= {"result": body.result, "is_error": body.is_error}
    elif hook.event == "on_prompt":
        subject = {"prompt": body.prompt, "message_id": TEST_CALL}
    else:
        subject = {"stop_reason": body.stop_reason, "answer": body.answer, "sent_back": 0}
    return HookInput(None, body.agent_path, None, subject)


def _answer(services: Services, project_id: str, hook: CommandHook) -> HookAnswer:
    spec, redactor = hook.spec, services.redactor
    outcomes = services.hooks.commands.outcomes.of(project_id, hook)
    failure = outcomes.last_failure
    return HookAnswer(
        name=hook.name,
        event=hook.event,
        source=hook.source,
        command=redactor.data(spec.command),
        match=[HookMatchAnswer(permission=one.permission, pattern=one.pattern) for one in spec.match],
        agents=spec.agents,
        timeout_seconds=spec.timeout_seconds,
        cage=spec.cage
        if spec.cage is None or spec.cage == "disabled"
        else redactor.data(spec.cage.model_dump(mode="json", exclude_defaults=True)),
        input=spec.input,
        state="failed" if outcomes.failed else "ok" if outcomes.runs else "not_run",
        runs=outcomes.runs,
        failures=outcomes.failures,
        last_run_at=outcomes.last_run_at,
        last_failure=None
        if failure is None
        else HookFailureAnswer(at=failure.at, reason=redactor.text(failure.reason)),
    )
