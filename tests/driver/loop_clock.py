"""The clock of the event loop, put forward: a test of a time limit need not wait for it, nor be in time."""

from __future__ import annotations

import asyncio
import time

import pytest

_monotonic = time.monotonic


def put_forward(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let it be so many seconds later for every timer of the running loop."""
    loop = asyncio.get_running_loop()
    real = loop.time
    monkeypatch.setattr(loop, "time", lambda: real() + seconds)


def put_all_forward(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let it be so many seconds later for every timer, and for who measures how long something takes."""
    monkeypatch.setattr(time, "monotonic", lambda: _monotonic() + seconds)
