"""An MCP server by the official library, over stdio or HTTP, for both eras of the protocol.

Its arguments choose what it does: `legacy` is served by the handshake only, `http PORT` listens on a port.
"""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import struct
import sys
import zlib
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, ElicitationResult, Resolve
from pydantic import BaseModel

server = MCPServer("notes", version="1.2.3", instructions="Notes of the project.")


class Reason(BaseModel):
    reason: str
    urgent: bool = False


@server.tool(description="Adds two numbers.")
def add(a: int, b: int) -> dict[str, int]:
    return {"sum": a + b}


@server.tool(description="Repeats a text.")
def echo(text: str) -> str:
    return text


@server.tool(name="readNote")
def read_note() -> str:
    """Reads the note of the project."""
    return Path("note.txt").read_text()


@server.tool(name="odd name/with:signs")
def odd() -> str:
    """Has a name that providers do not take."""
    return "odd"


@server.tool()
def attempt(path: str, port: int = 0) -> dict[str, Any]:
    """Tries to write a file and to connect, and says what it sees."""
    found: dict[str, Any] = {"home": os.environ.get("HOME"), "variables": sorted(os.environ)}
    try:
        Path(path).write_text("written")
        found["wrote"] = True
    except OSError as problem:
        found["wrote"] = type(problem).__name__
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
        found["connected"] = True
    except OSError as problem:
        found["connected"] = type(problem).__name__
    return found


@server.tool()
async def steps(ctx: Context[Any, Any], count: int) -> str:
    """Reports its progress."""
    for number in range(1, count + 1):
        await ctx.report_progress(number, count, f"step {number}")
    return "all steps done"


@server.tool()
async def wait(marker: str) -> str:
    """Never answers; leaves a file when it is cancelled."""
    Path(f"{marker}.began").touch()
    try:
        await asyncio.Event().wait()
    finally:
        Path(f"{marker}.cancelled").touch()
    return ""


@server.tool()
def crash() -> str:
    """Ends the server."""
    sys.stderr.write("the server dies now\n")
    sys.stderr.flush()
    os._exit(3)


@server.tool()
def fail() -> str:
    """Reports an error."""
    raise ToolError("no such note")


@server.tool()
def flood(size: int) -> str:
    """Answers with a long text."""
    return "flood " * (size // 6)


@server.tool()
def picture() -> Image:
    """Returns an image of one pixel."""
    return Image(data=one_pixel(), format="png")


def reason() -> Elicit[Reason]:
    return Elicit("Why is it done?", Reason)


@server.tool()
async def ask(found: Annotated[ElicitationResult[Reason], Resolve(reason)]) -> str:
    """Asks a person for a reason."""
    return f"{found.action}: {getattr(found, 'data', None)!r}"


@server.tool()
async def grow(ctx: Context[Any, Any]) -> str:
    """Adds a tool to the server."""

    def later() -> str:
        """Was added later."""
        return "later"

    server.add_tool(later)
    await ctx.session.send_tool_list_changed()
    return "grown"


@server.tool()
async def shrink(ctx: Context[Any, Any]) -> str:
    """Takes away the tool that was added."""
    server.remove_tool("later")
    await ctx.session.send_tool_list_changed()
    return "shrunk"


@server.resource("notes://first", name="first", description="The first note.")
def first() -> str:
    return "the first note"


@server.resource("notes://{name}/text", name="by name")
def by_name(name: str) -> str:
    return f"the note {name}"


@server.prompt(description="Reviews a file.")
def review(file: str) -> str:
    return f"Review {file} now."


def one_pixel() -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\0\0\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


PICTURE = base64.b64encode(one_pixel()).decode()

if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")
