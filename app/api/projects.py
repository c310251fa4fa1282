"""Routes for projects and project files.

Owns: parsing and answering. Never: compiling (`harness.dsl`) or watching (`harness.projects`).
"""

from __future__ import annotations

import asyncio
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from app.api.dependencies import OperatorDep, PageDep, PrincipalDep, ProjectId, ServicesDep
from app.api.kaged_route import IDEMPOTENT, noun_router
from app.api.pagination import answer_page, page_by_name
from app.api.schemas.model import PageOf
from app.api.schemas.projects import (
    Capability,
    CapabilityList,
    DslAnswer,
    DslFile,
    LoadProject,
    MachineFolderAnswer,
    MachineFolderPage,
    ProjectAnswer,
    ProjectDetail,
    TrustAnswer,
    TrustProject,
    ValidationAnswer,
)
from app.daemon.services import Services
from app.errors import NotFound
from app.harness.dsl.compiler import check_text
from app.harness.dsl.json_schema import project_json_schema
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
    """Loading a folder again returns the same project. A project file with errors is refused with 422 and
    every diagnostic."""
    loaded = await services.decisions.loader.load(body.path)
    return await project_detail(services, loaded.id)


@router.get("/folders", summary="List the folders in a folder of the daemon's machine")
async def list_machine_folders(
    services: ServicesDep,
    operator: OperatorDep,
    page: PageDep,
    path: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=4_096,
            description="An absolute path; without one the home of the daemon's user.",
        ),
    ] = None,
    hidden: Annotated[bool, Query(description="Include names that begin with a dot.")] = False,
) -> MachineFolderPage:
    """For operators, to choose a folder for `POST /projects/load`. Names of folders alone, no files. The
    daemon's own folders are not shown, nor names that are not printable."""
    found = await asyncio.to_thread(services.management.folders.machine.view, path, hidden=hidden)
    shown = page_by_name("folders", found.folders, attrgetter("name"), page)
    parent = str(Path(found.path).parent)
    return MachineFolderPage(
        items=[MachineFolderAnswer.model_validate(one) for one in shown.items],
        next_cursor=shown.next_cursor,
        total=shown.total,
        path=found.path,
        parent=parent if parent != found.path else None,
        is_project=found.is_project,
        complete=found.complete,
    )


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
    """The project file and its overlay, as they are on disk now."""
    sources = await services.decisions.loader.source_texts(project_id)
    return DslAnswer(files=[DslFile(path=path, content=content) for path, content in sources.items()])


@router.get("/projects/{project_id}/dsl/synthesized", summary="Show the compiled project")
async def get_synthesized_dsl(services: ServicesDep, project_id: ProjectId) -> dict[str, Any]:
    """The project as agents run it, with defaults, overlays and references resolved."""
    return synthesize(services.projects.get(project_id).shown())


@router.post("/projects/{project_id}/reload", summary="Reload a project")
async def reload_project(services: ServicesDep, project_id: ProjectId) -> ProjectDetail:
    """When a file has errors, the answer is 422 and the loaded version stays active."""
    await services.decisions.loader.reload(project_id)
    return await project_detail(services, project_id)


@router.post("/projects/{project_id}/trust", summary="Trust the present version of a project")
async def trust_project(
    services: ServicesDep, principal: PrincipalDep, project_id: ProjectId, body: TrustProject
) -> ProjectDetail:
    """`digest` is the `trust.digest` of the version that you reviewed; another version is refused with 409
    (`project_changed`). Later versions that ask for no more are trusted with it."""
    await services.decisions.grant(project_id, body.digest, always=body.always, actor=principal.actor)
    return await project_detail(services, project_id)


@router.delete("/projects/{project_id}/trust", summary="Revoke the trust in a project")
async def distrust_project(
    services: ServicesDep, principal: PrincipalDep, project_id: ProjectId
) -> ProjectDetail:
    """Cancels its runs and stops its plugins and language servers. Nothing is deleted."""
    await services.decisions.withdraw(project_id, actor=principal.actor)
    return await project_detail(services, project_id)


@router.post("/projects/{project_id}/move", summary="Update the folder of a moved project")
async def move_project(
    services: ServicesDep, principal: PrincipalDep, project_id: ProjectId, body: LoadProject
) -> ProjectDetail:
    """`path` is the new folder; no file is moved. Sessions, issues, rules, uploads and trust stay. While a
    session of the project runs, the answer is 409 (`project_busy`)."""
    await services.decisions.move(project_id, body.path, actor=principal.actor)
    return await project_detail(services, project_id)


@router.get("/projects/{project_id}/capabilities", summary="Show what the machine offers a project")
async def get_capabilities(services: ServicesDep, project_id: ProjectId) -> CapabilityList:
    """Which cages, language servers, debug adapters and programs are available on this machine."""
    project = services.projects.compiled(project_id)
    found = await services.machine.capabilities(project)
    return CapabilityList.whole([Capability.model_validate(one) for one in found])


_EXAMPLE = """\
version: 1
project: shop
primary:
  model: smart
  system_prompt: prompts/primary.md
  cage: disabled
"""
_AS_ITS_FILE = Query(max_length=64, description="The project that the text is checked for.")
_YAML_BODY = {
    "requestBody": {
        "required": True,
        "description": "The YAML text, in UTF-8, with whatever content type.",
        "content": {
            "application/octet-stream": {
                "schema": {"type": "string", "format": "binary"},
                "example": _EXAMPLE,
            }
        },
    }
}


@router.post("/dsl/validate", summary="Check a project file", openapi_extra=_YAML_BODY)
async def validate_dsl(
    request: Request, services: ServicesDep, project_id: Annotated[str | None, _AS_ITS_FILE] = None
) -> ValidationAnswer:
    """The body is the YAML text. With `project_id` it is checked as the project file of that project,
    including the prompts and projects that it names. Without `project_id` no file is read, and a reference to
    another project is an error (`reference_unchecked`). The status is 200 also when there are errors."""
    found = await asyncio.to_thread(
        check_text,
        await request.body(),
        catalog=services.registry,
        known_models={entry.alias for entry in services.providers.list_models()},
        root=services.projects.root_of(project_id) if project_id is not None else None,
    )
    errors = any(diagnostic.severity == "error" for diagnostic in found)
    return ValidationAnswer(valid=not errors, diagnostics=list(found))


@router.get("/dsl/schema", summary="Get the JSON Schema of project files")
async def get_dsl_schema() -> dict[str, Any]:
    """For editors. No token is needed."""
    return project_json_schema()
