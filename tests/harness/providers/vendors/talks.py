"""A conversation that has all that an adapter can send, held with the fake server by each driver.

Owns: what is said in it, and the options that it is held with. Never: what a vendor thinks of the requests
(`test_requests`).
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic import SecretStr

from app.config import ProviderSettings
from app.harness.providers.called_tool import called_tool
from app.harness.providers.deltas import BlockAssembler
from app.harness.providers.factory import build_provider
from app.harness.providers.provider import EncodingCache, ModelRequest, Provider
from app.harness.providers.wire_json import ToolNames
from app.messages import (
    CALL_TOOL,
    TOOL_SEARCH,
    AssistantMessage,
    ImageBlock,
    ModelMessage,
    SystemBlock,
    TextBlock,
    ToolCallBlock,
    ToolResult,
    ToolResultsMessage,
    ToolSpec,
    UserMessage,
)
from tests.fakes.provider_script import Part, RecordedRequest, Reply, Text, Thinking, ToolCall
from tests.fakes.provider_server import FakeProvider

KEY = "sk-test-0123456789abcdef"
SIGNATURE = base64.b64encode(b"what only the vendor can read").decode()
PICTURE = ImageBlock(media_type="image/png", data=base64.b64encode(b"\x89PNG").decode())

_PATH = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
_QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
_CALL = {"type": "object", "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}}}


def _tool(name: str, schema: dict[str, Any], loading: Any = "full") -> ToolSpec:
    wire = name.replace(".", "_")
    return ToolSpec(name=name, wire_name=wire, description=f"Do {name}", parameters=schema, loading=loading)


TOOLS = (
    _tool("file.read", _PATH),
    _tool("edit.text", _PATH),
    _tool("clock", {"type": "object", "properties": {}}),
    _tool(TOOL_SEARCH, _QUERY),
    _tool(CALL_TOOL, _CALL),
    _tool("code.rename", _PATH, "deferred"),
)


@dataclass(frozen=True, slots=True)
class Talk:
    """How one conversation is held: the driver, its options, the model, and more for each request. `opens` is
    what the model says first, where a vendor has more to say than others."""

    driver: str
    model: str
    options: dict[str, Any] = field(default_factory=dict)
    request: dict[str, Any] = field(default_factory=dict)
    opens: tuple[Part, ...] = ()
    signature: str | None = SIGNATURE

    def __str__(self) -> str:
        return f"{self.driver}-{'-'.join(self.options) or 'plain'}"


async def held(talk: Talk) -> list[RecordedRequest]:
    """Hold the conversation and return its requests as the server received them."""
    async with FakeProvider() as fake:
        settings = ProviderSettings(
            driver=talk.driver, base_url=fake.base_url, api_key=SecretStr(KEY), options=talk.options
        )
        built = build_provider("mine", settings)
        try:
            async with asyncio.timeout(30):
                await _hold(talk, fake, built.provider)
        finally:
            await built.connection.aclose()
        return list(fake.requests)


async def _hold(talk: Talk, fake: FakeProvider, provider: Provider) -> None:
    messages: list[ModelMessage] = [
        UserMessage(blocks=(TextBlock(text="What does it show?"), PICTURE)),
    ]
    cache = EncodingCache()
    native = bool(talk.options.get("native_tool_search"))
    for parts in _answers(talk, native):
        fake.script(Reply(parts))
        request = _request(talk, messages, cache)
        assembler = BlockAssembler()
        async with aclosing(provider.stream(provider.encode(request), request)) as stream:
            async for delta in stream:
                assembler.add(delta)
        names = ToolNames(request.tools)
        answer = AssistantMessage(
            blocks=tuple(
                called_tool(block, names) if isinstance(block, ToolCallBlock) else block
                for block in assembler.blocks()
            )
        )
        messages.append(answer)
        if calls := [block for block in answer.blocks if isinstance(block, ToolCallBlock)]:
            messages.append(ToolResultsMessage(results=tuple(map(_result, calls))))
        else:
            messages.append(UserMessage(blocks=(TextBlock(text="And now?"),)))
    fake.script(Reply((Text("Bye."),)))
    request = _request(talk, messages, cache, reminder="Two tasks are open.")
    async for _ in provider.stream(provider.encode(request), request):
        pass


def _answers(talk: Talk, native: bool) -> Iterator[tuple[Part, ...]]:
    seen = Thinking("Let me see.", talk.signature)
    parallel = (
        ToolCall("file_read", {"path": "a.py"}, id="call_a", pieces=3),
        ToolCall("edit_text", {"path": "ü"}, id="call_b"),
        ToolCall("clock", {}, id="call_c"),
    )
    yield (*talk.opens, seen, Text("I look."), *parallel)
    yield (ToolCall("file_read", '{"path": a.py', id="call_d"),)
    yield (ToolCall("never_offered", {"x": 1}, id="call_e"),)
    yield (ToolCall("tool_search", {"query": "rename"}, id="call_f"),)
    if native:
        yield (ToolCall("code_rename", {"path": "a.py"}, id="call_g"),)
    else:
        yield (ToolCall("call_tool", {"name": "code.rename", "arguments": {"path": "a"}}, id="call_g"),)
    yield (seen, Text("Done."))


def _request(talk: Talk, messages: Sequence[ModelMessage], cache: EncodingCache, **more: Any) -> ModelRequest:
    system = (
        SystemBlock(name="agent", text="You help."),
        SystemBlock(name="instructions", text="In English."),
    )
    return ModelRequest(
        model=talk.model,
        system=system,
        messages=list(messages),
        tools=TOOLS,
        session_id="s1",
        cache=cache,
        **talk.request,
        **more,
    )


def _result(call: ToolCallBlock) -> ToolResult:
    """Answer a call: one with a picture, one with an error, one with nothing, and what a search finds."""
    answered = {"tool_call_id": call.id, "name": call.name}
    if call.argument_error is not None or call.name == "edit.text":
        return ToolResult(**answered, content="that did not work", is_error=True)
    if call.name == TOOL_SEARCH:
        [tool] = [one for one in TOOLS if one.loading == "deferred"]
        found = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        return ToolResult(**answered, content=orjson.dumps({"tools": [found]}).decode())
    if call.name == "clock":
        return ToolResult(**answered, content="")
    images = (PICTURE,) if call.name == "file.read" else ()
    return ToolResult(**answered, content="what it is", images=images)
