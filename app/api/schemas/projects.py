"""Projects and their files on the wire."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from app.api.schemas.model import AnswerModel, RequestModel, Time
from app.harness.dsl.acts import ActKind
from app.harness.dsl.diagnostics import Diagnostic


def _without_nul(path: str) -> str:
    if "\x00" in path:
        raise ValueError("a path has no NUL character")
    return path


FilePath = Annotated[str, Field(min_length=1, max_length=4_096), AfterValidator(_without_nul)]


class LoadProject(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"path": "/home/me/shop"}})

    path: FilePath = Field(description="The project's root folder on the daemon's machine.")


class ActAnswer(AnswerModel):
    """One thing that a project would do or be allowed."""

    kind: ActKind
    where: str = Field(description="The agent's path, or the entry of the section, that it stands in.")
    text: str
    file: str | None = Field(description="The project file that says so, below the project's root.")
    line: int | None
    digest: str | None = Field(description="The digest of a prompt's text.")
    change: Literal["added", "removed"] | None = Field(
        description="Against the version that is trusted: more than that, or a protection that is gone."
    )


class TrustAnswer(AnswerModel):
    """Whether a project may act. `changed`: the last trusted version acts, and a newer one waits."""

    state: Literal["trusted", "untrusted", "changed"]
    digest: str | None = Field(description="Names the newest version that compiles; trust it by this.")
    by: Literal["operator", "always", "settings"] | None = Field(description="Why it is trusted.")
    acts: list[ActAnswer] = Field(description="What the newest version would do.")


class TrustProject(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"example": {"digest": "0c9d2f1e5a7b4c3d8e6f90a1b2c3d4e5", "always": False}}
    )

    digest: str = Field(min_length=1, max_length=64, description="`trust.digest`, of what you looked at.")
    always: bool = Field(default=False, description="Whether later versions are trusted without a question.")


class ProjectAnswer(AnswerModel):
    id: str
    root: str
    slug: str
    description: str
    state: str
    created_at: Time
    loaded_at: Time
    trust: TrustAnswer


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


CapabilityKind = Literal["sandbox", "language_server", "debug_adapter", "runner", "provider", "program"]


class Capability(AnswerModel):
    """Something outside the daemon that it can use. `reason` says why it is not available."""

    name: str
    kind: CapabilityKind
    available: bool
    version: str | None = None
    reason: str | None = None


class CapabilitiesAnswer(AnswerModel):
    capabilities: list[Capability]
