"""What an agent changed, on the page: found, reverted, commented, committed; hostile names and contents."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, Route, expect

from tests.driver.browser import COUNTED, new_session, open_page, send, until_state
from tests.driver.demo_daemon import Demo
from tests.driver.demo_work import back_to_first_commit, changing_demo, one_change, two_changes
from tests.driver.git_desk import git

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]

WRITE = """python3 -c 'open("made.txt", "w").write("by a command")'"""
TWO_CHANGES = two_changes(
    "change two places",
    "All of it is done.",
    '{ name: file.create, arguments: { path: notes.md, content: "Wider receipts.\\n" } }',
    f"{{ name: shell.bash, arguments: {{ command: {json.dumps(WRITE)} }} }}",
)

_LOOK = """iter(lambda: os.path.exists("go.txt"), True)"""
WAIT = f"""python3 -c 'import os, time; [time.sleep(0.05) for _ in {_LOOK}]'"""
ONE_CHANGE = one_change(
    "change one place", f"{{ name: shell.bash, arguments: {{ command: {json.dumps(WAIT)} }} }}"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Demo]:
    """The demo in a repository, with an agent that changes a file at two places."""
    async with changing_demo(tmp_path_factory.mktemp("demo"), TWO_CHANGES + ONE_CHANGE) as demo:
        yield demo


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def clean(demo: Demo) -> None:
    """Each test begins with the files of the first commit."""
    await back_to_first_commit(demo)


async def changed(page: Page) -> str:
    """Let the agent of a new session change the files, and return the session."""
    session = await new_session(page)
    await send(page, "change two places")
    await page.wait_for_selector("text=All of it is done.")
    await until_state(page, "idle")
    await expect(page.locator("#tab-changes")).to_contain_text("3")
    # A file comes to its agent, and to its place, once it is known who wrote it.
    for at, path in enumerate(("bakery/receipt.py", "notes.md", "made.txt")):
        await expect(page.locator(".file").nth(at)).to_have_attribute("data-path", path)
    return session


async def distance(one: Locator, below: Locator) -> float:
    """Return how far the second begins below the first. A click may have scrolled the panel."""
    boxes = [await one.bounding_box(), await below.bounding_box()]
    above, under = (box["y"] for box in boxes if box is not None)
    return under - above


def row(page: Page, path: str) -> Locator:
    return page.locator(f'.file[data-path="{path}"]')


async def test_a_single_changed_file_opens_by_itself_once_its_agent_has_ended(
    demo: Demo, browser: Browser
) -> None:
    """What opens while the agent works would shut under the click of somebody who wants it open."""
    daemon = await demo.start()
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        await new_session(page)
        await send(page, "change one place")
        await expect(page.locator(".group").first).to_have_text("primary")
        head = row(page, "bakery/receipt.py").locator(".file-head")
        await expect(head).to_have_attribute("aria-expanded", "false")
        (demo.root / "go.txt").touch()
        await until_state(page, "idle")
        await expect(head).to_have_attribute("aria-expanded", "true")
        (demo.root / "go.txt").unlink()
        assert complaints.found == []


async def test_the_number_of_changes_is_right_when_the_first_list_comes_late(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=1440, workers="block") as (page, complaints):
        gates: list[asyncio.Event] = []
        later, second = asyncio.Event(), asyncio.Event()

        async def hold(route: Route) -> None:
            gate = later if gates else asyncio.Event()
            gates.append(gate)
            if len(gates) == 2:
                second.set()
            answer = await route.fetch()
            await gate.wait()
            await route.fulfill(response=answer)

        await page.route(re.compile("/changes[?]since=start"), hold)
        await new_session(page)
        await send(page, "change two places")
        await expect(page.locator("#tab-changes")).to_contain_text("3")
        await until_state(page, "idle")
        async with asyncio.timeout(45):
            await second.wait()
        async with page.expect_response(re.compile("/changes[?]since=start")):
            gates[0].set()
        later.set()
        await expect(page.locator(".file")).to_have_count(3)
        await expect(page.locator("#tab-changes")).to_contain_text("3")
        assert [one for one in complaints.found if "Service Worker" not in one] == []


async def test_an_edit_in_the_thread_is_reverted_and_a_command_run_again(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    receipt = demo.root / "bakery" / "receipt.py"
    before = receipt.read_text()
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        session = await changed(page)
        written = receipt.read_text()
        # What the agent edited is said as that: the command has changed a file, too.
        end = page.locator(".run-end p")
        await expect(end).to_contain_text("edited 2 files · Changes")
        await end.get_by_role("button", name="Changes").click()
        await expect(page.locator("#details .file")).to_have_count(3)
        revert = page.locator('.tool[data-tool="edit.text"]').first.locator(".revert")
        asked = revert.locator("text=Take back all changes of this session in receipt.py (+2 −2)?")
        # It asks first; Escape leaves the file alone.
        await revert.locator('[data-act="revert-file"]').click()
        await asked.wait_for()
        await expect(revert.locator('[data-act="revert"]')).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(asked).to_have_count(0)
        assert receipt.read_text() == written
        # What has changed since it asked is not taken back.
        await revert.locator('[data-act="revert-file"]').click()
        await asked.wait_for()
        receipt.write_text(written + "# by hand\n")
        await page.keyboard.press("Enter")
        await revert.locator("text=The file has changed since. Look at it in Changes.").wait_for()
        receipt.write_text(written)
        await revert.locator('[data-act="revert-file"]').click()
        await asked.wait_for()
        await page.keyboard.press("Enter")
        await revert.locator("text=Reverted by the operator, ").wait_for()
        assert receipt.read_text() == before
        await revert.locator('[data-act="undo-revert"]').click()
        await revert.locator("text=Restored.").wait_for()
        assert receipt.read_text() == written
        receipt.write_text(before)
        await revert.locator('[data-act="revert-file"]').click()
        await revert.locator("text=The file is as it was when the session began.").wait_for()
        # A command is copied, and put into a message that nobody has sent yet.
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        shell = page.locator('.tool[data-tool="shell.bash"]')
        await shell.locator('[data-act="copy-command"]').click()
        await expect(shell.locator('[data-act="copy-command"]')).to_have_text("Copied")
        assert await page.evaluate("navigator.clipboard.readText()") == WRITE
        await page.fill("#message", "Once more.")
        await shell.locator('[data-act="run-again"]').click()
        draft = f"Once more.\n\nRun this again:\n\n```sh\n{WRITE}\n```\n\n"
        await expect(page.locator("#message")).to_have_value(draft)
        await expect(page.locator("#message")).to_be_focused()
        async with daemon.client() as client:
            runs = (await client.get(f"/sessions/{session}/runs")).json()["items"]
        assert len(runs) == 1
        await page.fill("#message", "")
        # The browser tells both refusals.
        assert [re.findall(r"\d{3}", one) for one in complaints.found] == [["409"], ["404"]]


async def test_one_of_two_changes_is_found_and_reverted_with_two_clicks_and_restored_with_one(
    demo: Demo, browser: Browser
) -> None:
    """Jobs counted from the open session: find and undo one hunk, 2 clicks; take that back, 1 click.
    By Tab and Enter alone, from the file's row: Enter opens, 5 times Tab to the first Revert, Enter."""
    daemon = await demo.start()
    receipt = demo.root / "bakery" / "receipt.py"
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        await changed(page)
        both = receipt.read_text()
        await expect(page.locator(".group").first).to_have_text("primary")
        await expect(row(page, "made.txt").locator(".mark")).to_have_text("others")
        await expect(row(page, "bakery/receipt.py").locator(".mark")).to_have_count(0)
        await page.evaluate(COUNTED)
        await row(page, "bakery/receipt.py").locator(".file-head").click()
        hunks = row(page, "bakery/receipt.py").locator(".hunk:not(.reverted)")
        await expect(hunks).to_have_count(2)
        await expect(hunks.first.locator("tr.removed")).to_have_text(re.compile("WIDTH = 32"))
        await expect(hunks.first.locator("tr.added .number").nth(1)).to_have_attribute("data-number", "7")
        # The words of code are marked by the worker.
        await expect(hunks.first.locator("tr.added .hljs-number")).to_have_text("48")
        await hunks.first.get_by_role("button", name="Revert").click()
        await expect(hunks).to_have_count(1)
        assert await page.evaluate("window.counted") == {"clicks": 2, "keys": 0}
        assert "WIDTH = 32" in receipt.read_text()
        assert '"discount"' in receipt.read_text()
        await page.click("#undo-revert")
        await expect(hunks).to_have_count(2)
        assert await page.evaluate("window.counted.clicks") == 3
        assert receipt.read_text() == both

        head = row(page, "bakery/receipt.py").locator(".file-head")
        await head.press("Enter")
        await expect(hunks).to_have_count(0)
        await page.evaluate("window.counted = { clicks: 0, keys: 0 }")
        await head.press("Enter")
        await expect(hunks).to_have_count(2)
        for _ in range(5):
            await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(hunks).to_have_count(1)
        assert await page.evaluate("window.counted") == {"clicks": 0, "keys": 7}
        assert "WIDTH = 32" in receipt.read_text()
        await expect(head).to_be_focused()
        assert complaints.found == []


