"""Prices and windows: the operator's table, the offline one, and what nobody knows."""

from __future__ import annotations

import pytest

from app.config import PriceSettings, ProviderSettings
from app.harness.providers.catalog import Catalog
from app.messages import Usage

pytestmark = pytest.mark.requirement("providers.prices")

PROVIDERS = {
    "anthropic": ProviderSettings(driver="anthropic"),
    "google": ProviderSettings(driver="google"),
    "gateway": ProviderSettings(driver="openai", base_url="https://openrouter.ai/api/v1"),
    "elsewhere": ProviderSettings(driver="openai", base_url="https://models.example.org/v1"),
    "local": ProviderSettings(driver="openai", base_url="http://127.0.0.1:11434/v1"),
    "replay": ProviderSettings(driver="replay"),
}
MILLION = 1_000_000
USAGE = Usage(input_tokens=MILLION, output_tokens=MILLION)
SONNET = "claude-sonnet-4-20250514"


async def ready(prices: dict[str, PriceSettings] | None = None) -> Catalog:
    catalog = Catalog(prices or {}, PROVIDERS)
    for name in PROVIDERS:
        await catalog.prepare(name)
    return catalog


async def test_the_offline_table_knows_prices_and_window() -> None:
    catalog = await ready()
    usage = Usage(
        input_tokens=MILLION,
        output_tokens=MILLION,
        reasoning_tokens=MILLION // 4,
        cache_read_tokens=MILLION,
        cache_write_tokens=MILLION,
    )
    cost = catalog.cost("anthropic", SONNET, usage)
    assert cost is not None
    assert (cost.input, cost.output, cost.reasoning) == (3.0, 11.25, 3.75)
    assert (cost.cache_read, cost.cache_write) == (0.3, 3.75)
    assert cost.total == pytest.approx(22.05)
    assert catalog.context_window("anthropic", SONNET) == 200_000


async def test_more_reasoning_than_output_makes_no_part_of_a_cost_negative() -> None:
    catalog = await ready()
    cost = catalog.cost("anthropic", SONNET, Usage(output_tokens=MILLION, reasoning_tokens=3 * MILLION))
    assert cost is not None
    assert (cost.output, cost.reasoning, cost.total) == (0.0, 15.0, 15.0)


async def test_prices_that_rise_with_the_length_are_followed() -> None:
    catalog = await ready()
    short = catalog.cost("google", "gemini-2.5-pro", Usage(input_tokens=100_000))
    long = catalog.cost("google", "gemini-2.5-pro", Usage(input_tokens=400_000))
    assert short is not None
    assert long is not None
    assert long.input == pytest.approx(8 * short.input)


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-of-next-year"),
        ("elsewhere", "gpt-4.1"),
        ("local", "gpt-4.1"),
        ("replay", "demo"),
        ("removed", "gpt-4.1"),
    ],
)
async def test_what_is_not_known_is_none_and_never_free(provider: str, model: str) -> None:
    catalog = await ready()
    assert catalog.cost(provider, model, USAGE) is None
    assert catalog.context_window(provider, model) is None
    assert catalog.max_output(provider, model) is None


async def test_a_gateway_is_known_by_its_address() -> None:
    catalog = await ready()
    cost = catalog.cost("gateway", "openai/gpt-4o-mini", USAGE)
    assert cost is not None
    assert cost.total > 0


async def test_the_operators_table_wins_field_by_field() -> None:
    prices = {
        f"anthropic:{SONNET}": PriceSettings(input=1.0, context_window=50_000, max_output=4_000),
        "gpt-4.1": PriceSettings(input=1.0, output=2.0),
        "half": PriceSettings(input=1.0),
        "free": PriceSettings(input=0.0, output=0.0),
    }
    catalog = await ready(prices)
    cost = catalog.cost("anthropic", SONNET, USAGE)
    assert cost is not None
    assert (cost.input, cost.output) == (1.0, 15.0)
    assert catalog.context_window("anthropic", SONNET) == 50_000
    assert catalog.max_output("anthropic", SONNET) == 4_000
    local = catalog.cost("local", "gpt-4.1", Usage(input_tokens=MILLION, cache_read_tokens=MILLION))
    assert local is not None
    assert (local.cache_read, local.total) == (1.0, 2.0)
    assert catalog.cost("local", "half", USAGE) is None
    free = catalog.cost("local", "free", USAGE)
    assert free is not None
    assert free.total == 0


async def test_a_changed_table_is_used_at_once() -> None:
    catalog = await ready()
    catalog.update({SONNET: PriceSettings(input=7.0, output=7.0)}, PROVIDERS)
    cost = catalog.cost("anthropic", SONNET, USAGE)
    assert cost is not None
    assert cost.total == 14.0


async def test_nothing_is_loaded_for_a_private_address() -> None:
    catalog = Catalog({}, PROVIDERS)
    assert catalog.begin("local") is None
    assert catalog.begin("replay") is None
