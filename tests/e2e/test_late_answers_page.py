"""Answers that come late on the page: what has become known meanwhile stays."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.driver.browser import new_session, open_page, send
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]

DRAWN = "new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))"


@dataclass
class Held:
    """The first answer of a route: `here` once the daemon has given it, held until `goes_on`."""

    here: asyncio.Event = field(default_factory=asyncio.Event)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def come(self) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            await self.here.wait()

    async def __call__(self, route: Route) -> None:
        if self.here.is_set() or route.request.method != "GET":
            await route.continue_()
            return
        answer = await route.fetch()
        self.here.set()
        await self.goes_on.wait()
        await route.fulfill(response=answer)


@asynccontextmanager
async def held(page: Page, address: str) -> AsyncIterator[Held]:
    """Hold the next answer of an address that ends so, a pattern, and let it come at the end of the block."""
    first, pattern = Held(), re.compile(address)
    await page.route(pattern, first)
    yield first
    async with page.expect_response(
        lambda one: one.request.method == "GET" and bool(pattern.search(one.url))
    ):
        first.goes_on.set()
    await page.evaluate(DRAWN)


@asynccontextmanager
async def page_and_client(demo: Demo, browser: Browser) -> AsyncIterator[tuple[Page, httpx2.AsyncClient]]:
    """Give a page, and a client that changes what it shows. The page has nothing to complain about."""
    daemon = await demo.start()
    async with (
        open_page(browser, daemon, width=1440, workers="block") as (page, complaints),
        daemon.client() as client,
    ):
        yield page, client
        assert [one for one in complaints.found if "Service Worker" not in one] == []


async def test_what_a_session_became_while_it_was_read_stays(demo: Demo, browser: Browser) -> None:
    async with page_and_client(demo, browser) as (page, client):
        session = await new_session(page)
        async with held(page, f"/sessions/{session}$") as answer:
            # At the end of its run the page reads what it has cost.
            await send(page, "hello")
            await answer.come()
            renamed = await client.patch(f"/sessions/{session}", json={"title": "Fresh bread"})
            assert renamed.status_code == 200
            await expect(page.locator("#title")).to_have_text("Fresh bread")
        await expect(page.locator("#title")).to_have_text("Fresh bread")


async def test_a_session_that_came_while_the_list_was_read_stays(demo: Demo, browser: Browser) -> None:
    async with page_and_client(demo, browser) as (page, client):
        await new_session(page)
        [project] = (await client.get("/projects")).json()["items"]
        async with held(page, "/sessions[?](?!.*asks)") as answer:
            await page.evaluate("dispatchEvent(new Event('focus'))")
            await answer.come()
            made = (await client.post("/sessions", json={"project_id": project["id"]})).json()
            await client.patch(f"/sessions/{made['id']}", json={"title": "Flat bread"})
            row = page.locator(f'.session[data-key="{made["id"]}"]')
            await expect(row).to_contain_text("Flat bread")
        await expect(row).to_contain_text("Flat bread")


async def test_a_session_that_is_renamed_while_it_is_read_the_first_time_has_its_new_title(
    demo: Demo, browser: Browser
) -> None:
    async with page_and_client(demo, browser) as (page, client):
        await new_session(page)
        [project] = (await client.get("/projects")).json()["items"]
        async with held(page, "/sessions/ses_[^/]*$") as answer:
            made = (await client.post("/sessions", json={"project_id": project["id"]})).json()
            await answer.come()
            await client.patch(f"/sessions/{made['id']}", json={"title": "Flat bread"})
            row = page.locator(f'.session[data-key="{made["id"]}"]')
        await expect(row).to_contain_text("Flat bread")


async def test_an_issue_that_came_while_the_list_was_read_stays(demo: Demo, browser: Browser) -> None:
    async with page_and_client(demo, browser) as (page, client):
        [project] = (await client.get("/projects")).json()["items"]
        async with held(page, "/issues[?]") as answer:
            await page.evaluate(f"location.hash = '#issues/{project['id']}'")
            await answer.come()
            filed = await client.post(f"/projects/{project['id']}/issues", json={"title": "Burnt bread"})
            assert filed.status_code == 201, filed.text
            await expect(page.locator("#issues")).to_contain_text("Burnt bread")
        await expect(page.locator("#issues")).to_contain_text("Burnt bread")
