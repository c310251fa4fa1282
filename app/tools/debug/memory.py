"""disassemble, read_memory, write_memory: the program as the machine sees it.

Owns: these three. Never: keeping any of it.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from app.errors import ToolError
from app.tools.debug.call import DebugCall
from app.tools.debug.frames import frame_of
from app.tools.debug.results import DebugResult, Instruction
from app.tools.debug.sources import Sources
from app.tools.debug.wrong_parameter import wrong
from app.tools.processes.foreign_text import objects, one_line, whole_number

MAX_TEXT = 300
MAX_DUMPED = 1_024
_COLUMNS = 16


async def disassemble(call: DebugCall) -> DebugResult:
    """Return instructions around an address; without one, from where the frame stands."""
    params = call.params
    reference = params.memory_reference
    current = None
    if not reference:
        frame = await frame_of(call)
        current = one_line(frame.get("instructionPointerReference"), MAX_TEXT)
        reference = current
    if not reference and call.session.supports(params.action):
        raise wrong("memory_reference", "is required: the adapter does not say where the frame stands")
    answer = await call.ask(
        "disassemble",
        memoryReference=reference,
        offset=params.offset,
        instructionOffset=params.instruction_offset,
        instructionCount=params.instruction_count,
        resolveSymbols=params.resolve_symbols,
    )
    found = objects(answer.get("instructions"))[: params.instruction_count]

    def rows() -> list[Instruction]:
        sources = Sources(call)
        return [_instruction(sources, one, current) for one in found]

    return DebugResult(instructions=await call.aside(rows), address=reference)


def _instruction(sources: Sources, one: dict[str, Any], current: str | None) -> Instruction:
    seen = sources.of(one.get("location"))
    address = one_line(one.get("address"), MAX_TEXT)
    return Instruction(
        address=address,
        instruction=one_line(one.get("instruction"), MAX_TEXT),
        symbol=one_line(one.get("symbol"), MAX_TEXT) or None,
        bytes=one_line(one.get("instructionBytes"), 100) or None,
        path=seen.shown if seen is not None else None,
        line=whole_number(one.get("line")) or None,
        current=True if current and _number(address) == _number(current) is not None else None,
        valid=False if one.get("presentationHint") == "invalid" else None,
    )


def _number(address: str) -> int | None:
    try:
        return int(address, 0)
    except ValueError:
        return None


async def read_memory(call: DebugCall) -> DebugResult:
    """Return bytes, in base64 and as people read them."""
    params = call.params
    answer = await call.ask(
        "readMemory", memoryReference=params.memory_reference, offset=params.offset, count=params.count
    )
    text = answer.get("data")
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        raise ToolError(
            "debug_request_failed", "the adapter answered something else than bytes; try another address"
        ) from None
    data = data[: params.count]
    address = one_line(answer.get("address"), MAX_TEXT) or params.memory_reference or ""
    return DebugResult(
        address=address,
        data=base64.b64encode(data).decode(),
        hex_dump=hex_dump(_number(address) or 0, data[:MAX_DUMPED]) or None,
        count=len(data),
        unreadable_bytes=whole_number(answer.get("unreadableBytes")) or None,
        note=f"hex_dump has the first {MAX_DUMPED} bytes." if len(data) > MAX_DUMPED else None,
    )


def hex_dump(address: int, data: bytes) -> str:
    """Return lines of 16 bytes: address, bytes, and the characters that can be printed."""
    lines = []
    for at in range(0, len(data), _COLUMNS):
        part = data[at : at + _COLUMNS]
        shown = "".join(chr(one) if 32 <= one < 127 else "." for one in part)
        lines.append(f"{address + at:#x}  {part.hex(' '):<47}  {shown}")
    return "\n".join(lines)


async def write_memory(call: DebugCall) -> DebugResult:
    """Write bytes, all or, if allowed, as many as can be."""
    params = call.params
    try:
        data = base64.b64decode(params.data or "", validate=True)
    except (binascii.Error, ValueError):
        raise wrong("data", "is not base64") from None
    if not data:
        raise wrong("data", "has no bytes")
    answer = await call.ask(
        "writeMemory",
        memoryReference=params.memory_reference,
        offset=params.offset,
        allowPartial=params.allow_partial or None,
        data=base64.b64encode(data).decode(),
    )
    written = whole_number(answer.get("bytesWritten"))
    return DebugResult(
        bytes_written=len(data) if written is None else written, offset=whole_number(answer.get("offset"))
    )
