"""The web page while a run waits for a person: its session is `paused`, the run is not over.

What is written meanwhile waits, the answer lets the same run go on, and Stop ends it.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import conversation, enqueue, new_session, open_page, send, until_state
from tests.driver.daemon_process import DaemonProcess
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("durability.waiting_session")]

CONVERSATIONS = """
  - says: knead it
    steps:
      - answer:
          - tool_call: { name: shell.bash, arguments: { command: "touch dough" } }
      - answer: [text: "The dough is kneaded."]
      - answer: [text: "With salt, too."]

  - says: and then bake
    steps:
      - answer: [text: "It is baked."]
"""


@pytest.fixture
def demo(demo: Demo) -> Demo:
    demo.add_conversation(CONVERSATIONS)
    (demo.root / "dough").unlink(missing_ok=True)
    return demo


async def api(daemon: DaemonProcess, path: str) -> Any:
    async with daemon.client() as client:
        return (await client.get(path)).json()


async def asked(page: Page) -> str:
    """Begin a session whose run waits for an answer; return its address."""
    session = await new_session(page)
    await send(page, "knead it")
    await page.wait_for_selector(".question button:enabled")
    await until_state(page, "paused")
    return session


async def shows_a_run_that_waits(page: Page) -> None:
    """Check what the page offers and says while the run waits."""
    assert await page.inner_text("#state") == "asks you"
    assert "The agent waits for your answer." in await page.inner_text("#hint")
    for name in ("#message", "#mode", "#stop", "#send", "#resume"):
        assert await page.is_visible(name), name
    assert await page.is_enabled("#message")
    assert await page.is_hidden("#continue") and await page.is_hidden("#pause")
    assert await page.locator(".run-end").count() == 0
    await page.wait_for_selector(".tool[data-state=waiting]")


async def test_a_message_waits_with_the_question_and_the_answer_lets_the_same_run_go_on(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=390, height=844) as (page, complaints):
        session = await asked(page)
        await shows_a_run_that_waits(page)
        active = (await api(daemon, f"/sessions/{session}"))["active_run"]
        await enqueue(page, "and then bake")
        await page.wait_for_selector("#queue li >> text=and then bake")
        # Who comes to the page now sees the same.
        await page.reload()
        await page.wait_for_selector("#composer:not([hidden])")
        await page.wait_for_selector(".question button:enabled")
        await shows_a_run_that_waits(page)
        await page.wait_for_selector("#queue li >> text=and then bake")
        await page.click(".question [data-answer=once]")
        await page.wait_for_selector("text=It is baked.")
        await until_state(page, "idle")
        await expect(page.locator("#state")).to_have_text("done")
        assert await page.is_hidden("#hint") and await page.is_hidden("#stop")
        await expect(page.locator("#queue li")).to_have_count(0)
        assert await page.locator(".tool[data-state=done]").count() == 1
        assert await page.locator(".run-end").count() == 2
        runs = (await api(daemon, f"/sessions/{session}/runs"))["items"]
        assert [run["state"] for run in runs] == ["succeeded", "succeeded"]
        assert runs[-1]["id"] == active
        assert complaints.found == []
    assert (demo.root / "dough").exists()


async def test_a_message_that_steers_is_read_by_the_waiting_run_after_the_answer(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        session = await asked(page)
        await send(page, "with salt")
        await page.wait_for_selector("#queue li >> text=with salt")
        await shows_a_run_that_waits(page)
        await page.click(".question [data-answer=once]")
        await page.wait_for_selector("#conversation .post:has-text('with salt') .badge >> text=steered")
        await until_state(page, "idle")
        (run,) = (await api(daemon, f"/sessions/{session}/runs"))["items"]
        assert run["state"] == "succeeded"
        # An answer is plain text, unseen at first, until what reads Markdown has come.
        await page.wait_for_selector("#conversation .markdown p >> text=The dough is kneaded.")
        said = await conversation(page)
        assert said.index("with salt") < said.index("The dough is kneaded.")
        await page.wait_for_selector("#queue li", state="detached")
        assert await page.locator(".run-end").count() == 1
        assert complaints.found == []


async def test_stop_ends_the_waiting_run_and_holds_what_was_queued(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        session = await asked(page)
        await enqueue(page, "and then bake")
        await page.wait_for_selector("#queue li >> text=and then bake")
        await page.click("#stop")
        await until_state(page, "idle")
        await page.wait_for_selector(".question", state="detached")
        await page.wait_for_selector(".tool[data-state=failed]", state="attached")
        await page.wait_for_selector(".run-end[data-state=cancelled]")
        await expect(page.locator("#state")).to_have_text("cancelled")
        assert await page.is_hidden("#stop") and await page.is_hidden("#hint")
        (run,) = (await api(daemon, f"/sessions/{session}/runs"))["items"]
        assert run["state"] == "cancelled"
        await expect(page.locator("#queue li")).to_have_count(1)
        # The next message takes along what was held.
        await send(page, "and then bake")
        await page.wait_for_selector("text=It is baked.")
        assert complaints.found == []
    assert not (demo.root / "dough").exists()
