"""Traces as a collector receives them: what nests in what, what a span says, and what it never says."""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.config import load_settings
from app.daemon.trace_destinations import trace_findings
from app.messages import Usage
from app.observability.otel import STOP_SECONDS
from tests.driver.sessions import WAIT_SECONDS, driven, provider_settings, write_project
from tests.fakes.provider_script import Document, Hold, Reply, Stall, Text, ToolCall
from tests.fakes.provider_server import FakeProvider
from tests.fakes.trace_collector import Collector, collecting

ERROR = 2
SECRET = "sk-0123456789abcdefghij"


@pytest.fixture
def collector(patient_traces: None) -> Iterator[Collector]:
    with collecting() as running:
        yield running


@pytest.fixture
async def fake() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as server:
        yield server


def settings(fake: FakeProvider, **more: Any) -> dict[str, Any]:
    return {
        "models": {"main": ["fake:model-a"]},
        "providers": provider_settings("openai", fake.base_url),
        **more,
    }


def otel(collector: Collector, **more: Any) -> dict[str, Any]:
    return {"otel": {"enabled": True, "endpoint": collector.url, **more}}


async def run_with_tools(tmp_path: Path, fake: FakeProvider, **more: Any) -> tuple[str, str]:
    """One run of two steps with two tool calls, one of which fails; return the session's and run's id."""
    fake.script(
        Reply(
            (
                Text("I read."),
                ToolCall("file_read", {"path": "README.md"}, id="c1"),
                ToolCall("file_read", {"path": "absent.md"}, id="c2"),
            ),
            usage=Usage(input_tokens=10, output_tokens=5, cache_read_tokens=90),
        ),
        Reply((Text("It sells things."),)),
    )
    root = write_project(tmp_path / "shop")
    async with driven(tmp_path / "data", root, **settings(fake, **more)) as driver:
        await driver.run(f"What does it do? The key is {SECRET}.")
        return driver.session_id, (await driver.last_run())["id"]


@pytest.mark.requirement("observability.spans")
async def test_model_calls_and_tool_calls_hang_on_the_agent_that_made_them(
    tmp_path: Path, fake: FakeProvider, collector: Collector
) -> None:
    session_id, run_id = await run_with_tools(tmp_path, fake, **otel(collector))

    agent = collector.one("invoke_agent primary")
    assert agent.parent == ""
    others = [span for span in collector.spans if span is not agent]
    assert sorted(span.name for span in others) == [
        "chat model-a",
        "chat model-a",
        "execute_tool file.read",
        "execute_tool file.read",
    ]
    for span in others:
        assert (span.parent, span.trace) == (agent.id, agent.trace)
        assert agent.started <= span.started <= span.ended <= agent.ended
    for span in collector.spans:
        assert span.attributes["gen_ai.conversation.id"] == session_id
        assert span.attributes["gen_ai.agent.id"] == "primary"
        assert span.attributes["kaged.run.id"] == run_id
    assert {path for path, _ in collector.requests} == {"/v1/traces"}
    assert collector.resources[0]["service.name"] == "kaged"


@pytest.mark.requirement("observability.spans")
async def test_spans_carry_the_attributes_of_the_conventions(
    tmp_path: Path, fake: FakeProvider, collector: Collector
) -> None:
    await run_with_tools(tmp_path, fake, **otel(collector))

    agent = collector.one("invoke_agent primary").attributes
    assert agent["gen_ai.operation.name"] == "invoke_agent"
    assert (agent["kaged.run.state"], agent["kaged.run.steps"]) == ("succeeded", 2)
    assert agent["gen_ai.usage.output_tokens"] == 10
    first, second = sorted(collector.named("chat model-a"), key=lambda span: span.started)
    chat = first.attributes
    assert chat["gen_ai.operation.name"] == "chat"
    assert (chat["gen_ai.provider.name"], chat["gen_ai.request.model"]) == ("fake", "model-a")
    assert chat["gen_ai.response.model"] == "model-a"
    assert chat["gen_ai.response.finish_reasons"] == ["tool_calls"]
    assert second.attributes["gen_ai.response.finish_reasons"] == ["stop"]
    assert chat["gen_ai.usage.input_tokens"] == 100, "what came from the cache is input too"
    assert chat["gen_ai.usage.cache_read.input_tokens"] == 90
    assert chat["gen_ai.usage.output_tokens"] == 5
    tools = {
        span.attributes["gen_ai.tool.call.id"]: span for span in collector.named("execute_tool file.read")
    }
    assert tools["c1"].status != ERROR
    assert tools["c1"].attributes["gen_ai.tool.name"] == "file.read"
    assert tools["c1"].attributes["gen_ai.operation.name"] == "execute_tool"
    assert tools["c2"].status == ERROR
    assert tools["c2"].attributes["error.type"] == "file_not_found"


