"""Rows of leases: which of several daemons on one database owns a project."""

from __future__ import annotations

from sqlalchemy import BigInteger
from sqlmodel import Field, SQLModel


class ProjectLease(SQLModel, table=True):
    """The owner of one project. `fence` grows with every owner. `expires_at` is in milliseconds by the clock
    of the database. `marker` is what the marker file in the project's folder holds. The name
    `WHOLE_DATABASE` in place of a project is the lease of work that concerns the whole database."""

    __tablename__ = "project_leases"

    project_id: str = Field(primary_key=True)
    owner_id: str
    owner_url: str
    fence: int = Field(sa_type=BigInteger)
    expires_at: int = Field(sa_type=BigInteger)
    marker: str
