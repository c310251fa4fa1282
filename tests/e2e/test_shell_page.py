"""The shell of the page: list of sessions, projects, palette, keys, and what a browser installs."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import new_session, open_page, send, until_ready
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.shell")]

KEPT_FILES = """async () => {
    const found = [];
    for (const name of await caches.keys())
        for (const kept of await (await caches.open(name)).keys())
            found.push([name, new URL(kept.url).pathname]);
    return found;
}"""
PREVENTED = """(keys) => {
    const event = new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...keys });
    return !document.activeElement.dispatchEvent(event);
}"""


async def until(page: Page, holds: str) -> None:
    """Wait until an expression is true. The policy keeps a page from waiting for one by itself."""
    poll = (
        "async () => { while (!(await (async () => %s)())) await new Promise((go) => setTimeout(go, 100)); }"
    )
    async with asyncio.timeout(45):
        await page.evaluate(poll % f"({holds})")


async def choose_state(page: Page, name: str) -> None:
    await page.click("#session-states")
    await page.get_by_role("menuitemradio", name=name).click()


async def act(page: Page, session: str, name: str) -> None:
    """Choose an entry of a session's menu by the keyboard."""
    await page.locator(f'[data-key="menu-{session}"]').press("Enter")
    item = page.get_by_role("menuitem", name=name)
    for _ in range(5):
        if await item.evaluate("one => one === document.activeElement"):
            break
        await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")


