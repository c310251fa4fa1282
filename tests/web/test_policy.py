"""What the workbench is made of works in a real browser under the policy of the daemon."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI, Request, Response
from playwright.async_api import Page, expect

from app.api.boundary import BoundaryMiddleware
from app.api.built_page import BuiltPage
from app.config import Settings
from tests.driver.browser import WAIT_MS, Complaints, running_browser, until_true
from tests.web.test_built import run

pytestmark = pytest.mark.requirement("usability.page")


@pytest.fixture(scope="module")
def built(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> BuiltPage:
    folder = tmp_path_factory.mktemp("spike") / "built"
    run(installed, "vite/bin/vite.js", "build", "-c", "vite.spike.config.ts", "--outDir", str(folder))
    return BuiltPage(folder)


@asynccontextmanager
async def served(built: BuiltPage) -> AsyncIterator[str]:
    """Serve a built page with the answers and the policy of the daemon, and give its address."""
    app = FastAPI()

    @app.get("/")
    def index() -> Response:
        return Response(built.text("index"), media_type="text/html")

    @app.get("/static/{name}")
    async def file(name: str, request: Request) -> Response:
        return await built.answer(name, request) or Response(status_code=404)

    bounded: Any = BoundaryMiddleware(app, settings=Settings())
    server = uvicorn.Server(uvicorn.Config(bounded, log_level="warning", lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            await serving


@pytest.fixture
async def opened(built: BuiltPage) -> AsyncIterator[tuple[Page, Complaints]]:
    async with served(built) as address, running_browser() as browser:
        page = await browser.new_page()
        page.set_default_timeout(WAIT_MS)
        complaints = Complaints.of(page, address)
        await page.goto(address)
        await page.wait_for_selector("#count")
        yield page, complaints


async def colour(page: Page, selector: str, name: str = "color") -> str:
    found: str = await page.locator(selector).first.evaluate(
        "(one, name) => getComputedStyle(one).getPropertyValue(name)", name
    )
    return found


async def test_components_markdown_highlighting_and_mathematics(opened: tuple[Page, Complaints]) -> None:
    page, complaints = opened
    await page.click("#count")
    await expect(page.locator("#count")).to_have_text("1")
    await page.click("#toggle")
    await expect(page.locator("#shown")).to_have_count(0)
    await page.click("#reverse")
    assert await page.locator("#names li").all_inner_texts() == ["three", "two", "one"]
    await page.click("#widen")
    await expect(page.locator("#wide")).to_have_css("width", "50px")

    await page.click("#write")
    text = page.locator("#text")
    await expect(text.locator("h2")).to_have_text("Title")
    assert await text.locator("input[type=checkbox]").count() == 1
    assert await text.locator("td[align=right] strong").inner_text() == "d"
    assert await text.locator("img, script, style, svg, math, [style]").count() == 0
    assert "onerror" in await text.inner_text()
    links = await text.locator("a").evaluate_all(
        "all => all.map((one) => [one.innerText, one.getAttribute('href')])"
    )
    # A link that leads nowhere safe is its text.
    assert links == [["good", "https://example.org"], ["picture", "https://example.org/a.png"]]
    assert {"bad", "data"} <= set((await text.inner_text()).split())

    await page.click("#mark")
    await expect(page.locator("#code .hljs-keyword").first).to_have_text("def")
    assert await page.inner_text("#code") == "def f():\n    return None\n"
    assert await colour(page, "#code .hljs-keyword") == "rgb(200, 0, 0)"

    await page.click("#calculate")
    await expect(page.locator("#formula math mfrac")).to_have_count(1)
    await expect(page.locator("#formula math mtable")).to_have_count(1)
    assert await page.inner_text("#refused") == r"\href{javascript:alert(1)}{x}"
    assert await page.evaluate("document.title") == "spike"
    assert await page.evaluate("violations") == []
    assert complaints.found == []


async def test_a_terminal_with_colours_another_theme_and_another_size(
    opened: tuple[Page, Complaints],
) -> None:
    page, complaints = opened
    await page.click("#open")
    await expect(page.locator("#terminal .xterm-rows")).to_contain_text("plain red true back curly")
    columns = int(await page.inner_text("#columns"))
    assert columns > 60
    assert await colour(page, "#terminal .xterm-fg-1") == "rgb(204, 0, 0)"
    assert await colour(page, "#terminal .xterm-rows span:text-is('true')") == "rgb(1, 2, 3)"
    assert await colour(page, "#terminal span:text-is('back')", "background-color") == "rgb(9, 8, 7)"
    assert await colour(page, "#terminal .xterm-rows") == "rgb(16, 16, 16)"
    await page.click("#paint")
    await expect(page.locator("#terminal .xterm-rows")).to_have_css("color", "rgb(240, 240, 240)")
    await page.click("#resize")
    await expect(page.locator("#columns")).not_to_have_text(str(columns))
    await page.locator("#terminal textarea").press_sequentially("ls")
    await expect(page.locator("#typed")).to_have_text("ls")
    sheets = "document.adoptedStyleSheets.length"
    assert await page.evaluate(sheets) == 3
    await page.click("#close")
    assert await page.evaluate(sheets) == 0
    assert await page.locator("style").count() == 0
    assert await page.evaluate("violations") == []
    assert complaints.found == []


async def test_dialogs_long_lists_differences_and_a_service_worker(opened: tuple[Page, Complaints]) -> None:
    page, complaints = opened
    await page.click("#ask")
    await expect(page.locator("#dialog")).to_be_visible()
    assert await page.evaluate("document.activeElement.id") == "yes"
    await page.keyboard.press("Escape")
    await expect(page.locator("#dialog")).to_be_hidden()
    assert await page.evaluate("document.activeElement.id") == "ask"
    await page.click("#more")
    await expect(page.locator("#menu")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.locator("#menu")).to_be_hidden()

    assert await page.locator("#list li").count() < 40
    await page.locator("#list").evaluate("list => (list.scrollTop = 1_000_000)")
    await expect(page.locator("#list li", has_text="row 50000")).to_be_visible()
    assert await page.locator("#diff .added").inner_text() == "+2"

    await page.click("#serve")
    await expect(page.locator("#active")).to_have_text("activated")
    assert await page.evaluate("violations") == []
    assert complaints.found == []


async def test_a_violation_is_noticed(opened: tuple[Page, Complaints]) -> None:
    page, complaints = opened
    await page.evaluate("document.body.setAttribute('style', 'color: red')")
    await until_true(page, "violations.length === 1")
    assert complaints.found != []
