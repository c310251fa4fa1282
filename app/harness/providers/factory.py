"""Makes a provider from its configuration: the one table of drivers.

Owns: which class speaks for a driver, its public address, and whether it needs a credential.
Never: I/O; a provider opens its first connection when it is first called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import httpx2

from app.config import ProviderSettings
from app.errors import ConfigError
from app.harness.providers import anthropic, google, openai, openai_responses
from app.harness.providers.connection import Connection
from app.harness.providers.provider import Provider
from app.harness.providers.replay import ReplayProvider


@dataclass(frozen=True, slots=True)
class HttpDriver:
    """A driver that calls a server; `base_url` is its vendor's public address, which always wants
    a credential."""

    adapter: Any
    base_url: str


HTTP_DRIVERS: Mapping[str, HttpDriver] = MappingProxyType(
    {
        "openai": HttpDriver(openai.OpenAIProvider, openai.DEFAULT_BASE_URL),
        "openai-responses": HttpDriver(
            openai_responses.OpenAIResponsesProvider, openai_responses.DEFAULT_BASE_URL
        ),
        "anthropic": HttpDriver(anthropic.AnthropicProvider, anthropic.DEFAULT_BASE_URL),
        "google": HttpDriver(google.GoogleProvider, google.DEFAULT_BASE_URL),
    }
)


@runtime_checkable
class ListsModels(Protocol):
    """A provider that can say which models it offers."""

    async def models(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class BuiltProvider:
    """A provider and the connection that it uses (None for drivers without a network)."""

    provider: Provider
    connection: Connection | None


def build_provider(name: str, settings: ProviderSettings) -> BuiltProvider:
    """Return the provider. Raises `ConfigError` for an unknown driver or option."""
    if settings.driver == "replay":
        return BuiltProvider(ReplayProvider(name, settings), None)
    driver = HTTP_DRIVERS.get(settings.driver)
    if driver is None:
        known = ", ".join((*HTTP_DRIVERS, "replay"))
        raise ConfigError(f"providers.{name}.driver: {settings.driver!r} is not one of {known}")
    connection = Connection(name, settings, default_base_url=driver.base_url)
    provider: Provider = driver.adapter(name, settings, connection)
    return BuiltProvider(provider, connection)


def missing_credential(name: str, settings: ProviderSettings) -> str | None:
    """Return what the operator must do when a needed credential is not there, else None."""
    if settings.api_key is not None or settings.driver not in HTTP_DRIVERS:
        return None
    if not (settings.api_key_env or _is_public_address(settings)):
        return None
    variables = settings.missing_env or ((settings.api_key_env,) if settings.api_key_env else ())
    ways = [f"set {variable}" for variable in variables]
    ways.append(f"write api_key under [providers.{name}]")
    return f"{name} has no credential: {' or '.join(ways)} and restart or reload the daemon"


def _is_public_address(settings: ProviderSettings) -> bool:
    if settings.base_url is None:
        return True
    return httpx2.URL(settings.base_url).host == httpx2.URL(HTTP_DRIVERS[settings.driver].base_url).host
