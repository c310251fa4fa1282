"""The page looks as on the pictures in `pictures/`, and those of the documentation are of this page.

`make screenshots` takes all of them anew. At night only: they are as many as ten views at four sizes.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.driver.browser import open_page, until_ready
from tests.driver.daemon_process import REPOSITORY
from tests.driver.demo_daemon import Demo
from tests.driver.page_views import USUAL, Bakery, fill, leave_view, open_view
from tests.driver.pictures import NOON, TOLERANCE, Studio, take

pytestmark = [pytest.mark.requirement("usability.page"), pytest.mark.timeout(400)]

PICTURES = Path(__file__).parent / "pictures"
IMAGES = REPOSITORY / "docs" / "images"
ANEW = os.environ.get("KAGED_PICTURES") == "anew"
HEIGHTS = {390: 844, 768: 1024, 1440: 900, 2560: 1440}
VIEWS = (
    "new session",
    "session",
    "question",
    "failed session",
    "changes",
    "attempts",
    "issue",
    "inbox",
    "settings providers",
    "palette",
)
DOCUMENTED = {
    (1440, False, "changes"): "session",
    (1440, False, "question"): "question",
    (1440, False, "attempts"): "attempts",
    (390, True, "question"): "phone",
}
"""What the README and the documentation show: `docs/images/NAME.webp`."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bakery(shared_demo: Demo) -> Bakery:
    return await fill(shared_demo, USUAL)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("width", "dark"),
    [(390, True), (768, False), (1440, False), (2560, True)],
    ids=["390-dark", "768-light", "1440-light", "2560-dark"],
)
async def test_the_page_looks_as_on_its_pictures(
    shared_demo: Demo, bakery: Bakery, width: int, dark: bool, browser: Browser
) -> None:
    daemon = await shared_demo.start()
    studio = await Studio.open(browser)
    height = HEIGHTS[width]
    differ = {}
    async with open_page(browser, daemon, width=width, height=height, dark=dark) as (page, complaints):
        await page.clock.set_fixed_time(NOON)
        await page.reload()
        await until_ready(page)
        for view in (one for one in bakery.views() if one.name in VIEWS):
            await open_view(page, daemon, view)
            await page.wait_for_load_state("networkidle")
            await expect(page.locator("#toasts")).to_have_text("")
            await expect(page.get_by_text("Looking…")).to_have_count(0)
            await page.mouse.move(0, 0)
            png = await take(page)
            name = f"{view.name.replace(' ', '_')}_{width}_{'dark' if dark else 'light'}"
            picture = PICTURES / f"{name}.webp"
            if not ANEW:
                share = await studio.difference(png, picture)
                if share > TOLERANCE:
                    differ[name] = f"{share:.1%}"
            else:
                await studio.write(png, picture)
            if ANEW and (documented := DOCUMENTED.get((width, dark, view.name))) is not None:
                await studio.write(png, IMAGES / f"{documented}.webp")
            await leave_view(page, view)
        assert complaints.found == []
    assert differ == {}, "look at them; `make screenshots` takes them anew"


def test_the_pictures_are_few_and_small() -> None:
    pictures, images = list(PICTURES.glob("*.webp")), {file.stem: file for file in IMAGES.glob("*.webp")}
    assert 0 < len(pictures) <= 40
    assert sum(file.stat().st_size for file in pictures) <= 3_000_000
    assert set(images) == set(DOCUMENTED.values())
    assert max(file.stat().st_size for file in images.values()) <= 150_000
