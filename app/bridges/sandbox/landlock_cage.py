"""A cage of the landlock tier: every command restricts itself before it is loaded.

Owns: what such a cage can hold, its own folders, its commands and their end. Never: the rules
(`landlock_process`).

There are no namespaces: commands see the process ids of the machine and have no network, not even a loopback.
Files that are not granted are refused, not absent.
Keeps S5 of docs/security.md.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Unpack

from app.bridges.processes.child import Child, SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.command_line import in_words, plain, variables
from app.bridges.processes.loopback import LOOPBACK
from app.bridges.processes.pipes import StartOptions
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox import landlock_process, system_view
from app.bridges.sandbox.bounds import CageBounds
from app.bridges.sandbox.home import HomeFolder
from app.bridges.sandbox.mounts import Bound, Places, lies_below, open_places, real_mounts
from app.bridges.sandbox.new_names import NewNames, Settled
from app.bridges.sandbox.seccomp_rules import filter_bytes
from app.bridges.sandbox.starter import environment
from app.bridges.sandbox.wall_time import WallTime
from app.cages.cage import Cage
from app.errors import ToolError

LOADING_SECONDS = 20.0
"""How long a command may take to be loaded. It takes some milliseconds; this is for a machine under load."""
_PROGRAM = Path(landlock_process.__file__).read_text(encoding="utf-8")
"""Read once, at the daemon's start: who could change the file later would change what runs uncaged."""
_FLAGS = ("-I", "-S", "-E", "-B", "-c")
_OF_THE_KERNEL = (
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version"),
    *("/proc/filesystems", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/osrelease"),
    *("/proc/sys/kernel/ngroups_max", "/proc/sys/kernel/cap_last_cap", "/sys/devices/system/cpu"),
)
_ANSWER_BYTES = 4_096


class LandlockCage(ChildStarter):
    """The cage `key`, which is its own starter. `root` is the project's folder; `read_only` are folders that
    every cage shows. Raises ToolError `cage_unavailable` for what this tier cannot hold."""

    apart = False
    """They have the process ids of the daemon."""

    def __init__(
        self,
        children: ChildProcesses,
        key: str,
        cage: Cage,
        root: Path,
        *,
        names: NewNames,
        read_only: Sequence[Path] = (),
    ) -> None:
        _refuse_what_is_not_held(cage)
        self.key = key
        self.cage = cage
        self.root = root
        self._real = real_mounts(cage, root)
        self._children = children
        interpreters = [one.path for one in system_view.interpreter_folders() if one.link is None]
        self._shown = [*interpreters, *map(os.path.realpath, read_only)]
        self._bounds = CageBounds(cage.limits)
        self._names = names
        self.wall_time = WallTime(cage.limits.walltime_seconds, self._kill)
        self._own: HomeFolder | None = None
        self._running: set[Child] = set()
        self._starting = 0
        self._making = asyncio.Lock()
        self._ended = False

    @property
    def starter(self) -> LandlockCage:
        return self

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the environment that a process has inside, but for its home and its folder for files that
        nobody keeps: these are made with the first start."""
        return environment(given, self.cage.env)

    async def start(
        self,
        argv: Sequence[str | bytes],
        *,
        owner: str,
        cwd: int | Path,
        env: Mapping[str, str],
        **options: Unpack[StartOptions],
    ) -> Child:
        """Start a program in a session of its own, held by landlock. Raises SpawnFailed, and ToolError when
        the cage or its wall time is over, or it cannot be made."""
        own = await self._own_folder()
        self.wall_time.begin()
        try:
            arguments = [plain(part) for part in argv]
            inside = environment(env, {**own.variables, **self.cage.env})
            entries = variables(inside)
        except ValueError as problem:
            raise SpawnFailed(in_words(problem)) from None
        await self._names.settle(self.is_busy, always=True)
        places = await self._opened()
        self._names.learn(places.protected)
        places.protected.clear()
        self._names.began()
        self._starting += 1
        try:
            rules = self._rules(places, own)
            with _Front(rules, [one.descriptor for one in _granted(places)]) as front:
                bounds = {"limits": self._bounds.of_process(), "groups": self._bounds.entrances}
                front.specify(arguments, entries, bounds, self._filter())
                child = await self._children.start(
                    [system_view.interpreter(), *_FLAGS, _PROGRAM],
                    owner=owner,
                    cwd=cwd,
                    env={},
                    passed=front.passed,
                    **options,
                )
                await self._loaded(child, front, arguments[0])
        finally:
            places.close()
            self._starting -= 1
            self._command_gone()
        return child

    async def free_port(self) -> int:
        """A landlock cage has no ports. Raises OSError."""
        raise OSError(errno.EPERM, "a cage of landlock has no network, not even a loopback")

    async def connect(self, port: int, host: str = LOOPBACK) -> socket.socket:
        """A landlock cage has no loopback. Raises OSError."""
        raise OSError(errno.EPERM, "a cage of landlock has no network, not even a loopback")

    async def settle(self) -> Settled:
        """Take away new protected names, and return all that were taken away since the last call."""
        await self._names.settle(self.is_busy)
        return self._names.take_unsaid()

    def _command_gone(self) -> None:
        if not self.is_busy():
            self._names.idle()

    def is_busy(self) -> bool:
        return self._starting > 0 or any(not child.is_gone for child in self._running)

    def _kill(self) -> None:
        for child in self._running:
            child.kill()

    async def aclose(self) -> None:
        self._ended = True
        self.wall_time.close()
        async with self._making:
            await asyncio.gather(*(child.aclose() for child in list(self._running)))
            own, self._own = self._own, None
        await self._names.stop_watching()
        await self._names.settle_all()
        self._names.close()
        await self._bounds.remove()
        if own is not None:
            await asyncio.to_thread(own.remove)

    async def _own_folder(self) -> HomeFolder:
        """Return the folder of the cage's home and temporary files, made at the first command."""
        async with self._making:
            if self._ended:
                raise _has_ended()
            if self._own is None:
                self._bounds.make()
                self._own = HomeFolder()
                self._names.watch(self.is_busy)
            return self._own

    async def _opened(self) -> Places:
        """Open what the cage shows. The thread that does it goes on when this is cancelled."""
        opening = asyncio.get_running_loop().run_in_executor(
            None,
            open_places,
            self._real.cage,
            self._real.root,
            self._shown,
            self._names.known,
            self._names.rules_of,
        )
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_unwanted)
            raise

    def _filter(self) -> bytes:
        return filter_bytes(self.cage.seccomp, namespaces=False)

    def _rules(self, places: Places, own: HomeFolder) -> list[dict[str, Any]]:
        if any(one.how == "hidden" for one in (*places.outer, *places.inner)):
            raise _not_held("it hides something below a folder that it shows")
        rules: list[dict[str, Any]] = [
            {"descriptor": number, "rights": "write" if one.how == "rw" else "read", "without": without}
            for number, (one, without) in enumerate(_with_exceptions(places))
        ]
        system = [one.path for one in system_view.system_folders() if one.link is None]
        rules += [{"path": path, "rights": "read"} for path in (*system, *_OF_THE_KERNEL)]
        rules += [{"path": f"/dev/{name}", "rights": "device"} for name in system_view.DEVICES]
        return [*rules, *({"path": path, "rights": "write"} for path in own.variables.values())]

    async def _loaded(self, child: Child, front: _Front, name: bytes) -> None:
        """Wait until the program is loaded; the child counts as running from here on. Raises SpawnFailed."""
        self._running = {one for one in self._running if not one.is_gone} | {child}
        child.when_gone(self._command_gone)
        try:
            if self._ended:
                raise _has_ended()
            if self.wall_time.is_over:
                child.kill()
            async with asyncio.timeout(LOADING_SECONDS):
                answer = await front.answer()
        except BaseException as problem:
            await child.aclose()
            if isinstance(problem, TimeoutError):
                raise SpawnFailed("it could not be loaded in time") from None
            raise
        if answer is not None:
            await child.aclose()
            raise SpawnFailed(_refusal(answer, name))


