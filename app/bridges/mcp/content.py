"""What an MCP server says, as the daemon keeps it: plain text, structured values, images.

Owns: turning the library's models into these, with bounds; characters that steer or hide are left out.
Never: talking to a server, or what an agent is shown around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import orjson
from mcp import types

from app.bridges.mcp.entries import Answer, Image, RemoteTool
from app.bridges.mcp.limits import ListLimits
from app.json_schema import schema_problem

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
MAX_TEXT = 4_000_000
MAX_IMAGES = 8
MAX_TITLE = 120


def cleaned(text: str | None, limit: int) -> str:
    """Return a text without characters that steer terminals or hide, at most `limit` long."""
    if not text:
        return ""
    shown = _UNSEEN.sub("", text[: limit + 1_000].replace("\r\n", "\n"))
    return shown if len(shown) <= limit else shown[:limit] + " [truncated]"


def one_line(text: str | None, limit: int) -> str:
    return " ".join(cleaned(text, limit).split())


def tools_of(listed: Iterable[types.Tool], limits: ListLimits) -> tuple[list[RemoteTool], list[str]]:
    """Return the tools that can be used, and why others cannot. Of two with one name the first counts."""
    found: dict[str, RemoteTool] = {}
    left_out: list[str] = []
    for tool in listed:
        shown = one_line(tool.name, MAX_TITLE) or "(no name)"
        if len(found) >= limits.tools:
            left_out.append(f"{shown} and those after it: a server has at most {limits.tools} tools")
            break
        problem = _problem(tool, found)
        if problem is not None:
            left_out.append(f"{shown}: {problem}")
            continue
        hints = tool.annotations or types.ToolAnnotations()
        title = one_line(tool.title or hints.title, MAX_TITLE) or shown
        found[tool.name] = RemoteTool(
            name=tool.name,
            title=title,
            description=cleaned(tool.description, limits.description).strip() or title,
            schema=_clean_schema(tool.input_schema),
            read_only=hints.read_only_hint is True,
            destructive=hints.destructive_hint is not False and hints.read_only_hint is not True,
        )
    return list(found.values()), left_out


def _problem(tool: types.Tool, found: dict[str, RemoteTool]) -> str | None:
    if not tool.name or len(tool.name) > 256:
        return "its name is empty or longer than 256 characters"
    if tool.name in found:
        return "another tool of the server has this name"
    problem = schema_problem(tool.input_schema)
    return None if problem is None else f"the schema of its parameters {problem}"


def _clean_schema(value: Any) -> Any:
    """Return a schema without unseen characters in its texts; names of properties stay as they are."""
    if isinstance(value, str):
        return cleaned(value, 100_000)
    if isinstance(value, list):
        return [_clean_schema(one) for one in value]
    if isinstance(value, dict):
        return {key: _clean_schema(one) for key, one in value.items()}
    return value


def answer_of(result: types.CallToolResult) -> Answer:
    """Return the answer of a tool call. What stands in it as text and as value is returned once."""
    texts, images = _parts(result.content)
    structured = _clean_value(result.structured_content)
    text = "\n".join(texts)
    if structured == {"result": text}:
        structured = None
    elif structured is not None and _says_the_same(text, structured):
        text = ""
    return Answer(text[:MAX_TEXT], structured, tuple(images), result.is_error)


def resource_of(result: types.ReadResourceResult) -> Answer:
    """Return the content of a resource."""
    parts = [types.EmbeddedResource(type="resource", resource=one) for one in result.contents]
    texts, images = _parts(parts)
    return Answer("\n".join(texts)[:MAX_TEXT], images=tuple(images))


def prompt_of(result: types.GetPromptResult) -> Answer:
    """Return the messages of a prompt, each after the role that it is written for."""
    texts: list[str] = []
    images: list[Image] = []
    for message in result.messages:
        shown, more = _parts([message.content])
        texts += [f"[{message.role}]", *shown]
        images += more
    return Answer("\n".join(texts)[:MAX_TEXT], images=tuple(images[:MAX_IMAGES]))


def _parts(content: Iterable[types.ContentBlock]) -> tuple[list[str], list[Image]]:
    texts: list[str] = []
    images: list[Image] = []
    room = MAX_TEXT
    for block in content:
        shown = _shown(block, images)
        if room <= 0:
            texts.append("[more content is left out]")
            break
        texts.append(shown[:room])
        room -= len(shown)
    return texts, images


def _shown(block: types.ContentBlock, images: list[Image]) -> str:
    """Return the text that stands for a part; an image is added to the images."""
    match block:
        case types.TextContent(text=text):
            return cleaned(text, MAX_TEXT)
        case types.ImageContent(data=data, mime_type=kind):
            return _image(data, kind, images)
        case types.AudioContent(data=data, mime_type=kind):
            return f"[audio, {one_line(kind, 80)}, {len(data) * 3 // 4} bytes, left out]"
        case types.ResourceLink(uri=uri, name=name, description=description):
            about = one_line(description or name, 300)
            return f"[resource {one_line(uri, 1_000)}: {about}]"
        case types.EmbeddedResource(resource=resource):
            head = f"[resource {one_line(resource.uri, 1_000)}]"
            if isinstance(resource, types.TextResourceContents):
                return f"{head}\n{cleaned(resource.text, MAX_TEXT)}"
            kind = resource.mime_type or "application/octet-stream"
            if kind.startswith("image/"):
                return f"{head}\n{_image(resource.blob, kind, images)}"
            return f"{head}\n[{one_line(kind, 80)}, {len(resource.blob) * 3 // 4} bytes, left out]"


def _image(data: str, kind: str, images: list[Image]) -> str:
    if len(images) >= MAX_IMAGES:
        return f"[image, left out: an answer has at most {MAX_IMAGES}]"
    images.append(Image(one_line(kind, 80), data))
    return f"[image {len(images)}, {one_line(kind, 80)}]"


def _says_the_same(text: str, structured: Any) -> bool:
    try:
        return bool(text) and text.lstrip()[:1] in '{["' and orjson.loads(text) == structured
    except orjson.JSONDecodeError:
        return False


def _clean_value(value: Any) -> Any:
    """Return a structured answer without unseen characters. Messages are never deep."""
    if isinstance(value, str):
        return cleaned(value, MAX_TEXT)
    if isinstance(value, list):
        return [_clean_value(one) for one in value]
    if isinstance(value, dict):
        return {cleaned(key, 1_000): _clean_value(one) for key, one in value.items()}
    return value
