"""Programs beside this file that use the built client, as processes of Node.

Owns: how they are started and what they print. Never: the daemon they talk to.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent
LONGEST_LINE = 1 << 24
LIMIT_SECONDS = 90


async def start(node: list[str], program: str, package: Path, *arguments: str) -> asyncio.subprocess.Process:
    """Start a program with the address of the built package as its first argument."""
    command = [*node, str(PROGRAMS / program), str(package / "dist" / "index.js"), *arguments]
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, limit=LONGEST_LINE)


async def finish(process: asyncio.subprocess.Process) -> Any:
    """Return the one JSON value that a program prints before it ends."""
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    return json.loads(output)


async def printed(node: list[str], program: str, package: Path, *arguments: str) -> Any:
    return await finish(await start(node, program, package, *arguments))
