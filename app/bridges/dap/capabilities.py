"""What a debug adapter can be asked for, and when.

Owns: which capability of the protocol each request needs, in which states each action of the tool is
legal, and what counts when an adapter's own flags lie. Never: asking.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.bridges.dap.adapter_behaviour import AdapterBehaviour
from app.errors import ToolError, invalid_params
from app.states import DebugState

FILTERS = "exceptionBreakpointFilters"
MAX_CAPABILITIES = 500

_ALWAYS = frozenset(
    {"threads", "stackTrace", "scopes", "variables", "evaluate", "source", "setBreakpoints"}
    | {"continue", "next", "stepIn", "stepOut", "pause", "disconnect", "setExceptionBreakpoints"}
)
"""Requests that every adapter has; one that has not says so in its behaviour, by the request's name."""

_CAPABILITIES: Mapping[str, str] = {
    "breakpointLocations": "supportsBreakpointLocationsRequest",
    "cancel": "supportsCancelRequest",
    "completions": "supportsCompletionsRequest",
    "configurationDone": "supportsConfigurationDoneRequest",
    "dataBreakpointInfo": "supportsDataBreakpoints",
    "disassemble": "supportsDisassembleRequest",
    "exceptionInfo": "supportsExceptionInfoRequest",
    "goto": "supportsGotoTargetsRequest",
    "gotoTargets": "supportsGotoTargetsRequest",
    "loadedSources": "supportsLoadedSourcesRequest",
    "modules": "supportsModulesRequest",
    "readMemory": "supportsReadMemoryRequest",
    "restart": "supportsRestartRequest",
    "restartFrame": "supportsRestartFrame",
    "reverseContinue": "supportsStepBack",
    "setDataBreakpoints": "supportsDataBreakpoints",
    "setExpression": "supportsSetExpression",
    "setFunctionBreakpoints": "supportsFunctionBreakpoints",
    "setInstructionBreakpoints": "supportsInstructionBreakpoints",
    "setVariable": "supportsSetVariable",
    "stepBack": "supportsStepBack",
    "stepInTargets": "supportsStepInTargetsRequest",
    "terminate": "supportsTerminateRequest",
    "terminateThreads": "supportsTerminateThreadsRequest",
    "writeMemory": "supportsWriteMemoryRequest",
}
"""The capability behind each request that an adapter need not have."""

_ACTIONS: Mapping[str, str] = {
    "continue": "continue",
    "data_breakpoint_info": "dataBreakpointInfo",
    "disassemble": "disassemble",
    "evaluate": "evaluate",
    "loaded_sources": "loadedSources",
    "modules": "modules",
    "pause": "pause",
    "read_memory": "readMemory",
    "scopes": "scopes",
    "set_breakpoint": "setBreakpoints",
    "set_data_breakpoint": "setDataBreakpoints",
    "set_instruction_breakpoint": "setInstructionBreakpoints",
    "set_variable": "setVariable",
    "stack_trace": "stackTrace",
    "step_into": "stepIn",
    "step_out": "stepOut",
    "step_over": "next",
    "threads": "threads",
    "variables": "variables",
    "write_memory": "writeMemory",
}
"""The request behind each action of the tool that is one."""

_WHILE_RUNNING = frozenset(
    {"threads", "modules", "loaded_sources", "custom_request", "set_breakpoint", "remove_breakpoint"}
    | {"list_breakpoints", "set_instruction_breakpoint", "remove_instruction_breakpoint"}
    | {"set_data_breakpoint", "remove_data_breakpoint", "set_exceptions", "disconnect"}
)
"""Actions that are legal whether the program runs or stands; all others but `pause` need it to stand."""

