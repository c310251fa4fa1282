"""What axe finds in a page that keeps people from using it.

Owns: getting axe, and running it in a page whose policy knows nothing of it. Never: what the page shows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.async_api import Page

from tests.driver.npm_packages import install

PACKAGES = Path(__file__).parents[1] / "page_packages"
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
RUN = """async (runOnly) => {
    const options = { runOnly, resultTypes: ["violations"], elementRef: true };
    const { violations } = await axe.run(document, options);
    // Headings and tables are those of who wrote the text; a menu lies over the page, in no landmark.
    const others = { "heading-order": ".markdown", "empty-table-header": ".markdown", region: "[popover]" };
    const said = ({ target, html, failureSummary }) =>
        `${target.join(" ")}: ${html.slice(0, 200)}: ${failureSummary.replace(/\\s+/g, " ")}`;
    return violations
        .map(({ id, help, nodes }) => ({
            id,
            help,
            nodes: nodes.filter(({ element }) => !(others[id] && element.closest(others[id]))).map(said),
        }))
        .filter(({ nodes }) => nodes.length);
}"""


def read_axe(folder: Path) -> str:
    """Return the source of axe, installed into `folder`. Skips the test without npm, or its registry."""
    installed = install(PACKAGES, folder, locked=True)
    return (installed / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


async def violations(page: Page, source: str) -> list[dict[str, Any]]:
    """Return what axe finds. It is evaluated from outside, which the page's policy has no say in."""
    if not await page.evaluate("typeof axe === 'object'"):
        await page.evaluate(source)
    found: list[dict[str, Any]] = await page.evaluate(RUN, list(TAGS))
    return found
