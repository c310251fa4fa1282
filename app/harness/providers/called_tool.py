"""The call inside a `call_tool`, and the tools that a `tool_search` found.

Owns: reading both. Pure. Never: the form of one provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.harness.providers.wire_json import ToolNames, as_object, as_objects, clean_text, load, read_arguments
from app.messages import CALL_TOOL, TOOL_SEARCH, ToolCallBlock, ToolResult


def called_tool(call: ToolCallBlock, names: ToolNames) -> ToolCallBlock:
    """Return the call that a model wrote with `call_tool`, so that nothing behind this sees another name; the
    call itself when it is any other, or names no tool. Arguments that are JSON text are read, and those that
    stand beside the name are taken."""
    given = call.arguments
    name = given.get("name")
    is_form = call.name == CALL_TOOL and names.knows(CALL_TOOL) and call.argument_error is None
    if not is_form or not isinstance(name, str) or not name.strip():
        return call
    beside = {key: value for key, value in given.items() if key != "name"}
    inside = given.get("arguments") if "arguments" in given else beside
    raw, error = None, None
    if isinstance(inside, str):
        raw = inside
        inside, error = read_arguments(raw)
    elif not isinstance(inside, dict | None):
        raw, inside, error = str(inside), {}, "`arguments` is not a JSON object"
    return call.model_copy(
        update={
            "name": names.to_kaged(clean_text(name.strip())),
            "arguments": inside or {},
            "raw_arguments": raw if error else None,
            "argument_error": error,
        }
    )


def found_tools(result: ToolResult) -> list[Mapping[str, Any]]:
    """Return the tools (`name`, `description`, `parameters`) that a result of `tool_search` has; none of any
    other result, and none where a notice stands in its place."""
    if result.name != TOOL_SEARCH or result.is_error:
        return []
    try:
        answer = load(result.content.partition("\n")[0])
    except (ValueError, RecursionError):
        return []
    tools = as_objects(as_object(answer).get("tools"))
    return [one for one in tools if isinstance(one.get("name"), str)]
