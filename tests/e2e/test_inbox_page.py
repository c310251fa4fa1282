"""The inbox of the page: what waits for a person over all projects, answered in place."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import open_page, until_drawn
from tests.driver.daemon import next_frame
from tests.driver.daemon_process import DaemonProcess
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("page.inbox")]

CONVERSATIONS = """
  - says: mill the grain
    steps:
      - answer:
          - tool_call: { name: file.create, arguments: { path: secret-flour.txt, content: hidden } }
      - answer: [text: "The grain is milled."]

  - says: mill a lot
    steps:
      - answer:
          - tool_call: { name: file.read, arguments: { path: README.md } }
        usage: { input_tokens: 85000, output_tokens: 100 }
      - answer:
          - tool_call: { name: file.create, arguments: { path: flour.txt, content: much } }
        usage: { input_tokens: 400, output_tokens: 0 }
      - answer: [text: "All of it is milled."]
        usage: { input_tokens: 0, output_tokens: 10 }

  - says: ask the reviewer
    steps:
      - answer:
          - tool_call: { name: agent-reviewer, arguments: { task: review the flour } }
      - answer:
          - tool_call: { name: file.create, arguments: { path: notes.txt, content: two things } }
      - answer: [text: "The reviewer has spoken."]

  - says: review the flour
    steps:
      - answer:
          - text: |
              Two things are left.

              ```todos
              - [ ] Sift <b>twice</b>
              - [ ] Weigh it
              ```

  - says: read it all
    steps:
      - answer:
          - tool_call: { name: file.read, arguments: { path: README.md } }
      - answer:
          - tool_call: { name: file.read, arguments: { path: bakery/basket.py } }
      - answer:
          - tool_call: { name: file.read, arguments: { path: pyproject.toml } }
      - answer: [text: "All of it is read."]

  - says: burn it
    steps:
      - answer:
          - error: { kind: bad_request, message: the oven is cold, status: 400, times: 1 }
          - text: It is baked after all.
"""
#: What waits; what was done has a line in its place for a while.
ARTICLES = ".inbox article:not(.done)"
RECEIPTS = ".inbox article.done .receipt"
HIDE = """(hidden) => {
    const say = (name, value) =>
        Object.defineProperty(document, name, { configurable: true, get: () => value });
    say("hidden", hidden);
    say("visibilityState", hidden ? "hidden" : "visible");
    document.dispatchEvent(new Event("visibilitychange"));
}"""
NOTIFICATIONS = """
    window.told = [];
    window.asked = 0;
    window.Notification = class {
        static permission = "default";
        static async requestPermission() { window.asked += 1; return (this.permission = "granted"); }
        constructor(title, options) { Object.assign(this, { title, ...options }); window.told.push(this); }
        close() { this.closed = true; this.onclose?.(); }
    };
"""


#: What happens every 20 seconds happens at once.
SOON = """
    window.setInterval = ((plain) => (work, time, ...rest) =>
        plain(work, time === 20_000 ? 100 : time, ...rest))(window.setInterval);
