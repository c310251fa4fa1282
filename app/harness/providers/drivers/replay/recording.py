"""Writes a transcript that replays a stored session: the inverse of `replay`.

Owns: from stored message rows to YAML text. Never: reading the database (the caller passes rows as
plain dictionaries) or calling a tool: results come from the tools of the day of the replay.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

from app.messages import Usage

_USAGE_NAMES = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "reasoningTokens": "reasoning_tokens",
    "cacheReadTokens": "cache_read_tokens",
    "cacheWriteTokens": "cache_write_tokens",
}


def transcript_from_messages(
    messages: Iterable[Mapping[str, Any]], *, description: str = "", chunk_delay: float = 0.02
) -> str:
    """Return the YAML text that replays `messages`.

    Each is a stored row: `role` (`primary` is an answer, `tool` a result, anything else the
    operator), `content`, `details` (`contentBlocks`, `usage`, `stopReason`, `errorKind`, ...),
    `agent_path`, in the order of their positions. Superseded rows are left out. An answer that was
    cut off is replayed as far as it came. Ids of calls are not written: each replay makes its own."""
    conversations: list[dict[str, Any]] = []
    current: dict[str, dict[str, Any]] = {}
    for message in messages:
        if message.get("superseded") or message.get("position", 0) is None:
            continue
        agent = str(message.get("agent_path") or "primary")
        role = message.get("role")
        if role == "primary":
            step = _step(message)
            if step is not None and agent in current:
                current[agent]["steps"].append(step)
        elif role != "tool" and not _steers(current.get(agent)):
            current[agent] = {"says": str(message.get("content") or ""), "steps": []}
            conversations.append(current[agent])
    document: dict[str, Any] = {"description": description} if description else {}
    document["chunk_delay"] = chunk_delay
    document["conversations"] = [one for one in conversations if one["steps"]]
    return _yaml(document)


def _steers(conversation: Mapping[str, Any] | None) -> bool:
    """Tell whether a message now comes in the middle: the last answer asked for tools."""
    if conversation is None or not conversation["steps"]:
        return False
    last = conversation["steps"][-1]["answer"]
    return any("tool_call" in part for part in last) and not any("error" in part for part in last)


def _step(message: Mapping[str, Any]) -> dict[str, Any] | None:
    details: Mapping[str, Any] = message.get("details") or {}
    blocks = details.get("contentBlocks")
    if not blocks and message.get("content"):
        blocks = [{"type": "text", "text": message["content"]}]
    answer = [part for block in blocks or () if (part := _part(block)) is not None]
    if kind := details.get("errorKind"):
        error = {"kind": kind, "message": details.get("errorMessage") or "recorded failure"}
        if details.get("errorStatus") is not None:
            error["status"] = details["errorStatus"]
        answer.append({"error": error})
    if not answer:
        return None
    step: dict[str, Any] = {"answer": answer}
    usage = details.get("usage")
    if isinstance(usage, Mapping):
        step["usage"] = _usage(usage)
    if details.get("stopReason") == "length":
        step["stop_reason"] = "length"
    return step


def _part(block: Mapping[str, Any]) -> dict[str, Any] | None:
    kind = block.get("type")
    if kind in ("text", "thinking"):
        return {kind: block["text"]} if block.get("text") else None
    if kind != "tool_call":
        return None
    call: dict[str, Any] = {"name": block.get("name", "")}
    if block.get("argument_error") and block.get("raw_arguments") is not None:
        call["raw_arguments"] = block["raw_arguments"]
    else:
        call["arguments"] = block.get("arguments") or {}
    return {"tool_call": call}


def _usage(stored: Mapping[str, Any]) -> dict[str, int]:
    counts = {_USAGE_NAMES.get(name, name): value for name, value in stored.items()}
    return Usage.model_validate(counts).model_dump(exclude_defaults=True)


def _yaml(document: Mapping[str, Any]) -> str:
    # Only `kaged record` writes YAML here, and the library is slow to import.
    from ruamel.yaml import YAML
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

    def readable(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {readable(key): readable(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [readable(item) for item in value]
        if isinstance(value, str) and "\n" in value and _fits_literal(value):
            return LiteralScalarString(value)
        if isinstance(value, str) and not value.isprintable():
            return DoubleQuotedScalarString(value)
        return value

    writer = YAML(typ="rt", pure=True)
    # Folded lines are harder to edit, and not every reader unfolds them alike.
    writer.width = 1_000_000
    writer.allow_unicode = True
    writer.indent(mapping=2, sequence=4, offset=2)
    buffer = io.StringIO()
    writer.dump(readable(document), buffer)
    return buffer.getvalue()


def _fits_literal(text: str) -> bool:
    """Tell whether a literal block would keep `text` exactly; the others are quoted."""
    plain = all(character == "\n" or character.isprintable() for character in text)
    return (
        plain and not text.startswith((" ", "\n")) and all(line == line.rstrip() for line in text.split("\n"))
    )
