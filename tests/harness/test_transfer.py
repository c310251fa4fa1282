"""A session as a file: out and in again bit for bit; broken and endless files leave nothing behind."""

from __future__ import annotations

import asyncio
import hashlib
import tracemalloc
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.errors import KagedError
from app.harness.transfer.transfer_import import PIECE_BYTES
from app.storage.repositories.messages import MessageFilter
from app.storage.unit_of_work import UnitOfWork
from tests.driver.sessions import PROJECT_YAML, Driver, driven, write_project
from tests.fakes.provider_script import Document, Reply, Stall, Text, Thinking, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("command_line.session")

Line = dict[str, Any]

EXPORTS = Path(__file__).parents[1] / "contracts" / "exports"
"""Exports as earlier versions wrote them. Never change one."""

ANOTHER = "ses_01JZ0000000000000000000000"


async def export(driver: Driver) -> bytes:
    answer = await driver.client.get(f"/api/v1/sessions/{driver.session_id}/export")
    assert answer.status_code == 200, answer.text
    return answer.content


async def bring_in(driver: Driver, content: bytes, status: int = 201) -> Any:
    answer = await driver.client.post("/api/v1/sessions/import", content=content)
    assert answer.status_code == status, answer.text
    return answer.json()


def sealed(content: bytes) -> bytes:
    """Return an export that was changed on purpose with a last line that fits."""
    *lines, last = content.rstrip(b"\n").split(b"\n")
    if orjson.loads(last)["kind"] != "end":
        lines.append(last)
    body = b"".join(line + b"\n" for line in lines)
    seal = {"lines": len(lines), "digest": f"sha256:{hashlib.sha256(body).hexdigest()}"}
    return body + orjson.dumps({"kind": "end", "data": seal}) + b"\n"


async def busy_session(driver: Driver, fake: FakeProvider) -> bytes:
    """Let a session live through everything that is stored, and return its export."""
    fake.script(
        Reply((Thinking("Hm."), Text("Grüße"), ToolCall("file_read", {"path": "README.md"}, id="c1"))),
        text_reply("Done \u2028 and \U0001f600."),
        Document(400, {"error": {"message": "no"}}),
        Reply((Text("Half"), Stall())),
    )
    await driver.run("First")
    await driver.run("Fails")
    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        await driver.post("Paused")
        await watch.until_text("Half")
        await driver.post("Waits")
        await driver.session_call("POST", "/pause", {"reason": "to be moved"})
    await driver.session_call("POST", "/tools/file.read", {"params": {"path": "README.md"}})
    return await export(driver)


@pytest.fixture
async def exported(driver: Driver, fake: FakeProvider) -> bytes:
    return await busy_session(driver, fake)


async def test_a_session_comes_back_bit_for_bit_after_it_was_deleted(driver: Driver, exported: bytes) -> None:
    kinds = [orjson.loads(line)["kind"] for line in exported.splitlines()]
    assert kinds[0] == "session"
    assert set(kinds) == {"session", "run", "step", "tool_call", "message", "checkpoint", "event", "end"}
    await driver.session_call("DELETE", status=204)
    back = await bring_in(driver, exported)
    assert back["id"] == driver.session_id
    assert (back["state"], back["queued_messages"]) == ("paused", 1)
    assert await export(driver) == exported
    audit = await driver.call("GET", "/audit?event=session.imported")
    assert audit["items"][0]["session_id"] == driver.session_id


