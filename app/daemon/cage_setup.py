"""The daemon's cages: which tier its machine holds, said once at the start.

Owns: finding the tier for the settings, once in a process, telling the log, and what the settings say of the
cages of language servers and plugins. Never: how the tier is found (`bridges.sandbox.tier_search`).
"""

from __future__ import annotations

import logging
from pathlib import Path

from app.bridges.lsp.manager import ServerCages
from app.bridges.plugins.plugin_cage import PluginCages
from app.bridges.processes.audit import Record
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.egress import Outside
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.tier import Tier
from app.bridges.sandbox.tier_search import find_tier
from app.config import Settings, default_config_file
from app.workspace.folder_rules import ProjectRules

log = logging.getLogger("kaged.cages")

_found: dict[str, Tier] = {}
"""What this process has found, by the setting: the machine does not change while it runs."""


async def make_cages(children: ChildProcesses, settings: Settings, *, record: Record) -> Cages:
    """Return the daemon's cages, of the tier that this machine holds. `record` stores the audit rows
    of them."""
    tier = await tier_of_machine(children, settings)
    _log_tier(tier)
    return _cages(children, settings, tier, Outside(record=record))


async def tier_of_machine(children: ChildProcesses, settings: Settings) -> Tier:
    """Return the tier for the setting `sandbox.mode`; it is looked for once."""
    mode = settings.sandbox.mode
    if mode not in _found:
        tried: list[Cages] = []

        def keeper(tier: Tier) -> Cages:
            tried.append(_cages(children, settings, tier))
            return tried[-1]

        try:
            _found[mode] = await find_tier(mode, keeper)
        finally:
            for cages in tried:
                await cages.aclose()
    return _found[mode]


async def look_for_tier(settings: Settings) -> Tier:
    """As `tier_of_machine`, for who starts nothing else."""
    children = ChildProcesses()
    try:
        return await tier_of_machine(children, settings)
    finally:
        await children.aclose()


def _cages(children: ChildProcesses, settings: Settings, tier: Tier, outside: Outside | None = None) -> Cages:
    return Cages(
        children,
        tier,
        outside=outside,
        read_only=settings.sandbox.read_only,
        quarantine=settings.daemon.data_dir / "cages" / "quarantine",
        rules_of=ProjectRules,
    )


def _log_tier(tier: Tier) -> None:
    if tier.name in ("full", "landlock"):
        log.info("cages: %s; %s", tier.name, tier.reason)
    elif tier.name == "off":
        log.warning("cages are disabled: %s; processes of agents have the daemon's rights", tier.reason)
    else:
        log.warning(
            "there are no cages: %s; what needs one answers cage_unavailable. %s", tier.reason, tier.advice
        )


def server_cages(cages: Cages, settings: Settings) -> ServerCages | None:
    """Return what the cages of language servers are made of; None when they have the daemon's rights, as
    the operator wants it."""
    if settings.sandbox.lsp == "none" or cages.tier.name == "off":
        return None
    # Only namespaces can give a home that is kept, and hide a part of a folder.
    full = cages.tier.name == "full"
    states = settings.daemon.data_dir / "cages" if full else None
    return ServerCages(cages, states, _own_places(settings), masks=full)


def plugin_cages(cages: Cages, settings: Settings) -> PluginCages | None:
    """Return what the cages of plugins are made of; None when there is no sandbox at all."""
    return None if cages.tier.name == "off" else PluginCages(cages, _own_places(settings))


def _own_places(settings: Settings) -> tuple[Path, ...]:
    return settings.daemon.data_dir, settings.config_file or default_config_file()
