"""An agent reads in its next request which errors its edit introduced, also those that came late."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.tools.after_edit.edit_checks import FeedbackLimits
from tests.driver.language_servers import ROOT, server_path
from tests.driver.sessions import WAIT_SECONDS, check_stream, driven, restarted, write_project
from tests.fakes.provider_script import Delay, RecordedRequest, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

HOSTILE = ROOT / "tests" / "fakes" / "hostile_language_server.py"
HELD = "held"
"""While there is a file of this name in the project, a late server says nothing of what it finds."""
NOTE = "A note of the daemon"
YAML = """\
version: 1
project: shop
primary:
  model: main
  system_prompt: project:/prompts/primary.md
  cage: disabled
  tools:
    "file.*": {{ enabled: true }}
    "edit.*": {{ enabled: true }}
    code.lsp: {{ enabled: true }}
lsp:
{more}  servers:
    - lang: hostile
      command: {command}
      extensions: [.hos]
"""


def shop(tmp_path: Path, *behaviour: str, more: str = "") -> Path:
    """Write a project whose `.hos` files belong to the hostile server."""
    command = [sys.executable, str(HOSTILE), "--log", str(tmp_path / "hostile.log"), *behaviour]
    root = write_project(tmp_path / "shop", YAML.format(command=orjson.dumps(command).decode(), more=more))
    (root / "a.hos").write_text("good\nbad one\n")
    return root


def asked() -> Reply:
    """Have the server running, and the file known."""
    return Reply(
        (
            ToolCall("file_read", {"path": "a.hos"}, id="c1"),
            ToolCall("code_lsp", {"action": "diagnostics", "path": "a.hos"}, id="c2"),
        )
    )


def edited(new: str = "bad two") -> Reply:
    edit = {"path": "a.hos", "old_string": "good", "new_string": new}
    return Reply((ToolCall("edit_text", edit, id="c3"),))


def late_shop(tmp_path: Path) -> Path:
    return shop(tmp_path, "--hold", str(tmp_path / "shop" / HELD))


def edited_in_silence(root: Path) -> Callable[[RecordedRequest], Reply]:
    """Return an answer that edits, of which the server says nothing yet."""

    def answer(_: RecordedRequest) -> Reply:
        (root / HELD).touch()
        return edited()

    return answer


def sent(fake: FakeProvider, request: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = fake.requests[request].json["messages"]
    return messages


def has_note(message: Mapping[str, Any]) -> bool:
    return message["role"] == "user" and NOTE in message["content"]


def looks_until_told(request: RecordedRequest) -> Reply:
    """A model that goes on reading until its last message is the note."""
    messages = request.json["messages"]
    if has_note(messages[-1]):
        return text_reply("I see.")
    look = {"path": "README.md", "offset": 1 + len(messages) % 3, "limit": 1}
    return Reply((Delay(0.3), ToolCall("file_read", look, id=f"look{len(messages)}")))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit waits for its answer as long as a busy machine takes."""
    limits = FeedbackLimits(before=30.0, before_beside=30.0, after=30.0, late=60.0)
    monkeypatch.setattr("app.tools.after_edit.edit_feedback.FeedbackLimits", lambda: limits)


async def until_hanging(log: Path) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            if log.exists() and b'"hanging"' in log.read_bytes():
                return
            await asyncio.sleep(0.02)


@pytest.mark.needs("cages")
@pytest.mark.requirement("language_servers.after_edit.run")
async def test_the_model_is_sent_the_new_errors_with_the_result(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any], patient: None
) -> None:
    async with driven(tmp_path / "data", shop(tmp_path), **settings_overrides) as driver:
        fake.script(asked(), edited(), text_reply("Done."))
        watch = await driver.run("Edit it")
        result = sent(fake, 2)[-1]
        assert result["role"] == "tool"
        assert result["content"].splitlines()[1:] == [
            "1 new error after this edit:",
            "./a.hos:1:0 this is bad (bad)",
        ]
        told = watch.of("message.tool_result")[-1]["payload"]
        assert told["content"] == result["content"]
        row = next(one for one in await driver.messages() if one["details"].get("toolCallId") == "c3")
        assert row["content"] == result["content"]
        found = row["details"]["metadata"]["diagnostics_after_edit"]
        assert (found["status"], found["fresh"], len(found["errors"])) == ("errors", True, 1)


