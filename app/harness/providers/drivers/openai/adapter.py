"""The `openai` driver: chat completions, as OpenAI and everything compatible with it speak it.

Owns: the request's bytes (Ollama, vLLM, llama.cpp, OpenRouter, Groq and others accept the same).
Never: reading the answer (`openai_answer`), HTTP (`connection`), or repeating a call (`retry`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from app.config import ProviderSettings
from app.harness.providers.connection import Connection
from app.harness.providers.driver import Driver, DriverOptions, HttpProvider, credential_header, read_options
from app.harness.providers.drivers.openai.answer import ChatFold
from app.harness.providers.drivers.openai.reasoning_details import given_back
from app.harness.providers.drivers.openai.servers import Server, known_server
from app.harness.providers.provider import EncodedOnce, ModelRequest, WireRequest
from app.harness.providers.wire_json import ToolNames, dump, join_request
from app.messages import (
    AssistantMessage,
    ImageBlock,
    ModelMessage,
    SystemBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultsMessage,
    ToolSpec,
    UserMessage,
)

_BRIDGE = dump({"role": "assistant", "content": "Noted."})
"""Stands between a tool's message and a user's where a server takes no other order."""


class OpenAIOptions(DriverOptions):
    """`providers.NAME.options` of this driver. `max_tokens_field` and `system_role` differ between
    servers; `reasoning_field` names the field in which thinking goes back to the model: some servers
    refuse it, those that are known to demand it get it (an empty name is off); `auth_header` takes the
    place of a bearer token. `reminder_role` is that of the reminder of open tasks, which comes last
    (`system_role` unless set; some servers take a system message only as the first)."""

    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] | None = None
    system_role: Literal["system", "developer"] = "system"
    reminder_role: Literal["system", "developer", "user"] | None = None
    include_usage: bool | None = None
    reasoning_field: str | None = None
    auth_header: str | None = None
    path: str = "/chat/completions"


class OpenAIProvider(HttpProvider):
    """One configured chat-completions server."""

    driver = "openai"

    def __init__(self, name: str, settings: ProviderSettings, connection: Connection) -> None:
        self._options = read_options(OpenAIOptions, name, settings)
        own = self._options.auth_header
        header = (own.lower(), "") if own else ("authorization", "Bearer ")
        super().__init__(name, connection, credential_header(settings, *header), _tools)
        self._server = known_server(connection.base_url)
        self._limit_field = self._options.max_tokens_field or self._server.max_tokens_field
        self._reminder_role = "user" if self._server.strict else self._options.system_role
        field = self._options.reasoning_field
        self._reasoning_field = self._server.reasoning_field if field is None else field
        asks = self._options.include_usage
        self._include_usage = not self._server.strict if asks is None else asks
        self._codec = f"{self.driver}:{self._reasoning_field or ''}:{self._server}"
        self._system: EncodedOnce[tuple[SystemBlock, ...]] = EncodedOnce(self._system_message)

    def encode(self, request: ModelRequest) -> WireRequest:
        """Return the exact bytes; messages encoded before are joined, not encoded again."""
        names = ToolNames(request.tools)
        encoded = request.cache.encode(
            self._codec, request.messages, lambda message: self._message(message, names)
        )
        system = self._system(request.system)
        last = b"" if request.reminder is None else self._reminder(request.reminder)
        messages = [*encoded, last]
        if self._server.strict:
            messages = _bridged([*request.messages, None], messages)
        body = join_request(
            self._head(request), self._encoded_tools(request), "messages", (system, *messages)
        )
        return WireRequest(self._options.path, body)

    def fold(self, wire: WireRequest, request: ModelRequest) -> ChatFold:
        return ChatFold(self._connection, request, wire, keeps_details=self._server.reasoning_details)

    def _head(self, request: ModelRequest) -> dict[str, Any]:
        head: dict[str, Any] = {**self._options.body, "model": request.model, "stream": True}
        if self._include_usage:
            head["stream_options"] = {"include_usage": True}
        if request.max_output_tokens is not None:
            head[self._limit_field] = request.max_output_tokens
        return head

    def _system_message(self, system: tuple[SystemBlock, ...]) -> bytes:
        text = "\n\n".join(block.text for block in system if block.text)
        return dump({"role": self._options.system_role, "content": text}) if text else b""

    def _reminder(self, text: str) -> bytes:
        return dump({"role": self._options.reminder_role or self._reminder_role, "content": text})

    def _message(self, message: ModelMessage, names: ToolNames) -> bytes:
        """Return the JSON of one message; nothing for one that says nothing (servers refuse those)."""
        if isinstance(message, UserMessage):
            content = _user_content(message)
            return dump({"role": "user", "content": content}) if content else b""
        if isinstance(message, AssistantMessage):
            answer = _assistant(message, names, self._reasoning_field, self._server)
            return dump(answer) if answer["content"] or "tool_calls" in answer else b""
        return _tool_results(message, self._server)


def _tools(tools: tuple[ToolSpec, ...]) -> bytes:
    functions = [
        {
            "type": "function",
            "function": {
                "name": tool.wire_name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in tools
    ]
    return dump(functions)


def _user_content(message: UserMessage) -> str | list[dict[str, Any]]:
    blocks = [block for block in message.blocks if not isinstance(block, TextBlock) or block.text]
    texts = [block.text for block in blocks if isinstance(block, TextBlock)]
    if len(texts) == len(blocks):
        # Plain text where possible: several compatible servers refuse a list of parts.
        return "\n\n".join(texts)
    return [_user_part(block) for block in blocks]


def _user_part(block: TextBlock | ImageBlock) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": f"data:{block.media_type};base64,{block.data}"}}


def _assistant(
    message: AssistantMessage, names: ToolNames, reasoning_field: str | None, server: Server
) -> dict[str, Any]:
    calls = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    text = "".join(block.text for block in message.blocks if isinstance(block, TextBlock))
    encoded: dict[str, Any] = {"role": "assistant", "content": text if text or not calls else None}
    if reasoning_field:
        thoughts = [
            block.text
            for block in message.blocks
            if isinstance(block, ThinkingBlock) and block.provider in (None, OpenAIProvider.driver)
        ]
        # Beside calls the field must be there, even for an answer that another model began.
        if any(thoughts) or calls:
            encoded[reasoning_field] = "".join(thoughts)
    if server.reasoning_details:
        kept = [
            block.data
            for block in message.blocks
            if isinstance(block, ThinkingBlock) and block.provider == OpenAIProvider.driver and block.data
        ]
        if details := given_back(kept):
            encoded["reasoning_details"] = details
    if calls:
        encoded["tool_calls"] = [
            {
                "id": server.call_id(call.id),
                "type": "function",
                "function": {"name": name, "arguments": dump(arguments).decode()},
            }
            for call in calls
            for name, arguments in [names.call(call)]
        ]
    return encoded


def _tool_results(message: ToolResultsMessage, server: Server) -> bytes:
    """Return one message for each result. A tool's message holds text only, so their pictures
    follow in one message behind the last of them."""
    encoded = [
        dump({"role": "tool", "tool_call_id": server.call_id(result.tool_call_id), "content": result.content})
        for result in message.results
    ]
    pictures: list[dict[str, Any]] = []
    for result in message.results:
        if result.images:
            caption = f"What the call {server.call_id(result.tool_call_id)} of {result.name} shows:"
            pictures.append({"type": "text", "text": caption})
            pictures += [_user_part(image) for image in result.images]
    if pictures:
        encoded += [_BRIDGE] if server.strict else []
        encoded.append(dump({"role": "user", "content": pictures}))
    return b",".join(encoded)


def _bridged(messages: Sequence[ModelMessage | None], encoded: Sequence[bytes]) -> list[bytes]:
    """Return the encoded messages with a bridge before each user's message that follows a tool's; None
    among `messages` is the reminder, a user's, too."""
    bridged: list[bytes] = []
    after_tool = False
    for message, sent in zip(messages, encoded, strict=True):
        if not sent:
            continue
        if after_tool and (message is None or isinstance(message, UserMessage)):
            bridged.append(_BRIDGE)
        bridged.append(sent)
        after_tool = isinstance(message, ToolResultsMessage) and not any(
            result.images for result in message.results
        )
    return bridged


RECORD = Driver(
    name="openai",
    adapter=OpenAIProvider,
    base_url="https://api.openai.com/v1",
    price_vendor="openai",
    seeing=(
        r"(?:^|/)(?:chatgpt-|gpt-)[4-9]|(?:^|/)o[134](?:-|$)|vision|-vl\b|[0-9]vl\b|llava|pixtral|gemma-?[3-9]"
        r"|llama-?4|minicpm-v|moondream|internvl|molmo|mistral-(?:small|medium)-?3\.[1-9]"
        r"|mistral-(?:medium|small|large)-(?:latest|25\d\d)|grok-(?:[4-9]|2-vision)"
        r"|phi-?[34](?:\.5)?-(?:vision|multimodal)|kimi-vl|glm-4\.[15]v|step-?3"
    ),
    blind=(
        r"gpt-3|gpt-4(?:-\d{4})?$|gpt-4-32k|gpt-oss|o1-(?:mini|preview)|o3-mini"
        r"|-(?:audio|realtime|transcribe|tts|search-preview)|embedding|codex-mini"
    ),
)
