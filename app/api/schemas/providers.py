"""Providers and models on the wire."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from app.api.schemas.model import AnswerModel, RequestModel
from app.harness.providers.explanation import Cause
from app.messages import Usage


class ModelAnswer(AnswerModel):
    """An alias and its `provider:model` candidates, in order. `problem` says why none of them can be called;
    `context_window` is that of the first candidate, in tokens."""

    alias: str
    chain: list[str]
    ready: bool
    problem: str | None
    context_window: int | None


class ProviderAnswer(AnswerModel):
    """A configured provider. `problem` says what is missing."""

    name: str
    driver: str
    base_url: str | None
    ready: bool
    problem: str | None


class TestProvider(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"model": "gpt-5-mini"}})

    __test__ = False

    model: str | None = Field(
        default=None,
        max_length=200,
        description="By default a model of an alias, or one that the provider offers.",
    )


class ProviderTestAnswer(AnswerModel):
    """The outcome of one real call. Times are milliseconds. `error` is the kind and `message` the server's
    own words; `cause`, `explanation` and `advice` say why the call failed and what to do."""

    provider: str
    model: str
    ok: bool
    duration_ms: int
    ttft_ms: int | None
    text: str
    usage: Usage | None
    error: str | None
    message: str | None
    cause: Cause | None
    explanation: str | None
    advice: str | None
