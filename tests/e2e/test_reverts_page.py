"""What was reverted, on the page: listed in Changes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.driver.browser import open_page
from tests.driver.demo_daemon import Demo
from tests.driver.git_desk import git
from tests.e2e.test_changes_page import TWO_CHANGES, changed, row

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Demo]:
    """The demo in a repository, with an agent that changes a file at two places."""
    demo = Demo(tmp_path_factory.mktemp("demo"))
    demo.add_conversation(TWO_CHANGES)
    demo.make_repository()
    git(demo.root, "tag", "first")
    await demo.start()
    yield demo
    await demo.stop()


@pytest.fixture(autouse=True)
def clean(demo: Demo) -> None:
    """Each test begins with the files of the first commit."""
    git(demo.root, "reset", "-q", "--hard", "first")
    git(demo.root, "clean", "-qfd")


async def test_reverts_are_listed_only_where_there_are_some(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        listed = page.get_by_role("button", name="Reverts of this session")
        async with page.expect_response(re.compile("/reverts[?]")) as read:
            await changed(page)
        assert (await (await read.value).json())["items"] == []
        await expect(row(page, "notes.md")).to_be_visible()
        await expect(listed).to_have_count(0)
        await row(page, "notes.md").locator(".file-head").click()
        await page.get_by_role("button", name="Revert file notes.md").click()
        await listed.click()
        await expect(page.locator(".earlier li")).to_have_count(1)
        await expect(page.locator(".earlier li")).to_contain_text("notes.md")
        await page.get_by_role("button", name="Undo the revert of notes.md").click()
        await expect(page.locator(".earlier li")).to_contain_text("restored")
        assert [one for one in complaints.found if "404" not in one] == []
