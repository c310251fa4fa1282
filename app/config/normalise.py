"""Accepted spellings: turns each layer of the configuration into the one form of the settings.

Owns: `bind`, `[aliases]`, `timeout`, and how names in variables match names with a hyphen.
Never: defaults or types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.config.credentials import BUILT_IN_PROVIDERS
from app.errors import ConfigError


def normalise_layer(layer: dict[str, Any], source: str) -> None:
    """Rewrite accepted spellings in place. Raises `ConfigError` when both spellings are used."""
    daemon = layer.get("daemon")
    if isinstance(daemon, dict) and "bind" in daemon:
        _split_bind(daemon, source)
    if "aliases" in layer:
        _merge_aliases(layer, source)
    providers = layer.get("providers")
    for name, table in providers.items() if isinstance(providers, dict) else ():
        if isinstance(table, dict) and "timeout" in table:
            if "timeout_seconds" in table:
                raise ConfigError(f"{source}: providers.{name} has timeout and timeout_seconds; keep one")
            table["timeout_seconds"] = table.pop("timeout")


def normalise_names(tree: Mapping[str, Any], key: tuple[str, ...]) -> tuple[str, ...]:
    """Return `key` with each part spelled as in `tree` or as a built-in provider: a variable's
    name cannot hold a hyphen, so `OPENAI_RESPONSES` stands for `openai-responses`."""
    spelled: list[str] = []
    node: Any = tree
    for part in key:
        names = list(node) if isinstance(node, Mapping) else []
        if spelled == ["providers"]:
            names.extend(BUILT_IN_PROVIDERS)
        part = next((name for name in names if name.lower().replace("-", "_") == part), part)
        spelled.append(part)
        node = node.get(part) if isinstance(node, Mapping) else None
    return tuple(spelled)


def _split_bind(daemon: dict[str, Any], source: str) -> None:
    bind = daemon.pop("bind")
    for name in ("host", "port"):
        if name in daemon:
            raise ConfigError(f"{source}: daemon has bind and {name}; keep one of them")
    host, colon, port = str(bind).rpartition(":")
    if not colon or not host or not port.isdigit():
        raise ConfigError(f'{source}: daemon.bind must be "host:port", for example "127.0.0.1:7777"')
    daemon["host"] = host
    daemon["port"] = int(port)


def _merge_aliases(layer: dict[str, Any], source: str) -> None:
    aliases = layer.pop("aliases")
    models = layer.setdefault("models", {})
    if not isinstance(aliases, dict) or not isinstance(models, dict):
        raise ConfigError(f"{source}: models and aliases must be tables of alias = provider:model")
    both = sorted(aliases.keys() & models.keys())
    if both:
        raise ConfigError(f"{source}: {both[0]!r} is in both [models] and [aliases]; keep one of them")
    models.update(aliases)
