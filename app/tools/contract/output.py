"""Bounds answers: a large result is cut, and kept whole in a file.

Owns: envelopes within a tool's bound, fitting lists, sidecar files in the scratch folder. Never: deleting
them (the session does).
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import orjson
from pydantic import BaseModel

from app.observability import Redactor
from app.tools.contract.call import ToolCallContext, ToolEnvelope, ToolMetadata
from app.tools.contract.definition import ToolDefinition, ToolResult
from app.workspace import scratch_of

HEAD_ROOM = 1_000
Item = TypeVar("Item")


async def envelope_of(
    definition: ToolDefinition, result: BaseModel, context: ToolCallContext
) -> ToolEnvelope:
    """Return the envelope for `result`, its largest part moved to a sidecar file if need be."""
    envelope = await _within_bound(definition, result, context)
    images = result.images if isinstance(result, ToolResult) else ()
    return envelope.model_copy(update={"images": images}) if images else envelope


def without_secrets(envelope: ToolEnvelope, redactor: Redactor) -> ToolEnvelope:
    """Return the answer as models, the conversation and its streams may have it: the daemon's own secrets,
    which a command or a file may have shown, are masked."""
    texts = (envelope.data, envelope.error_text, envelope.detail)
    data, error_text, detail = (redactor.known(part) for part in texts)
    if data is texts[0] and error_text is texts[1] and detail is texts[2]:
        return envelope
    return envelope.model_copy(update={"data": data, "error_text": error_text, "detail": detail})


async def _within_bound(
    definition: ToolDefinition, result: BaseModel, context: ToolCallContext
) -> ToolEnvelope:
    data: Any = result.model_dump(mode="json", exclude_none=True)
    body = definition.body_field
    text = data.get(body) if body is not None and isinstance(data, dict) else None
    if isinstance(text, str):
        if _cut_already(result) or _fits(text, definition.max_output_bytes):
            return ToolEnvelope(type="output", data=data, metadata=_known_cut(result), body=body)
        raw = text.encode("utf-8", "replace")
        path = await asyncio.to_thread(write_sidecar, context, definition.name, raw, "txt")
        cut = {**data, body: head_of(raw, definition.max_output_bytes)}
        return ToolEnvelope(type="output", data=cut, metadata=_cut(path), body=body)
    raw = orjson.dumps(data, option=orjson.OPT_NON_STR_KEYS)
    if len(raw) <= definition.max_output_bytes:
        return ToolEnvelope(type="output", data=data, metadata=_known_cut(result), body=body)
    path = await asyncio.to_thread(write_sidecar, context, definition.name, raw, "json")
    head = raw[: definition.max_output_bytes].decode("utf-8", "ignore")
    return ToolEnvelope(type="output", data={"head": head}, metadata=_cut(path), body="head")


def _cut_already(result: BaseModel) -> bool:
    """Tell whether the tool has cut its text itself, to what it may have, and kept the whole elsewhere."""
    return isinstance(result, ToolResult) and result.output_path is not None


def _fits(text: str, most: int) -> bool:
    """Tell whether a text has at most so many bytes in UTF-8, mostly without making them."""
    if len(text) > most:
        return False
    return text.isascii() or 4 * len(text) <= most or len(text.encode("utf-8", "replace")) <= most


def write_sidecar(context: ToolCallContext, tool: str, content: bytes, suffix: str) -> Path:
    """Write `content` whole to a fresh file of the scratch folder and return its path. Blocks."""
    with open_sidecar(context, tool, suffix) as file:
        file.write(content)
    return Path(file.name)


def open_sidecar(context: ToolCallContext, tool: str, suffix: str) -> BinaryIO:
    """Return a fresh file of the scratch folder; its `name` is its path. Blocks. Raises OSError."""
    call = re.sub(r"[^A-Za-z0-9_-]", "_", context.call_id)[:80]
    folder = scratch_of(context.scratch_dir, context.agent_path)
    stem = f"{tool.replace('.', '_')}-{call}"
    for number in range(1_000):
        path = folder / f"{stem}{f'-{number}' if number else ''}.{suffix}"
        try:
            return _fresh(path)
        except FileExistsError:
            continue
    raise OSError(f"no free name for {stem} in the scratch folder")


def _fresh(path: Path) -> BinaryIO:
    """Make a file, and its agent's folder if it is the first there. Raises FileExistsError."""
    try:
        return open(path, "wb", opener=_exclusive)
    except FileNotFoundError:
        path.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        return open(path, "wb", opener=_exclusive)


def _exclusive(path: str, _flags: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def head_of(raw: bytes, limit: int) -> str:
    """Return at most `limit` bytes of UTF-8 text, ended at a line where one is near."""
    head = raw[:limit]
    line_end = head.rfind(b"\n")
    if line_end > limit - HEAD_ROOM:
        head = head[: line_end + 1]
    return head.decode("utf-8", "ignore")


def first_fitting(
    items: Iterable[Item],
    most_bytes: int,
    dump: Callable[[Any], bytes],
    *,
    batch: int,
    one_at_least: bool = False,
) -> list[Item]:
    """Return the first items whose JSON by `dump`, each with a comma, has at most `most_bytes` bytes; with
    `one_at_least` the first one even if it is larger. `batch` items are measured at a time, and at most one
    batch is taken beyond what fits. Blocks as `items` does."""
    room = most_bytes
    fitting: list[Item] = []
    left = iter(items)
    while some := list(islice(left, batch)):
        size = len(dump(some)) - 1  # each with its comma
        if size > room:
            for one in some:
                room -= len(dump(one)) + 1
                if room < 0 and (fitting or not one_at_least):
                    break
                fitting.append(one)
            break
        room -= size
        fitting += some
    return fitting


def _known_cut(result: BaseModel) -> ToolMetadata:
    """The metadata of a result that fits: its tool may have cut it and kept the whole."""
    path = result.output_path if isinstance(result, ToolResult) else None
    return ToolMetadata() if path is None else _cut(path)


def _cut(path: Path) -> ToolMetadata:
    return ToolMetadata(truncated=True, output_path=str(path))
