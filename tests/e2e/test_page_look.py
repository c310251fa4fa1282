"""How the page looks and how much of it is loaded first, in a real Chromium."""

from __future__ import annotations

from collections import Counter
from itertools import product
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Request, expect

from tests.driver.browser import new_session, open_page
from tests.driver.demo_daemon import Demo

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("usability.page")]
LARGEST_FIRST_ROUTE = 90_000
MOST_REQUESTS = 25

COLOURS = """
    (names) => {
        const probe = document.body.appendChild(document.createElement("i"));
        const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
        return Object.fromEntries(names.map((name) => {
            probe.style.color = `var(--${name})`;
            canvas.fillStyle = getComputedStyle(probe).color;
            canvas.fillRect(0, 0, 1, 1);
            return [name, [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)];
        }));
    }
"""
SURFACES = ("back", "surface", "raised")
TEXTS = ("text", "quiet", "accent", "waiting", "failed", "running", "done")
OWN_SURFACES = [
    ("text", "accent-soft"),
    ("accent-text", "accent"),
    *((state, f"{state}-soft") for state in ("running", "waiting", "failed", "done")),
]


def luminance(colour: list[int]) -> float:
    parts = [value / 255 for value in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[int], other: list[int]) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_every_text_stands_out_from_what_is_behind_it(demo: Demo, browser: Browser, dark: bool) -> None:
    daemon = await demo.start()
    pairs = [*product(TEXTS, SURFACES), *OWN_SURFACES]
    async with open_page(browser, daemon, dark=dark) as (page, complaints):
        colours = await page.evaluate(COLOURS, sorted({name for pair in pairs for name in pair}))
        assert complaints.found == []
    assert luminance(colours["surface"]) < 0.5 if dark else luminance(colours["surface"]) > 0.5
    faint = {pair: round(contrast(colours[pair[0]], colours[pair[1]]), 2) for pair in pairs}
    assert {pair: value for pair, value in faint.items() if value < 4.5} == {}


async def test_a_theme_that_is_chosen_is_kept_and_the_system_s_is_followed(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        behind = page.locator("body")
        light = await behind.evaluate("body => getComputedStyle(body).backgroundColor")
        await page.emulate_media(color_scheme="dark")
        await expect(behind).not_to_have_css("background-color", light)
        await page.goto(f"{daemon.url}/#settings/appearance")
        await page.check("[name=appearance][value=light]")
        await expect(behind).to_have_css("background-color", light)
        await page.reload()
        assert await page.evaluate("document.documentElement.dataset.theme") == "light"
        await expect(behind).to_have_css("background-color", light)
        await expect(page.locator("[name=appearance][value=light]")).to_be_checked()
        await page.goto(f"{daemon.url}/docs")
        assert await page.evaluate("document.documentElement.dataset.theme") == "light"
        await page.goto(f"{daemon.url}/#settings/appearance")
        await page.check("[name=appearance][value=system]")
        await expect(behind).not_to_have_css("background-color", light)
        assert complaints.found == []


async def test_little_is_loaded_first_and_the_fonts_are_the_daemon_s(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    finished: list[Request] = []
    async with open_page(browser, daemon) as (page, complaints):
        session_id = await new_session(page)
    async with open_page(browser, daemon) as (page, complaints):
        page.on("requestfinished", lambda request: finished.append(request))
        # A page that is left asks for nothing more.
        await page.goto("about:blank")
        finished.clear()
        await page.goto(f"{daemon.url}/#{session_id}")
        await page.wait_for_selector("#suggestions")
        await page.evaluate("document.fonts.ready")
        await page.wait_for_load_state("networkidle")
        asked = {one.url for one in finished if "/api/" not in one.url}
        assert len(finished) <= MOST_REQUESTS
        paths = Counter(urlsplit(one.url).path for one in finished)
        assert [path for path, times in paths.items() if times > 1] == []
        assert await page.evaluate("document.fonts.check('13px Inter') && [...document.fonts].length") == 2
        assert complaints.found == []
    # What the browser has kept is sent to who has not.
    accepted = {"Accept-Encoding": "gzip, br"}
    async with daemon.client() as client:
        files = {
            url: int((await client.get(url, headers=accepted)).headers["content-length"]) for url in asked
        }
    assert len(files) > 5
    assert sum(files.values()) <= LARGEST_FIRST_ROUTE, files
