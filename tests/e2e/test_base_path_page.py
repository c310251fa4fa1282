"""Launch links, cookies and the reference where two daemons share a host and a port; one is below `/shop`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Page

from tests.driver.browser import WAIT_MS, Complaints, new_session, running_browser, until_ready
from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.machine import find_nginx
from tests.driver.ports import steady_port
from tests.driver.reverse_proxies import until_listening
from tests.driver.sessions import write_project

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.needs("nginx", "chromium"),
    pytest.mark.requirement("deployment.base_path"),
]

CONF = """\
daemon off;
pid nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    map $http_upgrade $kaged_connection {{ default upgrade; '' close; }}
    server {{
        listen 127.0.0.1:{port};
        proxy_http_version 1.1;
        proxy_set_header Host $http_host;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $kaged_connection;
        location / {{ proxy_pass {root}; }}
        location /shop/ {{ proxy_pass {shop}; }}
        location /taken-off/ {{ proxy_pass {root}/; }}
    }}
}}
"""


@dataclass
class Host:
    """nginx before two daemons: one below `/shop`, one at the root, also where nginx takes a prefix off."""

    url: str
    root: DaemonProcess
    shop: DaemonProcess

    async def link(self, daemon: DaemonProcess, prefix: str = "") -> str:
        """Return a launch link of a daemon at the address of the host."""
        link = await daemon.launch_link()
        return self.url + prefix + link.removeprefix(daemon.url.removesuffix("/shop"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Host]:
    started: list[DaemonProcess] = []
    for base_path in ("", "/shop"):
        folder = tmp_path_factory.mktemp("daemon")
        config = write_config(folder / "config.toml", 9)
        config.write_text(f'{config.read_text()}[daemon]\nbase_path = "{base_path}"\n')
        root = write_project(folder / "project")
        started.append(await DaemonProcess.start(folder / "data", config, root))
    root_daemon, shop = started
    folder, port = tmp_path_factory.mktemp("nginx"), steady_port()
    addresses = {"root": root_daemon.url, "shop": shop.url.removesuffix("/shop")}
    (folder / "nginx.conf").write_text(CONF.format(port=port, **addresses))
    with (folder / "log").open("wb") as log:
        command = (str(find_nginx()), "-p", str(folder), "-c", "nginx.conf")
        nginx = await asyncio.create_subprocess_exec(*command, stderr=log)
    try:
        await until_listening(port, nginx, folder / "log")
        yield Host(f"http://127.0.0.1:{port}", root_daemon, shop)
    finally:
        nginx.terminate()
        await nginx.wait()
        for daemon in started:
            await daemon.stop()


@pytest_asyncio.fixture(loop_scope="module")
async def context() -> AsyncIterator[BrowserContext]:
    async with running_browser() as browser:
        made = await browser.new_context()
        made.set_default_timeout(WAIT_MS)
        yield made
        await made.close()


async def signed_in(page: Page) -> None:
    await until_ready(page)


async def test_two_daemons_on_one_host_keep_their_sign_ins_apart(host: Host, context: BrowserContext) -> None:
    pages, complaints = [], []
    for daemon in (host.root, host.shop):
        page = await context.new_page()
        complaints.append(Complaints.of(page, host.url))
        await page.goto(await host.link(daemon))
        await signed_in(page)
        pages.append(page)
    assert [page.url for page in pages] == [f"{host.url}/", f"{host.url}/shop/"]
    # Each is still signed in after the other was, and its writes have the right CSRF header.
    for page, found in zip(pages, complaints, strict=True):
        await page.reload()
        await signed_in(page)
        assert (await new_session(page)).startswith("ses_")
        assert found.found == []
    port = host.url.rpartition(":")[2]
    cookies = {(one.get("name"), one.get("path")) for one in await context.cookies()}
    assert cookies == {
        *((f"kaged_{kind}_{port}", "/") for kind in ("session", "csrf")),
        *((f"kaged_{kind}_{port}~shop", "/shop") for kind in ("session", "csrf")),
    }


async def test_a_browser_that_is_signed_in_at_the_root_is_not_below_the_prefix(
    host: Host, context: BrowserContext
) -> None:
    page = await context.new_page()
    await page.goto(await host.link(host.root))
    await signed_in(page)
    answer = await page.goto(f"{host.url}/shop/")
    assert answer is not None
    assert answer.status == 401
    assert "This browser is not signed in" in await page.inner_text("main")
    assert await page.evaluate("getComputedStyle(document.querySelector('main')).maxWidth") != "none"


async def test_the_reference_below_a_prefix_shows_addresses_with_it(
    host: Host, context: BrowserContext
) -> None:
    page = await context.new_page()
    complaints = Complaints.of(page, host.url)
    await page.goto(f"{host.url}/shop/docs#list_sessions")
    await page.wait_for_selector("#operations:not([aria-busy])")
    assert f'"{host.url}/shop/api/v1/sessions"' in await page.inner_text("#list_sessions")
    assert await page.get_attribute("header a >> nth=0", "href") == "api/v1/openapi.json"
    assert complaints.found == []


async def test_the_page_says_that_a_proxy_takes_a_prefix_off(host: Host, context: BrowserContext) -> None:
    page = await context.new_page()
    await page.goto(await host.link(host.root, prefix="/taken-off"))
    notice = await page.inner_text("#notices .notice")
    assert page.url == f"{host.url}/taken-off/"
    assert f'has the address {host.url}/taken-off/, but daemon.base_path is ""' in notice
    assert 'Set daemon.base_path to "/taken-off"' in notice
