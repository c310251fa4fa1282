"""Answers of tools as MCP results.

Owns: their shape. Never: how long they may be (`tools.dispatch.model_view`).
"""

from __future__ import annotations

from typing import Any

import orjson
from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent

from app.errors import KagedError
from app.tools.contract.call import ToolEnvelope


def result_of(envelope: ToolEnvelope) -> CallToolResult:
    """Return the text that a model reads, with the images, and the data for programs."""
    content: list[ContentBlock] = [TextContent(text=envelope.model_text())]
    content += [ImageContent(data=image.data, mime_type=image.media_type) for image in envelope.images]
    data = envelope.data if isinstance(envelope.data, dict) and not envelope.is_error else None
    return CallToolResult(content=content, structured_content=data, is_error=envelope.is_error)


def data_result(data: dict[str, Any], text: str | None = None) -> CallToolResult:
    """Return the result of one of the tools that only MCP clients have."""
    shown = text if text is not None else orjson.dumps(data).decode()
    return CallToolResult(content=[TextContent(text=shown)], structured_content=data)


def error_result(error: KagedError) -> CallToolResult:
    """Return a refusal as a result, so that a model reads it."""
    return failure(error.code, error.message)


def failure(code: str, message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=f"Error {code}: {message}")], is_error=True)
