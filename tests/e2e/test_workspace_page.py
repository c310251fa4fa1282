"""The panel beside the conversation: the tree of files, and what becomes of workspaces and attempts."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.driver.attempts import Attempted
from tests.driver.browser import new_session, open_page, until_state
from tests.driver.demo_daemon import Demo
from tests.driver.git_desk import git
from tests.driver.workspaces import Workplace, new_workplace

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]

RESOLVES = """
  - when: '(?s).*bakery/money\\.py'
    steps:
      - answer: [text: "I look at the conflict."]
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Demo]:
    """The demo in a repository."""
    demo = Demo(tmp_path_factory.mktemp("demo"))
    demo.add_conversation(RESOLVES)
    (demo.root / ".gitignore").write_text("__pycache__/\n*.log\n")
    (demo.root / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 5001)))
    many = demo.root / "many"
    many.mkdir()
    for number in range(130):
        (many / f"{number:03}.txt").write_text("")
    git(demo.root, "init", "-qb", "main")
    git(demo.root, "config", "user.name", "Ada")
    git(demo.root, "config", "user.email", "ada@example.org")
    git(demo.root, "add", "--all")
    git(demo.root, "commit", "-qm", "first")
    await demo.start()
    yield demo
    await demo.stop()


async def focused(page: Page) -> str | None:
    return await page.evaluate("document.activeElement.dataset.key ?? document.activeElement.id")


async def test_the_tree_is_walked_by_keys_and_each_line_has_an_address(demo: Demo, browser: Browser) -> None:
    (demo.root / "bakery" / "basket.py").write_text("# changed\n" * 40)
    (demo.root / "noise.log").write_text("not shown\n")
    daemon = await demo.start()
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        session = await new_session(page)
        await page.click("#tab-files")
        await page.locator('[data-key=".kaged"]').focus()
        await page.keyboard.press("ArrowDown")
        assert await focused(page) == "bakery"
        bakery = page.locator('[data-key="bakery"]')
        await expect(bakery).to_have_attribute("aria-expanded", "false")
        await expect(bakery).to_have_attribute("title", "1 changed")
        await page.keyboard.press("ArrowRight")
        await expect(bakery).to_have_attribute("aria-expanded", "true")
        basket = page.locator('[data-key="bakery/basket.py"]')
        await expect(basket).to_have_attribute("aria-level", "2")
        await expect(basket).to_have_attribute("data-git", "modified")
        await page.keyboard.press("b")
        assert await focused(page) == "bakery/basket.py"
        await page.keyboard.press("Enter")
        await expect(page.locator(".text tr")).to_have_count(40)
        assert page.url.endswith(f"#{session}/files/bakery/basket.py")
        await page.locator('[data-line="12"] button').click()
        await expect(page.locator("tr.here")).to_have_attribute("data-line", "12")
        assert page.url.endswith(f"#{session}/files/bakery/basket.py:12")
        await page.reload()
        await expect(page.locator("tr.here")).to_have_attribute("data-line", "12")
        await page.click("#back-to-files")
        await expect(basket).to_be_focused()
        await page.keyboard.press("ArrowLeft")
        assert await focused(page) == "bakery"
        await page.keyboard.press("ArrowLeft")
        await expect(basket).to_have_count(0)
        await page.keyboard.press("End")
        assert await focused(page) == "pyproject.toml"
        await page.go_back()
        await expect(page.locator("tr.here")).to_have_attribute("data-line", "12")
        assert complaints.found == []


