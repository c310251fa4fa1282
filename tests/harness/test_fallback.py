"""Chains of providers: who is asked when the first cannot answer, and what is said about it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import Driver, driven
from tests.fakes.provider_script import Document, Reply, Text, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("providers.routes")

DOWN = Document(503, {"error": {"message": "down for repairs"}})


@asynccontextmanager
async def chained(
    tmp_path: Path,
    root: Path,
    first: FakeProvider,
    second: FakeProvider,
    replaced: dict[str, Any] | None = None,
) -> AsyncIterator[Driver]:
    """A daemon whose `main` is `first` (chat completions), then `second` (Anthropic's messages)."""
    settings = {
        "first": {"driver": "openai", "base_url": f"{first.base_url}/v1", "api_key": "sk-1"},
        "second": {"driver": "anthropic", "base_url": second.base_url, "api_key": "sk-2"},
        **(replaced or {}),
    }
    models = {"main": ["first:model-a", "second:model-b"]}
    async with driven(tmp_path / "data", root, providers=settings, models=models) as driver:
        yield driver


@pytest.fixture
async def second() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as server:
        yield server


async def test_the_next_provider_answers_when_the_first_is_down_and_the_message_names_it(
    fake: FakeProvider, second: FakeProvider, project_root: Path, tmp_path: Path
) -> None:
    async with chained(tmp_path, project_root, fake, second) as driver:
        fake.script(DOWN)
        second.script(text_reply("I stand in."))
        watch = await driver.run("Hello")

        (start,) = watch.of("message.start")
        assert (start["payload"]["provider"], start["payload"]["model"]) == ("second", "model-b")
        retry = watch.of("model.retry")[0]["payload"]
        assert (retry["provider"], retry["fallback_to"], retry["error"]) == (
            "first",
            "second:model-b",
            "overloaded",
        )
        stored = (await driver.messages())[-1]
        assert (stored["details"]["provider"], stored["details"]["model"]) == ("second", "model-b")
        sealed = (await driver.call("GET", "/audit?event=agent.pre_generation_step"))["items"]
        assert sorted(row["data"]["provider"] for row in sealed) == ["first", "second"]


@pytest.mark.requirement("durability.broken_stream")
async def test_after_the_first_delta_the_same_provider_is_tried_again_and_no_other(
    fake: FakeProvider, second: FakeProvider, project_root: Path, tmp_path: Path
) -> None:
    async with chained(tmp_path, project_root, fake, second) as driver:
        fake.script(Reply((Text("I beg"),), finish=None), text_reply("I begin."))
        watch = await driver.run("Hello")
        assert second.request_count == 0
        assert (await driver.last_run())["state"] == "succeeded"
        assert watch.of("model.retry")[0]["payload"]["fallback_to"] is None
        assert (await driver.messages())[-1]["content"] == "I begin."


async def test_when_all_are_down_the_error_names_each_of_them(
    fake: FakeProvider, second: FakeProvider, project_root: Path, tmp_path: Path
) -> None:
    async with chained(tmp_path, project_root, fake, second) as driver:
        fake.script(Document(401, {"error": {"message": "wrong key"}}))
        second.script(Document(401, {"error": {"message": "wrong key too"}}))
        watch = await driver.run("Hello")
        run = await driver.last_run()
        assert run["state"] == "failed"
        assert "first" in run["error"]["message"] and "second" in run["error"]["message"]
        end = watch.of("message.end")[0]["payload"]
        assert end["stopReason"] == "error"
        assert end["errorMessage"] == run["error"]["message"]
        assert await driver.state() == "idle"


@pytest.mark.requirement("providers.credentials")
async def test_a_missing_credential_is_named_and_nothing_is_sent(
    fake: FakeProvider, project_root: Path, tmp_path: Path
) -> None:
    settings = {"openai": {"driver": "openai"}}
    models = {"main": ["openai:gpt-5"]}
    async with driven(tmp_path / "data", project_root, providers=settings, models=models) as driver:
        watch = await driver.run("Hello")
        run = await driver.last_run()
        assert (run["state"], run["reason"]) == ("failed", "auth")
        assert "OPENAI_API_KEY" in run["error"]["message"] or "api_key" in run["error"]["message"]
        assert watch.of("message.end")[0]["payload"]["stopReason"] == "error"


@pytest.mark.requirement("providers.credentials")
async def test_a_provider_without_a_credential_is_passed_over(
    fake: FakeProvider, second: FakeProvider, project_root: Path, tmp_path: Path
) -> None:
    bare = {"first": {"driver": "openai", "base_url": "https://api.openai.com/v1"}}
    async with chained(tmp_path, project_root, fake, second, bare) as driver:
        second.script(text_reply("Mine."))
        await driver.run("Hello")
        assert (await driver.last_run())["state"] == "succeeded"
        assert fake.request_count == 0


async def test_a_provider_that_cannot_be_reached_is_a_network_error(
    fake: FakeProvider, second: FakeProvider, project_root: Path, tmp_path: Path
) -> None:
    gone = {"first": {"driver": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "sk-1"}}
    async with chained(tmp_path, project_root, fake, second, gone) as driver:
        second.script(text_reply("Here."))
        watch = await driver.run("Hello")
        assert watch.of("model.retry")[0]["payload"]["error"] == "network"
        assert watch.text() == "Here."
