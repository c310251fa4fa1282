"""Traces of trees: a child's run hangs on the call that asked for it, however many run at once, and the
summariser's call on the compaction that made it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.driver.family import Cast, agent, calling, write_family
from tests.driver.sessions import driven, provider_settings
from tests.driver.small_window import SUMMARIZE, reads, small
from tests.fakes.provider_script import Answer, RecordedRequest, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.fakes.trace_collector import CollectedSpan, Collector, collecting

CHILDREN = 10


@pytest.fixture
def collector(patient_traces: None) -> Iterator[Collector]:
    with collecting() as running:
        yield running


@pytest.fixture
async def fake() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as server:
        yield server


def above(collector: Collector, span: CollectedSpan) -> list[str]:
    """Return the names of the spans above one, the nearest first."""
    names = []
    parent = collector.parent_of(span)
    while parent is not None:
        names.append(parent.name)
        parent = collector.parent_of(parent)
    return names


@pytest.mark.requirement("observability.spans")
async def test_ten_children_at_once_with_children_of_their_own_nest_as_they_were_called(
    tmp_path: Path, fake: FakeProvider, collector: Collector
) -> None:
    cast = Cast()
    fake.respond = cast.respond
    keys = [f"worker{number}" for number in range(CHILDREN)]
    family = agent(
        "primary",
        subagents={key: agent(key, subagents={"helper": agent(f"{key}helper")}) for key in keys},
    )
    cast.script("primary", calling(*((f"agent-{key}", {"task": f"Work, {key}."}) for key in keys)))
    for key in keys:
        cast.script(key, calling(("agent-helper", {"task": f"Help {key}."})))
    settings = {
        "models": {"main": ["fake:model-a"]},
        "providers": provider_settings("openai", fake.base_url),
        "otel": {"enabled": True, "endpoint": collector.url},
    }
    async with driven(tmp_path / "data", write_family(tmp_path / "family", family), **settings) as driver:
        await driver.run("Work")
        runs = (await driver.session_call("GET", "/runs?all=true&limit=100"))["items"]

    assert len(runs) == 1 + 2 * CHILDREN
    assert {run["state"] for run in runs} == {"succeeded"}
    ids = {run["agent_path"]: run["id"] for run in runs}
    assert len({span.trace for span in collector.spans}) == 1
    (root,) = [span for span in collector.spans if not span.parent]
    assert root.name == "invoke_agent primary"
    for key in keys:
        worker = collector.one(f"invoke_agent {key}")
        path = f"primary.subagents.{key}"
        assert worker.attributes["gen_ai.agent.id"] == path
        assert worker.attributes["kaged.run.id"] == ids[path]
        assert above(collector, worker) == [f"execute_tool agent-{key}", "invoke_agent primary"]
    helpers = collector.named("invoke_agent helper")
    assert len(helpers) == CHILDREN
    for helper in helpers:
        path = helper.attributes["gen_ai.agent.id"]
        key = path.split(".")[2]
        assert above(collector, helper) == [
            "execute_tool agent-helper",
            f"invoke_agent {key}",
            f"execute_tool agent-{key}",
            "invoke_agent primary",
        ]
        (chat,) = [span for span in collector.named("chat model-a") if span.parent == helper.id]
        assert chat.attributes["gen_ai.agent.id"] == path
        assert chat.attributes["kaged.run.id"] == helper.attributes["kaged.run.id"] == ids[path]
    for span in collector.named("chat model-a"):
        parent = collector.parent_of(span)
        assert parent is not None
        assert parent.attributes["kaged.run.id"] == span.attributes["kaged.run.id"]


@pytest.mark.requirement("observability.spans")
async def test_a_compaction_hangs_on_its_agent_and_the_summarisers_call_on_the_compaction(
    tmp_path: Path, fake: FakeProvider, collector: Collector
) -> None:
    script: list[Answer] = [*reads(16), text_reply("Done.", usage=None)]

    def respond(request: RecordedRequest) -> Answer:
        if request.json["model"] == "sum":
            return text_reply("Sixteen files were read.")
        return script.pop(0)

    fake.respond = respond
    overrides = {"providers": provider_settings("openai", fake.base_url)}
    otel = {"enabled": True, "endpoint": collector.url}
    async with small(tmp_path, overrides, f"strategy: summarize, {SUMMARIZE}", otel=otel) as driver:
        await driver.run("Read them all")
        metrics = (await driver.client.get("/api/v1/metrics")).text

    compactions = collector.named("compact summarize")
    summaries = collector.named("chat sum")
    assert compactions and summaries
    root = collector.one("invoke_agent primary")
    assert {span.parent for span in compactions} == {root.id}
    assert {span.parent for span in summaries} <= {span.id for span in compactions}
    for span in compactions:
        assert span.attributes["kaged.compaction.trigger"] == "threshold_crossed"
        assert span.attributes["kaged.compaction.outcome"] == "completed"
        assert (
            span.attributes["kaged.compaction.tokens_after"]
            < span.attributes["kaged.compaction.tokens_before"]
        )
    labels = 'outcome="completed",strategy="summarize",trigger="threshold_crossed"'
    assert f"kaged_compactions_total{{{labels}}} {len(compactions)}.0" in metrics
    assert (
        f'kaged_model_calls_total{{model="sum",outcome="ok",provider="fake"}} {len(summaries)}.0' in metrics
    )
