"""Medians, percentiles, and one line per figure with its target."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(values: Sequence[float], unit: str) -> str:
    return (
        f"median {statistics.median(values):.3f} {unit}, 95th {percentile(values, 0.95):.3f}, "
        f"largest {max(values):.3f} (n={len(values)})"
    )


def report(name: str, value: float, unit: str, *, at_most: float | None = None, peers: str = "") -> None:
    """Print one figure; `at_most` is what it should reach, `peers` what comparable products take."""
    goal = "" if at_most is None else f"  goal <= {at_most:g} {unit}  ratio {value / at_most:.2f}"
    beside = f"  peers {peers}" if peers else ""
    print(f"{name}: {value:.3f} {unit}{goal}{beside}", flush=True)


def machine_now() -> str:
    """Say how fast this machine is at the moment: absolute figures only compare at like speed."""
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        total = 0
        for number in range(1_000_000):
            total += number & 7
        best = min(best, time.perf_counter() - began)
    return f"machine now: {best * 1000:.0f} ms for a million turns of a plain loop"
