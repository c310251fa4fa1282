"""The configured providers: one object and one HTTP client for each name.

Owns: their life, from the first use to the last stream after a reload. Never: which one is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from app.config import ProviderSettings
from app.errors import NotFound
from app.harness.providers.errors import ProviderError, ProviderErrorKind
from app.harness.providers.factory import BuiltProvider, build_provider, missing_credential
from app.harness.providers.provider import Provider
from app.harness.providers.route import Candidate


@dataclass(slots=True)
class _Slot:
    settings: ProviderSettings
    built: BuiltProvider
    active: int = 0
    retired: bool = False


class ProviderPool:
    """All providers of the local config, built without I/O."""

    def __init__(self, providers: Mapping[str, ProviderSettings]) -> None:
        self._slots = {name: _Slot(one, build_provider(name, one)) for name, one in providers.items()}
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def settings(self) -> dict[str, ProviderSettings]:
        """The configuration in force, by name."""
        return {name: slot.settings for name, slot in self._slots.items()}

    def get(self, name: str) -> Provider:
        """Return a provider. Raises `NotFound`."""
        slot = self._slots.get(name)
        if slot is None:
            known = ", ".join(sorted(self._slots)) or "none"
            raise NotFound(f"There is no provider {name!r}. Known providers: {known}.")
        return slot.built.provider

    def problem(self, name: str) -> str | None:
        """Return why a provider cannot be called as it is configured, or None."""
        slot = self._slots.get(name)
        return missing_credential(name, slot.settings) if slot else f"there is no provider {name!r}"

    @contextmanager
    def built(self, candidate: Candidate) -> Iterator[tuple[ProviderSettings, BuiltProvider]]:
        """Lend a provider with its connection and settings. Raises like `in_use`."""
        with self.in_use(candidate):
            slot = self._slots[candidate.provider]
            yield slot.settings, slot.built

    @contextmanager
    def in_use(self, candidate: Candidate) -> Iterator[Provider]:
        """Lend a provider; it is not closed while lent. Raises `ProviderError` before any network
        when it is gone from the configuration or has no credential."""
        name = candidate.provider
        problem = self.problem(name)
        if problem is not None:
            kind: ProviderErrorKind = "auth" if name in self._slots else "bad_request"
            raise ProviderError(kind, problem, provider=name, model=candidate.model)
        slot = self._slots[name]
        slot.active += 1
        try:
            yield slot.built.provider
        finally:
            slot.active -= 1
            self._close_if_idle(slot)

    def update(self, providers: Mapping[str, ProviderSettings]) -> None:
        """Take over a changed configuration; what has not changed keeps its connections. Raises
        `ConfigError`, and then nothing has changed."""
        slots: dict[str, _Slot] = {}
        for name, settings in providers.items():
            old = self._slots.get(name)
            same = old is not None and old.settings == settings
            slots[name] = old if old is not None and same else _Slot(settings, build_provider(name, settings))
        replaced = [old for name, old in self._slots.items() if slots.get(name) is not old]
        self._slots = slots
        for slot in replaced:
            slot.retired = True
            self._close_if_idle(slot)

    async def aclose(self) -> None:
        """Close all connections."""
        for slot in self._slots.values():
            await slot.built.connection.aclose()
        await asyncio.gather(*self._closing)

    def _close_if_idle(self, slot: _Slot) -> None:
        if slot.retired and not slot.active:
            task = asyncio.get_running_loop().create_task(slot.built.connection.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
