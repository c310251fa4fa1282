"""The way out of a real cage: what runs in it reaches an allowed host, and nothing else."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.bridges.network.dialling import Dialler
from app.bridges.processes.child import Finished
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.egress import Outside
from app.bridges.sandbox.manager import Cages
from tests.bridges.conftest import descriptors, until
from tests.bridges.network.conftest import Host, Names, vet
from tests.driver.caging import FULL, INSIDE, cage_of
from tests.driver.machine import need_tier

pytestmark = pytest.mark.requirement("cages.net.proxy")

TABLE = {"api.test": ["127.0.0.1"], "other.test": ["127.0.0.1"], "inner.wide.test": ["127.0.0.2"]}
ABOUT = {"project_id": "prj_1", "session_id": "ses_1", "agent_path": "primary"}


class Way:
    """One cage with a way out, and what the audit is told of it."""

    def __init__(self, cages: Cages, starter: ChildStarter, root: Path) -> None:
        self.cages, self.starter, self.root = cages, starter, root
        self.told: list[tuple[str, str, dict[str, Any]]] = []

    async def run(self, *argv: str) -> Finished:
        return await self.starter.run(
            argv, owner="test", cwd=self.root, env=INSIDE, seconds=60, max_output=100_000
        )

    async def says(self, script: str) -> str:
        done = await self.run("/bin/sh", "-c", script)
        return (done.stdout + done.stderr).decode()

    def events(self, name: str) -> list[dict[str, Any]]:
        return [data for event, _, data in self.told if event == name]


@asynccontextmanager
async def way(children: ChildProcesses, root: Path, *net: str, **fields: Any) -> AsyncIterator[Way]:
    told: list[tuple[str, str, dict[str, Any]]] = []
    outside = Outside(
        dialler=lambda: Dialler(resolve=Names(TABLE), vet=vet),
        record=lambda event, project, data: told.append((event, project, data)),
    )
    need_tier(FULL)
    cages = Cages(children, FULL, outside=outside)
    try:
        starter = await cages.children("test", cage_of(root, net=net, **fields), root, about=ABOUT)
        made = Way(cages, starter, root)
        made.told = told
        yield made
    finally:
        await cages.aclose()


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


PY = f"{sys.base_prefix}/bin/python3"
"""The interpreter that every cage shows."""
PYTHON = (
    "import sys, urllib.request as r\nprint(r.urlopen(sys.argv[1], timeout=20).read().decode(), end='')\n"
)


async def test_a_caged_curl_reaches_an_allowed_host_and_nothing_else(
    children: ChildProcesses, tmp_path: Path, web: Host
) -> None:
    async with way(children, tmp_path, f"api.test:{web.port}", "*.wide.test") as cage:
        port = web.port
        assert await cage.says(f"curl -sS http://api.test:{port}/a") == "here"
        assert await cage.says(f"curl -sSp http://api.test:{port}/b") == "here"
        assert (
            await cage.says(f"curl -sS --proxy socks5h://127.0.0.1:17777 http://api.test:{port}/c") == "here"
        )
        assert web.connections == 3
        for script in (
            f"curl -sS http://other.test:{port}/",
            f"curl -sSp http://other.test:{port}/",
            f"curl -sS http://inner.wide.test:{port}/",
            f"curl -sS --noproxy '' http://127.0.0.1:{port}/",
            f"curl -sS --noproxy '*' http://127.0.0.1:{port}/",
            f"curl -sS --noproxy '*' --connect-timeout 5 http://api.test:{port}/",
            f"curl -sS --noproxy '' --proxy socks5://127.0.0.1:17777 http://127.0.0.1:{port}/",
        ):
            assert "here" not in await cage.says(script), script
        assert web.connections == 3
    reasons = {(one["host"], one["reason"]) for one in cage.events("cage.connection_refused")}
    assert reasons == {
        ("other.test", "not_allowed"),
        ("inner.wide.test", "not_public"),
        ("127.0.0.1", "numeric"),
        ("", "numeric"),
    }
    (reached,) = cage.events("cage.connected")
    assert reached == {
        **ABOUT,
        "host": "api.test",
        "port": web.port,
        "address": "127.0.0.1",
        "protocol": "http",
    }
    (traffic,) = cage.events("cage.traffic")
    assert traffic["hosts"][0]["connections"] == 3
    assert {project for _, project, _ in cage.told} == {"prj_1"}


async def test_a_caged_python_reaches_an_allowed_host_and_nothing_else(
    children: ChildProcesses, tmp_path: Path, web: Host
) -> None:
    (tmp_path / "get.py").write_text(PYTHON)
    async with way(children, tmp_path, f"api.test:{web.port}") as cage:
        assert await cage.says(f"{PY} get.py http://api.test:{web.port}/") == "here"
        assert "403" in await cage.says(f"{PY} get.py https://other.test:{web.port}/")
        assert web.connections == 1


async def test_without_hosts_there_is_no_proxy_and_no_variable(
    children: ChildProcesses, tmp_path: Path, web: Host
) -> None:
    async with way(children, tmp_path, "127.0.0.1:80") as cage:
        assert "proxy" not in (await cage.says("env")).lower()
        said = await cage.says(f"curl -sS --proxy http://127.0.0.1:17777 http://api.test:{web.port}/")
        assert "Connection refused" in said or "connect to" in said
        assert cage.told == []


async def test_the_loopback_of_the_machine_is_not_that_of_the_cage(
    children: ChildProcesses, tmp_path: Path, web: Host
) -> None:
    async with way(children, tmp_path, f"api.test:{web.port}") as cage:
        # Nobody outside sees the proxy, and a server in the cage is the cage's own.
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", 17_777)) != 0
        said = await cage.says(
            f"{PY} -m http.server --bind 127.0.0.1 {web.port} >/dev/null 2>&1 & "
            f"for n in $(seq 100); do curl -sS -o /dev/null http://127.0.0.1:{web.port}/ 2>/dev/null"
            " && echo own && break; sleep 0.1; done; kill %1"
        )
        assert said.startswith("own")
        assert web.connections == 0


async def test_datagrams_and_other_families_lead_nowhere(children: ChildProcesses, tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outer:
        outer.bind(("127.0.0.1", 0))
        outer.setblocking(False)
        (tmp_path / "send.py").write_text(
            "import socket\n"
            f"port = {outer.getsockname()[1]}\n"
            "for host in ('127.0.0.1', '8.8.8.8'):\n"
            "    try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'canary', (host, port))\n"
            "    except OSError as problem: print(problem.errno)\n"
            "try: socket.getaddrinfo('api.test', 80)\n"
            "except OSError: print('no names')\n"
        )
        async with way(children, tmp_path, "api.test") as cage:
            assert await cage.says(f"{PY} send.py") == "101\nno names\n"
        with pytest.raises(BlockingIOError):
            outer.recv(100)


async def test_a_new_holder_has_a_way_out_again_and_the_end_leaves_nothing(
    children: ChildProcesses, tmp_path: Path, web: Host
) -> None:
    async with way(children, tmp_path) as first:
        await first.says("true")  # whatever lasts as long as the daemon is there from now on
    before = descriptors().keys()
    async with way(children, tmp_path, f"api.test:{web.port}") as cage:
        get = f"curl -sS http://api.test:{web.port}/"
        assert await cage.says(get) == "here"
        await cage.says("kill -9 1; kill -9 -1")
        await cage.cages.end("test")
        cage.starter = await cage.cages.children(
            "test", cage_of(tmp_path, net=(f"api.test:{web.port}",)), tmp_path
        )
        assert await cage.says(get) == "here"
        open_one = asyncio.create_task(cage.says("sleep 30"))
        await asyncio.sleep(0)
    await asyncio.gather(open_one, return_exceptions=True)
    await until(lambda: len(descriptors()) <= len(before))
    assert not [task for task in asyncio.all_tasks() if "proxy" in task.get_name()]
