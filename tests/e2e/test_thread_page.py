"""The thread of a session on the web page: read piece by piece, views of tools, addresses of messages."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Request, Route, expect

from tests.driver.browser import new_session, open_page, send, until_state
from tests.driver.daemon_process import DaemonProcess
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]

RUNS = 45
"""Each has two messages: more than the page reads first."""

STORY = """
  - says: again
    steps:
      - answer: [text: "An answer."]
"""
BUSY = """
  - says: busy
    steps:
      - answer:
          - error: { kind: overloaded, message: the oven is full, status: 529, times: 2 }
          - text: The oven is free.
"""

HOSTILE = """
  - says: hostile
    steps:
      - answer:
          - text: |
              <img src=x onerror="document.title='hacked'"><script>document.title='hacked'</script>
              <svg onload="document.title='hacked'"></svg>

              [bad](javascript:document.title='hacked') [data](data:text/html,x) ![picture](https://example.org/a.png)

              - [x] done
                1. nested

              $\\\\href{javascript:alert(1)}{x}$ and $a^2$ and $5 or $6

              ```python
              def f(): pass  # <b>bold</b>
              ```
"""


async def told(daemon: DaemonProcess, runs: int) -> str:
    """Make a session with so many runs; return its id."""
    async with daemon.client() as client:
        made = (await client.post("/sessions", json={"project_id": daemon.project_id})).json()["id"]
        for _ in range(runs):
            answer = await client.post(f"/sessions/{made}/messages", json={"content": "again"})
            assert answer.status_code in (201, 202), answer.text
    return str(made)


async def test_a_long_session_is_read_from_its_end_and_a_link_finds_its_beginning(
    demo: Demo, browser: Browser
) -> None:
    demo.add_conversation(STORY)
    daemon = await demo.start()
    session = await told(daemon, RUNS)
    asked: list[str] = []

    def note(request: Request) -> None:
        if f"/{session}/messages" in request.url:
            asked.append(request.url)

    async with open_page(browser, daemon) as (page, complaints):
        await page.goto(f"{daemon.url}/#{session}")
        await until_state(page, "idle")
        # It is opened anew when nothing goes on in it any more.
        page.on("request", note)
        await page.reload()
        scroller = page.locator("#conversation-scroll")
        await expect(page.locator("#conversation .run-end").last).to_be_in_viewport()
        assert len([url for url in asked if "cursor" not in url]) == 1
        async with daemon.client() as client:
            first = (await client.get(f"/sessions/{session}/messages?limit=1")).json()["items"][0]["id"]
        assert await page.locator(f'[data-id="{first}"]').count() == 0
        # What is put above leaves what is in view where it is.
        await scroller.evaluate("place => { place.scrollTop = 300; }")
        in_view = """
            () => {
                const top = document.querySelector("#conversation-scroll").getBoundingClientRect().top;
                const seen = [...document.querySelectorAll("#conversation [data-id]")]
                    .find((one) => one.getBoundingClientRect().top >= top);
                return [seen.dataset.id, Math.round(seen.getBoundingClientRect().top)];
            }
        """
        before, place = await page.evaluate(in_view)
        await page.wait_for_selector(f'[data-id="{first}"]', state="attached")
        # A scroll position is whole pixels, the heights of lines are not.
        after, moved = await page.evaluate(in_view)
        assert (after, abs(moved - place) <= 1) == (before, True)
        await expect(page.locator("#to-end")).to_be_visible()
        await page.goto(f"{daemon.url}/#{session}/{first}")
        await page.reload()
        await expect(page.locator(f'[data-id="{first}"]')).to_be_in_viewport()
        await expect(page.locator(f'[data-id="{first}"]')).to_have_class(re.compile(r"\bmarked\b"))
        await page.click("#to-end")
        await expect(page.locator("#conversation .run-end").last).to_be_in_viewport()
        # An address that names what is not there says so.
        await page.goto(f"{daemon.url}/#{session}/msg_01JZ0000000000000000000000")
        await page.reload()
        await expect(page.locator(".notice")).to_contain_text("is not in this conversation")
        # Elsewhere it is nobody's concern.
        await page.goto(f"{daemon.url}/#{session}/{first}")
        await expect(page.locator(f'[data-id="{first}"]')).to_be_in_viewport()
        await expect(page.locator(".notice")).to_have_count(0)
        assert complaints.found == []


async def test_hostile_text_is_inert_and_markdown_is_whole(demo: Demo, browser: Browser) -> None:
    demo.add_conversation(HOSTILE)
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "hostile")
        for _ in ("live", "stored"):
            await page.wait_for_selector(".run-end")
            text = page.locator(".answer .markdown")
            await text.locator(".hljs-keyword").first.wait_for()
            await text.locator("math").first.wait_for()
            assert await text.locator("img, script, svg, a[href^=javascript], a[href^=data]").count() == 0
            assert "onerror=" in await text.inner_text()
            assert "$5 or $6" in await text.inner_text()
            assert await text.locator("li.task ol li").inner_text() == "nested"
            assert await text.locator("pre b").count() == 0
            assert "hacked" not in await page.title()
            await page.reload()
        assert complaints.found == []


async def test_a_message_is_edited_and_sent_again(demo: Demo, browser: Browser) -> None:
    demo.add_conversation(STORY + BUSY)
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "agian")
        await page.wait_for_selector(".run-end")
        await until_state(page, "idle")
        post = page.locator("#conversation .post").first
        await post.hover()
        await post.locator('[data-act="edit"]').click()
        await post.locator("textarea").fill("again")
        await post.locator('[data-act="resend"]').click()
        await page.wait_for_selector("#conversation .answer:not(.superseded *) >> text=An answer.")
        await until_state(page, "idle")
        posts = page.locator("#conversation .post:not(.superseded *) .post-text")
        await expect(posts).to_have_text(["again"])
        # What is tried again is one line that counts, in no colour of a state.
        await send(page, "busy")
        tries = page.locator("#conversation .note")
        await tries.filter(has_text="; trying again in").wait_for()
        await page.wait_for_selector("text=The oven is free.")
        await expect(tries.locator("summary")).to_have_text(re.compile("^Tried 2 times: .*the oven is full$"))
        colour = "one => getComputedStyle(one).color"
        assert await tries.evaluate(colour) == await page.locator(".run-end").last.evaluate(colour)
        await tries.locator("summary").click()
        await expect(tries.locator("li")).to_have_text([re.compile("the oven is full; trying again in")] * 2)
        assert complaints.found == []


AT = "2026-01-02T03:04:05Z"
USAGE = {"input_tokens": 1, "output_tokens": 1, "cache_read_tokens": 0, "cache_write_tokens": 0}


async def stored(
    page: Page, session: str, calls: list[tuple[str, dict[str, Any], str, dict[str, Any]]]
) -> None:
    """Let the page read these calls `(tool, arguments, result, more details)` as those of a failed run."""
    blocks = [
        {"type": "tool_call", "id": f"c{at}", "name": name, "arguments": given}
        for at, (name, given, _, _) in enumerate(calls)
    ]
    usual = {"session_id": session, "run_id": "run_1", "agent_path": "primary", "superseded": False}
    usual |= {"superseded_by": None, "delivery": "direct", "created_at": AT, "complete": True}
    answer = {"id": "msg_1", "position": 1, "role": "primary", "content": ""}
    messages = [{**usual, **answer, "details": {"contentBlocks": blocks, "stopReason": "toolUse"}}]
    for at, (name, _, content, more) in enumerate(calls):
        details = {"toolCallId": f"c{at}", "toolName": name, "metadata": {"duration_ms": 1}, **more}
        tool = {"id": f"msg_2{at}", "position": 2 + at, "role": "tool", "content": content}
        messages.append({**usual, **tool, "details": details})
    run = {"id": "run_1", "agent_path": "primary", "state": "failed", "reason": "error", "step_count": 1}
    run |= {"error": {"message": "No key is set.", "code": "no_key"}, "usage": USAGE, "parent_run_id": None}
    run |= {"cost_usd": None, "total_cost_usd": None, "started_at": AT, "ended_at": AT}

    async def answer_with(route: Route, items: list[Any]) -> None:
        await route.fulfill(json={"items": items, "next_cursor": None, "total": len(items)})

    async def detail(route: Route) -> None:
        if route.request.method == "PATCH":
            await route.fulfill(json={})  # the run was seen
            return
        answer = await route.fetch()
        last = {"id": "run_1", "state": "failed", "reason": "error"}
        await route.fulfill(response=answer, json={**await answer.json(), "last_run": last})

    await page.route(f"**/sessions/{session}", detail)
    await page.route(f"**/sessions/{session}/messages?*", lambda route: answer_with(route, messages[::-1]))
    await page.route(f"**/sessions/{session}/runs?*", lambda route: answer_with(route, [run]))
    await page.reload()
    await page.wait_for_selector(".run-end")


STEPPED = """{"state":"stopped","location":{"path":"a.py","line":3,"function":"add"},
"changed":[{"name":"count","value":"2","was":"1"},{"name":"word","value":"'new'"}]}""".replace("\n", "")


async def test_each_tool_has_a_view_of_its_own(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    output = "\n".join(f"\x1b[3{at % 7}mline {at}\x1b[0m" for at in range(40))
    numbered = "\n".join(f"{at}: line {at}" for at in range(1, 20))
    calls: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
        ("file.read", {"path": "a.py"}, '{"path":"a.py","type":"file"}\n' + numbered, {}),
        ("shell.bash", {"command": "false"}, '{"stderr":"","exit_code":1}\n' + output, {}),
        ("shell.bash", {"command": "true"}, '{"stderr":"","exit_code":0}\n', {}),
        ("shell.bash", {"command": "no"}, "Error refused: no", {"isError": True}),
        ("edit.text", {"path": "a.py", "old_string": "ne 9", "new_string": "ne nine"}, '{"path":"a.py"}', {}),
        (
            "edit.text",
            {"path": "b.py", "old_string": "a\u202eb", "new_string": "if c"},
            '{"path":"b.py"}',
            {},
        ),
        (
            "edit.text",
            {"path": "c.py", "old_string": "a", "new_string": "b"},
            "Error file_not_read: Read it first.",
            {"isError": True},
        ),
        ("debug.step", {"action": "step_over"}, STEPPED, {}),
        ("todo", {"todos": []}, '{"todos":[{"content":"Read","status":"completed"}]}', {}),
    ]
    async with open_page(browser, daemon) as (page, complaints):
        session = await new_session(page)
        await stored(page, session, calls)
        shells = page.locator('.tool[data-tool="shell.bash"]')
        states = [await shells.nth(at).get_attribute("data-state") for at in range(3)]
        assert states == ["unsuccessful", "done", "failed"]
        said = [await shells.nth(at).locator("summary .visually-hidden").text_content() for at in range(3)]
        assert said == ["ended with exit code 1", "done", "failed"]
        assert await shells.nth(0).locator(".exit[data-failed]").inner_text() == "exit 1"
        assert await shells.nth(1).locator(".exit:not([data-failed])").inner_text() == "exit 0"
        # The last lines are in view, with their colours; the others when they are asked for.
        await shells.nth(0).scroll_into_view_if_needed()
        await shells.nth(0).locator(".shell-end").scroll_into_view_if_needed()
        await expect(shells.nth(0).locator("text=line 39")).to_be_in_viewport()
        assert await shells.nth(0).locator(".sgr-green").count() > 0
        short = await shells.nth(0).locator(".shell-output").bounding_box()
        await shells.nth(0).locator('[data-act="all"]').click()
        whole = await shells.nth(0).locator(".shell-output").bounding_box()
        assert short is not None and whole is not None and whole["height"] > short["height"]
        # The numbers of the lines are those of the file that was read.
        changes = page.locator('.tool[data-tool="edit.text"] .change')
        edit = changes.first
        numbers = await edit.locator("> span").evaluate_all(
            "all => all.map((line) => [...line.querySelectorAll('.number')].map((one) => one.dataset.number))"
        )
        around = [[str(at)] * 2 for at in (6, 7, 8)], [[str(at)] * 2 for at in (10, 11, 12)]
        assert numbers == [*around[0], ["9", ""], ["", "9"], *around[1]]
        assert "line nine" in await edit.locator(".added").inner_text()
        # Words of the language are marked, and what hides in a line is written out.
        await expect(edit.locator(".removed .hljs-number")).to_have_text("9")
        await expect(changes.nth(1).locator(".added .hljs-keyword")).to_have_text("if")
        await expect(changes.nth(1).locator(".removed")).to_contain_text("a⟨U+202E⟩b")
        assert await page.locator(".steps li[data-status=completed] .step-text").inner_text() == "Read"
        # What changed since the last stop is shown, with what it was.
        debug = page.locator('.tool[data-tool="debug.step"]')
        if await debug.get_attribute("open") is None:
            await debug.locator("> summary").click()
        await expect(debug.locator(".debug .pairs dd")).to_have_text(["1 → 2", "'new'"])
        # What was refused is said without its code, and counts as no change.
        refused = page.locator('.tool[data-tool="edit.text"][data-state=failed]')
        if await refused.get_attribute("open") is None:
            await refused.locator("> summary").click()
        await expect(refused.locator(".edit .failure")).to_have_text("Read it first.")
        await expect(refused.locator(".plus")).to_have_count(0)
        card = page.locator(".failure-card")
        assert "No key is set." in await card.inner_text()
        assert await card.locator("a").get_attribute("href") == "#settings/providers"
        await card.locator('[data-act="other-model"]').click()
        await card.locator("select option >> nth=1").wait_for(state="attached")
        assert complaints.found == []