"""


class Desk:
    """What tests do with the daemon beside the page."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self.daemon = daemon

    async def __call__(self, method: str, path: str, body: Any = None) -> Any:
        async with self.daemon.client() as client:
            answer = await client.request(method, path, json=body)
            assert answer.is_success, answer.text
            return answer.json() if answer.content else None

    async def begin(self, title: str, text: str, project_id: str = "", **more: Any) -> str:
        """Begin a session with a message, and return its id."""
        made = await self(
            "POST",
            "/sessions",
            {"project_id": project_id or self.daemon.project_id, "title": title, **more},
        )
        await self("POST", f"/sessions/{made['id']}/messages", {"content": text})
        return str(made["id"])

    async def copy_project(self, demo: Demo, root: Path, *changes: tuple[str, str]) -> str:
        """Make a second project of the demo, named as its folder, and return its id. Of each of the
        `changes` the second stands in its file instead of the first."""
        shutil.copytree(demo.root, root)
        file = root / ".kaged" / "project.yaml"
        text = file.read_text().replace("project: bakery", f"project: {root.name}")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        file.write_text(text)
        loaded = await self("POST", "/projects/load", {"path": str(root)})
        await self("POST", f"/projects/{loaded['id']}/trust", {"digest": loaded["trust"]["digest"]})
        return str(loaded["id"])

    async def ask_before_files(self, project_id: str = "") -> None:
        rule = {"permission": "file.create", "pattern": "**", "action": "ask"}
        await self("POST", f"/projects/{project_id or self.daemon.project_id}/permissions", rule)

    async def until_listed(self, *kinds: str) -> list[dict[str, Any]]:
        async with asyncio.timeout(45):
            while True:
                found: list[dict[str, Any]] = (await self("GET", "/inbox"))["items"]
                if [one["kind"] for one in found] == list(kinds):
                    return found
                await asyncio.sleep(0.1)

    async def begin_in_turn(self, titles: list[str], text: str) -> list[str]:
        """Begin sessions, each once the one before is listed: the inbox has them in this order."""
        sessions = []
        for title in titles:
            sessions.append(await self.begin(title, text))
            async with asyncio.timeout(45):
                while sessions[-1] not in await self.listed():  # noqa: ASYNC110 - as a client
                    await asyncio.sleep(0.1)
        return sessions

    async def listed(self) -> list[str]:
        """Return the sessions of what is in the inbox."""
        return [one["session_id"] for one in (await self("GET", "/inbox"))["items"]]

    async def until_seen(self, session: str) -> None:
        """Wait until the end of the newest run of a session is marked as seen."""
        async with asyncio.timeout(45):
            while True:
                found = await self("GET", f"/sessions/{session}")
                if found["seen_run_id"] == found["last_run"]["id"]:
                    return
                await asyncio.sleep(0.1)


@pytest_asyncio.fixture(loop_scope="module")
async def desk(demo: Demo) -> AsyncIterator[Desk]:
    """The desk of an empty inbox: the sessions and rules of a test go after it."""
    demo.add_conversation(CONVERSATIONS)
    desk = Desk(await demo.start())
    yield desk
    for session in (await desk("GET", "/sessions?limit=100"))["items"]:
        await desk("DELETE", f"/sessions/{session['id']}")
    rules = f"/projects/{desk.daemon.project_id}/permissions"
    for rule in (await desk("GET", rules))["items"]:
        await desk("DELETE", f"{rules}/{rule['id']}")


async def open_inbox(page: Page) -> None:
    await page.click("#views [data-view=inbox]")
    await page.wait_for_selector(".inbox .lists[aria-busy=false]", state="attached")


