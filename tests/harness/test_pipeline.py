"""What leaves the pipeline is what the provider receives, byte for byte, and the audit can prove it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import xxhash

from app.harness.providers.provider import ModelRequest, WireRequest
from app.harness.run.processor import Generation, PolicyViolation, Processor, ProcessorPipeline
from app.harness.run.run_context import RunContext
from app.messages import SystemBlock
from tests.driver.sessions import DRIVERS, Driver, driven, provider_settings
from tests.fakes.provider_script import Document, Reply, Text, Thinking, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("loop.pipeline")


async def audit_rows(driver: Driver, event: str) -> list[dict[str, Any]]:
    """Return the rows of the session's audit trail, oldest first."""
    page = await driver.call("GET", f"/audit?event={event}&session_id={driver.session_id}&limit=100")
    return list(reversed(page["items"]))


@pytest.mark.parametrize("wire", DRIVERS)
async def test_the_digest_in_audit_message_and_step_is_that_of_the_bytes_received(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any], wire: str
) -> None:
    settings = {**settings_overrides, "providers": provider_settings(wire, fake.base_url)}
    async with driven(tmp_path / "data", project_root, **settings) as driver:
        fake.script(
            Document(500, {"error": {"message": "once more"}}),
            Reply((Thinking("Hm."), ToolCall("file_read", {"path": "README.md"}, id="c1"))),
            text_reply("Grüße \u2014 done."),
        )
        await driver.run("Größe? \U0001f600")
        received = [xxhash.xxh3_128_hexdigest(request.body) for request in fake.requests]
        rows = await audit_rows(driver, "agent.pre_generation_step")
        assert [row["data"]["request_digest"] for row in rows][-1] == received[2]
        assert {row["data"]["request_digest"] for row in rows} == set(received)
        assert received[0] == received[1]  # a second try sends the same bytes
        assert [row["data"]["request_bytes"] for row in rows][-1] == len(fake.requests[2].body)
        answers = [m for m in await driver.messages() if m["role"] == "primary"]
        assert [m["details"]["requestDigest"] for m in answers] == received[1:]
        run = await driver.call("GET", f"/runs/{(await driver.last_run())['id']}")
        assert [step["request_digest"] for step in run["steps"]] == received[1:]


async def test_every_step_has_its_audit_row_with_a_rising_number_and_what_it_was_made_of(
    driver: Driver, fake: FakeProvider
) -> None:
    reads = [
        Reply((ToolCall("file_read", {"path": "README.md", "limit": n + 1}, id=f"c{n}"),)) for n in range(4)
    ]
    fake.script(*reads, text_reply("Done."))
    await driver.run("Go")

    steps = await audit_rows(driver, "agent.pre_generation_step")
    assert [row["data"]["step"] for row in steps] == [1, 2, 3, 4, 5]
    assert [row["data"]["messages"] for row in steps] == [1, 3, 5, 7, 9]
    (first,) = await audit_rows(driver, "agent.pre_generation")
    storage = driver.daemon.services.storage
    system = await storage.read(lambda uow: uow.blobs.get(first["data"]["system"]))
    tools = await storage.read(lambda uow: uow.blobs.get(first["data"]["tools"]))
    assert system is not None and tools is not None
    agent, environment = orjson.loads(system.content)
    assert agent == {"name": "agent", "text": "You keep the shop.\n"}
    assert environment["name"] == "environment"
    sent = fake.requests[0].json
    kept = [tool for tool in orjson.loads(tools.content) if tool["loading"] == "full"]
    assert [tool["wire_name"] for tool in kept] == [tool["function"]["name"] for tool in sent["tools"]]
    ids = [m["id"] for m in await driver.messages()]
    assert steps[0]["data"]["last_message_id"] == ids[0]
    assert steps[4]["data"]["last_message_id"] == ids[-2]
    assert {row["run_id"] for row in steps} == {(await driver.last_run())["id"]}


async def test_no_secret_reaches_the_audit_trail(driver: Driver, fake: FakeProvider) -> None:
    call = ToolCall("file_write", {"path": "k.txt", "content": "sk-test-secret"}, id="c1")
    fake.script(Reply((call,)), text_reply("Done."))
    await driver.run("Write my key")
    rows = await driver.call("GET", "/audit?limit=100")
    assert "sk-test-secret" not in orjson.dumps(rows).decode()


