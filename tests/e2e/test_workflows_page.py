"""Workflows in the web page: started by a form, followed, cancelled, looked at afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.driver.browser import open_page
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("page.workflows")]

CONVERSATIONS = r"""
  - when: Run the workflow `bake`
    steps:
      - expect: { user: '"name": "flour.csv"' }
        answer: [text: "The flour of <u>all</u> shops is **counted**."]
        otherwise: [text: "There is no file."]

  - when: Run the workflow `wait`
    steps:
      - answer:
          - tool_call:
              name: shell.bash
              arguments: { command: "python3 -c 'import time; time.sleep(600)'" }
      - answer: [text: "The dough has risen."]

  - when: Run the workflow `knead`
    steps:
      - answer:
          - tool_call: { name: shell.bash, arguments: { command: "touch dough" } }
      - answer: [text: "The dough is kneaded."]

  - when: Run the workflow `burn`
    steps:
      - answer:
          - error: { kind: bad_request, message: the oven is <b>cold</b>, status: 400 }
"""
WORKFLOWS = """
workflows:
  bake:
    description: Counts the flour of <b>every</b> shop.
    system_prompt: config:/prompts/primary.md
    inputs:
      shop: { type: string, required: true, description: Name of the <i>shop</i>, max_length: 10 }
      story: { type: text }
      page: { type: url }
      hours: { type: number, default: 7.5 }
      ovens: { type: integer, required: true }
      fresh: { type: boolean, default: true }
      size: { type: enum, required: true, options: [small, large] }
      flour: { type: file, required: true }
  wait: { description: Lets the dough rise., system_prompt: config:/prompts/primary.md }
  knead: { description: Kneads the dough., system_prompt: config:/prompts/primary.md }
  burn: { description: Fails., system_prompt: config:/prompts/primary.md }
"""


@pytest_asyncio.fixture(loop_scope="module")
async def demo(tmp_path: Path) -> AsyncIterator[Demo]:
    demo = Demo(tmp_path)
    demo.add_conversation(CONVERSATIONS)
    file = demo.root / ".kaged" / "project.yaml"
    text = file.read_text()
    before, declared, _ = text.partition("\nworkflows:")
    assert not declared or before
    file.write_text(before + "\n" + WORKFLOWS)
    yield demo
    await demo.stop()


async def until_paused(client: httpx2.AsyncClient, run: str) -> dict[str, Any]:
    """Wait until the session of a run has given up its place, a moment after its question is there."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            told: dict[str, Any] = (await client.get(f"/workflow-runs/{run}")).raise_for_status().json()
            if told["session_state"] == "paused":
                return told
            await asyncio.sleep(0.05)


async def test_a_workflow_is_started_by_its_form_and_shows_what_came_of_it(
    demo: Demo, tmp_path: Path, browser: Browser
) -> None:
    flour = tmp_path / "flour.csv"
    flour.write_text("rye;12\n")
    daemon = await demo.start()
    async with daemon.client() as client:
        await client.post(f"/projects/{daemon.project_id}/issues", json={"title": "Too little <b>flour</b>"})
    async with open_page(browser, daemon) as (page, complaints):
        await page.click("#views [data-view=workflows]")
        await page.wait_for_selector("#workflows")
        assert await page.locator("#workflows .row-title").all_inner_texts() == [
            "bake",
            "burn",
            "knead",
            "wait",
        ]
        assert await page.locator("#view :is(b, i, u)").count() == 0
        await page.click("#workflows >> text=bake")
        form = page.locator("#start-workflow")
        await form.locator("text=Name of the <i>shop</i>").wait_for()
        assert await page.input_value("[data-field=hours] input") == "7.5"
        assert await page.is_checked("[data-field=fresh] input")
        await page.click("#start-workflow >> text=Start")
        wrong = {
            await field.get_attribute("data-field"): await field.locator(".field-error").inner_text()
            for field in await page.locator(".field[data-field]").all()
        }
        assert {name: text for name, text in wrong.items() if text} == dict.fromkeys(
            ("shop", "ovens", "size", "flour"), "is required"
        )
        await page.fill("[data-field=shop] input", "The warm oven")
        await page.fill("[data-field=ovens] input", "2.5")
        await page.select_option("[data-field=size] select", "large")
        # A file that is dropped is as good as one that is chosen.
        drop = await page.evaluate_handle(
            """() => { const held = new DataTransfer();
                held.items.add(new File(["rye;12\\n"], "flour.csv", { type: "text/csv" })); return held; }"""
        )
        await page.dispatch_event("[data-field=flour] .drop", "drop", {"dataTransfer": drop})
        await page.wait_for_selector(".file-taken >> text=flour.csv (7 B)")
        await page.click("#start-workflow >> text=Start")
        assert "more than 10" in await page.inner_text("[data-field=shop] .field-error")
        assert "whole number" in await page.inner_text("[data-field=ovens] .field-error")
        await page.fill("[data-field=shop] input", "Oven")
        await page.fill("[data-field=ovens] input", "2")
        await page.select_option("#run-issue", "1")
        await page.click("#start-workflow >> text=Start")
        await page.wait_for_selector("#view .pill[data-state=succeeded]")
        assert await page.inner_text("#run-output") == "The flour of <u>all</u> shops is counted."
        assert await page.inner_text("#run-output strong") == "counted"
        facts = await page.inner_text(".run-facts")
        assert "by the operator" in facts and "Duration" in facts and "Cost" in facts
        assert await page.locator("#view .pairs a").inner_text() == "flour.csv"
        assert await page.inner_text("a[data-key=issue]") == "Issue #1"
        await page.click("#run-session")
        await page.wait_for_selector("#conversation >> text=The flour of")
        await page.go_back()
        await page.click("text=All runs of bake")
        await page.wait_for_selector("#runs .pill[data-state=succeeded]")
        assert complaints.found == []


