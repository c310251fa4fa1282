"""The web page in a real Chromium: what a person sees and does."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.driver.browser import conversation, enqueue, new_session, open_page, send, until_state
from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.demo_daemon import Demo
from tests.driver.sessions import write_project
from tests.fakes.provider_script import Hold, Reply, Text
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOSTILE = """
  - says: hostile
    steps:
      - answer:
          - thinking: <img src=x onerror="document.title='thought'">
          - text: |
              <img src=x onerror="document.title='owned'"> <script>document.title='owned'</script>

              # <b>not bold</b>

              [harmless](https://example.org/a) [click](javascript:document.title='owned') ![i](https://example.org/i.png)

              | <u>a</u> | b |
              | --- | --- |
              | `<i>c</i>` | **d** |
          - tool_call: { name: file.read, arguments: { path: "<svg onload=document.title='owned'>" } }
      - answer: [text: "<iframe src=/launch></iframe> done"]
"""

SEARCHING = r"""
  - says: searching
    steps:
      - answer:
          - tool_call:
              name: search.grep
              arguments: { path: bakery/money.py, pattern: "def ", output_mode: content, context: 1 }
          - tool_call: { name: search.glob, arguments: { pattern: "bakery/m*.py" } }
          - tool_call:
              name: shell.bash
              arguments: { command: "python3 -c 'print(chr(27) + \"[31mred\" + chr(27) + \"[0m plain\")'" }
          - tool_call:
              name: code.lsp
              arguments: { action: hover, path: bakery/money.py, line: 4, symbol: percent_of }
      - answer: [text: "That is all."]
"""


STALLS = "          - stall: true\n"
INTERRUPTED = f"""
  - says: Mend it in two parts
    steps:
      - answer: [{{ tool_call: {{ name: file.read, arguments: {{ path: bakery/basket.py }} }} }}]
      - answer:
          - text: "It counts the kinds. "
{STALLS}          - tool_call: {{ name: file.read, arguments: {{ path: bakery/basket.py }} }}
          - tool_call:
              name: edit.text
              arguments:
                path: bakery/basket.py
                old_string: len(self._pieces)
                new_string: sum(self._pieces.values())
      - answer: [text: "All tests **pass**."]
"""

UNENDING = """
  - says: Tell me an unending tale
    steps:
      - answer: [{ text: "Long before anybody weighed flour " }, { stall: true }]
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Demo]:
    """The demo, so slow that a person sees what happens."""
    demo = Demo(tmp_path_factory.mktemp("demo"), speed=4)
    await demo.start()
    yield demo
    await demo.stop()


