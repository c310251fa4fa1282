"""The web page when a call needs consent: what a person is shown, and what the buttons do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import WAIT_MS, new_session, open_page, post, send, until_drawn, until_state
from tests.driver.daemon_process import DaemonProcess
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("authorisation.ask")]

HOSTILE = """
  - says: hostile
    steps:
      - answer:
          - tool_call:
              name: file.create
              arguments: { path: "<img src=x>\\u202etxt.exe", content: "LINES" }
      - answer: [text: "It was refused."]
""".replace("LINES", "<b>a</b>\\u202e\\n" * 20)
NAMES = ("one", "two", "three", "four", "five")
CRUMBS = "".join(
    f"          - tool_call: {{ name: file.create, arguments: {{ path: crumbs/{name}, content: x }} }}\n"
    for name in NAMES
)
PARTS = """
  - says: sweep it
    steps:
      - answer:
          - tool_call: { name: shell.bash, arguments: { command: "make crumbs && make old.crumb" } }
      - answer: [text: "It is swept."]
"""
FIVE = f"""
  - says: five crumbs
    steps:
      - answer:
{CRUMBS}      - answer: [text: "All is said."]
"""
EDIT = '.tool[data-tool="edit.text"]'
CARDS = ".question"
#: The cards take answers again: they were in their places for half a second.
READY = ".question [data-answer=once]:not([aria-disabled=true])"
#: As soon as the last card has gone, `n` three times; `pressed` says whether the page may act on them.
PRESSES_AT_THE_END = """() => {
    const root = document.getElementById("questions");
    const press = () => document.activeElement.dispatchEvent(
        new KeyboardEvent("keydown", { key: "n", bubbles: true, cancelable: true }));
    const watch = new MutationObserver(() => {
        if (root.querySelector(".question") || document.activeElement !== root) return;
        watch.disconnect();
        window.pressed = [press(), press(), press()];
    });
    watch.observe(root, { childList: true, subtree: true });
}"""
ON_CARD = "document.activeElement.matches('.question')"


@pytest_asyncio.fixture(loop_scope="module")
async def demo(demo: Demo) -> AsyncIterator[Demo]:
    """The demo, from which the rules of a test are taken away after it."""
    demo.add_conversation(HOSTILE + FIVE + PARTS)
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
        # What is approved is shown, and why it is asked in words.
        assert "A rule of yours asks before edit.text on any file." in asked
        added = await page.locator(".question .change .added").all_inner_texts()
        removed = await page.locator(".question .change .removed").all_inner_texts()
        assert (len(added), len(removed)) == (1, 1)
        assert await page.locator(".question .reason code").all_inner_texts() == ["edit.text"]
        await expect(page.locator("#state")).to_have_text("asks you")
        await page.wait_for_selector('.session[data-asking] >> text="asks you"')
        # Who comes to the page now sees the same.
        await page.reload()
        assert await question(page) == asked
        await page.wait_for_selector('.session[data-asking] >> text="asks you"')
        await page.wait_for_selector("#inbox-count")
        await page.click(".question [data-answer=once]")
        await page.wait_for_selector(f"{EDIT}[data-state=done]")
        await until_state(page, "idle")
        await expect(page.locator(".question, .session[data-asking]")).to_have_count(0)
        await expect(page.locator("#state")).to_have_text("done")
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
        await page.click(".question [data-answer=always]")
        shown = await page.inner_text(".question .suggested code")
        await page.select_option(".question select", "project")
        await page.click(".question [data-answer=store]")
        await until_state(page, "idle")
        rules = (await api(daemon, f"/projects/{daemon.project_id}/permissions"))["items"]
        assert shown in [
            f"{rule['permission']} {rule['pattern']}" for rule in rules if rule["action"] == "allow"
        ]
        assert (await api(daemon, f"/sessions/{session_id}/permissions"))["items"] == []
        # A call of several parts: why it is asked, and why no rule is stored for it.
        await send(page, "sweep it")
        assert "asks before shell.bash on any command." in await question(page)
        await expect(page.locator(".question pre.subject")).to_have_count(3)
        only = page.locator(".question .once-only")
        await expect(only).to_contain_text("once only: a rule that you store does not lift a pinned rule")
        await expect(page.locator(".question [data-answer=always]")).to_have_count(0)
        await page.wait_for_selector(READY)
        await page.click(".question [data-answer=once]")
        await page.wait_for_selector("text=It is swept.")
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
        lines = page.locator(".question .change .added")
        assert "<b>a</b>\\u{202e}" in await lines.first.inner_text()
        await expect(lines).to_have_count(12)
        await page.get_by_role("button", name="Show all 20 lines").click()
        await expect(lines).to_have_count(20)
        assert await page.locator(".question :is(img, b)").count() == 0
        await page.click(".question [data-answer=reject]")
        await page.fill(".question input", "Not that name.")
        await page.click(".question [data-answer=send-reject]")
        await page.wait_for_selector("text=It was refused.")
        (closed,) = (await api(daemon, f"/sessions/{session_id}/interactions"))["items"]
        assert closed["answer"] == {"answer": "reject", "comment": "Not that name."}
        await page.wait_for_selector('.tool[data-tool="file.create"] .tool-result')
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
        await page.click(".question [data-answer=send-reject]")
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


async def five_questions(page: Page, daemon: DaemonProcess) -> str:
    await rule(daemon, "file.create")
    session_id = await new_session(page)
    await post(page, "five crumbs")
    return session_id


async def cancel(daemon: DaemonProcess, session_id: str) -> None:
    async with daemon.client() as client:
        (await client.post(f"/sessions/{session_id}/cancel")).raise_for_status()


async def until_pressed(page: Page) -> None:
    """Wait until the last card has gone. The policy keeps a page from waiting by itself."""
    async with asyncio.timeout(WAIT_MS / 1000):
        while not await page.evaluate("window.pressed"):  # noqa: ASYNC110 - as a person
            await asyncio.sleep(0.1)


async def states(daemon: DaemonProcess, session_id: str) -> list[str]:
    return [one["state"] for one in (await api(daemon, f"/sessions/{session_id}/interactions"))["items"]]


async def test_what_is_typed_while_questions_come_answers_none(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        session_id = await five_questions(page, daemon)
        typed = ""
        while await page.locator(CARDS).count() < len(NAMES):
            await page.keyboard.type("yayan")
            typed += "yayan"
            assert len(typed) < 20_000, await page.inner_text("#conversation")
        await page.wait_for_selector(READY)
        await page.keyboard.type("yayan")
        assert await page.input_value("#message") == typed + "yayan"
        assert await states(daemon, session_id) == ["pending"] * 5
        # The focus that a script puts on a card is nobody's.
        await page.evaluate("document.querySelector('.question').focus()")
        for key in "yan":
            await page.keyboard.press(key)
        # Nor does a key with others, nor one that is held down, nor one within half a second.
        await page.locator(".question .asks").first.click()
        assert await page.evaluate(ON_CARD)
        for key in ("Shift+Y", "Control+y", "Alt+y"):
            await page.keyboard.press(key)
        pressed = "(repeat) => document.activeElement.dispatchEvent("
        pressed += "new KeyboardEvent('keydown', { key: 'y', repeat, bubbles: true }))"
        await page.evaluate(pressed, True)
        await page.evaluate(f"dispatchEvent(new Event('focus')); ({pressed})(false)")
        assert await page.locator(".question [data-answer=once]").count() == 5
        assert await states(daemon, session_id) == ["pending"] * 5
        await cancel(daemon, session_id)
        await expect(page.locator(CARDS)).to_have_count(0)
        assert complaints.found == []


async def test_a_double_click_meets_no_second_card(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        session_id = await five_questions(page, daemon)
        await expect(page.locator(READY)).to_have_count(5)
        await until_drawn(page)
        once = page.locator("[data-answer=once]")
        await once.first.hover()
        tops = "(all) => all.map((one) => one.getBoundingClientRect().top)"
        before = await once.evaluate_all(tops)
        await once.first.dblclick()
        await expect(page.locator(".receipt")).to_have_text("You allowed file.create once")
        await page.wait_for_timeout(6_000)
        assert await once.evaluate_all(tops) == before[1:]
        assert sorted(await states(daemon, session_id)) == ["answered", *["pending"] * 4]
        await page.mouse.move(5, 5)
        await expect(page.locator(".receipt")).to_have_count(0)
        await expect(page.locator(CARDS)).to_have_count(4)
        await cancel(daemon, session_id)
        await expect(page.locator(CARDS)).to_have_count(0)
        assert complaints.found == []


async def test_keys_answer_the_card_that_a_person_has_chosen(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        session_id = await five_questions(page, daemon)
        await expect(page.locator(CARDS)).to_have_count(5)
        await page.wait_for_selector(READY)
        await page.locator(".question .asks").first.click()
        await page.keyboard.press("y")
        # The focus goes to no other card: a second key meets none.
        await expect(page.locator(CARDS)).to_have_count(4)
        assert await page.evaluate("document.activeElement.matches('.question-closed')")
        await page.wait_for_selector(READY)
        for key in "yn":
            await page.keyboard.press(key)
        assert (await states(daemon, session_id)).count("pending") == 4
        assert page.url.endswith(session_id)
        await page.keyboard.press("Tab")
        assert await page.evaluate(ON_CARD)
        await page.keyboard.press("n")
        await page.keyboard.type("No crumbs.")
        await page.keyboard.press("Enter")
        await expect(page.locator(CARDS)).to_have_count(3)
        await page.wait_for_selector(READY)
        # The rule is shown first; Escape and any other letter go back, Enter stores it.
        await page.keyboard.press("Tab")
        await page.keyboard.press("a")
        shown = await page.locator(".question .suggested code").all_inner_texts()
        await page.keyboard.press("Escape")
        await expect(page.locator(".question .suggested")).to_have_count(0)
        await page.keyboard.press("a")
        await page.keyboard.press("d")
        await page.keyboard.press("Enter")
        await expect(page.locator(".question .suggested")).to_have_count(0)
        assert (await states(daemon, session_id)).count("pending") == 3
        # An answer that is given elsewhere takes its card away, and the focus stays where it was.
        asked = (await api(daemon, f"/sessions/{session_id}/interactions"))["items"]
        last = await page.locator(CARDS).last.get_attribute("data-question-id")
        async with daemon.client() as client:
            answer = f"/sessions/{session_id}/interactions/{last}/answer"
            (await client.post(answer, json={"answer": "once"})).raise_for_status()
        await expect(page.locator(CARDS)).to_have_count(2)
        assert await page.evaluate(ON_CARD)
        await page.wait_for_selector(READY)
        chosen = await page.evaluate("document.activeElement.dataset.questionId")
        await page.evaluate(PRESSES_AT_THE_END)
        await page.keyboard.press("a")
        await page.keyboard.press("Enter")
        await expect(page.locator(f'[data-question-id="{chosen}"]')).to_have_count(0)
        rules = (await api(daemon, f"/sessions/{session_id}/permissions"))["items"]
        assert shown == [f"{one['permission']} {one['pattern']}" for one in rules]
        answers = [
            one["answer"] for one in (await api(daemon, f"/sessions/{session_id}/interactions"))["items"]
        ]
        assert {"answer": "reject", "comment": "No crumbs."} in answers
        assert len(asked) == 5
        # The rule allows the last one, too.
        await until_state(page, "idle")
        await expect(page.locator(CARDS)).to_have_count(0)
        # One key too many, where the last card was, begins no session; once the person has paused, it does.
        await until_pressed(page)
        assert await page.evaluate("window.pressed") == [False, False, False]
        assert page.url.endswith(session_id)
        await page.evaluate(
            "performance.now = ((now) => () => now() + 60000)(performance.now.bind(performance))"
        )
        await page.keyboard.press("n")
        await page.wait_for_selector("#suggestions")
        assert not page.url.endswith(session_id)
        assert complaints.found == []
