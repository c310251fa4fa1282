"""When `kaged attach --until-idle` leaves. Without a daemon, whose moment between two states is too short."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.cli.attach import _show_live
from app.cli.client import ReceivedFrame
from app.cli.questions import Questions
from app.cli.stream_view import StreamView

pytestmark = pytest.mark.requirement("command_line.attach")


class Daemon:
    """Answers what a session is like, each time by the next of its `details`."""

    def __init__(self, *details: dict[str, Any]) -> None:
        self.details = list(details)

    async def request(self, method: str, path: str) -> dict[str, Any]:
        return self.details.pop(0)


def detail(
    state: str, last_seq: int, run: str | None, questions: int = 0, reason: str = "interaction"
) -> dict[str, Any]:
    return {
        "state": state,
        "state_reason": reason if state == "paused" else None,
        "last_seq": last_seq,
        "active_run": run,
        "pending_interactions": questions,
    }


async def left_after(client: Any, *frames: tuple[str, dict[str, Any]]) -> str:
    """Return the type of the frame after which the command leaves; the first one has the number 1."""
    shown: list[str] = []

    async def live() -> AsyncIterator[ReceivedFrame]:
        for number, (event, payload) in enumerate(frames, 1):
            shown.append(event)
            yield ReceivedFrame("", number, event, payload, "run_1", None)

    view = StreamView(interactive=False)
    questions = Questions(client, view, "ses_1", silent=True)
    await _show_live(client, view, "ses_1", live(), questions, as_json=True, until_idle=True)
    return shown[-1]


async def test_a_run_that_is_about_to_take_its_answer_is_waited_for() -> None:
    client = Daemon(
        detail("paused", 1, "run_1"),
        detail("running", 2, "run_1"),
        detail("idle", 4, None),
        detail("idle", 4, None),
    )
    first = ("sync", {"through_seq": 1})
    left = await left_after(client, first, ("session.state", {}), ("run.ended", {}), ("session.state", {}))
    assert left == "session.state"
    assert client.details == []


async def test_a_run_that_waits_for_an_answer_is_left() -> None:
    client = Daemon(detail("paused", 1, "run_1", questions=1))
    assert await left_after(client, ("sync", {"through_seq": 1}), ("session.state", {})) == "sync"


async def test_a_run_that_an_operator_has_paused_is_left() -> None:
    client = Daemon(detail("paused", 1, "run_1", reason="operator"))
    assert await left_after(client, ("sync", {"through_seq": 1}), ("session.state", {})) == "sync"
