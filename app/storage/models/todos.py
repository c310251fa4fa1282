"""Rows of todo lists: what the agents of a session mean to do."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class TodoList(SQLModel, table=True):
    """The list of one session, replaced as a whole. `items` are objects with `content` and
    `status`; `updated_by` is the agent that wrote it last."""

    __tablename__ = "todo_lists"

    session_id: str = Field(primary_key=True, foreign_key="sessions.id")
    items: list[Any] = Field(default_factory=list, sa_type=Json)
    updated_by: str
    updated_at: int = Field(sa_type=BigInteger)
