"""Time for traces: a busy machine is slower than the deadlines with which the daemon protects itself."""

from __future__ import annotations

import pytest

from tests.driver.daemon_process import WAIT_SECONDS


@pytest.fixture
def patient_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector that works gets everything, however long that takes."""
    monkeypatch.setattr("app.observability.otel.STOP_SECONDS", WAIT_SECONDS)
    monkeypatch.setattr("app.observability.otel.SEND_SECONDS", WAIT_SECONDS)
