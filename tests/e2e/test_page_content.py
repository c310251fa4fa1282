"""What stands on the web page when it is long, odd, or made to be slow: in a real Chromium."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import Browser, expect

from tests.driver.browser import new_session, open_page, send
from tests.driver.demo_daemon import Demo

pytestmark = pytest.mark.asyncio(loop_scope="module")

LINES = 120
"""Longer than the page shows at once, shorter than what a model is given."""
LONG = f"""
  - says: long results
    steps:
      - answer:
          - tool_call:
              name: search.grep
              arguments: {{ pattern: needle, path: long.txt, output_mode: content, head_limit: {LINES} }}
          - tool_call: {{ name: file.read, arguments: {{ path: long.txt, limit: {LINES} }} }}
      - answer: [text: "That is all."]
"""

WITHOUT_END = """
  - says: without end
    steps:
      - answer: [{ text: "Once upon a time " }, { stall: true }]
"""

RIGHT_TO_LEFT = """
  - says: other directions
    steps:
      - answer:
          - text: |
              مرحبا `a.py` بالعالم!

              1. النقطة الأولى

              Left to right.

              ```
              مرحبا = 1
              ```
"""


async def test_a_long_result_can_be_read_to_its_end(demo: Demo, browser: Browser) -> None:
    demo.add_conversation(LONG)
    lines = [f"needle {number} {'and more ' * 20}" for number in range(LINES)]
    (demo.root / "long.txt").write_text("\n".join(lines))
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "long results")
        for _ in ("live", "stored"):
            await page.wait_for_selector(".run-end")
            await page.locator(".reads > summary").click()
            card = page.locator('.tool[data-tool="file.read"]')
            await card.locator("summary").click()
            text = card.locator(".tool-result pre")
            assert (await text.text_content() or "").startswith("1: needle 0")
            assert f"needle {LINES - 1} " not in (await text.text_content() or "")
            await card.locator("button", has_text="Show all").click()
            assert f"needle {LINES - 1} " in (await text.text_content() or "")
            assert await card.locator("button", has_text="Show all").count() == 0
            assert await text.evaluate("text => document.activeElement === text")
            found = page.locator('.tool[data-tool="search.grep"]')
            await found.locator("summary").click()
            assert await found.locator(".file-name").inner_text() == "long.txt"
            assert await found.locator(".place.found").count() == LINES
            assert await found.locator("mark").count() == LINES
            await page.reload()
        assert complaints.found == []


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("# x" + " " * 20_000 + "y", "h2"),
        ("a | b\n" + " " * 250_000 + "x-", "pre"),
        ("a|" * 400 + "\n" + "-|" * 400 + "\n" + "|\n" * 400, "pre"),
    ],
    ids=["heading", "table rule", "short rows"],
)
async def test_a_text_that_is_made_to_be_slow_is_shown_all_the_same(
    demo: Demo, body: str, shown: str, browser: Browser
) -> None:
    demo.add_conversation(f"""
  - says: slow
    steps:
      - answer: [text: {json.dumps(body)}]
""")
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "slow")
        for _ in ("live", "stored"):
            await page.wait_for_selector(".run-end")
            await page.wait_for_selector(f".markdown {shown}")
            assert await page.locator(".markdown *").count() < 50_000
            await page.reload()
        assert complaints.found == []


async def test_a_heading_keeps_the_mark_that_belongs_to_its_last_word(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, _), daemon.client() as client:
        path = f"/projects/{daemon.project_id}/issues"
        body = "# In C#\n\n## Closed ##\n\n### In F# ###"
        filed = (await client.post(path, json={"title": "headings", "body": body})).json()
        await page.goto(f"{daemon.url}/#issues/{daemon.project_id}/{filed['number']}")
        headings = page.locator(".issue-body :is(h2, h3, h4)")
        await headings.first.wait_for()
        assert await headings.all_inner_texts() == ["In C#", "Closed", "In F#"]


async def test_each_paragraph_reads_in_the_direction_of_its_own_words(demo: Demo, browser: Browser) -> None:
    demo.add_conversation(RIGHT_TO_LEFT)
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "other directions")
        await page.wait_for_selector(".run-end")
        # An answer is plain text until what reads Markdown has come.
        await expect(page.locator(".markdown :is(p, li, pre)")).to_have_count(4)
        # Where the first letter of each stands: on the right of its block, or on the left.
        sides = await page.evaluate("""
            [...document.querySelectorAll(".markdown :is(p, li, pre)")].map((block) => {
                const text = document.createTreeWalker(block, NodeFilter.SHOW_TEXT).nextNode();
                const letter = document.createRange();
                letter.setStart(text, 0);
                letter.setEnd(text, 1);
                const [at, all] = [letter.getBoundingClientRect(), block.getBoundingClientRect()];
                return at.left - all.left > all.right - at.right ? "right" : "left";
            })
        """)
        assert sides == ["right", "right", "left", "left"]
        await page.fill("#message", "مرحبا")
        written = page.locator("#message")
        assert await written.evaluate("field => getComputedStyle(field).direction") == "rtl"
        listed = page.locator(".markdown ol")
        assert await listed.evaluate("list => getComputedStyle(list).direction") == "rtl"
        assert complaints.found == []


HOSTILE_OUTPUT = r"""
  - says: hostile output
    steps:
      - answer:
          - tool_call: { name: shell.bash, arguments: { command: "python3 hostile.py" } }
          - text: "\u202ereversed\u202c [here](JaVaScRiPt:alert(1)) <form action=//a.example><input></form>"
      - answer: [text: "That is all."]
