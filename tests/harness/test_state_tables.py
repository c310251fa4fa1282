"""The tables of legal moves: every event in every state, and states that nothing follows."""

from __future__ import annotations

from typing import Any

import pytest

from app.errors import Conflict
from app.states import (
    OPERATOR_EVENTS,
    RUN_MOVES,
    SESSION_MOVES,
    TOOL_CALL_MOVES,
    WORKABLE,
    WORKSPACE_MOVES,
    AttemptsState,
    CheckState,
    RunState,
    SessionEvent,
    SessionState,
    ToolCallState,
    WorkspaceState,
    legal_for_operators,
    move,
    move_session,
)


@pytest.mark.requirement("loop.machine")
@pytest.mark.parametrize("state", SessionState)
@pytest.mark.parametrize("event", SessionEvent)
def test_every_event_in_every_state_moves_by_the_table_or_names_what_is_legal(
    state: SessionState, event: SessionEvent
) -> None:
    if (state, event) in SESSION_MOVES:
        assert move_session(state, event) == SESSION_MOVES[state, event]
        return
    with pytest.raises(Conflict) as refused:
        move_session(state, event)
    assert refused.value.details == {
        "reason": "invalid_transition",
        "state": state.value,
        "legal_events": legal_for_operators(state),
    }


@pytest.mark.requirement("loop.machine")
@pytest.mark.parametrize("state", SessionState)
def test_what_a_person_cannot_do_now_is_refused_in_words(state: SessionState) -> None:
    for event in OPERATOR_EVENTS:
        if (state, event) not in SESSION_MOVES:
            with pytest.raises(Conflict) as refused:
                move_session(state, event)
            assert "_" not in refused.value.message
            assert "Possible: " in refused.value.message or state is SessionState.ARCHIVED


@pytest.mark.requirement("loop.machine")
@pytest.mark.parametrize(("kind", "table"), [(RunState, RUN_MOVES), (ToolCallState, TOOL_CALL_MOVES)])
def test_runs_and_calls_end_once(kind: Any, table: Any) -> None:
    for current in kind:
        for target in kind:
            if target in table[current]:
                assert move(current, target) is target
            else:
                with pytest.raises(Conflict):
                    move(current, target)
    under_way = {"pending", "running", "waiting"}
    assert all(bool(table[state]) is (state.value in under_way) for state in kind)


def test_a_discarded_workspace_comes_back_and_a_kept_one_has_ended() -> None:
    assert move(WorkspaceState.DISCARDED, WorkspaceState.READY) is WorkspaceState.READY
    assert not WORKSPACE_MOVES[WorkspaceState.KEPT]
    assert set(WORKSPACE_MOVES) == set(WorkspaceState)
    assert {WorkspaceState.CREATING, WorkspaceState.KEPT, WorkspaceState.DISCARDED}.isdisjoint(WORKABLE)


def test_a_pick_goes_back_or_to_its_end_and_a_check_can_always_begin_again() -> None:
    assert move(AttemptsState.PICKING, AttemptsState.OPEN) is AttemptsState.OPEN
    with pytest.raises(Conflict):
        move(AttemptsState.OPEN, AttemptsState.PICKED)
    with pytest.raises(Conflict):
        move(AttemptsState.PICKED, AttemptsState.PICKING)
    with pytest.raises(Conflict):  # it is claimed
        move(AttemptsState.PICKING, AttemptsState.PICKING)
    assert all(move(state, CheckState.RUNNING) is CheckState.RUNNING for state in CheckState)
