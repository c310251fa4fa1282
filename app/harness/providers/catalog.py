"""What models cost and can read: the operator's table first, then the offline one.

Owns: prices, context windows, and which models take images. Never: the network, or a guess: an unknown price
is None. The offline table is loaded in a thread at the first call to a public provider.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from app.config import PriceSettings, ProviderSettings
from app.harness.providers.drivers import DRIVERS
from app.messages import Cost, Usage

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo

_MILLION = 1_000_000
_BLIND = re.compile("|".join(driver.blind for driver in DRIVERS.values() if driver.blind))
_SEEING = re.compile("|".join(driver.seeing for driver in DRIVERS.values() if driver.seeing))


def sees(model: str) -> bool:
    """Tell whether a model of this name is known to take images."""
    name = model.casefold()
    return _BLIND.search(name) is None and _SEEING.search(name) is not None


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per million tokens; None is unknown."""

    input: float | None
    output: float | None
    cache_read: float | None
    cache_write: float | None
    reasoning: float | None = None

    def cost(self, usage: Usage) -> Cost | None:
        """Return the cost, or None when a rate that is needed is not known. Cache tokens without a
        rate of their own cost what input costs."""
        reasoning = min(usage.reasoning_tokens, usage.output_tokens)  # a part of it, whatever a server says
        counted = (
            (usage.input_tokens, self.input),
            (usage.output_tokens - reasoning, self.output),
            (reasoning, self.output if self.reasoning is None else self.reasoning),
            (usage.cache_read_tokens, self.input if self.cache_read is None else self.cache_read),
            (usage.cache_write_tokens, self.input if self.cache_write is None else self.cache_write),
        )
        if self.input is None or self.output is None:
            return None
        parts = [round(count * (rate or 0.0) / _MILLION, 12) for count, rate in counted]
        return Cost(
            input=parts[0],
            output=parts[1],
            reasoning=parts[2],
            cache_read=parts[3],
            cache_write=parts[4],
            total=round(sum(parts), 12),
        )


class Catalog:
    """Prices and windows. `prepare` does what takes time; the other methods only look up."""

    def __init__(
        self, prices: Mapping[str, PriceSettings], providers: Mapping[str, ProviderSettings]
    ) -> None:
        self._prices = prices
        self._providers = providers
        self._table: DataSnapshot | None = None
        self._loading: asyncio.Task[None] | None = None
        self._found: dict[tuple[str, str], ModelInfo | None] = {}

    def update(self, prices: Mapping[str, PriceSettings], providers: Mapping[str, ProviderSettings]) -> None:
        """Take over a changed configuration."""
        self._prices = prices
        self._providers = providers
        self._found.clear()

    def begin(self, provider: str) -> asyncio.Task[None] | None:
        """Start loading the offline table if this provider's models can be in it; the task is to be
        awaited before `cost` is asked. Returns None when there is nothing to wait for."""
        if self._table is not None or not self._is_public(provider):
            return None
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._load())
        return self._loading

    async def prepare(self, provider: str) -> None:
        """Make sure that `cost` and `context_window` know all they can know about `provider`."""
        if (loading := self.begin(provider)) is not None:
            await asyncio.shield(loading)

    async def aclose(self) -> None:
        """Wait for a table that is just being loaded (a thread cannot be stopped)."""
        if self._loading is not None:
            await self._loading

    def cost(self, provider: str, model: str, usage: Usage) -> Cost | None:
        """Return the cost of one call, or None when a price is not known."""
        total = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        rates = self.rates(provider, model, total)
        return None if rates is None else rates.cost(usage)

    def rates(self, provider: str, model: str, input_tokens: int = 0) -> Rates | None:
        """Return the prices of a call with that many tokens of input, or None when none is known."""
        own = self._own(provider, model)
        info = self._listed(provider, model)
        listed = _listed_rates(info, input_tokens) if info is not None else None
        if own is None and listed is None:
            return None
        return _merged(own or PriceSettings(), listed)

    def context_window(self, provider: str, model: str) -> int | None:
        """Return how many tokens the model can read and write together, or None."""
        own = self._own(provider, model)
        if own is not None and own.context_window is not None:
            return own.context_window
        info = self._listed(provider, model)
        return info.context_window if info is not None else None

    def max_output(self, provider: str, model: str) -> int | None:
        """Return how many tokens the model can write, or None (only the operator's table knows)."""
        own = self._own(provider, model)
        return own.max_output if own is not None else None

    def takes_images(self, provider: str, model: str) -> bool:
        """Tell whether the model reads pictures, by the operator's table or else by its name."""
        own = self._own(provider, model)
        if own is not None and own.images is not None:
            return own.images
        return sees(model)

    def _own(self, provider: str, model: str) -> PriceSettings | None:
        return self._prices.get(f"{provider}:{model}") or self._prices.get(model)

    def _is_public(self, provider: str) -> bool:
        settings = self._providers.get(provider)
        if settings is None or DRIVERS[settings.driver].price_vendor is None:
            return False
        return settings.base_url is None or settings.base_url.startswith("https://")

    def _listed(self, provider: str, model: str) -> ModelInfo | None:
        if self._table is None or not self._is_public(provider):
            return None
        key = (provider, model)
        if key not in self._found:
            self._found[key] = self._look_up(self._table, self._providers[provider], model)
        return self._found[key]

    def _look_up(self, table: DataSnapshot, settings: ProviderSettings, model: str) -> ModelInfo | None:
        vendor = DRIVERS[settings.driver].price_vendor if settings.base_url is None else None
        try:
            return table.find_provider_model(model, None, vendor, settings.base_url)[1]
        except LookupError:
            return None

    async def _load(self) -> None:
        self._table = await asyncio.to_thread(_offline_table)


def _offline_table() -> DataSnapshot:
    # Half a second and sixty megabytes: only when a public provider is really called.
    from genai_prices.data_snapshot import get_snapshot

    return get_snapshot()


def _listed_rates(info: ModelInfo, input_tokens: int) -> Rates:
    prices = info.get_prices(datetime.now(UTC))

    def rate(value: Any) -> float | None:
        if value is None or not hasattr(value, "tiers"):
            return None if value is None else float(value)
        reached = [tier.price for tier in value.tiers if input_tokens > tier.start]
        return float(reached[-1] if reached else value.base)

    return Rates(
        input=rate(prices.input_mtok),
        output=rate(prices.output_mtok),
        cache_read=rate(prices.cache_read_mtok),
        cache_write=rate(prices.cache_write_mtok),
        reasoning=rate(prices.output_reasoning_mtok),
    )


def _merged(own: PriceSettings, listed: Rates | None) -> Rates:
    below = listed or Rates(None, None, None, None)
    return Rates(
        input=below.input if own.input is None else own.input,
        output=below.output if own.output is None else own.output,
        cache_read=below.cache_read if own.cache_read is None else own.cache_read,
        cache_write=below.cache_write if own.cache_write is None else own.cache_write,
        reasoning=below.reasoning if own.output is None else None,
    )
