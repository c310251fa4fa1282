"""Counters and histograms of the daemon, kept as plain numbers. Label values are bounded: names of models,
plugins and projects cannot grow a metric without limit, nor put a credential into one.

Owns: the list of metrics, and the recorder, used on the event loop. Never: a metrics library
(`exposition`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.observability.credential_shapes import without_shapes

Labels = tuple[str, ...]

MAX_SERIES = 200
"""How many label values one metric has; further ones are counted together under `other`."""
OTHER = "other"
MAX_LABEL_CHARACTERS = 100

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


@dataclass(frozen=True, slots=True, eq=False)
class Counter:
    """Only goes up. The name is shown with `_total`."""

    name: str
    help: str
    labels: Labels = ()


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Observations by size; `bounds` are the upper ends of the buckets."""

    name: str
    help: str
    labels: Labels = ()
    bounds: tuple[float, ...] = SECONDS


@dataclass(frozen=True, slots=True, eq=False)
class Gauge:
    """A number that is asked for when metrics are; `read` gives it by label values. One that only goes
    up `is_total`, and is shown with `_total`."""

    name: str
    help: str
    read: Callable[[], Mapping[Labels, float]]
    labels: Labels = ()
    is_total: bool = False


RUNS = Counter("kaged_runs", "Runs that have ended.", ("state",))
RUN_SECONDS = Histogram("kaged_run_duration_seconds", "How long runs took.", ("state",))
MODEL_CALLS = Counter("kaged_model_calls", "Requests to model providers.", ("provider", "model", "outcome"))
MODEL_SECONDS = Histogram(
    "kaged_model_call_duration_seconds", "From a request to the end of its answer.", ("provider", "model")
)
FIRST_TOKEN_SECONDS = Histogram(
    "kaged_time_to_first_token_seconds",
    "From a request to the first text of its answer.",
    ("provider", "model"),
)
TOKENS = Counter("kaged_tokens", "Tokens that providers reported.", ("provider", "model", "kind"))
COST = Counter("kaged_cost_usd", "US dollars of model calls with a known price.", ("provider", "model"))
TOOL_CALLS = Counter("kaged_tool_calls", "Tool calls of agents.", ("tool", "outcome"))
TOOL_SECONDS = Histogram("kaged_tool_call_duration_seconds", "How long tool calls took.", ("tool",))
DELEGATIONS = Counter("kaged_delegations", "Runs of subagents that have ended.", ("state",))
COMPACTIONS = Counter(
    "kaged_compactions", "Compactions of conversations.", ("strategy", "trigger", "outcome")
)
BRIDGE_EVENTS = Counter(
    "kaged_bridge_events",
    "What happened to language servers, plugins and debug sessions.",
    ("event", "name"),
)

NOTIFICATIONS = Counter("kaged_notifications", "What became of notifications.", ("channel", "outcome"))

LOOP_LAG_SECONDS = Histogram(
    "kaged_event_loop_lag_seconds",
    "How late the event loop was, looked at twice a second.",
    bounds=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0),
)

COUNTERS = (
    *(RUNS, MODEL_CALLS, TOKENS, COST, TOOL_CALLS, DELEGATIONS, COMPACTIONS, BRIDGE_EVENTS),
    NOTIFICATIONS,
)
HISTOGRAMS = (RUN_SECONDS, MODEL_SECONDS, FIRST_TOKEN_SECONDS, TOOL_SECONDS, LOOP_LAG_SECONDS)


@dataclass(slots=True)
class Buckets:
    """One histogram series: how many observations fell into each bucket, and their sum."""

    counts: list[int]
    total: float = 0.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All numbers at one moment."""

    counters: dict[Counter, dict[Labels, float]]
    histograms: dict[Histogram, dict[Labels, Buckets]]
    gauges: dict[Gauge, dict[Labels, float]]


@dataclass(slots=True)
class Metrics:
    """The recorder; one for the daemon. Label values are given in the order of the metric's labels."""

    _counters: dict[Counter, dict[Labels, float]] = field(default_factory=dict)
    _histograms: dict[Histogram, dict[Labels, Buckets]] = field(default_factory=dict)
    _gauges: list[Gauge] = field(default_factory=list)

    def count(self, counter: Counter, *labels: str, amount: float = 1.0) -> None:
        """Add `amount`, which is not negative, to one series."""
        series = self._counters.setdefault(counter, {})
        key = labels if labels in series else _bounded(labels, series)
        series[key] = series.get(key, 0.0) + amount

    def observe(self, histogram: Histogram, *labels: str, value: float) -> None:
        """Take one observation into a series."""
        series = self._histograms.setdefault(histogram, {})
        key = labels if labels in series else _bounded(labels, series)
        buckets = series.get(key)
        if buckets is None:
            buckets = series[key] = Buckets([0] * (len(histogram.bounds) + 1))
        buckets.counts[bisect_left(histogram.bounds, value)] += 1
        buckets.total += value

    def show(self, *gauges: Gauge) -> None:
        """Ask for these numbers, too, whenever metrics are asked for."""
        self._gauges.extend(gauges)

    def snapshot(self) -> Snapshot:
        """Return a copy of everything; call it on the loop."""
        return Snapshot(
            counters={counter: dict(self._counters.get(counter, {})) for counter in COUNTERS},
            histograms={
                histogram: {
                    labels: Buckets(list(buckets.counts), buckets.total)
                    for labels, buckets in self._histograms.get(histogram, {}).items()
                }
                for histogram in HISTOGRAMS
            },
            gauges={gauge: dict(gauge.read()) for gauge in self._gauges},
        )


def _bounded(labels: Labels, series: Mapping[Labels, object]) -> Labels:
    if len(series) >= MAX_SERIES:
        return (OTHER,) * len(labels)
    return tuple(without_shapes(label)[:MAX_LABEL_CHARACTERS] for label in labels)
