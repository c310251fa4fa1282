"""Rows of content-addressed texts: system prompts, tool lists, compiled projects."""

from __future__ import annotations

from sqlalchemy import BigInteger
from sqlmodel import Field, SQLModel


class Blob(SQLModel, table=True):
    __tablename__ = "blobs"

    digest: str = Field(primary_key=True)
    media_type: str
    content: bytes
    created_at: int = Field(sa_type=BigInteger)
