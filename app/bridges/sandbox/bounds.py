"""The bounds of a cage: control groups where the daemon may make them, and limits of each process.

Owns: which of the two bounds what, and the control groups of a cage. Never: wall time (`wall_time`).

A process limit does not bind root, and an address-space limit stops programs that only reserve memory. So
both are bounded by control groups where there are any.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.cages.cage import CageLimits

_MIB = 1 << 20
_TREE = Path("/sys/fs/cgroup")
_MINE = Path("/proc/self/cgroup")
_PREFIX = "kaged-"
REMOVE_SECONDS, REMOVE_STEP_SECONDS = 2.0, 0.02


@dataclass(frozen=True, slots=True)
class _Setting:
    """Files of a control group and what they are set to; of these only the first has to be there."""

    controller: str
    values: tuple[tuple[str, str], ...]


_MOST = (1 << 63) - 1
"""What the kernel takes for a limit."""


def process_limits(limits: CageLimits, *, grouped: frozenset[str] = frozenset()) -> dict[str, int]:
    """Return the limits of each process by the names that the module `resource` has for them. `grouped`
    are the controllers that already bound the whole cage."""
    found = {"RLIMIT_CORE": 0}
    if limits.cpu_seconds is not None:
        found["RLIMIT_CPU"] = limits.cpu_seconds
    if limits.file_size_mb is not None:
        found["RLIMIT_FSIZE"] = limits.file_size_mb * _MIB
    if limits.open_files is not None:
        found["RLIMIT_NOFILE"] = limits.open_files
    if limits.memory_mb is not None and "memory" not in grouped:
        found["RLIMIT_DATA"] = limits.memory_mb * _MIB
    if limits.pids is not None and "pids" not in grouped:
        found["RLIMIT_NPROC"] = limits.pids + 1  # the holder is one
    return {name: min(value, _MOST) for name, value in found.items()}


def bounded_together() -> frozenset[str]:
    """Return what control groups can bound on this machine for all of a cage: `memory`, `pids`. Blocks."""
    _, parents = _parents(_TREE, _MINE)
    return frozenset(parents) & {"memory", "pids"}


class ControlGroups:
    """The control groups of one cage, one for each hierarchy. Made empty; `aclose` removes them, when
    nothing is in them any more."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = dict(folders)

    @classmethod
    def make(cls, limits: CageLimits, tree: Path = _TREE, mine: Path = _MINE) -> ControlGroups:
        """Make those that hold the limits and that this machine lets the daemon make. Blocks for less
        than a millisecond."""
        made: dict[str, Path] = {}
        name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        unified, parents = _parents(tree, mine)
        for setting in _settings(limits, unified):
            parent = parents.get(setting.controller)
            if parent is None:
                continue
            _remove_abandoned(parent)
            folder = parent / name
            is_new = folder not in made.values()
            try:
                if is_new:
                    folder.mkdir()
                _set(folder, setting)
            except OSError:
                if is_new:
                    with suppress(OSError):
                        folder.rmdir()
                continue
            made[setting.controller] = folder
        return cls(made)

    @property
    def controllers(self) -> frozenset[str]:
        """What they bound or count: `memory`, `pids`, `cpu` or `cpuacct`."""
        return frozenset(self._folders)

    @property
    def entrances(self) -> list[str]:
        """The files by which a process puts itself in, writing `0`."""
        return sorted({str(folder / "cgroup.procs") for folder in self._folders.values()})

    def take(self, pid: int) -> None:
        """Put a process in, and with it all that it starts from now on. Raises OSError."""
        for folder in set(self._folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def cpu_seconds(self) -> float | None:
        """Return how much processor time everything in them has used, None when nobody counts."""
        folder = self._folders.get("cpuacct") or self._folders.get("cpu")
        if folder is None:
            return None
        with suppress(OSError, ValueError, IndexError):
            if (folder / "cpuacct.usage").exists():
                return int((folder / "cpuacct.usage").read_text()) / 1e9
            return int((folder / "cpu.stat").read_text().split()[1]) / 1e6
        return None

    def exceeded(self) -> frozenset[str]:
        """Return the limits for which the kernel has killed or refused something in them: `memory_mb`,
        `pids`."""
        memory = self._count("memory", "memory.events", "oom_kill")
        memory = memory or self._count("memory", "memory.oom_control", "oom_kill")
        counts = {"memory_mb": memory, "pids": self._count("pids", "pids.events", "max")}
        return frozenset(name for name, count in counts.items() if count)

    def _count(self, controller: str, file: str, name: str) -> int:
        folder = self._folders.get(controller)
        if folder is not None:
            with suppress(OSError, ValueError, KeyError):
                return int(dict(line.split() for line in (folder / file).read_text().splitlines())[name])
        return 0

    def remove(self) -> bool:
        """Remove them, and tell whether all are gone: what has just been killed may still be there."""
        for controller, folder in list(self._folders.items()):
            with suppress(FileNotFoundError):
                try:
                    folder.rmdir()
                except OSError:
                    if folder.exists():
                        continue
            del self._folders[controller]
        return not self._folders

    async def remove_all(self) -> None:
        """Remove them all, within some seconds: a process that was just killed may still be in one."""
        for _ in range(round(REMOVE_SECONDS / REMOVE_STEP_SECONDS)):
            if self.remove():
                return
            await asyncio.sleep(REMOVE_STEP_SECONDS)


class CageBounds:
    """The limits of one cage: its control groups, once they are made, and what bounds each process beside
    them."""

    def __init__(self, limits: CageLimits) -> None:
        self._limits = limits
        self._groups: ControlGroups | None = None
        self._processor_is_used_up = False

    def make(self) -> None:
        """Make the control groups unless they are there. Blocks for less than a millisecond."""
        if self._groups is None:
            self._groups = ControlGroups.make(self._limits)

    def take(self, pid: int) -> None:
        """Put a process into the control groups. Raises OSError."""
        if self._groups is not None:
            self._groups.take(pid)

    @property
    def entrances(self) -> list[str]:
        return [] if self._groups is None else self._groups.entrances

    def of_process(self) -> dict[str, int]:
        grouped = frozenset[str]() if self._groups is None else self._groups.controllers
        return process_limits(self._limits, grouped=grouped)

    def uses_up_processor(self) -> bool:
        """Tell whether all in the cage together has used more processor time than it may, as far as
        something counts it."""
        most = self._limits.cpu_seconds
        used = self._groups.cpu_seconds() if self._groups is not None and most is not None else None
        self._processor_is_used_up |= used is not None and most is not None and used > most
        return self._processor_is_used_up

    def exceeded(self) -> frozenset[str]:
        """Return the limits by which something was killed or refused, as far as they are counted for the
        whole cage."""
        found = frozenset({"cpu_seconds"}) if self._processor_is_used_up else frozenset[str]()
        return found if self._groups is None else found | self._groups.exceeded()

    async def remove(self) -> None:
        if self._groups is not None:
            await self._groups.remove_all()


def _set(folder: Path, setting: _Setting) -> None:
    for number, (file, value) in enumerate(setting.values):
        try:
            (folder / file).write_text(value)
        except OSError:
            if number == 0:
                raise


def _remove_abandoned(parent: Path) -> None:
    with suppress(OSError):
        for name in os.listdir(parent):
            pid = name.removeprefix(_PREFIX).partition("-")[0]
            if name.startswith(_PREFIX) and pid.isdigit() and not Path(f"/proc/{pid}").exists():
                with suppress(OSError):
                    (parent / name).rmdir()


def _settings(limits: CageLimits, unified: bool) -> Iterator[_Setting]:
    if limits.memory_mb is not None:
        size = str(limits.memory_mb * _MIB)
        if unified:
            yield _Setting("memory", (("memory.max", size), ("memory.swap.max", "0")))
        else:
            swap = (("memory.memsw.limit_in_bytes", size), ("memory.swappiness", "0"))
            yield _Setting("memory", (("memory.limit_in_bytes", size), *swap))
    if limits.pids is not None:
        yield _Setting("pids", (("pids.max", str(limits.pids + 1)),))  # the holder is one
    if limits.cpu_seconds is not None:
        yield _Setting("cpu" if unified else "cpuacct", ())


def _parents(tree: Path, mine: Path) -> tuple[bool, dict[str, Path]]:
    """Return whether there is one hierarchy for all controllers, and for each controller the group in
    which the daemon may make groups."""
    try:
        lines = mine.read_text().splitlines()
    except OSError:
        return False, {}
    found: dict[str, Path] = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers:
            for name in controllers.split(","):
                folder = tree / controllers / path.lstrip("/")
                if not folder.is_dir():
                    folder = tree / name / path.lstrip("/")
                found[name] = folder
        elif not found:
            found |= _unified_parents(tree / path.lstrip("/"))
            if found:
                return True, found
    return False, {name: folder for name, folder in found.items() if os.access(folder, os.W_OK)}


def _unified_parents(group: Path) -> dict[str, Path]:
    """A group that has processes hands no controllers down: so the daemon's own has to be the group above,
    delegated to it (`Delegate=yes` and `DelegateSubgroup=`)."""
    for folder in (group, group.parent):
        with suppress(OSError):
            handed = (folder / "cgroup.subtree_control").read_text().split()
            if handed and os.access(folder, os.W_OK):
                return dict.fromkeys(handed, folder)
    return {}
