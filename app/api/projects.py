"""Routes for projects and the project file.

Owns: parsing and answering. Never: compiling (`harness.dsl`) or watching (`harness.projects`).
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app.api.capabilities import capabilities_of
from app.api.dependencies import PageDep, ProjectId, ServicesDep
from app.api.kaged_route import IDEMPOTENT, noun_router
from app.api.pagination import answer_page
from app.api.schemas.model import PageOf
from app.api.schemas.projects import (
    CapabilitiesAnswer,
    DslAnswer,
    DslFile,
    LoadProject,
    ProjectAnswer,
    ProjectDetail,
)
from app.errors import NotFound
from app.harness.dsl.synthesized import synthesize
from app.lifespan import Services

router: APIRouter = noun_router("Projects")


async def project_detail(services: Services, project_id: str) -> ProjectDetail:
    """Return the answer for one project; raise `NotFound`."""
    row = await services.storage.read(lambda uow: uow.projects.get(project_id))
    if row is None:
        raise NotFound(f"There is no project {project_id}.")
    return ProjectDetail.model_validate(row)


@router.post(
    "/projects/load",
    operation_id="load_project",
    summary="Load a project from its folder",
    dependencies=[IDEMPOTENT],
)
async def load_project(services: ServicesDep, body: LoadProject) -> ProjectDetail:
    """Loading a folder again gives the same project. A project file with errors is refused with
    422 and every finding."""
    loaded = await services.projects.load(body.path)
    return await project_detail(services, loaded.id)


@router.get("/projects", operation_id="list_projects", summary="List loaded projects")
async def list_projects(services: ServicesDep, page: PageDep) -> PageOf[ProjectAnswer]:
    found = await services.storage.read(lambda uow: uow.projects.list(limit=page.limit, cursor=page.cursor))
    return answer_page(found, ProjectAnswer.model_validate)


@router.get("/projects/{project_id}", operation_id="get_project", summary="Show a project")
async def get_project(services: ServicesDep, project_id: ProjectId) -> ProjectDetail:
    return await project_detail(services, project_id)


@router.get(
    "/projects/{project_id}/dsl", operation_id="get_project_dsl", summary="Show a project's own files"
)
async def get_project_dsl(services: ServicesDep, project_id: ProjectId) -> DslAnswer:
    """The project file and what it overlays, as they are on disk now."""
    sources = await services.projects.source_texts(project_id)
    return DslAnswer(files=[DslFile(path=path, content=content) for path, content in sources.items()])


@router.get(
    "/projects/{project_id}/dsl/synthesized",
    operation_id="get_synthesized_dsl",
    summary="Show what a project's files amount to",
)
async def get_synthesized_dsl(services: ServicesDep, project_id: ProjectId) -> dict[str, Any]:
    """Defaults, overlays and references resolved: the whole truth that agents run by."""
    return synthesize(services.projects.compiled(project_id))


@router.post(
    "/projects/{project_id}/reload", operation_id="reload_project", summary="Read a project's files again"
)
async def reload_project(services: ServicesDep, project_id: ProjectId) -> ProjectDetail:
    """With errors in the files the project keeps running as it was, and the answer is 422."""
    await services.projects.reload(project_id)
    return await project_detail(services, project_id)


@router.get(
    "/projects/{project_id}/capabilities",
    operation_id="get_capabilities",
    summary="Show what a project can use on this machine",
)
async def get_capabilities(services: ServicesDep, project_id: ProjectId) -> CapabilitiesAnswer:
    """The sandbox, language servers, debuggers, programs and providers: which are here."""
    project = services.projects.compiled(project_id)
    return CapabilitiesAnswer(capabilities=await capabilities_of(services.settings, services.tier, project))
