"""Questions and forms of agents in the web page: shown, filled in, refused, answered, and kept."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.driver.browser import new_session, open_page, send, until_state
from tests.driver.daemon_process import DaemonProcess
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("page.questions")]

CONVERSATIONS = """
  - says: ask me
    steps:
      - answer:
          - tool_call:
              name: kaged.ask
              arguments:
                summary: Two things are <b>open</b>.
                questions:
                  - id: currency
                    title: Which currency?
                    description: The till knows one.
                    options: [{ label: Euro, description: "<i>as now</i>" }, { label: Krone }]
                    allow_other: true
                  - id: products
                    title: Which products?
                    options: [{ label: Rolls }, { label: Cakes }, { label: Tea }]
                    multiple: true
      - answer: [text: "Then it is settled."]

  - says: give me
    steps:
      - answer:
          - tool_call:
              name: kaged.form
              arguments:
                summary: For the price list.
                fields:
                  - { name: shop, label: Name of the shop, type: text, required: true }
                  - { name: story, label: Its story, type: textarea }
                  - { name: site, label: Its page, type: url, required: true }
                  - { name: seats, label: Seats, type: number }
                  - { name: open, label: Open on Sundays, type: boolean }
                  - { name: prices, label: The list, type: file, required: true,
                      description: "As <b>CSV</b>." }
      - answer: [text: "I have the list."]

  - says: name it
    steps:
      - answer:
          - tool_call:
              name: kaged.ask
              arguments:
                summary: "`total()` has two callers."
                questions: [{ id: which, title: Which `caller`?, options: [{ label: both }, { label: one }] }]
      - answer: [text: "It is named."]

  - says: tell me
    steps:
      - answer:
          - tool_call:
              name: question
              arguments:
                questions:
                  - { question: "What is it called?", header: Name }
                  - { question: "Which colour?", options: [{ label: red }, { label: blue }] }
      - answer: [text: "So it is."]
