"""Marks that say little by themselves have words: on hover, by the keyboard and for screen readers."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import WAIT_MS, choose_mode, new_session, open_page, send, until_state
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]

STORY = """
  - says: greet me
    steps:
      - answer: [text: "Good morning."]
"""
MARKS = {
    "#state": re.compile(r"^No agent is at work\. The last run succeeded"),
    "#connection": re.compile(r"^What happens in the session shows here at once\.$"),
    "#session-mode": re.compile(r"^Ask mode: the agent asks where a rule says so"),
    "#context": re.compile(r"^Context: .* of .* tokens\n"),
}
PLACES = """() => [...document.querySelectorAll("#page :not([hidden], [hidden] *)")].map((one) => {
    const { x, y, width, height } = one.getBoundingClientRect();
    return [x, y, width, height].map(Math.round).join(" ");
})"""
ON_TOP = """(tip) => {
    const { left, top, width, height } = tip.getBoundingClientRect();
    return width > 30 && left >= 0 && top >= 0 && left + width <= innerWidth && top + height <= innerHeight
        && document.elementFromPoint(left + width / 2, top + height / 2) === tip;
}"""


async def described(page: Page, mark: str) -> str:
    """Return what a screen reader says of a mark beside its name."""
    return str(
        await page.locator(mark).evaluate(
            "(one) => document.getElementById(one.getAttribute('aria-describedby')).textContent"
        )
    )


async def shown_in_place(page: Page, mark: str, words: re.Pattern[str]) -> None:
    """Point at a mark until its words are there, and check that nothing moves for them. What the page does by
    itself meanwhile, as when a cost has come, moves things also once the words are gone."""
    tip = page.locator(".tip")
    async with asyncio.timeout(WAIT_MS / 1000):
        while True:
            before = await page.evaluate(PLACES)
            await page.hover(mark)
            await expect(tip).to_be_visible()
            await expect(tip).to_have_text(words)
            assert await tip.evaluate(ON_TOP), mark
            assert await tip.text_content() == await described(page, mark)
            during = await page.evaluate(PLACES)
            # The pointer can cross over to it.
            await tip.hover()
            await expect(tip).to_be_visible()
            await page.keyboard.press("Escape")
            await expect(tip).to_be_hidden()
            await page.hover("#title")
            if await page.evaluate(PLACES) == before:
                break
    assert during == before


async def test_marks_say_what_they_mean_on_hover_and_focus_and_to_screen_readers(
    demo: Demo, browser: Browser
) -> None:
    demo.add_conversation(STORY)
    daemon = await demo.start()
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        session = await new_session(page)
        await send(page, "greet me")
        await page.wait_for_selector("text=Good morning.")
        await until_state(page, "idle")
        await page.wait_for_selector("#connection >> text=live")
        tip = page.locator(".tip")
        # The last of its words come with the session's own data.
        await expect(page.locator("#context-words")).to_have_text(MARKS["#context"])
        for mark, words in MARKS.items():
            await shown_in_place(page, mark, words)
        # By the keyboard: each mark is reached, and says the same.
        await page.focus("#open-details")
        for mark in ("#connection", "#state"):
            for _ in range(3):
                await page.keyboard.press("Shift+Tab")
                if await page.locator(mark).evaluate("(one) => one === document.activeElement"):
                    break
            await expect(page.locator(mark)).to_be_focused()
            await expect(tip).to_have_text(MARKS[mark])
        await page.focus("#message")
        await expect(tip).to_be_hidden()
        for mark in ("#session-mode", "#context"):
            for _ in range(4):
                await page.keyboard.press("Tab")
                if await page.locator(mark).evaluate("(one) => one === document.activeElement"):
                    break
            await expect(page.locator(mark)).to_be_focused()
            await expect(tip).to_be_visible()
            await expect(tip).to_have_text(MARKS[mark])
        # A row of the list says its whole title, and what its mark means.
        row = f".session[data-key={session}]"
        await page.hover(row)
        await expect(tip).to_have_text(re.compile(r"^greet me\nNo agent is at work\. The last run succeeded"))
        assert (await tip.text_content() or "").endswith(await described(page, row))
        # What opens is not covered, and the words follow what is chosen.
        await choose_mode(page, "full")
        await expect(tip).to_be_hidden()
        await page.wait_for_selector("#session-mode[data-mode=full]")
        await page.hover("#title")
        await page.hover("#session-mode")
        await expect(tip).to_have_text(re.compile("^Full mode: "))
        assert complaints.found == []
