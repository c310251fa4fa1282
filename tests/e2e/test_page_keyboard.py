"""The main job on the page without a mouse: from a new session to an undone change, and to another one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import open_page, until_state
from tests.driver.demo_daemon import Demo
from tests.driver.demo_work import two_changes

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.shell")]

STORY = two_changes("widen the receipt", "The receipt is wider.")
MOST_STOPS = 60
"""No control of the page is further away than so many presses of Tab."""

# What has focus, and whether a person sees that: it is in the window, and it, or what it stands in, looks
# other than without focus.
FOCUSED = """() => {
    const one = document.activeElement;
    if (!one || one === document.body) return ["body", true];
    const name = one.getAttribute("aria-label") || one.id || one.dataset.key || one.textContent.trim();
    const look = (element) => {
        const style = getComputedStyle(element);
        const outline = style.outlineStyle === "none" ? "" : style.outlineWidth;
        return [outline, style.boxShadow, style.borderColor, style.backgroundColor, style.clipPath].join("|");
    };
    const around = [one, one.parentElement, one.closest("form")].filter(Boolean);
    const during = around.map(look);
    const { width, top, bottom, left, right } = one.getBoundingClientRect();
    const inside = width > 0 && bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
    one.blur();
    const after = around.map(look);
    one.focus({ preventScroll: true, focusVisible: true });
    return [name, inside && during.some((was, number) => was !== after[number])];
}"""


@pytest_asyncio.fixture(loop_scope="module")
async def workshop(tmp_path: Path) -> AsyncIterator[Demo]:
    """The demo in a repository, whose agent asks before it edits."""
    demo = Demo(tmp_path)
    demo.add_conversation(STORY)
    demo.make_repository()
    await demo.start()
    yield demo
    await demo.stop()


async def tab_to(page: Page, selector: str, *, back: bool = False) -> None:
    """Press Tab until a control has focus; focus is seen at every stop on the way."""
    unseen = []
    for _ in range(MOST_STOPS):
        if await page.evaluate("(chosen) => document.activeElement.matches(chosen)", selector):
            assert unseen == []
            return
        await page.keyboard.press("Shift+Tab" if back else "Tab")
        name, seen = await page.evaluate(FOCUSED)
        if not seen:
            unseen.append(name)
    raise AssertionError(f"Tab does not come to {selector}")


async def test_the_main_job_is_done_without_a_mouse(workshop: Demo, browser: Browser) -> None:
    daemon = await workshop.start()
    receipt = workshop.root / "bakery" / "receipt.py"
    async with daemon.client() as client:
        rule = {"permission": "edit.text", "pattern": "**", "action": "ask"}
        await client.post(f"/projects/{daemon.project_id}/permissions", json=rule)
        other = {"project_id": daemon.project_id, "title": "Sweep the floor"}
        await client.post("/sessions", json=other)
    async with open_page(browser, daemon, width=1440, height=900) as (page, complaints):
        await page.evaluate("addEventListener('pointerdown', () => (window.pointed = true), true)")
        # A new session, and the message.
        await tab_to(page, "#projects button.new")
        await page.keyboard.press("Enter")
        await expect(page.locator("#message")).to_be_focused()
        await page.keyboard.type("widen the receipt")
        await page.keyboard.press("Enter")
        # The questions do not take focus; the person goes to each of them.
        for _ in range(2):
            once = page.locator(".question [data-answer=once]")
            await expect(once.first).to_be_enabled()
            await expect(page.locator("#message")).to_be_focused()
            await tab_to(page, ".question [data-answer=once]", back=True)
            await expect(once.first).to_be_enabled()
            asked = await page.evaluate("document.activeElement.closest('.question').dataset.questionId")
            await page.keyboard.press("Enter")
            await expect(page.locator(f'.question[data-question-id="{asked}"]')).to_have_count(0)
            await page.evaluate("document.querySelector('#message').focus()")
        await page.wait_for_selector("text=The receipt is wider.")
        assert "WIDTH = 48" in receipt.read_text() and '"discount"' in receipt.read_text()
        # The change is looked at, and one of its two places undone. The only changed file is open already.
        await until_state(page, "idle")
        await expect(page.locator(".hunk")).to_have_count(2)
        await tab_to(page, "#tab-changes")
        await tab_to(page, '.file[data-path="bakery/receipt.py"] .file-head')
        await tab_to(page, ".hunk [aria-label^='Revert change 1']")
        await page.keyboard.press("Enter")
        await expect(page.locator(".hunk:not(.reverted)")).to_have_count(1)
        assert "WIDTH = 32" in receipt.read_text() and '"discount"' in receipt.read_text()
        # The palette leads to another session.
        await page.keyboard.press("Control+k")
        await expect(page.locator("#palette-field")).to_be_focused()
        await page.keyboard.type("sweep")
        await page.wait_for_selector("[role=option][aria-selected=true] >> text=Sweep the floor")
        await page.keyboard.press("Enter")
        await expect(page.locator("#title")).to_have_text("Sweep the floor")
        assert not await page.evaluate("window.pointed")
        assert complaints.found == []
