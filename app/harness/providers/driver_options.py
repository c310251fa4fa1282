"""`providers.NAME.options` of the drivers, read strictly.

Owns: telling an operator which option is wrong. Never: what an option does (the driver's module).
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.config import ProviderSettings
from app.errors import ConfigError
from app.harness.providers.connection import CONNECTION_OPTIONS


class DriverOptions(BaseModel):
    """What every driver has: `body` is merged into each request, below what the driver itself sets."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    body: dict[str, Any] = Field(default_factory=dict)


Options = TypeVar("Options", bound=DriverOptions)


def read_options(kind: type[Options], name: str, settings: ProviderSettings) -> Options:
    """Return the options of provider `name`, without those of the connection. Raises ConfigError."""
    own = {key: value for key, value in settings.options.items() if key not in CONNECTION_OPTIONS}
    try:
        return kind.model_validate(own)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(("options", *map(str, first["loc"])))
        known = ", ".join(sorted((*kind.model_fields, *CONNECTION_OPTIONS)))
        raise ConfigError(f"providers.{name}.{key}: {first['msg']} (known options: {known})") from error
