"""What a driver is, and what the drivers that call a server share.

Owns: the record of a driver, its options read strictly, and its life over HTTP. Never: one wire format.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.config import ProviderSettings
from app.errors import ConfigError
from app.harness.providers.connection import CONNECTION_OPTIONS, Connection
from app.harness.providers.deltas import Delta
from app.harness.providers.folding import Fold, fold_stream
from app.harness.providers.provider import EncodedOnce, ModelRequest, Provider, WireRequest, in_full
from app.harness.providers.wire_json import as_object, as_objects
from app.messages import ToolSpec


class Adapter(Protocol):
    """Makes a provider that speaks one wire protocol; drivers without a server ignore the connection."""

    def __call__(self, name: str, settings: ProviderSettings, connection: Connection, /) -> Provider: ...


@dataclass(frozen=True, slots=True)
class Driver:
    """What is known of one driver; the adapter in its package below `drivers` has it.

    `base_url` is its vendor's public address, which always wants a credential; "" for a driver without a
    server. `price_vendor` is the vendor's name in the offline price table. `seeing` and `blind` are regular
    expressions of models that take images, or do not although their name looks like it. `telemetry_name` is
    the vendor's name by the conventions for traces, where it is not that of the driver."""

    name: str
    adapter: Adapter
    base_url: str = ""
    price_vendor: str | None = None
    seeing: str = ""
    blind: str = ""
    telemetry_name: str | None = None


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


class HttpProvider(ABC):
    """One configured server. A subclass says how its API wants the credential, encodes requests, reads
    answers, and names the list of its models: `models_path`, the key of the list, and that of a name."""

    driver: ClassVar[str]
    models_keys: ClassVar[tuple[str, str]] = ("data", "id")

    def __init__(
        self,
        name: str,
        connection: Connection,
        headers: Mapping[str, str],
        encode_tools: Callable[[tuple[ToolSpec, ...]], bytes],
        models_path: str = "/models",
    ) -> None:
        self.name = name
        self._connection = connection
        self._headers = headers
        self._tools: EncodedOnce[tuple[ToolSpec, ...]] = EncodedOnce(
            lambda tools: encode_tools(in_full(tools))
        )
        self._models_path = models_path

    @abstractmethod
    def encode(self, request: ModelRequest) -> WireRequest:
        """Return the exact bytes; messages that the request's cache has are not encoded again."""

    @abstractmethod
    def fold(self, wire: WireRequest, request: ModelRequest) -> Fold:
        """Return what reads the answer."""

    def stream(self, wire: WireRequest, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Send the bytes and yield deltas; the last one is `Finished`. Raises `ProviderError`."""
        fold = self.fold(wire, request)
        return fold_stream(self._connection, wire, model=request.model, headers=self._headers, fold=fold)

    async def models(self) -> list[str]:
        """Return the names of the models that the server offers. Raises `ProviderError`."""
        answer = await self._connection.get_json(self._models_path, headers=self._headers)
        rows, name = self.models_keys
        found = (row[name] for row in as_objects(as_object(answer).get(rows)) if name in row)
        return sorted(str(one).removeprefix("models/") for one in found)

    def _encoded_tools(self, request: ModelRequest) -> list[tuple[str, bytes]]:
        return [("tools", self._tools(request.tools))] if request.tools else []


def credential_header(settings: ProviderSettings, name: str, prefix: str = "") -> dict[str, str]:
    """Return the header that carries the credential; nothing without one."""
    key = settings.api_key
    return {} if key is None else {name: prefix + key.get_secret_value()}
