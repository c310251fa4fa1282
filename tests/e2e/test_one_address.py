"""Three daemons behind one address, with the files of `examples/proxy` and a real nginx and a real Caddy."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
import pytest_asyncio
from websockets.asyncio.client import connect

from tests.driver.browser import (
    WAIT_MS,
    Complaints,
    new_session,
    running_browser,
    send,
    until_ready,
    until_state,
)
from tests.driver.daemon_process import OPEN_SECONDS, DaemonProcess, write_config
from tests.driver.machine import need
from tests.driver.reverse_proxies import NAME, Backend, ReverseProxy, running_proxy
from tests.driver.sessions import write_project
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider
from tests.fakes.sign_in_service import USER, sign_in_service

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.requirement("deployment.base_path", "deployment.one_address"),
]

SITE = f"https://{NAME}"
PROJECTS = ("shop", "tools", "site")
BOTH = pytest.mark.parametrize("which", ["nginx", "caddy"])


def nonce_of(name: str) -> str:
    return f"the-nonce-of-{name}"


def port_of(daemon: DaemonProcess) -> int:
    found = re.search(r":(\d+)/", daemon.url)
    assert found is not None
    return int(found[1])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as fake:
        yield fake


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def daemons(
    tmp_path_factory: pytest.TempPathFactory, model: FakeProvider
) -> AsyncIterator[dict[str, DaemonProcess]]:
    """The three daemons with the settings of docs/operations.md, each with a project of its own."""
    running: dict[str, DaemonProcess] = {}
    async with AsyncExitStack() as stack:
        for name in PROJECTS:
            folder = tmp_path_factory.mktemp(name)
            config = write_config(folder / "config.toml", model.port)
            config.write_text(
                f'{config.read_text()}[daemon]\nbase_path = "/{name}"\n\n[auth]\nmode = "proxy"\n'
                f'proxy_nonce = "{nonce_of(name)}"\nallowed_hosts = ["{NAME}"]\n'
                f'allowed_origins = ["{SITE}"]\n'
            )
            root = write_project(folder / "project")
            running[name] = await DaemonProcess.start(folder / "data", config, root)
            stack.push_async_callback(running[name].stop)
        yield running


@asynccontextmanager
async def proxied(which: str, folder: Path, daemons: dict[str, DaemonProcess]) -> AsyncIterator[ReverseProxy]:
    need(which)
    backends = {name: Backend(port_of(one), nonce_of(name)) for name, one in daemons.items()}
    with sign_in_service() as service:
        async with running_proxy(which, folder / which, backends, service) as proxy:
            yield proxy


class Visitor:
    """A client of the site, with cookies."""

    def __init__(self, proxy: ReverseProxy) -> None:
        self.proxy = proxy
        self.encryption = ssl.create_default_context(cafile=str(proxy.certificate))
        self.http = httpx2.AsyncClient(
            base_url=f"https://127.0.0.1:{proxy.port}",
            headers={"host": NAME},
            verify=self.encryption,
            trust_env=False,
            timeout=OPEN_SECONDS,
        )

    async def __aenter__(self) -> Visitor:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()

    async def ask(self, path: str, method: str = "GET", **options: Any) -> httpx2.Response:
        return await self.http.request(method, path, extensions={"sni_hostname": NAME}, **options)

    async def sign_in(self) -> httpx2.Response:
        """Open the page of the shop as a browser does, and follow to where it leads."""
        options = {"headers": {"accept": "text/html"}, "follow_redirects": True}
        return await self.ask("/shop/", **options)

    def websocket(self, path: str, origin: str = SITE) -> connect:
        cookies = "; ".join(f"{one.name}={one.value}" for one in self.http.cookies.jar)
        return connect(
            f"wss://{NAME}{path}",
            host="127.0.0.1",
            port=self.proxy.port,
            ssl=self.encryption,
            additional_headers={"Cookie": cookies},
            origin=origin,  # type: ignore[arg-type]
            proxy=None,
            open_timeout=OPEN_SECONDS,
        )

    async def raw(self, path: str, *headers: str) -> str:
        """Return the whole answer for a path that is sent as it is."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.proxy.port, ssl=self.encryption, server_hostname=NAME
        )
        lines = (f"GET {path} HTTP/1.1", f"Host: {NAME}", "Connection: close", *headers, "", "")
        writer.write("\r\n".join(lines).encode())
        answer = await reader.read()
        writer.close()
        return answer.decode()


