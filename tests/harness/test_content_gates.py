"""`content_gates`: what comes from a withheld file is stored, shown to the operator, and sent to no model."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.harness.conversation.content_gate import ContentGate, note_of
from tests.driver.conversations import traffic
from tests.driver.daemon import running_daemon
from tests.driver.sessions import (
    DRIVERS,
    PROJECT_YAML,
    Driver,
    driven,
    provider_settings,
    restarted,
    write_project,
)
from tests.driver.small_window import LIMITS, SUMMARIZE, reads, small, texts, to, verified
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.compaction.test_summarize import both
from tests.harness.interactions.asking import NAME, answer, ask, until_asked
from tests.harness.test_pipeline import audit_rows
from tests.harness.test_sent_request import body_in, every_request

pytestmark = pytest.mark.requirement("operations.gates")
TOKEN = "k-1234567890-abcdef"
LINE = f"API_KEY = {TOKEN}"
NOTE = note_of("secrets/key.py")
GATED = (
    PROJECT_YAML + '    "shell.*": { enabled: true }\n    "search.*": { enabled: true }\n'
    "  content_gates: [secrets/**]\n"
)


def gated(root: Path, yaml: str = GATED) -> Path:
    write_project(root, yaml)
    (root / "secrets").mkdir()
    (root / "secrets/key.py").write_text(f"import os\n{LINE}\n")
    return root


def results(request: Any) -> list[str]:
    return [str(one["content"]) for one in request.json["messages"] if one["role"] == "tool"]


def shell(command: str, call_id: str = "c1") -> Reply:
    return Reply((ToolCall("shell_bash", {"command": command}, id=call_id),))


@pytest.mark.parametrize("wire", DRIVERS)
async def test_what_tools_say_of_a_withheld_file_is_stored_and_not_sent(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], wire: str
) -> None:
    settings = {**settings_overrides, "providers": provider_settings(wire, fake.base_url)}
    find = {"pattern": "API_KEY|sells", "output_mode": "content"}
    fake.script(
        Reply(
            (
                ToolCall("file_read", {"path": "secrets/key.py"}, id="c1"),
                ToolCall("file_read", {"path": "README.md"}, id="c2"),
                ToolCall("search_grep", find, id="c3"),
            )
        ),
        shell("mv secrets/key.py open.py && cat open.py", "c4"),
        text_reply("Done."),
        text_reply("Again."),
    )
    root = gated(tmp_path / "shop")
    async with driven(tmp_path / "data", root, **settings) as driver:
        await driver.run("Look at everything")
        rows = {row["details"]["toolCallId"]: row for row in await driver.messages() if row["role"] == "tool"}
        assert all(TOKEN in rows[call]["content"] for call in ("c1", "c3", "c4"))
        assert {call for call, row in rows.items() if "withheld" in row["details"]} == {"c1", "c3", "c4"}
        audited = [row["data"] for row in await audit_rows(driver, "policy.withheld")]
        paths = [{"path": "secrets/key.py", "count": 2}], [{"path": "secrets/key.py", "count": 1}]
        assert [(row["step"], row["count"], row["paths"]) for row in audited] == [
            (2, 2, paths[0]),
            (3, 1, paths[1]),
        ]
        await driver.run("And again")
        answers = await every_request(driver.client, driver.session_id)
    async with running_daemon(tmp_path / "data", **settings) as daemon, daemon.client() as client:
        answers += await every_request(client, driver.session_id)
    received = [request.body for request in fake.requests]
    assert [body_in(answer) for answer in answers] == received * 2
    assert all(answer.json()["verified"] for answer in answers)
    assert not any(TOKEN.encode() in body for body in received)
    assert received[-1].count(NOTE.encode()) == 3
    assert b"It sells things." in received[1] and b"import os" in received[2]


async def test_what_was_sent_once_is_sent_again_whatever_becomes_of_the_files(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = gated(tmp_path / "shop")
    fake.script(
        shell("cat secrets/key.py; echo a line that everybody knows"),
        text_reply("Done."),
        text_reply("Again."),
        text_reply("And again."),
    )
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await driver.run("Look")
        (root / "secrets/key.py").write_text("a line that everybody knows\n")
        await driver.run("Once more")
    async with restarted(tmp_path / "data", **settings_overrides) as later:
        await later.load(root)
        later.session_id = driver.session_id
        await later.run("a line that everybody knows")
    sent = [request.json["messages"] for request in fake.requests]
    for before, after in pairwise(sent):
        assert after[: len(before)] == before
    assert TOKEN not in str(sent) and "a line that everybody knows" in results(fake.requests[-1])[0]
    assert sent[-1][-1]["content"] == NOTE


async def test_a_message_of_the_operator_is_examined_as_well(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.script(text_reply("Done."))
    async with driven(tmp_path / "data", gated(tmp_path / "shop"), **settings_overrides) as driver:
        await driver.run(f"Is it `{LINE}`?")
        assert (await driver.messages())[0]["content"] == f"Is it `{LINE}`?"
    assert fake.requests[0].json["messages"][-1]["content"] == f"Is it `{NOTE}`?"


async def test_a_compaction_at_rest_summarizes_nothing_that_is_withheld(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    """Also of messages that no gate has examined yet, as those of an imported session."""
    fake.respond = lambda _: text_reply("All of it.")
    gates = f"  content_gates: [src/file3.py]\n{LIMITS}"
    async with small(tmp_path, settings_overrides, SUMMARIZE, gates) as driver:
        rows = traffic(10, words=200, session_id=driver.session_id)
        await driver.daemon.services.storage.write(lambda uow: uow.messages.add_many(rows))
        await driver.session_call("POST", "/compact", {"strategy": "summarize"}, status=200)
        (sent,) = to("sum", fake)
        assert note_of("src/file3.py") in texts(sent)[1] and "src/file3.py: word" not in texts(sent)[1]
        assert "src/file2.py: word" in texts(sent)[1]
        await driver.run("Go on")
        await verified(driver, fake)


async def test_a_summary_that_quotes_a_withheld_file_is_examined_before_it_is_sent(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.respond = both(reads(14), f"They were read.\n{LINE}\nThat is all.")
    async with small(
        tmp_path, settings_overrides, SUMMARIZE, f"  content_gates: [key.txt]\n{LIMITS}"
    ) as driver:
        (tmp_path / "small/key.txt").write_text(f"{LINE}\n")
        await driver.run("Read them all")
        assert f"They were read.\n{note_of('key.txt')}\nThat is all." in texts(fake.requests[-1])[2]
        assert not any(TOKEN in str(texts(request)) for request in to("small", fake))
        await verified(driver, fake)


@pytest.mark.parametrize("restart", [False, True])
async def test_results_beside_a_question_that_waits_are_examined_when_it_is_answered(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], restart: bool
) -> None:
    read = ToolCall("file_read", {"path": "secrets/key.py"}, id="c1")
    shell_call = ToolCall("shell_bash", {"command": "cat secrets/key.py"}, id="c3")
    fake.script(Reply((read, ask(NAME, call_id="c2"), shell_call)), text_reply("Done."))
    root = gated(tmp_path / "shop")
    async with driven(tmp_path / "data", root, **settings_overrides) as driver, driver.watching() as watch:
        await driver.post("Look, and ask")
        (asked,) = await until_asked(watch)
        await watch.until_state("paused")
        if not restart:
            await answer(driver, asked, answers={"name": [LINE]})
            await watch.until_state("idle")
            await check_waited(driver, fake)
    if restart:
        async with restarted(tmp_path / "data", **settings_overrides) as later:
            await later.load(root)
            later.session_id = driver.session_id
            async with later.watching() as watch:
                await answer(later, asked, answers={"name": [LINE]})
                await watch.until_state("idle")
            await check_waited(later, fake)


async def check_waited(driver: Driver, fake: FakeProvider) -> None:
    """Check the request that follows the answer to a question."""
    read, said, shown = results(fake.requests[-1])
    assert read == NOTE and TOKEN not in said + shown and NOTE in said and NOTE in shown
    answers = await every_request(driver.client, driver.session_id)
    assert [body_in(one) for one in answers] == [request.body for request in fake.requests]


async def test_an_agent_without_gates_is_sent_everything(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.script(shell("cat secrets/key.py"), text_reply("Done."))
    root = gated(tmp_path / "shop", GATED.partition("  content_gates")[0])
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await driver.run("Look")
        assert TOKEN in results(fake.requests[-1])[0]
        assert not await audit_rows(driver, "policy.withheld")
        assert all("gateDigest" not in row["details"] for row in await driver.messages())


async def test_many_withheld_files_are_read_off_the_event_loop(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    examine = ContentGate.examine

    def examine_and_note_the_thread(gate: ContentGate, messages: Any) -> Any:
        threads.append(threading.get_ident())
        return examine(gate, messages)

    monkeypatch.setattr(ContentGate, "examine", examine_and_note_the_thread)
    root = gated(tmp_path / "shop")
    for number in range(100):
        lines = (f"value_{number}_{n} = 'something secret of its own'\n" for n in range(100))
        (root / f"secrets/file{number}.py").write_text("".join(lines))
    fake.script(shell("cat secrets/file1*.py"), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await driver.run("Look")
    assert "something secret" not in results(fake.requests[-1])[0]
    assert len(threads) == 2 and threading.get_ident() not in threads
