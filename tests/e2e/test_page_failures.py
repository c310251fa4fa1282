"""A session whose run failed, in the web page: it does not look like one whose run went well."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import new_session, open_page, send, until_state
from tests.driver.demo_daemon import Demo
from tests.driver.demo_work import fails
from tests.e2e.test_issues_page import Api

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]

LOOK = "{ tool_call: { name: file.read, arguments: { path: README.md } } }"
CONVERSATIONS = f"""{fails("burn it")}
  - says: bake it
    steps:
      - answer: [text: "It is baked."]

  - says: look again
    steps:
{"".join(f"      - answer: [{LOOK}]{chr(10)}" for _ in range(12))}
"""


async def ended(page: Page, text: str) -> str:
    """Let a new session do what `text` says, and return its address once the run has ended."""
    session = await new_session(page)
    await send(page, text)
    await page.wait_for_selector(".run-end")
    await until_state(page, "idle")
    return session


async def test_a_failed_or_stuck_run_is_reported_in_the_list_in_words_and_by_its_look(
    demo: Demo, browser: Browser
) -> None:
    demo.add_conversation(CONVERSATIONS)
    daemon = await demo.start()
    await Api(daemon)("POST", "", {"title": "Cold oven"})
    async with open_page(browser, daemon) as (page, complaints):
        stuck = await ended(page, "look again")
        said = page.locator(".failure-card .what")
        await expect(said).to_have_text(
            "The agent did the same again and again, so it was stopped. Tell it what to do differently."
        )
        good = await ended(page, "bake it")
        bad = await ended(page, "burn it")
        await expect(said).to_have_text(
            "replay refused the request. Try with another model, or look at the provider's settings."
        )
        # Each thing is said once: the provider's message stands in the answer, what to do in the card.
        told = await page.inner_text("#conversation")
        assert told.count("the oven is cold") == 1
        assert told.count("refused the request") == 1
        line = await page.locator(".run-end > p").inner_text()
        assert re.fullmatch(r"Run failed · 1 step( · [\d.]+ m?s)?", line), line
        async with daemon.client() as client:
            bound = await client.patch(f"/sessions/{bad}", json={"issue_number": 1})
            assert bound.is_success, bound.text
        for _ in ("followed", "read anew"):
            await expect(page.locator("#state")).to_have_text("failed")
            links = page.locator("#projects")
            for session, word in ((bad, "failed"), (stuck, "stuck")):
                link = links.get_by_role("link", name=f" {word}").and_(page.locator(f"[data-key={session}]"))
                await link.wait_for()
                colour = "one => getComputedStyle(one.querySelector('.dot')).backgroundColor"
                assert await link.evaluate(colour) != await page.locator(f"[data-key={good}]").evaluate(
                    colour
                )
            name = await page.locator(f"[data-key={good}]").inner_text()
            assert "failed" not in name and "stuck" not in name
            await page.reload()
            await page.wait_for_selector(".run-end")
        # Work that goes well takes the mark away.
        await send(page, "bake it")
        await page.wait_for_selector("text=It is baked.")
        await page.wait_for_selector(f".session[data-key={bad}]:not([data-failed])[data-state=idle]")
        await expect(page.locator("#state")).to_have_text("done")
        await send(page, "burn it")
        await page.wait_for_selector(f".session[data-key={bad}][data-failed]")
        await page.goto(f"{daemon.url}/#issues/{daemon.project_id}/1")
        await page.wait_for_selector(".bound-sessions >> text=failed")
        assert complaints.found == []
