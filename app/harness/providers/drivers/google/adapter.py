"""The Gemini API (generateContent): requests as bytes, answers as deltas.

Owns: the shape of `POST /v1beta/models/MODEL:streamGenerateContent`, and where thought signatures go back.
Never: stream events (`events`), transport, retries.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from pydantic import Field

from app.config import ProviderSettings
from app.harness.providers.connection import Connection
from app.harness.providers.driver import Driver, DriverOptions, HttpProvider, credential_header, read_options
from app.harness.providers.drivers.google.events import DRIVER, MADE_UP_ID, GoogleFold
from app.harness.providers.provider import ModelRequest, WireRequest
from app.harness.providers.wire_json import (
    ToolNames,
    dump,
    join_request,
    wire_id,
)
from app.messages import (
    AssistantBlock,
    AssistantMessage,
    ImageBlock,
    ModelMessage,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResult,
    ToolResultsMessage,
    ToolSpec,
    UserBlock,
    UserMessage,
)

_VERSIONED = re.compile(r"/v\d[a-z\d]*$")
_WITHOUT_SIGNATURES = re.compile(r"(?:^|/)gemini-[12](?:\.|-)")
_THINKS = re.compile(r"(?:^|/)gemini-(?:2\.5|[3-9])")

_SKIP_SIGNATURE = "skip_thought_signature_validator"
"""What the API documents for calls that another model made: newer ones refuse an unsigned call."""


class GoogleOptions(DriverOptions):
    """`providers.NAME.options` of this driver. `include_thoughts` is by default true for models
    that are known to think; `generation` is merged into `generationConfig`."""

    thinking_budget: int | None = None
    thinking_level: str | None = None
    include_thoughts: bool | None = None
    max_output_tokens: int | None = Field(default=None, gt=0)
    generation: dict[str, Any] = Field(default_factory=dict)


class GoogleProvider(HttpProvider):
    """A provider that speaks the Gemini API."""

    driver = DRIVER
    models_keys = ("models", "name")

    def __init__(self, name: str, settings: ProviderSettings, connection: Connection) -> None:
        self._options = read_options(GoogleOptions, name, settings)
        self._prefix = "" if _VERSIONED.search(connection.base_url) else "/v1beta"
        headers = credential_header(settings, "x-goog-api-key")
        super().__init__(name, connection, headers, _tools, f"{self._prefix}/models?pageSize=1000")

    def encode(self, request: ModelRequest) -> WireRequest:
        """Return the exact bytes. Only messages that are new to the request's cache are encoded."""
        head: dict[str, Any] = dict(self._options.body)
        if system := [{"text": block.text} for block in request.system if block.text.strip()]:
            head["systemInstruction"] = {"parts": system}
        if generation := self._generation(request):
            head["generationConfig"] = generation
        body = join_request(head, self._encoded_tools(request), "contents", _contents(request))
        model = request.model if "/" in request.model else f"models/{request.model}"
        path = f"{self._prefix}/{quote(model, safe='/-._~:@')}:streamGenerateContent?alt=sse"
        return WireRequest(path=path, body=body)

    def fold(self, wire: WireRequest, request: ModelRequest) -> GoogleFold:
        return GoogleFold(self._connection, request, wire.body)

    def _generation(self, request: ModelRequest) -> dict[str, Any]:
        options = self._options
        config: dict[str, Any] = dict(options.generation)
        if limit := request.max_output_tokens or options.max_output_tokens:
            config["maxOutputTokens"] = limit
        shown = options.include_thoughts
        thinking = {
            "includeThoughts": (_THINKS.search(request.model) is not None if shown is None else shown)
            or None,
            "thinkingBudget": options.thinking_budget,
            "thinkingLevel": options.thinking_level,
        }
        if given := {key: value for key, value in thinking.items() if value is not None}:
            config["thinkingConfig"] = given
        return config


def _tools(tools: tuple[ToolSpec, ...]) -> bytes:
    return dump([{"functionDeclarations": [_declaration(tool) for tool in tools]}])


def _declaration(tool: ToolSpec) -> dict[str, Any]:
    return {
        "name": tool.wire_name,
        "description": tool.description,
        "parametersJsonSchema": tool.parameters,
    }


