"""Providers and models on the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, SecretStr

from app.api.schemas.model import AnswerModel, RequestModel
from app.harness.providers.explanation import Cause
from app.messages import Usage


class ModelAnswer(AnswerModel):
    """An alias and its `provider:model` candidates, in order. `problem` says why none of them can be called;
    `context_window` is that of the first candidate, in tokens; `input_usd` and `output_usd` are its prices
    for a million tokens. Null is unknown: prices of a public provider are known from its first call on."""

    alias: str
    chain: list[str]
    ready: bool
    problem: str | None
    context_window: int | None
    input_usd: float | None
    output_usd: float | None


class ProviderAnswer(AnswerModel):
    """A configured provider. `problem` says what is missing, `key_from` where its key is from: the settings,
    a usual environment variable, or stored by `PUT /providers/{name}/key`. Null: it has none."""

    name: str
    driver: str
    base_url: str | None
    ready: bool
    problem: str | None
    key_from: Literal["settings", "variable", "stored"] | None


class SetProviderKey(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"key": "sk-example"}}, hide_input_in_errors=True)

    key: SecretStr = Field(
        min_length=1, max_length=4096, description="Visible ASCII characters without spaces."
    )


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