async def test_sessions_are_found_renamed_archived_and_deleted(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with daemon.client() as client:
        ids = {}
        for title in ("Knead the dough", "Heat the oven", "Sweep the floor"):
            made = await client.post("/sessions", json={"project_id": daemon.project_id, "title": title})
            ids[title] = made.json()["id"]
    titles = "#projects .session .session-title"
    async with open_page(browser, daemon) as (page, complaints):
        await page.fill("#session-search", "OVEN")
        await expect(page.locator(titles)).to_have_text(["Heat the oven"])
        await page.press("#session-search", "Escape")
        await page.wait_for_selector(f"{titles} >> text=Sweep the floor")

        await act(page, ids["Knead the dough"], "Rename")
        await page.keyboard.type("Bake the bread")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(f"{titles} >> text=Bake the bread")
        await expect(page.locator(f'[data-key="menu-{ids["Knead the dough"]}"]')).to_be_focused()
        await act(page, ids["Heat the oven"], "Archive")
        await expect(page.locator(f"[data-key={ids['Heat the oven']}]")).to_have_count(0)
        await act(page, ids["Sweep the floor"], "Delete")
        await page.get_by_role("button", name="Keep").click()
        await expect(page.locator(f"[data-key={ids['Sweep the floor']}]")).to_have_count(1)
        await act(page, ids["Sweep the floor"], "Delete")
        await page.get_by_role("button", name="Delete session").click()
        await expect(page.locator(f"[data-key={ids['Sweep the floor']}]")).to_have_count(0)

        await choose_state(page, "Archived")
        await expect(page.locator(titles)).to_have_text(["Heat the oven"])
        await choose_state(page, "Failed")
        await page.wait_for_selector("text=No session matches.")
        await choose_state(page, "All")
        # What another client makes and renames is seen at once.
        async with daemon.client() as client:
            made = await client.post("/sessions", json={"project_id": daemon.project_id})
            path = f"/sessions/{made.json()['id']}"
            await client.patch(path, json={"title": "Wash the windows"})
            await page.wait_for_selector(f"{titles} >> text=Wash the windows")
            await client.post(f"{path}/messages", json={"content": "hello"})
            # Its run has ended, and nobody has looked at it.
            await page.wait_for_selector("#projects .session[data-unread][data-state=idle]")
        await page.click("#projects .session[data-unread]")
        await page.wait_for_selector(".run-end")
        await expect(page.locator("#projects .session[data-unread]")).to_have_count(0)
        stored = (await (await page.request.get(f"{daemon.url}/api/v1/sessions?archived=false")).json())[
            "items"
        ]
        assert {one["title"] for one in stored} >= {"Bake the bread", "Wash the windows"}
        assert complaints.found == []


async def test_a_session_that_another_client_makes_is_in_the_list_at_once(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints), daemon.client() as client:
        await expect(page.locator("#projects")).to_have_attribute("aria-busy", "false")
        wish = {"project_id": daemon.project_id, "title": "Rye bread"}
        made = (await client.post("/sessions", json=wish)).json()["id"]
        row = page.locator(f'.session[data-key="{made}"]')
        await expect(row).to_contain_text("Rye bread")
        exported = (await client.get(f"/sessions/{made}/export")).content
        await client.delete(f"/sessions/{made}")
        await page.reload()
        await until_ready(page)
        await expect(row).to_have_count(0)
        taken = await client.post("/sessions/import", content=exported)
        assert taken.status_code == 201, taken.text
        await expect(row).to_contain_text("Rye bread")
        assert complaints.found == []


async def test_a_project_is_chosen_by_walking_through_folders(
    own_demo: Demo, browser: Browser, tmp_path: Path
) -> None:
    daemon = await own_demo.start()
    other = tmp_path / "place" / "mill"
    shutil.copytree(own_demo.root, other)
    (other / ".kaged" / "project.yaml").write_text(
        (other / ".kaged" / "project.yaml").read_text().replace("project: bakery", "project: mill")
    )
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await page.click("#projects-switch")
        await page.click("#open-folder")
        await page.wait_for_selector(".picker .at")
        await page.get_by_role("button", name="Folder above").click()
        await expect(page.locator(".picker .at code")).to_have_text("/")
        at = ""
        for name in tmp_path.relative_to("/").parts:
            folder = page.get_by_role("button", name=name, exact=True)
            while True:
                await folder.or_(page.get_by_role("button", name="More folders")).first.wait_for()
                if await folder.is_visible():
                    break
                await page.get_by_role("button", name="More folders").click()
                await page.wait_for_selector(".picker [aria-busy=false]")
            await folder.click()
            # What is in the one above stays in sight until it is read.
            at = f"{at}/{name}"
            await expect(page.locator(".picker .at code")).to_have_text(at)
        await page.get_by_role("button", name="place", exact=True).click()
        await page.get_by_role("button", name="Open mill").click()
        await expect(page.locator("#projects-switch")).to_contain_text("mill")
        await expect(page.locator("#projects section h2")).to_have_text(["mill"])
        await page.reload()
        await until_ready(page)
        await expect(page.locator("#projects-switch")).to_contain_text("mill")
        await page.click("#projects-switch")
        await page.get_by_role("button", name="All projects").click()
        await expect(page.locator("#projects section h2")).to_have_count(2)
        await expect(page.locator(".session")).to_have_count(1)
        assert complaints.found == []


async def test_everything_is_reached_by_keys_and_no_key_is_taken_from_a_field(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints), daemon.client() as client:
        await new_session(page)
        await client.patch(f"/sessions/{page.url.rpartition('#')[2]}", json={"title": "Weigh the flour"})
        await page.wait_for_selector(".session-title >> text=Weigh the flour")
        await page.click("#message")
        await page.keyboard.type("n[]?gs")
        assert await page.input_value("#message") == "n[]?gs"
        await expect(page.locator("dialog")).to_have_count(0)

        await page.keyboard.press("Control+k")
        await expect(page.locator("#palette-field")).to_be_focused()
        # The second press is the browser's own.
        assert not await page.evaluate(PREVENTED, {"key": "k", "ctrlKey": True})
        await expect(page.locator("#palette-field")).to_have_count(0)
        await page.keyboard.press("Control+k")
        await expect(page.locator("#palette-field")).to_be_focused()
        await page.keyboard.type("money")
        file = page.locator("[role=option]", has_text="money.py")
        await expect(file).to_contain_text("bakery/")
        await page.fill("#palette-field", "the model")
        await page.keyboard.press("Enter")
        await expect(page.locator("[data-opens=model]")).to_have_attribute("aria-expanded", "true")
        await page.keyboard.press("Escape")
        await page.keyboard.press("Control+k")
        await page.fill("#palette-field", "weigh")
        await page.wait_for_selector("[role=option][aria-selected=true] >> text=Weigh the flour")
        await page.goto(f"{daemon.url}/#issues/{daemon.project_id}")
        await page.wait_for_selector("#view >> text=New issue")
        # Beside the issues, too, it finds the files of the session that was open, and every view.
        await page.fill("#palette-field", "money")
        await file.wait_for()
        for words, entry in {"inbox": "Go to Inbox", "sign-in": "Settings: providers"}.items():
            await page.fill("#palette-field", words)
            await page.wait_for_selector(f"[role=option] >> text={entry}")
        await page.fill("#palette-field", "weigh")
        await page.wait_for_selector("[role=option][aria-selected=true] >> text=Weigh the flour")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#composer:not([hidden])")
        await expect(page.locator("#title")).to_have_text("Weigh the flour")

        await page.fill("#message", "hello")
        await page.focus("#tabs button")
        await page.keyboard.press("Control+Enter")
        await page.wait_for_selector(".run-end")
        # The field gets the focus when the message is stored, which the page may learn after its run.
        await expect(page.locator("#message")).to_have_value("")
        await page.focus("#open-details")
        await page.keyboard.press("]")
        await expect(page.locator("#details")).to_be_hidden()
        await page.keyboard.press("[")
        await expect(page.locator("#sidebar")).to_be_hidden()
        await page.reload()
        await until_ready(page)
        await expect(page.locator("#sidebar")).to_be_hidden()
        # The field takes the focus once the session is there.
        await expect(page.locator("#message")).to_be_focused()
        await page.focus("#open-sidebar")
        await page.keyboard.press("[")
        await expect(page.locator("#sidebar")).to_be_visible()
        # At once: a slow machine must not make two keys of it.
        await page.evaluate(f"['g', 'w'].forEach((key) => ({PREVENTED})({{ key }}))")
        await expect(page.locator("#views [aria-current=page]")).to_have_attribute("data-view", "workflows")
        await page.go_back()
        await page.wait_for_selector("#composer:not([hidden])")

        await page.focus("#open-details")
        await page.keyboard.press("?")
        await page.wait_for_selector("dialog.sheet >> text=New session")
        for does in ("Allow once", "Reject, with a reason", "Edit the last message, in an empty field"):
            await expect(page.locator("dialog.sheet dd", has_text=does)).to_have_count(1)
        await page.get_by_role("link", name="Appearance").last.click()
        await page.get_by_role("switch", name="Single keys").uncheck()
        await page.focus("#views [aria-current=page]")
        before = page.url
        for key in ("n", "?", "g", "s", "["):
            assert not await page.evaluate(PREVENTED, {"key": key})
        assert page.url == before
        await expect(page.locator("dialog")).to_have_count(0)
        assert complaints.found == []


async def test_the_page_can_be_installed_and_keeps_built_files_and_nothing_else(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        worker = "navigator.serviceWorker.ready.then(({ active, scope }) => [active.scriptURL, scope])"
        assert await page.evaluate(worker) == [f"{daemon.url}/service_worker.js", f"{daemon.url}/"]
        await until(page, "navigator.serviceWorker.controller !== null")
        cdp = await page.context.new_cdp_session(page)
        manifest = await cdp.send("Page.getAppManifest")
        assert manifest["errors"] == []
        start = "([start, at]) => new URL(start, at).href"
        beside = [json.loads(manifest["data"])["start_url"], manifest["url"]]
        assert await page.evaluate(start, beside) == f"{daemon.url}/"
        assert (await cdp.send("Page.getInstallabilityErrors"))["installabilityErrors"] in (
            [],
            [{"errorId": "in-incognito", "errorArguments": []}],
        )
        await page.reload()
        await until_ready(page)
        session = await new_session(page)
        await send(page, "hello")
        await page.wait_for_selector(".run-end")
        await page.goto(f"{daemon.url}/#settings/appearance")
        await page.wait_for_selector("#single-keys")
        await until(page, f"({KEPT_FILES})().then((found) => found.length > 3)")
        found = await page.evaluate(KEPT_FILES)
        assert {name for name, _ in found} == {f"kaged {daemon.url}/"}
        assert all(path.startswith("/static/") for _, path in found)
        assert not [path for _, path in found if "theme" in path or "icon" in path or session in path]
        assert complaints.found == []


async def test_what_an_older_release_has_left_is_forgotten(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    context = await browser.new_context()
    page = await context.new_page()
    # A file of this address that starts no worker.
    await page.goto(f"{daemon.url}/static/icon.svg")
    await page.evaluate(
        "caches.open(`kaged ${location.origin}/`).then((keep) => "
        "keep.put('/static/index-0123456789.js', new Response('old')))"
    )
    assert [path for _, path in await page.evaluate(KEPT_FILES)] == ["/static/index-0123456789.js"]
    await page.goto(await daemon.launch_link())
    await page.evaluate("navigator.serviceWorker.ready")
    await until(
        page, f"({KEPT_FILES})().then((found) => found.every(([, path]) => !path.includes('0123456789')))"
    )
    await context.close()
