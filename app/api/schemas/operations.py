"""Health, versions, access tokens, audit and catching up, on the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, ConfigDict, Field

from app.access.scopes import Scope
from app.api.schemas.model import AnswerModel, RequestModel, Time
from app.storage.models import LogEntry


class Health(AnswerModel):
    status: Literal["ok"]
    version: str


class Check(AnswerModel):
    """One check; `absent`: the daemon works without it; `warning`: it works, and `detail` says what will
    fail."""

    status: Literal["ok", "failed", "absent", "warning"]
    detail: str | None = None


class Readiness(AnswerModel):
    """`ready` is true when no required check failed."""

    ready: bool
    checks: dict[str, Check]


class Versions(AnswerModel):
    kaged: str
    commit: str | None = Field(
        description="The commit of the build, with `-dirty` after it when the build had changes that were "
        "not committed. Null when it is not known."
    )
    database_schema: str = Field(description="The revision of the database schema that this version uses.")
    api: str
    python: str
    platform: str


class CreateToken(RequestModel):
    """The scope `agent` requires `session_id` and `agent_path`; the scope `plugin` requires `project_id` and
    `plugin`; the scope `chat` requires `project_id` and takes `agent_path`. Others take none of these."""

    model_config = ConfigDict(json_schema_extra={"example": {"name": "dashboard", "scope": "read-only"}})

    name: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$")]
    scope: Scope = "operator"
    session_id: Annotated[str, Field(max_length=64)] | None = Field(
        default=None, description="Scope `agent`: the only session of the token."
    )
    agent_path: Annotated[str, Field(max_length=500)] | None = Field(
        default=None,
        description="Scope `agent`: the agent whose tools the token calls. Scope `chat`: the only agent that "
        "the token talks to; by default it talks to all agents of the project.",
    )
    project_id: Annotated[str, Field(max_length=64)] | None = Field(
        default=None,
        description="Scope `plugin`: the project whose sessions the token reads. Scope `chat`: the project "
        "whose agents the token talks to.",
    )
    plugin: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Scope `plugin`: the name of the plugin."
    )
    expires_at: AwareDatetime | None = Field(default=None, description="By default the token never expires.")


class TokenAnswer(AnswerModel):
    id: str
    name: str
    scope: str
    created_at: Time
    expires_at: Time | None
    revoked_at: Time | None
    project_id: str | None
    session_id: str | None
    agent_path: str | None
    plugin: str | None


class CreatedTokenAnswer(TokenAnswer):
    token: str = Field(description="The secret; it is shown once and is not stored.")


class LaunchLink(AnswerModel):
    """`url` signs one browser in, once."""

    url: str


class AuditEntry(AnswerModel):
    id: int
    event: str
    actor: str
    project_id: str | None
    session_id: str | None
    run_id: str | None
    agent_path: str | None
    request_id: str | None
    data: dict[str, Any]
    created_at: Time


class SessionCatchUp(AnswerModel):
    """The events of one session from `from_seq` on. With `has_more`, continue from `through_seq`. With
    `resync` the log was trimmed: reload the session."""

    session_id: str
    from_seq: int
    through_seq: int
    has_more: bool
    resync: bool
    frames: list[dict[str, Any]]


class CatchUp(AnswerModel):
    sessions: list[SessionCatchUp]


Level = Literal["debug", "info", "warning", "error", "critical"]

SEVERITIES: dict[Level, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}


class LogRecord(AnswerModel):
    """One record. `fields` depend on the event; the event `log` has a `message`."""

    id: int
    created_at: Time
    level: Level
    logger: str
    event: str
    session_id: str | None
    run_id: str | None
    fields: dict[str, Any]

    @classmethod
    def of(cls, row: LogEntry) -> LogRecord:
        return cls.model_validate({**row.model_dump(), "level": _level(row.severity)})


def _level(severity: int) -> Level:
    """Return the highest level that the number reaches."""
    reached: Level = "debug"
    for level, number in SEVERITIES.items():
        if severity >= number:
            reached = level
    return reached
