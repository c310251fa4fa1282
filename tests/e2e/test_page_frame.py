"""The frame of the page: the rail, the panels beside the middle and what the browser remembers of them."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import new_session, open_page, until_ready
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]


async def width_of(page: Page, chosen: str) -> float:
    box = await page.locator(chosen).bounding_box()
    assert box is not None
    return box["width"]


async def widths_are(page: Page, wanted: dict[str, int]) -> None:
    for chosen, width in wanted.items():
        await expect(page.locator(chosen)).to_be_visible()
        await expect(page.locator(chosen)).to_have_css("width", f"{width}px")


async def test_panels_are_as_wide_and_as_open_as_they_were_left(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        await new_session(page)
        await widths_are(page, {".rail": 48, "#sidebar": 280, "#details": 360})
        divider = page.get_by_role("separator", name="Width of the list")
        await divider.press("ArrowRight")
        await expect(page.locator("#sidebar")).to_have_css("width", "296px")
        assert await divider.get_attribute("aria-valuenow") == "296"
        edge = page.get_by_role("separator", name="Width of the workspace")
        await edge.hover()
        await page.mouse.down()
        await page.mouse.move(1440 - 560, 300, steps=4)
        await page.mouse.up()
        await expect(page.locator("#details")).to_have_css("width", "560px")
        await page.mouse.move(200, 300)
        await expect(page.locator("#details")).to_have_css("width", "560px")
        await page.reload()
        await until_ready(page)
        await widths_are(page, {"#sidebar": 296, "#details": 560})
        await edge.dblclick()
        await expect(page.locator("#details")).to_have_css("width", "360px")
        await page.click("#close-details")
        await page.reload()
        await until_ready(page)
        await expect(page.locator("#composer")).to_be_visible()
        await expect(page.locator("#details")).to_be_hidden()
        assert complaints.found == []


ON_TOP = """(name) => {
  const box = name.getBoundingClientRect();
  return box.width > 30 && name.contains(document.elementFromPoint(box.right - 4, box.top + box.height / 2));
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_icons_of_the_rail_say_their_names(demo: Demo, browser: Browser, theme: str) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        await page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
        issues = page.locator('.rail [data-view="issues"]')
        name = issues.locator(".rail-name")
        assert not await name.evaluate(ON_TOP)
        await issues.hover()
        assert await name.evaluate(ON_TOP)
        await name.hover(position={"x": 30, "y": 8})
        assert await name.evaluate(ON_TOP)
        await page.keyboard.press("Escape")
        await expect(name).not_to_have_css("clip-path", "none")
        await page.mouse.move(700, 400)
        await issues.focus()
        await page.keyboard.press("Tab")
        await expect(page.locator('.rail [data-view="workflows"]')).to_be_focused()
        assert await page.locator('.rail [data-view="workflows"] .rail-name').evaluate(ON_TOP)
        assert complaints.found == []


CUT = """(row) => [...row.children].filter((one) => {
    const [box, around] = [one.getBoundingClientRect(), row.getBoundingClientRect()];
    return box.left < around.left || box.right > around.right + 0.5 || box.bottom > around.bottom + 0.5;
}).map((one) => one.textContent)"""


async def test_a_wide_window_gives_the_workspace_more_and_no_tab_is_ever_cut(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=2560, height=1000) as (page, complaints):
        await new_session(page)
        edge = page.get_by_role("separator", name="Width of the workspace")
        for width, given in ((2560, 832), (1920, 560), (1440, 360)):
            await page.set_viewport_size({"width": width, "height": 1000})
            await expect(page.locator("#details")).to_have_css("width", f"{given}px")
            await expect(edge).to_have_attribute("aria-valuenow", str(given))
            assert await page.locator("#tabs").evaluate(CUT) == []
        # What a person has chosen stays, whatever the window.
        await edge.press("ArrowLeft")
        await page.set_viewport_size({"width": 2560, "height": 1000})
        await expect(page.locator("#details")).to_have_css("width", "376px")
        await page.reload()
        await until_ready(page)
        await expect(page.locator("#details")).to_have_css("width", "376px")
        await edge.press("Home")
        await expect(page.locator("#details")).to_have_css("width", "320px")
        assert await page.locator("#tabs").evaluate(CUT) == []
        await edge.press("Enter")
        await expect(page.locator("#details")).to_have_css("width", "832px")
        assert complaints.found == []


async def test_the_tabs_of_the_workspace_are_one_row_on_a_phone(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=390, height=844) as (page, complaints):
        session = await new_session(page)
        await page.click("#open-details")
        tabs = page.locator("#tabs [role=tab]")
        tops = await tabs.evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
        assert len(set(tops)) == 1
        assert await page.evaluate("document.documentElement.scrollWidth") == 390
        # The one that is chosen is in view, whoever chooses it.
        await page.locator("#tab-changes").press("ArrowLeft")
        await expect(page.locator("#tab-session")).to_be_in_viewport(ratio=1)
        await expect(page.locator("#tab-session")).to_have_attribute("aria-selected", "true")
        await page.goto(f"{daemon.url}/#{session}/changes")
        await expect(page.locator("#tab-changes")).to_have_attribute("aria-selected", "true")
        await expect(page.locator("#tab-changes")).to_be_in_viewport(ratio=1)
        assert complaints.found == []


async def test_what_a_session_is_marked_with_leaves_room_for_its_title(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    title = "The oven is cold"
    async with daemon.client() as client:
        issue = await client.post(f"/projects/{daemon.project_id}/issues", json={"title": title})
        made = await client.post(
            "/sessions",
            json={"project_id": daemon.project_id, "title": title, "issue_number": issue.json()["number"]},
        )
    async with open_page(browser, daemon, width=390, height=844) as (page, complaints):
        await page.goto(f"{daemon.url}/#{made.json()['id']}")
        await page.wait_for_selector("#composer:not([hidden])")
        # The longest state.
        await page.locator("#state").evaluate("(state) => (state.textContent = 'waiting for you')")
        for width in (390, 768, 1100):
            await page.set_viewport_size({"width": width, "height": 844})
            shown = "({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth"
            assert await page.locator("#title").evaluate(shown), width
            assert await page.locator(".heading").evaluate(CUT) == [], width
        assert complaints.found == []


async def test_a_narrow_page_shows_the_workspace_over_the_middle(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=1000) as (page, complaints):
        await new_session(page)
        await expect(page.locator("#sidebar")).to_be_visible()
        middle = await width_of(page, ".middle")
        await page.click("#open-details")
        await expect(page.locator("#details")).to_be_visible()
        assert await width_of(page, ".middle") == middle
        await expect(page.locator("#close-details")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(page.locator("#details")).to_be_hidden()
        await expect(page.locator("#open-details")).to_be_focused()
        assert complaints.found == []


async def test_a_phone_has_the_rail_at_the_bottom_and_the_list_in_a_drawer(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=390, height=844) as (page, complaints):
        rail = await page.locator(".rail").bounding_box()
        assert rail is not None
        assert (rail["x"], rail["width"], rail["y"] + rail["height"]) == (0, 390, 844)
        for link in await page.locator("#views a").all():
            box = await link.bounding_box()
            assert box is not None
            assert box["height"] >= 44
        await expect(page.locator("#sidebar")).to_be_hidden()
        await page.click("#views [data-view=issues]")
        await page.wait_for_selector("#view:not([aria-busy]) > *")
        await expect(page.locator("#views [aria-current=page]")).to_have_text("Issues")
        await page.click("#open-sidebar")
        await expect(page.locator("#sidebar")).to_be_visible()
        await page.set_viewport_size({"width": 1440, "height": 844})
        await expect(page.locator("#sidebar")).to_be_visible()
        await expect(page.locator("#shade")).to_be_hidden()
        assert complaints.found == []
