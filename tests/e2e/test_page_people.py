"""One session on several pages: two people, two tabs of one person, and a daemon that is killed meanwhile."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import WAIT_MS, Complaints, new_session, open_page, send, until_ready, until_state
from tests.driver.daemon_process import DaemonProcess
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]

NONCE = "of-the-proxy-in-front"
CREATES = """
  - says: write it down
    steps:
      - answer: [{ tool_call: { name: file.create, arguments: { path: note.txt, content: "Rye\\n" } } }]
      - answer: [text: "It is written down."]
"""
ASK = {"permission": "file.create", "pattern": "**", "action": "ask"}
POSTS = "#conversation .post"


@pytest_asyncio.fixture(loop_scope="module")
async def shared(tmp_path: Path) -> AsyncIterator[Demo]:
    """A demo behind a proxy that says who somebody is."""
    demo = Demo(tmp_path)
    demo.add_conversation(CREATES)
    demo.config.write_text(f'{demo.config.read_text()}\n[auth]\nmode = "proxy"\nproxy_nonce = "{NONCE}"\n')
    await demo.start()
    yield demo
    await demo.stop()


@asynccontextmanager
async def person(browser: Browser, daemon: DaemonProcess, name: str, session: str) -> AsyncIterator[Page]:
    """Open a session as somebody whom the proxy has let in."""
    headers = {"X-Kaged-User-Id": name, "X-Kaged-Auth-Nonce": NONCE}
    # The browser fetches its service worker without them.
    context = await browser.new_context(extra_http_headers=headers, service_workers="block")
    try:
        context.set_default_timeout(WAIT_MS)
        page = await context.new_page()
        complaints = Complaints.of(page, daemon.url)
        await page.goto(f"{daemon.url}/#{session}")
        await until_ready(page)
        await page.wait_for_selector("#suggestions")
        yield page
        assert [said for said in complaints.found if "Service Worker" not in said] == []
    finally:
        await context.close()


async def session_that_asks(daemon: DaemonProcess) -> str:
    async with daemon.client() as client:
        made = await client.post("/sessions", json={"project_id": daemon.project_id})
        session: str = made.json()["id"]
        (await client.post(f"/sessions/{session}/permissions", json=ASK)).raise_for_status()
    return session


async def test_two_people_see_who_wrote_and_who_answered(shared: Demo, browser: Browser) -> None:
    daemon = await shared.start()
    session = await session_that_asks(daemon)
    async with (
        person(browser, daemon, "ada", session) as ada,
        person(browser, daemon, "grace", session) as grace,
    ):
        await send(ada, "write it down")
        for page in (ada, grace):
            await page.wait_for_selector(".question button:enabled")
        await grace.click(".question [data-answer=once]")
        for page in (ada, grace):
            await page.wait_for_selector("text=It is written down.")
            await expect(page.locator(".question")).to_have_count(0)
        # What is sent before that steers the run.
        await until_state(grace, "idle")
        await send(grace, "thanks")
        for _ in ("live", "stored"):
            for page, mine in ((ada, 0), (grace, 1)):
                posts = page.locator(POSTS)
                await expect(posts).to_have_count(2)
                await expect(posts.nth(mine)).to_have_accessible_name("You")
                await expect(posts.nth(1 - mine)).to_have_accessible_name("grace" if page is ada else "ada")
                await page.reload()
                await page.wait_for_selector(".run-end")
        async with daemon.client() as client:
            (asked,) = (await client.get(f"/sessions/{session}/interactions")).json()["items"]
        assert asked["answered_by"].endswith("grace")
        await expect(ada.locator("#version")).to_contain_text("ada")
        await expect(grace.locator("#version")).to_contain_text("grace")
    assert (shared.root / "note.txt").read_text() == "Rye\n"


async def test_a_tab_keeps_its_draft_while_the_other_one_sends_and_answers(
    demo: Demo, browser: Browser
) -> None:
    demo.add_conversation(CREATES)
    daemon = await demo.start()
    session = await session_that_asks(daemon)
    async with open_page(browser, daemon) as (page, complaints):
        await page.goto(f"{daemon.url}/#{session}")
        other = await page.context.new_page()
        also = Complaints.of(other, daemon.url)
        await other.goto(f"{daemon.url}/#{session}")
        for one in (page, other):
            await one.wait_for_selector("#suggestions")
        await page.fill("#message", "a draft")
        await send(other, "write it down")
        for one in (page, other):
            await one.wait_for_selector(".question button:enabled")
        await other.fill("#message", "another draft")
        # A question takes nobody's focus, and typing answers nothing.
        await page.focus("#message")
        await page.keyboard.press("End")
        await page.keyboard.type("yayan")
        await expect(page.locator(".question button:enabled").first).to_be_visible()
        await page.click(".question [data-answer=once]")
        for one, draft in ((page, "a draftyayan"), (other, "another draft")):
            await one.wait_for_selector("text=It is written down.")
            await expect(one.locator(".question")).to_have_count(0)
            await expect(one.locator(POSTS)).to_have_count(1)
            await expect(one.locator("#message")).to_have_value(draft)
            await one.reload()
            await one.wait_for_selector(".run-end")
            await expect(one.locator("#message")).to_have_value(draft)
        assert complaints.found == also.found == []


@pytest_asyncio.fixture(loop_scope="module")
async def slow(tmp_path: Path) -> AsyncIterator[Demo]:
    """The demo, so slow that an answer is under way for a while."""
    demo = Demo(tmp_path, speed=4)
    await demo.start()
    yield demo
    await demo.stop()


async def test_an_answer_that_a_kill_cuts_off_is_shown_once_and_the_page_goes_on(
    slow: Demo, browser: Browser
) -> None:
    daemon = await slow.start()
    async with open_page(browser, daemon) as (page, _):
        session = await new_session(page)
        other = await page.context.new_page()
        await other.goto(f"{daemon.url}/#{session}")
        await other.wait_for_selector("#suggestions")
        await send(page, "Tell me a long story")
        await page.wait_for_selector("text=a baker kept a pot of dough")
        await page.fill("#message", "a draft")
        daemon.send_signal(signal.SIGKILL)
        await daemon.process.wait()
        for one in (page, other):
            await one.wait_for_selector("#away >> text=The connection is lost")
        assert "a baker kept a pot of dough" in await page.inner_text("#conversation")
        daemon = await slow.start()
        for one in (page, other):
            await one.wait_for_selector("#connection >> text=live")
            await expect(one.locator("#away")).to_have_text("")
            await until_state(one, "paused")
        await expect(page.locator("#message")).to_have_value("a draft")
        await page.click("#resume")
        await page.wait_for_selector("text=begin again")
        await until_state(page, "idle")
        shown = await page.locator("#conversation :is(.post-text, .answer .markdown)").all_inner_texts()
        for one in (other, page):
            if one is page:
                await one.reload()
            await one.wait_for_selector("text=begin again")
            await until_state(one, "idle")
            again = one.locator("#conversation :is(.post-text, .answer .markdown)")
            # An answer is plain text until what reads Markdown has come.
            await expect(again).to_have_text(shown, use_inner_text=True)
        await expect(page.locator("#message")).to_have_value("a draft")
        async with daemon.client() as client:
            stored = (await client.get(f"/sessions/{session}/messages")).json()["items"]
        assert [one["content"] for one in stored if one["role"] == "operator"] == ["Tell me a long story"]
        assert sum("Long before anybody" in text for text in shown) <= 2
        assert shown.count("Tell me a long story") == 1
