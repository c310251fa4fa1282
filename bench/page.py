"""Measure the page on a session of 10,000 messages, beside the page of an earlier revision in the same run.

The session is recorded by a real run and imported by both daemons. `PAGE_BEFORE` names the revision (the last
one before the workbench); its page is served by its own daemon, from a checkout in a temporary folder.
`PAGE_MESSAGES` (10,000) and `PAGE_ROUNDS` (3) say how much is measured; the pages take turns. Each
round opens the session in a new tab of Chromium without a cache, types into the message field, and watches
the frames while the model writes 200 deltas a second. `first content` is when the newest message is painted.
`typing` is the time from a key to the next painted frame. Memory is measured after a garbage collection.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, CDPSession, Page

from bench.figures import percentile, report
from bench.processes import Running, clock_model, daemon
from bench.recorded_session import imported, last_words, recorded, settings
from tests.driver.browser import PROGRAMS, running_browser

BEFORE = os.environ.get("PAGE_BEFORE", "ce5025d6")
MESSAGES = int(os.environ.get("PAGE_MESSAGES", "10000"))
ROUNDS = int(os.environ.get("PAGE_ROUNDS", "3"))
DELTAS, GAP = 2_000, 0.005
LONG_FRAME = 50
PATIENCE_MS = 600_000
TYPED = "what does the second part of this project do, and why "
FIELD = "#message"
REPOSITORY = Path(__file__).parents[1]

WATCH = """
    (words) => {
        window.bench = { first: 0, keys: [], frames: [] };
        new MutationObserver((records, self) => {
            const said = (node) => node.textContent?.includes(words);
            if (!records.some((one) => said(one.type === "characterData" ? one.target : { textContent: "" })
                || [...one.addedNodes].some(said))) return;
            self.disconnect();
            requestAnimationFrame(() => setTimeout(() => (bench.first = performance.now())));
        }).observe(document, { childList: true, subtree: true, characterData: true });
    }
"""
KEYS = """
    (field) => document.querySelector(field).addEventListener("keydown", (event) => {
        const pressed = event.timeStamp;
        requestAnimationFrame(() => {
            const { port1, port2 } = new MessageChannel();
            port1.onmessage = () => bench.keys.push(performance.now() - pressed);
            port2.postMessage(null);
        });
    }, true)
"""
FRAMES = """
    () => {
        bench.frames = [];
        bench.watching = true;
        let last = performance.now();
        const next = (now) => {
            bench.frames.push(now - last);
            last = now;
            if (bench.watching) requestAnimationFrame(next);
        };
        requestAnimationFrame(next);
    }
