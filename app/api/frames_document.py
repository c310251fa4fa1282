"""The published schema of every frame that a socket sends.

Owns: putting the session's events and the socket's own frames (`client_frames`) into one union.
Never: the shape of an event (`app.events.union`).
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from app.api.client_frames import SOCKET_FRAMES
from app.events.union import EVENT_TYPES


def events_schema() -> dict[str, Any]:
    """Return the JSON Schema of every frame, one alternative for each type."""
    models = [*EVENT_TYPES, *SOCKET_FRAMES.values()]
    _, payloads = models_json_schema([(model, "serialization") for model in models])
    frames = [
        _frame(
            model.TYPE,
            model.CHANNEL,
            model.__name__,
            {
                "seq": {"type": "integer", "minimum": 0},
                "session_id": {"type": "string"},
            },
            optional={
                "run_id": {"type": "string"},
                "agent_path": {"type": "string"},
                "parent_tool_call_id": {"type": "string"},
            },
            durable=model.DURABLE,
        )
        for model in EVENT_TYPES
    ]
    # They belong to the socket, not to a session, and have no place in its order.
    frames += [
        _frame(kind, "events", model.__name__, {}, optional={}, durable=False)
        for kind, model in SOCKET_FRAMES.items()
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Frame",
        "oneOf": frames,
        "$defs": payloads["$defs"],
    }


def _frame(
    kind: str,
    channel: str,
    payload: str,
    required: dict[str, Any],
    *,
    optional: dict[str, Any],
    durable: bool,
) -> dict[str, Any]:
    always = {
        **required,
        "channel": {"const": channel},
        "type": {"const": kind},
        "ts": {"type": "string", "format": "date-time"},
        "payload": {"$ref": f"#/$defs/{payload}"},
    }
    return {
        "title": kind,
        "type": "object",
        "required": list(always),
        "properties": {**always, **optional},
        "additionalProperties": False,
        "x-durable": durable,
    }
