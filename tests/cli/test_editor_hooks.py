"""Hooks in sessions that an editor drives by `kaged acp`: they run, and the editor shows what they do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from acp import RequestError, text_block

from tests.driver.editor import Editor, editor
from tests.driver.editor_project import PROJECT, editing_home
from tests.driver.kaged import DaemonProcess

pytestmark = pytest.mark.requirement("acp.hooks")

HOOKS = """\
hooks:
  before_tool:
    - name: careful
      command: echo '{"decision":"ask","reason":"this file is precious"}'
      match: [{ permission: fs.write, pattern: README.md }]
      cage: disabled
  after_tool:
    - { name: count, command: "cat >> ../seen.jsonl; echo >> ../seen.jsonl", cage: disabled }
  on_prompt:
    - name: secrets
      command: "grep -q password && { echo 'no passwords, please' >&2; exit 2; }; exit 0"
      cage: disabled
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    asked_by_hooks_only = PROJECT.partition("permissions:")[0]
    home = editing_home(tmp_path_factory.mktemp("home")).give(asked_by_hooks_only + HOOKS)
    with DaemonProcess(home).start() as running:
        yield running


@asynccontextmanager
async def session(daemon: DaemonProcess) -> AsyncIterator[tuple[Editor, str]]:
    (daemon.home.project / "README.md").write_text("# Library\n\nIt lends books.\n")
    (daemon.home.folder / "seen.jsonl").unlink(missing_ok=True)
    async with editor(daemon.home) as one:
        await one.start()
        yield one, await one.new(daemon.home.project)


async def prompt(one: Editor, at: str, text: str) -> str:
    return str((await one.connection.prompt(session_id=at, prompt=[text_block(text)])).stop_reason)


@pytest.mark.parametrize("kind", ["allow_once", "reject_once"])
async def test_a_hook_that_asks_is_a_permission_request_of_the_editor(
    daemon: DaemonProcess, kind: str
) -> None:
    async with session(daemon) as (one, at):

        async def choose(_: Any) -> str:
            return kind

        one.choose = choose
        assert await prompt(one, at, "edit it") == "end_turn"
        (asked,) = one.asked
        assert "Hook `careful` asks for approval: this file is precious" in str(asked["tool_call"])
        written = "books and maps" in (daemon.home.project / "README.md").read_text()
        assert written is (kind == "allow_once")
        assert one.said() == ("Done." if written else "Then not.")
        seen = (daemon.home.folder / "seen.jsonl").read_text().splitlines()
        assert len(seen) == (2 if written else 1)  # the read, and the edit that ran
        assert all(f'"session_id":"{at}"' in line for line in seen)


async def test_hooks_know_the_mode_that_the_editor_chose_and_are_not_asked_what_it_denies(
    daemon: DaemonProcess,
) -> None:
    async with session(daemon) as (one, at):
        await one.connection.set_session_mode(session_id=at, mode_id="plan")
        assert await prompt(one, at, "edit it") == "end_turn"
        assert (one.asked, one.said()) == ([], "Then not.")
        failed = [update for update in one.of_kind("tool_call_update") if update.get("status") == "failed"]
        assert "mode `plan`" in str(failed[-1])
        (read,) = (daemon.home.folder / "seen.jsonl").read_text().splitlines()
        assert '"mode":"plan"' in read and '"tool":"file.read"' in read


async def test_a_prompt_that_a_hook_withholds_fails_with_its_reason_and_the_session_goes_on(
    daemon: DaemonProcess,
) -> None:
    async with session(daemon) as (one, at):
        with pytest.raises(RequestError) as withheld:
            await prompt(one, at, "read my password")
        assert "The hook secrets withheld the message: no passwords, please" in str(withheld.value)
        assert one.said() == ""
        assert await prompt(one, at, "read it") == "end_turn"
        assert one.said().endswith("It lends books.")
