"""The web page when the network, the daemon or another page take something away: in a real Chromium."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Route, WebSocketRoute, expect

from tests.driver.browser import conversation, new_session, open_page, send, until_state
from tests.driver.daemon_process import DaemonProcess
from tests.driver.demo_daemon import Demo

pytestmark = pytest.mark.asyncio(loop_scope="module")

REFUSALS = 6
SHORTEST_PAUSES = 0.125 + 0.25 + 0.5 + 1 + 2


@pytest_asyncio.fixture(loop_scope="module")
async def demo(tmp_path: Path) -> AsyncIterator[Demo]:
    demo = Demo(tmp_path, speed=20)
    yield demo
    await demo.stop()


@pytest_asyncio.fixture(loop_scope="module")
async def slow_demo(tmp_path: Path) -> AsyncIterator[Demo]:
    """The demo at the speed at which a person sees it."""
    demo = Demo(tmp_path, speed=1)
    yield demo
    await demo.stop()


class RenamingProxy:
    """A proxy as most are set up first: the daemon sees its own address as `Host`, the browser another."""

    def __init__(self) -> None:
        self.daemon_port = 0
        self.port = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()

    def address(self, url: str) -> str:
        return url.replace(f":{self.daemon_port}", f":{self.port}")

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            theirs, ours = await asyncio.open_connection("127.0.0.1", self.daemon_port)
            hosts = (f"Host: 127.0.0.1:{self.port}".encode(), f"Host: 127.0.0.1:{self.daemon_port}".encode())
            await asyncio.gather(_pump(reader, ours, hosts), _pump(theirs, writer, None))


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, renamed: tuple[bytes, bytes] | None
) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data.replace(*renamed) if renamed else data)
            await writer.drain()
    finally:
        writer.close()


async def _ids(daemon: DaemonProcess, path: str) -> list[str]:
    async with daemon.client() as client:
        return [item["id"] for item in (await client.get(path)).json()["items"]]


async def _close_once_open(socket: WebSocketRoute) -> None:
    """Close as a daemon does that has too many requests: it opens the socket, to say why it closes it."""
    await asyncio.sleep(0.02)
    await socket.close(code=4429, reason="too_many_requests")


async def test_what_is_sent_again_because_the_answer_was_lost_happens_once(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, _):
        await new_session(page)
        lost: list[str] = []

        async def lose_the_first(route: Route) -> None:
            if route.request.method == "POST" and not lost:
                lost.append(route.request.url)
                await route.fetch()
                await route.abort()
            else:
                await route.continue_()

        await page.route("**/messages", lose_the_first)
        await send(page, "hello")
        await page.wait_for_selector(".notice >> text=The daemon does not answer")
        await page.wait_for_selector(".run-end")
        assert await page.input_value("#message") == "hello"
        async with page.expect_response("**/messages") as again:
            await page.press("#message", "Enter")
        assert (await again.value).headers["idempotency-replayed"] == "true"
        await expect(page.locator("#message")).to_have_value("")
        assert await page.locator(".notice").count() == 0
        # The same words once more are a message of their own.
        await send(page, "hello")
        await page.wait_for_selector(".run-end >> nth=1")
        assert await page.locator(".post .post-text").all_inner_texts() == ["hello", "hello"]


async def test_what_was_opened_while_the_daemon_was_away_is_there_when_it_is_back(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, _):
        await new_session(page)
        await send(page, "hello")
        await page.wait_for_selector(".run-end")
        await page.goto(f"{daemon.url}/#")
        await page.wait_for_selector(".welcome h2")
        daemon.send_signal(signal.SIGKILL)
        await daemon.process.wait()
        await page.click("#projects .session")
        await page.wait_for_selector(".notice >> text=The daemon does not answer")
        daemon = await demo.start()
        await page.wait_for_selector("#composer:not([hidden])")
        assert "I am a replayed agent" in await conversation(page)
        # What is not so any more is not told any more.
        await page.wait_for_selector(".notice", state="detached")
        await send(page, "thanks")
        await page.wait_for_selector(".run-end >> nth=1")

        daemon.send_signal(signal.SIGKILL)
        await daemon.process.wait()
        await page.click("#views [data-view=issues]")
        await page.wait_for_selector(".notice >> text=The daemon does not answer")
        await demo.start()
        await page.wait_for_selector("#view >> text=New issue")
        await page.wait_for_selector("#view >> text=No issue matches.")


async def test_a_page_behind_a_proxy_says_what_is_to_be_allowed_and_works_then(
    demo: Demo, browser: Browser
) -> None:
    proxy = RenamingProxy()
    async with proxy.serving():
        for allowed in (False, True):
            if allowed:
                await demo.stop()
                with demo.config.open("a") as config:
                    config.write(f'\n[auth]\nallowed_origins = ["http://127.0.0.1:{proxy.port}"]\n')
            daemon = await demo.start()
            proxy.daemon_port = int(daemon.url.rpartition(":")[2])
            async with open_page(browser, daemon, through=proxy.address) as (page, _):
                if not allowed:
                    notice = page.locator(".notice", has_text="auth.allowed_origins")
                    assert f"add http://127.0.0.1:{proxy.port} to" in await notice.inner_text()
                    await page.evaluate("window.sameDocument = true")
                    await page.evaluate("location.hash = '#issues'")
                    await page.wait_for_selector("#view >> text=New issue")
                    assert await page.evaluate("window.sameDocument")
                    continue
                await new_session(page)
                await send(page, "hello")
                await page.wait_for_selector(".run-end")
                assert await page.locator(".notice").count() == 0


async def test_a_session_that_was_deleted_elsewhere_takes_no_more_messages(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, _), daemon.client() as client:
        session_id = await new_session(page)
        await send(page, "hello")
        await page.wait_for_selector("#conversation .markdown >> text=I am a replayed agent")
        await page.wait_for_selector(".run-end")
        await until_state(page, "idle")
        assert (await client.delete(f"/sessions/{session_id}")).status_code == 204
        await page.wait_for_selector(".notice >> text=This session was deleted.")
        assert await page.inner_text("#connection") == "not connected"
        assert not await page.is_visible("#composer")
        await page.wait_for_selector("#projects .session", state="detached")
        assert "I am a replayed agent" in await conversation(page)
        # One that never was does not stand under the title of the one before.
        await page.evaluate("location.hash = `ses_${'0'.repeat(26)}`")
        await expect(page.locator("#title")).to_have_text("No such session")


async def test_a_daemon_that_refuses_is_asked_less_and_less_often(demo: Demo, browser: Browser) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, _):
        tried: list[float] = []
        enough = asyncio.Event()
        closing: list[asyncio.Task[None]] = []

        async def refuse(socket: WebSocketRoute) -> None:
            tried.append(time.monotonic())
            if len(tried) == REFUSALS:
                enough.set()
            closing.append(asyncio.create_task(_close_once_open(socket)))

        session_id = await new_session(page)
        await page.route_web_socket(f"**/sessions/{session_id}/ws*", refuse)
        await page.reload()
        async with asyncio.timeout(60):
            await enough.wait()
        assert tried[-1] - tried[0] > SHORTEST_PAUSES * 0.9
        assert await page.inner_text("#connection") == "connecting…"


async def test_what_could_not_be_read_again_is_read_when_the_daemon_is_back(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, _), daemon.client() as client:
        session_id = await new_session(page)
        for count, text in enumerate(("hello", "thanks")):
            await send(page, text)
            await page.wait_for_selector(f".run-end >> nth={count}")
        await until_state(page, "idle")
        first = (await client.get(f"/sessions/{session_id}/messages")).json()["items"][0]["id"]
        await page.route("**/messages?*", lambda route: route.abort())
        gone_back = await client.post(f"/sessions/{session_id}/rollback", json={"message_id": first})
        assert gone_back.status_code == 201, gone_back.text
        await page.wait_for_selector(".notice >> text=The daemon does not answer")
        assert await page.locator(".superseded").count() == 0
        await page.unroute("**/messages?*")
        daemon.send_signal(signal.SIGKILL)
        await daemon.process.wait()
        await demo.start()
        await page.wait_for_selector(".superseded >> text=rolled back")


async def test_a_message_that_is_longer_than_its_frame_says_where_the_rest_is(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, complaints):
        await new_session(page)
        words = "hello " * 20_000
        await send(page, words)
        link = page.locator(".post a", has_text="Open the whole message")
        address = await link.get_attribute("href")
        stored = await page.evaluate("address => fetch(address).then((answer) => answer.json())", address)
        assert stored["content"] == words
        await page.reload()
        assert await page.text_content(".post-text") == words
        assert await link.count() == 0
        assert complaints.found == []


async def test_what_was_written_is_there_after_a_reload_and_after_signing_in_again(
    demo: Demo, browser: Browser
) -> None:
    daemon = await demo.start()
    async with open_page(browser, daemon) as (page, _), daemon.client() as client:
        session_id = await new_session(page)
        await page.fill("#message", "Half a thought")
        await page.reload()
        await page.wait_for_selector("#composer:not([hidden])")
        assert await page.input_value("#message") == "Half a thought"
        await page.context.clear_cookies()
        await page.press("#message", "Enter")
        await page.wait_for_selector("text=This browser is not signed in")
        link = (await client.post("/tokens/launch-link", json={})).json()["url"]
        await page.goto(link)
        await page.goto(f"{daemon.url}/#{session_id}")
        await page.wait_for_selector("#composer:not([hidden])")
        assert await page.input_value("#message") == "Half a thought"
        await page.press("#message", "Enter")
        await page.wait_for_selector(".run-end")
        await page.reload()
        await page.wait_for_selector("#composer:not([hidden])")
        assert await page.input_value("#message") == ""


async def test_a_paused_run_takes_no_message_while_the_session_is_read_again(
    slow_demo: Demo, browser: Browser
) -> None:
    daemon = await slow_demo.start()
    async with open_page(browser, daemon) as (page, _):
        session_id = await new_session(page)
        await send(page, "Tell me a long story")
        await page.wait_for_selector("text=This takes about a minute")
        await page.reload()  # what the page knows of the session now has a run under way
        await page.wait_for_selector("#pause:not([hidden])")
        answered = asyncio.Event()

        async def hold(route: Route) -> None:
            await answered.wait()
            await route.continue_()

        await page.route(f"**/sessions/{session_id}", hold)
        await page.click("#pause")
        await until_state(page, "paused")
        assert await page.is_disabled("#send")
        assert not await page.is_visible("#pause")
        answered.set()
        await page.unroute_all(behavior="wait")


async def test_a_message_that_is_sent_while_a_stop_is_under_way_is_sent_after_it(
    slow_demo: Demo, browser: Browser
) -> None:
    daemon = await slow_demo.start()
    async with open_page(browser, daemon) as (page, _):
        await new_session(page)
        await send(page, "Tell me a long story")
        await page.wait_for_selector("text=This takes about a minute")
        answered = asyncio.Event()

        async def hold(route: Route) -> None:
            response = await route.fetch()
            await answered.wait()
            await route.fulfill(response=response)

        await page.route("**/cancel", hold)
        await page.click("#stop")
        await until_state(page, "idle")
        await send(page, "thanks")
        assert await page.input_value("#message") == "thanks"
        answered.set()
        await page.wait_for_selector("text=I am a replayed agent")
        await expect(page.locator("#message")).to_have_value("")
        await page.unroute_all(behavior="wait")
