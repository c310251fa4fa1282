"""Sharing a session from the page, and the file that comes of it, in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import WAIT_MS, new_session, open_page, send, until_state
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("command_line.share")]

KEY = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
CONVERSATION = f"""\
  - when: share me
    steps:
      - answer:
          - thinking: I think THOUGHT.
          - text: |
              <script>document.title = "owned"</script>
              <img src="https://evil.example/a.png" onerror="alert(1)">
              <svg onload="alert(2)"><style>body {{ display: none }}</style></svg>

              ![beacon](https://evil.example/b.png) [run](javascript:alert(3)) and {KEY}

              | a | b |
              |--:|:-:|
              | 1 | 2 |

              ```python
              print("plain")
              ```
          - tool_call: {{ name: file.read, arguments: {{ path: README.md }} }}
      - answer:
          - text: I have looked.
"""
VIOLATIONS = """
    window.seen = [];
    document.addEventListener("securitypolicyviolation", (event) => seen.push(event.violatedDirective));
"""


async def open_file(page: Page, file: Path) -> list[str]:
    """Open a shared file and return everything that a browser asked for or complained about."""
    seen: list[str] = []
    page.on("console", lambda message: seen.append(message.text))
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on("request", lambda request: seen.append(request.url) if request.url != file.as_uri() else None)
    page.on("dialog", lambda dialog: seen.append(dialog.message))
    await page.add_init_script(VIOLATIONS)
    await page.goto(file.as_uri())
    violations: list[str] = await page.evaluate("window.seen")
    return seen + violations


async def test_a_session_is_looked_through_downloaded_and_opened_where_it_does_nothing(
    own_demo: Demo, browser: Browser, tmp_path: Path
) -> None:
    own_demo.add_conversation(CONVERSATION)
    daemon = await own_demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "Please share me")
        await page.wait_for_selector("#conversation :text('I have looked.')")
        await until_state(page, "idle")
        await page.click("#share")
        dialog = page.get_by_role("dialog", name="Share this session")
        await expect(dialog.locator("#share-counts")).to_contain_text("1 message, 2 answers, 1 tool call.")
        await expect(dialog.locator("#share-redacted")).to_have_text("1 secret redacted in 1 message.")
        await expect(dialog.locator("#share-stays")).to_contain_text("1 result of a tool call, 1 thought")
        await dialog.get_by_role("checkbox", name="Tool results").check()
        await expect(dialog.locator("#share-counts")).to_contain_text("1 tool call, 1 result of a tool call")
        async with page.expect_download() as downloading:
            await dialog.get_by_role("link", name="Download").click()
        file = tmp_path / "shared.html"
        await (await downloading.value).save_as(file)
        await expect(page.locator("dialog")).to_have_count(0)
        await expect(page.locator("#share")).to_be_focused()
        assert complaints.found == []
    text = file.read_text()
    assert KEY not in text and "THOUGHT" not in text and "till of a small bakery" in text
    for dark in (False, True):
        context = await browser.new_context(
            viewport={"width": 390, "height": 800}, color_scheme="dark" if dark else "light"
        )
        context.set_default_timeout(WAIT_MS)
        page = await context.new_page()
        assert await open_file(page, file) == []
        assert await page.title() != "owned"
        assert await page.locator("script, svg, img, iframe, [style], [onerror]").count() == 0
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        back = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert back == ("rgb(19, 22, 21)" if dark else "rgb(246, 246, 244)")
        await page.get_by_text("file.read").click()
        await expect(page.get_by_text("Result", exact=True)).to_be_visible()
        await expect(page.locator("td.right")).to_have_css("text-align", "right")
        await context.close()