async def test_a_person_asks_for_the_bug_to_be_fixed_and_watches(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await page.click("#suggestions >> text=Fix the failing test")
        assert await page.input_value("#message") == "Fix the failing test"
        await page.keyboard.press("Enter")

        await until_state(page, "running")
        first = page.locator(".answer").first
        await first.locator(".thinking-preview", has_text="I should see what the test expects").wait_for()
        assert await first.locator(".thinking[open]").count() == 0
        await page.wait_for_selector('.tool[data-tool="file.read"][data-state="done"]', state="attached")
        await page.wait_for_selector('.tool[data-tool="edit.text"][data-state="done"]')
        await page.wait_for_selector(".run-end")
        await until_state(page, "idle")

        edit = page.locator('.tool[data-tool="edit.text"]')
        assert "return len(self._pieces)" in await edit.locator(".removed").inner_text()
        assert "return sum(self._pieces.values())" in await edit.locator(".added").inner_text()
        assert await page.locator(".reads > summary").first.inner_text() == "✓\nRead 2 files"
        await page.locator(".reads > summary").first.click()
        read = page.locator('.tool[data-tool="file.read"]').first
        await read.locator("summary").click()
        assert "import unittest" in await read.locator(".tool-result pre").inner_text()
        assert await page.locator(".markdown h3, .markdown h2").last.inner_text() == "Fixed"
        assert "replay:demo · 3.5k tokens · $0.0060" in await page.locator(".answer footer").last.inner_text()
        assert "Run succeeded · 5 steps" in await page.inner_text(".run-end")
        assert await page.inner_text("#title") == "Fix the failing test"
        assert complaints.found == []
    code, output = await demo.tests()
    assert code == 0, output


async def test_after_a_reload_the_conversation_is_the_same(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "Explain this project")
        await page.wait_for_selector(".run-end")
        await until_state(page, "idle")
        # An answer is plain text until what reads Markdown has come.
        await page.wait_for_selector("#conversation .answer table")
        live = await conversation(page)
        await page.reload()
        await page.wait_for_selector(".run-end")
        await page.wait_for_selector("#conversation .answer table")
        stored = await conversation(page)
        assert "Money is whole cents" in live
        # The page shows when it sent a message until the daemon says when it stored it.
        live, stored = (re.sub(r"\d\d:\d\d:\d\d", "time", text) for text in (live, stored))
        assert stored.splitlines()[:-1] == live.splitlines()[:-1]
        assert stored.splitlines()[-1].startswith("Run succeeded · 3 steps")
        assert await page.locator(".tool").count() == 6
        assert complaints.found == []


STORY = (
    "Long before anybody weighed flour, a baker kept a pot of dough in the warmest corner of the kitchen.",
    "One winter the river froze, the mill stood still, and there was no flour for nine days.",
    "Then the ice broke, and the mill turned. Half of something is always enough to begin again.",
)


@pytest_asyncio.fixture(loop_scope="module")
async def storyteller(tmp_path: Path) -> AsyncIterator[tuple[DaemonProcess, asyncio.Event]]:
    """A daemon whose model tells the `STORY` but for its end, which it says once the event is set."""
    middle = len(STORY[1]) // 2
    pieces = [Text(f"{STORY[0]}\n\n"), Text(STORY[1][:middle]), Text(STORY[1][middle:])]
    hold = Hold()
    async with FakeProvider() as model:
        model.script(Reply((*pieces, hold, Text("\n\n"), Text(STORY[2]))))
        config = write_config(tmp_path / "config.toml", model.port)
        daemon = await DaemonProcess.start(tmp_path / "data", config, write_project(tmp_path / "shop"))
        yield daemon, hold.gate
        await daemon.stop()


async def test_a_reload_in_the_middle_of_an_answer_misses_nothing(
    storyteller: tuple[DaemonProcess, asyncio.Event], browser: Browser
) -> None:
    daemon, goes_on = storyteller
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "Tell me a long story")
        await page.wait_for_selector("text=the warmest corner of the kitchen")
        await page.reload()
        await page.wait_for_selector(".markdown:not(.plain-text) >> text=the mill stood still")
        state, half = await page.evaluate(
            "[document.querySelector('#state').innerText, document.querySelector('.markdown').textContent]"
        )
        goes_on.set()
        await page.wait_for_selector("text=Half of something is always enough")
        await page.wait_for_selector(".run-end")
        answers = page.locator(".answer")
        assert await answers.count() == 1
        assert state == "running"
        assert (await page.text_content(".markdown") or "").startswith(half.rstrip())
        text = await answers.first.inner_text()
        assert text.count("Long before anybody weighed flour") == 1
        assert text.count("One winter the river froze") == 1
        assert complaints.found == []


async def test_hostile_text_is_text_wherever_it_stands(demo: Demo, browser: Browser) -> None:
    demo.add_conversation(HOSTILE)
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(
            page, "<img src=x onerror=\"document.title='mine'\"><script>document.title='mine'</script>"
        )
        await page.wait_for_selector(".run-end")
        await send(page, "hostile")
        await page.wait_for_selector("#conversation .markdown >> text=done")
        for _ in ("live", "stored"):
            foreign = ":is(img, script, iframe, svg, b, u, i):not(#composer *)"
            assert await page.locator(f".middle {foreign}").count() == 0
            assert await page.locator("#projects :is(img, script)").count() == 0
            text = await conversation(page)
            assert "<script>document.title='mine'</script>" in text
            assert "<img src=x onerror=\"document.title='owned'\">" in text
            assert "<b>not bold</b>" in text
            await expect(page.locator(".markdown a")).to_have_count(2)
            links = await page.locator(".markdown a").evaluate_all("all => all.map(a => a.href)")
            assert links == ["https://example.org/a", "https://example.org/i.png"]
            assert "owned" not in await page.title()
            assert await page.title() != "mine"
            await page.reload()
            await page.wait_for_selector("#conversation .markdown >> text=done")
        await page.click("#tab-audit")
        await page.wait_for_selector(".audit-row")
        assert await page.locator("#details :is(img, script, svg)").count() == 0
        assert complaints.found == []


