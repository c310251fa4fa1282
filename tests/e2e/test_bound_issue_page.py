"""The issue of a session in the web page: bound, worked through by the agent, fed by its subagents."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser

from tests.driver.browser import new_session, open_page, send, until_state
from tests.driver.demo_daemon import Demo
from tests.e2e.test_issues_page import Api, entry

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("page.issues")]

PLANNING = """
  - says: plan it
    steps:
      - answer:
          - tool_call:
              name: kaged.todo
              arguments: { action: add, items: ["Read the basket", "Fix the <b>sum</b>"] }
      - answer:
          - tool_call: { name: kaged.todo, arguments: { action: start, content: "read the basket" } }
      - answer: [text: "It is planned."]

  - says: ask the reviewer
    steps:
      - answer:
          - tool_call: { name: agent-reviewer, arguments: { task: review it all } }
      - answer: [text: "The reviewer has spoken."]

  - says: review it all
    steps:
      - answer:
          - text: |
              Two things are left.

              ```todos
              - [ ] Round <u>up</u>
              - [ ] Say why
              ```
"""


@pytest.fixture
def demo(demo: Demo) -> Demo:
    demo.add_conversation(PLANNING)
    return demo


async def test_a_session_is_bound_and_shows_what_the_agent_does_to_the_checklist(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    api = Api(daemon)
    number = (await api("POST", "", {"title": "Wrong sum"}))["number"]
    async with open_page(browser, daemon) as (page, complaints):
        session_id = await new_session(page)
        await page.click("#tab-issue")
        await page.select_option("#bind-number", str(number))
        await page.click("#bind")
        await page.wait_for_selector("#details .checklist")
        await page.wait_for_selector(f'#bound-issue >> text="#{number}"')
        await send(page, "plan it")
        await page.wait_for_selector("#details .todo[data-status=in_progress] >> text=Read the basket")
        await entry(page, "Fix the <b>sum</b>").wait_for()
        await until_state(page, "idle")
        await api("POST", f"/{number}/todos", {"content": "From elsewhere"})
        await entry(page, "From elsewhere").wait_for()
        await page.click("#bound-issue")
        await page.wait_for_selector("#view h2 >> text=Wrong sum")
        await page.click(".bound-sessions a")
        await page.wait_for_selector("#conversation >> text=It is planned.")
        assert session_id in page.url
        await page.click("#unbind")
        await page.wait_for_selector("#bind")
        assert not await page.is_visible("#bound-issue")
        assert complaints.found == []


async def test_what_subagents_propose_is_taken_or_turned_down(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    api = Api(daemon)
    number = (await api("POST", "", {"title": "Wrong sum"}))["number"]
    async with daemon.client() as client:
        body = {"project_id": daemon.project_id, "issue_number": number}
        session_id = (await client.post("/sessions", json=body)).json()["id"]
    async with open_page(browser, daemon) as (page, complaints):
        await page.goto(f"{daemon.url}/#{session_id}")
        await page.click("#tab-issue")
        await page.wait_for_selector("#composer:not([hidden])")
        await send(page, "ask the reviewer")
        await page.wait_for_selector("text=The reviewer has spoken.")
        await page.wait_for_selector("#details .proposals >> text=Round <u>up</u>")
        await page.click("#bound-issue")
        first = page.locator("[data-proposal]", has_text="Round <u>up</u>")
        await first.locator("[data-act=accept]").click()
        await entry(page, "Round <u>up</u>").wait_for()
        assert "proposed by primary.subagents.reviewer" in await entry(page, "Round").inner_text()
        await page.locator("[data-proposal]", has_text="Say why").locator("[data-act=reject]").click()
        await page.wait_for_selector("[data-proposal]", state="detached")
        assert await page.locator(".todo-content").all_inner_texts() == ["Round <u>up</u>"]
        assert complaints.found == []


async def test_an_assigned_issue_is_worked_on_in_a_session_that_the_page_leads_to(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    api = Api(daemon)
    number = (await api("POST", "", {"title": "Hello there"}))["number"]
    async with open_page(browser, daemon) as (page, complaints):
        await page.goto(f"{daemon.url}/#issues/{daemon.project_id}/{number}")
        await page.wait_for_selector("#assignee option[value=primary]", state="attached")
        await page.select_option("#assignee", "primary")
        await page.click("#assign")
        await page.click(".bound-sessions a")
        await page.wait_for_selector(".run-end")
        assert "Hello there" in await page.inner_text("#conversation")
        await page.go_back()
        await page.wait_for_selector(".history-list >> text=assigned it to the primary agent")
        await page.wait_for_selector(".moves .pill[data-status=in_progress]")
        assert complaints.found == []
