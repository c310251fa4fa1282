"""What Langfuse gets, held against its own SDK: the names and forms that it sends, its types."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import langfuse
import langfuse.api
import orjson
import pytest
from langfuse import LangfuseOtelSpanAttributes as Names
from langfuse.api.core.pydantic_utilities import parse_obj_as

from app.messages import Usage
from tests.driver.language_servers import ROOT
from tests.driver.sessions import driven, provider_settings, write_project
from tests.fakes.provider_script import Reply, Text, ToolCall
from tests.fakes.provider_server import FakeProvider
from tests.fakes.trace_collector import CollectedSpan, Collector, collecting

pytestmark = pytest.mark.usefixtures("patient_traces")
NAMES = {value for name, value in vars(Names).items() if name.isupper()}
ALIASES = {"langfuse.user.id": Names.TRACE_USER_ID, "langfuse.session.id": Names.TRACE_SESSION_ID}
"""Names that the server documents and its SDK does not use, and the SDK's."""
LEFT_OUT = {Names.ENVIRONMENT, Names.RELEASE, Names.IS_APP_ROOT}
"""What the SDK knows of its own process, and its mark of the first span of a trace."""
PRICES = {"fake:model-a": {"input": 1.0, "output": 2.0, "cache_read": 0.5, "cache_write": 1.25}}


@pytest.fixture
async def fake() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as server:
        yield server


async def traced(tmp_path: Path, fake: FakeProvider, collector: Collector) -> dict[str, CollectedSpan]:
    """Return spans of one run by the type of their observation: the agent's, that of a model call that used a
    cache and calls a tool, and that of this tool."""
    fake.script(
        Reply(
            (Text("I read."), ToolCall("file_read", {"path": "README.md"}, id="c1")),
            usage=Usage(input_tokens=10, output_tokens=5, cache_read_tokens=90),
        ),
        Reply((Text("It sells things."),)),
    )
    destination = {
        "enabled": True,
        "base_url": collector.url,
        "public_key": "pk-lf-public",
        "secret_key": "sk-lf-very-secret",
        "capture_content": True,
    }
    settings: dict[str, Any] = {
        "models": {"main": ["fake:model-a"]},
        "providers": provider_settings("openai", fake.base_url),
        "prices": PRICES,
        "langfuse": destination,
    }
    async with driven(tmp_path / "data", write_project(tmp_path / "shop"), **settings) as driver:
        await driver.run("What does it do?")
    spans = sorted(collector.spans, key=lambda span: span.started, reverse=True)
    return {span.attributes[Names.OBSERVATION_TYPE]: span for span in spans}


def loaded(attributes: dict[str, Any], name: str) -> Any:
    return orjson.loads(attributes[name]) if name in attributes else None


def observation(span: CollectedSpan) -> langfuse.api.ObservationV2:
    """Return a span as the server would answer it, read by the SDK with its own type."""
    attributes = span.attributes
    return parse_obj_as(
        langfuse.api.ObservationV2,
        {
            "id": span.id,
            "traceId": span.trace,
            "parentObservationId": span.parent or None,
            "projectId": "project",
            "startTime": datetime.fromtimestamp(span.started / 1e9, UTC),
            "endTime": datetime.fromtimestamp(span.ended / 1e9, UTC),
            "type": attributes[Names.OBSERVATION_TYPE].upper(),
            "name": span.name,
            "traceName": attributes[Names.TRACE_NAME],
            "userId": attributes[Names.TRACE_USER_ID],
            "sessionId": attributes[Names.TRACE_SESSION_ID],
            "model": attributes.get(Names.OBSERVATION_MODEL),
            "input": loaded(attributes, Names.OBSERVATION_INPUT),
            "output": attributes.get(Names.OBSERVATION_OUTPUT),
            "usageDetails": loaded(attributes, Names.OBSERVATION_USAGE_DETAILS),
            "costDetails": loaded(attributes, Names.OBSERVATION_COST_DETAILS),
            "completionStartTime": loaded(attributes, Names.OBSERVATION_COMPLETION_START_TIME),
        },
    )


@pytest.mark.requirement("observability.langfuse")
async def test_every_name_is_one_of_the_sdk(tmp_path: Path, fake: FakeProvider) -> None:
    with collecting() as collector:
        await traced(tmp_path, fake, collector)
    for span in collector.spans:
        own = {name for name in span.attributes if name.startswith("langfuse.")}
        assert own - ALIASES.keys() <= NAMES
        for alias, name in ALIASES.items():
            assert span.attributes[alias] == span.attributes[name]