async def test_questions_of_two_projects_are_answered_with_keys_where_they_wait(
    demo: Demo, desk: Desk, browser: Browser, tmp_path: Path
) -> None:
    other = tmp_path / "mill"
    mill = await desk.copy_project(demo, other)
    for project in ("", mill):
        await desk.ask_before_files(project)
    async with open_page(browser, desk.daemon) as (page, complaints):
        await open_inbox(page)
        await page.wait_for_selector("text=Nothing waits for you.")
        await expect(page).to_have_title("Inbox · kaged")
        first = await desk.begin("Grain of the bakery", "mill the grain")
        await expect(page.locator(ARTICLES)).to_have_count(1)
        assert not await page.evaluate("document.activeElement.closest('article') !== null")
        second = await desk.begin("Grain of the mill", "mill the grain", mill)
        await expect(page.locator(f"{ARTICLES} .open")).to_have_text(
            ["Grain of the bakery", "Grain of the mill"]
        )
        assert "mill" in await page.locator(ARTICLES).last.inner_text()
        await expect(page).to_have_title("(2) Inbox · kaged")
        await expect(page.locator("#inbox-count")).to_have_text("2")
        assert "icon_waiting.svg" in str(await page.get_attribute("link[rel=icon]", "href"))

        # Who allows it sees what would be written.
        written = page.locator(f"{ARTICLES} .question .change .added")
        await expect(written).to_have_text(["added: hidden", "added: hidden"])
        assert "asks before file.create on any file." in await page.locator(ARTICLES).first.inner_text()

        # The keys belong to the card that a person has chosen.
        await page.keyboard.press("y")
        await page.keyboard.press("j")
        await expect(page.locator(f"{ARTICLES}:focus-within .open")).to_have_text("Grain of the bakery")
        await page.keyboard.press("j")
        await page.keyboard.press("k")
        await expect(page.locator(f"{ARTICLES}:focus-within .open")).to_have_text("Grain of the bakery")
        await page.wait_for_selector(f"{ARTICLES}:focus-within [data-answer=once][aria-disabled=false]")
        await page.keyboard.press("y")
        await expect(page.locator(RECEIPTS)).to_have_text("You allowed file.create once")
        kinds = page.locator(f"{ARTICLES} .kind")
        await expect(kinds).to_have_text(["Asks for permission", "Finished"])
        assert (demo.root / "secret-flour.txt").is_file() and not (other / "secret-flour.txt").exists()
        assert "The grain is milled." in await page.locator(ARTICLES).last.inner_text()
        # What somebody else answers leaves as well.
        question = (await desk.until_listed("question", "finished_run"))[0]
        path = f"/sessions/{second}/interactions/{question['id']}/answer"
        await desk("POST", path, {"answer": "reject", "comment": "no"})
        await expect(kinds).to_have_text(["Finished", "Finished"])
        # They need nobody, and are not counted.
        await expect(page).to_have_title("Inbox · kaged")
        await expect(page.locator("#inbox-count")).to_have_count(0)
        await expect(page.get_by_role("heading", name="Finished 2")).to_be_visible()
        await expect(page.locator(RECEIPTS)).to_have_count(0)

        await page.locator(ARTICLES).last.get_by_role("button", name="Mark as seen").click()
        await expect(page.locator(f"{ARTICLES} .open")).to_have_text(["Grain of the bakery"])
        await page.keyboard.press("k")
        await page.keyboard.press("o")
        # The end of its run is in view.
        await page.wait_for_selector(".run-end")
        assert page.url.partition("#")[2].startswith(first)
        await expect(page.locator("#inbox-count")).to_have_count(0)
        await expect(page).to_have_title("Grain of the bakery · kaged")
        assert str(await page.get_attribute("link[rel=icon]", "href")).endswith("/icon.svg")
        await expect(page.locator("#projects .session[data-unread]")).to_have_count(0)
        await desk.until_seen(first)
        await page.go_back()
        await page.wait_for_selector("text=Nothing waits for you.")
        await page.go_forward()
        await page.wait_for_selector(".run-end")
        assert complaints.found == []


async def test_a_run_that_is_near_its_limit_shows_what_is_used_while_it_can_be_stopped(
    demo: Demo, desk: Desk, browser: Browser, tmp_path: Path
) -> None:
    project = await desk.copy_project(demo, tmp_path / "windmill", ("cost_usd: 1.00", "tokens: 100000"))
    await desk.ask_before_files(project)
    async with open_page(browser, desk.daemon) as (page, complaints):
        await open_inbox(page)
        session = await desk.begin("Costly", "mill a lot", project)
        card = page.locator(f"{ARTICLES}[data-kind=budget_warning]")
        await expect(card.locator(".limit p")).to_have_text(
            "85 % of its limit of tokens is used: 85.5k tokens of 100k tokens."
        )
        await expect(card.locator("progress")).to_have_attribute("value", "85")
        await expect(page.locator("#inbox-count")).to_have_text("2")
        await card.get_by_role("button", name="Mark as seen").click()
        await expect(page.locator(f"{ARTICLES} .kind")).to_have_text(["Asks for permission"])
        await expect(page.locator("#inbox-count")).to_have_text("1")

        # Who follows the session sees it there, and it is no news in the inbox.
        await page.goto(f"{desk.daemon.url}/#{session}")
        await page.click("[data-answer=once][aria-disabled=false]")
        await page.wait_for_selector(".run-end[data-state=succeeded]")
        await page.fill("#message", "mill a lot")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".note >> text=Limit near")
        await page.wait_for_selector("[data-answer=once]")
        await desk.until_listed("question")
        assert complaints.found == []


