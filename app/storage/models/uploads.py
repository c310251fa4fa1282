"""Rows of contents: texts by their digest, and files that people hand in."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index
from sqlmodel import Field, SQLModel


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
