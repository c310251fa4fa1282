"""Permission rules on the wire."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from app.api.schemas.model import AnswerModel, RequestModel, Time

Permission = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.*?@\[\]-]+$", max_length=200)]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Action = Literal["allow", "deny", "ask"]


class CreatePermission(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {"permission": "shell.bash", "pattern": "git status *", "action": "allow"}
        }
    )

    permission: Permission = Field(
        description="A tool, a `tool.action`, a capability, a glob over those, or `*`."
    )
    pattern: Pattern = Field(description="The subject: a command, a path or a host; or `*`.")
    action: Action = "ask"


class RuleAnswer(AnswerModel):
    """A rule without its origin."""

    permission: str
    pattern: str
    action: Action


class PermissionAnswer(AnswerModel):
    id: str
    project_id: str
    session_id: str | None = Field(description="Null for a rule of the whole project.")
    permission: str
    pattern: str
    action: Action
    created_by: str
    created_at: Time
    effective: bool = Field(
        description="False when the project file overrules it for every agent, so that it has no effect."
    )
    overruled_by: RuleAnswer | None = Field(
        description="The rule of the project file that overrules it; null when it is effective."
    )
