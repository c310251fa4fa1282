"""The fake provider as a program of its own, as benches and kill tests start it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import orjson
import pytest

from app.config import ProviderSettings
from app.harness.providers.connection import Connection
from app.harness.providers.deltas import Finished, TextDelta, ToolCallReady
from app.harness.providers.drivers.openai.adapter import OpenAIProvider
from app.harness.providers.provider import ModelRequest
from app.messages import TextBlock, ToolSpec, UserMessage
from tests.driver.daemon_process import WAIT_SECONDS
from tests.fakes.provider_script import RecordedRequest, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider, wire_for

ROOT = Path(__file__).parents[2]


async def test_the_loop_mode_calls_a_tool_again_and_again_then_answers() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.fakes.provider_server",
        "--loop",
        "file.read:README.md",
        "--turns",
        "2",
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        line = orjson.loads(await asyncio.wait_for(process.stdout.readline(), WAIT_SECONDS))
        settings = ProviderSettings(driver="openai", base_url=f"http://127.0.0.1:{line['port']}")
        connection = Connection("fake", settings, default_base_url="")
        provider = OpenAIProvider("fake", settings, connection)
        tool = ToolSpec(name="file.read", wire_name="file_read", description="", parameters={})
        request = ModelRequest(
            model="m", system=(), messages=[UserMessage(blocks=(TextBlock(text="x"),))], tools=(tool,)
        )
        answers = []
        for _ in range(3):
            answers.append([delta async for delta in provider.stream(provider.encode(request), request)])
        stats = await connection.get_json("/_fake/stats", headers={})
        await connection.aclose()
    finally:
        process.kill()
        await process.communicate()
    first, second, last = answers
    calls = [answer[0].call for answer in (first, second) if isinstance(answer[0], ToolCallReady)]
    assert [(call.name, call.arguments["path"]) for call in calls] == [("file.read", "README.md")] * 2
    assert calls[0].id != calls[1].id
    assert isinstance(last[0], TextDelta)
    assert isinstance(last[-1], Finished)
    assert stats == {"requests": 4, "connections": 1}


@pytest.mark.parametrize(
    "path",
    [
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/messages",
        "/v1beta/models/m:streamGenerateContent?alt=sse",
    ],
)
async def test_every_wire_is_spoken(path: str) -> None:
    async with FakeProvider() as fake:
        wire = wire_for(path)
        assert wire is not None
        request = RecordedRequest("POST", path, {}, b'{"model":"m"}', 0.0)
        frames = b"".join(
            frame for frame in wire.frames(text_reply("Hello there"), request) if isinstance(frame, bytes)
        )
        assert b"Hello there" in frames
        assert fake.base_url.startswith("http://127.0.0.1:")


def test_arguments_are_split_into_the_pieces_asked_for() -> None:
    call = ToolCall("t", {"path": "abc"}, pieces=4)
    assert "".join(call.argument_pieces()) == '{"path":"abc"}'
    assert len(call.argument_pieces()) == 4
    assert ToolCall("t", "").argument_pieces() == [""]
    assert Text("x").text == "x"