"""
Figures = dict[str, tuple[float, str]]


@dataclass(frozen=True)
class Side:
    """One page, the daemon that serves it, and the session in it."""

    running: Running
    session_id: str

    async def measured(self, browser: Browser) -> Figures:
        """Open the session in a new tab, and return what it took."""
        context = await browser.new_context(viewport={"width": 1440, "height": 900})
        try:
            context.set_default_timeout(PATIENCE_MS)
            first = await context.new_page()
            await first.goto(await asyncio.to_thread(self._launch_link))
            await first.wait_for_selector("#version:not(:empty)", state="attached")
            home = first.url.partition("#")[0]
            await first.close()
            page = await context.new_page()
            devtools = await context.new_cdp_session(page)
            await devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})
            return await self._looked_at(page, devtools, home)
        finally:
            await context.close()

    async def _looked_at(self, page: Page, devtools: CDPSession, home: str) -> Figures:
        await page.add_init_script(f"({WATCH})({last_words(MESSAGES)!r})")
        await page.goto(f"{home}#{self.session_id}")
        await _until(page, "window.bench.first > 0")
        await page.wait_for_selector(FIELD)
        await page.wait_for_load_state("networkidle")
        figures: Figures = {"first content": (await page.evaluate("bench.first"), "ms")}
        figures |= await _memory(page, devtools)
        await page.evaluate(KEYS, FIELD)
        figures |= await _typing(page, "typing")
        return figures | await self._streaming(page)

    async def _streaming(self, page: Page) -> Figures:
        began = time.monotonic()
        await page.evaluate(FRAMES)
        answering = asyncio.create_task(asyncio.to_thread(self._answer))
        figures = await _typing(page, "typing while it streams")
        await answering
        seconds = time.monotonic() - began
        frames: list[float] = await page.evaluate("bench.watching = false, bench.frames")
        late = [one for one in frames if one > LONG_FRAME]
        return figures | {
            f"frames over {LONG_FRAME} ms": (len(late) / seconds, "a second"),
            "time in frames over 50 ms": (sum(late) / seconds / 10, "%"),
            "longest frame": (max(frames), "ms"),
            "deltas": (DELTAS / seconds, "a second"),
        }

    def _launch_link(self) -> str:
        with self.running.client() as client:
            return str(client.post("/api/v1/tokens/launch-link").raise_for_status().json()["url"])

    def _answer(self) -> None:
        """Have the model answer once, and wait for the end of it."""
        with self.running.client() as client:
            address = f"/api/v1/sessions/{self.session_id}"
            client.post(f"{address}/messages", json={"content": "Go"}).raise_for_status()
            while (found := client.get(address).json())["state"] in ("running", "queued"):
                time.sleep(0.1)
        if found["last_run"]["state"] != "succeeded":
            raise RuntimeError(f"the run {found['last_run']['state']}: {found['last_run']['reason']}")


async def _until(page: Page, condition: str) -> None:
    """Wait until something holds in a page, whose policy allows no evaluated code of Playwright."""
    async with asyncio.timeout(PATIENCE_MS / 1000):
        while not await page.evaluate(condition):  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def _typing(page: Page, name: str) -> Figures:
    await page.focus(FIELD)
    await page.evaluate("bench.keys = []")
    await page.keyboard.type(TYPED, delay=30)
    await _until(page, f"bench.keys.length >= {len(TYPED)}")
    keys: list[float] = await page.evaluate("bench.keys")
    await page.fill(FIELD, "")
    return {
        f"{name}, median": (statistics.median(keys), "ms"),
        f"{name}, 95th": (percentile(keys, 0.95), "ms"),
    }


async def _memory(page: Page, devtools: CDPSession) -> Figures:
    await devtools.send("HeapProfiler.enable")
    await devtools.send("HeapProfiler.collectGarbage")
    heap: dict[str, Any] = await devtools.send("Runtime.getHeapUsage")
    elements = await page.evaluate("document.querySelectorAll('*').length")
    counters: dict[str, Any] = await devtools.send("Memory.getDOMCounters")
    return {
        "heap": (heap["usedSize"] / 1e6, "MB"),
        "elements": (elements, ""),
        "DOM nodes": (counters["nodes"], ""),
    }


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """Yield a folder with the files of a revision."""
    folder = Path(tempfile.mkdtemp(prefix="kaged-bench-before-"))
    try:
        archive = folder.with_suffix(".tar")
        subprocess.run(["git", "archive", "-o", str(archive), revision], cwd=REPOSITORY, check=True)
        shutil.unpack_archive(archive, folder, filter="data")
        archive.unlink()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _say(now: list[Figures], before: list[Figures]) -> None:
    for name, (_, unit) in now[0].items():
        value = statistics.median(one[name][0] for one in now)
        old = statistics.median(one[name][0] for one in before)
        ratio = f", {old / value:.2f} times" if value > 0 else ""
        report(name, value, unit, peers=f"the page of {BEFORE}: {old:.3f}{ratio}")


async def _compare(now: Side, before: Side) -> None:
    measured: tuple[list[Figures], list[Figures]] = ([], [])
    async with running_browser() as browser:
        for number in range(ROUNDS):
            for side, found in zip((now, before), measured, strict=True):
                found.append(await side.measured(browser))
            print(f"round {number + 1} of {ROUNDS} (load average {os.getloadavg()[0]:.1f})", flush=True)
    _say(*measured)


def main() -> None:
    if not any(shutil.which(name) for name in PROGRAMS):
        print("no Chromium here: install one (`make tools`), then run the benchmark again")
        return
    with ExitStack() as stack:
        port = stack.enter_context(clock_model(DELTAS, GAP))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kaged-bench-page-")))
        code = stack.enter_context(checkout(BEFORE))
        present = stack.enter_context(daemon(port, settings=settings(folder)))
        earlier = stack.enter_context(daemon(port, code=code))
        export = recorded(present, MESSAGES)
        print(f"a session of {MESSAGES:,} messages, {len(export) / 1e6:.1f} MB as an export", flush=True)
        sides = [Side(one, imported(one, export)) for one in (present, earlier)]
        asyncio.run(_compare(*sides))