@pytest.mark.requirement("observability.access_log")
async def test_a_run_names_the_request_that_posted_its_message_also_when_it_had_to_wait(
    tmp_path: Path, fake: FakeProvider, collector: Collector
) -> None:
    hold = Hold()
    fake.script(Reply((Text("First "), hold, Text("answer."))), Reply((Text("Second."),)))
    root = write_project(tmp_path / "shop")
    async with (
        driven(tmp_path / "data", root, **settings(fake, **otel(collector))) as driver,
        driver.watching() as watch,
    ):
        for number in (1, 2):
            answer = await driver.client.post(
                f"/api/v1/sessions/{driver.session_id}/messages",
                json={"content": "Go"},
                headers={"x-request-id": f"edge-{number}"},
            )
            assert answer.json()["queued"] is (number == 2)
            assert answer.headers["x-request-id"] == f"edge-{number}"
        hold.gate.set()
        await watch.until_state("idle")

    spans = sorted(collector.named("invoke_agent primary"), key=lambda span: span.started)
    assert [span.attributes["kaged.request.id"] for span in spans] == ["edge-1", "edge-2"]


@pytest.mark.requirement("observability.spans")
async def test_every_attempt_at_a_model_is_a_span_of_its_own(
    tmp_path: Path, fake: FakeProvider, collector: Collector
) -> None:
    fake.script(Document(401, {"error": {"message": "no such key"}}), Reply((Text("Here."),)))
    chain = settings(fake, **otel(collector)) | {"models": {"main": ["fake:model-a", "fake:model-b"]}}
    root = write_project(tmp_path / "shop")
    async with driven(tmp_path / "data", root, **chain) as driver:
        await driver.run("Hello")

    refused, answered = collector.one("chat model-a"), collector.one("chat model-b")
    assert (refused.status, refused.attributes["error.type"]) == (ERROR, "auth")
    assert answered.status != ERROR
    assert answered.attributes["kaged.attempt"] == 2
    assert refused.parent == answered.parent == collector.one("invoke_agent primary").id


@pytest.mark.requirement("observability.spans")
async def test_a_failed_run_is_a_failed_span(
    tmp_path: Path, fake: FakeProvider, collector: Collector
) -> None:
    fake.script(Document(401, {"error": {"message": "no such key"}}))
    root = write_project(tmp_path / "shop")
    async with driven(tmp_path / "data", root, **settings(fake, **otel(collector))) as driver:
        await driver.run("Hello")

    agent = collector.one("invoke_agent primary")
    assert (agent.status, agent.attributes["error.type"]) == (ERROR, "auth")
    assert agent.attributes["kaged.run.state"] == "failed"


@pytest.mark.requirement("observability.spans")
async def test_a_run_that_is_cancelled_ends_all_of_its_spans(
    tmp_path: Path, fake: FakeProvider, collector: Collector
) -> None:
    fake.script(Reply((Text("Let me think "), Stall())))
    root = write_project(tmp_path / "shop")
    running = driven(tmp_path / "data", root, **settings(fake, **otel(collector)))
    async with running as driver, driver.watching() as watch:
        await driver.post("Hello")
        await watch.until_text("Let me think ")
        await driver.session_call("POST", "/cancel")
        await watch.until_type("run.ended")

    agent, chat = collector.one("invoke_agent primary"), collector.one("chat model-a")
    assert (agent.attributes["kaged.run.state"], agent.attributes["error.type"]) == ("cancelled", "cancelled")
    assert agent.status != ERROR, "an operator's wish is no error"
    assert (chat.parent, chat.attributes["error.type"]) == (agent.id, "cancelled")
    assert agent.started <= chat.started <= chat.ended <= agent.ended


