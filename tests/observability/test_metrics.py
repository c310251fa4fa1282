"""Metrics as Prometheus reads them, after real runs, and the bounds that keep them small."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.messages import Usage
from app.observability.exposition import exposition
from app.observability.metrics import MAX_SERIES, OTHER, TOOL_CALLS, TOOL_SECONDS, Metrics
from tests.driver.sessions import Driver, driven, provider_settings, write_project
from tests.fakes.provider_script import Document, Reply, Text, ToolCall
from tests.fakes.provider_server import FakeProvider


@pytest.fixture
async def fake() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as server:
        yield server


@pytest.fixture
async def driver(tmp_path: Path, fake: FakeProvider) -> AsyncIterator[Driver]:
    root = write_project(tmp_path / "shop")
    settings: dict[str, Any] = {
        "models": {"main": ["fake:model-a"]},
        "providers": provider_settings("openai", fake.base_url),
        "prices": {"fake:model-a": {"input": 1.0, "output": 2.0}},
    }
    async with driven(tmp_path / "data", root, **settings) as driver:
        yield driver


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return all samples by name and labels; the text must be valid."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def metrics(driver: Driver) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    answer = await driver.client.get("/api/v1/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return samples(answer.text)


@pytest.mark.requirement("observability.metrics")
async def test_runs_model_calls_tokens_and_tools_are_counted(driver: Driver, fake: FakeProvider) -> None:
    before = await metrics(driver)
    assert ("kaged_runs_total", (("state", "succeeded"),)) not in before
    fake.script(
        Reply(
            (
                ToolCall("file_read", {"path": "README.md"}, id="c1"),
                ToolCall("file_read", {"path": "absent.md"}, id="c2"),
                ToolCall("made_up_by_the_model", {}, id="c3"),
            ),
            usage=Usage(input_tokens=1_000_000, output_tokens=5, cache_read_tokens=7),
        ),
        Reply((Text("Done."),), usage=Usage(input_tokens=20, output_tokens=1_000_000)),
    )
    await driver.run("Read")
    fake.script(Document(401, {"error": {"message": "no such key"}}))
    await driver.run("Again")

    found = await metrics(driver)
    model = (("model", "model-a"), ("provider", "fake"))

    def tokens(kind: str) -> float:
        return found["kaged_tokens_total", tuple(sorted((*model, ("kind", kind))))]

    assert found["kaged_runs_total", (("state", "succeeded"),)] == 1
    assert found["kaged_runs_total", (("state", "failed"),)] == 1
    assert found["kaged_run_duration_seconds_count", (("state", "succeeded"),)] == 1
    assert found["kaged_model_calls_total", (*model[:1], ("outcome", "ok"), *model[1:])] == 2
    assert found["kaged_model_calls_total", (*model[:1], ("outcome", "auth"), *model[1:])] == 1
    assert tokens("input") == 1_000_020
    assert tokens("output") == 1_000_005
    assert tokens("cache_read") == 7
    assert found["kaged_cost_usd_total", model] == pytest.approx(3.0, rel=0.01)
    assert found["kaged_time_to_first_token_seconds_count", model] == 1
    assert found["kaged_tool_calls_total", (("outcome", "ok"), ("tool", "file.read"))] == 1
    assert found["kaged_tool_calls_total", (("outcome", "file_not_found"), ("tool", "file.read"))] == 1
    assert found["kaged_tool_call_duration_seconds_count", (("tool", "file.read"),)] == 2
    assert not [labels for _, labels in found if any("made_up" in value for _, value in labels)]
    assert found["kaged_sessions", (("state", "idle"),)] == 1


@pytest.mark.requirement("observability.metrics")
async def test_what_goes_on_now_is_read_when_it_is_asked_for(driver: Driver) -> None:
    async with driver.watching() as watch:
        await watch.until_type("sync")
        assert (await metrics(driver))["kaged_subscribers", ()] == 1
    found = await metrics(driver)
    assert found["kaged_storage_commits_total", ()] > 0
    assert found["kaged_storage_commit_seconds_total", ()] > 0
    for name in ("storage_waiting_writes", "child_processes", "terminals", "debug_sessions"):
        assert found[f"kaged_{name}", ()] >= 0


@pytest.mark.requirement("observability.metrics")
async def test_metrics_are_not_for_everybody(driver: Driver) -> None:
    async with driver.daemon.client("") as anonymous:
        assert (await anonymous.get("/api/v1/metrics")).status_code == 401


def test_the_number_of_series_is_bounded() -> None:
    recorder = Metrics()
    for number in range(MAX_SERIES + 50):
        recorder.count(TOOL_CALLS, f"tool.{number}", "ok")
        recorder.observe(TOOL_SECONDS, f"tool.{number}", value=0.2)
    found = samples(exposition(recorder.snapshot()).decode())
    assert found["kaged_tool_calls_total", (("outcome", OTHER), ("tool", OTHER))] == 50
    counts = [value for (name, _), value in found.items() if name.endswith("duration_seconds_count")]
    assert (len(counts), sum(counts)) == (MAX_SERIES + 1, MAX_SERIES + 50)


def test_a_histogram_counts_up_to_each_bound() -> None:
    recorder = Metrics()
    for value in (0.001, 0.005, 0.2, 4000.0):
        recorder.observe(TOOL_SECONDS, 'a "quoted"\nname', value=value)
    found = samples(exposition(recorder.snapshot()).decode())

    def upto(bound: str) -> float:
        return found["kaged_tool_call_duration_seconds_bucket", (("le", bound), ("tool", 'a "quoted"\nname'))]

    assert [upto(bound) for bound in ("0.005", "0.1", "0.25", "1800.0", "+Inf")] == [2, 2, 3, 3, 4]
