"""Routes for the plugins of projects: their state, and enabling a disabled one.

Owns: parsing and answering. Never: starting a plugin; its next use does that.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from app.api.dependencies import ProjectId, ServicesDep
from app.api.kaged_route import noun_router
from app.api.schemas.plugins import EnabledAnswer, PluginAnswer, PluginList
from app.bridges.plugins.calls import PluginDeclaration
from app.bridges.plugins.problems import PluginProblem
from app.daemon.services import Services
from app.errors import NotFound
from app.harness.dsl.compiled import CompiledProject
from app.harness.hooks.agent_plugins import declarations
from app.states import PluginState

router: APIRouter = noun_router("Plugins")

PluginName = Annotated[str, Path(description="A plugin's name.", max_length=64)]


@router.get("/projects/{project_id}/plugins", summary="List the plugins of a project's agents")
async def list_plugins(services: ServicesDep, project_id: ProjectId) -> PluginList:
    """Each plugin has its state, the reason when it is unusable, and the last lines of its log. A plugin that
    no session has used yet is `stopped`."""
    return PluginList.whole([await _answer(services, one) for one in _declared(services, project_id)])


@router.post(
    "/projects/{project_id}/plugins/{name}/enable",
    summary="Enable a disabled plugin",
)
async def enable_plugin(services: ServicesDep, project_id: ProjectId, name: PluginName) -> EnabledAnswer:
    """A plugin that fails five times in ten minutes is disabled. Enabling it resets the count; its next use
    starts it."""
    names = sorted({one.name for one in _declared(services, project_id)})
    if name not in names:
        raise NotFound(f"The project has no plugin {name}.", details={"plugins": names})
    return EnabledAnswer(enabled=await services.hooks.plugins.enable(project_id, name))


def _declared(services: Services, project_id: str) -> list[PluginDeclaration]:
    compiled: CompiledProject = services.projects.compiled(project_id)
    root = services.projects.root_of(project_id)
    return [one for agent in compiled.agents() for one in declarations(project_id, root, agent)]


async def _answer(services: Services, declared: PluginDeclaration) -> PluginAnswer:
    manifest, status, reason = None, None, None
    try:
        manifest, status = await services.hooks.plugins.inspect(declared)
    except PluginProblem as problem:
        reason = problem.message
    if status is not None and manifest is not None and status.state is not PluginState.READY:
        reason = status.reason  # one that runs again keeps why it had ended before
    return PluginAnswer(
        name=declared.name,
        agent_path=declared.agent_path,
        package=declared.package,
        isolation=declared.isolation,
        version=manifest.version if manifest is not None else None,
        description=manifest.description if manifest is not None else None,
        hooks=list(manifest.hooks) if manifest is not None else [],
        roles=list(manifest.roles) if manifest is not None else [],
        tools=[f"{declared.name}.{tool.name}" for tool in manifest.tools] if manifest is not None else [],
        state=("stopped" if status is None else status.state.value) if manifest is not None else "unusable",
        reason=None if reason is None else services.redactor.text(reason),
        failures=status.failures if status is not None else 0,
        pid=status.pid if status is not None else None,
        memory_bytes=status.memory_bytes if status is not None else 0,
        log=[services.redactor.text(line) for line in status.log] if status is not None else [],
    )