async def test_what_subagents_propose_comes_at_once_and_is_decided_there(
    desk: Desk, browser: Browser
) -> None:
    await desk.ask_before_files()
    issues = f"/projects/{desk.daemon.project_id}/issues"
    number = (await desk("POST", issues, {"title": "Lumps in the flour"}))["number"]
    async with open_page(browser, desk.daemon) as (page, complaints):
        await open_inbox(page)
        async with desk.daemon.websocket("/ws") as everywhere:
            session = await desk.begin("Reviewed", "ask the reviewer", issue_number=number)
            told = (await next_frame(everywhere, "todo.proposed"))["payload"]
        assert told == {"number": number, "project_id": desk.daemon.project_id}
        cards = page.locator(f"{ARTICLES}[data-kind=todo_proposal]")
        await expect(cards.locator(".text")).to_have_text(["Sift <b>twice</b>", "Weigh it"])
        await expect(cards.first.locator("header p")).to_contain_text("bakery · reviewer")
        await expect(page.locator("#inbox-count")).to_have_text("3")

        await cards.first.get_by_role("button", name="Accept").click()
        await expect(page.locator(RECEIPTS)).to_contain_text("You accepted the proposal")
        await expect(cards.locator(".text")).to_have_text(["Weigh it"])
        (entry,) = (await desk("GET", f"{issues}/{number}/todos"))["items"]
        assert entry["content"] == "Sift <b>twice</b>"
        # Somebody else rejects the other one, while nothing else happens in the session.
        (left,) = (await desk("GET", f"/sessions/{session}/todo-proposals?state=proposed"))["items"]
        await desk("POST", f"/sessions/{session}/todo-proposals/{left['id']}/reject")
        await expect(page.locator(f"{ARTICLES} .kind")).to_have_text(["Asks for permission"])
        assert complaints.found == []


async def test_a_shorter_context_is_approved_with_what_it_would_leave_out_in_view(
    demo: Demo, desk: Desk, browser: Browser, tmp_path: Path
) -> None:
    settings = "  compaction: { strategy: checkpoint, upper: 0.02, lower: 0.01 }\n  tools:"
    project = await desk.copy_project(demo, tmp_path / "sieve", ("  tools:", settings))
    async with open_page(browser, desk.daemon) as (page, complaints):
        await open_inbox(page)
        session = await desk.begin("Long", "read it all", project)
        card = page.locator(f"{ARTICLES}[data-kind=compaction]")
        (found,) = await desk.until_listed("compaction")
        record = await desk("GET", f"/sessions/{session}/compactions/{found['id']}")
        count = len(record["superseded_message_ids"])
        assert count > 0
        await expect(card.locator(".kind")).to_have_text("Proposes a shorter context")
        await expect(card).to_contain_text(f"{count} messages leave the context")
        await expect(card).to_contain_text(f"{round(record['after_estimate'] / 1000, 1):g}k tokens")
        await card.get_by_role("button", name="Approve").click()
        # Nothing is left to press: its line goes wherever the pointer is.
        await expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
        await expect(page.locator("#inbox-count")).to_have_count(0)
        decided = await desk("GET", f"/sessions/{session}/compactions/{found['id']}")
        assert decided["state"] == "applied"
        assert complaints.found == []


