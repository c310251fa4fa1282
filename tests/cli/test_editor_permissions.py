"""Permission requests of `kaged acp`: each option, an answer from elsewhere, a cancel while one is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from acp import text_block

from tests.driver.editor import Editor, editor
from tests.driver.editor_project import editing_home
from tests.driver.kaged import DaemonProcess

pytestmark = pytest.mark.requirement("acp.permission")

BEFORE = "# Library\n\nIt lends books.\n"
AFTER = "# Library\n\nIt lends books and maps.\n"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with DaemonProcess(editing_home(tmp_path_factory.mktemp("home"))).start() as running:
        yield running


class Desk:
    """One editor with one session, and the file that its agent edits."""

    def __init__(self, daemon: DaemonProcess, one: Editor, session: str) -> None:
        self.daemon, self.editor, self.session = daemon, one, session
        self.file = daemon.home.project / "README.md"
        self.file.write_text(BEFORE)

    async def edit(self, kind: str | None) -> str:
        """Have the agent edit the file and answer with an option; return how the turn ended."""

        async def choose(_: Any) -> str | None:
            return kind

        self.editor.choose = choose
        return await self.prompt("edit it")

    async def prompt(self, text: str) -> str:
        done = await self.editor.connection.prompt(session_id=self.session, prompt=[text_block(text)])
        return str(done.stop_reason)

    def rules(self) -> list[tuple[str, str, str]]:
        found = self.daemon.call("GET", f"/sessions/{self.session}/permissions")["items"]
        return [(one["permission"], one["pattern"], one["action"]) for one in found]

    def last_status(self) -> str:
        return str([one["status"] for one in self.editor.of_kind("tool_call_update") if "status" in one][-1])


@asynccontextmanager
async def desk(daemon: DaemonProcess) -> AsyncIterator[Desk]:
    async with editor(daemon.home) as one:
        await one.start()
        yield Desk(daemon, one, await one.new(daemon.home.project))


async def test_an_edit_is_allowed_once(daemon: DaemonProcess) -> None:
    async with desk(daemon) as at:
        assert await at.edit("allow_once") == "end_turn"
        assert at.file.read_text() == AFTER
        (asked,) = at.editor.asked
        assert [one["kind"] for one in asked["options"]] == [
            *("allow_once", "allow_always", "reject_once", "reject_always"),
        ]
        call = asked["tool_call"]
        assert (call["kind"], call["title"]) == ("edit", "edit.text README.md")
        diff = {
            "type": "diff",
            "path": str(at.file),
            "oldText": "lends books",
            "newText": "lends books and maps",
        }
        assert call["content"][0] == diff
        assert "README.md" in call["content"][1]["content"]["text"]
        edits = [one for one in at.editor.of_kind("tool_call") if one["kind"] == "edit"]
        assert edits[0]["content"] == [diff]
        assert at.last_status() == "completed"
        assert at.editor.said() == "Done."
        at.file.write_text(BEFORE)
        await at.edit("allow_once")
        assert len(at.editor.asked) == 2


async def test_an_edit_is_allowed_for_the_session(daemon: DaemonProcess) -> None:
    async with desk(daemon) as at:
        assert await at.edit("allow_always") == "end_turn"
        assert [action for _, _, action in at.rules()] == ["allow"]
        at.file.write_text(BEFORE)
        assert await at.edit("reject_once") == "end_turn"
        assert at.file.read_text() == AFTER
        assert len(at.editor.asked) == 1


@pytest.mark.parametrize("kind", ["reject_once", None])
async def test_an_edit_is_rejected(daemon: DaemonProcess, kind: str | None) -> None:
    async with desk(daemon) as at:
        assert await at.edit(kind) == "end_turn"
        assert at.file.read_text() == BEFORE
        assert at.last_status() == "failed"
        assert at.editor.said() == "Then not."
        assert at.rules() == []


async def test_an_edit_is_rejected_for_the_session(daemon: DaemonProcess) -> None:
    async with desk(daemon) as at:
        assert await at.edit("reject_always") == "end_turn"
        assert [action for _, _, action in at.rules()] == ["deny"]
        assert await at.edit("allow_once") == "end_turn"
        assert at.file.read_text() == BEFORE
        assert len(at.editor.asked) == 1


async def test_a_request_is_answered_elsewhere(daemon: DaemonProcess) -> None:
    async with desk(daemon) as at:
        answered = asyncio.Event()

        async def choose(_: Any) -> str | None:
            await answered.wait()
            return "reject_once"

        at.editor.choose = choose
        running = asyncio.ensure_future(at.prompt("edit it"))
        await at.editor.until(lambda: at.editor.asked)
        path = f"/sessions/{at.session}/interactions"
        (asked,) = at.daemon.call("GET", f"{path}?state=pending")["items"]
        at.daemon.call("POST", f"{path}/{asked['id']}/answer", {"answer": "once"})
        assert await running == "end_turn"
        assert at.editor.withdrawn == 1
        assert at.file.read_text() == AFTER
        answered.set()  # too late; it changes nothing
        assert await at.prompt("read it") == "end_turn"
        assert at.file.read_text() == AFTER


async def test_a_cancel_ends_an_open_request(daemon: DaemonProcess) -> None:
    async with desk(daemon) as at:

        async def choose(_: Any) -> str | None:
            await at.editor.connection.cancel(session_id=at.session)
            return None

        at.editor.choose = choose
        assert await at.prompt("edit it") == "cancelled"
        assert at.file.read_text() == BEFORE
        assert at.daemon.call("GET", f"/sessions/{at.session}")["state"] == "idle"
        (asked,) = at.daemon.call("GET", f"/sessions/{at.session}/interactions")["items"]
        assert asked["state"] in ("cancelled", "answered")
        assert await at.prompt("read it") == "end_turn"


async def test_a_cancel_ends_an_answer_that_streams(daemon: DaemonProcess) -> None:
    async with desk(daemon) as at:
        running = asyncio.ensure_future(at.prompt("stall"))
        await at.editor.until(lambda: "Thinking it over" in at.editor.said())
        await at.editor.connection.cancel(session_id=at.session)
        assert await running == "cancelled"
        assert at.daemon.call("GET", f"/sessions/{at.session}")["last_run"]["state"] == "cancelled"
