"""Finds the tier that this machine holds by making a cage and trying it.

Owns: the order of the search, and the reason for its result. Never: the trial (`canary`); a weaker tier than
was asked for.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Literal

from app.bridges.processes.child_starter import CageKeeper
from app.bridges.sandbox.canary import Trial, try_cage
from app.bridges.sandbox.home import remove_abandoned
from app.bridges.sandbox.host_support import BUBBLEWRAP_NEEDED, LANDLOCK_NEEDED, Host, look_at_host
from app.bridges.sandbox.tier import Tier

Mode = Literal["auto", "full", "landlock", "off"]

SWITCHED_OFF = Tier("off", 'the sandbox was switched off (--no-sandbox, or sandbox.mode = "off")')


async def find_tier(mode: Mode, keeper: Callable[[Tier], CageKeeper]) -> Tier:
    """Return the tier of this machine, for the setting `sandbox.mode`. `keeper` makes cages of a tier that
    is tried. Takes about a tenth of a second."""
    if mode == "off":
        return SWITCHED_OFF
    if sys.platform != "linux":
        return Tier("none", "cages need Linux", "Run the daemon on Linux, or in a virtual machine with it")
    host = await asyncio.to_thread(look_at_host)
    if mode == "landlock":
        return await _landlock(host, keeper)
    if not host.known_machine:
        return _none(host, "there is no filter of system calls for this kind of processor", host.advice())
    if host.bubblewrap is None:
        return _none(host, "bubblewrap is not installed", host.advice())
    trial = await try_cage("full", keeper)
    if trial.holds:
        reason = f"a command was held in a cage of namespaces: {_counted(trial)}"
        return Tier("full", reason, found=(*host.findings(), *_seen(trial)))
    return _none(host, _in_words(trial), _advice(host, trial), trial)


def _advice(host: Host, trial: Trial) -> str:
    if "Unknown option" in (trial.problem or ""):
        return f"This bubblewrap is too old: install version {BUBBLEWRAP_NEEDED}, and restart the daemon"
    return host.advice(trial.problem or "")


async def _landlock(host: Host, keeper: Callable[[Tier], CageKeeper]) -> Tier:
    if host.landlock < LANDLOCK_NEEDED:
        wanted = f"landlock of version {LANDLOCK_NEEDED} is needed (Linux 6.12 or later)"
        have = f"this kernel has version {host.landlock}" if host.landlock else "this kernel has none active"
        return _none(
            host, f"{wanted}, and {have}", "Use a newer kernel with landlock among its security modules"
        )
    await asyncio.to_thread(remove_abandoned)
    trial = await try_cage("landlock", keeper)
    if trial.holds:
        reason = (
            f"a command was held by landlock, without namespaces, as the setting wants it: {_counted(trial)}"
        )
        return Tier("landlock", reason, found=(*host.findings(), *_seen(trial)))
    return _none(host, _in_words(trial), "Run `kaged doctor` as the daemon's user", trial)


def _none(host: Host, reason: str, advice: str, trial: Trial | None = None) -> Tier:
    return Tier("none", reason, advice, found=(*host.findings(), *(() if trial is None else _seen(trial))))


def _counted(trial: Trial) -> str:
    return f"{len(trial.passed)} of {len(trial.passed) + len(trial.failed)} checks hold"


def _in_words(trial: Trial) -> str:
    if trial.problem is not None:
        return f"a cage cannot be made ({trial.problem})"
    return "a cage does not hold: " + "; ".join(f"{name}: {seen}" for name, seen in trial.failed)


def _seen(trial: Trial) -> list[tuple[str, str]]:
    held = [("trial", _counted(trial))] if trial.problem is None else [("trial", trial.problem)]
    return [*held, *(("trial: " + name, seen) for name, seen in trial.failed)]