@pytest.mark.requirement("observability.langfuse")
async def test_the_types_of_the_sdk_read_every_span(tmp_path: Path, fake: FakeProvider) -> None:
    with collecting() as collector:
        kinds = await traced(tmp_path, fake, collector)
    start = langfuse.Langfuse.start_observation.__annotations__["as_type"]
    known = {kind for literal in get_args(start) for kind in get_args(literal) or (literal,)}
    assert kinds.keys() == {"agent", "generation", "tool"} <= known

    for span in collector.spans:
        found = observation(span)
        assert found.user_id and found.session_id and found.trace_name == "invoke_agent primary"
        assert found.end_time is not None and found.start_time <= found.end_time
        if found.type != "GENERATION":
            assert (found.usage_details, found.cost_details, found.model) == (None, None, None)
    first = observation(kinds["generation"])
    assert first.model == "model-a"
    assert first.usage_details == {"input": 10, "output": 5, "cache_read_input_tokens": 90}
    assert first.cost_details == pytest.approx({"total": (10 * 1.0 + 5 * 2.0 + 90 * 0.5) / 1e6})
    assert first.end_time is not None and first.completion_start_time is not None
    assert first.start_time <= first.completion_start_time <= first.end_time
    assert observation(kinds["tool"]).input == {"path": "README.md"}
    assert observation(kinds["tool"]).parent_observation_id == kinds["agent"].id


@pytest.mark.requirement("observability.langfuse")
async def test_the_sdk_sends_the_same_for_the_same_run(tmp_path: Path, fake: FakeProvider) -> None:
    with collecting() as ours, collecting() as theirs:
        kinds = await traced(tmp_path, fake, ours)
        ordered = [kinds[kind] for kind in ("agent", "generation", "tool")]
        asked = {
            "trace": {
                "user_id": ordered[0].attributes[Names.TRACE_USER_ID],
                "session_id": ordered[0].attributes[Names.TRACE_SESSION_ID],
                "trace_name": ordered[0].attributes[Names.TRACE_NAME],
            },
            "observations": [arguments(span.attributes, span.name) for span in ordered],
        }
        await asyncio.to_thread(send_with_sdk, theirs.url, asked)
    for span in ordered:
        sent = {name: span.attributes[name] for name in span.attributes.keys() & NAMES}
        expected = theirs.one(span.name).attributes
        assert {name: form(value) for name, value in sent.items()} == {
            name: form(expected[name]) for name in expected.keys() & NAMES - LEFT_OUT
        }
    [(path, headers), *_] = theirs.requests
    assert {path} == {path for path, _ in ours.requests}
    for name in ("authorization", "content-type", "x-langfuse-ingestion-version"):
        assert {headers[name]} == {told[name] for _, told in ours.requests}


def arguments(attributes: dict[str, Any], name: str) -> dict[str, Any]:
    """Return what a program tells the SDK to have an observation with these attributes."""
    told: dict[str, Any] = {"name": name, "as_type": attributes[Names.OBSERVATION_TYPE]}
    told |= {"input": attributes.get(Names.OBSERVATION_INPUT)}
    told |= {"output": attributes.get(Names.OBSERVATION_OUTPUT)}
    if told["as_type"] == "generation":
        told["model"] = attributes[Names.OBSERVATION_MODEL]
        told["usage_details"] = orjson.loads(attributes[Names.OBSERVATION_USAGE_DETAILS])
        told["cost_details"] = orjson.loads(attributes[Names.OBSERVATION_COST_DETAILS])
        told["completion_start_time"] = orjson.loads(attributes[Names.OBSERVATION_COMPLETION_START_TIME])
    return told


def send_with_sdk(url: str, asked: dict[str, Any]) -> None:
    command = [sys.executable, str(ROOT / "tests" / "fakes" / "langfuse_client.py"), url]
    subprocess.run(command, input=orjson.dumps(asked), check=True, timeout=100)


def form(value: Any) -> Any:
    """Return a value and how it is written, without the spaces of JSON."""
    try:
        read = orjson.loads(value)
    except (orjson.JSONDecodeError, TypeError):
        return value
    return "JSON", read
