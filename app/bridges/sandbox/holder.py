"""The daemon's side of a cage's holder: its socket, its commands, and its end.

Owns: requests to the holder, and noticing ends. Never: trust in it: a process counts only if the kernel says
that it is the holder's child; a protocol violation ends the cage.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from app.bridges.processes import proc
from app.bridges.processes.child import Child, Leader
from app.bridges.processes.orphans import Orphans
from app.bridges.sandbox import holder_protocol as protocol
from app.bridges.sandbox.caged_leader import CagedLeader
from app.bridges.sandbox.holder_protocol import Answer, ProtocolViolation
from app.errors import Failure

log = logging.getLogger("kaged.cages")

REPLY_SECONDS = 20.0
"""How long a holder may take to answer. It answers in milliseconds; this is for a machine under load."""
END_SECONDS = 5.0
KILLED = 128 + signal.SIGKILL
_ANSWERS_AT_ONCE = 32
_NO_LINGERING = struct.pack("ii", 0, 0)


class HolderGone(Failure):
    """The cage has ended; `reason` says how."""


class Refused(Exception):
    """The holder could not do it: `errno`, and at which `step`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"{answer.step}: {os.strerror(answer.errno)}")
        self.errno = answer.errno
        self.step = answer.step


@dataclass(slots=True)
class _Asked:
    kind: str
    future: asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class Command:
    """What to start: fields of the message, and the descriptors that go with it."""

    fields: dict[str, Any]
    descriptors: Sequence[int] = field(default=())


class Holder:
    """One cage's first process. `bubblewrap` is the child that keeps it; `control` is closed here."""

    def __init__(self, bubblewrap: Child, control: socket.socket, name: str) -> None:
        self.name = name
        self.pid = 0
        self.gone: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why it is gone, once it is."""
        self._bubblewrap = bubblewrap
        self._control = control
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._descriptor: int | None = None
        self._asked: dict[int, _Asked] = {}
        self._running: dict[int, CagedLeader] = {}
        self._last = 0
        self._sending = asyncio.Lock()
        self._orphans: Orphans | None = None
        self._loop.add_reader(control.fileno(), self._listen)
        self._watcher = asyncio.create_task(self._watch(), name=f"cage {name}")

    @property
    def is_busy(self) -> bool:
        """Whether a command, or anything that one has left behind, is there."""
        return bool(self._running) or (self._orphans is not None and self._orphans.has_families)

    @property
    def orphans(self) -> Orphans:
        assert self._orphans is not None
        return self._orphans

    async def ready(self, seconds: float) -> None:
        either: set[asyncio.Future[Any]] = {self._ready, self.gone}
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not self._ready.done():
            reason = self.gone.result() if self.gone.done() else "it does not start in time"
            raise HolderGone(reason)
        found = proc.children_of_first_thread(self._bubblewrap.pid)
        try:
            if len(found) != 1:
                raise HolderGone("it has ended at once")
            self._descriptor = os.pidfd_open(found[0])
            known = proc.process(found[0])
            if known is None or known.parent != self._bubblewrap.pid:
                raise HolderGone("it has ended at once")
        except OSError:
            raise HolderGone("it has ended at once") from None
        self.pid = found[0]
        self._orphans = Orphans(self.pid)

    async def start(self, command: Command) -> Leader:
        leader = await self._ask("start", command.fields, command.descriptors)
        assert isinstance(leader, CagedLeader)
        return leader

    async def open(self, kind: str, **fields: object) -> socket.socket:
        """Return a socket of the cage's own network (`listen`, `connect`). Raises HolderGone, Refused."""
        opened = await self._ask(kind, fields, ())
        assert isinstance(opened, socket.socket)
        return opened

    def signal(self, number: int, what: int) -> None:
        """Have a command's group signalled. A message that cannot be sent at once is dropped."""
        self._say(protocol.request("signal", number, signal=what))

    def lost(self, number: int) -> None:
        """Note that the exit code of a command did not come in time."""
        self._end_of(number, 255)

    def kill(self) -> None:
        if self._descriptor is not None:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
        else:
            self._bubblewrap.kill()

    async def aclose(self) -> None:
        self.kill()
        if not await self._bubblewrap.has_ended(END_SECONDS):
            self._bubblewrap.kill()
        await asyncio.wait({self._watcher})

    async def _ask(self, kind: str, fields: dict[str, Any], descriptors: Sequence[int]) -> Any:
        if self.gone.done():
            raise HolderGone(self.gone.result())
        self._last += 1
        number = self._last
        content = protocol.request(kind, number, **fields)
        future: asyncio.Future[Any] = self._loop.create_future()
        self._asked[number] = _Asked(kind, future)
        try:
            async with asyncio.timeout(REPLY_SECONDS):
                await self._send(content, descriptors)
                return await future
        except TimeoutError:
            self.kill()
            raise HolderGone("it does not answer") from None
        finally:
            if not future.done():
                future.cancel()

    async def _send(self, content: bytes, descriptors: Sequence[int]) -> None:
        file: int | None = None
        if len(content) > protocol.MAX_PACKET:
            content, file = protocol.in_a_file(content)
        try:
            together = [*([] if file is None else [file]), *descriptors]
            async with self._sending:
                while not self._say(content, together):
                    await self._writable()
        finally:
            if file is not None:
                os.close(file)

    def _say(self, content: bytes, descriptors: Sequence[int] = ()) -> bool:
        """Send one packet; False when there is no room for it."""
        if self._control.fileno() < 0:
            return True  # who waits for an answer learns of the end otherwise
        try:
            socket.send_fds(self._control, [content], list(descriptors))
        except BlockingIOError:
            return False
        except OSError:
            self.kill()
        return True

    async def _writable(self) -> None:
        room = asyncio.Event()
        descriptor = self._control.fileno()
        self._loop.add_writer(descriptor, room.set)
        waiting = asyncio.ensure_future(room.wait())
        either: set[asyncio.Future[Any]] = {waiting, self.gone}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            if self._control.fileno() == descriptor:
                self._loop.remove_writer(descriptor)

    def _listen(self) -> None:
        for _ in range(_ANSWERS_AT_ONCE):
            try:
                content, descriptors, flags, _ = socket.recv_fds(
                    self._control,
                    protocol.MAX_ANSWER,
                    protocol.MAX_ANSWERED_DESCRIPTORS,
                    socket.MSG_CMSG_CLOEXEC,
                )
            except BlockingIOError:
                return
            except OSError:
                content, descriptors, flags = b"", [], 0
            try:
                if not content:
                    self._disconnect()
                    self.kill()
                    return
                if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
                    raise ProtocolViolation("it says too much")
                self._take(protocol.answer(content), descriptors)
            except ProtocolViolation as problem:
                log.warning("the cage %s is ended: %s", self.name, problem)
                self._disconnect()
                self.kill()
                return
            finally:
                for descriptor in descriptors:
                    _close(descriptor)

    def _take(self, answer: Answer, descriptors: list[int]) -> None:
        """Act on what the holder says; descriptors that are kept are taken out of the list."""
        if descriptors and answer.kind not in ("started", "opened"):
            raise ProtocolViolation("it gives what was not asked for")
        if answer.kind == "ready":
            if self._ready.done():
                raise ProtocolViolation("it is ready again")
            self._ready.set_result(None)
            return
        if answer.kind == "ended":
            if answer.number not in self._running:
                raise ProtocolViolation("it ends what does not run")
            self._end_of(answer.number, answer.code)
            return
        asked = self._asked.get(answer.number)
        if asked is None:
            raise ProtocolViolation("it answers what was not asked")
        if answer.kind != "failed":
            if (answer.kind == "started") != (asked.kind == "start") or len(descriptors) != 1:
                raise ProtocolViolation("it answers something else")
            if answer.kind == "started":
                self._started(answer.number, descriptors, asked.future)
            else:
                _give(asked.future, _internet_socket(descriptors.pop()))
        elif not asked.future.done():
            asked.future.set_exception(Refused(answer))
        del self._asked[answer.number]  # only now: who waits for a wrong answer learns of the end

    def _started(self, number: int, descriptors: list[int], future: asyncio.Future[Any]) -> None:
        pid = _pid_of(descriptors[0])
        found = None if pid is None else proc.process(pid)
        if pid is None or found is None or found.parent != self.pid:
            raise ProtocolViolation("what it has started is not its own")
        leader = CagedLeader(self, number, pid, descriptors.pop())
        self._running[number] = leader
        self._say(protocol.request("seen", number))
        if future.done():
            leader.signal(signal.SIGKILL)
        else:
            future.set_result(leader)

    def _end_of(self, number: int, code: int) -> None:
        leader = self._running.pop(number, None)
        if leader is not None:
            leader.finish(code)

    async def _watch(self) -> None:
        """Note the end of the holder, and with it that of everything in its cage."""
        last_words = await _last_words(self._bubblewrap, self._ready)
        await self._bubblewrap.wait()
        self._disconnect()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        reason = last_words or "the cage has ended"
        self.gone.set_result(reason)
        for asked in self._asked.values():
            if not asked.future.done():
                asked.future.set_exception(HolderGone(reason))
        self._asked.clear()
        for number in list(self._running):
            self._end_of(number, KILLED)
        await self._bubblewrap.aclose()
        if self._orphans is not None:
            await self._orphans.aclose(END_SECONDS)

    def _disconnect(self) -> None:
        if self._control.fileno() >= 0:
            self._loop.remove_reader(self._control.fileno())
            self._loop.remove_writer(self._control.fileno())
            self._control.close()