class Stamp:
    """Adds a block to the system prompt, and remembers in which order it was asked."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self._name = name
        self._seen = seen

    def before_step(self, run: RunContext, step: int, request: ModelRequest) -> ModelRequest:
        self._seen.append(f"before {self._name}")
        return replace(request, system=(*request.system, SystemBlock(name=self._name, text=self._name)))

    def on_sealed(
        self, run: RunContext, step: int, provider: str, request: ModelRequest, wire: WireRequest
    ) -> None:
        self._seen.append(f"sealed {self._name} {xxhash.xxh3_128_hexdigest(wire.body)}")

    def after_step(self, run: RunContext, generation: Generation) -> None:
        self._seen.append(f"after {self._name} {generation.stop_reason}")


class Gate(Stamp):
    """Refuses what the operator must not ask."""

    def before_step(self, run: RunContext, step: int, request: ModelRequest) -> ModelRequest:
        if "forbidden" in repr(request.messages[-1]):
            raise PolicyViolation("content_gate", "The project does not allow this.")
        return request


def add_processors(monkeypatch: pytest.MonkeyPatch, *more: Processor) -> None:
    def build(processors: Sequence[Processor]) -> ProcessorPipeline:
        return ProcessorPipeline([*processors, *more])

    monkeypatch.setattr("app.daemon.session_setup.ProcessorPipeline", build)


async def test_processors_run_in_their_order_and_the_last_ones_request_is_sent(
    fake: FakeProvider,
    project_root: Path,
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    add_processors(monkeypatch, Stamp("ONE", seen), Stamp("TWO", seen))
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        fake.script(text_reply("Hi."))
        await driver.run("Hello")
        digest = xxhash.xxh3_128_hexdigest(fake.requests[0].body)
        assert seen == [
            "before ONE",
            "before TWO",
            f"sealed ONE {digest}",
            f"sealed TWO {digest}",
            "after ONE stop",
            "after TWO stop",
        ]
        sent = repr(fake.requests[0].json["messages"][0])
        assert sent.index("You keep the shop.") < sent.index("ONE") < sent.index("TWO")
        (row,) = await audit_rows(driver, "agent.pre_generation_step")
        assert row["data"]["request_digest"] == digest


async def test_a_policy_stops_the_run_before_anything_is_sent(
    fake: FakeProvider,
    project_root: Path,
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    add_processors(monkeypatch, Gate("gate", []))
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        watch = await driver.run("Something forbidden")
        ended = watch.of("run.ended")[0]["payload"]
        assert (ended["state"], ended["reason"]) == ("failed", "content_gate")
        assert ended["error"] == {"code": "content_gate", "message": "The project does not allow this."}
        assert ended["steps"] == 0
        assert fake.request_count == 0
        assert not watch.of("step.started", "message.start")
        assert not await audit_rows(driver, "agent.pre_generation_step")
        assert [m["role"] for m in await driver.messages()] == ["operator"]


class Defect(Stamp):
    def on_sealed(
        self, run: RunContext, step: int, provider: str, request: ModelRequest, wire: WireRequest
    ) -> None:
        raise ZeroDivisionError("a defect in a processor")


async def test_a_defect_in_a_processor_ends_the_run_and_not_the_daemon(
    fake: FakeProvider,
    project_root: Path,
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    add_processors(monkeypatch, Defect("defect", []))
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        watch = await driver.run("Hello")  # checks that all that was opened is closed
        assert watch.of("run.ended")[0]["payload"]["reason"] == "internal"
        assert watch.of("message.end")[0]["payload"]["stopReason"] == "error"
        assert await driver.state() == "idle"
        assert fake.request_count == 0


async def test_each_call_is_logged_as_one_structured_record(
    driver: Driver, fake: FakeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    fake.script(Reply((Text("Hm."), ToolCall("file_read", {"path": "README.md"}))), text_reply("Done."))
    with caplog.at_level("INFO", logger="kaged.agent"):
        await driver.run("Go")
    records = [record.fields for record in caplog.records if record.name == "kaged.agent"]  # type: ignore[attr-defined]
    assert [r["stop_reason"] for r in records] == ["toolUse", "stop"]
    assert records[0]["tool_calls"] == ["file.read"]
    assert records[0]["model"] == "fake:model-a"
