"""A name is resolved once, and only an address that was vetted is connected to."""

from __future__ import annotations

import asyncio
import socket
import sys
from ipaddress import ip_address
from pathlib import Path

import pytest

from app.bridges.network.dialling import Dialler, why_not_dialled
from app.bridges.network.exchange import Refusal
from app.bridges.network.resolving import SystemResolver
from app.bridges.processes.process import ChildProcesses
from app.cages.address_vetting import Address
from tests.bridges.conftest import ENVIRONMENT, descriptors, until
from tests.bridges.network.conftest import Host, Names, echo, vet

pytestmark = pytest.mark.requirement("cages.net.vetted")


async def test_a_name_is_resolved_once_and_the_vetted_address_is_dialled(host: Host) -> None:
    names = Names({"api.test": ["127.0.0.1"]})

    class Rebinding:
        """Answers with the good address once, then with one of the machine's own."""

        async def __call__(self, name: str) -> list[Address]:
            found = await names(name)
            names.table["api.test"] = [ip_address("127.0.0.2")]
            return found

    async with echo("127.0.0.2", host.port) as inner:
        dialler = Dialler(resolve=Rebinding(), vet=vet)
        dialled = await dialler.dial("api.test", host.port)
        with dialled.socket:
            assert dialled.socket.getpeername() == ("127.0.0.1", host.port)
            assert dialled.socket.getblocking() is False
            assert dialled.socket.get_inheritable() is False
        assert names.asked == ["api.test"]
        with pytest.raises(Refusal) as refused:
            await dialler.dial("api.test", host.port)
        assert refused.value.kind == "not_public"
        assert inner.connections == 0


async def test_of_mixed_answers_only_vetted_addresses_are_tried(host: Host) -> None:
    async with echo("127.0.0.2", host.port) as inner:
        names = Names({"mixed.test": ["127.0.0.2", "::1", "169.254.169.254", "127.0.0.1"]})
        dialled = await Dialler(resolve=names, vet=vet).dial("mixed.test", host.port)
        dialled.socket.close()
        assert dialled.address == ip_address("127.0.0.1")
        assert inner.connections == 0


@pytest.mark.parametrize(
    "addresses",
    [[], ["127.0.0.2"], ["::ffff:127.0.0.1"], ["64:ff9b::7f00:1"], ["10.0.0.1", "fe80::1"], ["0.0.0.0"]],
)
async def test_without_one_good_address_nothing_is_dialled(addresses: list[str]) -> None:
    with pytest.raises(Refusal) as refused:
        await Dialler(resolve=Names({"a.test": addresses}), vet=vet).dial("a.test", 80)
    assert refused.value.kind == "not_public"


def own_addresses() -> list[str]:
    """Return this machine's addresses, as the kernel lists them."""
    found = {"127.0.0.1"}
    with open("/proc/net/fib_trie") as table:
        lines = table.read().splitlines()
    for number, line in enumerate(lines):
        if "/32 host LOCAL" in line:
            found.add(lines[number - 1].split()[-1])
    return sorted(found)


async def test_this_machine_is_not_reached_by_its_own_addresses_either(host: Host) -> None:
    assert why_not_dialled(ip_address("127.0.0.1")) == "this machine"
    for address in own_addresses():
        assert why_not_dialled(ip_address(address))
        with pytest.raises(Refusal):
            await Dialler(resolve=Names({"me.test": [address]})).dial("me.test", host.port)
    assert host.connections == 0


async def test_a_public_address_of_this_machine_is_its_own(children: ChildProcesses) -> None:
    """Shown in a network of its own, where the loopback bears an address of somebody on the internet."""
    program = (
        "import ipaddress, subprocess, sys; sys.path.insert(0, '.')\n"
        "from app.bridges.network.dialling import why_not_dialled as why\n"
        "a, b = ipaddress.ip_address('1.1.1.1'), ipaddress.ip_address('1.1.1.2')\n"
        "print(why(a), why(b))\n"
        "import fcntl, socket, struct\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "def ask(number, name, rest): fcntl.ioctl(s, number, struct.pack('16s16s', name, rest))\n"
        "ask(0x8914, b'lo', struct.pack('h', 0x41))\n"
        "ask(0x8916, b'lo:1', struct.pack('HH4s8x', 2, 0, a.packed))\n"
        "print(why(a), why(b))\n"
    )
    finished = await children.run(
        ["/usr/bin/unshare", "--user", "--map-root-user", "--net", sys.executable, "-c", program],
        owner="test",
        cwd=Path(__file__).parents[3],
        env=ENVIRONMENT,
        seconds=60,
        max_output=10_000,
    )
    assert finished.stdout.decode().split("\n") == ["None None", "this machine None", ""], finished.stderr


async def test_an_address_that_does_not_answer_is_not_waited_for(host: Host) -> None:
    silent = socket.socket()
    try:
        # Its queue is full: whoever connects waits.
        silent.bind(("127.0.0.3", host.port))
        silent.listen(0)
        fill = [socket.socket() for _ in range(3)]
        for one in fill:
            one.setblocking(False)
            one.connect_ex(("127.0.0.3", host.port))
        names = Names({"slow.test": ["127.0.0.3", "127.0.0.1"]})
        before = descriptors().keys()
        async with asyncio.timeout(60):
            dialled = await Dialler(resolve=names, vet=lambda _: None).dial("slow.test", host.port)
        assert dialled.address == ip_address("127.0.0.1")
        await until(lambda: host.connections == 1)
        assert len(descriptors().keys() - before) == 2  # the host's end and ours; none that was tried
        dialled.socket.close()
        for one in fill:
            one.close()
    finally:
        silent.close()


async def test_the_systems_resolver_takes_the_name_as_it_is() -> None:
    with pytest.raises(Refusal) as refused:
        async with asyncio.timeout(60):
            await SystemResolver()("does-not-exist.invalid")
    assert refused.value.kind == "unresolvable"


@pytest.mark.requirement("security.strict_http")
async def test_a_name_of_the_operators_table_of_hosts_is_found_there_and_vetted(
    host: Host, tmp_path: Path
) -> None:
    table = tmp_path / "hosts"
    table.write_text(
        "127.0.0.1 inner.test\n# 127.0.0.2 inner.test\n127.0.0.2  Outer.Test other.test # 127.0.0.9\n"
        "no-address outer.test\n10.1.2.3 private.test\n"
    )
    resolve = SystemResolver(hosts_file=table)
    assert await resolve("outer.test") == [ip_address("127.0.0.2")]
    dialled = await Dialler(resolve=resolve, vet=vet).dial("inner.test", host.port)
    with dialled.socket:
        assert dialled.address == ip_address("127.0.0.1")
    for name in ("inner.test", "private.test"):
        with pytest.raises(Refusal) as refused:
            await Dialler(resolve=resolve).dial(name, host.port)
        assert refused.value.kind == "not_public"
