"""No view of the page is wider than its window, whatever is written in it, and axe finds no barrier."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.driver.axe import read_axe, violations
from tests.driver.browser import open_page
from tests.driver.demo_daemon import Demo
from tests.driver.page_views import Bakery, fill, leave_view, open_view

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.requirement("usability.page"),
    pytest.mark.timeout(400),
]

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
    const scrolls = "pre, .table, .tabs, .columns, .visually-hidden";
    const inside = "#view *, .composer *, .bar > *, #details-body *, #projects *, dialog, dialog *";
    for (const one of seen(inside)) {
        const { right, left, width } = one.getBoundingClientRect();
        if (!width || one.closest(scrolls) || (right <= innerWidth + 1 && left >= -1)) continue;
        found.push(`${one.tagName}.${one.className} from ${left} to ${right}`);
    }
    return found;
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bakery(shared_demo: Demo) -> Bakery:
    return await fill(shared_demo)


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return read_axe(tmp_path_factory.mktemp("axe") / "packages")


@pytest.mark.parametrize("width", [390, 768, 1440, 2560])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_every_view_fits_its_window_and_can_be_used_by_everybody(
    shared_demo: Demo, bakery: Bakery, axe: str, width: int, dark: bool, browser: Browser
) -> None:
    daemon = await shared_demo.start()
    wider: dict[str, list[str]] = {}
    barriers: dict[str, list[dict[str, Any]]] = {}
    async with open_page(browser, daemon, width=width, height=844, dark=dark) as (page, complaints):
        for view in bakery.views():
            await open_view(page, daemon, view)
            wider[view.name] = await page.evaluate(WIDER)
            barriers[view.name] = await violations(page, axe)
            await leave_view(page, view)
    assert {name: found for name, found in wider.items() if found} == {}
    assert {name: found for name, found in barriers.items() if found} == {}
    # The page of who is not signed in is told so.
    assert [found for found in complaints.found if "status of 401" not in found] == []
