"""The daemon's cages: which tier its machine holds, said once at the start.

Owns: finding the tier for the settings, once in a process, and telling the log. Never: how it is found
(`bridges.sandbox.tier_search`), or who runs in a cage.
"""

from __future__ import annotations

import logging

from app.bridges.process import ChildProcesses
from app.bridges.sandbox.manager import Cages, Outside, Record, Tier, find_tier
from app.config import Settings

log = logging.getLogger("kaged.cages")

_found: dict[str, Tier] = {}
"""What this process has found, by the setting: the machine does not change while it runs."""


async def make_cages(children: ChildProcesses, settings: Settings, *, record: Record) -> Cages:
    """Return the daemon's cages, of the tier that this machine holds. `record` keeps what the audit is
    told of them."""
    tier = await tier_of_machine(children, settings)
    _tell(tier)
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


def _cages(children: ChildProcesses, settings: Settings, tier: Tier, outside: Outside | None = None) -> Cages:
    return Cages(
        children,
        tier,
        outside=outside,
        read_only=settings.sandbox.read_only,
        quarantine=settings.daemon.data_dir / "cages" / "quarantine",
    )


def _tell(tier: Tier) -> None:
    if tier.name in ("full", "landlock"):
        log.info("cages: %s; %s", tier.name, tier.reason)
    elif tier.name == "off":
        log.warning("there are no cages: %s; what agents start has the daemon's rights", tier.reason)
    else:
        log.warning(
            "there are no cages: %s; what needs one answers cage_unavailable. %s", tier.reason, tier.advice
        )
