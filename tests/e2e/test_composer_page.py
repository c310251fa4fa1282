"""The message field of the web page: commands, mentions, files, the queue, messages that are written anew."""

from __future__ import annotations

import asyncio
import re
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect

from tests.driver.browser import conversation, enqueue, new_session, open_page, send, until_state, until_true
from tests.driver.daemon_process import DaemonProcess
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]

CONVERSATIONS = """
  - says: write on and on
    steps:
      - answer: [{ text: "Once upon a time " }, { stall: true }]
  - says: use a tool
    steps:
      - answer:
          - tool_call: { name: shell.bash, arguments: { command: "sleep 600" } }
  - when: first question
    steps:
      - answer: [text: "The first answer."]
  - says: second question
    steps:
      - answer: [text: "The second answer."]
  - says: better question
    steps:
      - answer: [text: "The better answer."]
"""

STANDS_OVER = """(() => {
    const box = (name) => document.querySelector(name).getBoundingClientRect();
    const [over, ring] = [box(".popup"), box("#context")];
    const inside = over.left >= 0 && over.right <= innerWidth;
    return inside && over.left <= ring.left && over.right >= ring.right && over.bottom <= ring.top;
})()"""
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


@pytest_asyncio.fixture(loop_scope="module")
async def demo(demo: Demo) -> Demo:
    demo.add_conversation(CONVERSATIONS)
    return demo


async def api(daemon: DaemonProcess, path: str) -> Any:
    async with daemon.client() as client:
        return (await client.get(path)).json()


async def options(page: Page, expected: str) -> list[str]:
    """Return what is suggested, as soon as this is: before, it may be what fits a part of the word."""
    labels = page.locator(".suggestions .label")
    await expect(labels.filter(has_text=re.compile(f"^{re.escape(expected)}$"))).to_have_count(1)
    return [text.replace("\n", " ") for text in await labels.all_inner_texts()]


async def test_mentions_and_commands_are_found_and_chosen_by_keyboard(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints), daemon.client() as client:
        made = {"title": "Bread is stale"}
        number = (await client.post(f"/projects/{daemon.project_id}/issues", json=made)).json()["number"]
        session = await new_session(page)
        field = page.locator("#message")
        await field.press_sequentially("Look at @money")
        await options(page, "bakery/money.py")
        # The field keeps the focus and names the suggestion that Enter takes.
        meant = await field.get_attribute("aria-activedescendant")
        assert await page.locator(f"#{meant}").get_attribute("aria-selected") == "true"
        assert await field.evaluate("field => document.activeElement === field")
        await field.press("Enter")
        await expect(field).to_have_value("Look at @bakery/money.py ")
        await field.press_sequentially("for @Bread")
        await page.wait_for_selector(f'.suggestions .label:text("#{number} Bread is stale")')
        await field.press("Tab")
        await expect(field).to_have_value(f"Look at @bakery/money.py for #{number} ")
        # Escape closes the suggestions and nothing else; they stay away from this word.
        await field.press_sequentially("@mon")
        await options(page, "bakery/money.py")
        await field.press("Escape")
        await expect(page.locator(".suggestions")).to_have_count(0)
        await field.press_sequentially("e")
        await field.fill("")
        await field.press_sequentially("/")
        found = await options(page, "/fix")
        assert {"/mode", "/model", "/compact"} <= set(found)
        assert "/stop" not in found
        await field.press_sequentially("rename Fresh bread")
        await field.press("Enter")
        await expect(page.locator("#title")).to_have_text("Fresh bread")
        await field.press_sequentially("/mode full")
        await field.press("Enter")
        await page.wait_for_selector("#session-mode[data-mode=full]")
        # A word that is mistaken for a command is not sent at once.
        await field.press_sequentially("/modle full")
        await field.press("Enter")
        await expect(page.locator("#composer")).to_contain_text("There is no command /modle.")
        await expect(field).to_have_value("/modle full")
        await field.fill("")
        # What is no command is a message.
        await send(page, "/etc/hosts: first question")
        await page.wait_for_selector(".run-end")
        detail = await api(daemon, f"/sessions/{session}")
        assert (detail["title"], detail["mode"]) == ("Fresh bread", "full")
        posts = await page.locator("#conversation .post:not(.superseded *) .post-text").all_inner_texts()
        assert posts == ["/etc/hosts: first question"]
        assert complaints.found == []


