"""The web page while subagents work: each delegation is a fold of its own, live and after a reload."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect

from tests.driver.axe import read_axe, violations
from tests.driver.browser import new_session, open_page, send, until_ready, until_state
from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.family import Cast, agent, calling, write_family
from tests.fakes.provider_script import Hold, Reply, Text, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.asyncio(loop_scope="module")

CAGE = {
    "fs": [{"mode": "ro", "path": "."}, {"mode": "rw", "path": "src"}],
    "net": {"allow": ["pypi.org:443"]},
}
FAMILY = agent("primary", subagents={"lead": agent("lead", subagents={"coder": agent("coder", cage=CAGE)})})
LEAD, CODER = (
    f'.delegation[data-agent="primary.subagents.{path}"]' for path in ("lead", "lead.subagents.coder")
)

OPEN = 'a:text("Open beside")'


@pytest.mark.requirement("delegation.stream")
async def test_what_subagents_say_is_folded_under_their_names(tmp_path: Path, browser: Browser) -> None:
    cast = Cast()
    cast.script("primary", calling(("agent-lead", {"task": "lead it"})), text_reply("All is done."))
    cast.script("lead", calling(("agent-coder", {"task": "code it"})), text_reply("The lead is done."))
    cast.script("coder", text_reply("The coder is done."))
    root = write_family(tmp_path / "family", FAMILY)
    async with FakeProvider(cast.respond) as model:
        config = write_config(tmp_path / "config.toml", model.port)
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            async with open_page(browser, daemon) as (page, complaints):
                await new_session(page)
                await send(page, "Please")
                await page.wait_for_selector(".run-end[data-state=succeeded] >> nth=-1", state="attached")
                await until_state(page, "idle")
                for _ in ("live", "stored"):
                    await page.wait_for_selector(f"{LEAD} > summary")
                    # An answer is plain text, unseen at first, until what reads Markdown has come.
                    await page.wait_for_selector("#conversation .markdown p >> text=All is done.")
                    assert "The coder is done." not in await page.inner_text("#conversation")
                    # Each thread is read when it is unfolded, and stands in the one above it.
                    await page.click(f"{LEAD} > summary")
                    await page.wait_for_selector(f"{LEAD} >> text=The lead is done.")
                    await page.click(f"{LEAD} {CODER} > summary")
                    await page.wait_for_selector(f"{LEAD} {CODER} >> text=The coder is done.")
                    assert await page.locator(".delegation").count() == 2
                    # What each may reach: in a word, and in full.
                    assert await page.inner_text(f"{LEAD} > summary .agent-cage") == "full access"
                    word = page.locator(f"{LEAD} {CODER} > summary .agent-cage")
                    assert await word.inner_text() == "writes some files · 1 host"
                    await page.click(f"{LEAD} {CODER} > .cage > summary")
                    facts = await page.locator(f"{LEAD} {CODER} > .cage dd").all_inner_texts()
                    assert [one.strip() for one in facts] == [
                        "the project",
                        "src",
                        "no commands",
                        "pypi.org:443",
                    ]
                    card = page.locator('.tool[data-tool="agent-lead"]').first
                    assert await card.get_attribute("data-state") == "done"
                    await page.reload()
                # The session's own agent has no card: the tab of the session says the same of it.
                await page.click("#tab-session")
                root_cage = page.get_by_role("region", name="Cage of the agent")
                assert await root_cage.locator(".agent-cage").inner_text() == "full access"
                await root_cage.locator(".cage > summary").click()
                assert "Everything" in await root_cage.locator(".cage dd").inner_text()
                assert not complaints.found
        finally:
            await daemon.kill()


async def reads(page: Page, text: str) -> None:
    """Wait until the lead says this beside the conversation. Its card stays folded."""
    await expect(page.locator(".beside .answer")).to_have_text(re.compile(text))
    assert await page.locator(LEAD).get_attribute("open") is None


async def as_pending(route: Route) -> None:
    """Answer with the runs of subagents as they are before they begin."""
    answer = await route.fetch()
    runs = await answer.json()
    for run in runs["items"]:
        run["state"] = "pending" if run["parent_run_id"] else run["state"]
    await route.fulfill(response=answer, json=runs)


async def is_beside(page: Page, lead: bool) -> None:
    await expect(page.locator(".beside")).to_have_count(int(lead))
    await expect(page.locator("#tab-agent")).to_have_count(int(lead))


@dataclass(frozen=True)
class Speaking:
    """A daemon whose lead says `One. Two. Three.`: the second word after `first`, the last after `second`."""

    daemon: DaemonProcess
    first: asyncio.Event
    second: asyncio.Event


@pytest_asyncio.fixture(loop_scope="module")
async def speaking(tmp_path: Path) -> AsyncIterator[Speaking]:
    first, second = Hold(), Hold()
    cast = Cast()
    cast.script("primary", calling(("agent-lead", {"task": "lead it"})), text_reply("All is done."))
    cast.script("lead", Reply((Text("One."), first, Text(" Two."), second, Text(" Three."))))
    root = write_family(tmp_path / "family", FAMILY)
    async with FakeProvider(cast.respond) as model:
        config = write_config(tmp_path / "config.toml", model.port)
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            yield Speaking(daemon, first.gate, second.gate)
        finally:
            first.gate.set()
            second.gate.set()
            await daemon.kill()


@pytest.mark.requirement("delegation.stream", "websocket.snapshot")
async def test_a_page_that_comes_in_the_middle_of_an_answer_shows_all_of_it(
    speaking: Speaking, browser: Browser
) -> None:
    daemon = speaking.daemon
    async with open_page(browser, daemon) as (page, complaints), daemon.client() as client:
        session = await new_session(page)
        await send(page, "Please")
        await page.click(OPEN)
        await reads(page, r"One\.")
        # An event of something else, newer than what the answer has said.
        renamed = await client.patch(f"/sessions/{session}", json={"title": "Renamed"})
        assert renamed.status_code == 200
        await page.reload()
        await reads(page, r"^\s*One\.\s*$")
        # Its thread is read only when it is opened.
        await page.goto(f"{daemon.url}/#{session}")
        async with page.expect_event("websocket", lambda one: session in one.url) as opened:
            await page.reload()
        stream = await opened.value
        await until_ready(page)
        async with stream.expect_event("framereceived", lambda text: " Two." in text):
            speaking.first.set()
        await page.click(f"{LEAD} > summary")
        await expect(page.locator(f"{LEAD} .answer")).to_have_text(re.compile(r"One\. Two\."))
        speaking.second.set()
        await expect(page.locator(f"{LEAD} .answer")).to_have_text(re.compile(r"One\. Two\. Three\."))
        await until_state(page, "idle")
        assert complaints.found == []


@pytest.mark.requirement("delegation.stream")
async def test_a_subagent_stands_beside_the_conversation(
    tmp_path: Path, speaking: Speaking, browser: Browser
) -> None:
    axe = read_axe(tmp_path / "packages")
    daemon = speaking.daemon
    async with open_page(browser, daemon) as (page, complaints):
        session = await new_session(page)
        await send(page, "Please")
        # It is read while it is written, also after a reload in the middle.
        await page.click(OPEN)
        await reads(page, r"One\.")
        run = await page.locator(LEAD).get_attribute("data-run")
        address = f"{daemon.url}/#{session}/agents/{run}"
        assert page.url == address
        head = page.get_by_role("region", name="Agent lead").locator("> header")
        await expect(head).to_contain_text("lead it")
        await expect(head).to_contain_text("running")
        # One that has yet to begin can be stopped, too.
        stop = head.locator("[data-act=stop-agent]")
        await page.route(re.compile("/runs[?]"), as_pending)
        await page.reload()
        await expect(head).to_contain_text("pending")
        await expect(stop).to_be_visible()
        await page.unroute_all()
        await page.reload()
        await expect(head).to_contain_text("running")
        speaking.first.set()
        await reads(page, r"One\. Two\.")
        await page.reload()
        await reads(page, r"One\. Two\.")
        speaking.second.set()
        await reads(page, r"One\. Two\. Three\.")
        await until_state(page, "idle")
        await expect(head).to_contain_text("succeeded")
        await expect(head.locator("[data-act=stop-agent]")).to_have_count(0)
        assert await violations(page, axe) == []

        # The other tabs are there, and the way back from them.
        await page.click("#tab-files")
        await expect(page.locator(".beside")).to_have_count(0)
        await page.click("#tab-agent")
        await reads(page, "Three")
        await page.click("#tab-files")
        await page.click(OPEN)
        await reads(page, "Three")

        # Back closes it and forward opens it. Who closes it goes on at the tab before it.
        await page.go_back()
        await is_beside(page, False)
        assert page.url == f"{daemon.url}/#{session}"
        await expect(page.locator("#tab-files")).to_have_attribute("aria-selected", "true")
        await page.go_forward()
        await reads(page, "Three")
        await page.click("[data-act=close-agent]")
        await is_beside(page, False)
        await expect(page.locator("#tab-files")).to_be_focused()
        assert complaints.found == []

        await page.goto(f"{address}0")
        await expect(page.locator(".beside [role=alert]")).to_have_text("This session has no such subagent.")
        assert all("404" in one for one in complaints.found)
    # On a phone it lies over the conversation.
    async with open_page(browser, daemon, width=390, height=844, dark=True) as (page, complaints):
        await page.goto(address)
        await until_ready(page)
        await reads(page, "Three")
        box = await page.locator("#details").bounding_box()
        assert box and (box["x"], box["width"]) == (0, 390)
        assert await page.evaluate("document.documentElement.scrollWidth") == 390
        await page.click("#close-details")
        await expect(page.locator("#details")).to_be_hidden()
        await page.click(OPEN)
        await reads(page, "Three")
        assert await violations(page, axe) == []
        await page.click("[data-act=close-agent]")
        await expect(page.locator("#details")).to_be_hidden()
        assert complaints.found == []
