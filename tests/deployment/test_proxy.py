"""The proxy of the compose file: a real Caddy that encrypts, before a real daemon."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import orjson
import pytest
from websockets.asyncio.client import connect

from tests.deployment.examples import DOCKER
from tests.driver.kaged import WAIT_SECONDS, DaemonProcess, Home
from tests.driver.machine import find_deployment_tool
from tests.driver.ports import steady_port

pytestmark = [pytest.mark.requirement("deployment.proxy"), pytest.mark.needs("caddy")]

UPSTREAM = re.compile(r"dynamic multi \{.*?\n\t\t\}", re.DOTALL)
"""Which the network of compose resolves."""
HERE = """\
{{
	admin off
	skip_install_trust
	auto_https disable_redirects
	https_port {port}
	storage file_system {folder}/storage
}}
"""


@dataclass
class Site:
    """The site that Caddy serves, and the daemon behind it."""

    origin: str
    daemon: DaemonProcess
    certificate: Path

    @property
    def encryption(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(base_url=self.origin, verify=self.encryption, trust_env=False, timeout=60)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    program = find_deployment_tool("caddy")
    assert program is not None
    port = steady_port()
    origin = f"https://localhost:{port}"
    home = Home(tmp_path / "home")
    names = f'allowed_hosts = ["localhost"]\nallowed_origins = ["{origin}"]\n'
    home.config.write_text(f"{home.config.read_text()}[auth]\n{names}")
    with DaemonProcess(home).start() as daemon:
        upstream = f"to {daemon.ready['url'].removeprefix('http://')}"
        text, count = UPSTREAM.subn(upstream, (DOCKER / "Caddyfile").read_text("utf-8"))
        assert count == 1
        file = tmp_path / "Caddyfile"
        file.write_text(HERE.format(port=port, folder=tmp_path) + text)
        with running(program, file, tmp_path) as caddy:
            certificate = tmp_path / "storage" / "pki" / "authorities" / "local" / "root.crt"
            async with asyncio.timeout(WAIT_SECONDS):
                while not await answers(port):
                    assert caddy.poll() is None, (tmp_path / "log").read_text()
                    await asyncio.sleep(0.05)
            yield Site(origin, daemon, certificate)


@contextmanager
def running(program: str, file: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run Caddy, which says on its log what is wrong."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "SITE": "localhost"}
    with (folder / "log").open("wb") as log:
        caddy = subprocess.Popen(
            [program, "run", "--adapter", "caddyfile", "--config", file], env=environment, stderr=log
        )
    try:
        yield caddy
    finally:
        caddy.terminate()
        caddy.wait()


async def answers(port: int) -> bool:
    """Tell whether the proxy has a certificate for its site and shows it."""
    try:
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        _, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=trusting, server_hostname="localhost"
        )
    except OSError:
        return False
    writer.close()
    return True


async def test_a_browser_signs_in_and_its_cookies_go_over_tls_only(site: Site) -> None:
    code = site.daemon.ready["launch_url"].partition("token=")[2]
    async with site.client() as browser:
        signed = await browser.get("/launch", params={"token": code}, headers={"accept": "text/html"})
        cookies = signed.headers.get_list("set-cookie")
        assert signed.status_code == 303, signed.text
        assert cookies and all(cookie.endswith("; Secure") for cookie in cookies)
        assert (await browser.get("/api/v1/projects")).status_code == 200
        cookie = "; ".join(f"{one.name}={one.value}" for one in browser.cookies.jar)
        async with connect(
            f"{site.origin.replace('https', 'wss')}/api/v1/ws",
            ssl=site.encryption,
            origin=site.origin,  # type: ignore[arg-type]
            additional_headers={"cookie": cookie},
            proxy=None,
            open_timeout=WAIT_SECONDS,
        ) as websocket:
            await websocket.send('{"type": "ping"}')
            async with asyncio.timeout(WAIT_SECONDS):
                while orjson.loads(await websocket.recv())["type"] != "pong":
                    pass


def test_the_proxy_asks_both_daemons_of_the_compose_file() -> None:
    program = find_deployment_tool("caddy")
    assert program is not None
    adapted = subprocess.run(
        [program, "adapt", "--adapter", "caddyfile", "--config", DOCKER / "Caddyfile"],
        capture_output=True,
        timeout=60,
        check=True,
    )
    [found] = re.findall(rb'"dynamic_upstreams":(\{.*?\]\})', adapted.stdout)
    assert [(one["name"], one["port"]) for one in orjson.loads(found)["sources"]] == [
        ("kaged", "7777"),
        ("kaged-2", "7777"),
    ]


async def test_the_proxy_gives_every_request_an_id(site: Site) -> None:
    async with site.client() as browser:
        first = await browser.get("/api/v1/projects")
        second = await browser.get("/api/v1/projects", headers={"x-request-id": "mine"})
    ids = [answer.json()["error"]["request_id"] for answer in (first, second)]
    assert [answer.headers["x-request-id"] for answer in (first, second)] == ids
    assert len(set(ids)) == 2
    assert all(len(one) == 36 and not one.startswith("req_") for one in ids), "as Caddy makes them"
