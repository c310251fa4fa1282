"""The examples of monitoring name what a real daemon exports, and their tools accept them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

from app.observability.metrics import COUNTERS, HISTOGRAMS
from app.states import RunState, SessionState
from tests.deployment.promql import FOLDER, Query, alerts, dashboard, panels, read
from tests.driver.machine import find_deployment_tool
from tests.driver.sessions import driven, provider_settings, write_project
from tests.fakes.provider_script import Reply, Text, ToolCall
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("deployment.monitoring")

OF_PROMETHEUS = {"instance", "job"}
"""Labels that Prometheus adds to every series."""
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


FAULTS = {
    "rate(kaged_runs_finished_total[5m])": "metric kaged_runs_finished_total",
    "sum by (agent) (kaged_runs_total)": "label agent",
    'kaged_runs_total{result="failed"}': "label result of kaged_runs_total",
    'kaged_runs_total{state="broken"}': 'kaged_runs_total{state="broken"}',
}
"""Expressions that no daemon answers, and what is found of each."""


@dataclass
class Exported:
    """The names, labels and label values of a daemon's metrics."""

    names: set[str] = field(default_factory=lambda: {"up"})
    labels: dict[str, set[str]] = field(default_factory=lambda: {"up": set()})
    values: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    def read(self, text: str) -> None:
        for family in text_string_to_metric_families(text):
            for suffix in SUFFIXES[family.type]:
                self.names.add(family.name + suffix)
                self.labels.setdefault(family.name + suffix, set())
            for sample in family.samples:
                self.labels.setdefault(sample.name, set()).update(sample.labels)
                for label, value in sample.labels.items():
                    self.values.setdefault((sample.name, label), set()).add(value)


@pytest.fixture
async def exported(tmp_path: Path) -> AsyncIterator[Exported]:
    """What a daemon exports after a run, with a series of each counter and histogram."""
    root = write_project(tmp_path / "shop")
    async with FakeProvider() as fake:
        settings: dict[str, Any] = {
            "models": {"main": ["fake:model-a"]},
            "providers": provider_settings("openai", fake.base_url),
        }
        fake.script(Reply((ToolCall("file_read", {"path": "README.md"}, id="c1"),)), Reply((Text("Done."),)))
        async with driven(tmp_path / "data", root, **settings) as driver:
            await driver.run("Read")
            found = Exported()
            found.read((await driver.client.get("/api/v1/metrics")).text)
            recorder = driver.daemon.services.metrics
            seen = {name: set(labels) for name, labels in found.labels.items()}
            for counter in COUNTERS:
                recorder.count(counter, *counter.labels)
            for histogram in HISTOGRAMS:
                recorder.observe(histogram, *histogram.labels, value=1.0)
            found.read((await driver.client.get("/api/v1/metrics")).text)
            for name, labels in seen.items():
                assert not labels or labels == found.labels[name], name
            for gauge in recorder.snapshot().gauges:
                found.labels[f"{gauge.name}_total" if gauge.is_total else gauge.name].update(gauge.labels)
            yield found


def faults(query: Query, exported: Exported) -> list[str]:
    """Return what an expression names that the daemon does not export."""
    unknown = [f"metric {name}" for name in query.metrics if name not in exported.names]
    if unknown:
        return unknown
    known = OF_PROMETHEUS.union(*(exported.labels[name] for name in query.metrics))
    found = [f"label {label}" for label in (query.grouped | query.shown) - known - {"value"}]
    for metric, label, operator, value in query.matchers:
        if label not in OF_PROMETHEUS | exported.labels[metric]:
            found.append(f"label {label} of {metric}")
        elif label not in OF_PROMETHEUS and value not in values_of(metric, label, exported):
            found.append(f'{metric}{{{label}{operator}"{value}"}}')
    return found


def values_of(metric: str, label: str, exported: Exported) -> set[str]:
    states = {"kaged_sessions": SessionState, "kaged_runs_total": RunState}
    if label == "state" and metric in states:
        return {str(state) for state in states[metric]}
    return exported.values.get((metric, label), set())


