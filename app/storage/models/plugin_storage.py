"""Rows of what plugins keep: values by key, for each project and plugin."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class PluginValue(SQLModel, table=True):
    """One value. `size_bytes` is that of its JSON."""

    __tablename__ = "plugin_storage"

    project_id: str = Field(primary_key=True, foreign_key="projects.id")
    plugin: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    value: Any = Field(default=None, sa_type=Json)
    size_bytes: int = Field(default=0, sa_type=BigInteger)
    updated_at: int = Field(sa_type=BigInteger)
