"""The lines of text that a child writes, read no faster than is allowed.

Owns: the rate, the bound on a line. Never: what becomes of a line.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from app.bridges.rpc.allowance import Allowance

_CHUNK = 64 * 1024


async def paced_lines(
    stream: asyncio.StreamReader | None, *, bytes_per_second: float, most: int, longest: int
) -> AsyncIterator[bytes]:
    """Yield the lines of a stream to its end. Above `bytes_per_second` its pipe blocks. What is read at once
    gives its last `most` lines; a piece of more than `longest` bytes is a line."""
    allowed = Allowance(bytes_per_second)
    rest = b""
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines[-most:]:
            yield line
        if len(rest) > longest:
            yield rest
            rest = b""
        await asyncio.sleep(allowed.spend(len(chunk)))
    if rest:
        yield rest
