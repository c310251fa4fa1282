"""Lists on the page that are drawn anew: what a person presses, and has put the focus on, stays."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.driver.browser import open_page
from tests.driver.demo_daemon import Demo
from tests.e2e.test_issues_page import entry

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]


@dataclass
class Desk:
    """A page, and a client that changes what it shows."""

    page: Page
    client: httpx2.AsyncClient
    address: str
    project: str

    async def post(self, path: str, body: Any) -> Any:
        answer = await self.client.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    async def file(self, title: str) -> int:
        return int((await self.post(f"/projects/{self.project}/issues", {"title": title}))["number"])

    async def add_entry(self, number: int, content: str) -> None:
        await self.post(
            f"/projects/{self.project}/issues/{number}/todos", {"content": content, "kind": "step"}
        )

    async def session(self, number: int | None = None) -> str:
        """Make a session, bound to an issue when one is given, and return its id."""
        session = str((await self.post("/sessions", {"project_id": self.project}))["id"])
        bound = await self.client.patch(f"/sessions/{session}", json={"issue_number": number})
        assert bound.is_success, bound.text
        return session

    async def open(self, fragment: str) -> None:
        await self.page.goto(f"{self.address}/#{fragment}")

    @asynccontextmanager
    async def held(self, pressed: Locator) -> AsyncIterator[None]:
        """Press the mouse on something, and let go at the end of the block."""
        await pressed.hover()
        await self.page.mouse.down()
        yield
        await self.page.mouse.up()


@pytest_asyncio.fixture(loop_scope="module")
async def desk(demo: Demo, browser: Browser) -> AsyncIterator[Desk]:
    daemon = await demo.start()
    async with (
        open_page(browser, daemon, width=1440) as (page, complaints),
        daemon.client() as client,
    ):
        yield Desk(page, client, daemon.url, daemon.project_id)
        assert complaints.found == []


@asynccontextmanager
async def held_row(desk: Desk, other: str) -> AsyncIterator[tuple[int, Locator]]:
    """Press on an issue in its list, and file another one; give its number and the count of all."""
    number = await desk.file("Stale bread")
    await desk.open(f"issues/{desk.project}")
    row = desk.page.locator(f"#issues [data-number='{number}']")
    count = desk.page.locator("#view > p[role=status]")
    await row.wait_for()
    known = int((await count.inner_text()).split()[0])
    async with desk.held(row):
        await desk.file(other)
        await expect(count).to_have_text(f"{known + 1} issues")
        yield number, count


async def test_a_slow_click_on_an_issue_opens_it_though_another_one_is_filed(desk: Desk) -> None:
    async with held_row(desk, "Burnt bread") as (number, _):
        pass
    await expect(desk.page).to_have_url(re.compile(f"/{number}$"))


async def test_a_list_is_drawn_once_the_press_that_it_waited_for_is_over(desk: Desk) -> None:
    async with held_row(desk, "Flat bread") as (_, count):
        # Let go elsewhere, the press is no click.
        await count.hover()
    await expect(desk.page.locator("#issues")).to_contain_text("Flat bread")
    await expect(desk.page).to_have_url(re.compile(f"issues/{desk.project}$"))


@pytest.mark.parametrize("key", [False, True], ids=["mouse", "space"])
async def test_a_slow_press_in_a_tab_of_a_session_counts_though_the_tab_changes(
    desk: Desk, key: bool
) -> None:
    number = await desk.file("Stale bread")
    await desk.add_entry(number, "Bake it")
    await desk.open(await desk.session(number))
    await desk.page.click("#tab-issue")
    done = entry(desk.page, "Bake it").locator("[data-act=done]")
    count = desk.page.locator(".checklist [role=status]")
    await expect(count).to_have_text("0 of 1 done")
    if key:
        await done.focus()
        await desk.page.keyboard.down(" ")
        await desk.add_entry(number, "Slice it")
        await expect(count).to_have_text("0 of 2 done")
        await desk.page.keyboard.up(" ")
    else:
        async with desk.held(done):
            await desk.add_entry(number, "Slice it")
            await expect(count).to_have_text("0 of 2 done")
    await expect(count).to_have_text("1 of 2 done")
    await expect(entry(desk.page, "Slice it")).to_be_visible()


async def test_the_focus_stays_in_a_tab_that_is_drawn_anew(desk: Desk) -> None:
    session = await desk.session()
    await desk.open(session)
    await desk.page.click("#tab-tools")
    tool = desk.page.locator("details.tool-listed", has=desk.page.get_by_text("kaged.issue", exact=True))
    await tool.locator("summary").focus()
    await desk.page.keyboard.press("Enter")
    await expect(tool).to_have_attribute("open", "")
    await tool.evaluate("tool => (tool.title = 'the old one')")
    await desk.client.patch(f"/sessions/{session}", json={"title": "Fresh bread"})
    await expect(desk.page.locator("[title='the old one']")).to_have_count(0)
    await expect(tool.locator("summary")).to_be_focused()
    await expect(tool).to_have_attribute("open", "")
