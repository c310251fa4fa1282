"""set_variable: another value for a variable of the program.

Owns: this action. Never: expressions that change something else; that is for `evaluate`.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from app.errors import ToolError
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
_KEPT = "__import__('sys').__dict__"
_IN_PYTHON = (
    _KEPT + ".__setitem__({name!r}, (\n{value}\n))",
    _KEPT + "[{name!r}]",
    _KEPT + ".__delitem__({name!r})",
)
"""For debugpy: what evaluates an expression and keeps its value, what has this value, and what forgets it."""


async def set_variable(call: DebugCall) -> DebugResult:
    """Give a variable, or a part of one, the value of an expression, and return that with what it was.
    Raises ToolError `variable_not_found`, `action_not_supported`, `debug_request_failed`."""
    params = call.params
    assert params.name and params.value
    frame = await frame_of(call)
    found = await find(call, frame, await scopes_of(call, frame), params.name)
    check_value(call.session.runtime, params.value)
    async with _evaluated(call, frame["id"], params.value) as value:
        answer = await call.ask(
            "setVariable", variablesReference=found.within, name=found.raw.name, value=value
        )
    after = await find(call, frame, await scopes_of(call, frame), params.name)
    now = one_line(answer.get("value"), MAX_VALUE)
    stale = after.raw.value == found.raw.value != now
    ignored = now == found.raw.value and not _is_python(call)
    return DebugResult(
        note=_STALE if stale else _SAME if ignored else None,
        result=clean(answer.get("value"), MAX_RESULT),
        was=one_line(found.raw.value, MAX_NAME) or None,
        type=one_line(answer.get("type"), MAX_NAME) or None,
        expandable=True if reference_of(answer) else None,
    )


@asynccontextmanager
async def _evaluated(call: DebugCall, frame: int, value: str) -> AsyncIterator[str]:
    """Give an expression that has the value. Asked to assign an expression that fails, debugpy ignores it and
    logs its traceback on the program's stderr; asked to evaluate it, it answers with the error. Raises
    ToolError `debug_request_failed`."""
    if not _is_python(call):
        yield value
        return
    name = f"kaged_{secrets.token_hex(8)}"
    keep, kept, forget = (one.format(name=name, value=value.strip()) for one in _IN_PYTHON)
    await call.ask("evaluate", expression=keep, frameId=frame, context="watch")
    try:
        yield kept
    finally:
        with suppress(ToolError):
            await call.ask("evaluate", expression=forget, frameId=frame, context="watch")


def _is_python(call: DebugCall) -> bool:
    return call.session.behaviour.name == "debugpy"
