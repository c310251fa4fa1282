"""The web page while subagents work: each delegation is a fold of its own, live and after a reload."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.driver.browser import new_session, open_page, send, until_state
from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.family import Cast, agent, calling, write_family
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.asyncio(loop_scope="module")

CAGE = {
    "fs": [{"mode": "ro", "path": "."}, {"mode": "rw", "path": "src"}],
    "net": {"allow": ["pypi.org:443"]},
}
FAMILY = agent("primary", subagents={"lead": agent("lead", subagents={"coder": agent("coder", cage=CAGE)})})
LEAD, CODER = (
    f'.delegation[data-agent="primary.subagents.{path}"]' for path in ("lead", "lead.subagents.coder")
)


@pytest.mark.requirement("delegation.stream")
async def test_what_subagents_say_is_folded_under_their_names(tmp_path: Path, browser: Browser) -> None:
    cast = Cast()
    cast.script("primary", calling(("agent-lead", {"task": "lead it"})), text_reply("All is done."))
    cast.script("lead", calling(("agent-coder", {"task": "code it"})), text_reply("The lead is done."))
    cast.script("coder", text_reply("The coder is done."))
    root = write_family(tmp_path / "family", FAMILY)
    async with FakeProvider(cast.respond) as model:
        config = write_config(tmp_path / "config.toml", model.port)
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            async with open_page(browser, daemon) as (page, complaints):
                await new_session(page)
                await send(page, "Please")
                await page.wait_for_selector(".run-end[data-state=succeeded] >> nth=-1", state="attached")
                await until_state(page, "idle")
                for _ in ("live", "stored"):
                    await page.wait_for_selector(f"{LEAD} > summary")
                    shown = await page.inner_text("#conversation")
                    assert "All is done." in shown and "The coder is done." not in shown
                    # Each thread is read when it is unfolded, and stands in the one above it.
                    await page.click(f"{LEAD} > summary")
                    await page.wait_for_selector(f"{LEAD} >> text=The lead is done.")
                    await page.click(f"{LEAD} {CODER} > summary")
                    await page.wait_for_selector(f"{LEAD} {CODER} >> text=The coder is done.")
                    assert await page.locator(".delegation").count() == 2
                    # What each may reach: in a word, and in full.
                    assert await page.inner_text(f"{LEAD} > summary .agent-cage") == "full access"
                    word = page.locator(f"{LEAD} {CODER} > summary .agent-cage")
                    assert await word.inner_text() == "writes some files · 1 host"
                    await page.click(f"{LEAD} {CODER} > .cage > summary")
                    facts = await page.locator(f"{LEAD} {CODER} > .cage dd").all_inner_texts()
                    assert [one.strip() for one in facts] == [
                        "the project",
                        "src",
                        "no commands",
                        "pypi.org:443",
                    ]
                    card = page.locator('.tool[data-tool="agent-lead"]').first
                    assert await card.get_attribute("data-state") == "done"
                    await page.reload()
                # The session's own agent has no card: the tab of the session says the same of it.
                await page.click("#tab-session")
                root_cage = page.get_by_role("region", name="Cage of the agent")
                assert await root_cage.locator(".agent-cage").inner_text() == "full access"
                await root_cage.locator(".cage > summary").click()
                assert "Everything" in await root_cage.locator(".cage dd").inner_text()
                assert not complaints.found
        finally:
            await daemon.kill()