async def test_a_run_is_paused_resumed_and_stopped_and_messages_wait_their_turn(
    demo: Demo, browser: Browser
) -> None:
    demo.add_conversation(UNENDING)
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "Tell me an unending tale")
        await page.wait_for_selector("text=Long before anybody")
        await enqueue(page, "hello")
        await page.wait_for_selector("#queue li[data-delivery=queued] >> text=hello")
        await page.click("#pause")
        await until_state(page, "paused")
        assert await page.is_disabled("#send")
        await page.click("#resume")
        await until_state(page, "running")
        await page.wait_for_selector("text=Continue where you stopped.")
        await page.click("#stop")
        await until_state(page, "idle")
        await page.wait_for_selector("#queue li >> text=waits for your next message")
        await send(page, "thanks")
        await page.wait_for_selector("text=I am a replayed agent")
        await until_state(page, "idle")
        await expect(page.locator("#queue li")).to_have_count(0)
        posts = ["Tell me an unending tale", "Continue where you stopped.", "hello", "thanks"]
        await expect(page.locator("#conversation .post .post-text")).to_have_text(posts)
        await page.reload()
        await page.wait_for_selector(".run-end")
        await expect(page.locator("#conversation .post .post-text")).to_have_text(posts)
        assert complaints.found == []


async def test_the_page_comes_back_by_itself_after_the_daemon_was_killed_in_a_run(
    demo: Demo, browser: Browser
) -> None:
    demo.add_conversation(INTERRUPTED)
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, _):
        await new_session(page)
        await send(page, "Mend it in two parts")
        await page.wait_for_selector("text=It counts the kinds.")
        daemon.send_signal(signal.SIGKILL)
        await daemon.process.wait()
        await page.wait_for_selector("#connection >> text=connecting")
        demo.change_transcript(STALLS, "")
        await demo.start()
        await page.wait_for_selector("#connection >> text=live")
        await until_state(page, "paused")
        await page.click("#resume")
        await page.wait_for_selector("text=All tests pass")
        await until_state(page, "idle")
        plain = page.locator(".plain-text")
        # An answer is plain text until what reads Markdown has come.
        await expect(plain).to_have_count(0)
        live = await page.locator(".markdown").all_inner_texts()
        await page.reload()
        await page.wait_for_selector("text=All tests pass")
        await expect(plain).to_have_count(0)
        assert live == await page.locator(".markdown").all_inner_texts()
    code, output = await demo.tests()
    assert code == 0, output


