"""A proxy on a loopback socket, hosts that it reaches, and listeners that nobody may reach."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import pytest

from app.bridges.network.dialling import Dialler
from app.bridges.network.exchange import Refusal
from app.bridges.network.proxy import CageProxy, ProxyLimits
from app.cages.address_vetting import Address, why_not_public
from app.cages.network_rules import NetworkRules

REACHED = ip_address("127.0.0.1")
"""The one address of this machine that stands for the open internet in these tests."""


def vet(address: Address) -> str | None:
    return None if address == REACHED else why_not_public(address)


class Names:
    """A resolver with a table; it remembers what it was asked."""

    def __init__(self, table: Mapping[str, list[str]]) -> None:
        self.table = {name: [ip_address(one) for one in addresses] for name, addresses in table.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str) -> list[Address]:
        self.asked.append(host)
        if host not in self.table:
            raise Refusal("unresolvable", f"`{host}` cannot be found")
        return self.table[host]


@dataclass
class Host:
    """A server that says back what it is told, and remembers it."""

    port: int
    heard: list[bytes] = field(default_factory=list)
    connections: int = 0


@asynccontextmanager
async def echo(address: str = "127.0.0.1", port: int = 0, last: bytes = b"") -> AsyncIterator[Host]:
    """`last` ends what it is told; without that it waits for the end of the connection."""
    host = Host(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host.connections += 1
        try:
            while piece := await reader.read(65_536):
                host.heard.append(piece)
                writer.write(piece)
                await writer.drain()
                if last and piece.endswith(last):
                    break
            writer.write_eof()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, address, port)
    host.port = server.sockets[0].getsockname()[1]
    try:
        yield host
    finally:
        server.close()
        await server.wait_closed()


@dataclass
class Running:
    """A proxy and what the audit was told of it."""

    proxy: CageProxy
    names: Names
    told: list[tuple[str, dict[str, Any]]]

    @property
    def port(self) -> int:
        return self.proxy.port

    def events(self, name: str) -> list[dict[str, Any]]:
        return [data for event, data in self.told if event == name]

    async def say(self, *pieces: bytes, half_close: bool = False) -> bytes:
        """Say something to the proxy and return everything it answers until it closes."""
        async with asyncio.timeout(60):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                for piece in pieces:
                    writer.write(piece)
                if half_close:
                    writer.write_eof()
                return await reader.read()
            except ConnectionResetError:
                return b""
            finally:
                writer.close()


@asynccontextmanager
async def running(
    allowed: list[str],
    table: Mapping[str, list[str]],
    *,
    limits: ProxyLimits = ProxyLimits(),  # noqa: B008  (frozen)
) -> AsyncIterator[Running]:
    names = Names(table)
    told: list[tuple[str, dict[str, Any]]] = []
    listener = socket.create_server(("127.0.0.1", 0))
    proxy = CageProxy(
        listener,
        NetworkRules.of(allowed),
        dialler=Dialler(resolve=names, vet=vet),
        emit=lambda event, data: told.append((event, data)),
        limits=limits,
    )
    proxy.start()
    try:
        yield Running(proxy, names, told)
    finally:
        await proxy.aclose()


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    async with echo() as one:
        yield one


@pytest.fixture
async def cage(host: Host) -> AsyncIterator[Running]:
    """A cage that may reach `host` as `api.test` at its port, and everything below `wide.test`."""
    table = {"api.test": ["127.0.0.1"], "a.wide.test": ["127.0.0.1"], "wide.test": ["127.0.0.1"]}
    table |= {"other.test": ["127.0.0.1"], "inside.wide.test": ["127.0.0.2"], "localhost": ["127.0.0.1"]}
    async with running([f"api.test:{host.port}", "*.wide.test"], table) as one:
        yield one