async def test_enter_takes_what_is_found_for_the_whole_word(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        session = await new_session(page)
        field = page.locator("#message")
        await field.press_sequentially("See @b")
        await options(page, "bakery/receipt.py")
        answers = asyncio.Event()

        async def answer(route: Route) -> None:
            await answers.wait()
            await route.continue_()

        await page.route("**/files/search?q=ba*", answer)
        for written, then in (("akery/money", "See @bakery/money.py "), ("azzz", "")):
            answers.clear()
            await field.press_sequentially(written)
            # What is shown was found for less: Enter waits, and a held key waits once.
            await field.press("Enter")
            await field.dispatch_event("keydown", {"key": "Enter", "repeat": True})
            assert await field.input_value() == f"See @b{written}"
            answers.set()
            await expect(field).to_have_value(then)
            if then:
                await field.fill("See @b")
                await options(page, "bakery/receipt.py")
        # Nothing has this name: it is a message.
        await page.wait_for_selector("#conversation .post")
        posted = (await api(daemon, f"/sessions/{session}/messages"))["items"][0]
        assert posted["content"] == "See @bazzz"
        assert complaints.found == []


async def test_what_waits_is_edited_sent_now_and_removed(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=390, height=844) as (page, complaints):
        session = await new_session(page)
        await send(page, "write on and on")
        await page.wait_for_selector("text=Once upon a time")
        assert await page.is_checked("#mode [value=steer]")
        await enqueue(page, "first")
        await enqueue(page, "second")
        waiting = page.locator("#queue li")
        await expect(waiting).to_have_count(2)
        await waiting.nth(0).locator("[data-act=remove]").click()
        await expect(waiting).to_have_count(1)
        # Up in the empty field edits what waits.
        await page.press("#message", "ArrowUp")
        await waiting.locator("textarea").fill("second question")
        await waiting.locator("textarea").press("Enter")
        await expect(waiting).to_contain_text("second question")
        await waiting.locator("[data-act=send]").click()
        await page.wait_for_selector("#queue li[data-delivery=steer]")
        await waiting.locator("[data-act=wait]").click()
        await page.wait_for_selector("#queue li[data-delivery=queued]")
        assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
        # Another page sees the same.
        await page.reload()
        await page.wait_for_selector("#queue li >> text=second question")
        # Only the model writes: Escape stops at once, and what waits is held until it is sent.
        await page.press("#message", "Escape")
        await until_state(page, "idle")
        await page.click("#queue li[data-delivery=held] [data-act=send]")
        await page.wait_for_selector("text=The second answer.")
        await expect(waiting).to_have_count(0)
        posts = page.locator("#conversation .post:not(.superseded *) .post-text")
        await expect(posts).to_have_text(["write on and on", "second question"])
        # Its words are there before its run has ended.
        await until_state(page, "idle")
        runs = (await api(daemon, f"/sessions/{session}/runs"))["items"]
        assert [run["state"] for run in runs] == ["succeeded", "cancelled"]
        assert complaints.found == []


async def test_escape_asks_once_while_a_tool_is_at_work(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "use a tool")
        await page.click(".question button[data-answer=once]")
        await until_state(page, "running")
        await page.wait_for_selector(".question", state="detached")
        await page.press("#message", "Escape")
        await page.wait_for_selector("#stopping >> text=Press Esc again")
        # Another key takes the question back.
        await page.press("#message", "a")
        await page.wait_for_selector("#stopping", state="hidden")
        assert await page.get_attribute("#state", "data-state") == "running"
        await page.press("#message", "Escape")
        await page.wait_for_selector("#stopping >> text=Press Esc again")
        await page.press("#message", "Escape")
        await until_state(page, "idle")
        assert await page.input_value("#message") == "a"
        assert complaints.found == []


async def test_the_last_message_is_written_anew(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "first question")
        await page.wait_for_selector("text=The first answer.")
        await until_state(page, "idle")
        await send(page, "second question")
        await page.wait_for_selector("text=The second answer.")
        await until_state(page, "idle")
        await page.press("#message", "ArrowUp")
        await expect(page.locator("#message")).to_have_value("second question")
        # Escape keeps the conversation as it is.
        await page.press("#message", "Escape")
        await expect(page.locator("#message")).to_have_value("")
        await page.press("#message", "ArrowUp")
        await expect(page.locator("#message")).to_have_value("second question")
        await send(page, "better question")
        await page.wait_for_selector("text=The better answer.")
        await until_state(page, "idle")
        shown = page.locator("#conversation .post:not(.superseded *) .post-text")
        await expect(shown).to_have_text(["first question", "better question"])
        assert "The first answer." in await conversation(page)
        assert complaints.found == []


async def test_images_and_files_go_with_a_message(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        session = await new_session(page)
        await page.set_input_files(
            "#composer input[type=file]",
            [
                {"name": "pixel.png", "mimeType": "image/png", "buffer": PIXEL},
                {"name": "out.log", "mimeType": "text/plain", "buffer": b"it failed"},
                {"name": "gone.png", "mimeType": "image/png", "buffer": PIXEL},
            ],
        )
        attached = page.locator(".attached li[data-state=here]")
        await expect(attached).to_have_count(3)
        await page.click("[aria-label='Remove gone.png']")
        await expect(attached).to_have_count(2)
        empty = {"name": "empty.png", "mimeType": "image/png", "buffer": b""}
        await page.set_input_files("#composer input[type=file]", [empty])
        await expect(page.locator("#notices")).to_contain_text("empty.png is left out: it is empty.")
        await expect(attached).to_have_count(2)
        # What is attached stays with its session.
        await page.evaluate("id => (location.hash = '')", session)
        await page.wait_for_selector("#composer", state="hidden")
        await page.evaluate("id => (location.hash = id)", session)
        await expect(attached).to_have_count(2)
        await send(page, "first question")
        await page.wait_for_selector("text=The first answer.")
        await expect(page.locator(".attached li")).to_have_count(0)
        posted = (await api(daemon, f"/sessions/{session}/messages"))["items"][0]
        place = f".kaged/tmp/{session}/out.log"
        assert posted["content"] == f"first question\n\nAttached files:\n- {place}"
        assert [one["media_type"] for one in posted["details"]["attachments"]] == ["image/png"]
        assert (demo.root / place).read_bytes() == b"it failed"
        assert complaints.found == []


async def test_the_model_is_chosen_with_its_price_for_the_session_or_for_once(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, dark=True) as (page, complaints):
        session = await new_session(page)
        await page.click("#session-model")
        await page.wait_for_selector(".popup [role=option] >> text=$3.00 in, $15.00 out per 1M tokens")
        find = page.locator(".popup [role=combobox]")
        await find.press_sequentially("smart")
        meant = await find.get_attribute("aria-activedescendant")
        assert await page.locator(f'[id="{meant}"]').get_attribute("data-value") == "smart"
        await find.press("Enter")
        await expect(page.locator("#session-model")).to_contain_text("smart")
        assert (await api(daemon, f"/sessions/{session}"))["overrides"] == {"model": "smart"}
        # The keyboard is back in the field, and what another client chooses is shown.
        assert await page.evaluate("document.activeElement.id") == "message"
        async with daemon.client() as client:
            (await client.patch(f"/sessions/{session}", json={"model": "fast"})).raise_for_status()
        await expect(page.locator("#session-model")).to_contain_text("fast")
        await page.click("#session-model")
        await page.check("#model-once")
        await page.click(".popup [data-value=smart]")
        await expect(page.locator("#session-model")).to_contain_text("smart, once")
        await send(page, "first question")
        await page.wait_for_selector("text=The first answer.")
        await until_state(page, "idle")
        await expect(page.locator("#session-model")).to_contain_text("fast")
        posted = (await api(daemon, f"/sessions/{session}/messages"))["items"][0]
        assert posted["details"]["model"] == "smart"
        # How full the context is, and the cost, in words.
        title = re.compile(r"Context: 3.9k of 200k tokens\n(.*\n)+Cost of the session: \$0\.012")
        await expect(page.locator("#context-words")).to_have_text(title)
        # What fills it: the tip has the shares, the panel the tokens.
        (use,) = (await api(daemon, f"/sessions/{session}"))["context"]
        shares = use["shares"]
        tip = (await page.locator("#context-words").text_content() or "").split("\n")
        part = [round(100 * shares[name] / use["tokens"]) for name in ("system", "tools", "messages")]
        names = ("System prompt", "Tools", "Messages")
        told = [f"{name} {value} %" for name, value in zip(names, part, strict=True)]
        assert tip[1:] == [*told, "Results 0 %", "Cost of the session: $0.012"]
        await page.click("#context")
        await page.wait_for_selector(".popup [role=img][aria-label='3.9k of 200k tokens']")
        shown = [await page.inner_text(f".popup [data-share={name}]") for name in ("tools", "results")]
        assert shown == [f"{shares['tools'] / 1000:.1f}k {part[1]} %", "0 0 %"]
        # It stands over the button that opens it, in a window of any width.
        for width in (1280, 800, 390):
            await page.set_viewport_size({"width": width, "height": 800})
            await until_true(page, STANDS_OVER)
        assert complaints.found == []


async def test_a_new_session_works_in_a_worktree_or_in_several_attempts(
    own_demo: Demo, browser: Browser
) -> None:
    own_demo.add_conversation(CONVERSATIONS)
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Begin")):
        git = ("git", "-C", str(own_demo.root), "-c", "user.name=a", "-c", "user.email=a@example.org")
        process = await asyncio.create_subprocess_exec(*git, *command)
        assert await process.wait() == 0
    daemon = await own_demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        shared = await new_session(page)
        await page.fill("#message", "first question")
        await page.click("#session-start")
        await page.click("input[name=workspace][value=worktree]")
        await expect(page.locator("#session-start")).to_contain_text("Own worktree")
        # Where a session works is settled when it is made: this is another one, with what was written.
        own = urlsplit(page.url).fragment
        assert own != shared
        assert await page.input_value("#message") == "first question"
        # It is opened while the one before is being removed.
        async with daemon.client() as client, asyncio.timeout(45):
            while (await client.get(f"/sessions/{shared}")).status_code != 404:  # noqa: ASYNC110 - as a client
                await asyncio.sleep(0.1)
        assert (await api(daemon, f"/sessions/{own}/workspace"))["kind"] == "worktree"
        # Attempts have worktrees of their own: they begin in a session without one.
        await page.click("#session-start")
        await expect(page.locator("#attempts")).to_be_disabled()
        await page.click("input[name=workspace][value=shared]")
        await expect(page.locator("#session-start")).to_contain_text("Project folder")
        assert await page.input_value("#message") == "first question"
        await page.click("#session-start")
        await page.select_option("#attempts", "2")
        await page.fill("#attempts-check", "true")
        await page.click(".popup >> text=Done")
        await expect(page.locator("#session-start")).to_contain_text("2 attempts")
        await page.press("#message", "Enter")
        begun = page.locator("#begun a")
        await expect(begun).to_have_count(2)
        await begun.nth(1).click()
        await page.wait_for_selector("text=The first answer.")
        (group,) = (await api(daemon, f"/projects/{daemon.project_id}/attempts"))["items"]
        assert urlsplit(page.url).fragment in [one["session_id"] for one in group["attempts"]]
        assert group["check"]["command"] == "true"
        assert complaints.found == []
