"""What a crash left of a session is put right in one unit of work, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from app.errors import StorageError
from app.harness.conversation.history import WAITING_RESULT, History
from app.harness.sessions.recovery import ABORTED, NOT_RUN, NOT_STARTED, recover
from app.harness.stream.event_hub import EventHub
from app.messages import AssistantMessage, ToolCallBlock, ToolResultsMessage
from app.storage.models import Message
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows

SESSION = "ses_00001"
CALLS = ("call_1", "call_2", "call_3")


def block(call_id: str) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": "file.read", "arguments": {"path": "a"}}


def call(number: int, state: str, **values: Any) -> Any:
    return rows.tool_call(
        number,
        run_id="run_00001",
        step=1,
        message_id="msg_00002",
        state=state,
        arguments={"path": "a"},
        **values,
    )


def wreck(uow: UnitOfWork) -> None:
    """A running session with a queued message, whose run has one step with no end yet."""
    uow.projects.add(rows.project())
    uow.sessions.add(rows.session(state="running", seq_reserved=100))
    uow.messages.add(rows.message(1, role="operator", content="Do it", run_id="run_00001"))
    uow.messages.add(rows.message(9, role="operator", content="And then", position=None, delivery="queued"))
    uow.runs.add(rows.run(1, state="running", step_count=1))


def cut_off_while_streaming(uow: UnitOfWork) -> None:
    wreck(uow)
    uow.runs.insert_steps([rows.step("run_00001", 1, message_id="msg_00002").model_dump()])
    uow.messages.add(rows.message(2, role="primary", content="I am ab", complete=False))


def cut_off_after_a_call_was_asked_for(uow: UnitOfWork) -> None:
    cut_off_while_streaming(uow)
    uow.tool_calls.add(call(1, "pending"))


def cut_off_between_calls_and_results(uow: UnitOfWork) -> None:
    """Three calls: one has its result, one was running, one had not begun."""
    wreck(uow)
    uow.runs.insert_steps(
        [rows.step("run_00001", 1, message_id="msg_00002", ended_at=5, stop_reason="toolUse").model_dump()]
    )
    blocks = [block(call_id) for call_id in CALLS]
    details = {"contentBlocks": blocks, "stopReason": "toolUse"}
    uow.messages.add(rows.message(2, role="primary", content="", details=details))
    given = {"toolCallId": "call_2", "toolName": "file.read"}
    uow.messages.add(rows.message(4, role="tool", content="the file", details=given))
    uow.tool_calls.add(call(1, "running"))
    uow.tool_calls.add(call(2, "succeeded", result_message_id="msg_00004"))
    uow.tool_calls.add(call(3, "pending"))


def cut_off_while_a_call_waited_for_consent(uow: UnitOfWork) -> None:
    cut_off_between_calls_and_results(uow)
    uow.interactions.add(rows.interaction(1, run_id="run_00001", tool_call_id="call_1"))
    uow.interactions.add(rows.interaction(2, run_id="run_00001", state="answered", tool_call_id="call_3"))


def cut_off_while_a_subagents_call_waited_for_consent(uow: UnitOfWork) -> None:
    cut_off_between_calls_and_results(uow)
    path = "primary.subagents.coder"
    below = {"agent_path": path, "parent_run_id": "run_00001", "parent_call_id": "call_1"}
    uow.runs.add(rows.run(2, state="running", **below))
    uow.tool_calls.add(
        rows.tool_call(7, run_id="run_00002", step=1, state="running", agent_path=path, call_id="call_7")
    )
    uow.interactions.add(rows.interaction(1, run_id="run_00002", tool_call_id="call_7", agent_path=path))


def cut_off_between_two_runs(uow: UnitOfWork) -> None:
    wreck(uow)
    uow.runs.update("run_00001", state="succeeded", ended_at=7)


WRECKS: list[tuple[Callable[[UnitOfWork], None], list[str]]] = [
    (cut_off_while_streaming, ["message.end", "step.ended", "run.ended"]),
    (
        cut_off_after_a_call_was_asked_for,
        ["message.end", "message.tool_result", "step.ended", "run.ended"],
    ),
    (
        cut_off_between_calls_and_results,
        ["message.tool_result", "message.tool_result", "step.ended", "run.ended"],
    ),
    (cut_off_while_a_call_waited_for_consent, ["message.tool_result", "step.ended", "run.ended"]),
    (
        cut_off_while_a_subagents_call_waited_for_consent,
        [
            *("permission.answered", "message.tool_result", "run.ended"),
            *("message.tool_result", "message.tool_result", "step.ended", "run.ended"),
        ],
    ),
    (cut_off_between_two_runs, []),
]


async def frames_of(storage: Storage) -> list[dict[str, Any]]:
    events = await storage.read(lambda uow: uow.events.after(SESSION, 0, 2**60, 1000))
    return [orjson.loads(event.frame) for event in events]


async def history_of(storage: Storage) -> tuple[list[Message], History]:
    messages = await storage.read(lambda uow: uow.messages.history(SESSION, "primary"))
    return messages, History(messages)


@pytest.mark.requirement("recovery.restart")
@pytest.mark.parametrize(("left", "closing"), WRECKS, ids=lambda value: getattr(value, "__name__", ""))
async def test_everything_open_is_closed_and_the_session_pauses_with_a_checkpoint(
    storage: Storage, left: Callable[[UnitOfWork], None], closing: list[str]
) -> None:
    await storage.write(left)
    assert await recover(storage, EventHub(storage)) == 1

    frames = await frames_of(storage)
    assert [frame["type"] for frame in frames] == [*closing, "checkpoint.created", "session.state"]
    assert [frame["seq"] for frame in frames] == list(range(101, 101 + len(frames)))
    waits = left is cut_off_while_a_call_waited_for_consent
    reason = "interaction" if waits else "daemon_restart"
    assert frames[-1]["payload"] == {
        "state": "paused",
        "previous": "running",
        "reason": reason,
        "detail": None,
    }

    def look(uow: UnitOfWork) -> None:
        session = uow.sessions.get(SESSION)
        assert session is not None
        assert (session.state, session.state_reason) == ("paused", reason)
        (checkpoint,) = uow.checkpoints.open(SESSION)
        assert (checkpoint.reason, checkpoint.created_by) == (reason, "daemon")
        assert checkpoint.message_cursor == uow.messages.history(SESSION, "primary")[-1].id
        assert not uow.runs.in_states(["pending", "running"])
        assert all(step.ended_at is not None for step in uow.runs.steps("run_00001"))
        assert not uow.tool_calls.unfinished(SESSION)
        assert not uow.messages.incomplete(SESSION)
        assert len(uow.interactions.pending(SESSION)) == waits
        assert len(uow.tool_calls.waiting(SESSION)) == waits
        assert [row.content for row in uow.messages.queued(SESSION)] == ["And then"]

    await storage.read(look)


@pytest.mark.requirement("durability.start_marks")
async def test_every_unfinished_call_gets_a_result_and_a_finished_one_keeps_its_own(storage: Storage) -> None:
    await storage.write(cut_off_between_calls_and_results)
    await recover(storage, EventHub(storage))

    messages, history = await history_of(storage)
    answer = history.messages[-1]
    assert isinstance(answer, ToolResultsMessage)
    assert [result.tool_call_id for result in answer.results] == list(CALLS)
    assert [result.is_error for result in answer.results] == [True, False, True]
    assert answer.results[1].content == "the file"
    assert answer.results[0].content.endswith(ABORTED)
    assert answer.results[2].content.endswith(NOT_STARTED)
    assert len({row.position for row in messages}) == len(messages)
    calls = await storage.read(lambda uow: uow.tool_calls.for_run("run_00001"))
    assert [row.state for row in calls] == ["interrupted", "succeeded", "interrupted"]
    assert {row.result_message_id for row in calls} <= {row.id for row in messages}


@pytest.mark.requirement("authorisation.ask", "interactions.permission")
async def test_a_call_of_the_root_agent_goes_on_waiting_for_consent(storage: Storage) -> None:
    await storage.write(cut_off_while_a_call_waited_for_consent)
    await recover(storage, EventHub(storage))

    def look(uow: UnitOfWork) -> tuple[list[Message], list[str], list[str]]:
        calls = [call.call_id for call in uow.tool_calls.waiting(SESSION)]
        states = [getattr(uow.interactions.get(f"itx_0000{n}"), "state", "") for n in (1, 2)]
        return uow.messages.history(SESSION, "primary"), calls, states

    messages, waiting, states = await storage.read(look)
    answer = History(messages, waiting=waiting).messages[-1]
    assert isinstance(answer, ToolResultsMessage)
    assert waiting == ["call_1"]
    assert answer.results[0].content == WAITING_RESULT
    assert NOT_STARTED in answer.results[2].content
    assert states == ["pending", "answered"]


@pytest.mark.requirement("authorisation.ask")
async def test_a_subagents_call_that_waited_for_consent_is_known_not_to_have_run(storage: Storage) -> None:
    await storage.write(cut_off_while_a_subagents_call_waited_for_consent)
    await recover(storage, EventHub(storage))

    def look(uow: UnitOfWork) -> tuple[Message | None, str]:
        (call,) = uow.tool_calls.for_run("run_00002")
        assert call.state == "interrupted"
        return uow.messages.get(call.result_message_id or ""), getattr(
            uow.interactions.get("itx_00001"), "state", ""
        )

    result, state = await storage.read(look)
    assert result is not None and NOT_RUN in result.content
    assert state == "expired"


@pytest.mark.requirement("authorisation.ask")
async def test_a_question_whose_run_had_ended_is_expired_too(storage: Storage) -> None:
    def left(uow: UnitOfWork) -> None:
        rows.family(uow)
        uow.interactions.add(rows.interaction(1))

    await storage.write(left)
    assert await recover(storage, EventHub(storage)) == 0
    found = await storage.read(lambda uow: uow.interactions.get("itx_00001"))
    assert found is not None
    assert found.state == "expired"


@pytest.mark.requirement("durability.outage_at_end")
async def test_what_a_failed_run_left_open_is_closed_and_the_session_stays_idle(storage: Storage) -> None:
    def left(uow: UnitOfWork) -> None:
        cut_off_after_a_call_was_asked_for(uow)
        uow.runs.update("run_00001", state="failed", reason="unavailable", ended_at=7)
        uow.sessions.update(SESSION, state="idle")

    await storage.write(left)
    assert await recover(storage, EventHub(storage)) == 1

    types = [frame["type"] for frame in await frames_of(storage)]
    assert types == ["message.end", "message.tool_result", "step.ended"]

    def look(uow: UnitOfWork) -> None:
        session, run = uow.sessions.get(SESSION), uow.runs.get("run_00001")
        assert session is not None and run is not None
        assert (session.state, run.state, run.reason) == ("idle", "failed", "unavailable")
        assert not uow.tool_calls.unfinished(SESSION)
        assert not uow.messages.incomplete(SESSION)
        assert not uow.checkpoints.open(SESSION)

    await storage.read(look)
    assert await recover(storage, EventHub(storage)) == 0


async def test_a_call_of_a_message_that_broke_off_is_shown_to_the_model_with_its_result(
    storage: Storage,
) -> None:
    await storage.write(cut_off_after_a_call_was_asked_for)
    await recover(storage, EventHub(storage))

    messages, history = await history_of(storage)
    assert messages[1].complete
    assert messages[1].details["stopReason"] == "aborted"
    said, answer = history.messages[-2:]
    assert isinstance(said, AssistantMessage)
    assert isinstance(answer, ToolResultsMessage)
    assert [b.id for b in said.blocks if isinstance(b, ToolCallBlock)] == ["call_1"]
    assert [b.text for b in said.blocks if b.type == "text"] == ["I am ab"]
    assert [result.tool_call_id for result in answer.results] == ["call_1"]


def failing(work: Callable[[UnitOfWork], Any]) -> Callable[[UnitOfWork], None]:
    def unit(uow: UnitOfWork) -> None:
        work(uow)
        raise StorageError("the disk is full")

    return unit


async def test_a_crash_during_recovery_changes_nothing_and_the_next_one_completes_it(
    storage: Storage,
) -> None:
    await storage.write(cut_off_between_calls_and_results)
    before = await storage.read(lambda uow: uow.messages.history(SESSION, "primary"))

    class Broken:
        """The storage, whose last write of a unit or of its parts fails, as when the disk is full."""

        def submit(self, work: Any, *, parts: Any = (), **options: Any) -> asyncio.Future[Any]:
            return storage.submit(failing(work), parts=[failing(part) for part in parts], **options)

        async def read(self, work: Any) -> Any:
            return await storage.read(work)

    with pytest.raises(StorageError, match="full"):
        await recover(storage, EventHub(Broken()))
    assert await storage.read(lambda uow: uow.messages.history(SESSION, "primary")) == before
    assert await frames_of(storage) == []

    assert await recover(storage, EventHub(storage)) == 1
    frames = await frames_of(storage)
    assert await recover(storage, EventHub(storage)) == 0
    assert await frames_of(storage) == frames


async def test_sessions_that_were_not_running_are_left_alone(storage: Storage) -> None:
    def left(uow: UnitOfWork) -> None:
        uow.projects.add(rows.project())
        for number, state in enumerate(("idle", "queued", "paused", "archived"), 1):
            uow.sessions.add(rows.session(number, state=state))

    await storage.write(left)
    assert await recover(storage, EventHub(storage)) == 0
    stored = await storage.read(lambda uow: [uow.sessions.get(f"ses_0000{n}") for n in range(1, 5)])
    assert [row and row.state for row in stored] == ["idle", "queued", "paused", "archived"]
    assert await frames_of(storage) == []


async def test_calls_that_an_operator_made_directly_are_closed_too(storage: Storage) -> None:
    def left(uow: UnitOfWork) -> None:
        rows.family(uow)
        uow.tool_calls.add(rows.tool_call(1, state="running"))

    await storage.write(left)
    await recover(storage, EventHub(storage))
    row = await storage.read(lambda uow: uow.tool_calls.get("tcl_00001"))
    assert row is not None
    assert (row.state, row.error_code) == ("interrupted", "aborted")
