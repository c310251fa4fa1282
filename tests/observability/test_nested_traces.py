"""Traces of trees of agents: a child's run hangs on the call that asked for it, however many run at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.fakes.provider_server import FakeProvider
from tests.fakes.trace_collector import CollectedSpan, Collector, collecting
from tests.harness.delegation.family import Cast, agent, calling, write_family
from tests.harness.driving import driven, provider_settings

CHILDREN = 10


@pytest.fixture
def collector() -> Iterator[Collector]:
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


@pytest.mark.requirement("R6.observability.spans")
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
