"""The reference of the interface at `/docs`, in a real Chromium that is not signed in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import WAIT_MS, Complaints
from tests.driver.daemon_process import DaemonProcess
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]

# Each control with a name, each group with one, each id once: what a screen reader goes by.
UNNAMED = """() => {
    const named = one => one.innerText?.trim() || one.getAttribute("aria-label") || one.labels?.length
        || document.getElementById(one.getAttribute("aria-labelledby") ?? "");
    const all = [...document.querySelectorAll("a, button, input, nav, section, summary, [role=group]")];
    const ids = [...document.querySelectorAll("[id]")].map(one => one.id);
    return [
        ...all.filter(one => one.checkVisibility() && !named(one)).map(one => one.outerHTML.slice(0, 100)),
        ...ids.filter((id, place) => ids.indexOf(id) !== place),
    ];
}"""
WIDER = "document.documentElement.scrollWidth - innerWidth"


@asynccontextmanager
async def reference(
    browser: Browser, daemon: DaemonProcess, *, width: int = 1280, at: str = "", dark: bool = False
) -> AsyncIterator[tuple[Page, Complaints]]:
    context = await browser.new_context(
        viewport={"width": width, "height": 844}, color_scheme="dark" if dark else "light"
    )
    try:
        context.set_default_timeout(WAIT_MS)
        page = await context.new_page()
        complaints = Complaints(urlsplit(daemon.url).netloc)
        page.on("console", complaints.of_console)
        page.on("pageerror", complaints.of_page)
        page.on("request", complaints.of_request)
        await page.goto(f"{daemon.url}/docs{at}")
        await page.wait_for_selector("#operations:not([aria-busy])")
        yield page, complaints
    finally:
        await context.close()


@pytest.mark.parametrize("width", [390, 1280])
async def test_every_operation_is_shown_and_nothing_is_too_wide(
    demo: Demo, browser: Browser, width: int
) -> None:
    daemon = await demo.start()
    async with httpx2.AsyncClient(timeout=60) as nobody:
        document = (await nobody.get(f"{daemon.url}/api/v1/openapi.json")).json()
    ids = {operation["operationId"] for path in document["paths"].values() for operation in path.values()}
    async with reference(browser, daemon, width=width, dark=width == 390) as (page, complaints):
        shown = await page.locator(".operation").evaluate_all("all => all.map(one => one.id)")
        assert set(shown) == ids
        assert len(shown) == len(ids)
        await page.evaluate("document.querySelectorAll('.operation').forEach(one => { one.open = true; })")
        await expect(page.locator(".operation > div")).to_have_count(len(ids))
        await page.evaluate(
            "document.querySelectorAll('.operation details').forEach(one => { one.open = true; })"
        )
        await page.wait_for_selector(".fields .fields")
        assert await page.evaluate(WIDER) <= 0
        assert await page.evaluate(UNNAMED) == []
        assert complaints.found == []


async def test_an_address_opens_its_operation_with_an_example_and_a_call(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with reference(browser, daemon, at="#create_session") as (page, complaints):
        opened = page.locator(".operation[open]")
        await opened.locator("pre").first.wait_for()
        assert await opened.evaluate_all("all => all.map(one => one.id)") == ["create_session"]
        call = await page.get_by_label("curl for create_session").inner_text()
        assert call.startswith(f'curl -s -X POST "{daemon.url}/api/v1/sessions"')
        assert "Authorization: Bearer $TOKEN" in call
        assert '"project_id"' in call
        assert (
            '"id": "ses_'
            in await page.get_by_label("Example of the answer 201 of create_session").inner_text()
        )
        assert complaints.found == []


async def test_a_search_by_keyboard_finds_an_operation(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with reference(browser, daemon) as (page, complaints):
        await page.get_by_label("Search operations").fill("fork session")
        assert await page.inner_text("#found") == "1 operation"
        assert await page.locator("main > section:visible").count() == 1
        await page.locator("#fork_session summary").first.focus()
        await page.keyboard.press("Enter")
        await page.locator("#fork_session pre").first.wait_for()
        await page.get_by_label("Search operations").fill("no such thing")
        assert await page.inner_text("#found") == "0 operations"
        assert complaints.found == []
