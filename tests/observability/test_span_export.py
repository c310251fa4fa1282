"""The queue of finished spans: bounded, never waited for, given up in time."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import pytest

from app.observability.span_export import MAX_BATCH, MAX_WAITING, SpanExport

SEEN = """
import asyncio, sys, tempfile
from app.config import load_settings
from app.daemon.lifespan import open_services
from app.observability import Redactor
import app.api.application

async def main():
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(environ={}, overrides={"daemon": {"data_dir": folder}})
        async with open_services(settings, Redactor()):
            pass

asyncio.run(main())
heavy = ("opentelemetry.sdk", "opentelemetry.exporter", "prometheus_client", "google", "requests")
found = [name for name in sys.modules if name.startswith(heavy)]
assert not found, found
"""


@pytest.mark.requirement("observability.dead")
def test_without_configuration_no_library_of_traces_or_metrics_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SEEN], capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stderr


async def test_everything_that_was_put_is_sent_in_order_and_in_batches() -> None:
    sent: list[list[int]] = []

    def send(batch: Sequence[int]) -> bool:
        sent.append(list(batch))
        return True

    export: SpanExport[int] = SpanExport("here", send, lambda: None)
    for number in range(1000):
        export.put(number)
    await export.stop(60)
    assert [number for batch in sent for number in batch] == list(range(1000))
    assert max(map(len, sent)) <= MAX_BATCH
    assert (export.sent, export.dropped) == (1000, 0)


@pytest.mark.requirement("observability.dead")
async def test_what_does_not_fit_is_dropped_and_nobody_waits(caplog: pytest.LogCaptureFixture) -> None:
    gate, closed = threading.Event(), threading.Event()

    def send(batch: Sequence[int]) -> bool:
        gate.wait(90)
        return True

    export: SpanExport[int] = SpanExport("nowhere", send, closed.set)
    started = time.monotonic()
    for number in range(3 * MAX_WAITING):
        export.put(number)
    assert time.monotonic() - started < 15
    assert export.dropped >= 3 * MAX_WAITING - MAX_WAITING - MAX_BATCH
    stopping = time.monotonic()
    await export.stop(0.2)
    assert time.monotonic() - stopping < 20
    assert closed.wait(30), "the sending that hangs is broken off"
    gate.set()
    (told,) = [record for record in caplog.records if record.name == "kaged.traces"]
    assert told.levelno == logging.WARNING


@pytest.mark.requirement("observability.dead")
async def test_a_failing_endpoint_is_reported_once_and_again_when_it_works(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A batch is sent when it is whole, however long this machine takes to put it.
    monkeypatch.setattr("app.observability.span_export.GATHER_SECONDS", 60.0)
    caplog.set_level(logging.INFO, "kaged.traces")
    answers = iter([False, ValueError("refused"), False, True, True])
    asked = threading.Semaphore(0)

    def send(batch: Sequence[int]) -> bool:
        asked.release()
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    export: SpanExport[int] = SpanExport("there", send, lambda: None)
    for _ in range(5):
        for number in range(MAX_BATCH):
            export.put(number)
        assert asked.acquire(timeout=60)
    await export.stop(60)
    told = [record.levelname for record in caplog.records if record.name == "kaged.traces"]
    assert told == ["WARNING", "INFO"]
    assert (export.sent, export.dropped) == (2 * MAX_BATCH, 3 * MAX_BATCH)