@pytest.mark.needs("cages")
@pytest.mark.requirement("language_servers.after_edit.run")
async def test_the_late_answer_is_a_note_at_the_next_step_and_stays_where_it_is(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    root = late_shop(tmp_path)

    def let_and_look(request: RecordedRequest) -> Reply:
        (root / HELD).unlink(missing_ok=True)
        return looks_until_told(request)

    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        fake.script(asked(), edited_in_silence(root))
        fake.respond = let_and_look
        watch = await driver.run("Edit it")
        result = next(one for one in sent(fake, 2) if one.get("tool_call_id") == "c3")
        assert result["content"].endswith("\nThe language server has not answered yet; its findings follow.")
        note = sent(fake, -1)[-1]
        assert "./a.hos:1:0 this is bad (bad)" in note["content"]
        for before, after in zip(fake.requests, list(fake.requests)[1:], strict=False):
            known = before.json["messages"]
            assert after.json["messages"][: len(known)] == known, (
                "what was sent before is sent again as it was"
            )
        (posted,) = [
            one["payload"] for one in watch.of("message.posted") if one["payload"]["role"] == "system"
        ]
        assert (posted["content"], posted["queued"], posted["created_by"]) == (
            note["content"],
            False,
            "daemon",
        )
        row = next(one for one in await driver.messages() if one["id"] == posted["message_id"])
        assert row["role"] == "system" and row["details"]["kind"] == "diagnostics_after_edit"
        session, last = driver.session_id, sent(fake, -1)
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        driver.session_id = session
        await driver.load(root)
        fake.script(text_reply("Yes."))
        await driver.run("And now?")
        assert sent(fake, -1)[: len(last)] == last
        assert [has_note(one) for one in sent(fake, -1)].count(True) == 1


@pytest.mark.needs("cages")
@pytest.mark.requirement("language_servers.after_edit.run")
async def test_a_note_that_comes_after_the_run_waits_for_the_next_one(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    root = late_shop(tmp_path)
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        fake.script(asked(), edited_in_silence(root), text_reply("Done."))
        watch = await driver.run("Edit it")
        assert not any(one["payload"]["role"] == "system" for one in watch.of("message.posted"))
        (root / HELD).unlink()
        fake.respond = looks_until_told
        await driver.run("And now?")
        note = sent(fake, -1)[-1]
        assert has_note(note) and "./a.hos:1:0 this is bad (bad)" in note["content"]


@pytest.mark.requirement("language_servers.after_edit.robust")
async def test_a_run_that_is_cancelled_while_it_waits_keeps_the_result_of_the_edit(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    root = shop(tmp_path, "--hang-at", "textDocument/didChange")
    # What it does is read in its log, which lies where a cage would not let it write.
    overrides = {**settings_overrides, "sandbox": {"lsp": "none"}}
    async with driven(tmp_path / "data", root, **overrides) as driver:
        fake.script(asked(), edited())
        async with driver.watching() as watch:
            await driver.post("Edit it")
            await until_hanging(tmp_path / "hostile.log")
            await driver.session_call("POST", "/cancel")
            await watch.until_state("idle")
        check_stream(watch.frames)
        results = {one["payload"]["toolCallId"]: one["payload"] for one in watch.of("message.tool_result")}
        assert not results["c3"]["isError"] and "has not answered yet" in results["c3"]["content"]
        calls = (await driver.call("GET", f"/runs/{(await driver.last_run())['id']}"))["tool_calls"]
        assert {one["call_id"]: one["state"] for one in calls}["c3"] == "succeeded"
        assert (root / "a.hos").read_text() == "bad two\nbad one\n"


@pytest.mark.requirement("language_servers.after_edit.off")
async def test_the_project_file_turns_it_off(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    root = shop(tmp_path, more="  diagnostics_after_edit: false\n")
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        fake.script(asked(), edited(), text_reply("Done."))
        await driver.run("Edit it")
        assert "\n" not in sent(fake, 2)[-1]["content"]


@pytest.mark.needs("cages")
@pytest.mark.requirement("language_servers.after_edit.run", "language_servers.after_edit.real")
async def test_python_works_as_it_is_installed(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    server_path("basedpyright")
    root = shop(tmp_path)
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        (root / "a.py").write_text("def half(n: int) -> float:\n    return n / 2\n\n\nhalf(3)\n")
        edit = {"path": "a.py", "old_string": "half(3)", "new_string": 'half("3")'}

        def answers(request: RecordedRequest) -> Reply:
            said = [one["content"] for one in request.json["messages"] if one["role"] in ("tool", "user")]
            if "reportArgumentType" in str(said[-1]):
                return Reply((Text("I see."),))
            look = {"path": "README.md", "offset": 1 + len(said) % 3, "limit": 1}
            return Reply((Delay(0.3), ToolCall("file_read", look, id=f"look{len(said)}")))

        fake.script(
            Reply((ToolCall("file_read", {"path": "a.py"}, id="c1"),)),
            Reply((ToolCall("edit_text", edit, id="c2"),)),
        )
        fake.respond = answers
        watch = await driver.run("Edit it")
        assert watch.text() == "I see."
