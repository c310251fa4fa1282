"""Routes for the language of project files, without a project.

Owns: parsing and answering. Never: the language (`harness.dsl`).
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from app.api.dependencies import ServicesDep
from app.api.kaged_route import noun_router
from app.api.schemas.projects import ValidationAnswer
from app.harness.dsl.compiler import check_text
from app.harness.dsl.json_schema import project_json_schema

router: APIRouter = noun_router("Projects")

_EXAMPLE = """\
version: 1
project: shop
primary:
  model: smart
  system_prompt: prompts/primary.md
  cage: disabled
"""
_AS_ITS_FILE = Query(max_length=64, description="The project whose file the text is to be.")
_YAML_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/yaml": {"schema": {"type": "string"}, "example": _EXAMPLE}},
    }
}


@router.post("/dsl/validate", summary="Check a project file", openapi_extra=_YAML_BODY)
async def validate_dsl(
    request: Request, services: ServicesDep, project_id: Annotated[str | None, _AS_ITS_FILE] = None
) -> ValidationAnswer:
    """The body is the YAML text. With `project_id` it is checked as the project file of that project, with
    the prompts and projects that it names. Without it no file is looked at, and a reference to another
    project is an error (`reference_unchecked`). The answer is 200 with every finding, also with errors."""
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
    """For editors; it needs no token."""
    return project_json_schema()
