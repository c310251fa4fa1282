"""What was reverted, on the page: said at the edit in the conversation, and listed in Changes."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.driver.browser import WAIT_MS, Complaints, new_session, open_page
from tests.driver.demo_daemon import Demo
from tests.driver.demo_work import back_to_first_commit, changing_demo
from tests.e2e.test_changes_page import TWO_CHANGES, changed, row
from tests.e2e.test_thread_page import stored

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]

BY_OPERATOR = re.compile(r"^Reverted by the operator, .*\d")
OFFERED = '.tool[data-tool="edit.text"] [data-act="revert-file"]'


def edits_of(page: Page) -> list[Locator]:
    edits = page.locator('.tool[data-tool="edit.text"]')
    return [edits.nth(at) for at in range(2)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Demo]:
    """The demo in a repository, with an agent that changes a file at two places."""
    async with changing_demo(tmp_path_factory.mktemp("demo"), TWO_CHANGES) as demo:
        yield demo


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def clean(demo: Demo) -> None:
    """Each test begins with the files of the first commit."""
    await back_to_first_commit(demo)


async def test_reverts_are_listed_only_where_there_are_some(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        listed = page.get_by_role("button", name="Reverts of this session")
        # All that an agent does until then takes longer than one answer.
        async with page.expect_response(re.compile("/reverts[?]"), timeout=3 * WAIT_MS) as read:
            await changed(page)
        assert (await (await read.value).json())["items"] == []
        await expect(row(page, "notes.md")).to_be_visible()
        await expect(listed).to_have_count(0)
        await row(page, "notes.md").locator(".file-head").click()
        await page.get_by_role("button", name="Revert file notes.md").click()
        await listed.click()
        await expect(page.locator(".earlier li")).to_have_count(1)
        await expect(page.locator(".earlier li")).to_contain_text("notes.md")
        # The card of the edit offers it, too, once it has read what was reverted.
        await page.locator(".earlier").get_by_role("button", name="Undo the revert of notes.md").click()
        await expect(page.locator(".earlier li")).to_contain_text("restored")
        assert [one for one in complaints.found if "404" not in one] == []


async def test_the_card_of_an_edit_says_when_its_change_was_reverted_wherever_that_was_done(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    receipt = demo.root / "bakery" / "receipt.py"
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        session = await changed(page)
        both = receipt.read_text()
        other = await page.context.new_page()
        others = Complaints.of(other, daemon.url)
        await other.goto(f"{daemon.url}/#{session}")
        file = row(page, "bakery/receipt.py")
        await file.locator(".file-head").click()
        for one in (page, other):
            await expect(one.locator(OFFERED)).to_have_count(2)
        # One change of two, in Changes: only its own card says so, in each tab, and offers to undo it.
        await file.get_by_role("button", name="Revert change 1 of receipt.py").click()
        for one in (page, other):
            first, second = edits_of(one)
            await expect(first.locator(".reverted")).to_have_text(BY_OPERATOR)
            await expect(first.get_by_role("button", name="Open in Changes")).to_be_visible()
            await expect(first.locator('[data-act="revert-file"]')).to_have_count(0)
            await expect(second.locator('[data-act="revert-file"]')).to_be_visible()
            await expect(second.locator(".reverted")).to_have_count(0)
        assert receipt.read_text() != both
        # It is undone in the other tab: here the card and Changes follow.
        undo = edits_of(other)[0].get_by_role("button", name="Undo the revert of receipt.py")
        await undo.click()
        await expect(edits_of(page)[0].locator(".reverted")).to_have_count(0)
        await expect(edits_of(page)[0].locator('[data-act="revert-file"]')).to_be_visible()
        await expect(file.locator(".hunk:not(.reverted)")).to_have_count(2)
        await expect(file.locator(".hunk.reverted")).to_have_count(0)
        await expect(page.locator("#undo-revert")).to_have_count(0)
        assert receipt.read_text() == both
        # The whole file, in a card: each card of the file says so, also after a reload.
        await edits_of(other)[1].locator('[data-act="revert-file"]').click()
        await edits_of(other)[1].locator('[data-act="revert"]').click()
        # A reload would break off the request.
        await expect(edits_of(other)[1].locator(".reverted")).to_have_text(BY_OPERATOR)
        await other.reload()
        for one in (page, other):
            for edit in edits_of(one):
                await expect(edit.locator(".reverted")).to_have_text(BY_OPERATOR)
            await expect(one.locator('.tool[data-tool="file.create"] .reverted')).to_have_count(0)
        await edits_of(page)[0].locator('[data-act="undo-revert"]').click()
        for one in (page, other):
            await expect(one.locator(OFFERED)).to_have_count(2)
        assert receipt.read_text() == both
        # A difference may have been asked for while its file was reverted.
        assert [text for text in complaints.found + others.found if "404" not in text] == []


async def test_a_rename_names_its_files_each_with_what_became_of_it(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    head = {
        "changes": [{"path": "a.py", "edits": 1}, {"path": "b.py", "operation": "rename", "new_path": "c.py"}]
    }
    given = {"action": "rename", "path": "a.py", "new_name": "total"}
    made = {"id": "rvt_1", "path": "c.py", "since": "start", "hunks": None, "files": ["c.py", "b.py"]}
    made |= {"created_at": "2026-01-03T00:00:00Z", "created_by": "operator", "undone_at": None}
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        session = await new_session(page)
        listed = {"items": [made], "next_cursor": None, "total": 1}
        await page.route(f"**/sessions/{session}/reverts?*", lambda route: route.fulfill(json=listed))
        await stored(page, session, [("code.lsp", given, json.dumps(head), {})])
        await page.locator('.tool[data-tool="code.lsp"] > summary').click()
        files = page.locator(".wrote li")
        await expect(files).to_have_count(2)
        await expect(files.nth(0).locator('[data-act="revert-file"]')).to_be_visible()
        await expect(files.nth(0).locator(".reverted")).to_have_count(0)
        await expect(files.nth(1).locator(".reverted")).to_have_text(BY_OPERATOR)
        await files.nth(1).get_by_role("button", name="Open c.py in Changes").click()
        await page.wait_for_url(f"**/#{session}/changes/c.py")
        assert complaints.found == []
