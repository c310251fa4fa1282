"""The OpenAI Responses API, used without state at the provider: requests as bytes, answers as deltas.

Owns: the shape of `POST /responses` and of its input items. Never: stream events (`events`), transport,
retries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Literal

import httpx2
from pydantic import Field

from app.config import ProviderSettings
from app.harness.providers.called_tool import found_tools
from app.harness.providers.connection import Connection
from app.harness.providers.driver import Driver, DriverOptions, HttpProvider, credential_header, read_options
from app.harness.providers.drivers.openai_responses.events import DRIVER, SHOWN_REASONING, ResponsesFold
from app.harness.providers.provider import EncodedOnce, ModelRequest, WireRequest, in_full
from app.harness.providers.wire_json import (
    ToolNames,
    arguments_to_send,
    as_object,
    as_text,
    dump,
    join_request,
    wire_id,
)
from app.messages import (
    TOOL_SEARCH,
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

_VERSION = re.compile(r"(?:^|/)gpt-(\d{1,3})(?:\.(\d{1,3}))?")
_FIRST_SEARCHING = (5, 4)
_HOST = "api.openai.com"
_WITHOUT_REASONING = re.compile(r"(?:^|/)(?:gpt-3|gpt-4|chatgpt|gpt-5[.\d]*-chat)")


class ResponsesOptions(DriverOptions):
    """`providers.NAME.options` of this driver. No summary of the reasoning is asked for by default,
    as OpenAI refuses it to organisations that are not verified; `reasoning` says whether the model
    reasons when its name does not tell. `native_tool_search` says whether the search for tools is the API's
    own tool, by default at OpenAI's address for models that are known to have it."""

    reasoning: bool | None = None
    reasoning_effort: str | None = None
    reasoning_summary: Literal["auto", "concise", "detailed"] | None = None
    max_output_tokens: int | None = Field(default=None, gt=0)
    path: str = "/responses"
    native_tool_search: bool | None = None


class OpenAIResponsesProvider(HttpProvider):
    """A provider that speaks the Responses API. Nothing is stored there: every request carries
    the conversation, and reasoning goes back as the encrypted items that it came in."""

    driver = DRIVER

    def __init__(self, name: str, settings: ProviderSettings, connection: Connection) -> None:
        self._options = read_options(ResponsesOptions, name, settings)
        super().__init__(name, connection, credential_header(settings, "authorization", "Bearer "), _tools)
        self._searching: EncodedOnce[tuple[ToolSpec, ...]] = EncodedOnce(_searching_tools)
        self._own_server = httpx2.URL(connection.base_url).host == _HOST

    def encode(self, request: ModelRequest) -> WireRequest:
        """Return the exact bytes. Only messages that are new to the request's cache are encoded."""
        reasons = self._reasons(request.model)
        head: dict[str, Any] = {
            **self._options.body,
            "model": request.model,
            "stream": True,
            "store": False,
        }
        if reasons:
            head["include"] = ["reasoning.encrypted_content"]
            if reasoning := self._reasoning():
                head["reasoning"] = reasoning
        if limit := request.max_output_tokens or self._options.max_output_tokens:
            head["max_output_tokens"] = limit
        if request.session_id:
            head["prompt_cache_key"] = request.session_id
        if instructions := "\n\n".join(block.text for block in request.system if block.text):
            head["instructions"] = instructions
        native = self._searches(request)
        tools = [("tools", self._searching(request.tools))] if native else self._encoded_tools(request)
        body = join_request(head, tools, "input", _input(request, reasons, native))
        return WireRequest(path=self._options.path, body=body)

    def fold(self, wire: WireRequest, request: ModelRequest) -> ResponsesFold:
        return ResponsesFold(self._connection, request)

    def _reasons(self, model: str) -> bool:
        """Models that do not reason refuse to be asked for, or given, reasoning."""
        chosen = self._options.reasoning
        return chosen if chosen is not None else _WITHOUT_REASONING.search(model) is None

    def _searches(self, request: ModelRequest) -> bool:
        """Tell whether the request has the search for tools, in the API's own form."""
        chosen = self._options.native_tool_search
        if chosen is None:
            version = _VERSION.search(request.model)
            chosen = self._own_server and version is not None and _number(version) >= _FIRST_SEARCHING
        return chosen and any(tool.name == TOOL_SEARCH for tool in request.tools)

    def _reasoning(self) -> dict[str, Any]:
        wanted = {"effort": self._options.reasoning_effort, "summary": self._options.reasoning_summary}
        return {key: value for key, value in wanted.items() if value is not None}


def _tools(tools: tuple[ToolSpec, ...]) -> bytes:
    return dump([_tool(tool) for tool in tools])


def _number(version: re.Match[str]) -> tuple[int, int]:
    return int(version[1]), int(version[2] or 0)


def _searching_tools(tools: tuple[ToolSpec, ...]) -> bytes:
    return dump([_search(tool) if tool.name == TOOL_SEARCH else _tool(tool) for tool in in_full(tools)])


def _search(tool: ToolSpec) -> dict[str, Any]:
    form = {"type": "tool_search", "execution": "client"}
    return {**form, "description": tool.description, "parameters": tool.parameters}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.wire_name,
        "description": tool.description,
        "parameters": tool.parameters,
        # Left out, the API rewrites the schema so that every parameter is required.
        "strict": False,
    }


