"""The settings of the page: a provider gets its key and is tested, a token is made and revoked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.driver.browser import open_page
from tests.driver.daemon_process import DaemonProcess
from tests.driver.sessions import write_project
from tests.fakes.provider_script import Document, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.settings")]

KEY = "sk-typed-into-the-page"


@pytest_asyncio.fixture(loop_scope="module")
async def model() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def daemon(tmp_path: Path, model: FakeProvider) -> AsyncIterator[DaemonProcess]:
    """A daemon whose only provider for its one name of a model lacks a key, and without a project."""
    config = tmp_path / "config.toml"
    config.write_text(
        '[models]\nmain = "spare:model-a"\n[providers.spare]\ndriver = "openai"\n'
        f'base_url = "{model.base_url}/v1"\napi_key_env = "KAGED_TEST_NO_SUCH_KEY"\n'
        '[log]\nlevel = "warning"\n'
    )
    running = await DaemonProcess.start(tmp_path / "data", config)
    yield running
    await running.stop()


async def test_the_first_minute_leads_from_a_key_to_a_first_message(
    daemon: DaemonProcess, model: FakeProvider, browser: Browser, tmp_path: Path
) -> None:
    root = write_project(tmp_path / "shop")
    async with open_page(browser, daemon, begun="#projects") as (page, complaints):
        await page.get_by_role("link", name="Set up a provider").click()
        provider = page.get_by_role("listitem", name="spare", exact=True)
        await expect(provider).to_contain_text("Needs a key")
        await expect(provider.get_by_role("button", name="Test")).to_be_disabled()
        await provider.get_by_role("button", name="Set key").click()
        field = page.get_by_label("Key of spare")
        await expect(field).to_be_focused()
        assert await field.get_attribute("type") == "password"
        await field.fill(KEY)
        await page.keyboard.press("Enter")
        await expect(provider).to_contain_text("Key stored here")
        await expect(field).to_have_count(0)
        model.script(Document(401, {"error": {"message": "no"}}), text_reply("ok"))
        await provider.get_by_role("button", name="Test").click()
        await expect(provider.get_by_role("alert")).to_contain_text("key")
        await provider.get_by_role("button", name="Test").click()
        await expect(provider.get_by_role("status")).to_contain_text("model-a answers in")
        assert model.requests[-1].headers["authorization"] == f"Bearer {KEY}"
        assert KEY not in await page.content()

        await page.click("#views [data-view=sessions]")
        await page.get_by_role("button", name="Open a folder").click()
        await expect(page.locator("#project-path")).to_be_focused()
        await page.keyboard.type(str(root))
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Explain this project").click()
        await expect(page.locator("#message")).to_have_value("Explain this project")
        assert complaints.found == []


async def test_a_run_without_a_key_leads_to_the_field_for_it(
    daemon: DaemonProcess, model: FakeProvider, browser: Browser, tmp_path: Path
) -> None:
    root = write_project(tmp_path / "shop")
    async with daemon.client() as client:
        loaded = (await client.post("/projects/load", json={"path": str(root)})).json()["id"]
        session = (await client.post("/sessions", json={"project_id": loaded})).json()["id"]
        await client.post(f"/sessions/{session}/messages", json={"content": "Hello"})
    async with open_page(browser, daemon) as (page, complaints):
        await page.goto(f"{daemon.url}/#{session}")
        card = page.locator(".failure-card")
        said = page.locator("#conversation .failure")
        await expect(said).to_contain_text("spare has no key: run `kaged providers key spare`, or set it in")
        await card.get_by_role("link", name="Settings of spare").click()
        field = page.get_by_label("Key of spare")
        await expect(field).to_be_focused()
        await field.fill(KEY)
        await page.keyboard.press("Enter")
        provider = page.get_by_role("listitem", name="spare", exact=True)
        await expect(provider).to_contain_text("Key stored here")
        model.script(text_reply("It works."))
        await page.go_back()
        await card.get_by_role("button", name="Try again").click()
        await page.locator(".answer >> text=It works.").wait_for()
        assert complaints.found == []


async def test_a_token_is_made_shown_once_and_revoked(daemon: DaemonProcess, browser: Browser) -> None:
    async with open_page(browser, daemon, begun="#projects") as (page, complaints):
        await page.click("#views [data-view=settings]")
        await page.get_by_role("link", name="Models").click()
        await expect(page.get_by_role("listitem", name="main")).to_contain_text("spare:model-a")
        await page.get_by_role("link", name="Appearance").click()
        await page.get_by_label("Dark", exact=True).check()
        assert await page.evaluate("document.documentElement.dataset.theme") == "dark"
        await page.get_by_role("link", name="Access tokens").click()
        await page.get_by_label("Name of the new token").fill("dashboard")
        await page.get_by_role("button", name="Create").click()
        secret = await page.locator(".made code").inner_text()
        async with daemon.client() as client:
            looked = await client.get("/sessions", headers={"authorization": f"Bearer {secret}"})
            assert looked.status_code == 200
            page.on("dialog", lambda dialog: dialog.accept())
            await page.get_by_role("button", name="Revoke dashboard").click()
            await page.get_by_text("1 revoked").wait_for()
            looked = await client.get("/sessions", headers={"authorization": f"Bearer {secret}"})
            assert looked.status_code == 401
        for width in (390, 768, 1440):
            await page.set_viewport_size({"width": width, "height": 844})
            for section in ("providers", "tokens"):
                await page.evaluate(f"location.hash = 'settings/{section}'")
                await page.locator(".rows, .empty").first.wait_for()
                assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert complaints.found == []