@BOTH
async def test_nothing_is_reached_without_the_sign_in(
    which: str, tmp_path: Path, daemons: dict[str, DaemonProcess]
) -> None:
    async with proxied(which, tmp_path, daemons) as proxy, Visitor(proxy) as visitor:
        for path in ("/shop/", "/shop/api/v1/projects", "/tools/docs", "/site/healthz"):
            assert (await visitor.ask(path)).status_code == 401, path
        person = await visitor.ask("/tools/", headers={"accept": "text/html"})
        assert (person.status_code, person.headers["location"]) == (302, "/oauth2/start?rd=/tools/")
        forged = {
            "X-Kaged-User-Id": "eve@example.org",
            "X-Auth-Request-Email": "eve@example.org",
            "X-Kaged-Auth-Nonce": nonce_of("shop"),
        }
        assert (await visitor.ask("/shop/api/v1/projects", headers=forged)).status_code == 401
        forged["Authorization"] = "Bearer kgd_wrong"
        refused = await visitor.ask("/shop/api/v1/projects", headers=forged)
        assert refused.json()["error"]["details"]["reason"] == "token_unknown"
        for path in ("/", "/shopping/", "/api/v1/projects"):
            assert (await visitor.ask(path)).status_code == 404, path


@BOTH
async def test_one_sign_in_opens_all_three(
    which: str, tmp_path: Path, daemons: dict[str, DaemonProcess]
) -> None:
    async with proxied(which, tmp_path, daemons) as proxy, Visitor(proxy) as visitor:
        opened = await visitor.sign_in()
        assert opened.url.path == "/shop/"
        for name, daemon in daemons.items():
            page = await visitor.ask(f"/{name}/", headers={"x-kaged-user-id": "eve@example.org"})
            assert f'data-actor="{USER}"' in page.text
            assert f'data-base-path="/{name}"' in page.text
            body = {"json": {"project_id": daemon.project_id}}
            made = await visitor.ask(f"/{name}/api/v1/sessions", "POST", headers={"origin": SITE}, **body)
            assert made.status_code == 201, made.text
            foreign = await visitor.ask(
                f"/{name}/api/v1/sessions", "POST", headers={"origin": "https://evil.example"}, **body
            )
            assert foreign.json()["error"]["details"]["reason"] == "origin_not_allowed"
            path = f"/{name}/api/v1/sessions/{made.json()['id']}/ws?after_seq=0"
            async with visitor.websocket(path) as socket:
                assert orjson.loads(await socket.recv())["type"] == "sync"
        bare = await visitor.ask("/tools")
        assert bare.headers["location"] == "/tools/"


@BOTH
async def test_a_token_is_good_for_its_daemon_and_no_path_leads_to_another(
    which: str, tmp_path: Path, daemons: dict[str, DaemonProcess]
) -> None:
    async with proxied(which, tmp_path, daemons) as proxy, Visitor(proxy) as visitor:
        bearer = {"authorization": f"Bearer {daemons['shop'].token}"}
        own = await visitor.ask("/shop/api/v1/projects", headers=bearer)
        assert [one["id"] for one in own.json()["items"]] == [daemons["shop"].project_id]
        other = await visitor.ask("/tools/api/v1/projects", headers=bearer)
        assert other.json()["error"]["details"]["reason"] == "token_unknown"
        sent = f"Authorization: Bearer {daemons['shop'].token}"
        for path in (
            "/tools/../shop/api/v1/projects",
            "/shop/..%2ftools/api/v1/projects",
            "/shop//../tools/docs",
        ):
            answer = await visitor.raw(path, sent)
            assert answer.startswith("HTTP/1.1 4"), answer


@BOTH
async def test_the_page_works_below_each_prefix(
    which: str, tmp_path: Path, daemons: dict[str, DaemonProcess], model: FakeProvider
) -> None:
    async with (
        proxied(which, tmp_path, daemons) as proxy,
        running_browser(f"--host-resolver-rules=MAP {NAME}:443 127.0.0.1:{proxy.port}") as browser,
    ):
        context = await browser.new_context(ignore_https_errors=True)
        context.set_default_timeout(WAIT_MS)
        page = await context.new_page()
        complaints = Complaints.of(page, SITE)
        for name in ("shop", "tools"):
            model.script(text_reply(f"It is about {name}."))
            await page.goto(f"{SITE}/{name}/")
            await until_ready(page)
            session = await new_session(page)
            await send(page, "What is it?")
            await page.get_by_text(f"It is about {name}.").wait_for()
            await until_state(page, "idle")
            assert page.url == f"{SITE}/{name}/#{session}"
        await page.reload()
        await page.wait_for_selector("#conversation .answer")
        assert USER in await page.inner_text("#version")
        # A browser lets no worker be from a host whose certificate it does not know.
        found = [said for said in complaints.found if "fetching the script" not in said]
        assert found == []
        await context.close()