def _contents(request: ModelRequest) -> list[bytes]:
    names = ToolNames(request.tools)
    signed = _WITHOUT_SIGNATURES.search(request.model) is None
    key = f"{DRIVER}:signed" if signed else DRIVER
    encoded = request.cache.encode(key, request.messages, lambda message: _content(message, names, signed))
    if request.reminder is None:
        return encoded
    # There are no system messages among the contents.
    return [*encoded, dump({"role": "user", "parts": [{"text": request.reminder}]})]


def _content(message: ModelMessage, names: ToolNames, signed: bool) -> bytes:
    """Return the message's JSON, or nothing when nothing of it may be sent."""
    role, parts = "user", list[dict[str, Any]]()
    match message:
        case UserMessage(blocks=blocks):
            parts = [part for block in blocks if (part := _user_part(block)) is not None]
        case AssistantMessage(blocks=blocks):
            role, parts = "model", _answer_parts(blocks, names, signed)
        case ToolResultsMessage(results=results):
            # The answers first and together: as many as there were calls. What they show follows.
            parts = [_result(result, names) for result in results]
            shown = [_user_part(image) for result in results for image in result.images]
            parts += [part for part in shown if part is not None]
    return dump({"role": role, "parts": parts}) if parts else b""


def _user_part(block: UserBlock) -> dict[str, Any] | None:
    if isinstance(block, ImageBlock):
        return {"inlineData": {"mimeType": block.media_type, "data": block.data}}
    return {"text": block.text} if block.text else None


def _answer_parts(blocks: Sequence[AssistantBlock], names: ToolNames, signed: bool) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    loose: list[tuple[int, str]] = []
    for block in blocks:
        match block:
            case TextBlock(text=text) if text:
                parts.append({"text": text})
            case ThinkingBlock(provider="google", signature=str(signature), text=text):
                if text:
                    parts.append({"text": text, "thought": True, "thoughtSignature": signature})
                else:
                    loose.append((len(parts), signature))
            case ToolCallBlock():
                parts.append(_call(block, names))
    for position, signature in loose:
        _attach(parts, position, signature)
    first = next((part for part in parts if "functionCall" in part), None)
    if signed and first is not None:
        first.setdefault("thoughtSignature", _SKIP_SIGNATURE)
    return parts


def _attach(parts: Sequence[dict[str, Any]], position: int, signature: str) -> None:
    """Put a signature that came without words of its own on the part that it is about.

    The API demands it on the first call of an answer and takes it on the text before it; an
    empty part of its own is not accepted everywhere.
    """
    first = next((part for part in parts if "functionCall" in part), None)
    before = next((part for part in reversed(parts[:position]) if "thought" not in part), None)
    for part in (first, before):
        if part is not None and "thoughtSignature" not in part:
            part["thoughtSignature"] = signature
            return


def _call(block: ToolCallBlock, names: ToolNames) -> dict[str, Any]:
    name, arguments = names.call(block)
    call: dict[str, Any] = {"name": name, "args": arguments}
    part: dict[str, Any] = {"functionCall": {**_sent_id(block.id), **call}}
    if block.signature is not None:
        part["thoughtSignature"] = block.signature
    return part


def _result(result: ToolResult, names: ToolNames) -> dict[str, Any]:
    outcome = {"error" if result.is_error else "output": result.content}
    response = {"name": names.result(result.name), "response": outcome}
    return {"functionResponse": {**_sent_id(result.tool_call_id), **response}}


def _sent_id(identifier: str) -> dict[str, str]:
    """An endpoint that gave no id gets none back: some refuse the field."""
    return {} if identifier.startswith(MADE_UP_ID) else {"id": wire_id(identifier)}


RECORD = Driver(
    name="google",
    adapter=GoogleProvider,
    base_url="https://generativelanguage.googleapis.com",
    price_vendor="google",
    seeing=r"(?:^|/)gemini-",
    blind=r"gemini-1\.0-pro$|gemma-?3n?[:-](?:1b|270m)",
    telemetry_name="gcp.gemini",
)
