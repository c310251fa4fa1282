"""What happens when sessions need more than the processor: fewer run, others wait, more are refused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from app.daemon.gauges import watch_loop_forever
from app.errors import RateLimited
from app.harness.sessions.capacity import Capacity, Claim
from app.harness.sessions.overload import LOOKS, Look, Overload
from app.observability.metrics import LOOP_LAG_SECONDS, Metrics
from tests.driver.sessions import WAIT_SECONDS, Driver, driven
from tests.fakes.provider_script import Hold, RecordedRequest, Reply, Text
from tests.fakes.provider_server import FakeProvider

OVERLOADED = Look(0.5, 0.49, 0.03)
STARVED = Look(0.5, 0.2, 0.3)
"""Others have the processor: the loop is very late, and this process has hardly run."""
BUSY = Look(0.5, 0.49, 0.001)
BETWEEN = Look(0.5, 0.42, 0.005)
CALM = Look(0.5, 0.1, 0.001)


def after(overload: Overload, *looks: Look, running: int) -> int | None:
    for look in looks:
        overload.take(look, running=running)
    return overload.ceiling


def test_an_overload_lowers_the_number_step_by_step_and_not_below_what_is_guaranteed() -> None:
    overload = Overload(at_least=8)
    assert after(overload, *[OVERLOADED] * (LOOKS - 1), running=100) is None
    assert after(overload, OVERLOADED, running=100) == 70
    assert after(overload, *[OVERLOADED] * LOOKS, running=100) == 70  # those that run have not ended yet
    assert after(overload, *[OVERLOADED] * LOOKS, running=70) == 49
    for _ in range(20):
        running = overload.ceiling or 0
        after(overload, *[OVERLOADED] * LOOKS, running=running)
    assert overload.ceiling == 8
    assert after(Overload(at_least=8), *[OVERLOADED] * LOOKS, running=8) is None


@pytest.mark.parametrize("look", [STARVED, BUSY, CALM], ids=["starved", "busy", "calm"])
def test_a_slow_machine_and_a_daemon_that_keeps_up_are_no_overload(look: Look) -> None:
    assert after(Overload(at_least=1), *[look] * LOOKS * 10, running=100) is None


def test_a_busy_moment_is_no_overload() -> None:
    overload = Overload(at_least=1)
    for _ in range(10):
        assert after(overload, *[OVERLOADED] * (LOOKS // 2), *[CALM] * (LOOKS // 2), running=100) is None


def test_without_a_guaranteed_number_nothing_is_limited() -> None:
    assert after(Overload(at_least=None), *[OVERLOADED] * LOOKS * 10, running=100) is None


def test_more_may_run_after_an_overload_until_they_are_as_many_as_want_to() -> None:
    overload = Overload(at_least=8)
    assert after(overload, *[OVERLOADED] * LOOKS, running=60) == 42
    assert after(overload, *[BETWEEN] * LOOKS, running=42) == 42
    assert after(overload, *[CALM] * LOOKS, running=42) == 47
    assert after(overload, *[CALM] * LOOKS, running=47) == 52
    assert after(overload, *[CALM] * LOOKS, running=20) is None


def test_sessions_wait_above_the_number_and_start_in_their_order_when_more_may_run() -> None:
    capacity = Capacity(per_project=100, per_operator=100)
    started: list[str] = []

    def ask(name: str) -> bool:
        claim = Claim(name, "p", "o")
        if capacity.try_acquire(claim):
            return True
        capacity.wait(claim, lambda: started.append(name))
        return False

    assert [ask(name) for name in "abc"] == [True] * 3
    capacity.limit_to(2)
    assert [ask(name) for name in "def"] == [False] * 3
    capacity.release("a")
    assert started == []  # two run
    capacity.release("b")
    assert started == ["d"]
    capacity.limit_to(3)
    assert started == ["d", "e"]
    capacity.limit_to(None)
    assert started == ["d", "e", "f"]


def test_as_many_may_wait_as_may_run() -> None:
    capacity = Capacity(per_project=1, per_operator=1)
    for name in ("a", "b", "c"):
        capacity.wait(Claim(name, "p", "o"), lambda: None)
    capacity.refuse_beyond_queue()  # there is no overload: any number waits
    capacity.limit_to(3)
    capacity.refuse_beyond_queue()
    capacity.limit_to(2)
    with pytest.raises(RateLimited) as refused:
        capacity.refuse_beyond_queue()
    assert refused.value.details == {"reason": "overloaded", "retry_after_seconds": 5}


class Answered:
    """A model that answers when the test lets it."""

    def __init__(self, fake: FakeProvider) -> None:
        self.hold = Hold()
        fake.respond = self._respond

    def _respond(self, request: RecordedRequest) -> Reply:
        return Reply((Text("Hi"), self.hold))


async def post(driver: Driver, session_id: str) -> Any:
    return await driver.client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "Go"})


async def test_a_message_runs_then_waits_then_is_refused_and_the_rest_works(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], project_root: Path
) -> None:
    answered = Answered(fake)
    limits = {"sessions_per_project": 10, "sessions_per_operator": 10}
    async with driven(tmp_path / "data", project_root, limits=limits, **settings_overrides) as driver:
        first, waits, refused = driver.session_id, await driver.new_session(), await driver.new_session()
        capacity = driver.daemon.services.sessions.capacity
        assert not (await post(driver, first)).json()["queued"]
        capacity.limit_to(1)
        assert (await post(driver, waits)).json()["queued"]
        answer = await post(driver, refused)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")
        error = answer.json()["error"]
        assert (error["code"], error["details"]["reason"]) == ("rate_limited", "overloaded")
        shown = (await driver.client.get("/api/v1/metrics")).text
        assert "\nkaged_overload_sessions 1.0\n" in shown
        # What begins no other session is not refused: reading, a message for a session that runs, cancelling.
        assert (await post(driver, first)).json()["queued"]
        driver.session_id = refused
        assert await driver.state() == "idle"
        driver.session_id = first
        await driver.session_call("POST", "/cancel")
        driver.session_id = waits
        async with driver.watching() as watch:
            answered.hold.gate.set()
            await watch.until_state("idle")
        capacity.limit_to(None)
        driver.session_id = refused
        assert not (await post(driver, refused)).json()["queued"]


async def watched(cpu_time: Callable[[], float], seen: Callable[[Capacity, Metrics], bool]) -> Capacity:
    """Run the watch on a loop that is late all the time, until something is seen."""
    capacity, metrics = Capacity(per_project=10, per_operator=10), Metrics()
    for name in "abcde":
        assert capacity.try_acquire(Claim(name, "p", "o"))
    watch = asyncio.create_task(
        watch_loop_forever(metrics, capacity, Overload(at_least=1), cpu_time=cpu_time)
    )
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while not seen(capacity, metrics):
                time.sleep(0.1)  # noqa: ASYNC251 - the loop has more to do than it can
                await asyncio.sleep(0)
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
    return capacity


def looks(metrics: Metrics) -> int:
    series = metrics.snapshot().histograms.get(LOOP_LAG_SECONDS, {})
    return sum(sum(buckets.counts) for buckets in series.values())


async def test_the_watch_lowers_the_number_when_the_daemon_computes_all_the_time() -> None:
    capacity = await watched(time.monotonic, lambda capacity, _: capacity.ceiling is not None)
    assert capacity.ceiling == 3


async def test_the_watch_does_not_lower_it_when_others_have_the_processor() -> None:
    capacity = await watched(lambda: time.monotonic() / 2, lambda _, metrics: looks(metrics) > LOOKS + 1)
    assert capacity.ceiling is None
