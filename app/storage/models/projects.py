"""Rows of loaded projects."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, text
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class Project(SQLModel, table=True):
    """One project root that this daemon has loaded; the root path is its identity. `issues_numbered` is
    the number of its newest issue."""

    __tablename__ = "projects"

    id: str = Field(primary_key=True)
    root: str = Field(unique=True)
    slug: str = Field(index=True)
    description: str = ""
    state: str = "loaded"
    diagnostics: list[dict[str, Any]] = Field(default_factory=list, sa_type=Json)
    compiled_digest: str | None = None
    created_at: int = Field(sa_type=BigInteger)
    loaded_at: int = Field(sa_type=BigInteger)
    issues_numbered: int = Field(default=0, sa_column_kwargs={"server_default": text("0")})
