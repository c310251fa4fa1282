"""A real Chromium that looks at the daemon's page, and notes whatever a browser complains about.

Owns: starting the browser, signing it in, the list of complaints. Never: what a test does on the page.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.async_api import Browser, ConsoleMessage, Page, Request, async_playwright, expect

from tests.driver.daemon_process import DaemonProcess
from tests.driver.machine import need

WAIT_MS = 45_000
expect.set_options(timeout=WAIT_MS)
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

COUNTED = """
    window.counted = { clicks: 0, keys: 0 };
    const count = (what) => (event) => (window.counted[what] += Number(event.isTrusted));
    // Enter on a button is told as a click, too.
    addEventListener("click", (event) => event.detail > 0 && count("clicks")(event), true);
    addEventListener("keydown", count("keys"), true);
"""
"""A script that counts the clicks and keys of a person in `window.counted`."""


@dataclass
class Complaints:
    """Errors and violations on the console, uncaught exceptions, requests to other hosts."""

    host: str
    found: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, page: Page, address: str) -> Complaints:
        """Note what a browser complains about on a page of the host in `address`."""
        complaints = cls(urlsplit(address).netloc)
        page.on("console", complaints.of_console)
        page.on("pageerror", complaints.of_page)
        page.on("request", complaints.of_request)
        return complaints

    def of_console(self, message: ConsoleMessage) -> None:
        # A socket that a stopping daemon closes is told as an error; coming back is the page's job.
        if message.type in ("error", "warning") and "WebSocket connection" not in message.text:
            self.found.append(f"{message.type}: {message.text}")

    def of_page(self, error: Any) -> None:
        self.found.append(f"uncaught: {error}")

    def of_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self.host:
            self.found.append(f"asked another host: {request.url}")


@asynccontextmanager
async def running_browser(*arguments: str) -> AsyncIterator[Browser]:
    """Run a Chromium, with more arguments. Skips the test where there is none."""
    need("chromium")
    program = next(path for name in PROGRAMS if (path := shutil.which(name)))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=[*ARGUMENTS, *arguments])
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def open_page(
    browser: Browser,
    daemon: DaemonProcess,
    *,
    width: int = 1280,
    height: int = 800,
    dark: bool = False,
    through: Callable[[str], str] = str,
    begun: str = "#projects button.new",
    workers: Literal["allow", "block"] = "allow",
) -> AsyncIterator[tuple[Page, Complaints]]:
    """Give a page that has followed a launch link, in a browser profile of its own.

    `through` gives the daemon's addresses as the browser is to know them; `begun` is there once the page has
    begun. `workers`: a service worker answers what a test would see asked for."""
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        service_workers=workers,
    )
    try:
        context.set_default_timeout(WAIT_MS)
        page = await context.new_page()
        complaints = Complaints.of(page, through(daemon.url))
        await page.goto(through(await daemon.launch_link()))
        await until_ready(page, begun)
        yield page, complaints
    finally:
        await context.close()


async def until_ready(page: Page, begun: str = "#projects button.new") -> None:
    """Wait until the page has begun. It shows the version last, and then what its address names."""
    await page.wait_for_selector(begun, state="attached")
    await page.wait_for_selector("#version:not(:empty)", state="attached")


async def new_session(page: Page) -> str:
    """Make a session by the button in the list and return its id."""
    if not await page.is_visible("#projects button.new"):
        await page.click("#open-sidebar")
    before = page.url
    await page.click("#projects button.new")
    # The session that is open may be a new one as well.
    await page.wait_for_url(lambda url: url != before)
    await page.wait_for_selector("#suggestions")
    return urlsplit(page.url).fragment


async def send(page: Page, text: str) -> None:
    await page.fill("#message", text)
    await page.press("#message", "Enter")


async def post(page: Page, text: str) -> None:
    """Send a message, and wait until the daemon has it: the page gives its field the focus then."""
    await send(page, text)
    await expect(page.locator("#message")).to_have_value("")


async def enqueue(page: Page, text: str) -> None:
    """Send a message that waits for the end of the active run."""
    await page.check("#mode [value=queue]")
    await post(page, text)


async def choose_mode(page: Page, mode: str) -> None:
    """Give the open session another mode."""
    await page.click("#session-mode")
    await page.click(f".popup [role=option][data-value={mode}]")


async def until_true(page: Page, expression: str) -> None:
    """Wait until the page says that an expression is true. `wait_for_function` evaluates text in the page
    when it is not true at once, which the page's policy forbids."""
    async with asyncio.timeout(WAIT_MS / 1000):
        while not await page.evaluate(expression):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def until_drawn(page: Page) -> None:
    """Wait until the fonts are there: lines of another one have other heights."""
    await page.evaluate("document.fonts.ready.then(() => null)")


async def until_state(page: Page, state: str) -> None:
    """Wait until the page shows a state of the session. Until the run of a message has begun, that is the
    one before it: wait for something that the run says first."""
    await page.wait_for_selector(f"#state[data-state={state}]")


async def conversation(page: Page) -> str:
    """Return everything that the conversation says."""
    return await page.inner_text("#conversation")
