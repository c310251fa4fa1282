"""Programs that know nothing of the proxy but its variables."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.bridges.network.proxy import CageProxy, proxy_variables
from app.bridges.processes.child import Finished
from app.bridges.processes.process import ChildProcesses
from app.cages.network_rules import NetworkRules
from tests.bridges.conftest import ENVIRONMENT, descriptors, until
from tests.bridges.network.conftest import Host, Running, echo, running
from tests.bridges.network.test_proxy_http import connect

pytestmark = pytest.mark.requirement("cages.net.proxy")

PYTHON = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=20).read().decode())"


@pytest.fixture
async def web() -> AsyncIterator[Host]:
    """A host that answers any request with `here`."""
    found = Host(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.connections += 1
        found.heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nhere")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    yield found
    server.close()
    await server.wait_closed()


async def ran(cage: Running, children: ChildProcesses, *argv: str) -> Finished:
    return await children.run(
        argv,
        owner="test",
        cwd=Path("/"),
        env={**ENVIRONMENT, **proxy_variables(cage.port)},
        seconds=60,
        max_output=100_000,
    )


@pytest.mark.parametrize(
    "options",
    [[], ["--proxytunnel"], ["--noproxy", "", "--proxy", "socks5h://127.0.0.1:{port}"]],
    ids=["address", "tunnel", "socks"],
)
async def test_curl_reaches_an_allowed_host_and_no_other(
    children: ChildProcesses, web: Host, options: list[str]
) -> None:
    table = {"api.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}
    async with running([f"api.test:{web.port}"], table) as cage:
        argv = ["curl", "-sS", *(one.replace("{port}", str(cage.port)) for one in options)]
        finished = await ran(cage, children, *argv, f"http://api.test:{web.port}/x")
        assert (finished.stdout, finished.exit_code) == (b"here", 0), finished.stderr
        refused = await ran(cage, children, *argv, f"http://other.test:{web.port}/x")
        assert b"here" not in refused.stdout
        assert web.connections == 1
        assert [one["reason"] for one in cage.events("cage.connection_refused")] == ["not_allowed"]


async def test_python_reaches_an_allowed_host_and_no_other(children: ChildProcesses, web: Host) -> None:
    table = {"api.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}
    async with running([f"api.test:{web.port}"], table) as cage:
        good = await ran(cage, children, sys.executable, "-c", PYTHON, f"http://api.test:{web.port}/x")
        assert good.stdout == b"here\n", good.stderr
        bad = await ran(cage, children, sys.executable, "-c", PYTHON, f"https://other.test:{web.port}/x")
        assert b"403 Host Not Allowed By This Cage" in bad.stderr
        assert web.connections == 1


async def test_the_cages_own_loopback_is_not_asked_of_the_proxy(children: ChildProcesses, web: Host) -> None:
    async with running([], {}) as cage:
        finished = await ran(cage, children, "curl", "-sS", f"http://127.0.0.1:{web.port}/")
        assert finished.stdout == b"here"
        assert cage.told == []


async def test_the_end_of_the_proxy_ends_every_connection_and_leaves_nothing() -> None:
    before = descriptors().keys()
    async with echo() as host:
        async with running(["api.test"], {"api.test": ["127.0.0.1"]}) as cage:
            reader, writer = await asyncio.open_connection("127.0.0.1", cage.port)
            writer.write(connect(f"api.test:{host.port}"))
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            half, half_writer = await asyncio.open_connection("127.0.0.1", cage.port)
            half_writer.write(b"CONN")
            await until(lambda: host.connections == 1)
        async with asyncio.timeout(60):
            for one in (reader, half):
                with contextlib.suppress(ConnectionResetError):
                    assert await one.read() in (b"\r\n", b"")
        writer.close()
        half_writer.close()
    await until(lambda: descriptors().keys() <= before)


def test_a_socket_that_is_no_listening_tcp_socket_is_refused() -> None:
    with (
        socket.socket() as silent,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        socket.socket(socket.AF_UNIX) as local,
    ):
        for made in (silent, datagrams, local):
            with pytest.raises(ValueError, match="needs a"):
                CageProxy(made, NetworkRules())
