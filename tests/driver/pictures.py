"""Pictures of the page: what differs from run to run is written over; they are compared with a tolerance.

Owns: stilling a page, taking pictures of it, small files of them, comparing two. Never: what is on a picture.
"""

from __future__ import annotations

import base64
from pathlib import Path

from playwright.async_api import Browser, Page

NOON = "2026-06-01T12:00:00Z"
QUALITY = 0.72
TOLERANCE = 0.02
"""The share of a picture that may differ: machines draw the edges of letters differently."""

# Times, durations, sizes of clones, ids and folders of a run.
STILL = r"""async () => {
    const usual = [
        [/\b\d{1,2}:\d{2}(:\d{2})?(\s[AP]M)?\b/g, "12:00"],
        [/\b\d+(\.\d+)? (ms|s)\b/g, "1.2 s"],
        [/\b\d+ min( \d+ s)?\b/g, "1.2 s"],
        [/\b\d+(\.\d+)? kB\b/g, "156 kB"],
        [/\b([A-Z][a-z]{2} \d{1,2}, \d{4}|\d{4}-\d\d-\d\d)\b/g, "Jun 1, 2026"],
        [/\b(wks|ses|run|prj|att|tok|req)_\w+/g, "$1_01K0"],
        [/\b[0-9a-f]{10,40}\b/g, "5d8c06960e"],
        [/\/(tmp|var|home|root)\/[^\s"]*/g, "/srv/bakery"],
    ];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const before = walk.currentNode.data;
        const after = usual.reduce((text, [found, put]) => text.replace(found, put), before);
        if (after !== before) walk.currentNode.data = after;
    }
    document.querySelector("#version")?.replaceChildren("1.0");
    await document.fonts.ready;
}"""
READ = """
    const read = async (text, type) => {
        const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
        return createImageBitmap(new Blob([bytes], { type }));
    };
"""
SHRINK = f"""async ([png, quality]) => {{
    {READ}
    const picture = await read(png, "image/png");
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    canvas.getContext("2d").drawImage(picture, 0, 0);
    const made = await canvas.convertToBlob({{ type: "image/webp", quality }});
    return new Promise((done) => {{
        const reader = new FileReader();
        reader.onload = () => done(reader.result.split(",")[1]);
        reader.readAsDataURL(made);
    }});
}}"""
# A quarter as wide and high, a letter is a grey spot: only what is elsewhere, or of another colour, counts.
COMPARE = f"""async ([one, other]) => {{
    {READ}
    const pixels = async (text, type) => {{
        const picture = await read(text, type);
        const [width, height] = [picture.width >> 2, picture.height >> 2];
        const context = new OffscreenCanvas(width, height).getContext("2d", {{ willReadFrequently: true }});
        context.imageSmoothingQuality = "high";
        context.drawImage(picture, 0, 0, width, height);
        return context.getImageData(0, 0, width, height);
    }};
    const [left, right] = [await pixels(one, "image/png"), await pixels(other, "image/webp")];
    if (left.width !== right.width || left.height !== right.height) return 1;
    let different = 0;
    for (let at = 0; at < left.data.length; at += 4)
        different += [0, 1, 2].some((part) => Math.abs(left.data[at + part] - right.data[at + part]) > 32);
    return different / (left.width * left.height);
}}"""


async def take(page: Page) -> bytes:
    """Return a picture of what is in the window, as PNG, once nothing in it moves."""
    await page.evaluate(STILL)
    return await page.screenshot(animations="disabled", caret="hide")


class Studio:
    """A blank page that works on pictures."""

    def __init__(self, page: Page) -> None:
        self._page = page

    @classmethod
    async def open(cls, browser: Browser) -> Studio:
        return cls(await browser.new_page())

    async def write(self, png: bytes, file: Path) -> None:
        """Store a picture as WebP."""
        file.parent.mkdir(parents=True, exist_ok=True)
        made = await self._page.evaluate(SHRINK, [base64.b64encode(png).decode(), QUALITY])
        file.write_bytes(base64.b64decode(made))

    async def difference(self, png: bytes, file: Path) -> float:
        """Return the share of a picture that is not as in a file; 1 where there is no such file."""
        if not file.exists():
            return 1.0
        pair = [base64.b64encode(content).decode() for content in (png, file.read_bytes())]
        share: float = await self._page.evaluate(COMPARE, pair)
        return share
