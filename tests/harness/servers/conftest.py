"""Servers get the time that they need on a busy machine."""

from __future__ import annotations

from functools import partial

import pytest

from app.bridges.mcp.limits import McpLimits
from app.bridges.processes.supervisor import FailureLimits


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server has a minute to list its tools again and to end, and is not started again for a minute."""
    limits = partial(
        McpLimits, start_seconds=90.0, relist_seconds=60.0, restarts=FailureLimits(first_seconds=60.0)
    )
    monkeypatch.setattr("app.bridges.mcp.manager.McpLimits", limits)
    monkeypatch.setattr("app.bridges.mcp.supervision._EXIT_SECONDS", 60.0)
