"""The Anthropic Messages API: requests as bytes, answers as deltas.

Owns: the shape of `POST /v1/messages`, its cache markers and its thinking parameter. Never: stream events
(`events`), transport, retries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import httpx2
from pydantic import Field

from app.config import ProviderSettings
from app.harness.providers.called_tool import found_tools
from app.harness.providers.connection import Connection
from app.harness.providers.driver import Driver, DriverOptions, HttpProvider, credential_header, read_options
from app.harness.providers.drivers.anthropic.events import DRIVER, AnthropicFold
from app.harness.providers.provider import EncodedOnce, ModelRequest, WireRequest, in_full
from app.harness.providers.wire_json import (
    ToolNames,
    as_object,
    dump,
    join_request,
    wire_id,
)
from app.messages import (
    AssistantMessage,
    ImageBlock,
    ModelMessage,
    SystemBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResult,
    ToolResultsMessage,
    ToolSpec,
    UserMessage,
)

DEFAULT_MAX_OUTPUT_TOKENS = 8192
"""The API demands a limit; this one is sent when neither the request nor the options give one."""

_VERSION = "2023-06-01"
_SMALL_MODELS = ("claude-3-opus", "claude-3-sonnet", "claude-3-haiku")
_SMALL_LIMIT = 4096
_LEAST_BUDGET = 1024
_MARKER = {"type": "ephemeral"}
_MODEL_VERSION = re.compile(r"claude-[a-z]+-(\d+)(?:[-.](\d{1,2})(?!\d))?")
_FIRST_ADAPTIVE = (4, 6)
_FIRST_DEFERRING = (4, 5)
_HOST = "api.anthropic.com"


class AnthropicOptions(DriverOptions):
    """`providers.NAME.options` of this driver. `thinking_budget` (tokens) switches thinking on;
    `thinking` says which kind the model takes when its name does not tell; `effort` is passed on;
    `max_output_tokens` stands in place of 8192; `cache` false sends no cache markers. `native_tool_search`
    says whether tools that a search finds go with `defer_loading` and come as `tool_reference`, by default at
    Anthropic's own address for models that are known to take it."""

    thinking_budget: int = Field(default=0, ge=0)
    thinking: Literal["enabled", "adaptive"] | None = None
    effort: str | None = None
    max_output_tokens: int = Field(default=DEFAULT_MAX_OUTPUT_TOKENS, gt=0)
    cache: bool = True
    native_tool_search: bool | None = None


