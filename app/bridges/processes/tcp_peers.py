"""TCP sockets of this machine and the processes that hold them.

Owns: reading the kernel's tables; whether a descendant of the daemon is at the other end. Never: refusing it
(`api.access_middleware`).
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from app.bridges.processes import proc
from app.bridges.processes.socket_query import End, connected_socket
from app.process_stat import FLAGS, FORKED_ONLY, PARENT, process_stat

log = logging.getLogger("kaged.daemon")

Address = tuple[str, int]

PEER_KEY = "kaged.peer"
"""Where the state of a connection's requests has its `Peer`."""

_TABLES = ("tcp", "tcp6")
_ROUNDS = 3
"""How often the descendants are listed: those that began meanwhile are looked at, too."""
_LOOKS, _PAUSE_SECONDS = 25, 0.002
"""For how long the socket of a process that is ending is waited for."""
NO_HOLDER = "0"


@dataclass(frozen=True, slots=True)
class TcpSocket:
    """One line of a table. Ends are as the kernel writes them; `inode` `NO_HOLDER` is held by no process."""

    local: str
    remote: str
    state: str
    uid: int
    inode: str


def tcp_sockets() -> Iterator[TcpSocket]:
    """Yield the TCP sockets of this network namespace. Raises `OSError` without a table. Blocking."""
    for number, table in enumerate(_TABLES):
        try:
            with open(f"/proc/net/{table}", encoding="ascii", errors="replace") as file:
                for fields in map(str.split, file):
                    if len(fields) > 9 and fields[7].isdigit():
                        yield TcpSocket(fields[1], fields[2], fields[3], int(fields[7]), fields[9])
        except OSError:
            if number == 0:
                raise


def held_sockets(pid: int) -> Iterator[str]:
    """Yield the inodes of the sockets that a process holds in any of its threads. Raises `OSError` for one
    that has ended or may not be looked at. Blocking."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        folder = f"/proc/{pid}/task/{thread}/fd"
        for name in os.listdir(folder):
            try:
                target = os.readlink(f"{folder}/{name}")
            except FileNotFoundError:
                continue
            if target.startswith("socket:["):
                yield target[8:-1]


class Peer:
    """The other end of one connection. It is looked up once."""

    _warned = False

    def __init__(self) -> None:
        self._descends: bool | None = None

    async def descends(self, peer: Address | None, here: Address | None) -> bool:
        """Tell whether a descendant of this process is at the other end. A local peer that is gone counts as
        one; where the kernel does not say, none does."""
        if self._descends is None:
            if peer is None or here is None:
                return False
            try:
                self._descends = await asyncio.to_thread(peer_descends, peer, here)
            except (OSError, ValueError) as problem:
                self._descends = False
                if not Peer._warned:
                    Peer._warned = True
                    log.warning("the processes of clients cannot be looked up: %s", problem)
        return self._descends


def peer_descends(peer: Address, here: Address) -> bool:
    """Answer as `Peer.descends`. Raises `OSError` without tables, `ValueError` for no address. Blocking."""
    theirs, mine = _end(peer), _end(here)
    found = _socket(theirs, mine)
    if found is None:
        # While our end stands, theirs is on another machine or in another network namespace. Without it the
        # client has gone.
        return _socket(mine, theirs) is None
    if found.inode == NO_HOLDER:
        return True
    descends, ending = _descendant_holds(found)
    return descends or _has_left(found, theirs, mine, looks=_LOOKS if ending else 1)


def peer_descends_through(client: Address, server: Address, peer: Address, here: Address) -> bool:
    """Answer as `peer_descends` for the client of another process, which passes its request on from `peer` to
    `here`. Where that process is on another machine, only a client on this one is known."""
    on_this_machine = _socket(_end(peer), _end(here)) is not None
    if not on_this_machine and _socket(_end(client), _end(server)) is None:
        return False
    return peer_descends(client, server)


def _socket(local: End, remote: End) -> TcpSocket | None:
    """Return the socket between two ends: by a question, and by the tables when the kernel names none. The
    tables have every socket, and reading them takes milliseconds with some hundred connections."""
    try:
        named = connected_socket(local, remote)
    except OSError:
        named = None
    here, there = _words_of(local), _words_of(remote)
    if named is not None:
        return TcpSocket(min(here), min(there), f"{named.state:02X}", named.uid, str(named.inode))
    return next((one for one in tcp_sockets() if one.local in here and one.remote in there), None)


def _has_left(found: TcpSocket, local: End, remote: End, *, looks: int) -> bool:
    """Tell whether the client has left since its socket was found. The sockets of a process that is ending
    stand for a moment when it holds none any more."""
    for look in range(looks):
        if look:
            time.sleep(_PAUSE_SECONDS)  # noqa: TID251 - the kernel reports no end; in a thread
        now = _socket(local, remote)
        if now is None or now.inode != found.inode:
            return True
    return False


def _descendant_holds(socket: TcpSocket) -> tuple[bool, bool]:
    """Tell whether a descendant holds a socket, and whether one was just ending."""
    seen: set[int] = set()
    closed = ending = False
    for _ in range(_ROUNDS):
        new = proc.descendants(os.getpid()) - seen
        if not new:
            break
        seen |= new
        for pid in new:
            try:
                held = set(held_sockets(pid))
                if socket.inode in held and not _is_ours(socket.inode, pid):
                    return True, False
                ending = ending or not (held or os.listdir(f"/proc/{pid}/fd"))
            except PermissionError:
                closed = closed or proc.user(pid) == socket.uid
            except OSError:
                ending = True
    others = (one.pid for one in proc.processes() if one.pid not in seen)
    return closed and not _is_held(socket.inode, others), ending


def _is_ours(inode: str, pid: int) -> bool:
    """Tell whether a socket is our own, and the process a child of ours that has not begun its program yet:
    until then it has all sockets that we have. A fork of an agent's program, which may be our child by now,
    has none that we have. Raises as `held_sockets`."""
    if inode not in held_sockets(os.getpid()):
        return False
    fields = process_stat(pid)
    if fields is None or int(fields[PARENT]) != os.getpid():
        return False
    # It may have begun its program since its sockets were listed.
    return bool(int(fields[FLAGS]) & FORKED_ONLY) or inode not in held_sockets(pid)


def _is_held(inode: str, pids: Iterable[int]) -> bool:
    for pid in pids:
        try:
            if inode in held_sockets(pid):
                return True
        except OSError:
            continue
    return False


def _end(address: Address) -> End:
    host = ipaddress.ip_address(address[0].partition("%")[0])
    mapped = host.ipv4_mapped if isinstance(host, ipaddress.IPv6Address) else None
    return host if mapped is None else mapped, address[1]


def _words_of(end: End) -> frozenset[str]:
    """Return how the tables write an end: one of IPv4 stands in both, as sockets of both kinds use it."""
    host, port = end[0], f":{end[1]:04X}"
    if isinstance(host, ipaddress.IPv6Address):
        return frozenset({_words(host.packed) + port})
    mapped = b"\0" * 10 + b"\xff\xff" + host.packed
    return frozenset({_words(host.packed) + port, _words(mapped) + port})


def _words(packed: bytes) -> str:
    """Write an address as the kernel does: words of 32 bits in the machine's own order of bytes."""
    return "".join(f"{word:08X}" for word in struct.unpack(f"={len(packed) // 4}I", packed))
