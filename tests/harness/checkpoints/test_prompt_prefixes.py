"""From turn to turn a request begins as the one before it, so that providers' caches hit."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.driver.sessions import DRIVERS, Driver, driven, provider_settings, write_project
from tests.fakes.provider_script import Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

MESSAGES = {"openai": "messages", "openai-responses": "input", "anthropic": "messages", "google": "contents"}


async def talk(driver: Driver, fake: FakeProvider) -> None:
    """Three turns, two of them with tools."""
    for number in range(3):
        call = ToolCall("file_read", {"path": "README.md", "limit": number + 1}, id=f"c{number}")
        steps = (Reply((Text("Looking."), call)),) if number else ()
        fake.script(*steps, text_reply(f"Answer {number}."))
        await driver.run(f"Question {number}")


def bare(value: Any) -> Any:
    """The same without cache markers, which move with the end of the conversation."""
    if isinstance(value, dict):
        return {key: bare(one) for key, one in value.items() if key != "cache_control"}
    return [bare(one) for one in value] if isinstance(value, list) else value


def prefix_length(first: bytes, second: bytes) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(second)))


@pytest.mark.requirement("prompts.order")
@pytest.mark.requirement("prompts.cache")
@pytest.mark.parametrize("wire", DRIVERS)
async def test_each_request_begins_with_the_one_before_it(
    wire: str, fake: FakeProvider, tmp_path: Path
) -> None:
    root = write_project(tmp_path / "shop")
    settings = {
        "providers": provider_settings(wire, fake.base_url),
        "models": {"main": ["fake:model-a"]},
    }
    async with driven(tmp_path / "data", root, **settings) as driver:
        await talk(driver, fake)
    assert fake.request_count == 5
    name = MESSAGES[wire]
    for before, after in pairwise(list(fake.requests)):
        first, second = before.json, after.json
        rest = [{key: one for key, one in whole.items() if key != name} for whole in (first, second)]
        assert orjson.dumps(rest[0]) == orjson.dumps(rest[1])  # the same order of keys, too
        said = [bare(one) for one in first[name]]
        assert [bare(one) for one in second[name]][: len(said)] == said
        if wire == "anthropic":
            # All but the markers of the last two messages: a marked part is cached without its marker.
            assert prefix_length(before.body, after.body) > before.body.index(b'"messages"')
        else:
            end = before.body.rindex(orjson.dumps(first[name][-1])) + len(orjson.dumps(first[name][-1]))
            assert prefix_length(before.body, after.body) >= end


@pytest.mark.requirement("prompts.cache")
async def test_markers_stand_on_the_system_prompt_the_tools_and_the_end_of_the_conversation(
    fake: FakeProvider, tmp_path: Path
) -> None:
    root = write_project(tmp_path / "shop")
    settings = {
        "providers": provider_settings("anthropic", fake.base_url),
        "models": {"main": ["fake:model-a"]},
    }
    async with driven(tmp_path / "data", root, **settings) as driver:
        await talk(driver, fake)
    last = fake.requests[-1].json
    assert [("cache_control" in block) for block in last["system"]] == [False, True]
    assert [("cache_control" in tool) for tool in last["tools"]].count(True) == 1
    assert "cache_control" in last["tools"][-1]
    marked = [
        at
        for at, message in enumerate(last["messages"])
        if any("cache_control" in part for part in message["content"])
    ]
    # The end of this request and that of the one before it.
    assert marked == [len(last["messages"]) - 3, len(last["messages"]) - 1]
    assert fake.requests[-1].body.count(b'"cache_control"') == 4  # the most that the API takes
