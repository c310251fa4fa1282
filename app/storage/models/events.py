"""Rows of durable events: what every subscriber of a session has been or will be sent."""

from __future__ import annotations

from sqlalchemy import BigInteger
from sqlmodel import Field, SQLModel


class Event(SQLModel, table=True):
    """One durable frame; `frame` is the exact JSON that goes over the WebSocket.

    The key is the only index: within a session rows are in order of time as well, so that
    trimming by age walks it from its low end. With row ids on SQLite: without them a frame above
    1,000 bytes spills into a page of its own, which doubled the growth of a turn."""

    __tablename__ = "events"

    session_id: str = Field(foreign_key="sessions.id", primary_key=True)
    seq: int = Field(sa_type=BigInteger, primary_key=True)
    type: str
    created_at: int = Field(sa_type=BigInteger)
    frame: bytes
