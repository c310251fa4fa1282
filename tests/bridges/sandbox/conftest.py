"""What every test of a cage relies on."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def every_look_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cage is looked through before each start, as on a machine that does nothing else: after a look
    that took long, the product leaves that out."""
    monkeypatch.setattr("app.bridges.sandbox.new_names.QUICK_SECONDS", 60.0)
