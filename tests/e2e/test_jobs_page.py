"""Five jobs of an operator, done on the page and counted in clicks and keys; docs/page.md has the figures.

Each begins at the start of the page, after the agents have worked, and uses only what it shows in words.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.driver.browser import COUNTED, open_page
from tests.driver.daemon_process import WAIT_SECONDS, DaemonProcess
from tests.driver.demo_daemon import Demo
from tests.driver.demo_work import fails, two_changes

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]

CONVERSATIONS = (
    two_changes("change two places")
    + """
  - says: ask me
    steps:
      - answer:
          - tool_call:
              name: kaged.ask
              arguments:
                summary: Two ways are open.
                questions:
                  - id: way
                    title: Which flour?
                    options: [{ label: Rye }, { label: Wheat }]
      - answer: [text: "Then I take that one."]

  - says: make a note
    steps:
      - answer: [{ tool_call: { name: file.create, arguments: { path: note.md, content: "A note.\\n" } } }]
      - answer: [text: "The note is there."]
"""
    + fails("bake it")
)
OTHER_MODEL = """\
chunk_delay: 0
conversations:
  - says: bake it
    steps:
      - answer: [text: "It is baked."]
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Demo]:
    """The demo with agents that change, ask and fail, and another model that does not fail."""
    demo = Demo(tmp_path_factory.mktemp("demo"))
    demo.add_conversation(CONVERSATIONS)
    (demo.root / "transcripts" / "other.yaml").write_text(OTHER_MODEL)
    text = demo.config.read_text()
    demo.config.write_text(text.replace('fast = "replay:demo"', 'fast = "replay:other"'))
    await demo.start()
    yield demo
    await demo.stop()


async def begun(daemon: DaemonProcess, title: str, says: str, project: str = "") -> str:
    """Let an agent work in a session until it has ended or asks, and return the session."""
    async with daemon.client() as client:
        body = {"project_id": project or daemon.project_id, "title": title}
        session = str((await client.post("/sessions", json=body)).raise_for_status().json()["id"])
        (await client.post(f"/sessions/{session}/messages", json={"content": says})).raise_for_status()
        await settled(client, session)
    return session


async def settled(client: Any, session: str) -> dict[str, Any]:
    """Wait until a session has ended its work or asks. One that was answered is `paused` a moment longer."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            found: dict[str, Any] = (await client.get(f"/sessions/{session}")).raise_for_status().json()
            asks = found["state"] == "paused" and found["pending_interactions"] > 0
            if found["state"] == "idle" or asks:
                return found
            await asyncio.sleep(0.05)


async def other_project(daemon: DaemonProcess, root: Path, folder: Path) -> str:
    """Load a copy of the demo's project by another name, and return its id."""
    shutil.copytree(root, folder, ignore=shutil.ignore_patterns("data"))
    file = folder / ".kaged" / "project.yaml"
    file.write_text(file.read_text().replace("project: bakery", f"project: {folder.name}"))
    async with daemon.client() as client:
        made = (await client.post("/projects/load", json={"path": str(folder)})).raise_for_status().json()
    return str(made["id"])


async def asks_before(daemon: DaemonProcess, permission: str, project: str = "") -> None:
    async with daemon.client() as client:
        body = {"permission": permission, "pattern": "**", "action": "ask"}
        place = f"/projects/{project or daemon.project_id}/permissions"
        (await client.post(place, json=body)).raise_for_status()


async def three_questions(demo: Demo, daemon: DaemonProcess, other: str) -> list[str]:
    """Let three agents ask, two of them before they write, one of them in a second project named `other`."""
    (demo.root / "note.md").unlink(missing_ok=True)
    project = await other_project(daemon, demo.root, demo.root.parent / other)
    for one in ("", project):
        await asks_before(daemon, "file.create", one)
    return [
        await begun(daemon, f"A note here, beside the {other}", "make a note"),
        await begun(daemon, f"Which flour of the {other}", "ask me"),
        await begun(daemon, f"A note there, in the {other}", "make a note", project),
    ]


async def succeeded(daemon: DaemonProcess, sessions: list[str]) -> None:
    async with daemon.client() as client:
        ended = [(await settled(client, session))["last_run"]["state"] for session in sessions]
    assert ended == ["succeeded"] * len(sessions)


