"""The daemon's MCP client as the conformance suite runs it: a program that uses the server at an address.

Owns: calling what the server offers, and answering its questions. Never: connections (`app.bridges.mcp`).
The suite gives the address as the last argument, and calls that it wants in the environment.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from app.bridges.mcp.connection import Connection
from app.bridges.mcp.elicitation import CONSENT
from app.bridges.mcp.entries import RemoteTool, ServerEntry
from app.bridges.mcp.manager import McpServers
from app.bridges.processes.process import ChildProcesses
from app.errors import ToolError

PROJECT = "prj_1"
SECONDS = 60.0
SAMPLES = {"string": "text", "number": 5, "integer": 5, "boolean": True, "array": [], "object": {}}


async def main(url: str) -> None:
    children = ChildProcesses()
    servers = McpServers(children, environment={}, record=lambda *_: None, version="1.0.0")
    entry = ServerEntry("suite", "config", url=url, timeout_seconds=SECONDS)
    root = Path.cwd()
    try:
        listing = await servers.listing(PROJECT, root, entry)
        for name, arguments in calls_for(listing.tools):
            try:
                await servers.call(PROJECT, root, entry, name, calling(name, arguments))
            except ToolError as problem:
                await report(f"{name}: {problem.message}")
        await servers.content(PROJECT, root, entry)
    finally:
        await servers.aclose()
        await children.aclose()


def calls_for(tools: tuple[RemoteTool, ...]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the calls that the suite asks for; else one of each tool."""
    context = orjson.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    if "toolCalls" in context:
        return [(call["name"], call["arguments"]) for call in context["toolCalls"]]
    return [(tool.name, arguments_of(tool, tools[0])) for tool in tools]


def arguments_of(tool: RemoteTool, first: RemoteTool) -> dict[str, Any]:
    """Return fitting arguments. A parameter `schema` gets the schema of the first tool as it has arrived."""
    found: dict[str, Any] = {}
    for name, schema in (tool.schema.get("properties") or {}).items():
        found[name] = dict(first.schema) if name == "schema" else SAMPLES.get(schema.get("type"), "text")
    return found


def calling(name: str, arguments: Mapping[str, Any]) -> Any:
    async def call(connection: Connection) -> Any:
        return await connection.call(name, arguments, report, answer)

    return call


async def report(text: str) -> None:
    sys.stdout.write(f"{text}\n")


async def answer(form: Mapping[str, Any]) -> dict[str, Any]:
    """Agree, with a value for what the server requires."""
    required = [field for field in form["fields"] if "requires" in field["description"]]
    kinds = {"text": "text", "number": 5, "boolean": True}
    return {CONSENT: True, **{field["name"]: kinds[field["type"]] for field in required}}


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
