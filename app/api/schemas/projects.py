"""Projects and their files on the wire."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from app.api.schemas.model import AnswerModel, PageOf, RequestModel, Time
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


class MachineFolderAnswer(AnswerModel):
    """A folder on the daemon's machine."""

    name: str
    path: str = Field(description="Absolute. Of a symbolic link its own path, not where it leads.")
    is_project: bool = Field(description="Whether it has a project file, so that it can be loaded.")


class MachineFolderPage(PageOf[MachineFolderAnswer]):
    """Folders in one folder, by name."""

    path: str = Field(description="The real path of the folder, links followed.")
    parent: str | None = Field(description="The folder around it; null at the top.")
    is_project: bool = Field(description="Whether the folder itself has a project file.")
    complete: bool = Field(description="False when the folder has more entries than are looked at.")


class ActAnswer(AnswerModel):
    """One thing that a project does or is allowed to do."""

    kind: ActKind
    where: str = Field(description="The path of the agent, or the entry of the section, that declares it.")
    text: str
    file: str | None = Field(description="The project file that declares it, below the project's root.")
    line: int | None
    digest: str | None = Field(description="The digest of a prompt's text.")
    change: Literal["added", "removed"] | None = Field(
        description="Compared with the trusted version: a new request, or a removed protection."
    )


class TrustAnswer(AnswerModel):
    """Whether a project may run. `changed`: the trusted version stays active, and a newer one waits for
    trust."""

    state: Literal["trusted", "untrusted", "changed"]
    digest: str | None = Field(
        description="Identifies the newest version that compiles; send it to trust that version."
    )
    by: Literal["operator", "always", "settings"] | None = Field(description="Why it is trusted.")
    acts: list[ActAnswer] = Field(description="What the newest version asks for.")


class TrustProject(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"example": {"digest": "0c9d2f1e5a7b4c3d8e6f90a1b2c3d4e5", "always": False}}
    )

    digest: str = Field(
        min_length=1, max_length=64, description="The `trust.digest` of the version that you reviewed."
    )
    always: bool = Field(default=False, description="Also trust every later version.")


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
    diagnostics: list[Diagnostic] = Field(description="Diagnostics of the last load, including warnings.")
    compiled_digest: str | None


class ValidationAnswer(AnswerModel):
    """Whether a project file is valid, and all diagnostics."""

    valid: bool
    diagnostics: list[Diagnostic]


class DslFile(AnswerModel):
    path: str = Field(description="The path of the file, as the project names it.")
    content: str


class DslAnswer(AnswerModel):
    """The project file and its overlay, as they are on disk now."""

    files: list[DslFile]


CapabilityKind = Literal["sandbox", "language_server", "debug_adapter", "runner", "provider", "program"]


class Capability(AnswerModel):
    """A program or feature of the machine. `reason` says why it is not available."""

    name: str
    kind: CapabilityKind
    available: bool
    version: str | None = None
    reason: str | None = None


class CapabilityList(PageOf[Capability]):
    """All capabilities, on one page."""
