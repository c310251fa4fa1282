"""Who is at the other end of a connection: the kernel's answer to a question and its tables agree."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.bridges.processes import tcp_peers
from app.bridges.processes.tcp_peers import Address, peer_descends

pytestmark = pytest.mark.requirement("security.daemon_token")

CHILD = """
import socket, sys
s = socket.socket({"4": socket.AF_INET, "6": socket.AF_INET6}[sys.argv[1]])
if sys.argv[3]:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, sys.argv[3].encode())
s.connect(({"4": "127.0.0.1", "6": "::1"}[sys.argv[1]], int(sys.argv[2])))
sys.stdin.read()
"""


@contextmanager
def connected_child(
    listener: socket.socket, version: str, device: str = ""
) -> Iterator[tuple[Address, Address]]:
    """Run a child that is connected; give its end and ours."""
    command = [sys.executable, "-c", CHILD, version, str(listener.getsockname()[1]), device]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        try:
            accepted, address = listener.accept()
            with accepted:
                yield address[:2], accepted.getsockname()[:2]
        finally:
            child.kill()


@contextmanager
def forked() -> Iterator[None]:
    """Have a child that has all of our sockets, as every child has them until it begins its program."""
    pid = os.fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_child_that_begins_does_not_make_our_own_connections_its_own(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname()[:2]) as client, forked():
        accepted, address = listener.accept()
        with accepted:
            assert not peer_descends(address[:2], accepted.getsockname()[:2])
        client.close()
    with connected_child(listener, version_of(listener)) as (theirs, here), forked():
        assert peer_descends(theirs, here)


def no_answer(*ends: object) -> None:
    raise OSError(errno.EPROTONOSUPPORT, os.strerror(errno.EPROTONOSUPPORT))


def no_tables() -> None:
    raise AssertionError("the tables are not needed")


@pytest.fixture(params=["127.0.0.1", "::", "::1"])
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    with socket.create_server(
        (request.param, 0), family=family, dualstack_ipv6=request.param == "::"
    ) as listener:
        listener.settimeout(30)
        yield listener


def version_of(listener: socket.socket) -> str:
    return "6" if listener.getsockname()[0] == "::1" else "4"


def test_a_question_and_the_tables_name_the_same_socket(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected_child(listener, version_of(listener)) as (theirs, here):
        ends = tcp_peers._end(theirs), tcp_peers._end(here)
        with monkeypatch.context() as only:
            only.setattr(tcp_peers, "tcp_sockets", no_tables)
            asked = [tcp_peers._socket(*ends), tcp_peers._socket(*reversed(ends))]
        with monkeypatch.context() as only:
            only.setattr(tcp_peers, "connected_socket", no_answer)
            read = [tcp_peers._socket(*ends), tcp_peers._socket(*reversed(ends))]
        for one, other in zip(asked, read, strict=True):
            assert one is not None and other is not None
            assert (one.inode, one.uid, one.state) == (other.inode, other.uid, other.state)


@pytest.mark.parametrize("way", ["asked", "read"])
def test_a_child_is_found(listener: socket.socket, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with connected_child(listener, version_of(listener)) as ends:
        if way == "asked":
            monkeypatch.setattr(tcp_peers, "tcp_sockets", no_tables)
        else:
            monkeypatch.setattr(tcp_peers, "connected_socket", no_answer)
        assert peer_descends(*ends)


def test_a_child_whose_socket_is_bound_to_a_device_does_not_hide() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        with connected_child(listener, "4", "lo") as ends:
            assert peer_descends(*ends)


def test_what_only_listens_is_no_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        here = tcp_peers._end(listener.getsockname())
        assert tcp_peers.connected_socket(here, tcp_peers._end(("127.0.0.1", 9))) is None
