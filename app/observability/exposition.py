"""Metrics as Prometheus reads them. The library is imported here, when metrics are first asked for.

Owns: the text. Never: counting (`metrics`).
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from app.observability.metrics import Histogram, Snapshot

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class _Numbers(Collector):
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterator[Metric]:
        for counter, values in self._snapshot.counters.items():
            family = CounterMetricFamily(counter.name, counter.help, labels=counter.labels)
            for labels, value in values.items():
                family.add_metric(labels, value)
            yield family
        for histogram, series in self._snapshot.histograms.items():
            shown = HistogramMetricFamily(histogram.name, histogram.help, labels=histogram.labels)
            for labels, buckets in series.items():
                shown.add_metric(labels, _cumulative(histogram, buckets.counts), buckets.total)
            yield shown
        for gauge, now in self._snapshot.gauges.items():
            kind = CounterMetricFamily if gauge.is_total else GaugeMetricFamily
            read = kind(gauge.name, gauge.help, labels=gauge.labels)
            for labels, value in now.items():
                read.add_metric(labels, value)
            yield read


def exposition(snapshot: Snapshot) -> bytes:
    """Return the text; it may take milliseconds."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Numbers(snapshot))
    return generate_latest(registry)


def _cumulative(histogram: Histogram, counts: list[int]) -> list[tuple[str, float]]:
    ends = [*(str(bound) for bound in histogram.bounds), "+Inf"]
    shown, so_far = [], 0
    for end, count in zip(ends, counts, strict=True):
        so_far += count
        shown.append((end, float(so_far)))
    return shown