def named(page: Page, title: str) -> Locator:
    """Return the row of a session in the list."""
    return page.get_by_role("link", name=title)


async def counted(page: Page) -> tuple[int, int]:
    found = await page.evaluate("window.counted")
    return found["clicks"], found["keys"]


async def test_what_an_agent_changed_is_found_and_one_change_undone(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    await begun(daemon, "Wider receipts", "change two places")
    receipt = demo.root / "bakery" / "receipt.py"
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        await page.evaluate(COUNTED)
        await named(page, "Wider receipts").click()
        # One changed file shows its difference at once, in the workspace that is open on a wide screen.
        await page.get_by_role("button", name="Revert change 1 of receipt.py").click()
        await page.get_by_text("Reverted 1 change of bakery/receipt.py").wait_for()
        assert await counted(page) == (2, 0)
        assert complaints.found == []
    assert "WIDTH = 32" in receipt.read_text()
    assert '"discount"' in receipt.read_text()


async def test_three_questions_in_two_projects_are_answered(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    sessions = await three_questions(demo, daemon, "mill")
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        await page.evaluate(COUNTED)
        await named(page, "A note here, beside the mill").click()
        await page.get_by_role("button", name="once").click()
        await named(page, "Which flour of the mill").click()
        await page.get_by_label("Rye").click()
        await page.get_by_role("button", name="Answer").click()
        await named(page, "A note there, in the mill").click()
        await page.get_by_role("button", name="once").click()
        await page.get_by_text("The note is there.").wait_for()
        assert await counted(page) == (7, 0)
        assert complaints.found == []
    await succeeded(daemon, sessions)


async def test_three_questions_in_two_projects_are_answered_in_the_inbox(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    sessions = await three_questions(demo, daemon, "barn")
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        await page.evaluate(COUNTED)
        await page.get_by_role("link", name="Inbox").first.click()
        for title in ("A note here, beside the barn", "A note there, in the barn"):
            card = page.get_by_role("article").filter(has_text=title)
            await card.get_by_role("button", name="Allow once").click()
            await card.get_by_text("You allowed").wait_for()
        await page.get_by_label("Rye").click()
        await page.get_by_role("button", name="Answer").click()
        await page.get_by_text("You chose").wait_for()
        assert await counted(page) == (5, 0)
        assert complaints.found == []
    await succeeded(daemon, sessions)


async def test_a_failed_run_says_why_and_is_tried_again_with_another_model(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    await begun(daemon, "Bake", "bake it")
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        await page.evaluate(COUNTED)
        await named(page, "Bake").click()
        await page.get_by_text("the oven is cold").first.wait_for()
        await page.get_by_role("button", name="Try with another model").click()
        models = page.get_by_label("Try again with").locator("option")
        failed = models.filter(has_text="has just failed")
        await expect(failed).to_have_text("smart (replay:demo), has just failed")
        await page.get_by_label("Try again with").select_option("fast")
        await page.get_by_text("It is baked.").wait_for()
        # Choosing from the list is a click on it and a click on the model.
        clicks, keys = await counted(page)
        assert (clicks + 2, keys) == (4, 0)
        assert complaints.found == []


async def test_a_call_is_approved_on_a_phone(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    (demo.root / "note.md").unlink(missing_ok=True)
    await asks_before(daemon, "file.create")
    session = await begun(daemon, "A note on the way", "make a note")
    async with open_page(browser, daemon, width=390, height=844) as (page, complaints):
        await page.evaluate(COUNTED)
        await page.get_by_role("link", name="Sessions", exact=True).click()
        await named(page, "A note on the way").click()
        await expect(page.get_by_text("note.md").last).to_be_in_viewport()
        await page.get_by_role("button", name="once").click()
        await page.get_by_text("The note is there.").wait_for()
        assert await counted(page) == (3, 0)
        assert complaints.found == []
    async with daemon.client() as client:
        assert (await settled(client, session))["last_run"]["state"] == "succeeded"


async def test_what_a_run_cost_stands_at_its_end(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    await begun(daemon, "Explain the bakery", "Explain this project")
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        await page.evaluate(COUNTED)
        await named(page, "Explain the bakery").click()
        await expect(page.locator(".run-end").last).to_contain_text("$0.02")
        await expect(page.locator(".run-end").last).to_be_in_viewport()
        assert await counted(page) == (1, 0)
        assert complaints.found == []