async def test_a_failed_run_is_retried_with_another_model_on_a_phone(desk: Desk, browser: Browser) -> None:
    session = await desk.begin("Cold oven", "burn it")
    await desk.until_listed("failed_run")
    async with open_page(browser, desk.daemon, width=390, height=844) as (page, complaints):
        await expect(page.locator("#inbox-count")).to_have_text("1")
        await open_inbox(page)
        card = page.locator(ARTICLES)
        # It says what failed and what to do as the conversation does; the provider's words stand below.
        what = "replay refused the request. Try with another model, or look at the "
        await expect(card.locator(".why")).to_have_text(f"{what}provider's settings.")
        await expect(card.locator(".said")).to_contain_text("the oven is cold")
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        boxes = await page.evaluate(
            "[...document.querySelectorAll('.inbox *')].map((one) => one.getBoundingClientRect().right)"
        )
        assert max(boxes) <= 390
        await card.get_by_role("button", name="Retry with another model…").click()
        await card.get_by_label("Retry with").select_option("fast")
        await expect(card.locator(".kind")).to_have_text("Finished")
        await expect(card.locator(".said")).to_have_text("It is baked after all.")
        runs = (await desk("GET", f"/sessions/{session}/runs"))["items"]
        assert {one["retry_of"] for one in runs} == {
            None,
            *(one["id"] for one in runs if one["state"] == "failed"),
        }
        # The list of sessions says the same as the inbox.
        await page.click("#open-sidebar")
        await page.wait_for_selector(f".session[data-unread][data-key={session}]")
        await page.click(f".session[data-key={session}]")
        await page.wait_for_selector(".run-end")
        await desk.until_listed()
        await expect(page.locator("#inbox-count")).to_have_count(0)
        assert complaints.found == []


async def test_what_needs_a_person_stands_above_what_has_finished(desk: Desk, browser: Browser) -> None:
    await desk.begin_in_turn(["First loaf", "Second loaf"], "mill the grain")
    await desk.begin_in_turn(["Cold oven"], "burn it")
    await desk.ask_before_files()
    await desk.begin_in_turn(["Third loaf", "Fourth loaf"], "mill the grain")
    async with open_page(browser, desk.daemon) as (page, complaints):
        await page.add_init_script(NOTIFICATIONS + SOON)
        await page.reload()
        await expect(page.locator("#inbox-count")).to_have_text("3")
        await open_inbox(page)
        # What needs a person comes from the oldest on, whether it asks or has failed.
        titles = ["Cold oven", "Third loaf", "Fourth loaf", "First loaf", "Second loaf"]
        await expect(page.locator(f"{ARTICLES} .open")).to_have_text(titles)
        await expect(page.locator(".inbox [role=status]").first).to_have_text("3 things wait for you")
        await expect(page).to_have_title("(3) Inbox · kaged")
        tops = "(all) => all.map((one) => one.getBoundingClientRect().top)"
        order = ".inbox [data-kind=question], .notify-offer, .inbox .finished article"
        await expect(page.locator(order)).to_have_count(5)
        places = await page.locator(order).evaluate_all(tops)
        assert places == sorted(places)
        # Ages go on while they are looked at.
        await page.evaluate("Date.now = ((now) => () => now() + 7_200_000)(Date.now)")
        await expect(page.locator(f"{ARTICLES} time")).to_have_text(["2 h"] * 5)
        await page.get_by_role("button", name="Mark all as seen").click()
        await expect(page.locator(f"{ARTICLES} .open")).to_have_text(titles[:3])
        await expect(page.locator(".inbox .finished")).to_have_count(0)
        await expect(page).to_have_title("(3) Inbox · kaged")
        await desk.until_listed("failed_run", "question", "question")
        assert complaints.found == []


