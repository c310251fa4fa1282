"""The OpenAI Responses API, used without state at the provider: requests as bytes, answers as deltas.

Owns: the shape of `POST /responses` and of its input items. Never: the meaning of stream events
(`openai_responses_events`), transport, retries.
Proved by `tests/harness/providers/test_openai_responses.py`, over real HTTP.

Options of a provider with this driver: `reasoning_effort`, `reasoning_summary` (`auto`, `concise`,
`detailed`; some organisations must be verified first, so none is asked for by default),
`reasoning` (true or false, when the model's name does not tell whether it reasons),
`max_output_tokens` and `body` (members added to every request).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from typing import Any

from app.config import ProviderSettings
from app.harness.providers.connection import Connection
from app.harness.providers.deltas import Delta
from app.harness.providers.folding import fold_stream
from app.harness.providers.openai_responses_events import DRIVER, SHOWN_REASONING, ResponsesFold
from app.harness.providers.provider import ModelRequest, WireRequest
from app.harness.providers.wire_json import (
    ToolNames,
    arguments_to_send,
    dump,
    join_array,
    join_object,
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
    ToolResultsMessage,
    ToolSpec,
    UserBlock,
    UserMessage,
)

DEFAULT_BASE_URL = "https://api.openai.com/v1"

_WITHOUT_REASONING = re.compile(r"(?:^|/)(?:gpt-3|gpt-4|chatgpt|gpt-5[.\d]*-chat)")


class OpenAIResponsesProvider:
    """A provider that speaks the Responses API. Nothing is stored there: every request carries
    the conversation, and reasoning goes back as the encrypted items that it came in."""

    def __init__(self, name: str, settings: ProviderSettings, connection: Connection) -> None:
        self._name = name
        self._options = settings.options
        self._connection = connection
        self._headers: dict[str, str] = {}
        if settings.api_key is not None:
            self._headers["authorization"] = f"Bearer {settings.api_key.get_secret_value()}"

    @property
    def name(self) -> str:
        return self._name

    @property
    def driver(self) -> str:
        return DRIVER

    def encode(self, request: ModelRequest) -> WireRequest:
        """Return the exact bytes. Only messages that are new to the request's cache are encoded."""
        reasons = self._reasons(request.model)
        members: list[tuple[str, bytes]] = [
            ("model", dump(request.model)),
            ("stream", b"true"),
            ("store", b"false"),
        ]
        if reasons:
            members.append(("include", dump(["reasoning.encrypted_content"])))
            if reasoning := self._reasoning():
                members.append(("reasoning", dump(reasoning)))
        limit = request.max_output_tokens or self._options.get("max_output_tokens")
        if limit:
            members.append(("max_output_tokens", dump(limit)))
        if request.session_id:
            members.append(("prompt_cache_key", dump(request.session_id)))
        members += [(key, dump(value)) for key, value in self._options.get("body", {}).items()]
        if instructions := "\n\n".join(block.text for block in request.system if block.text):
            members.append(("instructions", dump(instructions)))
        if request.tools:
            members.append(("tools", dump([_tool(tool) for tool in request.tools])))
        members.append(("input", _input(request, reasons)))
        return WireRequest(path="/responses", body=join_object(members))

    def stream(self, wire: WireRequest, request: ModelRequest) -> AsyncIterator[Delta]:
        """Send the bytes and yield deltas; the last one is `Finished`. Raises `ProviderError`."""
        fold = ResponsesFold(self._connection, request.model, ToolNames(request.tools))
        return fold_stream(self._connection, wire, model=request.model, headers=self._headers, fold=fold)

    def _reasons(self, model: str) -> bool:
        """Models that do not reason refuse to be asked for, or given, reasoning."""
        chosen = self._options.get("reasoning")
        return bool(chosen) if chosen is not None else _WITHOUT_REASONING.search(model) is None

    def _reasoning(self) -> dict[str, Any]:
        names = (("effort", "reasoning_effort"), ("summary", "reasoning_summary"))
        return {key: value for key, option in names if (value := self._options.get(option))}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.wire_name,
        "description": tool.description,
        "parameters": tool.parameters,
        # Left out, the API rewrites the schema so that every parameter is required.
        "strict": False,
    }


def _input(request: ModelRequest, reasons: bool) -> bytes:
    names = ToolNames(request.tools)
    key = DRIVER if reasons else f"{DRIVER}:plain"

    def encode(message: ModelMessage) -> bytes:
        return b",".join(dump(item) for item in _items(message, names, reasons))

    return join_array(request.cache.encode(key, request.messages, encode))


def _items(message: ModelMessage, names: ToolNames, reasons: bool) -> list[dict[str, Any]]:
    match message:
        case UserMessage(blocks=blocks):
            content = [_content(block) for block in blocks if not _is_empty(block)]
            return [{"type": "message", "role": "user", "content": content}] if content else []
        case AssistantMessage(blocks=blocks):
            return _answer(blocks, names, reasons)
        case ToolResultsMessage(results=results):
            return [
                {
                    "type": "function_call_output",
                    "call_id": wire_id(result.tool_call_id),
                    "output": result.content,
                }
                for result in results
            ]


def _answer(blocks: Sequence[AssistantBlock], names: ToolNames, reasons: bool) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for item_id, group in groupby(blocks, key=_item_id):
        members = list(group)
        if item_id is not None:
            thoughts = [block for block in members if isinstance(block, ThinkingBlock)]
            if reasons and (item := _reasoning_item(item_id, thoughts)) is not None:
                items.append(item)
            continue
        items += [item for block in members if (item := _answer_item(block, names)) is not None]
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


def _answer_item(block: AssistantBlock, names: ToolNames) -> dict[str, Any] | None:
    match block:
        case TextBlock(text=text) if text:
            content = [{"type": "output_text", "text": text}]
            return {"type": "message", "role": "assistant", "content": content}
        case ToolCallBlock():
            return {
                "type": "function_call",
                "call_id": wire_id(block.id),
                "name": names.to_wire(block.name),
                "arguments": dump(arguments_to_send(block)).decode(),
            }
    return None


def _content(block: UserBlock) -> dict[str, Any]:
    if isinstance(block, ImageBlock):
        return {"type": "input_image", "image_url": f"data:{block.media_type};base64,{block.data}"}
    return {"type": "input_text", "text": block.text}


def _is_empty(block: UserBlock) -> bool:
    return isinstance(block, TextBlock) and not block.text
