"""The base classes of all request and answer models.

Owns: the two base classes and the time type. Never: a noun's fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema

from app.events.union import rfc3339

T = TypeVar("T")

Time = Annotated[
    int,
    PlainSerializer(rfc3339, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-01-02T03:04:05.678Z"]}),
]
"""Milliseconds since the epoch inside, RFC 3339 in UTC on the wire."""


class RequestModel(BaseModel):
    """A request body: unknown fields are refused by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AnswerModel(BaseModel):
    """An answer body, built from the attributes of rows."""

    model_config = ConfigDict(defer_build=True, from_attributes=True, frozen=True)


class PageOf(AnswerModel, Generic[T]):
    """One page of a list."""

    items: list[T]
    next_cursor: str | None = Field(
        description="Send it as `cursor` to get the next page; null on the last page."
    )
    total: int = Field(description="The number of items on all pages.")

    @classmethod
    def whole(cls, items: Sequence[Any]) -> Self:
        """Return a list that is never longer than one page."""
        return cls(items=list(items), next_cursor=None, total=len(items))
