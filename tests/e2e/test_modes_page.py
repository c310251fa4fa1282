"""The web page and the modes of a session: the selector, the rules of a mode, the card of a plan."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import choose_mode, new_session, open_page, send, until_state
from tests.driver.daemon_process import DaemonProcess
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("modes.clients")]

PLANS = """
  - says: plan the shelf
    steps:
      - answer:
          - tool_call:
              name: kaged.plan
              arguments: { plan: "# The shelf\\n\\n1. Build `it`.\\n\\n<img src=x>" }
      - answer:
          - tool_call: { name: file.write, arguments: { path: shelf.txt, content: built } }
      - answer: [text: "That is all."]
"""


@pytest_asyncio.fixture(loop_scope="module")
async def demo(demo: Demo) -> Demo:
    demo.add_conversation(PLANS)
    return demo


async def detail(daemon: DaemonProcess, session_id: str) -> Any:
    async with daemon.client() as client:
        return (await client.get(f"/sessions/{session_id}")).json()


async def planned(page: Page) -> str:
    """Make a session in plan mode whose agent proposes a plan; return the session's id."""
    session_id = await new_session(page)
    async with page.expect_response(lambda answer: answer.request.method == "PATCH") as changed:
        await choose_mode(page, "plan")
    assert (await changed.value).ok
    await send(page, "plan the shelf")
    await page.wait_for_selector(".question.plan button[data-answer=accept]:enabled")
    return session_id


async def test_the_selector_sets_the_mode_and_shows_its_rules(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        session_id = await new_session(page)
        await expect(page.locator("#session-mode")).to_contain_text("Ask")
        await page.click("#tab-tools")
        async with page.expect_response(lambda answer: answer.request.method == "PATCH"):
            await choose_mode(page, "plan")
        await page.wait_for_selector('.mode-rules [data-action=deny] >> text="fs.write *"')
        assert (await detail(daemon, session_id))["mode"] == "plan"
        # What another client sets is shown at once, and who comes to the page now sees it.
        async with daemon.client() as client:
            (await client.patch(f"/sessions/{session_id}", json={"mode": "full"})).raise_for_status()
        await page.wait_for_selector("#session-mode[data-mode=full]")
        # What the changes of a session look like is for them alone.
        await page.click("#tab-changes")
        await page.wait_for_selector("#details .empty")
        await page.click("#session-mode")
        chosen = page.locator(".popup [data-value=full] .mark")
        await expect(chosen).to_have_text("✓")
        await expect(chosen).to_have_css("border-top-width", "0px")
        await page.keyboard.press("Escape")
        await page.reload()
        await page.wait_for_selector("#session-mode[data-mode=full]")
        await expect(page.locator("#session-mode")).to_contain_text("Full")
        assert complaints.found == []


async def test_a_plan_is_read_edited_and_accepted_on_the_page(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        session_id = await planned(page)
        card = page.locator(".question.plan")
        assert await card.locator(".plan-text h2, .plan-text h1").inner_text() == "The shelf"
        assert await card.locator("img").count() == 0
        assert await page.inner_text("#state") == "asks you"
        await card.locator("[data-answer=edit]").click()
        await card.locator("textarea").fill("# The shelf\n\n1. Buy it.")
        await card.locator("select").select_option("edits")
        await card.locator("[data-answer=accept]").click()
        await page.wait_for_selector("text=That is all.")
        await until_state(page, "idle")
        await page.wait_for_selector("#session-mode[data-mode=edits]")
        assert (await detail(daemon, session_id))["mode"] == "edits"
        assert (demo.root / "shelf.txt").read_text() == "built"
        async with daemon.client() as client:
            (closed,) = (await client.get(f"/sessions/{session_id}/interactions")).json()["items"]
        assert closed["answer"] == {"state": "edited", "mode": "edits", "plan": "# The shelf\n\n1. Buy it."}
        assert complaints.found == []


async def test_a_rejected_plan_leaves_the_session_in_plan_mode(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    (demo.root / "shelf.txt").unlink(missing_ok=True)
    async with open_page(browser, daemon, width=390, height=844, dark=True) as (page, complaints):
        session_id = await planned(page)
        assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
        await page.fill(".question.plan input", "No shelf.")
        await page.click(".question.plan [data-answer=reject]")
        await page.wait_for_selector("text=That is all.")
        assert (await detail(daemon, session_id))["mode"] == "plan"
        await page.wait_for_selector('.tool[data-tool="file.write"][data-state=failed]')
        assert not (demo.root / "shelf.txt").exists()
        assert complaints.found == []
