"""What this machine has of what tests need, found by trying it, and how to get the rest.

A test that needs what is not there is skipped; in CI that is a failure. The end of a run says what was left
out, and the command that installs it.
"""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.tier import Tier
from app.bridges.sandbox.tier_search import find_tier

TOOLS = "make tools"
"""Installs everything that tests can use."""
DEPLOYMENT_TOOLS = ("caddy", "kubernetes-validate", "podman-compose", "promtool", "systemd-analyze")
"""Tools that check the examples of deployment; `.ci/deployment-tools` installs them."""
_ROOT = Path(__file__).resolve().parents[2]
_TRIAL_SECONDS = 2
_NOT_STARTED = frozenset({126, 127})


@dataclass(frozen=True, slots=True)
class Lack:
    """What tests need and the machine has not: what it is, why it counts as absent, and how to get it."""

    what: str
    why: str
    command: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}; {self.command}"

    @classmethod
    def parse(cls, reason: str) -> Lack | None:
        """Return the lack that a skipped test tells of, None where it was skipped for another reason."""
        what, colon, rest = reason.removeprefix("Skipped: ").partition(": ")
        why, semicolon, command = rest.rpartition("; ")
        return cls(what, why, command) if colon and semicolon else None


def need(name: str) -> None:
    """Skip the test that runs where the machine has not what is named: one of `NEEDS`."""
    if (lack := lacking(name)) is not None:
        pytest.skip(str(lack))


def need_tier(tier: Tier) -> None:
    """Skip the test that runs where the machine cannot hold a cage of a tier."""
    if tier.name == "full":
        need("cages")
    elif tier.name == "landlock":
        need("landlock")


@functools.cache
def lacking(name: str) -> Lack | None:
    """Return what the machine lacks of what is named, None where it has it."""
    return NEEDS[name]()


@functools.cache
def starts(*command: str) -> bool:
    """Tell whether a program can be run: it is there with all that it needs to begin. What it then says of
    the arguments does not matter."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TRIAL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    except OSError:
        return False
    return done.returncode not in _NOT_STARTED


def _tier(mode: Literal["full", "landlock"]) -> Lack | None:
    """By a process of its own: a process should have one keeper of children only."""
    done = subprocess.run(
        [sys.executable, "-m", __name__, mode],
        cwd=_ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found, _, why = done.stdout.strip().partition(" ")
    if found == mode:
        return None
    command = TOOLS if mode == "full" else "a newer kernel has it"
    return Lack(f"cages of tier {mode}", (why or done.stderr[-300:]).replace("; ", ", "), command)


def _program(what: str, *programs: str) -> Callable[[], Lack | None]:
    def look() -> Lack | None:
        there = [path for name in programs if (path := shutil.which(name)) and starts(path, "--version")]
        return None if there else Lack(what, "not installed", TOOLS)

    return look


def find_nginx() -> str | None:
    """Return where nginx is, which Debian keeps from the `PATH` of ordinary users."""
    path = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    return path if path and starts(path, "-v") else None


def find_deployment_tool(name: str) -> str | None:
    """Return where a tool is that takes the examples of deployment: beside the project, or on the `PATH`."""
    path = shutil.which(name, path=f"{_ROOT}/.deployment-tools/bin:{os.environ.get('PATH', '')}")
    if name == "podman-compose" and shutil.which("podman") is None:
        return None  # it asks podman for its version before it reads a file
    return path if path and starts(path, "--help") else None


def _deployment_tool(name: str) -> Callable[[], Lack | None]:
    return lambda: None if find_deployment_tool(name) else Lack(name, "not installed", TOOLS)


def _nginx() -> Lack | None:
    return None if find_nginx() else Lack("nginx", "not installed", TOOLS)


def _root() -> Lack | None:
    return None if os.geteuid() == 0 else Lack("root", "not this user", "run the tests as root")


def _containers() -> Lack | None:
    """By the script that builds images, which says what it lacks."""
    done = subprocess.run([_ROOT / ".ci" / "image", "check"], capture_output=True, text=True, check=False)
    why, _, command = done.stderr.strip().partition("; ")
    return None if done.returncode == 0 else Lack("containers", why, command)


def _postgresql() -> Lack | None:
    from tests.driver.postgres import find_binaries

    return None if find_binaries() else Lack("PostgreSQL", "not installed", TOOLS)


def _pgbouncer() -> Lack | None:
    from tests.driver.pooler import find_pgbouncer

    return None if find_pgbouncer() else Lack("PgBouncer", "not installed", TOOLS)


NEEDS: dict[str, Callable[[], Lack | None]] = {
    "cages": lambda: _tier("full"),
    "landlock": lambda: _tier("landlock"),
    "bubblewrap": _program("bubblewrap", "bwrap"),
    "postgresql": _postgresql,
    "pgbouncer": _pgbouncer,
    "chromium": _program("Chromium", "chromium", "chromium-browser", "google-chrome"),
    "compiler": _program("a C compiler", "gcc", "cc"),
    "curl": _program("curl", "curl"),
    "nginx": _nginx,
    **{name: _deployment_tool(name) for name in DEPLOYMENT_TOOLS},
    "zsh": _program("zsh", "zsh"),
    "fish": _program("fish", "fish"),
    "containers": _containers,
    "root": _root,
}
"""What a test can name in `@pytest.mark.needs`, and how to look for it."""


def summary(reasons: Iterable[str]) -> list[str]:
    """Return the lines that tell what was not tested, by the reasons of all skipped tests."""
    lacks = Counter(lack for reason in reasons if (lack := Lack.parse(reason)) is not None)
    by_command: dict[str, list[str]] = {}
    for lack, times in sorted(lacks.items(), key=lambda one: -one[1]):
        tests = "1 test" if times == 1 else f"{times} tests"
        by_command.setdefault(lack.command, []).append(f"  {tests}: {lack.what} ({lack.why})")
    return [
        line
        for command, lines in by_command.items()
        for line in (f"Not tested on this machine; to have it tested: {command}", *lines)
    ]


def _main(mode: Literal["full", "landlock"]) -> None:
    async def look() -> Tier:
        children = ChildProcesses()
        made: list[Cages] = []

        def keeper(tier: Tier) -> Cages:
            made.append(Cages(children, tier))
            return made[-1]

        try:
            return await find_tier(mode, keeper)
        finally:
            for cages in made:
                await cages.aclose()
            await children.aclose()

    tier = asyncio.run(look())
    os.write(1, f"{tier.name} {tier.reason}".encode())


if __name__ == "__main__":
    _main("landlock" if sys.argv[1] == "landlock" else "full")
