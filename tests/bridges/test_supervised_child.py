"""A supervised child that breaks while it is stopped. Plugins and MCP servers show all else of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.bridges.processes.child import ChildEnded
from app.bridges.processes.supervised_child import ChildLimits, SupervisedChild, Unavailable
from app.states import PluginState


class Wire:
    """A connection that stays."""

    ended = False


class BreakingChild(SupervisedChild[Wire]):
    """Its connection breaks while it is stopped, and the failure takes the place of the cancellation, as a
    group of tasks raises it."""

    noun = "child"
    audited_as = "child"
    runs = 0

    async def _run(self) -> ChildEnded:
        self.runs += 1
        with self._lending(Wire(), number=self.runs):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return ChildEnded("the connection broke")
        raise AssertionError("nothing sets the event")


@pytest.mark.requirement("plugins.supervision")
async def test_a_failure_at_the_stop_starts_nothing_again() -> None:
    audited: list[tuple[str, dict[str, Any]]] = []

    def record(event: str, _project_id: str, data: dict[str, Any]) -> None:
        audited.append((event, data))

    child = BreakingChild("notes", "prj_1", {"child": "notes"}, record, ChildLimits())
    await child.connected()

    child.begin_stop("daemon_shutdown")
    async with asyncio.timeout(10):
        await child.stopped()

    assert child.is_over
    assert (child.runs, child.state, child.failures) == (1, PluginState.STOPPED, 0)
    assert audited == [
        ("child.started", {"child": "notes", "number": 1}),
        ("child.stopped", {"child": "notes", "reason": "daemon_shutdown"}),
    ]
    with pytest.raises(Unavailable, match=r"it was stopped \(daemon_shutdown\)"):
        await child.connected()