_INSTEAD: Mapping[str, str] = {
    "attach": "attach",
    "cancel": "",
    "configurationDone": "",
    "continue": "continue",
    "disconnect": "disconnect",
    "initialize": "",
    "launch": "launch",
    "next": "step_over",
    "pause": "pause",
    "runInTerminal": "",
    "setBreakpoints": "set_breakpoint",
    "setDataBreakpoints": "set_data_breakpoint",
    "setFunctionBreakpoints": "set_breakpoint",
    "setInstructionBreakpoints": "set_instruction_breakpoint",
    "startDebugging": "",
    "stepIn": "step_into",
    "stepOut": "step_out",
}
"""Requests that the bridge has to know of, with the action that makes them."""

MOVING = frozenset({"goto", "restart", "restartFrame", "reverseContinue", "stepBack"})
"""Requests after which the adapter reports a new stop."""


def effective(advertised: Mapping[str, Any], behaviour: AdapterBehaviour) -> frozenset[str]:
    """Return what can be asked for: capabilities by their names, and the requests that need none.

    `advertised` is the body of the answer to `initialize`. What is known of the adapter wins.
    """
    supported = {name for name, value in list(advertised.items())[:MAX_CAPABILITIES] if value is True}
    if isinstance(filters := advertised.get(FILTERS), list) and filters:
        supported.add(FILTERS)
    return frozenset((supported | _ALWAYS | behaviour.capabilities.has) - behaviour.capabilities.lacks)


def needed_for(command: str) -> str:
    """Return the capability that a request needs; the request's own name when it needs none."""
    return _CAPABILITIES.get(command, command)


def request_of(action: str) -> str | None:
    """Return the request behind an action of the tool, None when it is more than one request."""
    return _ACTIONS.get(action)


def can(capabilities: frozenset[str], behaviour: AdapterBehaviour, command: str) -> bool:
    """Tell whether a request may be sent."""
    return needed_for(command) in capabilities or command in behaviour.capabilities.commands


def not_supported(adapter: str, action: str, capability: str, advice: str = "") -> ToolError:
    """Return the error for what an adapter does not offer."""
    return ToolError(
        "action_not_supported",
        f"{adapter} does not offer {capability}, so {action} cannot be used with it"
        + (f"; {advice}" if advice else ""),
        detail={"adapter": adapter, "capability": capability, "action": action},
    )


def need(
    capabilities: frozenset[str], behaviour: AdapterBehaviour, adapter: str, action: str, command: str
) -> None:
    """Raise ToolError unless a request may be sent for an action: `action_not_supported`, and
    `invalid_params` for a custom request of which the bridge would have to know."""
    if action == "custom_request" and (other := _INSTEAD.get(command)) is not None:
        advice = f"use the action {other}" if other else "the debug tool sends it by itself"
        raise invalid_params(f"{command} is no custom request: {advice}", {}, command=command)
    if not can(capabilities, behaviour, command):
        raise not_supported(adapter, action, needed_for(command))


def check_state(state: DebugState, action: str) -> None:
    """Raise ToolError `not_stopped` or `not_running` when an action is not legal in a state of a
    session that has not ended."""
    if state is DebugState.RUNNING and action not in _WHILE_RUNNING and action != "pause":
        raise ToolError(
            "not_stopped",
            f"the program is running, and {action} needs it to be stopped: use pause, or set a breakpoint "
            "and let it get there",
            detail={"state": state.value, "action": action},
        )
    if state is DebugState.STOPPED and action == "pause":
        raise ToolError(
            "not_running",
            "the program is stopped already: stack_trace and variables show where and with what; continue "
            "or a step lets it run",
            detail={"state": state.value, "action": action},
        )
    if state is DebugState.STARTING:
        raise ToolError(
            "not_stopped",
            f"the program is being started: {action} is possible when launch or attach has answered",
            detail={"state": state.value, "action": action},
        )
    if state is DebugState.EXITED:
        raise ToolError(
            "not_stopped",
            f"the program has exited, and {action} needs it: call launch to run it again (breakpoints are "
            "kept)",
            detail={"state": state.value, "action": action},
        )