async def test_what_is_reverted_keeps_its_place_so_that_a_second_click_reverts_nothing_else(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    receipt = demo.root / "bakery" / "receipt.py"
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        await changed(page)
        both = receipt.read_text()
        file = row(page, "bakery/receipt.py")
        await file.locator(".file-head").click()
        reverted = file.locator(".hunk.reverted")
        await expect(file.locator(".hunk tr.added .hljs-number").first).to_have_text("48")
        place = await file.get_by_role("button", name="Revert change 1 of receipt.py").bounding_box()
        assert place is not None
        for _ in range(2):
            await page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
            await expect(reverted).to_have_count(1)
            # The list has been read again, and nothing has moved.
            await expect(file.locator(".counts")).to_have_text(re.compile(r"\+1\s*−1"))
        assert "WIDTH = 32" in receipt.read_text()
        assert '"discount"' in receipt.read_text()
        await file.get_by_role("button", name="Undo the revert of line 7 of receipt.py").click()
        await expect(reverted).to_have_count(0)
        await expect(file.locator(".hunk")).to_have_count(2)
        assert receipt.read_text() == both

        # A file that is as it was stays as well, and so do those below it.
        before = await distance(file, row(page, "notes.md"))
        await file.get_by_role("button", name="Revert file receipt.py").click()
        await expect(file.locator(".mark")).to_have_text("reverted")
        assert await distance(file, row(page, "notes.md")) == before
        await file.get_by_role("button", name="Undo the revert of file receipt.py").click()
        await expect(file.locator(".mark")).to_have_count(0)
        assert receipt.read_text() == both
        # A difference may have been asked for while its file was reverted.
        assert [one for one in complaints.found if "404" not in one] == []


async def test_each_change_has_an_address_and_is_commented_and_reverted_by_keys(
    demo: Demo, browser: Browser
) -> None:
    """From a file's row: → opens it, ↓ goes to its first change, r reverts that: 3 keys."""
    daemon = await demo.start()
    receipt = demo.root / "bakery" / "receipt.py"
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        session = await changed(page)
        await row(page, "notes.md").locator(".file-head").focus()
        head = row(page, "bakery/receipt.py").locator(".file-head")
        for _ in range(3):
            if await head.evaluate("(one) => one === document.activeElement"):
                break
            await page.keyboard.press("ArrowUp")
        await expect(head).to_be_focused()
        await page.keyboard.press("ArrowRight")
        hunks = row(page, "bakery/receipt.py").locator(".hunk:not(.reverted)")
        await expect(hunks).to_have_count(2)
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("ArrowDown")
        second = hunks.nth(1)
        await expect(second).to_be_focused()

        # The address of a change opens it, also in a new page and with the file folded.
        line = (await second.locator("tr.added .number").nth(1).get_attribute("data-number")) or ""
        await second.get_by_role("link", name=f"line {line}").click()
        await expect(page).to_have_url(re.compile(f"#{session}/changes/bakery/receipt.py:{line}$"))
        await page.reload()
        await expect(second).to_be_focused()
        await expect(second).to_be_in_viewport()
        await expect(second).to_have_class(re.compile("here"))
        await page.keyboard.press("ArrowLeft")
        await expect(head).to_be_focused()
        await page.keyboard.press("ArrowLeft")
        await expect(hunks).to_have_count(0)
        await page.evaluate(f"location.hash = '#{session}/changes/bakery/receipt.py:7'")
        await expect(hunks.first).to_be_focused()

        await page.keyboard.press("c")
        await expect(page.locator("#message")).to_be_focused()
        assert "-WIDTH = 32\n+WIDTH = 48" in await page.input_value("#message")
        await hunks.first.focus()
        await page.keyboard.press("r")
        await expect(hunks).to_have_count(1)
        assert "WIDTH = 32" in receipt.read_text()
        assert '"discount"' in receipt.read_text()
        await expect(head).to_be_focused()
        assert complaints.found == []


async def test_a_change_that_was_looked_at_is_folded_until_it_becomes_another(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    receipt = demo.root / "bakery" / "receipt.py"
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        session = await changed(page)
        file = row(page, "bakery/receipt.py")
        await file.locator(".file-head").click()
        lines = file.locator(".hunk .lines")
        await expect(lines).to_have_count(2)
        await file.get_by_label("Viewed change 1").check()
        await expect(lines).to_have_count(1)
        await expect(file.locator(".file-head .seen")).to_have_text("1 of 2 viewed")
        # By key, on the change itself; the key a second time takes the mark away.
        second = file.locator(".hunk").nth(1)
        for folded in (0, 1, 0):
            await second.focus()
            await page.keyboard.press("v")
            await expect(lines).to_have_count(folded)
        await expect(file.locator(".file-head .seen")).to_have_text("✓ viewed")
        # The browser remembers it, also when lines above move the change.
        receipt.write_text("# A receipt.\n" + receipt.read_text())
        await page.goto(f"{daemon.url}/#{session}/changes/bakery/receipt.py")
        await page.reload()
        await expect(file.get_by_label(re.compile("^Viewed change"), exact=False)).to_have_count(2)
        await expect(lines).to_have_count(1)
        await expect(lines).to_contain_text("# A receipt.")
        # A change that becomes another one is to be looked at again.
        receipt.write_text(receipt.read_text().replace('"discount"', '"less"'))
        await page.reload()
        await expect(lines).to_have_count(2)
        await expect(file.locator(".file-head .seen")).to_have_count(0)
        assert await page.evaluate("localStorage.getItem('kaged.changes.viewed')") is None
        assert complaints.found == []


async def test_a_change_is_commented_to_the_agent_also_where_the_panel_lies_over_the_page(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=390, height=844, dark=True) as (page, complaints):
        await new_session(page)
        await send(page, "change two places")
        # Before its run has begun the session is idle, too.
        await page.wait_for_selector("text=All of it is done.")
        await until_state(page, "idle")
        await page.fill("#message", "Look at this.")
        await page.click("#open-details")
        box = await page.locator("#details").bounding_box()
        assert box is not None
        assert (box["x"], box["width"]) == (0, 390)
        await row(page, "bakery/receipt.py").locator(".file-head").click()
        await page.get_by_role("button", name="Comment on change 1").click()
        await expect(page.locator("#details")).to_be_hidden()
        await expect(page.locator("#message")).to_be_focused()
        written = await page.input_value("#message")
        assert written.startswith("Look at this.\n\n")
        assert "bakery/receipt.py" in written
        assert re.search(r"^(> )?-WIDTH = 32\n(> )?\+WIDTH = 48$", written, re.MULTILINE)
        assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert complaints.found == []


async def test_one_change_is_staged_and_committed_and_the_other_stays(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=1440) as (page, complaints):
        await changed(page)
        await page.get_by_role("button", name="Commit", exact=True).click()
        await expect(page.locator("#git-branch")).to_have_text("main")
        file = page.get_by_label("Not staged").locator('.file[data-path="bakery/receipt.py"]')
        await file.locator(".file-head").click()
        await file.get_by_role("button", name="Stage change 2").click()
        staged = page.get_by_label("Staged", exact=True)
        await expect(staged.locator(".file")).to_have_count(1)
        await expect(staged.locator(".file-head .counts")).to_have_text("+1 −1")
        commit = page.get_by_role("button", name="Commit 1 file")
        await expect(commit).to_have_attribute("aria-disabled", "true")
        await page.fill("#commit-message", "Call it a discount")
        await commit.click()
        await expect(page.locator(".form [role=status]")).to_contain_text("Call it a discount")
        assert git(demo.root, "show", "--format=%s", "-U0").count("\n+") == 2  # the name and the line
        assert '"discount"' in git(demo.root, "show", "HEAD:bakery/receipt.py")
        assert "WIDTH = 32" in git(demo.root, "show", "HEAD:bakery/receipt.py")
        assert "+WIDTH = 48" in git(demo.root, "diff")

        # A hook that refuses says why, and nothing is committed.
        hook = demo.root / ".git" / "hooks" / "pre-commit"
        hook.write_text("#!/bin/sh\necho '<b>too wide</b>'\nexit 1\n")
        hook.chmod(0o755)
        head = git(demo.root, "rev-parse", "HEAD")
        await page.get_by_role("button", name="Stage all", exact=True).click()
        await page.fill("#commit-message", "The rest")
        await page.get_by_label("Run the repository's hooks").check()
        await page.get_by_role("button", name=re.compile("Commit 3 files")).click()
        await expect(page.locator(".trouble pre")).to_contain_text("<b>too wide</b>")
        assert git(demo.root, "rev-parse", "HEAD") == head
        await page.get_by_label("Run the repository's hooks").uncheck()
        await page.get_by_role("button", name=re.compile("Commit 3 files")).click()
        await page.get_by_text("Nothing differs from the last commit.").wait_for()
        assert git(demo.root, "status", "--porcelain") == ""

        await page.get_by_role("button", name="Branches").click()
        await page.fill("#new-branch", "wider")
        await page.get_by_role("button", name="Create and switch").click()
        await expect(page.locator("#git-branch")).to_have_text("wider")
        assert git(demo.root, "branch", "--show-current").strip() == "wider"
        git(demo.root, "switch", "-q", "main")
        assert [one for one in complaints.found if "409 (Conflict)" not in one] == []


HOSTILE = {
    b"<img src=x onerror=document.title=1>.py": b"'<script>document.title=2</script>'\n\x1b[31mred\x1b[0m\n",
    b"turned\xe2\x80\xaegnp.txt": "a = 1 # \u202e } ;\n".encode(),
    b"two\nlines.txt": b"one\n",
    b"not\xff utf-8.txt": b"caf\xe9\n",
    b"long.txt": b"w" * 300_000 + b"\n",
    b"many.py": b"".join(b"line_%d = %d\n" % (number, number) for number in range(5000)),
    b"picture.bin": bytes(range(256)) * 40,
    b"#?%25&.txt": b"percent\n",
}


def _write(root: Path, name: bytes, content: bytes) -> None:
    Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_bytes(content)


async def test_hostile_names_and_contents_are_inert_in_changes_and_files(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=390, height=844) as (page, complaints):
        session = await changed_by_a_person(page, demo)
        await page.click("#open-details")
        await expect(page.locator(".file")).to_have_count(len(HOSTILE) + 3)
        for file in await page.locator(".file").all():
            await file.locator(".file-head").click()
            await file.locator(".hunk, .remark").first.wait_for()
        text = await page.text_content("#details-body") or ""
        for shown in (
            "<img src=x onerror=document.title=1>.py",
            "turned⟨U+202E⟩gnp.txt",
            "two⟨U+000A⟩lines.txt",
            "not� utf-8.txt",
            "#?%25&.txt",
        ):
            assert shown in text
        for shown in (
            "<script>document.title=2</script>",
            "⟨U+001B⟩[31mred",
            "# ⟨U+202E⟩ }",
            "298,000 more characters",
            "A binary file",
        ):
            assert shown in text
        assert "\u202e" not in text
        # A long difference is shown piece by piece.
        many = row(page, "many.py")
        assert await many.locator("tr").count() == 300
        await many.get_by_role("button", name="more lines").click()
        await expect(many.locator("tr")).to_have_count(1500)
        assert await page.locator("#details :is(img, script, iframe, svg)").count() == 0
        assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")

        await page.click("#tab-files")
        for name in ("<img src=x", "turned⟨U+202E⟩", "two⟨U+000A⟩lines", "not� utf-8.txt", "#?%25&.txt"):
            await page.locator("[role=treeitem]", has_text=name).click()
            await page.locator(".text tr").first.wait_for()
            # Each has an address that opens it.
            await page.reload()
            await page.locator(".text tr").first.wait_for()
            await page.click("#back-to-files")
        await page.locator("[role=treeitem]", has_text="picture.bin").click()
        await page.get_by_text("This file is not text").wait_for()
        assert session in page.url
        assert await page.locator("#details :is(img, script, iframe, svg)").count() == 0
        assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert await page.title() not in ("1", "2")
        # A file that is not text is refused as text.
        assert [one for one in complaints.found if "409 (Conflict)" not in one] == []


async def changed_by_a_person(page: Page, demo: Demo) -> str:
    session = await new_session(page)
    # What the session began with is noted before the agent's first change.
    await send(page, "change two places")
    await page.wait_for_selector("text=All of it is done.")
    await until_state(page, "idle")
    for name, content in HOSTILE.items():
        _write(demo.root, name, content)
    return session
