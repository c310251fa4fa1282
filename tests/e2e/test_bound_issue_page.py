"""The issue of a session in the web page: bound, worked through by the agent, fed by its subagents."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.browser import new_session, open_page, send, until_state
from tests.e2e.demo_daemon import Demo
from tests.e2e.test_issues_page import Api, entry

pytestmark = pytest.mark.requirement("R7.page.issues")

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
"""


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[Demo]:
    demo = Demo(tmp_path)
    demo.add_conversation(PLANNING)
    yield demo
    await demo.stop()


async def test_a_session_is_bound_and_shows_what_the_agent_does_to_the_checklist(demo: Demo) -> None:
    daemon = await demo.start()
    api = Api(daemon)
    await api("POST", "", {"title": "Wrong sum"})
    async with open_page(daemon) as (page, complaints):
        session_id = await new_session(page)
        await page.click("#tab-issue")
        await page.select_option("#bind-number", "1")
        await page.click("#bind")
        await page.wait_for_selector("#details .checklist")
        await page.wait_for_selector('#bound-issue >> text="#1"')
        await send(page, "plan it")
        await page.wait_for_selector("#details .todo[data-status=in_progress] >> text=Read the basket")
        await entry(page, "Fix the <b>sum</b>").wait_for()
        await until_state(page, "idle")
        await page.click("#bound-issue")
        await page.wait_for_selector("#view h2 >> text=Wrong sum")
        await page.click(".bound-sessions a")
        await page.wait_for_selector("#conversation >> text=It is planned.")
        assert session_id in page.url
        await page.click("#unbind")
        await page.wait_for_selector("#bind")
        assert not await page.is_visible("#bound-issue")
        assert complaints.found == []