class AnthropicProvider(HttpProvider):
    """A provider that speaks the Messages API."""

    driver = DRIVER

    def __init__(self, name: str, settings: ProviderSettings, connection: Connection) -> None:
        self._options = read_options(AnthropicOptions, name, settings)
        chosen = {header.lower() for header in settings.headers}
        version = {} if "anthropic-version" in chosen else {"anthropic-version": _VERSION}
        headers = version | credential_header(settings, "x-api-key")
        self._prefix = "" if connection.base_url.endswith("/v1") else "/v1"
        models = f"{self._prefix}/models?limit=1000"
        super().__init__(name, connection, headers, self._encode_tools, models)
        self._system: EncodedOnce[tuple[SystemBlock, ...]] = EncodedOnce(self._encode_system)
        self._deferring: EncodedOnce[tuple[ToolSpec, ...]] = EncodedOnce(self._encode_deferring)
        self._own_server = httpx2.URL(connection.base_url).host == _HOST

    def encode(self, request: ModelRequest) -> WireRequest:
        """Return the exact bytes. Only messages that are new to the request's cache, and the two
        that carry a moving cache marker, are encoded."""
        limit, thinking = self._limits(request)
        head: dict[str, Any] = {
            **self._options.body,
            "model": request.model,
            "max_tokens": limit,
            "stream": True,
        }
        if thinking is not None:
            head["thinking"] = thinking
        if self._options.effort is not None:
            head["output_config"] = {**as_object(head.get("output_config")), "effort": self._options.effort}
        members: list[tuple[str, bytes]] = []
        if any(block.text.strip() for block in request.system):
            members.append(("system", self._system(request.system)))
        native = self._defers(request)
        members += [("tools", self._deferring(request.tools))] if native else self._encoded_tools(request)
        names = ToolNames(request.tools, ("full", "deferred")) if native else ToolNames(request.tools)
        messages = _messages(request, names, cached=self._options.cache, native=native)
        body = join_request(head, members, "messages", messages)
        return WireRequest(path=f"{self._prefix}/messages", body=body)

    def fold(self, wire: WireRequest, request: ModelRequest) -> AnthropicFold:
        return AnthropicFold(self._connection, request)

    def _limits(self, request: ModelRequest) -> tuple[int, dict[str, Any] | None]:
        """Return `max_tokens` and the `thinking` parameter; thinking counts towards the limit."""
        default = self._options.max_output_tokens
        if request.model.startswith(_SMALL_MODELS):
            default = min(default, _SMALL_LIMIT)
        budget = self._options.thinking_budget
        kind = self._options.thinking or (_thinking_kind(request.model) if budget else None)
        if kind == "adaptive":
            limit = request.max_output_tokens or default + budget
            return limit, {"type": "adaptive", "display": "summarized"}
        if not budget or not _may_think(request.messages):
            return request.max_output_tokens or default, None
        budget = max(budget, _LEAST_BUDGET)
        limit = request.max_output_tokens or default + budget
        # Thinking counts towards the limit: a quarter stays for the answer.
        budget = min(budget, limit - limit // 4)
        if budget < _LEAST_BUDGET:
            return limit, None
        return limit, {"type": "enabled", "budget_tokens": budget}

    def _defers(self, request: ModelRequest) -> bool:
        """Tell whether the request has deferred tools, and the API is to know them."""
        chosen = self._options.native_tool_search
        if chosen is None:
            chosen = self._own_server and _version_of(request.model) >= _FIRST_DEFERRING
        return chosen and any(tool.loading == "deferred" for tool in request.tools)

    def _encode_system(self, blocks: tuple[SystemBlock, ...]) -> bytes:
        return dump(self._with_marker([_text(block.text) for block in blocks if block.text.strip()]))

    def _encode_tools(self, tools: tuple[ToolSpec, ...]) -> bytes:
        return dump(self._with_marker([_tool(tool) for tool in tools]))

    def _encode_deferring(self, tools: tuple[ToolSpec, ...]) -> bytes:
        """Behind the tools in full, and the cache marker, stand those of which the model reads nothing."""
        full = self._with_marker([_tool(tool) for tool in in_full(tools)])
        deferred = (tool for tool in tools if tool.loading == "deferred")
        return dump([*full, *({**_tool(tool), "defer_loading": True} for tool in deferred)])

    def _with_marker(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if items and self._options.cache:
            items[-1]["cache_control"] = _MARKER
        return items


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.wire_name, "description": tool.description, "input_schema": tool.parameters}


def _version_of(model: str) -> tuple[int, int]:
    found = _MODEL_VERSION.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def _thinking_kind(model: str) -> str:
    """Models from 4.6 on decide for themselves how long to think, and the newest refuse a budget."""
    return "adaptive" if _version_of(model) >= _FIRST_ADAPTIVE else "enabled"


def _may_think(messages: Sequence[ModelMessage]) -> bool:
    """With a budget, the turn that results answer must itself begin with signed thinking.

    One that another provider's model began, or that began without thinking, does not; the API
    then refuses the parameter, so this turn goes on without it.
    """
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            return True
        if isinstance(message, AssistantMessage) and any(
            isinstance(block, ToolCallBlock) for block in message.blocks
        ):
            return bool(message.blocks) and _is_own_thinking(message.blocks[0])
    return True


def _messages(request: ModelRequest, names: ToolNames, *, cached: bool, native: bool) -> list[bytes]:
    def encode(message: ModelMessage) -> bytes:
        return _encode(message, names, native)

    key = f"{DRIVER}:deferring" if native else DRIVER
    parts = list(request.cache.encode(key, request.messages, encode))
    for index in _marked(request.messages, parts) if cached else ():
        parts[index] = _encode(request.messages[index], names, native, marked=True)
    if request.reminder is not None:
        # System messages stand only at the beginning here. Behind the markers: it is not cached.
        parts.append(dump({"role": "user", "content": [_text(request.reminder)]}))
    return parts


def _marked(messages: Sequence[ModelMessage], encoded: Sequence[bytes]) -> Iterator[int]:
    """Yield where the moving cache markers stand: the last message, and the one before it that
    the previous request ended with, because a lookup goes back only twenty blocks and one step
    with many parallel calls has more."""
    sent = (index for index in reversed(range(len(messages))) if encoded[index])
    last = next(sent, None)
    if last is None:
        return
    yield last
    answered = isinstance(messages[last], AssistantMessage)
    for index in sent:
        is_answer = isinstance(messages[index], AssistantMessage)
        if answered and not is_answer:
            yield index
            return
        answered = answered or is_answer


def _encode(message: ModelMessage, names: ToolNames, native: bool, *, marked: bool = False) -> bytes:
    """Return the message's JSON, or nothing when nothing of it may be sent."""
    content = _content(message, names, native)
    if not content:
        return b""
    if marked:
        content[-1] = {**content[-1], "cache_control": _MARKER}
    role = "assistant" if isinstance(message, AssistantMessage) else "user"
    return dump({"role": role, "content": content})


def _content(message: ModelMessage, names: ToolNames, native: bool) -> list[dict[str, Any]]:
    match message:
        case UserMessage(blocks=blocks):
            return [item for block in blocks if (item := _user_block(block)) is not None]
        case AssistantMessage(blocks=blocks):
            content = [item for block in blocks if (item := _answer_block(block, names)) is not None]
            # The API refuses an answer that ends in thinking; it comes from one that was cut off.
            while content and content[-1]["type"] in ("thinking", "redacted_thinking"):
                content.pop()
            return content
        case ToolResultsMessage(results=results):
            return [_result(result, names if native else None) for result in results]


def _user_block(block: TextBlock | ImageBlock) -> dict[str, Any] | None:
    if isinstance(block, ImageBlock):
        source = {"type": "base64", "media_type": block.media_type, "data": block.data}
        return {"type": "image", "source": source}
    return _text(block.text) if block.text.strip() else None


def _answer_block(
    block: TextBlock | ThinkingBlock | ToolCallBlock, names: ToolNames
) -> dict[str, Any] | None:
    match block:
        case TextBlock(text=text):
            return _text(text) if text.strip() else None
        case ThinkingBlock() if not _is_own_thinking(block):
            return None
        case ThinkingBlock(data=str(data)):
            return {"type": "redacted_thinking", "data": data}
        case ThinkingBlock():
            return {"type": "thinking", "thinking": block.text, "signature": block.signature}
        case ToolCallBlock():
            name, arguments = names.call(block)
            return {"type": "tool_use", "id": wire_id(block.id), "name": name, "input": arguments}


def _is_own_thinking(block: object) -> bool:
    return (
        isinstance(block, ThinkingBlock)
        and block.provider == DRIVER
        and (block.signature is not None or block.data is not None)
    )


def _result(result: ToolResult, deferring: ToolNames | None) -> dict[str, Any]:
    """Return a result; `deferring` are the names of the request where the API knows the deferred tools."""
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": wire_id(result.tool_call_id)}
    if result.is_error:
        # The API refuses an error without words, and one with pictures.
        block |= {"content": result.content or "failed", "is_error": True}
    elif deferring is not None and (references := _references(result, deferring)):
        block["content"] = references
    elif result.images:
        parts = (_user_block(TextBlock(text=result.content)), *map(_user_block, result.images))
        block["content"] = [part for part in parts if part is not None]
    elif result.content:
        block["content"] = result.content
    return block


def _references(result: ToolResult, names: ToolNames) -> list[dict[str, Any]]:
    """Return references to the tools that a search found; none where the API lacks one of them."""
    found = [str(tool["name"]) for tool in found_tools(result)]
    if not all(names.knows(name) for name in found):
        return []
    return [{"type": "tool_reference", "tool_name": names.to_wire(name)} for name in found]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


RECORD = Driver(
    name="anthropic",
    adapter=AnthropicProvider,
    base_url="https://api.anthropic.com",
    price_vendor="anthropic",
    seeing=r"(?:^|[/.])claude-",
    blind=r"claude-(?:1|2|instant)",
)
