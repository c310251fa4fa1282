"""What every provider adapter must do, said once and run against each wire over real HTTP.

A test file subclasses `ProtocolContract` and says what differs between the wires.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, ClassVar

import pytest
from pydantic import SecretStr

from app.config import ProviderSettings
from app.errors import ConfigError
from app.harness.providers.connection import Connection
from app.harness.providers.deltas import (
    BlockAssembler,
    Delta,
    Finished,
    TextDelta,
    ToolCallReady,
    UsageSoFar,
)
from app.harness.providers.errors import ProviderError
from app.harness.providers.provider import EncodingCache, ModelRequest
from app.messages import (
    AssistantMessage,
    ModelMessage,
    SystemBlock,
    TextBlock,
    ToolCallBlock,
    ToolResult,
    ToolResultsMessage,
    ToolSpec,
    Usage,
    UserMessage,
)
from tests.driver.sessions import WAIT_SECONDS
from tests.fakes.provider_script import (
    Disconnect,
    Document,
    Raw,
    Reply,
    Stall,
    StreamError,
    Text,
    Thinking,
    ToolCall,
    text_reply,
)
from tests.fakes.provider_server import FakeProvider

KEY = "test-credential-0123456789"
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = (
    ToolSpec(name="file.read", wire_name="file_read", description="Read a file", parameters=SCHEMA),
    ToolSpec(name="edit.text", wire_name="edit_text", description="Edit a file", parameters=SCHEMA),
)


def user(text: str) -> UserMessage:
    return UserMessage(blocks=(TextBlock(text=text),))


def called(*paths: str, first: int = 0) -> AssistantMessage:
    """An answer that reads files, as a provider without thinking gives it."""
    return AssistantMessage(
        blocks=tuple(
            ToolCallBlock(id=f"c{first + number}", name="file.read", arguments={"path": path})
            for number, path in enumerate(paths)
        )
    )


def results(*contents: str, first: int = 0) -> ToolResultsMessage:
    return ToolResultsMessage(
        results=tuple(
            ToolResult(tool_call_id=f"c{first + number}", name="file.read", content=content)
            for number, content in enumerate(contents)
        )
    )


async def answer_of(provider: Any, request: ModelRequest) -> AsyncGenerator[Delta, None]:
    """Make the call and yield its deltas, without the counts that some providers tell early."""
    async with aclosing(provider.stream(provider.encode(request), request)) as stream:
        async for delta in stream:
            if not isinstance(delta, UsageSoFar):
                yield delta


async def collect(provider: Any, request: ModelRequest) -> tuple[list[Delta], Finished]:
    """Make the call; return the deltas before the last one, and the last one."""
    deltas: list[Delta] = []
    async with asyncio.timeout(WAIT_SECONDS):
        async for delta in answer_of(provider, request):
            deltas.append(delta)
    finished = deltas.pop()
    assert isinstance(finished, Finished)
    return deltas, finished


def assembled(deltas: Sequence[Delta]) -> AssistantMessage:
    assembler = BlockAssembler()
    for delta in deltas:
        assembler.add(delta)
    assembler.add(Finished("stop", Usage()))
    return AssistantMessage(blocks=assembler.blocks())


class ProtocolContract:
    """Subclasses give `build`, `driver`, `model`, and what their wire says differently."""

    build: ClassVar[Callable[..., Any]]
    driver: ClassVar[Any]
    model: ClassVar[str]
    credential_header: ClassVar[tuple[str, str]]
    context_length: ClassVar[Sequence[Document]]
    stream_error: ClassVar[StreamError]
    usage_told: ClassVar[Usage]
    truncated: ClassVar[Reply]

    def conversation(self, sent: Mapping[str, Any]) -> list[Any]:
        """Return the messages of a request as the wire has them."""
        raise NotImplementedError

    @asynccontextmanager
    async def serving(
        self, *answers: Reply | Document, timeout: float = WAIT_SECONDS, **options: Any
    ) -> AsyncIterator[tuple[FakeProvider, Any]]:
        async with FakeProvider() as fake:
            fake.script(*answers)
            provider, connection = self.provider(fake.base_url, timeout, **options)
            try:
                yield fake, provider
            finally:
                await connection.aclose()

    def provider(
        self, base_url: str = "http://127.0.0.1:9", timeout: float = WAIT_SECONDS, **options: Any
    ) -> tuple[Any, Connection]:
        settings = ProviderSettings(
            driver=self.driver,
            base_url=base_url,
            api_key=SecretStr(KEY),
            timeout_seconds=timeout,
            options=options,
        )
        connection = Connection("mine", settings, default_base_url="http://127.0.0.1:9")
        return type(self).build("mine", settings, connection), connection

    def request(self, *messages: ModelMessage, **more: Any) -> ModelRequest:
        return ModelRequest(
            model=more.pop("model", self.model),
            system=more.pop("system", (SystemBlock(name="agent", text="You help."),)),
            messages=list(messages) or [user("Hello")],
            tools=more.pop("tools", TOOLS),
            **more,
        )

    async def failure(self, *answers: Reply | Document) -> tuple[list[Delta], ProviderError]:
        deltas: list[Delta] = []
        async with self.serving(*answers) as (_, provider):
            request = self.request()
            with pytest.raises(ProviderError) as caught:
                async with asyncio.timeout(WAIT_SECONDS):
                    async for delta in answer_of(provider, request):
                        deltas.append(delta)
        assert caught.value.provider == "mine"
        assert KEY not in caught.value.message
        return deltas, caught.value

    @pytest.mark.requirement("providers.streams")
    async def test_text_streams_piece_by_piece(self) -> None:
        async with self.serving(text_reply("Hel", "lo ", "😀")) as (_, provider):
            deltas, finished = await collect(provider, self.request())
        assert deltas == [TextDelta("Hel"), TextDelta("lo "), TextDelta("😀")]
        assert finished == Finished("stop", Usage(input_tokens=10, output_tokens=5), "fake-model", "resp_1")

    async def test_a_delta_arrives_before_the_answer_is_over(self) -> None:
        async with self.serving(Reply((Text("now"), Stall()))) as (fake, provider):
            request = self.request()
            async with (
                asyncio.timeout(WAIT_SECONDS),
                aclosing(answer_of(provider, request)) as stream,
            ):
                assert await anext(stream) == TextDelta("now")
            await fake.until_disconnects()

    @pytest.mark.requirement("providers.streams")
    async def test_parallel_calls_come_under_kaged_names_in_order(self) -> None:
        calls = (
            ToolCall("file_read", {"path": "a.py"}, id="call_a", pieces=3),
            ToolCall("edit_text", {"path": "ü"}, id="call_b"),
            ToolCall("never_offered", {}, id="call_c"),
        )
        async with self.serving(Reply((Text("Looking."), *calls))) as (_, provider):
            deltas, finished = await collect(provider, self.request())
        assert finished.stop_reason == "toolUse"
        assert assembled(deltas).blocks == (
            TextBlock(text="Looking."),
            ToolCallBlock(id="call_a", name="file.read", arguments={"path": "a.py"}),
            ToolCallBlock(id="call_b", name="edit.text", arguments={"path": "ü"}),
            ToolCallBlock(id="call_c", name="never_offered"),
        )

    @pytest.mark.requirement("loop.tool_errors")
    async def test_malformed_arguments_become_a_call_that_says_so(self) -> None:
        raw = '{"path": a.py'
        async with self.serving(Reply((ToolCall("file_read", raw, id="call_a"),))) as (_, provider):
            deltas, finished = await collect(provider, self.request())
        assert finished.stop_reason == "toolUse"
        [ready] = deltas
        assert isinstance(ready, ToolCallReady)
        assert ready.call.name == "file.read"
        assert ready.call.arguments == {}
        assert ready.call.argument_error
        assert raw in (ready.call.raw_arguments or "")
        self.says_where(ready.call)

    def says_where(self, call: ToolCallBlock) -> None:
        assert "line 1 column 10" in (call.argument_error or "")

    async def test_a_limit_of_tokens_is_reported_as_length(self) -> None:
        async with self.serving(Reply((Text("half"),), finish="length")) as (_, provider):
            deltas, finished = await collect(provider, self.request())
        assert deltas == [TextDelta("half")]
        assert finished.stop_reason == "length"

    @pytest.mark.requirement("providers.usage")
    async def test_usage_is_normalised(self) -> None:
        usage = Usage(
            input_tokens=7,
            output_tokens=30,
            reasoning_tokens=20,
            cache_read_tokens=100,
            cache_write_tokens=11,
        )
        async with self.serving(text_reply("x", usage=usage)) as (_, provider):
            _, finished = await collect(provider, self.request())
        assert finished.usage == self.usage_told

    async def test_missing_counts_are_no_failure(self) -> None:
        async with self.serving(text_reply("x", usage=None)) as (_, provider):
            _, finished = await collect(provider, self.request())
        assert finished.usage.cache_read_tokens == 0

    @pytest.mark.requirement("providers.disconnect")
    async def test_a_disconnect_in_the_middle_keeps_what_came_and_is_a_network_error(self) -> None:
        deltas, error = await self.failure(Reply((Text("part"), Disconnect())))
        assert deltas == [TextDelta("part")]
        assert error.kind == "network"

    @pytest.mark.requirement("providers.disconnect")
    async def test_a_stream_without_its_end_is_truncated(self) -> None:
        deltas, error = await self.failure(Reply((Text("part"),), finish=None))
        assert deltas == [TextDelta("part")]
        assert error.kind == "truncated_stream"

    async def test_an_error_inside_the_stream_is_an_error(self) -> None:
        deltas, error = await self.failure(Reply((Text("part"), self.stream_error)))
        assert deltas == [TextDelta("part")]
        assert error.kind == "overloaded"

    async def test_an_error_with_status_200_is_an_error(self) -> None:
        _, error = await self.failure(Document(200, {"error": {"message": "no", "type": "overloaded_error"}}))
        assert error.kind == "overloaded"

    @pytest.mark.requirement("providers.errors")
    async def test_a_rate_limit_says_when_to_come_back(self) -> None:
        body = {"error": {"type": "rate_limit_error", "message": "slow down"}}
        _, error = await self.failure(Document(429, body, {"retry-after": "7"}))
        assert (error.kind, error.status, error.retry_after) == ("rate_limited", 429, 7.0)

    @pytest.mark.requirement("providers.errors")
    @pytest.mark.parametrize("status", [500, 502, 503, 529])
    async def test_a_failing_server_is_overloaded(self, status: int) -> None:
        _, error = await self.failure(Document(status, "upstream gone"))
        assert (error.kind, error.status) == ("overloaded", status)

    async def test_a_refused_credential_is_reported_without_it(self) -> None:
        _, error = await self.failure(Document(401, {"error": {"message": f"bad key {KEY}"}}))
        assert error.kind == "auth"

    @pytest.mark.requirement("providers.errors", "loop.context_length")
    async def test_a_full_context_is_recognised(self) -> None:
        for document in self.context_length:
            _, error = await self.failure(document)
            assert error.kind == "context_length", document

    async def test_a_withheld_answer_is_refused_content(self) -> None:
        _, error = await self.failure(Reply((Text("I"),), finish="content_filter"))
        assert error.kind == "content_refused"

    async def test_events_that_nobody_knows_are_passed_over(self) -> None:
        odd = b'data: {"type": "response.something.new", "index": "x", "candidates": [7]}\n\n: hello\n\n'
        async with self.serving(Reply((Raw(odd), Text("fine")))) as (_, provider):
            deltas, _ = await collect(provider, self.request())
        assert deltas == [TextDelta("fine")]

    @pytest.mark.requirement("loop.cancel", "loop.stall")
    async def test_cancelling_a_stalled_call_closes_the_connection_at_once(self) -> None:
        async with self.serving(Reply((Text("one"), Stall())), timeout=60) as (fake, provider):
            request, seen = self.request(), asyncio.Event()

            async def read() -> None:
                async for _ in provider.stream(provider.encode(request), request):
                    seen.set()

            task = asyncio.create_task(read())
            await asyncio.wait_for(seen.wait(), WAIT_SECONDS)
            cancelled_at = time.monotonic()
            task.cancel()
            gone_at = await fake.until_disconnects()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert gone_at - cancelled_at < 30

    async def test_silence_beyond_the_time_out_is_a_network_error(self) -> None:
        async with self.serving(Reply((Text("one"), Stall())), timeout=0.2) as (_, provider):
            request = self.request()
            with pytest.raises(ProviderError) as caught:
                async for _ in provider.stream(provider.encode(request), request):
                    pass
        assert caught.value.kind == "network"

    async def test_the_server_receives_exactly_the_encoded_bytes(self) -> None:
        messages = (user("Hi \ud83d"), called("a", "b"), results("A", "B"), user("and now?"))
        async with self.serving(text_reply("x")) as (fake, provider):
            request = self.request(*messages, max_output_tokens=99, session_id="s1")
            wire = provider.encode(request)
            await collect(provider, request)
        [received] = fake.requests
        assert received.body == wire.body == provider.encode(request).body
        assert received.path == wire.path
        assert "�".encode() in wire.body
        name, value = self.credential_header
        assert received.headers[name] == value
        assert KEY.encode() not in wire.body
        assert KEY not in wire.path

    async def test_calls_share_one_connection(self) -> None:
        async with self.serving(*[text_reply("x")] * 3) as (fake, provider):
            for _ in range(3):
                await collect(provider, self.request())
            assert fake.connection_count == 1

    def test_a_growing_conversation_encodes_only_what_is_new(self) -> None:
        provider, _ = self.provider()
        cache = EncodingCache()
        messages: list[ModelMessage] = [user("first")]
        for turn in range(5):
            messages += [called("x", first=turn), results("y", first=turn)]
            cached = provider.encode(self.request(*messages, cache=cache))
            assert cached == provider.encode(self.request(*messages))
        changed = [user("something else"), *messages[1:]]
        assert provider.encode(self.request(*changed, cache=cache)) == cached

    def test_empty_and_blank_blocks_are_not_sent(self) -> None:
        provider, _ = self.provider()
        blank = AssistantMessage(blocks=(TextBlock(text=""),))
        full = (user("a"), called("x"), results(""))
        sent = provider.encode(self.request(user(""), full[0], blank, *full[1:], system=()))
        assert sent == provider.encode(self.request(*full, system=()))

    def test_a_wrong_option_is_named(self) -> None:
        with pytest.raises(ConfigError, match=r"providers\.mine\.options\.thinking_bugdet"):
            self.provider(thinking_bugdet=1)

    async def test_models_are_listed(self) -> None:
        async with self.serving() as (_, provider):
            assert await provider.models() == ["model-a", "model-b"]

    def thinking_reply(self) -> Reply:
        parts = (Thinking("Let me see.", "c2lnbmVk"), Text("Reading."))
        return Reply((*parts, ToolCall("file_read", {"path": "a"}, id="c0")))

    @pytest.mark.requirement("providers.streams")
    async def test_thinking_goes_back_unchanged(self) -> None:
        async with self.serving(self.thinking_reply(), text_reply("done")) as (fake, provider):
            deltas, _ = await collect(provider, self.request())
            answer = assembled(deltas)
            await collect(provider, self.request(user("Hello"), answer, results("A")))
        assert answer.blocks[0].type == "thinking"
        assert answer.blocks[0].text == "Let me see."
        self.carries_thinking(self.conversation(fake.requests[-1].json))

    def carries_thinking(self, conversation: list[Any]) -> None:
        raise NotImplementedError
