"""What a language server finds, in the viewer of files: marks at lines, and a list that jumps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import orjson
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect

from tests.driver.browser import new_session, open_page
from tests.driver.demo_daemon import Demo
from tests.driver.language_servers import server_command

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.requirement("usability.page"),
    pytest.mark.needs("cages"),
]
COLD_MS = 120_000
"""How long a language server may take to answer first, on a machine with much else to do."""
HOSTILE = "<img src=/x onerror=document.title=1>"
LINES = [f'price: int = "{HOSTILE}"', *("total = 1" for _ in range(200)), '__all__ = ["gone"]', ""]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Demo]:
    demo = Demo(tmp_path_factory.mktemp("demo"))
    servers = orjson.dumps({"servers": [{"lang": "python", "command": list(server_command("pyright"))}]})
    project = demo.root / ".kaged" / "project.yaml"
    project.write_text(f"{project.read_text()}\nlsp: {servers.decode()}\n")
    (demo.root / "bakery" / "prices.py").write_text("\n".join(LINES))
    await demo.start()
    yield demo
    await demo.stop()


async def top_of_text(page: Page) -> float:
    box = await page.locator('[data-line="1"]').bounding_box()
    assert box is not None
    return box["y"]


async def test_problems_stand_at_their_lines_and_in_a_list_that_jumps(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    file = demo.root / "bakery" / "prices.py"
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        asked, answered = asyncio.Event(), asyncio.Event()

        async def late(route: Route) -> None:
            asked.set()
            await answered.wait()
            await route.continue_()

        await page.route("**/files/problems?*", late)
        session = await new_session(page)
        await page.goto(f"{daemon.url}/#{session}/files/bakery/prices.py")
        viewer = page.locator(".view-file")
        await expect(viewer.get_by_role("status")).to_have_text("Looking for problems…")
        async with asyncio.timeout(45):
            await asked.wait()
        before = await top_of_text(page)
        answered.set()
        await expect(viewer.get_by_role("status")).to_have_text("1 error, 1 warning", timeout=COLD_MS)
        assert await top_of_text(page) == before, "the text stays where it is"

        wrong = page.locator('[data-line="1"]')
        await expect(wrong).to_have_attribute("data-problem", "error")
        assert HOSTILE in (await wrong.get_by_role("button").get_attribute("aria-label") or "")
        await expect(page.locator("tr[data-problem]")).to_have_count(2)
        show = viewer.get_by_role("button", name="Show problems")
        await show.focus()
        await page.keyboard.press("Enter")
        listed = viewer.get_by_role("list", name="Problems of the file").get_by_role("button")
        await expect(listed).to_have_count(2)
        await expect(listed.first).to_contain_text(HOSTILE)
        await expect(listed.first).to_contain_text("Pyright")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        last = page.locator("tr.here")
        await expect(last).to_have_attribute("data-line", str(len(LINES) - 1))
        await expect(last).to_be_in_viewport()
        await expect(last).to_have_attribute("data-problem", "warning")
        assert page.url.endswith(f"/prices.py:{len(LINES) - 1}")
        assert await viewer.locator("img").count() == 0

        file.write_text("\n".join(["price = 1", *LINES[1:]]))
        await page.reload()
        await expect(viewer.get_by_role("status")).to_have_text("1 warning", timeout=COLD_MS)
        await page.goto(f"{daemon.url}/#{session}/files/README.md")
        await expect(viewer.get_by_role("status")).to_have_text("No language server knows this kind of file.")
        assert complaints.found == []


async def test_a_server_that_is_not_there_says_how_to_get_it(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=390) as (page, complaints):
        session = await new_session(page)
        (demo.root / "bakery" / "prices.zig").write_text("const a = 1;\n")
        await page.goto(f"{daemon.url}/#{session}/files/bakery/prices.zig")
        viewer = page.locator(".view-file")
        words = "The language server for this file is not installed."
        await expect(viewer.get_by_role("status")).to_have_text(words)
        await viewer.get_by_role("button", name="Why").click()
        await expect(page.locator("#problem-list")).to_contain_text("zls")
        await expect(viewer.get_by_role("button", name="Look again")).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        assert complaints.found == []
