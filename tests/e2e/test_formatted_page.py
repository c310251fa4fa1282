"""Answers are formatted before they are shown: what formats them is asked for with the session's messages."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Browser, Request, Route, expect

from tests.driver.browser import new_session, open_page, send, until_state, until_true
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]

STORY = """
  - says: in bold
    steps:
      - answer: [text: "It is **all** done."]
"""
FORMATS = "**/static/markdown_view-*.js"
WATCHED = """
    window.raw = { first: null, painted: null };
    const plain = () => document.querySelector(".answer .plain-text");
    // A busy machine draws few frames: when the text came does not wait for one.
    const came = () => plain() && (window.raw.first ??= performance.now());
    new MutationObserver(came).observe(document, { childList: true, subtree: true });
    const look = () => {
        if (plain()?.checkVisibility({ visibilityProperty: true })) window.raw.painted ??= performance.now();
        requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
"""


async def test_a_finished_answer_is_not_shown_as_it_is_written_but_for_a_long_wait(
    demo: Demo, browser: Browser
) -> None:
    demo.add_conversation(STORY)
    daemon = await demo.start()
    async with open_page(browser, daemon, workers="block") as (page, complaints):
        session = await new_session(page)
        await send(page, "in bold")
        bold = page.locator(".answer .markdown strong")
        await expect(bold).to_have_text("all")
        await until_state(page, "idle")
        await page.add_init_script(WATCHED)

        # The messages are given only once the file that formats them has come: it is asked for beside them.
        fetched = asyncio.Event()

        def note(request: Request) -> None:
            if "/markdown_view-" in request.url:
                fetched.set()

        async def messages(route: Route) -> None:
            await asyncio.wait_for(fetched.wait(), 40)
            await route.continue_()

        page.on("requestfinished", note)
        await page.route(f"**/sessions/{session}/messages?*", messages)
        await page.reload()
        await expect(bold).to_have_text("all")
        assert await page.evaluate("window.raw.painted") is None
        await page.unroute(f"**/sessions/{session}/messages?*")

        # A file that takes long: the text keeps its place unseen, and shows as it is written after a while.
        given = asyncio.Event()

        async def late(route: Route) -> None:
            await asyncio.wait_for(given.wait(), 40)
            await route.continue_()

        await page.route(FORMATS, late)
        await page.reload()
        await expect(page.locator(".answer .plain-text")).to_have_text("It is **all** done.")
        await until_true(page, "window.raw.painted !== null")
        seen = await page.evaluate("window.raw")
        # The time runs from when it is put there, which is told a little later.
        assert seen["painted"] - seen["first"] >= 200
        given.set()
        await expect(bold).to_have_text("all")
        await expect(page.locator(".answer .plain-text")).to_have_count(0)
        assert [one for one in complaints.found if "Service Worker" not in one] == []