class _Front:
    """The descriptors with the restrictions of a command; they are closed on exit."""

    def __init__(self, rules: list[dict[str, Any]], places: Sequence[int]) -> None:
        self._rules = rules
        self._specification = os.memfd_create("command", os.MFD_CLOEXEC)
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.passed = [self._specification, self._writer, *places]

    def specify(
        self, argv: Sequence[bytes], env: Sequence[bytes], bounds: Mapping[str, Any], content: bytes
    ) -> None:
        asked = {
            "argv": [part.decode("latin-1") for part in argv],
            "env": [entry.decode("latin-1") for entry in env],
            **bounds,
            "filter": content.hex(),
            "rules": self._rules,
        }
        with open(self._specification, "wb", closefd=False) as file:
            file.write(json.dumps(asked).encode())

    async def answer(self) -> dict[str, Any] | None:
        """Return what failed, None when the program was loaded."""
        os.close(self._writer)
        self._writer = -1
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._reader, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(self._reader)
        answer = os.read(self._reader, _ANSWER_BYTES)
        failed: dict[str, Any] | None = json.loads(answer) if answer else None
        return failed

    def __enter__(self) -> _Front:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in (self._specification, self._reader, self._writer):
            if descriptor >= 0:
                with suppress(OSError):
                    os.close(descriptor)


def _granted(places: Places) -> list[Bound]:
    """Return the places with a rule of their own. Protected places are left out of the rule around them."""
    return [one for one in (*places.outer, *places.inner) if one.descriptor >= 0]


def _with_exceptions(places: Places) -> Iterator[tuple[Bound, list[list[str]]]]:
    """Yield each granted place, with the names below a writable one that stay read-only."""
    read_only = [one.path for one in (*places.outer, *places.inner) if one.how == "ro"]
    for one in _granted(places):
        below = [path for path in read_only if path != one.path and lies_below(path, one.path)]
        yield one, [list(Path(path).relative_to(one.path).parts) for path in below] if one.how == "rw" else []


def _refuse_what_is_not_held(cage: Cage) -> None:
    lacks = {
        "it names hosts that it may reach": bool(cage.net),
        "it keeps its state": cage.state_folder is not None,
        "it allows Unix sockets, and would reach those of the machine": cage.unix_sockets,
    }
    found = [why for why, wanted in lacks.items() if wanted]
    if found:
        raise _not_held("; ".join(found))


def _not_held(why: str) -> ToolError:
    return ToolError(
        "cage_unavailable",
        f"This cage needs namespaces, and the daemon is set to landlock: {why}. Nothing was run. "
        "The operator can remove that from the cage, or run the daemon where sandbox.mode can be full.",
        detail={"tier": "landlock", "reason": why},
    )


def _close_unwanted(opening: asyncio.Future[Places]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


def _has_ended() -> ToolError:
    return ToolError("cage_unavailable", "The cage has ended with the run that it was made for.")


def _refusal(answer: Mapping[str, Any], name: bytes) -> str:
    if answer["step"] == "load" and answer["errno"] == errno.ENOENT and b"/" not in name:
        return f"there is no program {os.fsdecode(name)!r} in the cage"
    if answer["step"] != "load":
        return f"it could not be caged ({answer['step']}): {os.strerror(answer['errno'])}"
    return os.strerror(answer["errno"])
