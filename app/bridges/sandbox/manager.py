"""The cages of the daemon. `children` returns the starter of a cage.

Owns: which cages exist, and their end. Never: who is caged (project file, plugin manifest, settings).
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.egress import Egress, Outside
from app.bridges.sandbox.landlock_cage import LandlockCage
from app.bridges.sandbox.mounts import RulesOf
from app.bridges.sandbox.new_names import NewNames, Settled
from app.bridges.sandbox.one_cage import OneCage
from app.bridges.sandbox.tier import Tier
from app.bridges.sandbox.timed_starter import TimedStarter
from app.cages.cage import Cage
from app.errors import ToolError

AnyCage = OneCage | LandlockCage | TimedStarter
IDLE_SECONDS = 0.25
"""How often a cage that is to end when nothing runs in it any more is looked at."""


def unavailable(tier: Tier) -> ToolError:
    """The answer to whatever needs a child process in a cage where there can be none."""
    advice = f" {tier.advice.removesuffix('.')}." if tier.advice else ""
    return ToolError(
        "cage_unavailable",
        f"This needs a process inside a cage, and this machine cannot hold one: {tier.reason}.{advice}",
        detail={"tier": tier.name, "reason": tier.reason},
    )


class Cages:
    """All cages of the daemon, closed before `children`. `read_only` are further folders that every cage
    shows; `quarantine` keeps what cages made under protected names; `rules_of` returns the ignore rules of a
    folder."""

    def __init__(
        self,
        children: ChildProcesses,
        tier: Tier,
        *,
        outside: Outside | None = None,
        read_only: Sequence[Path] = (),
        quarantine: Path | None = None,
        rules_of: RulesOf | None = None,
    ) -> None:
        self._children = children
        self._outside = outside or Outside()
        self._read_only = tuple(read_only)
        self._quarantine = quarantine or Path(tempfile.gettempdir()) / f"kaged-quarantine-{os.getuid()}"
        self._rules_of = rules_of
        self._cages: dict[str, AnyCage] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()
        self.tier = tier

    @property
    def read_only(self) -> tuple[Path, ...]:
        return self._read_only

    async def children(
        self, key: str, cage: Cage, root: Path, *, about: Mapping[str, str] | None = None
    ) -> ChildStarter:
        """Return the starter of the cage `key`. The cage is made when it is missing, and replaced when
        `cage`, or something it names on disk, has changed. `root` is the project's folder, `about` the owner
        for the audit (`project_id`, `session_id` ...). Raises ToolError `cage_unavailable`."""
        if self.tier.name == "none":
            raise unavailable(self.tier)
        while (found := self._cages.get(key)) is not None and (found.cage, found.root) != (cage, root):
            if _only_reads(found.cage):
                del self._cages[key]
                self._close(found, when_idle=True)
            else:
                await self.end(key)
        if found is None:
            found = self._cages[key] = self._made(key, cage, root, dict(about or {}))
        return found.starter

    async def settle(self, key: str) -> Settled:
        """Take away new protected names in the cage `key`, and return all that were taken away since the last
        call. Called after each command; the end of a cage does it, too."""
        found = self._cages.get(key)
        return Settled() if found is None else await found.settle()

    def has_run_out(self, key: str) -> bool:
        """Whether the wall time of the cage `key` is over; everything in it was killed then."""
        found = self._cages.get(key)
        return found is not None and found.wall_time.is_over

    def exceeded(self, key: str) -> frozenset[str]:
        """Return the limits, but for the wall time, by which something in the cage `key` was killed or
        refused, as far as that is known."""
        found = self._cages.get(key)
        return found.exceeded() if isinstance(found, OneCage) else frozenset()

    def take_refused(self, key: str) -> dict[str, str]:
        """Return the hosts that the proxy of the cage `key` has refused since this was asked last, each
        with the kind of refusal; each host and kind once."""
        found = self._cages.get(key)
        return found.take_refused() if isinstance(found, OneCage) else {}

    def is_busy(self, key: str) -> bool:
        found = self._cages.get(key)
        return found is not None and found.is_busy()

    def _made(self, key: str, cage: Cage, root: Path, about: dict[str, str]) -> AnyCage:
        if self.tier.name == "off":
            return TimedStarter(self._children, key, cage, root)
        egress = Egress(cage, self._outside, about)
        names = NewNames(self._quarantine, egress.emit, takes=cage.takes_new_names, rules_of=self._rules_of)
        if self.tier.name == "landlock":
            return LandlockCage(self._children, key, cage, root, names=names, read_only=self._read_only)
        return OneCage(self._children, key, cage, root, egress, names=names, read_only=self._read_only)

    async def end(self, key: str) -> None:
        """Kill everything in the cage `key` and forget it; state that is kept stays."""
        found = self._cages.pop(key, None)
        if found is not None:
            await asyncio.shield(self._close(found))

    async def aclose(self) -> None:
        self._closing.set()
        await asyncio.gather(*(self.end(key) for key in list(self._cages)))
        await asyncio.gather(*self._ending)

    def _close(self, cage: AnyCage, *, when_idle: bool = False) -> asyncio.Task[None]:
        async def close() -> None:
            while when_idle and cage.is_busy() and not self._closing.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(IDLE_SECONDS):
                        await self._closing.wait()
            await cage.aclose()

        task = asyncio.create_task(close(), name=f"end of cage {cage.key}")
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task


def _only_reads(cage: Cage) -> bool:
    """Tell whether what runs in a cage may as well finish there, when the cage is to be another."""
    return not cage.net and all(mount.mode != "rw" for mount in cage.mounts)
