"""Issues in the web page: filed, worked through and signed off by a person at a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.driver.browser import open_page
from tests.driver.daemon_process import DaemonProcess
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("page.issues")]

HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
BODY = f"# The basket\n\nIt counts **pieces** twice. {HOSTILE}\n\n[go](javascript:document.title='owned')"
NAMELESS = """all => all.filter(one => {
    const text = [...(one.labels ?? []), ...(one.matches("button, a") ? [one] : [])];
    const named = one.getAttribute("aria-label") || text.some(label => label.textContent.trim());
    return one.checkVisibility() && !named;
}).map(one => one.outerHTML)"""


class Api:
    """The issues of the demo's project, as another client sees them."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self._daemon = daemon

    async def __call__(self, method: str, path: str = "", body: Any = None) -> Any:
        address = f"/projects/{self._daemon.project_id}/issues{path}"
        async with self._daemon.client() as client:
            answer = await client.request(method, address, json=body)
            assert answer.is_success, answer.text
            return answer.json() if answer.content else None


def entry(page: Page, text: str) -> Locator:
    return page.locator(".todo", has=page.locator(".todo-content", has_text=text))


async def add_entry(page: Page, text: str, kind: str) -> None:
    form = page.locator(".todo-form")
    await form.locator("input").fill(text)
    await form.locator("select").select_option(kind)
    await form.locator("button").click()
    await entry(page, text).wait_for()


async def test_an_issue_is_filed_worked_through_and_signed_off(
    demo: Demo, tmp_path: Path, browser: Browser
) -> None:
    daemon = await demo.start()
    api = Api(daemon)
    other = (await api("POST", "", {"title": "The other one"}))["number"]
    notes = tmp_path / "notes & sums.txt"
    notes.write_text("two rolls, one sum")
    async with open_page(browser, daemon) as (page, complaints):
        await page.click("#views [data-view=issues]")
        await page.click("text=New issue")
        await page.fill("#issue-title", f"Wrong sum {HOSTILE}")
        await page.fill("#issue-body", BODY)
        await page.click("text=File it")
        await page.wait_for_selector(".issue-body strong >> text=pieces")
        assert await page.locator("#view :is(img, script, a[href^=javascript])").count() == 0
        assert HOSTILE in await page.inner_text(".issue-body")
        assert HOSTILE in await page.inner_text("#view h2")

        moves = page.get_by_role("group", name="Move to")
        assert await moves.locator("button").all_inner_texts() == [
            "Triaged",
            "Assigned",
            "In progress",
            "Reject…",
        ]
        await page.click("[data-move=triaged]")
        await page.wait_for_selector(".moves .pill[data-status=triaged]")

        await add_entry(page, "Read the basket", "step")
        await add_entry(page, "Ask the baker", "step")
        await add_entry(page, "The sum is right", "criterion")
        await entry(page, "Read the basket").locator("[data-act=start]").click()
        await page.wait_for_selector(".todo[data-status=in_progress] >> text=Read the basket")
        await entry(page, "Read the basket").locator("[data-act=done]").click()
        await page.wait_for_selector(".todo[data-status=completed] >> text=Read the basket")
        await entry(page, "Ask the baker").locator("[data-act=drop]").click()
        await page.wait_for_selector("text=1 dropped")
        criterion = entry(page, "The sum is right")
        await criterion.locator("[data-act=done]").click()
        await criterion.locator("[data-act=reject]").click()
        await criterion.locator("textarea").fill("Not for an empty basket.")
        await criterion.locator("[data-act=send]").click()
        await criterion.locator("text=Not for an empty basket.").wait_for()
        await expect(criterion).to_have_attribute("data-status", "pending")

        await page.fill("#comment-form textarea", "Nobody *else* should know.")
        await page.check("#comment-form input")
        await page.click("#comment-form button")
        said = page.locator(".history-list [data-visibility=operator_only]")
        await said.locator("em >> text=else").wait_for()
        assert "for operators only" in await said.inner_text()

        await page.locator(".link-form select").select_option("blocks")
        await page.fill(".link-form input", f"{other}")
        await page.click(".link-form button")
        await page.wait_for_selector(f".links >> text=#{other} The other one")
        await page.set_input_files("#attach", notes)
        link = page.locator(".attachments a")
        await link.wait_for()
        assert await link.inner_text() == "notes & sums.txt"
        async with page.expect_download() as waited:
            await link.click()
        assert Path(await (await waited.value).path()).read_text() == "two rolls, one sum"

        await page.click(".issue-text >> text=Edit")
        await page.fill("#issue-title", "The sum is wrong")
        await page.click(".issue-text >> text=Save")
        await page.wait_for_selector("#view h2 >> text=The sum is wrong")
        edit = page.locator(".history-list [data-kind=title_edit]")
        await edit.wait_for()
        assert await edit.locator("ins").inner_text() == "The sum is wrong"
        assert HOSTILE in await edit.locator("del").inner_text()

        await criterion.locator("[data-act=resolve]").click()
        await criterion.locator("textarea").fill("The basket sums up.")
        await criterion.locator("[data-act=send]").click()
        await page.wait_for_selector(".moves .pill[data-status=resolved]")
        await expect(criterion).to_contain_text("accepted by the operator")
        assert await moves.locator("button").all_inner_texts() == ["Reopen"]
        assert complaints.found == []
        number = page.url.rpartition("/")[2]
    stored = await api("GET", f"/{number}")
    assert stored["status"] == "resolved"
    assert [(link["kind"], link["number"]) for link in stored["links"]] == [("blocks", other)]
    assert stored["todo_counts"] == {
        "total": 2,
        "completed": 2,
        "in_progress": 0,
        "criteria": 1,
        "criteria_accepted": 1,
    }