async def test_runs_are_followed_and_cancelled_and_a_failed_one_says_why(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=390, height=844, dark=True) as (page, complaints):
        await page.goto(f"{daemon.url}/#workflows/{daemon.project_id}/wait")
        await page.click("#start-workflow >> text=Start")
        await page.wait_for_selector("#view .run .pill[data-state=running]")
        first = page.url
        async with daemon.client() as client:
            path = f"/projects/{daemon.project_id}/workflows"
            second = (await client.post(f"{path}/wait/invoke", json={"inputs": {}})).json()["id"]
            await client.post(f"{path}/burn/invoke", json={"inputs": {}})
        await page.goto(f"{daemon.url}/#workflows/{daemon.project_id}")
        runs = page.locator("#runs")
        await runs.locator("li", has_text="burn").locator("[data-state=failed]").wait_for()
        await runs.locator("[data-state=running]").wait_for()
        await runs.locator("[data-state=queued]").wait_for()
        assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
        await page.goto(first)
        await page.focus("#cancel-run")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#view .pill[data-state=cancelled]")
        assert await page.locator("#cancel-run").count() == 0
        await page.go_back()
        # The one that waited takes its turn; what becomes of it is seen by whoever looks at the list.
        await runs.locator("[data-state=running]").wait_for()
        assert await runs.locator("[data-state=queued]").count() == 0
        assert await runs.locator("[data-state=cancelled]").count() == 1
        async with daemon.client() as client:
            await client.post(f"/workflow-runs/{second}/cancel")
        await runs.locator(f"[data-run={second}] [data-state=cancelled]").wait_for()
        await runs.locator("li", has_text="burn").locator("a").click()
        error = page.locator(".run-error")
        await error.wait_for()
        assert "the oven is <b>cold</b>" in await error.inner_text()
        # One that is not there is said to be missing in people's words, with a way on.
        await page.goto(f"{daemon.url}/#runs/wfr_none")
        missing = page.locator("#view [role=alert]")
        await expect(missing).to_have_text("There is no workflow run wfr_none.")
        await page.get_by_role("link", name="Go to Workflows").click()
        await runs.locator("li", has_text="burn").wait_for()
        assert [text for text in complaints.found if "404" not in text] == []


@pytest.mark.requirement("usability.page")
async def test_a_run_whose_session_waits_for_a_person_says_so_and_links_to_it(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon, width=390, height=844) as (page, complaints):
        await page.goto(f"{daemon.url}/#workflows/{daemon.project_id}/knead")
        await page.click("#start-workflow >> text=Start")
        waiting = page.locator("#view [role=status] .pill", has_text="asks you")
        await waiting.wait_for()
        assert await waiting.get_attribute("data-tone") == "waiting"
        assert "knead: asks you" in await page.title()
        run = page.url
        await page.goto(f"{daemon.url}/#workflows/{daemon.project_id}")
        await page.locator("#runs .pill", has_text="asks you").wait_for()
        await page.click("#runs >> text=Answer in its session")
        await page.wait_for_selector(".question button:enabled")
        await page.goto(run)
        await page.click("#run-session >> text=Answer in its session")
        await page.click(".question [data-answer=once]")
        await page.wait_for_selector("text=The dough is kneaded.")
        await page.goto(run)
        await page.wait_for_selector("#view .pill[data-state=succeeded]")
        assert await page.locator("text=Answer in its session").count() == 0
        # Whoever looks at the list or the run sees a question come and go.
        await page.goto(f"{daemon.url}/#workflows/{daemon.project_id}")
        async with daemon.client() as client:
            path = f"/projects/{daemon.project_id}/workflows/knead/invoke"
            made = (await client.post(path, json={"inputs": {}})).json()["id"]
            row = page.locator(f"#runs li:has([data-run={made}])")
            await row.locator(".pill", has_text="asks you").wait_for()
            told = await until_paused(client, made)
            assert (told["state"], told["pending_interactions"]) == ("running", 1)
            (asked,) = (await client.get(f"/sessions/{told['session_id']}/interactions")).json()["items"]
            answer = f"/sessions/{told['session_id']}/interactions/{asked['id']}/answer"
            done = await client.post(answer, json={"answer": "once"})
            assert done.is_success, done.text
            await row.locator(".pill", has_text="succeeded").wait_for()
        assert complaints.found == []
