"""A daemon whose own clock starts nothing: a test of schedules says itself what time it is."""

from __future__ import annotations

import asyncio

import pytest


def stop_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let daemons in this process start no workflow at the time that it really is."""
    monkeypatch.setattr("app.harness.workflows.service.start_on_schedule_forever", _stands_still)


async def _stands_still(_: object) -> None:
    await asyncio.Event().wait()
