"""Makes a provider from its configuration.

Owns: building it, and whether it lacks a credential. Never: I/O; the first call opens the first connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import httpx2

from app.config import ProviderSettings
from app.errors import ConfigError
from app.harness.providers.connection import Connection
from app.harness.providers.drivers import DRIVERS
from app.harness.providers.provider import Provider


@runtime_checkable
class ListsModels(Protocol):
    """A provider that can say which models it offers."""

    async def models(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class BuiltProvider:
    """A provider and the connection that it uses, if it calls a server."""

    provider: Provider
    connection: Connection


def build_provider(name: str, settings: ProviderSettings) -> BuiltProvider:
    """Return the provider. Raises `ConfigError` for an unknown driver or option."""
    driver = DRIVERS.get(settings.driver)
    if driver is None:
        raise ConfigError(f"providers.{name}.driver: {settings.driver!r} is not one of {', '.join(DRIVERS)}")
    connection = Connection(name, settings, default_base_url=driver.base_url)
    return BuiltProvider(driver.adapter(name, settings, connection), connection)


def missing_credential(name: str, settings: ProviderSettings) -> str | None:
    """Return what the operator must do when a needed credential is not there, else None."""
    address = DRIVERS[settings.driver].base_url
    if settings.api_key is not None or not address:
        return None
    if not (settings.api_key_env or _is_public_address(settings, address)):
        return None
    variables = settings.missing_env or ((settings.api_key_env,) if settings.api_key_env else ())
    ways = [f"set {variable}" for variable in variables]
    ways.append(f"write api_key under [providers.{name}]")
    stored = f"run `kaged providers key {name}`, or set it in the page's settings"
    return f"{name} has no key: {stored}. Or {' or '.join(ways)} and restart or reload the daemon."


def _is_public_address(settings: ProviderSettings, address: str) -> bool:
    return settings.base_url is None or httpx2.URL(settings.base_url).host == httpx2.URL(address).host
