"""set_variable: another value for a variable of the program.

Owns: this action. Never: expressions that change something else; that is for `evaluate`.
"""

from __future__ import annotations

from app.tools.debug.call import DebugCall
from app.tools.debug.conditions import check_value
from app.tools.debug.frames import frame_of, scopes_of
from app.tools.debug.results import DebugResult
from app.tools.debug.values import MAX_VALUE, reference_of
from app.tools.debug.variables import find
from app.tools.processes.foreign_text import clean, one_line

MAX_RESULT = 20_000
MAX_NAME = 300
_SAME = "The variable has the value that it had: debuggers ignore an expression that fails."
_STALE = "Until the next stop variables lists the former value; evaluate has the new one."


async def set_variable(call: DebugCall) -> DebugResult:
    """Give a variable, or a part of one, the value of an expression, and return that with what it was.
    Raises ToolError `variable_not_found`, `action_not_supported`, `debug_request_failed`."""
    params = call.params
    assert params.name and params.value
    frame = await frame_of(call)
    found = await find(call, frame, await scopes_of(call, frame), params.name)
    check_value(call.session.runtime, params.value)
    answer = await call.ask(
        "setVariable", variablesReference=found.within, name=found.raw.name, value=params.value
    )
    after = await find(call, frame, await scopes_of(call, frame), params.name)
    value = one_line(answer.get("value"), MAX_VALUE)
    stale = after.raw.value == found.raw.value != value
    return DebugResult(
        note=_STALE if stale else _SAME if value == found.raw.value else None,
        result=clean(answer.get("value"), MAX_RESULT),
        was=one_line(found.raw.value, MAX_NAME) or None,
        type=one_line(answer.get("type"), MAX_NAME) or None,
        expandable=True if reference_of(answer) else None,
    )
