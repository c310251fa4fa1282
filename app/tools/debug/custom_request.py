"""custom_request: a request that no action is for.

Owns: the size of what goes out and comes back. Never: deciding which are known; the session does.
"""

from __future__ import annotations

import orjson

from app.tools.debug.call import DebugCall
from app.tools.debug.results import DebugResult
from app.tools.debug.wrong_parameter import wrong
from app.tools.processes.foreign_text import clean_value

MAX_ARGUMENTS = 200_000


async def custom_request(call: DebugCall) -> DebugResult:
    """Send it and return the body of the answer, as the adapter has it."""
    params = call.params
    assert params.command
    arguments = params.arguments or {}
    try:
        size = len(orjson.dumps(arguments))
    except (TypeError, ValueError) as problem:
        raise wrong("arguments", f"cannot be sent: {problem}") from None
    if size > MAX_ARGUMENTS:
        raise wrong("arguments", f"is {size} bytes long; at most {MAX_ARGUMENTS}")
    answer = await call.session.request("custom_request", params.command.strip(), arguments)
    cleaned = clean_value(answer)
    return DebugResult(response=cleaned if isinstance(cleaned, dict) else {})
