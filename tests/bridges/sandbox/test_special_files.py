"""What may only be read cannot be written to, whatever kind of file it is."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.tier import Tier
from app.cages.cage import Mount
from app.errors import ToolError
from tests.driver.caged_machine import LANDLOCK
from tests.driver.caging import FULL, Caged, cage_of
from tests.driver.machine import need_tier

pytestmark = pytest.mark.requirement("security.named_pipes")
PLACES = ("read/only", ".git", "granted/docs")


class Ground:
    """A project with a pipe and a socket in each kind of place, and somebody at the other end of each."""

    def __init__(self, folder: Path, held: ExitStack) -> None:
        self.root = folder
        self._pipes: dict[str, int] = {}
        self._sockets: dict[str, socket.socket] = {}
        for place in (*PLACES, "free"):
            (folder / place).mkdir(parents=True, exist_ok=True)
            os.mkfifo(folder / place / "pipe")
            end = os.open(folder / place / "pipe", os.O_RDONLY | os.O_NONBLOCK)
            held.callback(os.close, end)
            listener = held.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(os.path.relpath(folder / place / "socket"))
            listener.listen()
            listener.setblocking(False)
            self._pipes[place], self._sockets[place] = end, listener
            (folder / place / "text").write_text("text\n")

    def heard(self, place: str) -> bytes:
        """Return what somebody has written into the pipe of a place."""
        try:
            return os.read(self._pipes[place], 100)
        except BlockingIOError:
            return b""

    def reached(self, place: str) -> bool:
        """Tell whether somebody has connected to the socket of a place."""
        try:
            self._sockets[place].accept()[0].close()
        except BlockingIOError:
            return False
        return True


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ExitStack() as held:
        yield Ground(tmp_path, held)


async def caged(children: ChildProcesses, ground: Ground, tier: Tier) -> tuple[Cages, Caged]:
    need_tier(tier)
    more = [Mount(ground.root / "read", "ro"), Mount(ground.root / "granted/docs", "ro")]
    unix = {"unix_sockets": True} if tier is FULL else {}
    cages = Cages(children, tier)
    cage = cage_of(ground.root, *more, **unix)
    return cages, Caged(cages, await cages.children("test", cage, ground.root), ground.root)


@pytest.mark.parametrize("tier", [FULL, LANDLOCK], ids=lambda tier: tier.name)
async def test_a_pipe_in_a_read_only_place_is_not_written_to(
    children: ChildProcesses, ground: Ground, tier: Tier
) -> None:
    cages, cage = await caged(children, ground, tier)
    try:
        for place in PLACES:
            done = await cage.sh(f"cat {place}/text; timeout 5 sh -c 'echo theirs > {place}/pipe'")
            assert done.stdout == b"text\n" and done.exit_code != 0, place
            assert ground.heard(place) == b"", place
        if tier is FULL:
            assert (await cage.sh("timeout 5 sh -c 'echo theirs > free/pipe'")).exit_code == 0
            assert ground.heard("free") == b"theirs\n"
    finally:
        await cages.aclose()


async def test_a_socket_in_a_read_only_place_is_not_connected_to(
    children: ChildProcesses, ground: Ground
) -> None:
    """Those in places that may be written to are, with `ipc: [unix]`."""
    cages, cage = await caged(children, ground, FULL)
    connecting = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    try:
        for place in (*PLACES, "free"):
            done = await cage.sh(f"/usr/bin/python3 -c '{connecting}' {place}/socket")
            assert (done.exit_code == 0) is (place == "free"), (place, done.stderr)
            assert ground.reached(place) is (place == "free"), place
    finally:
        await cages.aclose()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
async def test_a_device_in_a_granted_place_is_not_opened(children: ChildProcesses, ground: Ground) -> None:
    for place in (*PLACES, "free"):
        os.mknod(ground.root / place / "device", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    cages, cage = await caged(children, ground, FULL)
    try:
        for place in (*PLACES, "free"):
            assert (await cage.sh(f"echo x > {place}/device")).exit_code != 0, place
    finally:
        await cages.aclose()


async def test_a_cage_is_refused_when_there_are_more_pipes_than_can_be_hidden(
    children: ChildProcesses, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.bridges.sandbox.special_files.MAX_HIDDEN", 3)
    for number in range(4):
        os.mkfifo(ground.root / f"read/{number}")
    cages, cage = await caged(children, ground, FULL)
    try:
        with pytest.raises(ToolError, match="too many pipes"):
            await cage.sh("true")
    finally:
        await cages.aclose()
