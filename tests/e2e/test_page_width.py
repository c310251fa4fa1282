"""No page of the web UI is wider than its window, whatever people and agents have written."""

from __future__ import annotations

import json
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.driver.browser import open_page, until_state
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]

WORD = "bakery_basket_" * 20
LONG = f"The sum of {WORD} and everything else that one can buy in a small shop is wrong"
TEXT = f"""# {WORD}

{LONG} `{WORD}` [{WORD}](https://example.com/{WORD})

```
{WORD}{WORD}
```

| {WORD} | one | two |
|---|---|---|
| three | {WORD} | four |
"""
CONVERSATION = f"""
  - says: wide
    steps:
      - answer:
          - text: {json.dumps(TEXT)}
          - tool_call: {{ name: file.read, arguments: {{ path: "{WORD}.py" }} }}
      - answer: [text: {WORD}]
"""
# What is wider than the window, or than the column that scrolls up and down with it.
WIDER = """() => {
    const found = [];
    const wide = document.documentElement.scrollWidth - innerWidth;
    if (wide > 0) found.push(`the page, by ${wide} px`);
    const seen = chosen => [...document.querySelectorAll(chosen)].filter(one => one.checkVisibility());
    for (const one of seen(".scroll, .notices, .questions, .composer, .sidebar, .bar, .brand")) {
        const over = one.scrollWidth - one.clientWidth;
        if (over > 0) found.push(`${one.id || one.className}, by ${over} px`);
    }
    const scrolls = "pre, .table, .tabs, .visually-hidden";
    for (const one of seen("#view *, .composer *, .bar > *, #details-body *, #projects *")) {
        const { right, left, width } = one.getBoundingClientRect();
        if (!width || one.closest(scrolls) || (right <= innerWidth + 1 && left >= -1)) continue;
        found.push(`${one.tagName}.${one.className} from ${left} to ${right}`);
    }
    return found;
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pages(shared_demo: Demo) -> dict[str, str]:
    """Write long words wherever a person or an agent may write, and return the address of every page."""
    shared_demo.add_conversation(CONVERSATION)
    daemon = await shared_demo.start()
    project = daemon.project_id
    async with daemon.client() as client:

        async def post(path: str, body: dict[str, Any]) -> Any:
            answer = await client.post(path, json=body)
            assert answer.is_success, answer.text
            return answer.json()

        issues = f"/projects/{project}/issues"
        await post(issues, {"title": LONG[:200], "body": TEXT})
        await post(issues, {"title": WORD[:200], "body": TEXT})
        await post(f"{issues}/1/todos", {"content": WORD[:200], "kind": "criterion"})
        await post(f"{issues}/1/todos", {"content": LONG[:200], "kind": "step"})
        await post(f"{issues}/1/comments", {"body": TEXT})
        await post(f"{issues}/1/links", {"target": 2, "kind": "blocks"})
        session = await post("/sessions", {"project_id": project, "title": WORD[:100], "issue_number": 1})
        await post(f"/sessions/{session['id']}/messages", {"content": "wide"})
        run = await post(f"/projects/{project}/workflows/fix/invoke", {"inputs": {}, "issue_number": 1})
    return {
        "session": session["id"],
        "issues": f"issues/{project}",
        "issue": f"issues/{project}/1",
        "new issue": f"issues/{project}/new",
        "workflows": f"workflows/{project}",
        "workflow": f"workflows/{project}/fix",
        "run": f"runs/{run['id']}",
        "trust": f"trust/{project}",
        "nothing": "",
    }


async def shown(page: Page, name: str) -> None:
    if name == "session":
        await until_state(page, "idle")
    elif name == "nothing":
        await page.wait_for_selector("text=No session is open")
    else:
        await page.wait_for_selector("#view:not([aria-busy]) > *")


async def details(page: Page) -> dict[str, list[str]]:
    """Return what is too wide in each tab beside the conversation."""
    if not await page.is_visible("#details"):
        await page.click("#open-details")
    found = {}
    for tab in await page.locator("#tabs button").all():
        await tab.click()
        await page.wait_for_selector("#details-body > *")
        found[f"details: {await tab.inner_text()}"] = await page.evaluate(WIDER)
    await page.click("#close-details")
    return found


@pytest.mark.parametrize("width", [390, 768, 1440, 2560])
async def test_no_page_is_wider_than_its_window(
    shared_demo: Demo, pages: dict[str, str], width: int, browser: Browser
) -> None:
    daemon = await shared_demo.start()
    async with open_page(browser, daemon, width=width, height=844) as (page, complaints):
        wider = {}
        for name, address in pages.items():
            await page.goto(f"{daemon.url}/#{address}")
            await shown(page, name)
            wider[name] = await page.evaluate(WIDER)
            if name == "session":
                wider |= await details(page)
        assert {name: found for name, found in wider.items() if found} == {}
        assert complaints.found == []