async def test_a_double_click_answers_one_question_and_nothing_comes_under_the_pointer(
    desk: Desk, browser: Browser
) -> None:
    await desk.ask_before_files()
    sessions = await desk.begin_in_turn(["One", "Two", "Three"], "mill the grain")
    async with open_page(browser, desk.daemon) as (page, complaints):
        await open_inbox(page)
        await expect(page.locator("[data-answer=once][aria-disabled=false]")).to_have_count(3)
        await until_drawn(page)
        # What is below the first card, and what is under the pointer, frame by frame.
        await page.evaluate(
            """() => {
                window.places = new Set();
                window.under = new Set();
                let pointer = null;
                addEventListener("pointermove", ({ x, y }) => (pointer = [x, y]));
                const look = () => {
                    const [, ...below] = document.querySelectorAll(".inbox ol:first-child > li");
                    for (const one of below) places.add(one.getBoundingClientRect().top);
                    const found = pointer && document.elementFromPoint(...pointer)?.closest(".question");
                    if (found) under.add(found.dataset.questionId);
                    requestAnimationFrame(look);
                };
                look();
            }"""
        )
        button = page.locator("[data-answer=once]").first
        first = await page.locator(".question").first.get_attribute("data-question-id")
        await button.hover()
        await button.dblclick()
        await expect(page.locator(RECEIPTS)).to_have_text("You allowed file.create once")
        # Its run ends meanwhile, and stands below.
        await desk.until_listed("question", "question", "finished_run")
        await expect(page.locator(f"{ARTICLES} .kind").last).to_have_text("Finished")
        await page.wait_for_timeout(6_000)
        await expect(page.locator(RECEIPTS)).to_have_count(1)
        assert await page.evaluate("places.size") == 2
        assert await page.evaluate("[...under]") == [first]
        asked = [(await desk("GET", f"/sessions/{one}"))["pending_interactions"] for one in sessions]
        assert asked == [0, 1, 1]
        # Somebody else answers the second, which keeps its place as well.
        (second,) = (await desk("GET", f"/sessions/{sessions[1]}/interactions"))["items"]
        answer = f"/sessions/{sessions[1]}/interactions/{second['id']}/answer"
        await desk("POST", answer, {"answer": "reject"})
        await expect(page.locator(RECEIPTS)).to_have_count(2)
        assert await page.evaluate("places.size") == 2
        # The pointer leaves the list, and what is done leaves with it.
        await page.mouse.move(5, 5)
        await expect(page.locator(RECEIPTS)).to_have_count(0)
        await expect(page.locator(f"{ARTICLES} .open")).to_have_text(["Three", "One", "Two"])
        assert complaints.found == []


async def test_notifications_are_offered_when_they_help_and_never_show_what_is_asked(
    desk: Desk, browser: Browser
) -> None:
    await desk.ask_before_files()
    async with open_page(browser, desk.daemon) as (page, complaints):
        await page.add_init_script(NOTIFICATIONS)
        await page.reload()
        await page.wait_for_selector("#version:not(:empty)", state="attached")
        await page.evaluate(HIDE, True)
        await desk.begin("One", "mill the grain")
        await expect(page.locator("#inbox-count")).to_have_text("1")
        await expect(page.locator(".notify-offer")).to_have_count(0)
        await page.evaluate(HIDE, False)
        await page.get_by_role("button", name="Turn on notifications").click()
        await expect(page.locator(".notify-offer")).to_have_count(0)
        await page.evaluate(HIDE, True)
        session = await desk.begin("Two", "mill the grain")
        async with asyncio.timeout(45):
            while not await page.evaluate("window.told.length"):  # noqa: ASYNC110 - as a person
                await asyncio.sleep(0.1)
        told = await page.evaluate("window.told.map(({ title, body }) => [title, body])")
        assert told == [["bakery: waits for you", "primary asks for permission."]]
        assert await page.evaluate("window.asked") == 1
        await page.evaluate("window.told[0].onclick()")
        await page.evaluate(HIDE, False)
        await expect(page).to_have_url(f"{desk.daemon.url}/#{session}")

        await page.goto(f"{desk.daemon.url}/#settings/appearance")
        await page.get_by_role("switch", name="Notifications").uncheck()
        await page.evaluate(HIDE, True)
        await desk.begin("Three", "mill the grain")
        await expect(page.locator("#inbox-count")).to_have_text("3")
        assert await page.evaluate("window.told.length") == 1
        assert complaints.found == []
