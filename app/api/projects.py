"""Routes for projects and the project file.

Owns: parsing and answering. Never: compiling (`harness.dsl`) or watching (`harness.projects`).
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app.api.capabilities import capabilities_of
from app.api.dependencies import PageDep, PrincipalDep, ProjectId, ServicesDep
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
    TrustAnswer,
    TrustProject,
)
from app.daemon.lifespan import Services
from app.errors import NotFound
from app.harness.dsl.synthesized import synthesize

router: APIRouter = noun_router("Projects")


async def project_detail(services: Services, project_id: str) -> ProjectDetail:
    """Return the answer for one project; raise `NotFound`."""
    row = await services.storage.read(lambda uow: uow.projects.get(project_id))
    if row is None:
        raise NotFound(f"There is no project {project_id}.")
    return ProjectDetail.model_validate({**row.model_dump(), "trust": trust_answer(services, project_id)})


def trust_answer(services: Services, project_id: str) -> TrustAnswer:
    """Return what is trusted of a project and what its newest version would do."""
    return TrustAnswer.model_validate(services.projects.wire_trust(project_id))


@router.post("/projects/load", summary="Load a project from its folder", dependencies=[IDEMPOTENT])
async def load_project(services: ServicesDep, body: LoadProject) -> ProjectDetail:
    """Loading a folder again gives the same project. A project file with errors is refused with
    422 and every finding."""
    loaded = await services.decisions.loader.load(body.path)
    return await project_detail(services, loaded.id)


@router.get("/projects", summary="List loaded projects")
async def list_projects(services: ServicesDep, page: PageDep) -> PageOf[ProjectAnswer]:
    found = await services.storage.read(lambda uow: uow.projects.list(limit=page.limit, cursor=page.cursor))
    return answer_page(
        found,
        lambda row: ProjectAnswer.model_validate(
            {**row.model_dump(), "trust": trust_answer(services, row.id)}
        ),
    )


@router.get("/projects/{project_id}", summary="Show a project")
async def get_project(services: ServicesDep, project_id: ProjectId) -> ProjectDetail:
    return await project_detail(services, project_id)


@router.get("/projects/{project_id}/dsl", summary="Show the project file and its overlay")
async def get_project_dsl(services: ServicesDep, project_id: ProjectId) -> DslAnswer:
    """The project file and what it overlays, as they are on disk now."""
    sources = await services.decisions.loader.source_texts(project_id)
    return DslAnswer(files=[DslFile(path=path, content=content) for path, content in sources.items()])


@router.get("/projects/{project_id}/dsl/synthesized", summary="Show the compiled project")
async def get_synthesized_dsl(services: ServicesDep, project_id: ProjectId) -> dict[str, Any]:
    """Defaults, overlays and references resolved: the whole truth that agents run by."""
    return synthesize(services.projects.get(project_id).shown())


@router.post("/projects/{project_id}/reload", summary="Reload a project")
async def reload_project(services: ServicesDep, project_id: ProjectId) -> ProjectDetail:
    """With errors in the files the project keeps running as it was, and the answer is 422."""
    await services.decisions.loader.reload(project_id)
    return await project_detail(services, project_id)


@router.post("/projects/{project_id}/trust", summary="Trust the present version of a project")
async def trust_project(
    services: ServicesDep, principal: PrincipalDep, project_id: ProjectId, body: TrustProject
) -> ProjectDetail:
    """`digest` names the version that you have looked at, as `trust.digest` of the project does: another
    one is refused with 409 (`project_changed`). A later version that asks for no more needs no question."""
    await services.decisions.grant(project_id, body.digest, always=body.always, actor=principal.actor)
    return await project_detail(services, project_id)


@router.delete("/projects/{project_id}/trust", summary="Revoke the trust in a project")
async def distrust_project(
    services: ServicesDep, principal: PrincipalDep, project_id: ProjectId
) -> ProjectDetail:
    """Its runs are cancelled, its plugins and language servers end. Nothing is deleted."""
    await services.decisions.withdraw(project_id, actor=principal.actor)
    return await project_detail(services, project_id)


@router.post("/projects/{project_id}/move", summary="Update the folder of a moved project")
async def move_project(
    services: ServicesDep, principal: PrincipalDep, project_id: ProjectId, body: LoadProject
) -> ProjectDetail:
    """`path` is where the folder is now. Sessions, issues, rules, uploads and trust stay. No file is moved.
    While a session of it runs the answer is 409 (`project_busy`)."""
    await services.decisions.move(project_id, body.path, actor=principal.actor)
    return await project_detail(services, project_id)


@router.get("/projects/{project_id}/capabilities", summary="Show what the machine offers a project")
async def get_capabilities(services: ServicesDep, project_id: ProjectId) -> CapabilitiesAnswer:
    """The sandbox, language servers, debuggers, programs and providers: which are here."""
    project = services.projects.compiled(project_id)
    return CapabilitiesAnswer(capabilities=await capabilities_of(services.settings, services.tier, project))
