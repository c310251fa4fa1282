"""The part of a long result that a model gets, and how to read on.

Owns: cutting an answer: head and tail of command output, else the head. Never: the bound for other clients
(`output`).
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import orjson

from app.tools.contract.call import ToolCallContext, ToolEnvelope
from app.tools.contract.output import first_fitting, head_of, write_sidecar

MODEL_BYTES = 30_000
"""Bytes of a result that a model is given unless the project file says otherwise."""
SMALLEST = 500
_COMMAND_OUTPUT = frozenset({"stdout", "output"})
"""Texts whose end matters most: that is where the errors are."""
_NOTE_ROOM = 400


async def for_model(
    envelope: ToolEnvelope, name: str, context: ToolCallContext, most: int = MODEL_BYTES
) -> ToolEnvelope:
    """Return the answer to `name` for a model: about `most` bytes of text. The rest is kept in a file, unless
    it stands in a file of the project."""
    text = envelope.model_text()
    if len(text) <= most and (text.isascii() or len(text.encode("utf-8", "replace")) <= most):
        return envelope
    return await asyncio.to_thread(_cut, envelope, name, context, max(most, SMALLEST))


def _cut(envelope: ToolEnvelope, name: str, context: ToolCallContext, most: int) -> ToolEnvelope:
    if envelope.is_error:
        raw = (envelope.error_text or "").encode("utf-8", "replace")
        envelope = _kept_whole(envelope, raw, name, context, "txt")
        shown = _both_ends(raw, raw, max(most - _NOTE_ROOM, SMALLEST // 2), _hint(envelope))
        return envelope.model_copy(update={"error_text": shown})
    data, body = envelope.data, envelope.body
    if not isinstance(data, dict) or body is None or not isinstance(data.get(body), str):
        return _cut_data(envelope, name, context, most)
    raw = data[body].encode("utf-8", "replace")
    room = max(most - len(orjson.dumps({**data, body: ""}, default=str)) - _NOTE_ROOM, SMALLEST // 2)
    if len(raw) <= room:
        return envelope
    if body == "content" and isinstance(data.get("total_lines"), int):
        return envelope.model_copy(update={"data": _fewer_lines(data, body, raw, room)})
    envelope = _kept_whole(envelope, raw, name, context, "txt")
    path, hint = str(envelope.metadata.output_path), _hint(envelope)
    if body in _COMMAND_OUTPUT:
        shown = _both_ends(raw, _end_of(path, room) or raw, room, hint, os.path.getsize(path))
    else:
        shown = f"{head_of(raw, room)}\n[{len(raw) - room:,} bytes are left out; {hint}]"
    return envelope.model_copy(update={"data": {**data, body: shown}})


def _hint(envelope: ToolEnvelope) -> str:
    path = envelope.metadata.output_path
    return f"the whole is in {path}: read it with file.read (offset, limit) or search.grep"


def _both_ends(head: bytes, end: bytes, room: int, hint: str, size: int | None = None) -> str:
    """Return a third of the room from the beginning, the rest from the end, which says what went wrong."""
    first = head_of(head, room // 3)
    last = end[-(room - room // 3) :]
    line = last.find(b"\n", 0, 1_000)
    last = last[line + 1 :] if line >= 0 else last
    left = (len(head) if size is None else size) - len(first.encode("utf-8", "replace")) - len(last)
    return f"{first}\n[{left:,} bytes are left out; {hint}]\n{last.decode('utf-8', 'ignore')}"


def _end_of(path: str, room: int) -> bytes:
    """Return the end of what a command wrote, which may be longer than its answer."""
    try:
        with open(path, "rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - room, 0))
            return file.read(room)
    except OSError:
        return b""


def _fewer_lines(data: dict[str, Any], body: str, raw: bytes, room: int) -> dict[str, Any]:
    """Return a reading with the lines that fit, and the offset that goes on."""
    lines = data[body].split("\n")
    following = data.get("next_offset") or data["total_lines"] + 1
    start = following - len(lines)
    kept = head_of(raw, room).removesuffix("\n").split("\n")[: len(lines) - 1]
    on = start + len(kept)
    note = f"only the first {len(kept)} of these lines are shown; go on with offset {on}"
    text = f"{data['note']}; {note}" if data.get("note") else note
    return {**data, body: "\n".join(kept), "truncated": True, "next_offset": on, "note": text}


def _cut_data(envelope: ToolEnvelope, name: str, context: ToolCallContext, most: int) -> ToolEnvelope:
    """Return the answer with the first items of its longest list."""
    data = envelope.data
    raw = orjson.dumps(data, option=orjson.OPT_NON_STR_KEYS, default=str)
    envelope = _kept_whole(envelope, raw, name, context, "json")
    hint = f"the whole is in {envelope.metadata.output_path}, for file.read or search.grep; or ask for less"
    lists = {key: one for key, one in data.items() if isinstance(one, list)} if isinstance(data, dict) else {}
    if lists:
        key = max(lists, key=lambda one: len(orjson.dumps(lists[one], default=str)))
        room = most - len(orjson.dumps({**data, key: []}, default=str)) - _NOTE_ROOM
        shown = first_fitting(lists[key], max(room, 0), orjson.dumps, batch=50)
        if shown and room > 0:
            left = f"{len(lists[key]) - len(shown):,} more of {key} are left out; {hint}"
            return envelope.model_copy(update={"data": {**data, key: shown, "left_out": left}})
    head = head_of(raw, max(most - _NOTE_ROOM, SMALLEST // 2))
    cut = {"head": head, "left_out": f"{len(raw) - len(head.encode()):,} bytes are left out; {hint}"}
    return envelope.model_copy(update={"data": cut, "body": "head"})


def _kept_whole(
    envelope: ToolEnvelope, raw: bytes, name: str, context: ToolCallContext, suffix: str
) -> ToolEnvelope:
    path: str | Path | None = envelope.metadata.output_path
    path = path or write_sidecar(context, name, raw, suffix)
    metadata = envelope.metadata.model_copy(update={"truncated": True, "output_path": str(path)})
    return envelope.model_copy(update={"metadata": metadata})
