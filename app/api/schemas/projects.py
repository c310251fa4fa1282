"""Projects and their files on the wire."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from app.api.schemas.model import AnswerModel, RequestModel, Time
from app.harness.dsl.diagnostics import Diagnostic


def _without_nul(path: str) -> str:
    if "\x00" in path:
        raise ValueError("a path has no NUL character")
    return path


FilePath = Annotated[str, Field(min_length=1, max_length=4_096), AfterValidator(_without_nul)]


class LoadProject(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"path": "/home/me/shop"}})

    path: FilePath = Field(description="The project's root folder on the daemon's machine.")


class ProjectAnswer(AnswerModel):
    id: str
    root: str
    slug: str
    description: str
    state: str
    created_at: Time
    loaded_at: Time


class ProjectDetail(ProjectAnswer):
    diagnostics: list[Diagnostic] = Field(description="Findings of the last load, warnings included.")
    compiled_digest: str | None


class ValidationAnswer(AnswerModel):
    """Whether a project file is valid, and every finding at once."""

    valid: bool
    diagnostics: list[Diagnostic]


class DslFile(AnswerModel):
    path: str = Field(description="The file's path, as the project names it.")
    content: str


class DslAnswer(AnswerModel):
    """The project's own files, as they are on disk now."""

    files: list[DslFile]


class Capability(AnswerModel):
    """Something outside the daemon that it can use. `reason` says why it is not available."""

    name: str
    kind: Literal["sandbox", "language_server", "debug_adapter", "runner", "provider", "program"]
    available: bool
    version: str | None = None
    reason: str | None = None


class CapabilitiesAnswer(AnswerModel):
    capabilities: list[Capability]