async def test_lists_are_searched_and_the_way_back_leads_where_one_was(
    own_demo: Demo, browser: Browser
) -> None:
    daemon = await own_demo.start()
    api = Api(daemon)
    for number in range(1, 28):
        await api("POST", "", {"title": f"Roll {number}", "body": "crumbs" if number % 9 == 0 else ""})
    await api("POST", "/27/transition", {"to": "rejected", "comment": "no"})
    async with open_page(browser, daemon, width=390, height=844, dark=True) as (page, complaints):
        await page.goto(f"{daemon.url}/#issues")
        rows = page.locator("#issues li")
        await page.wait_for_selector("text=26 issues")
        assert await rows.count() == 25
        await page.click("#issues >> text=More")
        await page.wait_for_selector('#issues >> text="Roll 1"')
        assert await rows.count() == 26
        await page.select_option("[name=status]", "rejected")
        await page.wait_for_selector("text=1 issue")
        assert "Roll 27" in await rows.inner_text()
        await page.select_option("[name=status]", "all")
        await page.wait_for_selector("text=27 issues")
        await page.fill("[name=search]", "crumbs")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("text=3 issues")
        assert await page.evaluate("document.activeElement.name") == "search"
        await page.click("#issues >> text=Roll 18")
        await page.wait_for_selector("#view h2 >> text=Roll 18")
        assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert (
            await page.locator("#view :is(input, select, textarea, button, a)").evaluate_all(NAMELESS) == []
        )
        await page.go_back()
        await page.wait_for_selector("text=3 issues")
        assert await page.input_value("[name=search]") == "crumbs"
        # What is filed meanwhile comes by itself.
        await api("POST", "", {"title": "Roll 28", "body": "crumbs"})
        await page.wait_for_selector("text=4 issues")
        await page.fill("[name=search]", '"unfinished')
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".notice")
        assert [text for text in complaints.found if "400" not in text] == []


async def test_what_others_do_is_shown_and_takes_nothing_from_the_one_who_writes(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    api = Api(daemon)
    number = (await api("POST", "", {"title": "A slow roll"}))["number"]
    made = await api("POST", f"/{number}/todos", {"content": "It is fast", "kind": "criterion"})
    await api("POST", f"/{number}/todos", {"content": "It is fresh", "kind": "criterion"})
    await api("PATCH", f"/{number}/todos/{made['id']}", {"status": "completed"})
    async with open_page(browser, daemon) as (page, complaints):
        await page.goto(f"{daemon.url}/#issues/{daemon.project_id}/{number}")
        claimed = entry(page, "It is fast")
        await claimed.locator("[data-act=reject]").click()
        await page.keyboard.type("Not yet: ")
        await page.evaluate("document.activeElement.setSelectionRange(4, 4)")
        await api("POST", f"/{number}/comments", {"body": "I look at it."})
        await api("POST", f"/{number}/todos", {"content": "Measure it"})
        await entry(page, "Measure it").wait_for()
        await page.wait_for_selector(".history-list >> text=I look at it.")
        assert await page.evaluate(
            "[document.activeElement.value, document.activeElement.selectionStart]"
        ) == ["Not yet: ", 4]
        await page.focus("#comment-form textarea")
        await page.keyboard.type("A word")
        await api("POST", f"/{number}/transition", {"to": "in_progress"})
        await page.wait_for_selector(".moves .pill[data-status=in_progress]")
        assert await page.evaluate("document.activeElement.value") == "A word"
        # Two at once: whoever is slower is told, and sees what holds.
        await page.route("**/transition", lambda route: route.continue_(post_data='{"to": "reopened"}'))
        await page.click("[data-move=assigned]")
        await page.wait_for_selector(".notice")
        assert await page.locator(".moves .pill").inner_text() == "in progress"
        assert [text for text in complaints.found if "409" not in text] == []