async def test_two_pages_show_the_same_session_and_each_others_messages(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        session_id = await new_session(page)
        other = await page.context.new_page()
        await other.goto(f"{daemon.url}/#{session_id}")
        await other.wait_for_selector("#suggestions")
        await send(page, "Write a missing test")
        for one in (page, other):
            await one.wait_for_selector('.tool[data-tool="file.create"][data-state="done"]')
            await one.wait_for_selector(".run-end")
            await one.wait_for_selector('.session[data-state="idle"] >> text=Write a missing test')
            # An answer is plain text until what reads Markdown has come.
            await expect(one.locator(".plain-text")).to_have_count(0)
        assert await conversation(page) == await conversation(other)
        assert complaints.found == []


async def test_what_is_refused_is_reported_on_the_page(demo: Demo, tmp_path: Path, browser: Browser) -> None:
    daemon = await demo.start()
    broken = tmp_path / "broken"
    (broken / ".kaged").mkdir(parents=True)
    (broken / ".kaged" / "project.yaml").write_text("version: 1\nprojekt: x\n")
    async with open_page(browser, daemon) as (page, _):
        await page.click("#projects-switch")
        await page.click("#open-folder")
        await page.wait_for_selector(".at")
        await page.fill("#project-path", str(broken))
        await page.click("#load-project button")
        problem = page.locator(".picker .problem")
        await problem.locator("text=project.yaml:2:1: error: ").first.wait_for()
        assert "Request req_" in " ".join(await problem.all_inner_texts())
        await page.keyboard.press("Escape")
        await expect(page.locator(".picker")).to_have_count(0)
        await page.goto(f"{daemon.url}/#ses_01JZ0000000000000000000000")
        await page.wait_for_selector(".notice >> text=There is no session")


async def test_a_project_file_that_broke_while_the_daemon_runs_is_reported_on_the_page(
    own_demo: Demo, browser: Browser
) -> None:
    daemon = await own_demo.start()
    async with open_page(browser, daemon) as (page, complaints), daemon.client() as client:
        file = own_demo.root / ".kaged" / "project.yaml"
        file.write_text(file.read_text().replace("model: fast", "model: unknown"))
        refused = await client.post(f"/projects/{daemon.project_id}/reload")
        assert refused.status_code == 422
        await page.evaluate("dispatchEvent(new Event('focus'))")
        await page.click("text=The project file has errors")
        await page.wait_for_selector(".notice >> text=no model alias")
        await new_session(page)
        assert complaints.found == []


@pytest.mark.requirement("plugins.supervision")
async def test_a_plugin_that_is_disabled_is_shown_with_the_reason_and_enabled_again(
    own_demo: Demo, browser: Browser
) -> None:
    folder = own_demo.root / "plugins" / "liar"
    folder.mkdir(parents=True)
    (folder / "kaged-plugin.yaml").write_text(
        'name: liar\nversion: "1.0.0"\nkaged_api: 1\ndescription: Says <b>more</b> than it has.\n'
        "command: [python, -m, app.plugins.sdk, plugin.py]\nhooks: [on_session_start]\n"
    )
    plugin = 'from app.plugins.sdk import Plugin\nplugin = Plugin("liar", "1.0.0", capabilities=["net:*"])\n'
    (folder / "plugin.py").write_text(plugin + 'plugin.hook("on_session_start")(lambda call: None)\n')
    file = own_demo.root / ".kaged" / "project.yaml"
    file.write_text(file.read_text() + "\nplugins: { liar: { package: ./plugins/liar } }\n")
    daemon = await own_demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "Read it")
        await page.wait_for_selector(".run-end")
        # A run does not wait for its plugins, and the list is read when it is opened.
        plugins = f"/projects/{daemon.project_id}/plugins"
        async with daemon.client() as client, asyncio.timeout(60):
            while (await client.get(plugins)).json()["items"][0]["state"] != "disabled":  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        await page.click("#tab-tools")
        listed = page.locator('.plugin-listed[data-plugin="liar"][data-state="disabled"]')
        await listed.locator("text=net:*").wait_for()
        await listed.locator("text=Says <b>more</b> than it has.").wait_for()
        await listed.locator("button", has_text="Enable").click()
        await page.wait_for_selector('.plugin-listed[data-plugin="liar"][data-state="stopped"]')
        assert complaints.found == []


async def test_the_page_can_be_used_by_the_keyboard_on_a_narrow_screen(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=390, height=844, dark=True) as (page, complaints):
        await page.focus("#open-sidebar")
        await page.keyboard.press("Enter")
        assert await page.evaluate("document.activeElement.id") == "close-sidebar"
        await page.keyboard.press("Escape")
        assert await page.evaluate("document.activeElement.id") == "open-sidebar"
        await new_session(page)
        assert await page.evaluate("document.activeElement.id") == "message"
        await page.keyboard.type("hello")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".run-end")
        # The field gets the focus when the message is stored, which the page may learn after its run.
        await expect(page.locator("#message")).to_have_value("")
        await page.focus("#open-details")
        await page.keyboard.press("Enter")
        await page.focus("#tab-use")
        await page.keyboard.press("ArrowRight")
        await page.wait_for_selector("#details-body >> text=You look after the till")
        wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert not wide
        assert complaints.found == []
    assert daemon.process.returncode is None


