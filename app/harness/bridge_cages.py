"""What the daemon's settings say of the cages of language servers and plugins.

Owns: who of them has cages, and which of the daemon's own places these never show. Never: what a cage
holds beside that; each bridge knows what its programs need.
"""

from __future__ import annotations

from pathlib import Path

from app.bridges.lsp.manager import ServerCages
from app.bridges.plugins.manager import PluginCages
from app.bridges.sandbox.manager import Cages
from app.config import Settings, default_config_file


def server_cages(cages: Cages, settings: Settings) -> ServerCages | None:
    """Return what the cages of language servers are made of; None when they have the daemon's rights, as
    the operator wants it."""
    if settings.sandbox.lsp == "none" or cages.tier.name == "off":
        return None
    # Only namespaces can give a home that is kept.
    states = settings.daemon.data_dir / "cages" if cages.tier.name == "full" else None
    return ServerCages(cages, states, _own_places(settings))


def plugin_cages(cages: Cages, settings: Settings) -> PluginCages | None:
    """Return what the cages of plugins are made of; None when there is no sandbox at all."""
    return None if cages.tier.name == "off" else PluginCages(cages, _own_places(settings))


def _own_places(settings: Settings) -> tuple[Path, ...]:
    return settings.daemon.data_dir, settings.config_file or default_config_file()
