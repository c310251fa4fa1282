"""What can be asked of an adapter: what it advertises, put right by what is known of it."""

from __future__ import annotations

import pytest

from app.bridges.dap.adapter_behaviour import AdapterBehaviour, Claims
from app.bridges.dap.capabilities import can, check_state, effective, need, request_of
from app.errors import ToolError
from app.states import DebugState

PLAIN = AdapterBehaviour(
    name="plain",
    adapter_id="plain",
)


@pytest.mark.requirement("debugger.capabilities.overrides")
def test_what_is_known_of_an_adapter_wins_over_what_it_says() -> None:
    told = {
        "supportsModulesRequest": True,
        "supportsStepBack": False,
        "supportsReadMemoryRequest": "yes",
        "exceptionBreakpointFilters": [{"filter": "uncaught"}],
    }
    plain = effective(told, PLAIN)
    assert can(plain, PLAIN, "modules") and can(plain, PLAIN, "stepOut")
    assert not can(plain, PLAIN, "stepBack") and not can(plain, PLAIN, "readMemory")
    assert "exceptionBreakpointFilters" in plain
    lies = AdapterBehaviour(
        name="lies",
        adapter_id="lies",
        capabilities=Claims(
            lacks=frozenset({"supportsModulesRequest", "stepOut"}),
            has=frozenset({"supportsStepBack"}),
            commands=frozenset({"ownRequest"}),
        ),
    )
    known = effective(told, lies)
    assert not can(known, lies, "modules") and not can(known, lies, "stepOut")
    assert can(known, lies, "stepBack") and can(known, lies, "ownRequest")
    for action, command, capability in (
        ("modules", "modules", "supportsModulesRequest"),
        ("step_out", "stepOut", "stepOut"),
        ("custom_request", "otherRequest", "otherRequest"),
    ):
        with pytest.raises(ToolError) as caught:
            need(known, lies, "lies", action, command)
        assert caught.value.detail == {"adapter": "lies", "capability": capability, "action": action}
    need(known, lies, "lies", "custom_request", "ownRequest")


@pytest.mark.requirement("debugger.state.actions")
@pytest.mark.parametrize(
    ("state", "legal"),
    [
        (DebugState.STARTING, frozenset()),
        (DebugState.RUNNING, frozenset({"pause", "threads", "modules", "loaded_sources"})),
        (DebugState.STOPPED, None),
        (DebugState.EXITED, frozenset()),
    ],
)
def test_each_action_is_legal_in_some_states(state: DebugState, legal: frozenset[str] | None) -> None:
    actions = ["continue", "step_into", "step_over", "step_out", "pause", "stack_trace", "threads", "scopes"]
    actions += ["variables", "evaluate", "disassemble", "read_memory", "write_memory", "modules"]
    actions += ["loaded_sources", "data_breakpoint_info"]
    legal = frozenset(actions) - {"pause"} if legal is None else legal
    for action in actions:
        assert request_of(action) is not None
        if action in legal:
            check_state(state, action)
            continue
        with pytest.raises(ToolError) as caught:
            check_state(state, action)
        assert caught.value.detail == {"state": state.value, "action": action}
        assert caught.value.code == ("not_running" if state is DebugState.STOPPED else "not_stopped")