PRESSED = """
    (field, extra) => {
        const enter = { key: "Enter", bubbles: true, cancelable: true, ...extra };
        return !field.dispatchEvent(new KeyboardEvent("keydown", enter));
    }
"""


@pytest.mark.requirement("usability.page")
async def test_enter_sends_unless_it_breaks_a_line_or_accepts_a_word(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        assert "Enter sends, Shift+Enter breaks the line" in await page.inner_text("#composer")
        message = page.locator("#message")
        await message.press_sequentially("hel")
        # An input method takes the key: while a word is composed, and in Safari just after that.
        assert not await message.evaluate(PRESSED, {"isComposing": True})
        assert not await message.evaluate(PRESSED, {"keyCode": 229})
        # A key that is held down does nothing more.
        assert await message.evaluate(PRESSED, {"repeat": True})
        await message.press("Shift+Enter")
        await message.press_sequentially("lo")
        assert await message.input_value() == "hel\nlo"
        await message.press("Enter")
        await page.wait_for_selector(".run-end")
        await message.fill("hello")
        await message.press("Control+Enter")
        await page.wait_for_selector(".run-end >> nth=1")
        assert await page.locator(".post .post-text").all_inner_texts() == ["hel\nlo", "hello"]
        assert complaints.found == []


async def test_a_browser_that_is_not_signed_in_learns_how(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, _):
        stranger = await page.context.browser.new_context()  # type: ignore[union-attr]
        visitor = await stranger.new_page()
        for address in (daemon.url, daemon.launch_url):
            answer = await visitor.goto(address)
            assert answer is not None
            assert answer.status == 401
            assert "kaged token link" in await visitor.inner_text("main")
        # Without the header that browsers send for pages the answer stays the usual error body.
        async with daemon.client() as client:
            refused = await client.get(
                daemon.url, headers={"authorization": "Bearer kgd_no", "accept": "*/*"}
            )
        assert refused.json()["error"]["code"] == "unauthenticated"


async def test_what_was_found_is_shown_line_by_line_and_output_keeps_its_colours(
    demo: Demo, browser: Browser
) -> None:
    demo.add_conversation(SEARCHING)
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        await send(page, "searching")
        await page.wait_for_selector(".run-end")
        grep, glob, bash = (
            page.locator(f'.tool[data-tool="{name}"]')
            for name in ("search.grep", "search.glob", "shell.bash")
        )
        for group in await page.locator(".reads > summary").all():
            await group.click()
        assert await grep.locator(".tool-about").inner_text() == "def"
        about = page.locator('.tool[data-tool="code.lsp"] .tool-about')
        assert await about.inner_text() == "hover bakery/money.py"
        for card in (grep, glob):
            await card.locator("summary").click()
        assert await grep.locator(".file-name").first.inner_text() == "bakery/money.py"
        lines = grep.locator(".place")
        found = [await lines.nth(at).inner_text() for at in range(3)]
        assert [line.split("\n")[0] for line in found] == ["3", "4", "5"]
        assert "def percent_of(cents: int, percent: int) -> int:" in found[1]
        assert "Return `percent` of `cents`, half a cent rounded up." in found[2]
        assert await grep.locator("mark").first.inner_text() == "def "
        await grep.locator("a.place").first.click()
        await expect(page.locator("#details tr.here[data-line='4']")).to_be_in_viewport()
        assert await glob.locator(".file-name").all_inner_texts() == ["bakery/money.py"]
        assert await bash.locator(".tool-result pre span").first.text_content() == "red"
        assert "red plain" in await bash.locator(".tool-result pre").inner_text()
        assert "stderr" not in await bash.locator(".tool-result").inner_text()
        await page.reload()
        await page.wait_for_selector("text=That is all.")
        assert "red plain" in (await bash.locator(".tool-result pre").text_content() or "")
        assert complaints.found == []
