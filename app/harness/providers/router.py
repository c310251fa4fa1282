"""The harness's one door to the models: aliases, chains, retries.

Owns: which provider is asked, fallback before the first delta, hot reload. Never: a wire format, or
changing what was sealed: the bytes that the `seal` callback returned are the bytes that are sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing

from app.config import PriceSettings, ProviderSettings, without_credentials
from app.errors import ValidationFailed
from app.harness.providers.answer_limits import AnswerLimits
from app.harness.providers.attempts import Failures, RetryPolicy, combined_error, failed
from app.harness.providers.catalog import Catalog
from app.harness.providers.deltas import Delta, Finished, UsageSoFar
from app.harness.providers.errors import FALLBACK, RETRYABLE, ProviderError
from app.harness.providers.explanation import no_key
from app.harness.providers.pool import ProviderPool
from app.harness.providers.probe import ProviderTestResult, failed_test, tested
from app.harness.providers.provider import ModelRequest, Provider, WireRequest
from app.harness.providers.route import (
    AttemptFailed,
    AttemptStarted,
    Candidate,
    ModelEntry,
    ProviderEntry,
    Route,
    resolve,
)

__all__ = ["AttemptFailed", "AttemptStarted", "Candidate", "ProviderRouter", "ProviderTestResult", "Route"]

Build = Callable[[Candidate], ModelRequest]
Seal = Callable[[Provider, ModelRequest], WireRequest]
_Sealed = dict[Candidate, tuple[ModelRequest, WireRequest]]


class ProviderRouter:
    """Built from the local config without I/O. Close with `aclose`.

    `catalog` knows the prices of what was called: it is complete for a provider once a stream of it
    has ended, or after `catalog.prepare`."""

    def __init__(
        self,
        models: Mapping[str, Sequence[str]],
        providers: Mapping[str, ProviderSettings],
        prices: Mapping[str, PriceSettings],
        *,
        retry: RetryPolicy | None = None,
    ) -> None:
        self._models = models
        self._pool = ProviderPool(providers)
        self._retry = retry or RetryPolicy()
        self.catalog = Catalog(prices, providers)
        self.changing = asyncio.Lock()
        """Held while the configuration is read and changed, so that no change is lost to another."""

    def resolve(self, name: str) -> Route:
        """Return the route of an alias or `provider:model`. Raises `ValidationFailed`."""
        return resolve(name, self._models, self._pool.settings)

    def provider(self, name: str) -> Provider:
        """Return a configured provider. Raises `NotFound`."""
        return self._pool.get(name)

    async def stream(
        self, route: Route, build: Build, *, seal: Seal | None = None
    ) -> AsyncGenerator[Delta | AttemptStarted | AttemptFailed, None]:
        """Ask the candidates in order and yield the answer of the first that begins one.

        A chain is walked without waiting; when all have failed, those that may recover are tried
        again after a pause. Once one has begun an answer that breaks off, it alone is tried again: the
        new attempt starts the answer again. An error about the conversation itself goes to the caller.
        Raises `ProviderError`. Close the iterator (or cancel its reader) to close the connection at once."""
        failures = Failures(self._retry)
        sealed: _Sealed = {}
        attempt, begun = 0, False
        remaining = list(route.candidates)
        while remaining:
            for position, candidate in enumerate(remaining, 1):
                attempt += 1
                begun = False
                yield AttemptStarted(attempt, candidate.provider, candidate.model)
                try:
                    async with aclosing(self._answer(candidate, build, seal, sealed)) as answer:
                        async for delta in answer:
                            begun = begun or not isinstance(delta, UsageSoFar)
                            yield delta
                    return
                except ProviderError as error:
                    broke_off = begun or failures.began is not None
                    if error.kind not in (RETRYABLE if broke_off else FALLBACK):
                        raise
                    failures.add(candidate, error, begun=begun)
                if broke_off:
                    break
                if position < len(remaining):
                    yield failed(attempt, candidate, failures, fallback_to=str(remaining[position]))
            remaining, delay = failures.next_round()
            yield failed(attempt, candidate, failures, delay=delay, begun=begun)
            await asyncio.sleep(delay or 0)
        raise combined_error(route, failures)

    def update(
        self,
        models: Mapping[str, Sequence[str]],
        providers: Mapping[str, ProviderSettings],
        prices: Mapping[str, PriceSettings],
    ) -> None:
        """Take over a changed configuration; calls under way end with the old one. Raises
        `ConfigError`, and then nothing has changed."""
        self._pool.update(providers)
        self._models = models
        self.catalog.update(prices, providers)

    def settings_of(self, name: str) -> ProviderSettings:
        """Return the configuration of a provider. Raises `NotFound`."""
        self._pool.get(name)
        return self._pool.settings[name]

    def replace_settings(self, name: str, settings: ProviderSettings) -> None:
        """Take over another key of a provider; calls under way end with the old one."""
        self._pool.update({**self._pool.settings, name: settings})

    def list_models(self) -> list[ModelEntry]:
        """Return all aliases; an alias is ready when one of its candidates is."""
        entries = []
        for alias, chain in self._models.items():
            try:
                candidates = self.resolve(alias).candidates
            except ValidationFailed as error:
                entries.append(ModelEntry(alias, tuple(chain), False, error.message, None))
                continue
            problems = [self._pool.problem(candidate.provider) for candidate in candidates]
            first = candidates[0]
            window = self.catalog.context_window(first.provider, first.model)
            rates = self.catalog.rates(first.provider, first.model)
            prices = (None, None) if rates is None else (rates.input, rates.output)
            ready = None in problems
            problem = None if ready else problems[0]
            entries.append(ModelEntry(alias, tuple(chain), ready, problem, window, *prices))
        return entries

    def list_providers(self) -> list[ProviderEntry]:
        """Return all configured providers."""
        return [
            ProviderEntry(
                name,
                settings.driver,
                url and without_credentials(url),
                problem is None,
                problem,
                settings.key_from,
            )
            for name, settings in self._pool.settings.items()
            for url, problem in ((settings.base_url, self._pool.problem(name)),)
        ]

    async def test(self, name: str, model: str | None = None) -> ProviderTestResult:
        """Make one real, small call, without retry, and explain how it fails. Without `model` it takes the
        first one that an alias names, or that the server offers. Raises `NotFound`, `ValidationFailed`."""
        self._pool.get(name)
        chosen = model or next(
            (
                entry.partition(":")[2]
                for chain in self._models.values()
                for entry in chain
                if entry.startswith(f"{name}:")
            ),
            None,
        )
        problem = self._pool.problem(name)
        if problem is not None:
            return failed_test(name, chosen or "", ProviderError("auth", problem), no_key(problem))
        with self._pool.built(Candidate(name, chosen or "")) as (settings, built):
            return await tested(name, chosen, settings, built)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()
        await self.catalog.aclose()

    async def _answer(
        self, candidate: Candidate, build: Build, seal: Seal | None, sealed: _Sealed
    ) -> AsyncGenerator[Delta, None]:
        with self._pool.in_use(candidate) as provider:
            loading = self.catalog.begin(candidate.provider)
            if candidate not in sealed:
                request = build(candidate)
                sealed[candidate] = request, seal(provider, request) if seal else provider.encode(request)
            request, wire = sealed[candidate]
            limits = AnswerLimits(candidate.provider, candidate.model)
            try:
                async with aclosing(provider.stream(wire, request)) as stream:
                    async for delta in stream:
                        limits.count(delta)
                        if loading is not None and isinstance(delta, Finished):
                            # Whoever reads the end of an answer may ask at once what it cost.
                            await asyncio.shield(loading)
                        yield delta
            except RecursionError:
                raise limits.error("one answer was nested too deeply to be read") from None
