"""Symbols in the mentions of the message field: found below files, by keyboard, and never in the way."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, Route, expect

from tests.driver.browser import new_session, open_page
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]

HOSTILE = 'class Oven {\n  "hot <img src=x onerror=alert(1)>\u202e\U000e0041"() {}\n  bake_it() {}\n}\n'


@pytest_asyncio.fixture(loop_scope="module")
async def demo(demo: Demo) -> Demo:
    (demo.root / "odd name").mkdir(exist_ok=True)
    (demo.root / "odd name" / "o\u202ev.js").write_text(HOSTILE)
    return demo


def option(page: Page, name: str) -> Locator:
    """Find a suggestion by the name that screen readers say."""
    return page.get_by_role("option", name=name, exact=True)


async def groups(page: Page) -> list[str | None]:
    found = await page.locator(".suggestions [role=group]").all()
    return [await one.get_attribute("aria-label") for one in found]


async def test_a_symbol_is_chosen_below_files_and_stands_in_the_message(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints), daemon.client() as client:
        session = await new_session(page)
        field = page.locator("#message")
        # Written at once, the word is looked up, and none of its beginnings.
        await field.fill("Is @basket")
        await expect(option(page, "Basket class · bakery/basket.py:6")).to_be_visible()
        assert (await groups(page))[:2] == ["Files", "Symbols"]
        active = page.locator('[role=option][aria-selected="true"]')
        await expect(active.locator(".label")).to_have_text("bakery/basket.py")
        while "Symbols" not in (await active.locator("..").get_attribute("aria-label") or ""):
            await field.press("ArrowDown")
        meant = await field.get_attribute("aria-activedescendant")
        assert await active.get_attribute("id") == meant
        await expect(active).to_have_text("Basket class · bakery/basket.py:6")
        await field.press("Enter")
        await expect(field).to_have_value("Is Basket (@bakery/basket.py:6) ")
        # The name alone is enough, with what is around it or without.
        await field.press_sequentially("and @Basket.subt")
        await expect(option(page, "Basket.subtotal function · bakery/basket.py:28")).to_be_visible()
        await field.press("Tab")
        text = "Is Basket (@bakery/basket.py:6) and Basket.subtotal (@bakery/basket.py:28) "
        await expect(field).to_have_value(text)
        # What is written in files is text, and gets into the message only as it is seen.
        await field.fill("")
        await field.press_sequentially("@hotimg")
        shown = 'Oven."hot <img src=x onerror=alert(1)>⟨U+E0041⟩" method · odd name/o⟨U+202E⟩v.js:2'
        await expect(option(page, shown)).to_be_visible()
        await expect(page.locator(".suggestions img")).to_have_count(0)
        await field.press("Enter")
        await expect(field).to_have_value('@"odd name/o\u202ev.js":2 ')
        await field.fill("")
        await field.press_sequentially("@bakeit")
        await expect(option(page, "Oven.bake_it method · odd name/o⟨U+202E⟩v.js:3")).to_be_visible()
        await field.fill(text)
        await field.press("Enter")
        await page.wait_for_selector("#conversation .post")
        posted = (await client.get(f"/sessions/{session}/messages")).json()["items"][0]
        assert posted["content"] == text
        assert complaints.found == []


async def test_files_do_not_wait_for_symbols(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        field = page.locator("#message")
        answers = asyncio.Event()

        async def answer(route: Route) -> None:
            await answers.wait()
            await route.continue_()

        await page.route("**/symbols?*", answer)
        await field.press_sequentially("@receipt")
        await expect(option(page, "bakery/receipt.py")).to_be_visible()
        await field.press("Enter")
        await expect(field).to_have_value("@bakery/receipt.py ")
        # What is chosen stays so when symbols come between.
        await field.fill("")
        await field.fill("@basket")
        await expect(option(page, "bakery/basket.py")).to_be_visible()
        await field.press("ArrowDown")
        active = page.locator('[role=option][aria-selected="true"]')
        chosen = await active.inner_text()
        assert "Symbols" not in await groups(page)
        answers.set()
        await expect(option(page, "Basket class · bakery/basket.py:6")).to_be_visible()
        assert await active.inner_text() == chosen
        # Where no file has the name Enter waits for the symbols, and takes the first.
        answers.clear()
        await field.fill("")
        await field.press_sequentially("See @percent_o")
        await field.press("Enter")
        assert await field.input_value() == "See @percent_o"
        answers.set()
        await expect(field).to_have_value("See percent_of (@bakery/money.py:4) ")
        # Escape means this word, whatever is found later.
        answers.clear()
        await field.fill("")
        await field.press_sequentially("@basket")
        await expect(option(page, "bakery/basket.py")).to_be_visible()
        async with page.expect_response("**/symbols?q=basket&*"):
            await field.press("Escape")
            answers.set()
        await expect(page.locator(".suggestions")).to_have_count(0)
        assert complaints.found == []


async def test_symbols_follow_while_files_are_being_read(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        field = page.locator("#message")
        state = {"state": "pending", "reason": None, "items": [], "next_cursor": None, "total": 0}

        async def answer(route: Route) -> None:
            await route.fulfill(json={**state, "searched": 0, "complete": False})

        await page.route("**/symbols?*", answer)
        await field.press_sequentially("@basket")
        await expect(page.locator(".suggestions .rest")).to_have_text(
            "Source files are being read; more symbols may follow."
        )
        await expect(page.locator("#composer [role=status]").last).to_contain_text("being read")
        await page.unroute("**/symbols?*")
        await expect(option(page, "Basket class · bakery/basket.py:6")).to_be_visible()
        await expect(page.locator(".suggestions .rest")).to_have_count(0)
        state |= {"state": "unavailable", "reason": "ast-grep could not be started."}
        await page.route("**/symbols?*", answer)
        await field.fill("")
        await field.press_sequentially("@basket")
        await expect(page.locator(".suggestions .rest")).to_have_text(
            "Symbols cannot be searched: ast-grep could not be started."
        )
        assert complaints.found == []
