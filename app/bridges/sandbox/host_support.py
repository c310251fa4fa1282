"""What this machine offers for cages: programs and system switches.

Owns: looking, and advice to the operator. Never: whether a cage holds (`canary`).
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.bridges.sandbox.bounds import bounded_together
from app.bridges.sandbox.container_engines import container_engine, missing_words, text_of
from app.bridges.sandbox.seccomp_rules import architecture_of
from app.programs import SYSTEM_PATH, on_path

LANDLOCK_NEEDED = 6
"""From this version on landlock holds signals and abstract sockets back (Linux 6.12)."""
BUBBLEWRAP_NEEDED = "0.10 or later, or an older one of a distribution that has --bind-fd"
"""Distributions have brought that option to older versions, with the fix for CVE-2024-42472."""
_CREATE_RULESET, _ASK_VERSION = 444, 1


@dataclass(frozen=True, slots=True)
class Host:
    """`landlock` is its interface version, 0 without. `namespaces_refused` names the system switch that
    forbids ordinary users to make namespaces. `bounded` is what control groups bound for a whole cage."""

    bubblewrap: Path | None
    landlock: int
    container: str | None
    namespaces_refused: str | None
    namespaces_advice: str | None
    known_machine: bool
    root: bool
    bounded: frozenset[str] = frozenset()

    def findings(self) -> Iterator[tuple[str, str]]:
        yield "bubblewrap", str(self.bubblewrap) if self.bubblewrap else "not installed"
        yield "user namespaces", self.namespaces_refused or "no switch forbids them"
        yield "landlock", _landlock_in_words(self.landlock)
        yield "container", self.container or "none is seen"
        yield "bounds", _bounds_in_words(self.bounded)
        yield (
            "user",
            "root: cages hold, and an ordinary user for the daemon adds a wall behind them"
            if self.root
            else "an ordinary user",
        )

    def advice(self, problem: str = "") -> str:
        """Return advice for a machine that cannot make namespaces. `problem`: what bubblewrap has said."""
        if not self.known_machine:
            return "Cages need x86_64 or aarch64"
        if self.bubblewrap is None:
            return f"Install bubblewrap {BUBBLEWRAP_NEEDED}, and restart the daemon"
        if self.namespaces_advice is not None:
            return self.namespaces_advice + (
                ", on the container's host" if self.container is not None else ""
            )
        if self.container is not None:
            return missing_words(self.container, problem)
        return "Run `kaged doctor` as the daemon's user; docs/cages.md says what a cage needs"


def look_at_host() -> Host:
    refused, advice = _namespaces()
    return Host(
        bubblewrap=on_path("bwrap", {"PATH": SYSTEM_PATH}),
        landlock=landlock_version(),
        container=container_engine(),
        namespaces_refused=refused,
        namespaces_advice=advice,
        known_machine=_is_known(platform.machine()),
        root=os.geteuid() == 0,
        bounded=bounded_together(),
    )


def landlock_version() -> int:
    """Return the version of the kernel's landlock, 0 when there is none or it is switched off."""
    if sys.platform != "linux":
        return 0
    call = ctypes.CDLL(None).syscall
    call.restype = ctypes.c_long
    version: int = call(ctypes.c_long(_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint(_ASK_VERSION))
    return max(0, version)


def _bounds_in_words(bounded: frozenset[str]) -> str:
    if not bounded:
        return "of each process only: there is no control group that the daemon may divide (docs/cages.md)"
    return f"{' and '.join(sorted(bounded))} of a whole cage, by control groups"


def _landlock_in_words(version: int) -> str:
    if version == 0:
        return "not in the kernel, or switched off"
    if version < LANDLOCK_NEEDED:
        return f"version {version}, too old: version {LANDLOCK_NEEDED} is needed (Linux 6.12)"
    return f'version {version}: sandbox.mode = "landlock" would use it, and protects less'


def _namespaces() -> tuple[str | None, str | None]:
    if text_of("/proc/sys/user/max_user_namespaces") == "0":
        return (
            "user.max_user_namespaces is 0",
            "Set user.max_user_namespaces with sysctl, to 10000 for example",
        )
    if os.geteuid() == 0:
        return None, None
    if text_of("/proc/sys/kernel/unprivileged_userns_clone") == "0":
        return (
            "kernel.unprivileged_userns_clone is 0",
            "Set kernel.unprivileged_userns_clone to 1 with sysctl",
        )
    if text_of("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            "AppArmor keeps them from programs without a profile",
            "Give bwrap an AppArmor profile that allows user namespaces (docs/cages.md has one)",
        )
    return None, None


def _is_known(machine: str) -> bool:
    try:
        architecture_of(machine)
    except ValueError:
        return False
    return True