def _input(request: ModelRequest, reasons: bool, native: bool) -> list[bytes]:
    names = ToolNames(request.tools, None) if native else ToolNames(request.tools)
    key = f"{DRIVER}{'' if reasons else ':plain'}{':search' if native else ''}"

    def encode(message: ModelMessage) -> bytes:
        return b",".join(dump(item) for item in _items(message, names, reasons, native))

    encoded = request.cache.encode(key, request.messages, encode)
    if request.reminder is None:
        return encoded
    content = [{"type": "input_text", "text": request.reminder}]
    return [*encoded, dump({"type": "message", "role": "system", "content": content})]


def _items(message: ModelMessage, names: ToolNames, reasons: bool, native: bool) -> list[dict[str, Any]]:
    match message:
        case UserMessage(blocks=blocks):
            content = [_content(block) for block in blocks if not _is_empty(block)]
            return [{"type": "message", "role": "user", "content": content}] if content else []
        case AssistantMessage(blocks=blocks):
            return _answer(blocks, names, reasons, native)
        case ToolResultsMessage(results=results):
            return [_result(result, names, native) for result in results]


def _result(result: ToolResult, names: ToolNames, native: bool) -> dict[str, Any]:
    answered = {"call_id": wire_id(result.tool_call_id)}
    if native and result.name == TOOL_SEARCH:
        output = {"type": "tool_search_output", "execution": "client", "status": "completed"}
        return {**output, **answered, "tools": [_found(tool, names) for tool in found_tools(result)]}
    return {"type": "function_call_output", **answered, "output": _output(result)}


def _found(tool: Mapping[str, Any], names: ToolNames) -> dict[str, Any]:
    name = str(tool["name"])
    spec = ToolSpec(
        name=name,
        wire_name=names.to_wire(name),
        description=as_text(tool.get("description")),
        parameters=dict(as_object(tool.get("parameters"))),
    )
    return {**_tool(spec), "defer_loading": True}


def _output(result: ToolResult) -> str | list[dict[str, Any]]:
    if not result.images:
        return result.content
    return [_content(TextBlock(text=result.content)), *map(_content, result.images)]


def _answer(
    blocks: Sequence[AssistantBlock], names: ToolNames, reasons: bool, native: bool
) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for item_id, group in groupby(blocks, key=_item_id):
        members = list(group)
        if item_id is not None:
            thoughts = [block for block in members if isinstance(block, ThinkingBlock)]
            if reasons and (item := _reasoning_item(item_id, thoughts)) is not None:
                items.append(item)
            continue
        items += [item for block in members if (item := _answer_item(block, names, native)) is not None]
    # Reasoning that nothing follows comes from an answer that was cut off; the API refuses it.
    while items and items[-1]["type"] == "reasoning":
        items.pop()
    return items


def _item_id(block: AssistantBlock) -> str | None:
    """Return the reasoning item that the block is a part of; None for everything else."""
    own = isinstance(block, ThinkingBlock) and block.provider == DRIVER
    return block.item_id if own and isinstance(block, ThinkingBlock) else None


def _reasoning_item(item_id: str, parts: Sequence[ThinkingBlock]) -> dict[str, Any] | None:
    """Put the item together again. One without its encrypted content is unknown at a provider
    that stored nothing, unless it showed its reasoning in full."""
    encrypted = next((part.data for part in parts if part.data is not None), None)
    shown = [part.text for part in parts if part.signature == SHOWN_REASONING]
    if encrypted is None and not shown:
        return None
    summary = [part.text for part in parts if part.signature != SHOWN_REASONING and part.text]
    item: dict[str, Any] = {
        "type": "reasoning",
        "id": item_id,
        "summary": [{"type": "summary_text", "text": text} for text in summary],
    }
    if shown:
        item["content"] = [{"type": "reasoning_text", "text": text} for text in shown]
    if encrypted is not None:
        item["encrypted_content"] = encrypted
    return item


def _answer_item(block: AssistantBlock, names: ToolNames, native: bool) -> dict[str, Any] | None:
    match block:
        case TextBlock(text=text, phase=phase) if text:
            # As text: a list of parts is for items that have the id and the status that the API gave them.
            said = {"type": "message", "role": "assistant", "content": text}
            return said if phase is None else {**said, "phase": phase}
        case ToolCallBlock(name=name) if native and name == TOOL_SEARCH:
            search = {"type": "tool_search_call", "execution": "client", "status": "completed"}
            return {**search, "call_id": wire_id(block.id), "arguments": arguments_to_send(block)}
        case ToolCallBlock():
            name, arguments = names.call(block)
            called = {"name": name, "arguments": dump(arguments).decode()}
            return {"type": "function_call", "call_id": wire_id(block.id), **called}
    return None


def _content(block: UserBlock) -> dict[str, Any]:
    if isinstance(block, ImageBlock):
        url = f"data:{block.media_type};base64,{block.data}"
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    return {"type": "input_text", "text": block.text}


def _is_empty(block: UserBlock) -> bool:
    return isinstance(block, TextBlock) and not block.text


RECORD = Driver(
    name="openai-responses",
    adapter=OpenAIResponsesProvider,
    base_url="https://api.openai.com/v1",
    price_vendor="openai",
)
