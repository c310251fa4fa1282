"""Rows of projects: their trust, what their plugins keep, their uploads; and texts by digest."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class Project(SQLModel, table=True):
    """One project root that this daemon has loaded; the root path is its identity. `issues_numbered` is
    the number of its newest issue."""

    __tablename__ = "projects"

    id: str = Field(primary_key=True)
    root: str = Field(unique=True)
    slug: str
    description: str = ""
    state: str = "loaded"
    diagnostics: list[dict[str, Any]] = Field(default_factory=list, sa_type=Json)
    compiled_digest: str | None = None
    created_at: int = Field(sa_type=BigInteger)
    loaded_at: int = Field(sa_type=BigInteger)
    issues_numbered: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})


class ProjectTrust(SQLModel, table=True):
    """The last version of a project that an operator trusted. `digest` names the compiled project among the
    blobs; `always`: later versions of this root are trusted without a question. `trusted_by` is
    `upgrade` for a project that was loaded before there was trust."""

    __tablename__ = "project_trust"

    root: str = Field(primary_key=True)
    digest: str
    always: bool = False
    trusted_by: str
    trusted_at: int = Field(sa_type=BigInteger)


class PluginValue(SQLModel, table=True):
    """One value. `size_bytes` is that of its JSON."""

    __tablename__ = "plugin_storage"

    project_id: str = Field(primary_key=True, foreign_key="projects.id")
    plugin: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    value: Any = Field(default=None, sa_type=Json)
    size_bytes: int = Field(default=0, sa_type=BigInteger)
    updated_at: int = Field(sa_type=BigInteger)


class Upload(SQLModel, table=True):
    """One file. Its content lies in the daemon's data folder under the upload's id. `sha256` is in
    hexadecimal. `used_by` is the issue, interaction or workflow run that it belongs to; without one it is
    removed some time after `created_at`."""

    __tablename__ = "uploads"
    __table_args__ = (Index("ix_uploads_used_by", "used_by", "created_at"),)

    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id")
    name: str
    media_type: str
    size_bytes: int = Field(sa_type=BigInteger)
    sha256: str
    created_by: str
    created_at: int = Field(sa_type=BigInteger)
    used_by: str | None = None
    used_at: int | None = Field(default=None, sa_type=BigInteger)


class Blob(SQLModel, table=True):
    __tablename__ = "blobs"

    digest: str = Field(primary_key=True)
    media_type: str
    content: bytes
    created_at: int = Field(sa_type=BigInteger)
