"""The web page when somebody goes back in a session, brings it back, or goes on elsewhere."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser

from tests.driver.browser import new_session, open_page, send, until_state
from tests.driver.demo_daemon import Demo
from tests.harness.checkpoints.test_files import git

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("checkpoint.rollback")]

STORY = """
  - says: one
    steps:
      - answer: [text: "First answer."]
  - says: two
    steps:
      - answer: [text: "Second answer."]
"""


@pytest.fixture
def demo(demo: Demo) -> Demo:
    demo.add_conversation(STORY)
    return demo


async def test_what_is_taken_out_is_folded_with_the_reason_and_comes_back(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        for text, answer in (("one", "First answer."), ("two", "Second answer.")):
            await send(page, text)
            await page.wait_for_selector(f"text={answer}")
            await until_state(page, "idle")
        first = page.locator("#conversation .answer:not(.superseded *)").first
        await first.locator('[data-act="rollback"]').click()
        await first.locator('[data-act="back"]').click()
        fold = page.locator("#conversation .superseded")
        await fold.wait_for()
        assert "2 messages rolled back" in await fold.locator("summary").inner_text()
        assert await page.locator("#conversation .answer:not(.superseded *)").count() == 1
        # It stays readable, also for who comes to the page now.
        await page.reload()
        await fold.wait_for()
        assert not await fold.locator(".answer").is_visible()
        await fold.locator("summary > span").click()
        await fold.locator("text=Second answer.").wait_for()
        assert "Second answer." in await fold.inner_text()
        await fold.locator('[data-act="undo"]').click()
        await fold.wait_for(state="detached")
        assert await page.locator("#conversation .answer:not(.superseded *)").count() == 2
        assert complaints.found == []


async def test_a_fork_opens_with_the_messages_up_to_there(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        session_id = await new_session(page)
        await send(page, "one")
        await page.wait_for_selector("text=First answer.")
        await until_state(page, "idle")
        await (
            page.locator("#conversation .answer:not(.superseded *)")
            .first.locator('[data-act="fork"]')
            .click()
        )
        await page.wait_for_selector("#title >> text=(fork)")
        await page.wait_for_selector("text=First answer.")
        assert session_id not in page.url
        await send(page, "two")
        await page.wait_for_selector("text=Second answer.")
        await until_state(page, "idle")
        assert complaints.found == []


@pytest.mark.requirement("checkpoint.files")
async def test_files_are_shown_before_they_are_restored(demo: Demo, browser: Browser) -> None:
    git(demo.root, "init", "-q", "-b", "main")
    basket = demo.root / "bakery" / "basket.py"
    before = basket.read_text()
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "Fix the failing test")
        await page.wait_for_selector('.tool[data-tool="edit.text"][data-state=done]')
        await until_state(page, "idle")
        changed = basket.read_text()
        assert changed != before
        asked = page.locator("#conversation .post").first
        await asked.locator('[data-act="rollback"]').click()
        await asked.locator('[data-act="files"]').click()
        await asked.locator('[data-act="commit"]').wait_for()
        assert "is restored: bakery/basket.py" in await asked.inner_text()
        assert basket.read_text() == changed
        await asked.locator('[data-act="commit"]').click()
        fold = page.locator("#conversation .superseded")
        await fold.wait_for()
        assert basket.read_text() == before
        await fold.locator('[data-act="undo"]').click()
        await fold.wait_for(state="detached")
        assert basket.read_text() == changed
        assert complaints.found == []