@pytest.mark.requirement("observability.content")
async def test_nothing_of_what_was_said_leaves_without_being_asked_for(
    tmp_path: Path, fake: FakeProvider, collector: Collector
) -> None:
    await run_with_tools(tmp_path, fake, **otel(collector))

    sent = b"".join(collector.bodies)
    assert len(collector.spans) == 5
    for said in (b"What does it do", b"It sells things", b"README.md", b"absent.md", b"You keep the shop"):
        assert said not in sent


@pytest.mark.requirement("observability.content")
async def test_content_is_sent_when_asked_for_without_secrets(
    tmp_path: Path, fake: FakeProvider, collector: Collector
) -> None:
    await run_with_tools(tmp_path, fake, **otel(collector, capture_content=True))

    first, second = sorted(collector.named("chat model-a"), key=lambda span: span.started)
    asked = orjson.loads(first.attributes["gen_ai.input.messages"])
    assert asked[0]["role"] == "user"
    assert "What does it do?" in asked[0]["parts"][0]["content"]
    answered = orjson.loads(first.attributes["gen_ai.output.messages"])
    assert [part["type"] for part in answered[0]["parts"]] == ["text", "tool_call", "tool_call"]
    assert "You keep the shop." in first.attributes["gen_ai.system_instructions"]
    results = orjson.loads(second.attributes["gen_ai.input.messages"])[-1]
    assert [part["id"] for part in results["parts"]] == ["c1", "c2"]
    tool = next(s for s in collector.spans if s.attributes.get("gen_ai.tool.call.id") == "c1")
    assert orjson.loads(tool.attributes["gen_ai.tool.call.arguments"]) == {"path": "README.md"}
    assert "It sells things." in tool.attributes["gen_ai.tool.call.result"]
    agent = collector.one("invoke_agent primary")
    assert "It sells things." in agent.attributes["gen_ai.output.messages"]
    assert SECRET.encode() not in b"".join(collector.bodies)


