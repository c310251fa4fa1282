"""The web page when a call needs consent: what a person is shown, and what the buttons do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import new_session, open_page, send, until_state
from tests.driver.daemon_process import DaemonProcess
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("authorisation.ask")]

HOSTILE = """
  - says: hostile
    steps:
      - answer:
          - tool_call: { name: file.create, arguments: { path: "<img src=x>\\u202etxt.exe", content: x } }
      - answer: [text: "It was refused."]
"""
EDIT = '.tool[data-tool="edit.text"]'


@pytest_asyncio.fixture(loop_scope="module")
async def demo(demo: Demo) -> AsyncIterator[Demo]:
    """The demo, from which the rules of a test are taken away after it."""
    demo.add_conversation(HOSTILE)
    yield demo
    daemon = await demo.start()
    async with daemon.client() as client:
        rules = f"/projects/{daemon.project_id}/permissions"
        for rule in (await client.get(rules)).json()["items"]:
            (await client.delete(f"{rules}/{rule['id']}")).raise_for_status()


async def rule(daemon: DaemonProcess, permission: str) -> None:
    async with daemon.client() as client:
        body = {"permission": permission, "pattern": "**", "action": "ask"}
        made = await client.post(f"/projects/{daemon.project_id}/permissions", json=body)
        assert made.status_code == 201, made.text


async def question(page: Page) -> str:
    await page.wait_for_selector(".question button:enabled")
    return await page.inner_text(".question")


async def api(daemon: DaemonProcess, path: str) -> Any:
    async with daemon.client() as client:
        return (await client.get(path)).json()


async def test_a_person_sees_what_is_asked_and_lets_it_happen_once(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    await rule(daemon, "edit.text")
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "Fix the failing test")
        asked = await question(page)
        assert "The agent asks: may it use edit.text?" in asked
        assert "bakery/basket.py" in asked
        assert "`edit.text **` asks for approval" in asked
        assert await page.inner_text("#state") == "asks you"
        await page.wait_for_selector('.session[data-asking] >> text="asks you"')
        # Who comes to the page now sees the same.
        await page.reload()
        assert await question(page) == asked
        await page.wait_for_selector('.session[data-asking] >> text="asks you"')
        assert await page.inner_text("#asking") == "1"
        await page.click(".question [data-answer=once]")
        await page.wait_for_selector(f"{EDIT}[data-state=done]")
        await until_state(page, "idle")
        await expect(page.locator(".question, .session[data-asking]")).to_have_count(0)
        assert await page.inner_text("#state") == "idle"
        assert complaints.found == []
    code, output = await demo.tests()
    assert code == 0, output


async def test_always_stores_the_rule_that_the_card_shows_where_it_says(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    await rule(daemon, "edit.text")
    async with open_page(browser, daemon) as (page, complaints):
        session_id = await new_session(page)
        await send(page, "Fix the failing test")
        await question(page)
        shown = await page.inner_text(".question .suggested code")
        await page.select_option(".question select", "project")
        await page.click(".question [data-answer=always]")
        await until_state(page, "idle")
        rules = (await api(daemon, f"/projects/{daemon.project_id}/permissions"))["items"]
        assert shown in [
            f"{rule['permission']} {rule['pattern']}" for rule in rules if rule["action"] == "allow"
        ]
        assert (await api(daemon, f"/sessions/{session_id}/permissions"))["items"] == []
        assert complaints.found == []


async def test_a_rejection_says_why_and_what_hides_in_a_text_is_written_out(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    await rule(daemon, "file.create")
    async with open_page(browser, daemon) as (page, complaints):
        session_id = await new_session(page)
        await send(page, "hostile")
        asked = await question(page)
        assert "<img src=x>\\u{202e}txt.exe" in asked
        assert await page.locator(".question img").count() == 0
        await page.fill(".question input", "Not that name.")
        await page.click(".question [data-answer=reject]")
        await page.wait_for_selector("text=It was refused.")
        (closed,) = (await api(daemon, f"/sessions/{session_id}/interactions"))["items"]
        assert closed["answer"] == {"answer": "reject", "comment": "Not that name."}
        await page.click('.tool[data-tool="file.create"] summary')
        assert "Not that name." in await page.inner_text(".tool-result")
        assert complaints.found == []


async def test_two_pages_show_one_question_and_the_slower_one_loses_it(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    await rule(daemon, "edit.text")
    async with open_page(browser, daemon) as (page, complaints):
        session_id = await new_session(page)
        other = await page.context.new_page()
        await other.goto(f"{daemon.url}/#{session_id}")
        await send(page, "Fix the failing test")
        for one in (page, other):
            await question(one)
        await page.click(".question [data-answer=reject]")
        await other.wait_for_selector(".question", state="detached")
        assert await other.locator(".notice").count() == 0
        assert complaints.found == []


async def test_stopping_the_run_takes_the_question_away(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    await rule(daemon, "edit.text")
    async with open_page(browser, daemon, width=390, height=844, dark=True) as (page, complaints):
        await new_session(page)
        await send(page, "Fix the failing test")
        await question(page)
        assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
        await page.click("#stop")
        await until_state(page, "idle")
        await page.wait_for_selector(".question", state="detached")
        await page.wait_for_selector(f"{EDIT}[data-state=failed]", state="attached")
        assert complaints.found == []