async def test_alerts_and_dashboard_name_metrics_and_labels_of_a_real_daemon(exported: Exported) -> None:
    queries = [*alerts(), *panels()]
    assert len(queries) > 30
    assert {query.place: found for query in queries if (found := faults(query, exported))} == {}
    shown = {name.removesuffix("_bucket") for query in panels() for name in query.metrics}
    families = {name for name in exported.names if not name.endswith(("_bucket", "_sum", "_count"))}
    assert families <= shown, "the dashboard shows every metric"
    for expression, fault in FAULTS.items():
        assert faults(Query("a panel", expression, ""), exported) == [fault]


def test_panels_show_the_labels_that_they_are_grouped_by() -> None:
    """A text that names a label which the expression sums away would be empty."""
    for query in panels():
        assert query.shown <= query.grouped, query.place


def test_the_dashboard_is_whole() -> None:
    found = dashboard()
    numbers = [panel["id"] for panel in found["panels"]]
    assert len(set(numbers)) == len(numbers)
    assert {variable["name"] for variable in found["templating"]["list"]} == {"datasource", "instance"}
    text = json.dumps(found["panels"])
    assert text.count('"uid": "${datasource}"') == text.count('"type": "prometheus"')


def promtool(*arguments: str | Path) -> str:
    program = find_deployment_tool("promtool")
    assert program is not None
    done = subprocess.run(
        [program, *arguments],
        cwd=FOLDER,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.needs("promtool")
def test_prometheus_takes_its_configuration_and_the_rules() -> None:
    assert "SUCCESS: 10 rules found" in promtool("check", "rules", "alerts.yaml")
    assert "SUCCESS" in promtool("check", "config", "--syntax-only", "prometheus.yaml")


@pytest.mark.needs("promtool")
def test_prometheus_takes_the_expressions_of_the_dashboard(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:number_{number}", "expr": query.expression}
        for number, query in enumerate(panels())
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", file)


@pytest.mark.needs("promtool")
def test_alerts_fire_on_what_they_are_for_and_on_nothing_else(tmp_path: Path) -> None:
    cases = YAML(typ="safe").load(Path(__file__).with_name("alert_cases.yaml").read_text("utf-8"))
    cases["rule_files"] = [str(FOLDER / "alerts.yaml")]
    file = tmp_path / "cases.yaml"
    file.write_text(json.dumps(cases))
    promtool("test", "rules", file)
    fired = json.dumps(cases["tests"][1]["promql_expr_test"])
    assert [query.place for query in alerts() if query.place not in fired] == []


@pytest.mark.needs("promtool")
def test_the_collector_scrapes_with_a_configuration_of_prometheus(tmp_path: Path) -> None:
    scraping = read("otel-collector.yaml")["receivers"]["prometheus"]["config"]
    file = tmp_path / "prometheus.yaml"
    file.write_text(json.dumps(scraping))
    assert "SUCCESS" in promtool("check", "config", "--syntax-only", file)


def test_the_collector_uses_every_part_that_it_declares_and_no_other() -> None:
    config = read("otel-collector.yaml")
    pipelines = config["service"]["pipelines"]
    for kind in ("receivers", "processors", "exporters"):
        used = {name for pipeline in pipelines.values() for name in pipeline[kind]}
        assert used == config[kind].keys()
    assert set(config["service"]["extensions"]) == config["extensions"].keys()
    for pipeline in pipelines.values():
        assert pipeline["processors"] == ["memory_limiter", "batch"], (
            "the limiter is the first, as its page says"
        )


def test_both_scrape_the_route_of_the_metrics() -> None:
    """With the path and the name of the job that the alerts ask for."""
    for scraping in (
        read("prometheus.yaml"),
        read("otel-collector.yaml")["receivers"]["prometheus"]["config"],
    ):
        [job] = scraping["scrape_configs"]
        assert (job["job_name"], job["metrics_path"]) == ("kaged", "/api/v1/metrics")
        assert job["authorization"] == {"credentials_file": "/run/secrets/kaged_metrics_token"}