@pytest.mark.requirement("observability.langfuse")
async def test_langfuse_is_sent_what_it_reads_with_its_keys(
    tmp_path: Path, fake: FakeProvider, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    langfuse = {
        "enabled": True,
        "base_url": collector.url,
        "public_key": "pk-lf-public",
        "secret_key": "sk-lf-very-secret",
        "capture_content": True,
    }
    session_id, _ = await run_with_tools(tmp_path, fake, langfuse=langfuse)

    keys = base64.b64encode(b"pk-lf-public:sk-lf-very-secret").decode()
    assert collector.requests
    for path, headers in collector.requests:
        assert path == "/api/public/otel/v1/traces"
        assert headers["authorization"] == f"Basic {keys}"
        assert headers["x-langfuse-ingestion-version"] == "4"
    agent = collector.one("invoke_agent primary").attributes
    assert agent["langfuse.observation.type"] == "agent"
    assert "What does it do?" in agent["langfuse.observation.input"]
    assert "It sells things." in agent["langfuse.observation.output"]
    assert {s.attributes["langfuse.trace.name"] for s in collector.spans} == {"invoke_agent primary"}
    assert "gen_ai.request.model" not in agent, "it would be taken for a model call"
    chat = min(collector.named("chat model-a"), key=lambda span: span.started).attributes
    assert chat["langfuse.observation.type"] == "generation"
    assert chat["langfuse.observation.model.name"] == "model-a"
    usage = orjson.loads(chat["langfuse.observation.usage_details"])
    assert usage == {"input": 10, "output": 5, "cache_read_input_tokens": 90}
    types = {span.attributes["langfuse.observation.type"] for span in collector.spans}
    assert types == {"agent", "generation", "tool"}
    assert {span.attributes["langfuse.session.id"] for span in collector.spans} == {session_id}
    assert {span.attributes["langfuse.user.id"] for span in collector.spans} == {agent["user.id"]}
    assert "sk-lf-very-secret" not in caplog.text and keys not in caplog.text


@pytest.mark.requirement("observability.langfuse", "observability.content")
async def test_content_goes_only_where_it_is_asked_for(
    tmp_path: Path, fake: FakeProvider, collector: Collector
) -> None:
    with collecting() as other:
        langfuse = {
            "enabled": True,
            "base_url": other.url,
            "public_key": "pk-lf-public",
            "secret_key": "sk-lf-very-secret",
            "capture_content": True,
        }
        await run_with_tools(tmp_path, fake, langfuse=langfuse, **otel(collector))
        assert b"What does it do" in b"".join(other.bodies)
    assert len(collector.spans) == len(other.spans) == 5
    assert b"What does it do" not in b"".join(collector.bodies)
    assert not [key for span in collector.spans for key in span.attributes if key.startswith("langfuse.")]


@pytest.mark.requirement("observability.langfuse")
async def test_langfuse_without_its_keys_is_reported_and_sends_nothing(
    tmp_path: Path, fake: FakeProvider, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    langfuse = {"enabled": True, "base_url": collector.url, "secret_key_env": "LANGFUSE_SECRET"}
    await run_with_tools(tmp_path, fake, langfuse=langfuse)

    assert not collector.requests
    (told,) = [record for record in caplog.records if record.name == "kaged.traces"]
    assert told.levelno == logging.WARNING
    assert "LANGFUSE_SECRET" in told.getMessage()


def test_the_doctor_shows_what_keeps_traces_from_being_sent() -> None:
    def findings(environ: dict[str, str], **sections: Any) -> dict[str, str | None]:
        return trace_findings(load_settings(environ=environ, overrides=sections))

    langfuse = {"enabled": True, "public_key_env": "LF_PUBLIC", "secret_key_env": "LF_SECRET"}
    keys = {"LF_PUBLIC": "pk-lf-1", "LF_SECRET": "sk-lf-1"}
    assert findings({}) == {}
    assert findings(keys, otel={"enabled": True}, langfuse=langfuse) == {"otel": None, "langfuse": None}
    problem = findings({"LF_PUBLIC": "pk-lf-1"}, langfuse=langfuse)["langfuse"]
    assert problem == "its keys are missing; set LF_SECRET"


@pytest.mark.requirement("observability.dead")
async def test_a_collector_that_talks_without_end_is_not_listened_to(
    tmp_path: Path, fake: FakeProvider
) -> None:
    root = write_project(tmp_path / "shop")
    with collecting(babbles=True) as collector:
        async with driven(tmp_path / "data", root, **settings(fake, **otel(collector))) as driver:
            for number in range(3):
                fake.script(Reply((Text("Done."),)))
                await driver.run(f"Turn {number}")
                # The next batch is sent although the answer to this one has not ended.
                await asyncio.to_thread(collector.until, 2 * (number + 1))
    assert len(collector.requests) >= 3


@pytest.mark.parametrize("trouble", ["refused", "hangs", "error"])
@pytest.mark.requirement("observability.dead")
async def test_an_endpoint_that_does_not_work_neither_slows_nor_fails_a_run(
    tmp_path: Path,
    fake: FakeProvider,
    trouble: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What waits for the endpoint waits for longer than any machine is busy.
    monkeypatch.setattr("app.observability.otel.SEND_SECONDS", 2 * WAIT_SECONDS)
    root = write_project(tmp_path / "shop")
    with collecting(hangs=trouble == "hangs", status=500) as collector:
        url = "http://127.0.0.1:1" if trouble == "refused" else collector.url
        more = {"otel": {"enabled": True, "endpoint": url, "capture_content": True}}
        async with driven(tmp_path / "data", root, **settings(fake, **more)) as driver:
            for number in range(4):
                fake.script(
                    Reply((ToolCall("file_read", {"path": "README.md"}, id=f"c{number}"),)),
                    Reply((Text("Done."),)),
                )
                watch = await driver.run(f"Turn {number}")
                (ended,) = watch.of("run.ended")
                assert (ended["payload"]["state"], ended["payload"]["reason"]) == ("succeeded", "stop")
                assert ended["payload"]["duration_ms"] < WAIT_SECONDS * 1000 / 2, "it has waited for nobody"
            stopping = time.monotonic()
        assert time.monotonic() - stopping < STOP_SECONDS + 27, "the stop has a deadline"
        if trouble != "refused":
            assert collector.asked.is_set()
    told = [record for record in caplog.records if record.name == "kaged.traces"]
    assert [record.levelno for record in told] == [logging.WARNING]
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]
