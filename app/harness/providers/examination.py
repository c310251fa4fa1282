"""Asking a server further when a test call has failed: which models it has, and which protocols it speaks.

Owns: the small requests that find it out, none of which has a credential or asks a model anything. Never: the
words (`explanation`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import httpx2

from app.config import ProviderSettings, Proxies
from app.harness.providers.connection import Connection, Look
from app.harness.providers.errors import ProviderError
from app.harness.providers.explanation import (
    Explanation,
    Place,
    explain,
    unknown_model,
    wrong_address,
    wrong_type,
)
from app.harness.providers.factory import BuiltProvider, ListsModels
from app.harness.providers.provider import ModelRequest
from app.messages import TextBlock, UserMessage
from app.nearest_names import closest

_SECONDS = 15.0
_REQUEST_SECONDS = 5.0
_NEAR = 3
_ABSENT = frozenset({404, 405, 501})
_NOWHERE = "/kaged-asks-for-a-path-that-no-server-has"
_VERSION = "/v1"


@dataclass(frozen=True, slots=True)
class _Wire:
    """Where a driver's protocol is served: its path behind a version, and whether `base_url` has that."""

    path: str
    version: str = _VERSION
    in_base: bool = True

    def base(self, root: str) -> str:
        return root + self.version if self.in_base else root


_WIRES: Mapping[str, _Wire] = MappingProxyType(
    {
        "openai": _Wire("/chat/completions"),
        "openai-responses": _Wire("/responses"),
        "anthropic": _Wire("/messages", in_base=False),
        "google": _Wire("/models/gemini-2.5-flash:streamGenerateContent", "/v1beta", in_base=False),
    }
)
_NO_MODEL = ("invalid model", "unknown model", "no such model", "model not found")
"""What a server says of the model's name that answers with 400 and gives no list of its models."""
_ENDINGS = ("/chat/completions", "/completions", "/responses", "/messages", "/models")


async def examined(
    error: ProviderError, model: str, name: str, settings: ProviderSettings, built: BuiltProvider
) -> Explanation:
    """Explain why a test call failed; what the failure alone does not tell is asked of the server."""
    place = Place.of(name, settings, built.connection.base_url)
    known = explain(error, place, Proxies.of_environment())
    if known.cause not in ("refused_request", "other"):
        return known
    try:
        async with asyncio.timeout(_SECONDS):
            return await _asked(error, model, place, settings, built) or known
    except (ProviderError, TimeoutError):
        return known


async def _asked(
    error: ProviderError, model: str, place: Place, settings: ProviderSettings, built: BuiltProvider
) -> Explanation | None:
    if error.kind == "unknown" or error.status in _ABSENT or _redirects(error.status):
        found = await _protocol(error, place, settings, built, _path(built, model))
        if found is not None:
            return found
    if error.status != 404 and "model" not in error.message.casefold() and model not in error.message:
        return None
    names = await _names(built)
    if names and not _has(names, model):
        return unknown_model(model, place, closest(model, names, _NEAR))
    said = error.message.casefold()
    denied = model.casefold() in said and any(words in said for words in _NO_MODEL)
    if error.status == 404 or "model_not_found" in error.codes or denied:
        return unknown_model(model, place, [])
    return None


async def _names(built: BuiltProvider) -> list[str]:
    if not isinstance(built.provider, ListsModels):
        return []
    try:
        return await built.provider.models()
    except ProviderError:
        return []


def _has(names: list[str], model: str) -> bool:
    """Tell whether a server has a model; Ollama's list has the tag that a name may leave out."""
    bare = model.removeprefix("models/")
    return any(one in (bare, f"{bare}:latest") for one in names)


def _redirects(status: int | None) -> bool:
    return status is not None and 300 <= status < 400


def _path(built: BuiltProvider, model: str) -> str:
    question = UserMessage(blocks=(TextBlock(text="?"),))
    return built.provider.encode(ModelRequest(model=model, system=(), messages=(question,))).path


async def _protocol(
    error: ProviderError, place: Place, settings: ProviderSettings, built: BuiltProvider, path: str
) -> Explanation | None:
    """Explain a server that does not serve the driver's protocol at this address; None where it does, and
    where the server does not let itself be looked at."""
    own, base_url = settings.driver, built.connection.base_url
    here = await _served(place.name, settings, base_url, {own: path})
    if own not in _WIRES or here is None or own in here:
        return None
    for root in _roots(base_url):
        paths = {driver: wire.version + wire.path for driver, wire in _WIRES.items()}
        found = await _served(place.name, settings, root, paths)
        if found is None:
            return None
        if own in found:
            base = _WIRES[own].base(root)
            return None if _same(base_url, base) else wrong_address(place, base, _seen(error))
        if found:
            return wrong_type(place, own, _WIRES[found[0]].base(root), found[0])
    return wrong_address(place, None, _seen(error))


def _same(base_url: str, base: str) -> bool:
    """Tell whether an adapter calls the same address with both: some add the version where it is missing."""
    versions = (_VERSION, "/v1beta") if not base.endswith(_VERSION) else ()
    return base_url in (base, *(base + version for version in versions))


def _seen(error: ProviderError) -> str:
    if _redirects(error.status):
        return f"it redirects (HTTP {error.status}), and a key is not sent elsewhere"
    if error.status is not None and error.status >= 300:
        return f"it has no such path (HTTP {error.status})"
    return "it does not answer as an API does: perhaps it is a web page"


def _roots(base_url: str) -> Iterator[str]:
    """Yield addresses that a version may follow, those nearest to the configured one first."""
    seen: set[str] = set()
    bare = base_url
    for ending in _ENDINGS:
        bare = bare.removesuffix(ending)
    url = httpx2.URL(base_url)
    origin = f"{url.scheme}://{url.netloc.decode('ascii')}"
    for root in (bare.removesuffix(_VERSION).removesuffix("/v1beta"), bare, origin):
        if root not in seen:
            seen.add(root)
            yield root


async def _served(
    name: str, settings: ProviderSettings, root: str, paths: Mapping[str, str]
) -> list[str] | None:
    """Return the drivers whose path below `root` a server serves; None where that cannot be told, as it
    answers to a path that no server has as if it had it."""
    options = {key: settings.options[key] for key in ("trust_env",) if key in settings.options}
    bare = ProviderSettings(
        driver=settings.driver, base_url=root, timeout_seconds=_REQUEST_SECONDS, options=options
    )
    connection = Connection(name, bare, default_base_url=root)
    try:
        if (await connection.look(_NOWHERE)).status not in _ABSENT:
            return None
        looks = await asyncio.gather(*map(connection.look, paths.values()), return_exceptions=True)
    finally:
        await connection.aclose()
    return [
        driver for (driver, path), look in zip(paths.items(), looks, strict=True) if _is_served(look, path)
    ]


def _is_served(look: Look | BaseException, path: str) -> bool:
    """Tell whether a path is served, by the refusal of a request without content."""
    if not isinstance(look, Look) or not look.is_api or _redirects(look.status):
        return False
    # Some servers say of a model without a name, too, that it is not found.
    return look.status not in _ABSENT or "model" in look.start.replace(path, "")
