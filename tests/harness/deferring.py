"""Projects whose agents have more tools than a request, and reading the tools of a request on every wire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from app.harness.dsl.starter import write_starter
from tests.fakes.provider_server import FakeProvider

EVERYTHING = '    "*": { enabled: true }\n'


def starter(folder: Path, *tools: str, **keys: str) -> Path:
    """Write what `kaged init` writes, for the fake's model, with further lines of tools and keys of the root
    agent."""
    folder.mkdir()
    write_starter(folder, model="fake:model-a", without_cage="tests run without cages")
    file = folder / ".kaged" / "project.yaml"
    lines = "".join(f"  {key}: {value}\n" for key, value in keys.items())
    text = file.read_text().replace("  tools:\n", f"{lines}  tools:\n{''.join(tools)}", 1)
    file.write_text(text)
    return folder


def listed(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tools of a request, each with its `name`."""
    tools = body.get("tools", [])
    if tools and "functionDeclarations" in tools[0]:
        return list(tools[0]["functionDeclarations"])
    return [{"name": tool.get("type"), **tool, **tool.get("function", {})} for tool in tools]


def names(body: dict[str, Any]) -> list[str]:
    return [str(tool["name"]) for tool in listed(body)]


def prefixes(fake: FakeProvider) -> list[bytes]:
    """Return each request without what ends its JSON, and without cache markers, which move on."""
    marker = b',"cache_control":{"type":"ephemeral"}'
    bodies = [request.body.replace(marker, b"") for request in fake.requests]
    return [body.removesuffix(b"]}") for body in bodies]


def lists(fake: FakeProvider) -> list[bytes]:
    """Return the bytes of the list of tools of each request."""
    return [orjson.dumps(request.json["tools"]) for request in fake.requests]