"""
# Colours, a moved cursor, a title, a link and a picture of the terminal, words in reverse, one huge line.
HOSTILE_PROGRAM = r"""
print("\x1b[31mred\x1b[0m \x1b[2J\x1b[H\x1b[8mhidden\x1b[0m")
print("\x1b]0;owned\x07\x1b]8;;javascript:document.title='owned'\x07click\x1b]8;;\x07\x1bPq#0~\x1b\\\\")
print("\u202egnp.txt <svg onload=document.title='owned'> <img src=x onerror=document.title='owned'>")
print("wide " + "x" * 20_000)
"""


async def test_what_a_command_prints_stays_text_in_its_place(demo: Demo, browser: Browser) -> None:
    demo.add_conversation(HOSTILE_OUTPUT)
    (demo.root / "hostile.py").write_text(HOSTILE_PROGRAM)
    daemon = await demo.start()
    async with open_page(browser, daemon, width=1000) as (page, complaints), daemon.client() as client:
        session = await new_session(page)
        title = "\u202eTitle <img src=x onerror=document.title='owned'>"
        (await client.patch(f"/sessions/{session}", json={"title": title})).raise_for_status()
        await send(page, "hostile output")
        for _ in ("live", "stored"):
            await page.wait_for_selector(".run-end")
            shown = page.locator('.tool[data-tool="shell.bash"]')
            await shown.locator("text=red").first.wait_for()
            text = await shown.inner_text()
            assert "<svg onload" in text and "\x1b" not in text
            foreign = (
                ":is(#conversation, #projects, #title) :is(img, iframe, form, script, svg[onload], [onerror])"
            )
            assert await page.locator(foreign).count() == 0
            assert await page.locator("#conversation a[href^=javascript i]").count() == 0
            assert await page.title() != "owned"
            assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
            # Words in reverse end with what they stand in: the state beside the title keeps its place.
            row = page.locator(f"[data-key={session}]")
            apart = "one => one.matches('bdi') || getComputedStyle(one).unicodeBidi.includes('isolate')"
            assert await row.locator(".session-title").evaluate(apart)
            await page.reload()
        assert complaints.found == []


OUTSIDE = """
    [...document.querySelectorAll("button, select, input, textarea")].filter((control) => {
        const box = control.getBoundingClientRect();
        return control.checkVisibility() && box.width > 1 && box.right > innerWidth + 1;
    }).map((control) => control.id || control.textContent)
"""


async def test_long_words_leave_every_control_on_a_narrow_screen(demo: Demo, browser: Browser) -> None:
    demo.add_conversation(WITHOUT_END)
    daemon = await demo.start()
    async with open_page(browser, daemon, width=360, height=740) as (page, _), daemon.client() as client:
        issues = f"/projects/{daemon.project_id}/issues"
        number = (await client.post(issues, json={"title": "W" * 190})).json()["number"]
        todo = {"content": "z" * 300, "kind": "criterion"}
        assert (await client.post(f"{issues}/{number}/todos", json=todo)).status_code == 201
        await page.goto(f"{daemon.url}/#workflows/{daemon.project_id}/fix")
        await page.wait_for_selector("#run-issue option >> nth=1", state="attached")
        assert await page.evaluate(OUTSIDE) == []

        made = {"project_id": daemon.project_id, "issue_number": number, "title": "T" * 180}
        session_id = (await client.post("/sessions", json=made)).json()["id"]
        await page.goto(f"{daemon.url}/#{session_id}")
        await page.wait_for_selector("#composer:not([hidden])")
        await send(page, "without end")
        await page.wait_for_selector("#pause:not([hidden])")
        assert await page.evaluate(OUTSIDE) == []
        await page.click("#open-details")
        await page.click("#tab-issue")
        await page.wait_for_selector(".todo-acts button")
        outside = await page.evaluate(OUTSIDE)
        assert [name for name in outside if not name.startswith("tab-")] == []
        await client.post(f"/sessions/{session_id}/cancel")
