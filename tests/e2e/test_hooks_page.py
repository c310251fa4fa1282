"""The web page and hooks: the list with the state of each, live, and the last failure."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import new_session, open_page, send
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("hooks.page")]

HOOKS = """
hooks:
  on_prompt:
    - { name: greet, command: "echo hello", cage: disabled }
    - name: flaky
      command: "test -f well || { echo 'the <b>server</b> is away' >&2; exit 7; }"
      cage: disabled
  before_tool:
    - name: guard
      command: [.kaged/hooks/guard.sh, --all]
      match: [{ permission: fs.write, pattern: "*.lock" }]
      agents: [primary]
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Demo]:
    demo = Demo(tmp_path_factory.mktemp("demo"))
    file = demo.root / ".kaged" / "project.yaml"
    file.write_text(f"{file.read_text()}\n{HOOKS}")
    demo.config.write_text(
        demo.config.read_text() + '\n[[hooks.on_stop]]\nname = "own"\ncommand = "true"\ncage = "disabled"\n'
    )
    await demo.start()
    yield demo
    await demo.stop()


async def rows(page: Page) -> list[tuple[str, str]]:
    found = page.locator(".hook-listed")
    return [
        (str(await one.get_attribute("data-hook")), str(await one.get_attribute("data-state")))
        for one in await found.all()
    ]


async def test_hooks_are_listed_and_their_state_follows_their_runs(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await page.click("#tab-tools")
        await page.wait_for_selector('.hook-listed[data-hook="guard"]')
        assert sorted(await rows(page)) == [(name, "not_run") for name in ("flaky", "greet", "guard", "own")]
        guard = page.locator('.hook-listed[data-hook="guard"]')
        assert "not run · before_tool · project" in await guard.locator("summary").inner_text()
        await guard.locator("summary").click()
        shown = await guard.inner_text()
        assert ".kaged/hooks/guard.sh --all" in shown and "fs.write *.lock" in shown
        assert "No runs since the daemon started. For primary." in shown
        assert "on_stop · config" in await page.locator('.hook-listed[data-hook="own"]').inner_text()

        await send(page, "Read it")
        flaky = page.locator('.hook-listed[data-hook="flaky"][data-state="failed"]')
        await flaky.locator("text=it ended with exit code 7: the <b>server</b> is away").wait_for()
        await flaky.locator("text=1 run, 1 failed.").wait_for()
        await page.wait_for_selector('.hook-listed[data-hook="greet"][data-state="ok"]')
        await page.wait_for_selector('.hook-listed[data-hook="own"][data-state="ok"]')

        (demo.root / "well").touch()
        await send(page, "Read it again")
        well = page.locator('.hook-listed[data-hook="flaky"][data-state="ok"]')
        await well.wait_for()
        # The list is drawn anew until the last hook of the run has ended.
        own = page.locator('.hook-listed[data-hook="own"]')
        await expect(own).to_contain_text("2 runs, 0 failed.")
        await well.locator("summary").click()
        await well.locator("text=2 runs, 1 failed.").wait_for()
        # The last failure stays readable.
        await well.locator("text=it ended with exit code 7").wait_for()
        assert complaints.found == []


async def test_a_narrow_page_shows_the_whole_list(demo: Demo, browser: Browser) -> None:
    (demo.root / "well").unlink(missing_ok=True)
    daemon = await demo.start()
    async with open_page(browser, daemon, width=390, height=844, dark=True) as (page, complaints):
        await new_session(page)
        await send(page, "Read it")
        await page.wait_for_selector(".run-end")
        await page.click("#open-details")
        await page.click("#tab-tools")
        await page.wait_for_selector('.hook-listed[data-hook="flaky"][data-state="failed"]')
        assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert complaints.found == []