async def test_a_file_is_found_by_some_letters_and_long_ones_are_read_in_parts(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        session = await new_session(page)
        await page.click("#tab-files")
        await page.fill("#find-file", "longt:4000")
        await expect(page.locator(".hit").first).to_have_text("long.txt")
        await expect(page.locator(".hit mark").first).to_have_text("long")
        await page.press("#find-file", "Enter")
        await expect(page.locator("tr.here")).to_have_text("line 4000")
        await expect(page.locator("tr.here")).to_be_in_viewport()
        assert page.url.endswith(f"#{session}/files/long.txt:4000")
        assert await page.locator(".text tr").count() == 1000
        await page.get_by_role("button", name="Show the 1,000 lines above").click()
        await expect(page.locator(".text tr")).to_have_count(2000)
        await page.get_by_role("button", name="Show more lines of 5,000").click()
        await expect(page.locator(".text tr").last).to_have_text("line 5000")

        await page.click("#back-to-files")
        await page.locator('[data-key="many"]').click()
        more = page.get_by_role("treeitem", name="Show 30 more")
        await more.click()
        await expect(page.locator('[data-key="many/129.txt"]')).to_be_visible()
        await expect(more).to_have_count(0)
        await expect(page.locator('[data-key="noise.log"]')).to_have_count(0)
        (demo.root / "noise.log").write_text("now shown\n")
        await page.get_by_label("Show ignored files").check()
        await expect(page.locator('[data-key="noise.log"]')).to_have_attribute("data-ignored", "true")
        assert complaints.found == []


async def in_workspace(demo: Demo, client: httpx2.AsyncClient, project_id: str) -> tuple[Workplace, Path]:
    """Open a session in a workspace in which money.py is changed."""
    place = await new_workplace(client, project_id)
    money = place.root / "bakery" / "money.py"
    money.write_text(f"{money.read_text()}# theirs\n")
    return place, demo.root / "bakery" / "money.py"


@pytest.mark.requirement("workspaces.merge")
async def test_a_merge_is_looked_at_and_its_conflict_given_to_the_agent(demo: Demo, browser: Browser) -> None:
    git(demo.root, "reset", "-q", "--hard")
    daemon = await demo.start()
    async with daemon.client() as client, open_page(browser, daemon, width=1440) as (page, complaints):
        client.base_url = daemon.url
        place, money = await in_workspace(demo, client, daemon.project_id)
        await page.goto(f"{daemon.url}/#{place.session_id}")
        await page.get_by_role("button", name="Merge", exact=True).click()
        await page.get_by_role("button", name="Show what a merge changes").click()
        await expect(page.locator(".patch .added")).to_have_text("+# theirs")
        assert "theirs" not in money.read_text()
        await page.get_by_role("button", name="Merge into your folder").click()
        await page.get_by_text("Merged 1 file into your folder.").wait_for()
        assert money.read_text().endswith("# theirs\n")
        git(demo.root, "commit", "-qam", "theirs")

        inside = place.root / "bakery" / "money.py"
        inside.write_text(inside.read_text().replace("# theirs", "# theirs again"))
        money.write_text(money.read_text().replace("# theirs", "# mine"))
        git(demo.root, "commit", "-qam", "mine")
        await page.get_by_role("button", name="Show what a merge changes").click()
        await expect(page.locator("#merge-conflicts li")).to_have_text("bakery/money.py")
        await expect(page.get_by_role("button", name="Merge into your folder")).to_have_count(0)
        await page.get_by_role("button", name="Ask the agent to resolve").click()
        await page.get_by_text("The agent was asked to resolve the conflicts").wait_for()
        await page.get_by_text("I look at the conflict.").wait_for()
        # While it works nobody discards what it works in.
        await until_state(page, "idle")
        assert "<<<<<<<" in inside.read_text()
        assert money.read_text().endswith("# mine\n")

        await page.get_by_role("button", name="Discard").click()
        await page.get_by_role("button", name="Undo the discard").click()
        await page.get_by_text("Restored.").wait_for()
        assert (await place.look())["state"] in ("ready", "merged")
        await page.get_by_role("button", name="Keep branch").click()
        await page.get_by_text("is in your repository").wait_for()
        assert place.workspace["branch"] in git(demo.root, "branch", "--format=%(refname:short)")
        assert complaints.found == []


@pytest.mark.requirement("workspaces.recovery")
async def test_a_broken_workspace_says_why_and_is_created_again(demo: Demo, browser: Browser) -> None:
    git(demo.root, "reset", "-q", "--hard")
    daemon = await demo.start()
    async with daemon.client() as client:
        client.base_url = daemon.url
        place, _ = await in_workspace(demo, client, daemon.project_id)
    await demo.stop()
    shutil.rmtree(place.root)
    daemon = await demo.start()
    async with (
        daemon.client() as client,
        open_page(browser, daemon, width=390, height=844) as (page, complaints),
    ):
        client.base_url = daemon.url
        place = Workplace(client, place.session_id, {})
        await page.goto(f"{daemon.url}/#{place.session_id}")
        await page.click("#open-details")
        card = page.get_by_label("Workspace: This session")
        await expect(card.locator(".pill")).to_have_text("broken")
        await expect(card.locator(".remark")).to_contain_text("is gone")
        await card.get_by_role("button", name="Create again").press("Enter")
        await card.get_by_text("The workspace is being created again.").wait_for()
        await expect(card.locator(".pill")).to_have_text("ready")
        assert (await place.look())["state"] == "ready"
        assert place.root.is_dir()
        # The list of changes was refused before.
        assert [one for one in complaints.found if "409 (Conflict)" not in one] == []


@pytest.mark.requirement("attempts.pick")
async def test_a_discarded_group_of_attempts_stays_in_sight_and_is_restored(
    demo: Demo, browser: Browser
) -> None:
    git(demo.root, "reset", "-q", "--hard")
    daemon = await demo.start()
    async with daemon.client() as client, open_page(browser, daemon, width=1440) as (page, complaints):
        session = await new_session(page)
        groups = []
        for title in ("Fix the failing test", "Fix the failing test once more"):
            body = {"content": title, "attempts": {"n": 2}}
            answer = await client.post(f"/sessions/{session}/messages", json=body)
            assert answer.status_code == 202, answer.text
            groups.append(answer.json()["attempt_group"])
        # What is discarded while it is being created has no files that could be restored.
        client.base_url = daemon.url
        for group in groups:
            await Attempted(client, group).until_done()
        client.base_url = f"{daemon.url}/api/v1"
        first = groups[0]["attempts"][0]["session_id"]
        # They were begun elsewhere, while the window was left.
        await page.evaluate("dispatchEvent(new Event('focus'))")
        await page.get_by_role("button", name="Attempts", exact=True).click()
        choice = page.get_by_label("Which attempts")
        await expect(choice.locator("option")).to_have_count(2)
        await choice.select_option(groups[0]["id"])
        await page.get_by_role("button", name="Discard all").press("Enter")
        await page.get_by_text("All attempts are discarded.").wait_for()
        await expect(page.get_by_role("button", name=re.compile("^Pick attempt"))).to_have_count(0)

        # Also after a reload, and on the page of an attempt itself.
        # Without the reload, the attempts of the session that is left would take the click.
        await page.goto(f"{daemon.url}/#{first}")
        await page.reload()
        await page.get_by_role("button", name="Attempts", exact=True).click()
        await expect(page.locator(".facts .pill").first).to_have_text("discarded")
        await page.get_by_role("button", name="Restore attempt 1").click()
        await page.get_by_text("Attempt 1 is restored.").wait_for()
        await expect(page.get_by_role("button", name="Restore attempt 1")).to_have_count(0)
        states = [
            (await client.get(f"/sessions/{one['session_id']}/workspace")).json()["state"]
            for one in groups[0]["attempts"]
        ]
        assert states == ["ready", "discarded"]
        assert complaints.found == []


async def test_attempts_stand_side_by_side_and_one_is_picked(demo: Demo, browser: Browser) -> None:
    git(demo.root, "reset", "-q", "--hard")
    daemon = await demo.start()
    basket = demo.root / "bakery" / "basket.py"
    async with daemon.client() as client, open_page(browser, daemon, width=1440) as (page, complaints):
        body = {"content": "Fix the failing test", "attempts": {"n": 2}}
        answer = await client.post(f"/projects/{daemon.project_id}/attempts", json=body)
        assert answer.status_code == 201, answer.text
        first, second = (one["session_id"] for one in answer.json()["attempts"])
        await page.goto(f"{daemon.url}/#{first}")
        await page.get_by_role("button", name="Attempts", exact=True).click()
        for number in (1, 2):
            column = page.get_by_label(f"Attempt {number}", exact=True)
            await expect(column.locator(".pill").first).to_have_text("succeeded")
            await expect(column.locator(".plus")).to_have_text("+1")
            await expect(column).to_contain_text("$0.0")
        await page.get_by_label("Attempt 2", exact=True).get_by_role("button", name="Changes").click()
        await expect(page.get_by_label("Attempt 2", exact=True).locator(".file")).to_have_count(1)
        await page.get_by_role("button", name="Pick attempt 2…").click()
        await expect(page.locator(".patch .added")).to_contain_text("sum(self._pieces.values())")
        await page.get_by_text("1 other attempt is stopped and discarded.").wait_for()
        assert "sum(self._pieces" not in basket.read_text()
        await page.get_by_role("button", name="Pick attempt 2", exact=True).click()
        await page.get_by_text("Attempt 2 is in your folder, not committed.").wait_for()
        assert "sum(self._pieces.values())" in basket.read_text()
        kept = (await client.get(f"/sessions/{second}/workspace")).json()["state"]
        gone = (await client.get(f"/sessions/{first}/workspace")).json()["state"]
        assert (kept, gone) == ("merged", "discarded")
        await expect(page.get_by_label("Attempt 2", exact=True)).to_contain_text("picked")
        assert complaints.found == []
