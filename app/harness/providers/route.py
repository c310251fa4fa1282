"""From a model's name in a project file to the providers that may answer, in order.

Owns: aliases, fallback chains, and the direct form `provider:model`. Never: calling anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from app.errors import ValidationFailed
from app.harness.providers.errors import ProviderError


@dataclass(frozen=True, slots=True)
class Candidate:
    """One provider of the local config and one of its models."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True, slots=True)
class Route:
    """What an alias (or a direct name) stands for now; the first candidate is preferred."""

    alias: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """A call is about to be sent. `attempt` counts from 1 within one answer, over all providers."""

    attempt: int
    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """A call failed; `begun`: after its first delta. What follows: a wait of `delay` seconds and another
    try, or the candidate `fallback_to` at once, or (both None) the error is raised."""

    attempt: int
    provider: str
    model: str
    error: ProviderError
    delay: float | None = None
    fallback_to: str | None = None
    begun: bool = False


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """An alias and its chain of `provider:model`; `problem` says why no candidate can be called.
    `context_window` is the first candidate's, in tokens, and `input_usd` and `output_usd` its prices for a
    million of them (None: unknown)."""

    alias: str
    chain: tuple[str, ...]
    ready: bool
    problem: str | None
    context_window: int | None
    input_usd: float | None = None
    output_usd: float | None = None


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """A configured provider. `problem` says what is missing; no credential is ever shown, only where it is
    from (`key_from`)."""

    name: str
    driver: str
    base_url: str | None
    ready: bool
    problem: str | None
    key_from: str | None = None


def resolve(name: str, models: Mapping[str, Sequence[str]], providers: Collection[str]) -> Route:
    """Return the route of an alias or of a direct `provider:model`. Raises `ValidationFailed`."""
    if name in models:
        return Route(name, tuple(_candidate(entry, name, providers) for entry in models[name]))
    provider, colon, model = name.partition(":")
    if colon and model and provider in providers:
        return Route(name, (Candidate(provider, model),))
    known = ", ".join(sorted(models)) or "none"
    if colon:
        message = f"Model {name!r}: no provider {provider!r} in the local config. {_known(providers)}"
    else:
        message = f"Model alias {name!r} not found in the local config. Known aliases: {known}."
    raise ValidationFailed(message, fields={"model": message}, reason="unknown_model")


def _candidate(entry: str, alias: str, providers: Collection[str]) -> Candidate:
    provider, _, model = entry.partition(":")
    if provider in providers and model:
        return Candidate(provider, model)
    message = f"Model alias {alias!r} names {entry!r}, but there is no such provider. {_known(providers)}"
    raise ValidationFailed(message, fields={"model": message}, reason="unknown_provider")


def _known(providers: Collection[str]) -> str:
    return f"Known providers: {', '.join(sorted(providers)) or 'none'}."