async def _last_words(child: Child, ready: asyncio.Future[None]) -> str:
    """Return the last line that bubblewrap says before the holder is ready; it says why it cannot."""
    assert child.stderr is not None
    output = b""
    while not ready.done() and (chunk := await child.stderr.read(4096)):
        output = (output + chunk)[-4096:]
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else ""


def _pid_of(descriptor: int) -> int | None:
    """Return the process that a descriptor of a process stands for, None for any other descriptor."""
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", "rb", 0) as file:
            lines = file.read(4096).splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(b":")
        if name == b"Pid":
            pid = int(value)
            return pid if pid > 1 else None
    return None


def _give(future: asyncio.Future[Any], opened: socket.socket) -> None:
    if future.done():
        opened.close()
    else:
        future.set_result(opened)


def _at_once(one: socket.socket) -> None:
    """Make closing a socket immediate: else its maker could make it take arbitrarily long."""
    with suppress(OSError):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGERING)


def _close(descriptor: int) -> None:
    """Close a descriptor from the holder."""
    try:
        one = socket.socket(fileno=descriptor)
    except OSError:
        os.close(descriptor)
        return
    _at_once(one)
    one.close()


def _internet_socket(descriptor: int) -> socket.socket:
    """Take a descriptor over as a socket that does not block; ProtocolViolation when it is another."""
    try:
        one = socket.socket(fileno=descriptor)
    except OSError:
        os.close(descriptor)
        raise ProtocolViolation("it gives something that is no socket") from None
    _at_once(one)
    if one.family not in (socket.AF_INET, socket.AF_INET6) or one.type != socket.SOCK_STREAM:
        one.close()
        raise ProtocolViolation("it gives another kind of socket")
    one.setblocking(False)
    return one
