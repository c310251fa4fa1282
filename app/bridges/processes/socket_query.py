"""One TCP socket of this machine, by a question to the kernel (`sock_diag`).

Owns: the question and its answer. Never: who holds the socket (`tcp_peers`), or all sockets.
"""

from __future__ import annotations

import os
import socket
import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLMSG_ERROR = 2
_NLM_F_REQUEST = 1
_ALL_STATES = 0xFFFFFFFF
_NO_COOKIE = 0xFFFFFFFF
_ANSWER_SECONDS = 5.0
_ANSWER_BYTES = 8_192
_NOT_THERE = 2  # ENOENT

_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBBI")
_PORTS = struct.Struct("!HH")
_REST_OF_ID = struct.Struct("=III")
_STATE = struct.Struct("=xB")
_UID_AND_INODE = struct.Struct("=II")
_ID_AT = _HEADER.size + 4
_OWNER_AT = _ID_AT + _PORTS.size + 32 + _REST_OF_ID.size + 12

End = tuple[IPv4Address | IPv6Address, int]


@dataclass(frozen=True, slots=True)
class Found:
    """A connected socket. `inode` 0 is held by no process; `state` is a number of the kernel."""

    state: int
    uid: int
    inode: int


def connected_socket(local: End, remote: End) -> Found | None:
    """Return the socket between two ends, None when the kernel names none.

    It does not name one that is bound to a network device. Raises `OSError` where it cannot be asked.
    """
    family = socket.AF_INET if local[0].version == 4 else socket.AF_INET6
    wanted = _PORTS.pack(local[1], remote[1])
    addresses = b"".join(end[0].packed.ljust(16, b"\0") for end in (local, remote))
    question = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0, _ALL_STATES)
    question += wanted + addresses + _REST_OF_ID.pack(0, _NO_COOKIE, _NO_COOKIE)
    header = _HEADER.pack(_HEADER.size + len(question), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as asked:
        asked.settimeout(_ANSWER_SECONDS)
        asked.send(header + question)
        answer = asked.recv(_ANSWER_BYTES)
    _, kind, _, _, _ = _HEADER.unpack_from(answer)
    if kind == _NLMSG_ERROR:
        (code,) = struct.unpack_from("=i", answer, _HEADER.size)
        if -code == _NOT_THERE:
            return None
        raise OSError(-code, os.strerror(-code))
    if kind != _SOCK_DIAG_BY_FAMILY or answer[_ID_AT : _ID_AT + _PORTS.size] != wanted:
        return None  # a listening socket is what the kernel names when there is no other
    (state,) = _STATE.unpack_from(answer, _HEADER.size)
    return Found(state, *_UID_AND_INODE.unpack_from(answer, _OWNER_AT))