async def test_a_session_moves_into_another_daemon_and_goes_on_there_with_the_project_as_it_is_there(
    driver: Driver, fake: FakeProvider, exported: bytes, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_project(tmp_path / "elsewhere")
    (root / "prompts" / "primary.md").write_text("You keep the other shop.\n")
    async with driven(tmp_path / "second", root, **settings_overrides) as other:
        back = await bring_in(other, exported)
        other.session_id = back["id"]
        assert back["project_id"] == other.project_id
        assert await export(other) == exported
        stored = await other.messages()
        assert [m["content"] for m in stored] == [m["content"] for m in await driver.messages()]
        async with other.watching() as watch:  # the whole stream can be replayed there
            await watch.until_state("paused")
            fake.script(text_reply(" answer."), text_reply("Waited."))
            await other.session_call("POST", "/resume", status=201)
            await watch.until(lambda f: f["type"] == "run.ended" and f["seq"] > back["last_seq"])
        sent = fake.requests[4].json["messages"]
        assert "other shop" in sent[0]["content"]
        assert [m["role"] for m in sent[1:4]] == ["user", "assistant", "tool"]


@pytest.mark.requirement("daemon.identity")
async def test_a_session_that_names_what_another_project_was_compiled_to_has_the_tools_of_its_own(
    driver: Driver, tmp_path: Path
) -> None:
    """Both projects are of one daemon; the file is changed so that the session moves to the other."""
    first, *_ = (await export(driver)).splitlines()
    await driver.session_call("DELETE", status=204)
    own = PROJECT_YAML.replace("project: shop", "project: narrow") + "    file.read: { enabled: false }\n"
    await driver.load(write_project(tmp_path / "narrow", own))
    header = orjson.loads(first)
    header["data"] |= {"project": "narrow", "compiled": None}
    assert header["data"]["session"]["compiled_digest"] is not None
    back = await bring_in(driver, sealed(orjson.dumps(header)))
    assert back["project_id"] == driver.project_id
    answer = await driver.session_call("POST", "/tools/file.read", {"params": {"path": "README.md"}})
    assert answer["code"] == "tool_not_found"


async def test_the_same_session_is_refused_twice(driver: Driver, exported: bytes) -> None:
    refused = await bring_in(driver, exported, 409)
    assert refused["error"]["details"]["reason"] == "session_exists"
    assert await export(driver) == exported


async def test_a_session_of_a_project_that_is_not_loaded_is_refused(
    driver: Driver, exported: bytes, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    other_yaml = (
        driver.daemon.services.projects.root_of(driver.project_id) / ".kaged/project.yaml"
    ).read_text()
    root = write_project(tmp_path / "barn", other_yaml.replace("project: shop", "project: barn"))
    async with driven(tmp_path / "second", root, **settings_overrides) as other:
        refused = await bring_in(other, exported, 409)
        assert refused["error"]["details"]["reason"] == "project_not_loaded"


async def test_a_running_session_is_not_exported(driver: Driver, fake: FakeProvider) -> None:
    fake.script(Reply((Text("Hm"), Stall())))
    async with driver.watching() as watch:
        await driver.post("Go")
        await watch.until_text("Hm")
        answer = await driver.client.get(f"/api/v1/sessions/{driver.session_id}/export")
    assert answer.status_code == 409
    assert answer.json()["error"]["details"]["state"] == "running"


@pytest.fixture
async def emptied(driver: Driver, exported: bytes) -> AsyncIterator[tuple[Driver, bytes]]:
    """A daemon from which the exported session was deleted."""
    await driver.session_call("DELETE", status=204)
    yield driver, exported


async def nothing_is_there(driver: Driver) -> None:
    await driver.session_call("GET", status=404)

    def rows(uow: UnitOfWork) -> int:
        messages = uow.messages.page(driver.session_id, MessageFilter(include_superseded=True)).total
        runs = uow.runs.list(driver.session_id).total
        return messages + runs + uow.events.last_seq(driver.session_id)

    assert await driver.daemon.services.storage.read(rows) == 0


async def test_every_single_line_that_is_cut_or_spoiled_refuses_the_whole_file(
    emptied: tuple[Driver, bytes],
) -> None:
    driver, content = emptied
    lines = content.splitlines(keepends=True)
    for number in range(len(lines)):
        for spoiled in (
            lines[number][: len(lines[number]) // 2] + b"\n",
            b"[]\n",
            b'{"kind": "x", "data": {}}\n',
        ):
            broken = b"".join([*lines[:number], spoiled, *lines[number + 1 :]])
            refused = await bring_in(driver, broken, 400)
            assert refused["error"]["code"] == "validation_failed"
            assert list(refused["error"]["details"]["fields"]) == [f"lines.{number + 1}"]
    await nothing_is_there(driver)
    assert (await bring_in(driver, content))["id"] == driver.session_id


def of_kind(kind: str, change: Callable[[Line], None], which: int = 0) -> Callable[[list[Line]], None]:
    def apply(lines: list[Line]) -> None:
        change([line["data"] for line in lines if line["kind"] == kind][which])

    return apply


def twice(kind: str) -> Callable[[list[Line]], None]:
    def apply(lines: list[Line]) -> None:
        lines.insert(-1, next(line for line in lines if line["kind"] == kind))

    return apply


def put(**values: Any) -> Callable[[Line], None]:
    return lambda data: data.update(values)


WRONG: dict[str, Callable[[list[Line]], None]] = {
    "no session first": lambda lines: lines.reverse(),
    "another format": of_kind("session", put(format=99)),
    "a session that runs": of_kind("session", lambda d: d["session"].update(state="running")),
    "an unknown state": of_kind("session", lambda d: d["session"].update(state="asleep")),
    "an odd session id": of_kind("session", lambda d: d["session"].update(id="../../etc")),
    "a field of the session that is not known": of_kind("session", lambda d: d["session"].update(root=1)),
    "a compiled project that is not base64": of_kind("session", put(compiled="***")),
    "a compiled project under the name of another": of_kind(
        "session", lambda d: d["session"].update(compiled_digest="0" * 32)
    ),
    "a compiled project without a name": of_kind(
        "session", lambda d: d["session"].update(compiled_digest=None)
    ),
    "a compiled project that was changed": of_kind("session", put(compiled="e30=")),
    "numbers of events that clients cannot count": of_kind(
        "session", lambda d: d["session"].update(seq_reserved=2**53)
    ),
    "a negative reservation": of_kind("session", lambda d: d["session"].update(seq_reserved=-1)),
    "trimmed beyond the reservation": of_kind(
        "session", lambda d: d["session"].update(trimmed_through_seq=2**40)
    ),
    "no project": of_kind("session", lambda d: d.pop("project")),
    "a run of another session": of_kind("run", put(session_id=ANOTHER)),
    "a run that has not ended": of_kind("run", put(state="running")),
    "a run id of the wrong kind": of_kind("run", put(id="msg_01JZ0000000000000000000000")),
    "a run twice": twice("run"),
    "a number as text": of_kind("run", put(created_at="5")),
    "a number too large": of_kind("run", put(created_at=2**63)),
    "a field that is missing": of_kind("run", lambda d: d.pop("created_at")),
    "a step without its run": of_kind("step", put(run_id="run_01JZ0000000000000000000000")),
    "a step twice": twice("step"),
    "a call without its run": of_kind("tool_call", put(run_id="run_01JZ0000000000000000000000")),
    "a call that still runs": of_kind("tool_call", put(state="running")),
    "a message with an unknown role": of_kind("message", put(role="root")),
    "a message in flight": of_kind("message", put(complete=False)),
    "a message twice": twice("message"),
    "blocks of an unknown type": of_kind("message", put(details={"contentBlocks": [{"type": "x"}]}), 1),
    "blocks that are no list": of_kind("message", put(details={"contentBlocks": 5}), 1),
    "attachments that are none": of_kind("message", put(details={"attachments": [{"media_type": 1}]})),
    "a checkpoint of another session": of_kind("checkpoint", put(session_id=ANOTHER)),
    "an event twice": twice("event"),
    "an event above the reservation": of_kind("event", put(seq=10**9)),
    "an event with another frame": of_kind("event", put(type="message.end")),
    "a frame that is no JSON": of_kind("event", put(frame="{")),
    "a frame that is no text": of_kind("event", put(frame={"seq": 1})),
}


async def test_a_file_with_a_mistake_is_refused_by_its_line_and_nothing_is_stored(
    emptied: tuple[Driver, bytes],
) -> None:
    driver, content = emptied
    for mistake, apply in WRONG.items():
        lines = [orjson.loads(line) for line in content.splitlines()]
        apply(lines)
        broken = b"\n".join(orjson.dumps(line) for line in lines)
        answer = await driver.client.post("/api/v1/sessions/import", content=broken)
        assert answer.status_code == 400, (mistake, answer.text)
        assert answer.json()["error"]["code"] == "validation_failed", mistake
        assert answer.json()["error"]["message"].startswith("Line "), mistake
    await nothing_is_there(driver)


@pytest.mark.requirement("durability.exports")
async def test_an_export_that_is_cut_off_anywhere_is_refused(emptied: tuple[Driver, bytes]) -> None:
    driver, content = emptied
    lines = content.splitlines(keepends=True)
    cuts = [b"".join(lines[:count]) for count in range(1, len(lines))]
    for cut in (*cuts, content[: len(content) // 2], content[:-40], content[:-2]):
        refused = await bring_in(driver, cut, 400)
        assert refused["error"]["code"] == "validation_failed"
    assert "cut off" in (await bring_in(driver, cuts[-1], 400))["error"]["message"]
    await nothing_is_there(driver)
    assert (await bring_in(driver, content))["warnings"] == []


@pytest.mark.requirement("durability.exports")
async def test_an_export_with_a_changed_byte_or_line_is_refused(emptied: tuple[Driver, bytes]) -> None:
    driver, content = emptied
    for place in range(7, len(content), len(content) // 40):
        changed = bytearray(content)
        changed[place] ^= 1
        refused = await driver.client.post("/api/v1/sessions/import", content=bytes(changed))
        assert refused.status_code in (400, 409), (place, changed[place - 20 : place + 20])
    lines = content.splitlines(keepends=True)
    last = orjson.loads(lines[-1])["data"]
    assert last["lines"] == len(lines) - 1
    for more in ([*lines[:-2], lines[-1]], [*lines[:-1], b"\n", lines[-1]], [*lines, lines[-2]]):
        await bring_in(driver, b"".join(more), 400)
    await nothing_is_there(driver)
    await bring_in(driver, content)


@pytest.mark.requirement("durability.exports")
async def test_an_export_of_an_earlier_version_is_imported_with_a_warning(driver: Driver) -> None:
    (warning,) = (await bring_in(driver, (EXPORTS / "format_1.jsonl").read_bytes()))["warnings"]
    assert "earlier version" in warning and "completeness" in warning


async def test_an_empty_file_and_one_of_other_bytes_are_refused(driver: Driver) -> None:
    for content in (b"", b"\n\n", b"\xff\xfe\x00", b"null", b'"text"'):
        refused = await bring_in(driver, content, 400)
        assert refused["error"]["code"] == "validation_failed"


async def test_ids_that_are_here_already_in_another_session_are_refused(
    driver: Driver, exported: bytes
) -> None:
    other = sealed(exported.replace(driver.session_id.encode(), ANOTHER.encode()))
    refused = await bring_in(driver, other, 409)
    assert refused["error"]["code"] == "conflict"
    await driver.call("GET", f"/sessions/{ANOTHER}", status=404)
    assert await export(driver) == exported


class Counted:
    """A body in pieces of 64 KiB that knows how much of it was asked for."""

    def __init__(self, content: bytes, then: bytes = b"", times: int = 0) -> None:
        self._content, self._then, self._times = content, then, times
        self.sent = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._content), 65536):
            yield self._piece(self._content[start : start + 65536])
        for _ in range(self._times):
            yield self._piece(self._then)

    def _piece(self, piece: bytes) -> bytes:
        self.sent += len(piece)
        return piece


def in_other_project(content: bytes) -> bytes:
    first, _, rest = content.partition(b"\n")
    header = orjson.loads(first)
    header["data"]["project"] = "elsewhere"
    return sealed(orjson.dumps(header) + b"\n" + rest)


@pytest.mark.parametrize(
    ("spoil", "status"),
    [
        (lambda content: content.replace(b'"kind":"run"', b'"kind":"ran"', 1), 400),
        (in_other_project, 409),
    ],
    ids=["a wrong line", "a project that is not here"],
)
async def test_a_file_is_refused_as_soon_as_it_is_known_to_be_wrong(
    emptied: tuple[Driver, bytes], spoil: Callable[[bytes], bytes], status: int
) -> None:
    driver, content = emptied
    body = Counted(spoil(content), b" " * 65536, times=1_000)
    with pytest.raises(KagedError) as refused:
        await driver.daemon.services.imports.take(aiter(body), "operator")
    assert refused.value.status == status
    assert body.sent < 3 * PIECE_BYTES


async def test_an_import_keeps_little_of_a_large_file_in_memory(emptied: tuple[Driver, bytes]) -> None:
    driver, content = emptied
    lines = content.splitlines(keepends=True)
    message = next(line for line in lines if orjson.loads(line)["kind"] == "message")
    large = [message]
    for number in range(120):
        values = orjson.loads(message)
        values["data"] |= {"id": f"msg_01JZ{number:022d}", "content": "x" * 250_000, "position": 100 + number}
        large.append(orjson.dumps(values) + b"\n")
    body = sealed(content.replace(message, b"".join(large)))
    assert len(body) > 30_000_000
    del large
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        await driver.daemon.services.imports.take(aiter(Counted(body)), "operator")
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert len(await driver.messages()) > 120
    assert peak < len(body) / 2


async def test_only_so_many_sessions_are_imported_at_once(driver: Driver) -> None:
    gate, reading = asyncio.Event(), asyncio.Semaphore(0)

    async def slow() -> AsyncIterator[bytes]:
        reading.release()
        await gate.wait()
        yield b"[]"

    imports = driver.daemon.services.imports
    waiting = [asyncio.create_task(imports.take(slow(), "operator")) for _ in range(2)]
    await reading.acquire()
    await reading.acquire()
    refused = await bring_in(driver, b"[]", 429)
    assert refused["error"]["details"]["reason"] == "imports_running"
    gate.set()
    await asyncio.gather(*waiting, return_exceptions=True)
    await bring_in(driver, b"[]", 400)  # there is room again


async def test_a_file_with_too_many_lines_is_refused(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.harness.transfer.export_reader.MAX_LINES", 1_000)
    refused = await bring_in(driver, b"\n" * 2_000, 413)
    assert refused["error"]["details"]["reason"] == "too_many_lines"


async def test_a_line_without_an_end_is_refused(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.harness.transfer.transfer_import.MAX_LINE_BYTES", 1_000)
    refused = await bring_in(driver, b"x" * 2_000, 400)
    assert list(refused["error"]["details"]["fields"]) == ["lines.1"]


async def test_what_the_database_refuses_at_the_last_row_leaves_nothing_behind(
    emptied: tuple[Driver, bytes], fake: FakeProvider
) -> None:
    driver, content = emptied
    gone = driver.session_id
    await driver.new_session()
    fake.script(text_reply("Hm."))
    await driver.run("Hm?")
    here = (await driver.last_run())["id"]
    driver.session_id = gone
    run = next(line for line in map(orjson.loads, content.splitlines()) if line["kind"] == "run")
    run["data"]["id"] = here
    *lines, _ = content.splitlines()
    refused = await bring_in(driver, sealed(b"\n".join([*lines, orjson.dumps(run)])), 409)
    assert refused["error"]["details"]["reason"] == "duplicate"
    await nothing_is_there(driver)