"""
LARGEST = 2_000_000
SEND = ".question [data-answer=send]:enabled"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Demo]:
    demo = Demo(tmp_path_factory.mktemp("demo"))
    demo.add_conversation(CONVERSATIONS)
    file = demo.root / ".kaged" / "project.yaml"
    file.write_text(file.read_text().replace("  tools:\n", "  tools:\n    question: { enabled: true }\n", 1))
    demo.config.write_text(f"{demo.config.read_text()}\n[limits]\nmax_upload_bytes = {LARGEST}\n")
    yield demo
    await demo.stop()


async def closed(daemon: DaemonProcess, session_id: str) -> Any:
    async with daemon.client() as client:
        (only,) = (await client.get(f"/sessions/{session_id}/interactions")).json()["items"]
        return only


async def answers(page: Page) -> dict[str, str]:
    """What the conversation shows of an answered question, by what was asked."""
    await page.wait_for_selector(".answered dd")
    asked = await page.locator(".answered dt").all_inner_texts()
    return dict(zip(asked, await page.locator(".answered dd").all_inner_texts(), strict=True))


async def test_names_in_a_question_are_set_as_code(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with (
        open_page(browser, daemon) as (page, complaints),
        open_page(browser, daemon) as (other, _),
    ):
        session = await new_session(page)
        await other.goto(f"{daemon.url}/#{session}")
        await send(page, "name it")
        for view in (page, other):
            await expect(view.locator(".question .asks code")).to_have_text("total()")
        await page.goto(f"{daemon.url}/#inbox")
        await expect(page.locator("#view .asks code")).to_have_text("total()")
        assert "`" not in await page.inner_text("#view .question")
        await page.get_by_text("both").click()
        await page.click("#view [data-answer=send]:enabled")
        # Who did not answer reads what was asked, and what became of it.
        folded = other.locator(".questions .receipt")
        await expect(folded).to_contain_text("Answered by the operator")
        await expect(folded.locator("code")).to_have_text("total()")
        await expect(other.locator(".answered dt code")).to_have_text("caller")
        assert complaints.found == []


async def test_questions_are_answered_by_choosing_and_writing_and_everybody_sees_it(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        session_id = await new_session(page)
        other = await page.context.new_page()
        await other.goto(f"{daemon.url}/#{session_id}")
        await other.wait_for_selector("#suggestions")
        await send(page, "ask me")
        await other.wait_for_selector(SEND)
        await page.wait_for_selector(SEND)
        await until_state(page, "paused")
        await expect(page.locator("#state")).to_have_text("asks you")
        await expect(page.locator("#questions")).to_be_focused()
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.closest('.question') !== null")
        await page.wait_for_selector('.session[data-asking] >> text="asks you"')
        assert "Two things are <b>open</b>." in await page.inner_text(".question")
        assert "<i>as now</i>" in await page.inner_text(".question")
        assert await page.locator(".question :is(b, i)").count() == 0
        # Nothing is chosen: a press says so.
        wrong = page.locator(".question .field-error:not(:empty)")
        await expect(page.locator(SEND)).to_have_attribute("aria-disabled", "true")
        while not await wrong.count():
            await page.click(SEND, force=True)
        assert await wrong.count() == 2
        assert (
            await page.evaluate("document.activeElement.closest('fieldset').dataset.question") == "currency"
        )
        await page.fill(".own-answer", "Pound")
        await page.check(".question >> text=Rolls")
        await page.check(".question >> text=Tea")
        assert await wrong.count() == 0
        await expect(page.locator(SEND)).to_have_attribute("aria-disabled", "false")
        await page.click(SEND)
        for one in (page, other):
            await one.wait_for_selector("text=Then it is settled.")
            await until_state(one, "idle")
            assert await one.locator("#message").evaluate("field => field.clientHeight") > 40
            await one.wait_for_selector(".question", state="detached")
            assert await answers(one) == {"Which currency?": "Pound", "Which products?": "Rolls\nTea"}
        await page.reload()
        assert await answers(page) == {"Which currency?": "Pound", "Which products?": "Rolls\nTea"}
        assert await page.get_attribute('.tool[data-tool="kaged.ask"]', "data-state") == "done"
        assert "Answered by the operator" in await page.inner_text(".answered")
        assert complaints.found == []
    assert (await closed(daemon, session_id))["answer"]["answers"]["products"] == ["Rolls", "Tea"]


async def test_a_form_is_checked_here_and_there_and_takes_a_file(
    demo: Demo, tmp_path: Path, browser: Browser
) -> None:
    daemon = await demo.start()
    prices = tmp_path / "prices.csv"
    prices.write_bytes(b"roll;45\n" * 200_000)
    async with open_page(browser, daemon, width=390, height=844, dark=True) as (page, complaints):
        session_id = await new_session(page)
        await send(page, "give me")
        await page.click(SEND)
        errors = {
            await field.get_attribute("data-field"): await field.locator(".field-error").inner_text()
            for field in await page.locator(".question .field").all()
        }
        assert {name: text for name, text in errors.items() if text} == dict.fromkeys(
            ("shop", "site", "prices"), "is required"
        )
        assert await page.evaluate("document.activeElement.closest('.field').dataset.field") == "shop"
        assert "As <b>CSV</b>." in await page.inner_text("[data-field=prices]")
        await page.keyboard.type("The <Oven>")
        await page.fill("[data-field=site] input", "oven.example")
        await page.fill("[data-field=seats] input", "12.5")
        await page.check("[data-field=open] input")
        await page.set_input_files(
            "[data-field=prices] input",
            {"name": "all.csv", "mimeType": "text/csv", "buffer": bytes(LARGEST + 1)},
        )
        assert "at most 2.0 MB" in await page.inner_text("[data-field=prices] .field-error")
        await page.set_input_files("[data-field=prices] input", prices)
        await page.wait_for_selector(".file-taken >> text=prices.csv (1.6 MB)")
        await page.click(SEND)
        assert "must be an address" in await page.inner_text("[data-field=site] .field-error")
        assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
        # What only the daemon finds stands beside the field, too.
        await page.fill("[data-field=site] input", "https://oven.example/")
        await page.route("**/answer", mangled)
        await page.click(SEND)
        error = page.locator("[data-field=seats] .field-error:not(:empty)")
        await error.wait_for()
        assert await page.evaluate("document.activeElement.closest('.field').dataset.field") == "seats"
        await page.unroute("**/answer")
        await page.click(SEND)
        await page.wait_for_selector("text=I have the list.")
        assert await answers(page) == {
            "Name of the shop": "The <Oven>",
            "Its story": "nothing",
            "Its page": "https://oven.example/",
            "Seats": "12.5",
            "Open on Sundays": "yes",
            "The list": "prices.csv (1.6 MB)",
        }
        assert [text for text in complaints.found if "400" not in text] == []
    path = (await closed(daemon, session_id))["answer"]["values"]["prices"]["path"]
    assert (demo.root / path).read_bytes() == prices.read_bytes()


async def mangled(route: Any) -> None:
    await route.continue_(post_data=route.request.post_data.replace("12.5", '"many"'))


async def test_a_question_outlives_the_daemon_and_is_answered_after_it(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, _):
        await new_session(page)
        await send(page, "tell me")
        await page.wait_for_selector(SEND)
        await until_state(page, "paused")
        daemon.send_signal(signal.SIGKILL)
        await daemon.process.wait()
        await page.wait_for_selector("#connection >> text=connecting")
        await demo.start()
        await page.wait_for_selector("#connection >> text=live")
        await page.reload()
        await page.fill(".question .own-answer", "Crumb")
        await page.check(".question >> text=blue")
        await page.click(SEND)
        await page.wait_for_selector("text=So it is.")
        assert await answers(page) == {"What is it called?": "Crumb", "Which colour?": "blue"}
        await until_state(page, "idle")
