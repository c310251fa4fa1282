"""A span's attributes as Langfuse reads them best.

Owns: the mapping from the conventions for generative AI to Langfuse's own names. Never: sending.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

TRACES_PATH = "/api/public/otel/v1/traces"

_TYPES = {"invoke_agent": "agent", "chat": "generation", "execute_tool": "tool"}
_INPUTS = ("gen_ai.input.messages", "gen_ai.tool.call.arguments")
_OUTPUTS = ("gen_ai.output.messages", "gen_ai.tool.call.result")
_ONLY_OF_GENERATIONS = ("gen_ai.request.", "gen_ai.response.model", "gen_ai.usage.")
"""On any other span they would make it a model call, and count its tokens twice."""


def endpoint(base_url: str) -> str:
    """Return where Langfuse takes traces."""
    return base_url.rstrip("/") + TRACES_PATH


def authorization(public_key: str, secret_key: str) -> dict[str, str]:
    both = base64.b64encode(f"{public_key}:{secret_key}".encode()).decode()
    return {"Authorization": f"Basic {both}", "x-langfuse-ingestion-version": "4"}


def for_langfuse(attributes: Mapping[str, Any], *, started_ns: int, trace_name: str) -> dict[str, Any]:
    """Return the attributes to send; `started_ns` is when the span began, since the epoch.

    What names a trace is on every one of its spans, because Langfuse looks at each by itself; what went
    in and came out of it is what its root has."""
    kind = _TYPES.get(str(attributes.get("gen_ai.operation.name")), "span")
    mapped = {
        key: value
        for key, value in attributes.items()
        if kind == "generation" or not key.startswith(_ONLY_OF_GENERATIONS)
    }
    mapped["langfuse.observation.type"] = kind
    for name in ("session.id", "langfuse.session.id"):
        _copy(attributes, mapped, ("gen_ai.conversation.id",), name)
    _copy(attributes, mapped, ("user.id",), "langfuse.user.id")
    _copy(attributes, mapped, _INPUTS, "langfuse.observation.input")
    _copy(attributes, mapped, _OUTPUTS, "langfuse.observation.output")
    mapped["langfuse.trace.name"] = trace_name
    if kind == "generation":
        mapped |= _generation(attributes, started_ns)
    return mapped


def _copy(source: Mapping[str, Any], target: dict[str, Any], names: tuple[str, ...], name: str) -> None:
    for candidate in names:
        if candidate in source:
            target[name] = source[candidate]
            return


def _generation(attributes: Mapping[str, Any], started_ns: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    _copy(
        attributes,
        found,
        ("gen_ai.response.model", "gen_ai.request.model"),
        "langfuse.observation.model.name",
    )
    total = attributes.get("gen_ai.usage.input_tokens")
    if total is not None:
        read = attributes.get("gen_ai.usage.cache_read.input_tokens", 0)
        written = attributes.get("gen_ai.usage.cache_creation.input_tokens", 0)
        details = {
            "input": total - read - written,
            "output": attributes.get("gen_ai.usage.output_tokens", 0),
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
        }
        found["langfuse.observation.usage_details"] = orjson.dumps(
            {name: count for name, count in details.items() if count}
        ).decode()
    cost = attributes.get("kaged.cost.usd")
    if cost is not None:
        found["langfuse.observation.cost_details"] = orjson.dumps({"total": cost}).decode()
    first = attributes.get("gen_ai.response.time_to_first_chunk")
    if first is not None:
        # As JSON, as Langfuse's SDK writes it: its older servers read nothing else.
        moment = datetime.fromtimestamp(started_ns / 1e9 + first, UTC)
        found["langfuse.observation.completion_start_time"] = orjson.dumps(
            moment, option=orjson.OPT_UTC_Z
        ).decode()
    return found
