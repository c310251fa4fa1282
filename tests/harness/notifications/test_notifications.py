"""A person is told that a session needs one: by a signed webhook, by ntfy, by a command."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.config import load_settings
from app.errors import ConfigError
from tests.driver.daemon_process import WAIT_SECONDS, DaemonProcess, write_config
from tests.driver.sessions import PROJECT_YAML, Driver, driven, write_project
from tests.fakes.provider_script import Document, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.fakes.web_server import Page, Request, WebServer, answer, redirect, web_server

pytestmark = pytest.mark.requirement("notifications.delivery")

SECRET = "a secret that is long enough"
RULES = 'permissions: [{ permission: file.write, pattern: "**", action: ask }]\n'
REFUSED = Document(401, {"error": {"message": "no such key"}})
HIDDEN = "rm -rf everything"


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    async with web_server() as server:
        yield server


class Inbox:
    """The requests to one path of a server, as they come. `pages` answer the first ones; then 204."""

    def __init__(self, web: WebServer, path: str, *pages: Page) -> None:
        self._came: asyncio.Queue[Request] = asyncio.Queue()
        self._pages = list(pages)
        web.pages[path] = self._page

    async def next(self) -> Request:
        async with asyncio.timeout(WAIT_SECONDS):
            return await self._came.get()

    def empty(self) -> bool:
        return self._came.empty()

    async def _page(self, request: Request, writer: asyncio.StreamWriter) -> None:
        self._came.put_nowait(request)
        page = self._pages.pop(0) if self._pages else answer(b"", "204 No Content", length=False)
        await page(request, writer)


def held(page: Page, gate: asyncio.Event) -> Page:
    """Return a page that is given as soon as the gate is open."""

    async def give(request: Request, writer: asyncio.StreamWriter) -> None:
        await gate.wait()
        await page(request, writer)

    return give


async def stall(_request: Request, _writer: asyncio.StreamWriter) -> None:
    with suppress(asyncio.CancelledError):  # the end of the test
        await asyncio.Event().wait()


def webhook(web: WebServer, **more: Any) -> dict[str, Any]:
    """Return the settings of a webhook at `/hook` that is tried again at once."""
    return {
        "retry_seconds": 0.01,
        "webhook": {"url": web.url("/hook"), "secret": SECRET, "timeout_seconds": 20},
        **more,
    }


def signed(request: Request) -> bool:
    stamp = request.headers["x-kaged-timestamp"]
    mac = hmac.new(SECRET.encode(), stamp.encode() + b"." + request.body, hashlib.sha256)
    return request.headers["x-kaged-signature"] == f"sha256={mac.hexdigest()}"


async def post(driver: Driver, text: str) -> None:
    await driver.session_call("POST", "/messages", {"content": text}, status=201)


async def counted(driver: Driver, channel: str, outcome: str) -> int:
    """Return the metric as soon as it has any value."""
    line = f'kaged_notifications_total{{channel="{channel}",outcome="{outcome}"}} '
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            text = (await driver.client.get("/api/v1/metrics")).text
            found = [one for one in text.splitlines() if one.startswith(line)]
            if found:
                return int(float(found[0].removeprefix(line)))
            await asyncio.sleep(0.02)


@pytest.fixture
def asking_root(tmp_path: Path) -> Path:
    return write_project(tmp_path / "shop", PROJECT_YAML + RULES)


async def test_a_webhook_is_signed_and_says_who_asks_but_not_what(
    tmp_path: Path, asking_root: Path, web: WebServer, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    inbox = Inbox(web, "/hook")
    notify = webhook(web, page_url="https://kaged.example.org/base/")
    fake.script(Reply((ToolCall("file_write", {"path": "x.txt", "content": HIDDEN}, "c1"),)))
    async with driven(tmp_path / "data", asking_root, notify=notify, **settings_overrides) as driver:
        await post(driver, f"Please {HIDDEN}")
        request = await inbox.next()
        body = orjson.loads(request.body)
        assert signed(request)
        assert request.headers["x-kaged-delivery"] == body["id"]
        assert HIDDEN.encode() not in request.body
        assert b"x.txt" not in request.body
        assert (body["kind"], body["asks"], body["agent"]) == ("question", "permission", "primary")
        assert (body["session"]["id"], body["session"]["title"]) == (driver.session_id, None)
        assert body["project"]["slug"] == "shop"
        assert body["link"] == f"https://kaged.example.org/base/#{driver.session_id}"
        assert await counted(driver, "webhook", "delivered") == 1
        # The link answers nothing: what it names is the page, without a token.
        assert "token" not in body["link"]


async def test_failures_are_tried_again_with_the_same_id_and_redirects_are_final(
    tmp_path: Path, project_root: Path, web: WebServer, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    elsewhere = Inbox(web, "/elsewhere")
    broken = answer(b"", "503 Service Unavailable", Retry_After="0")
    inbox = Inbox(web, "/hook", broken, stall, answer(b""), redirect("/elsewhere"))
    notify = webhook(web)
    # What is answered is answered in time, also on a busy machine.
    notify["webhook"]["timeout_seconds"] = 5.0
    fake.script(text_reply("One."), text_reply("Two."))
    async with driven(tmp_path / "data", project_root, notify=notify, **settings_overrides) as driver:
        await post(driver, "Go")
        tries = [await inbox.next() for _ in range(3)]
        assert len({one.headers["x-kaged-delivery"] for one in tries}) == 1
        assert all(signed(one) for one in tries)
        assert orjson.loads(tries[0].body)["kind"] == "finish"
        assert await counted(driver, "webhook", "failed") == 2
        assert await counted(driver, "webhook", "delivered") == 1
        await post(driver, "Go on")
        second = await inbox.next()
        assert second.headers["x-kaged-delivery"] != tries[0].headers["x-kaged-delivery"]
        assert await counted(driver, "webhook", "given_up") == 1
        assert elsewhere.empty()


async def test_only_chosen_kinds_and_projects_are_told_and_nothing_to_who_follows_the_session(
    tmp_path: Path, project_root: Path, web: WebServer, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    inbox = Inbox(web, "/hook")
    notify = webhook(web, on=["failure"], projects=["shop"])
    async with driven(tmp_path / "data", project_root, notify=notify, **settings_overrides) as driver:
        fake.script(text_reply("Fine."))
        await driver.run("Go")  # finishes: not chosen
        fake.script(REFUSED)
        async with driver.watching((await driver.session_call("GET"))["last_seq"]):
            await post(driver, "Fail while somebody looks")
            assert await counted(driver, "webhook", "followed") == 1
        fake.script(REFUSED)
        await post(driver, "Fail")
        body = orjson.loads((await inbox.next()).body)
        assert (body["kind"], body["failure"]) == ("failure", "auth")
        assert inbox.empty()
    fake.script(REFUSED)
    elsewhere = webhook(web, projects=["another"])
    async with driven(tmp_path / "data2", project_root, notify=elsewhere, **settings_overrides) as driver:
        await driver.run("Fail")
        rows = await driver.daemon.services.storage.read(
            lambda uow: uow.notifications.due("webhook", 2**60, projects=None)
        )
        assert rows == []


async def test_ntfy_and_a_command_are_told_each_by_itself(
    tmp_path: Path, project_root: Path, web: WebServer, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    topic = Inbox(web, "/")
    told = tmp_path / "told"
    script = (
        "import os, sys, pathlib; line = sys.stdin.read();"
        "text = os.environ['KAGED_NOTICE_TEXT'];"
        "pathlib.Path(sys.argv[1]).write_text(text + '|' + sys.argv[2] + '|' + line)"
    )
    notify = {
        "retry_seconds": 0.01,
        "titles": True,
        "ntfy": {"url": web.url("/"), "topic": "my-kaged", "token": "tk_1234567890"},
        "command": {"argv": [sys.executable, "-c", script, str(told), "$HOME; `id`"]},
    }
    fake.script(text_reply("Done."))
    async with driven(tmp_path / "data", project_root, notify=notify, **settings_overrides) as driver:
        await post(driver, "Größe messen")
        request = await topic.next()
        said = orjson.loads(request.body)
        assert request.headers["authorization"] == "Bearer tk_1234567890"
        assert (said["topic"], said["title"]) == ("my-kaged", "shop: finished")
        assert said["message"] == "primary has finished in “Größe messen”."
        assert said["click"].endswith(f"/#{driver.session_id}")
        assert await counted(driver, "command", "delivered") == 1
        text, argument, line = told.read_text().split("|", 2)
        assert (text, argument) == (said["message"], "$HOME; `id`")
        assert orjson.loads(line)["kind"] == "finish"


async def test_an_answered_question_is_not_told_any_more(
    tmp_path: Path, asking_root: Path, web: WebServer, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    is_answered = asyncio.Event()
    inbox = Inbox(web, "/hook", held(answer(b"", "500 Oops"), is_answered))
    notify = webhook(web, on=["question"])
    call = ToolCall("file_write", {"path": "x.txt", "content": "x"}, "c1")
    fake.script(Reply((call,)), text_reply("Done."))
    async with driven(tmp_path / "data", asking_root, notify=notify, **settings_overrides) as driver:
        await post(driver, "Write")
        await inbox.next()
        (asked,) = (await driver.session_call("GET", "/interactions?state=pending"))["items"]
        await driver.session_call("POST", f"/interactions/{asked['id']}/answer", {"answer": "once"})
        is_answered.set()
        assert await counted(driver, "webhook", "failed") == 1
        assert await counted(driver, "webhook", "settled") == 1
        assert inbox.empty()


@pytest.mark.requirement("notifications.restart")
async def test_what_a_killed_daemon_had_to_tell_is_told_after_the_restart(
    tmp_path: Path, web: WebServer
) -> None:
    root = write_project(tmp_path / "shop")
    hook = Inbox(web, "/hook", stall)
    async with FakeProvider() as model:
        config = write_config(tmp_path / "config.toml", model.port)
        with config.open("a") as file:
            file.write('\n[notify]\npage_url = "https://kaged.example.org"\n')
            file.write(f'[notify.webhook]\nurl = "{web.url("/hook")}"\nsecret = "{SECRET}"\n')
        model.script(text_reply("Done."))
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        async with daemon.client() as client:
            made = await client.post("/sessions", json={"project_id": daemon.project_id})
            await client.post(f"/sessions/{made.json()['id']}/messages", json={"content": "Go"})
            first = await hook.next()  # committed, under way, and not answered
        await daemon.kill()
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            again = await hook.next()
        finally:
            await daemon.stop()
    assert again.body == first.body
    assert signed(again)


def test_a_webhook_needs_a_long_secret_and_takes_it_from_a_variable() -> None:
    given = {"notify": {"webhook": {"url": "https://example.org/x", "secret_env": "HOOK_SECRET"}}}
    settings = load_settings(environ={"HOOK_SECRET": SECRET}, overrides=given)
    assert settings.notify.channels == ("webhook",)
    assert load_settings(environ={}, overrides=given).notify.channels == ()
    assert load_settings(environ={}).notify.channels == ()
    with pytest.raises(ConfigError, match="at least 16 characters"):
        load_settings(environ={"HOOK_SECRET": "short"}, overrides=given)
