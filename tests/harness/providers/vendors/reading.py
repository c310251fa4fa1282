"""Serves the events of a vendor's SDK to a driver over real HTTP, and keeps what the driver makes of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
import pytest
from pydantic import BaseModel, SecretStr

from app.config import ProviderSettings
from app.harness.providers.deltas import BlockAssembler, Delta, Finished
from app.harness.providers.errors import ProviderError
from app.harness.providers.factory import build_provider
from app.harness.providers.provider import ModelRequest
from app.messages import AssistantBlock, TextBlock, ToolSpec, Usage, UserMessage
from tests.driver.sessions import WAIT_SECONDS
from tests.fakes.provider_script import Document
from tests.fakes.provider_server import FakeProvider

TOOL = ToolSpec(name="file.read", wire_name="file_read", description="Read", parameters={"type": "object"})
USAGE = Usage(
    input_tokens=7, output_tokens=30, reasoning_tokens=20, cache_read_tokens=100, cache_write_tokens=11
)
_STREAM = {"content-type": "text/event-stream"}


class Read:
    """What an adapter made of a stream: blocks, the end, and what it noted."""

    def __init__(self, deltas: list[Delta], notes: list[str]) -> None:
        assembler = BlockAssembler()
        for delta in deltas:
            assembler.add(delta)
        self.blocks: tuple[AssistantBlock, ...] = assembler.blocks()
        [self.end] = [delta for delta in deltas if isinstance(delta, Finished)]
        self.notes = notes

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, TextBlock))


class Reader:
    """Serves events to a driver and reads the answer. `nulls`: members that are not set are null."""

    def __init__(self, caplog: pytest.LogCaptureFixture, *, nulls: bool) -> None:
        self._caplog = caplog
        self._nulls = nulls

    async def read(self, driver: str, events: Iterable[Any]) -> Read:
        """Return what a driver reads. Raises `ProviderError`."""
        self._caplog.set_level(logging.INFO, "kaged.providers")
        self._caplog.clear()
        async with FakeProvider() as fake:
            fake.script(Document(200, b"".join(map(self._frame, events)), _STREAM))
            settings = ProviderSettings(
                driver=driver, base_url=fake.base_url, api_key=SecretStr("sk-test-key")
            )
            built = build_provider("mine", settings)
            request = ModelRequest(
                model="gemini-3-pro-preview" if driver == "google" else "m",
                system=(),
                messages=[UserMessage(blocks=(TextBlock(text="q"),))],
                tools=(TOOL,),
            )
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    wire = built.provider.encode(request)
                    deltas = [delta async for delta in built.provider.stream(wire, request)]
            finally:
                await built.connection.aclose()
        noted = [one.getMessage() for one in self._caplog.records if one.name == "kaged.providers"]
        return Read(deltas, noted)

    async def refused(self, driver: str, events: Iterable[Any]) -> ProviderError:
        """Return the error that a driver makes of events."""
        with pytest.raises(ProviderError) as caught:
            await self.read(driver, events)
        return caught.value

    def _frame(self, event: BaseModel | Mapping[str, Any]) -> bytes:
        if isinstance(event, BaseModel):
            left_out = {} if self._nulls else {"exclude_none": True}
            return b"data: " + event.model_dump_json(by_alias=True, **left_out).encode() + b"\n\n"
        return b"data: " + orjson.dumps(event) + b"\n\n"
