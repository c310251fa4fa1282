"""Aliases, chains, retries and reloads, against real servers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from app.config import PriceSettings, ProviderSettings, Settings, load_settings
from app.errors import ConfigError, NotFound, ValidationFailed
from app.harness.providers.attempts import RetryPolicy
from app.harness.providers.deltas import Delta, Finished, TextDelta
from app.harness.providers.errors import ProviderError
from app.harness.providers.provider import ModelRequest, Provider, WireRequest
from app.harness.providers.router import AttemptFailed, AttemptStarted, Candidate, ProviderRouter
from app.messages import Cost, SystemBlock, TextBlock, Usage, UserMessage
from tests.driver.sessions import WAIT_SECONDS
from tests.fakes.provider_script import Disconnect, Document, Reply, Stall, StreamError, Text, text_reply
from tests.fakes.provider_server import FakeProvider

QUICK = RetryPolicy(base_seconds=0.02, longest_seconds=0.05, total_seconds=60.0, rounds=3)
SLOW_DOWN = Document(429, {"error": {"message": "slow down"}})
DOWN = Document(503, {"error": {"message": "out of order"}})
TOO_LONG = Document(400, {"error": {"message": "too long", "code": "context_length_exceeded"}})


class Two:
    """A router over two servers, `one` and `two`, with the chain `smart` over both."""

    def __init__(self, one: FakeProvider, two: FakeProvider, router: ProviderRouter) -> None:
        self.one, self.two, self.router = one, two, router

    async def ask(self, name: str = "smart", **more: Any) -> tuple[list[Delta], list[Any]]:
        """Return the deltas and the notes about attempts."""
        deltas: list[Delta] = []
        notes: list[Any] = []
        async with asyncio.timeout(WAIT_SECONDS):
            async for item in self.router.stream(self.router.resolve(name), build, **more):
                is_note = isinstance(item, AttemptStarted | AttemptFailed)
                (notes if is_note else deltas).append(item)
        return deltas, notes

    async def failure(self, name: str = "smart") -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await self.ask(name)
        return caught.value


def build(candidate: Candidate) -> ModelRequest:
    message = UserMessage(blocks=(TextBlock(text="Hello"),))
    return ModelRequest(
        model=candidate.model, system=(SystemBlock(name="agent", text="You help."),), messages=[message]
    )


def server(fake: FakeProvider, **more: Any) -> ProviderSettings:
    return ProviderSettings(driver="openai", base_url=fake.base_url, timeout_seconds=WAIT_SECONDS, **more)


def built_in(folder: Path) -> Settings:
    """The configuration of an operator who has set nothing."""
    (folder / "kaged.toml").touch()
    return load_settings(config_file=folder / "kaged.toml", environ={})


@asynccontextmanager
async def two_servers(policy: RetryPolicy = QUICK) -> AsyncIterator[Two]:
    async with FakeProvider() as one, FakeProvider() as two:
        models = {"smart": ("one:big", "two:small"), "fast": ("one:quick:8b",)}
        router = ProviderRouter(models, {"one": server(one), "two": server(two)}, {}, retry=policy)
        try:
            yield Two(one, two, router)
        finally:
            await router.aclose()


@pytest.mark.requirement("providers.routes")
async def test_an_alias_is_answered_by_its_model() -> None:
    async with two_servers() as both:
        both.one.script(text_reply("hi"))
        deltas, notes = await both.ask("fast")
        assert both.one.requests[0].json["model"] == "quick:8b"
    assert deltas[0] == TextDelta("hi")
    assert isinstance(deltas[-1], Finished)
    assert notes == [AttemptStarted(1, "one", "quick:8b")]


@pytest.mark.requirement("providers.routes")
async def test_a_direct_name_needs_no_alias() -> None:
    async with two_servers() as both:
        both.two.script(text_reply("hi"))
        await both.ask("two:any:tag")
        assert both.two.requests[0].json["model"] == "any:tag"


@pytest.mark.requirement("providers.routes", "loop.rate_limit")
async def test_a_rate_limited_provider_is_passed_over_at_once() -> None:
    async with two_servers() as both:
        both.one.script(Document(429, {"error": {"message": "slow"}}, {"retry-after": "30"}))
        both.two.script(text_reply("from two"))
        deltas, notes = await both.ask()
    assert deltas[0] == TextDelta("from two")
    assert [type(note) for note in notes] == [AttemptStarted, AttemptFailed, AttemptStarted]
    failed = notes[1]
    assert (failed.attempt, failed.provider, failed.model) == (1, "one", "big")
    assert (failed.error.kind, failed.delay, failed.fallback_to) == ("rate_limited", None, "two:small")
    assert notes[2] == AttemptStarted(2, "two", "small")


@pytest.mark.requirement("providers.routes")
async def test_each_call_starts_again_with_the_preferred_provider() -> None:
    async with two_servers() as both:
        both.one.script(DOWN, text_reply("from one"))
        both.two.script(text_reply("from two"))
        assert (await both.ask())[0][0] == TextDelta("from two")
        assert (await both.ask())[0][0] == TextDelta("from one")


@pytest.mark.requirement("providers.routes")
@pytest.mark.parametrize("ending", [Disconnect(), StreamError()])
async def test_after_the_first_delta_the_same_provider_is_tried_again_and_no_other(ending: Any) -> None:
    async with two_servers() as both:
        both.one.script(Reply((Text("half"), ending)), Document(503, "busy"), text_reply("whole"))
        both.two.script(text_reply("never"))
        deltas, notes = await both.ask()
        assert [delta for delta in deltas if isinstance(delta, TextDelta)] == [
            TextDelta("half"),
            TextDelta("whole"),
        ]
        broken, busy = (note for note in notes if isinstance(note, AttemptFailed))
        assert (broken.begun, broken.fallback_to, busy.begun, busy.fallback_to) == (True, None, False, None)
        assert both.two.request_count == 0


@pytest.mark.requirement("durability.first_byte")
async def test_a_provider_that_never_begins_is_reported_after_its_bound_and_not_asked_again() -> None:
    async with FakeProvider() as fake:
        fake.respond = Reply((Stall(),))
        silent = server(fake, options={"first_byte_timeout_seconds": 0.3})
        policy = RetryPolicy(base_seconds=0.01, total_seconds=0.3)
        router = ProviderRouter({"m": ("one:big",)}, {"one": silent}, {}, retry=policy)
        with pytest.raises(ProviderError, match=r"nothing arrived for 0[.]3 s") as caught:
            async with asyncio.timeout(WAIT_SECONDS):
                _ = [item async for item in router.stream(router.resolve("m"), build)]
        assert (caught.value.kind, fake.request_count) == ("network", 1)
        await router.aclose()


@pytest.mark.requirement("durability.broken_stream")
async def test_a_stream_that_breaks_off_again_and_again_is_given_up_with_its_own_error() -> None:
    async with two_servers() as both:
        both.one.respond = Reply((Text("half"), Disconnect()))
        error = await both.failure()
        assert (error.provider, both.one.request_count, both.two.request_count) == ("one", QUICK.rounds, 0)


@pytest.mark.requirement("providers.routes")
async def test_an_error_about_the_conversation_goes_to_the_run_at_once() -> None:
    async with two_servers() as both:
        both.one.script(TOO_LONG)
        assert (await both.failure()).kind == "context_length"
        assert both.two.request_count == 0


@pytest.mark.requirement("providers.retry", "loop.rate_limit")
async def test_a_server_error_is_tried_again_and_then_succeeds() -> None:
    async with two_servers() as both:
        both.one.script(Document(500, "oops"), text_reply("now"))
        deltas, notes = await both.ask("fast")
    assert deltas[0] == TextDelta("now")
    assert notes[1].error.kind == "overloaded"
    assert 0 <= notes[1].delay <= 0.05
    assert notes[1].fallback_to is None
    assert notes[2].attempt == 2


@pytest.mark.requirement("providers.retry", "loop.rate_limit")
async def test_retry_after_is_waited_for() -> None:
    async with two_servers() as both:
        both.one.script(Document(429, {"error": "slow"}, {"retry-after-ms": "300"}), text_reply("now"))
        _, notes = await both.ask("fast")
        first, second = both.one.requests
    assert notes[1].delay == pytest.approx(0.3, abs=0.05)
    assert second.at - first.at >= 0.29


@pytest.mark.requirement("providers.retry")
async def test_a_wait_beyond_the_total_is_given_up_at_once() -> None:
    async with two_servers() as both:
        both.one.script(Document(429, {"error": "slow"}, {"retry-after": "3600"}))
        started = time.monotonic()
        error = await both.failure("fast")
        assert (error.kind, error.retry_after) == ("rate_limited", 3600)
        assert both.one.request_count == 1
    assert time.monotonic() - started < 20


@pytest.mark.requirement("providers.retry")
async def test_a_bad_request_is_not_repeated() -> None:
    async with two_servers() as both:
        both.one.script(Document(400, {"error": {"message": "no such parameter"}}))
        assert (await both.failure("fast")).kind == "bad_request"
        assert both.one.request_count == 1


@pytest.mark.requirement("providers.routes")
async def test_all_providers_down_is_one_clear_error() -> None:
    async with two_servers() as both:
        both.one.respond = lambda request: DOWN
        both.two.respond = lambda request: DOWN
        error = await both.failure()
        assert (both.one.request_count, both.two.request_count) == (QUICK.rounds, QUICK.rounds)
    assert error.kind == "overloaded"
    for part in ("All providers failed", "'smart'", "one:big", "two:small", "out of order"):
        assert part in error.message


@pytest.mark.requirement("providers.routes")
async def test_all_providers_rate_limited_is_said_so() -> None:
    async with two_servers() as both:
        both.one.respond = lambda request: SLOW_DOWN
        both.two.respond = lambda request: SLOW_DOWN
        error = await both.failure()
    assert error.kind == "rate_limited"
    assert "All providers rate-limited" in error.message


async def test_one_that_cannot_recover_is_left_out_of_the_next_round() -> None:
    async with two_servers() as both:
        both.one.script(Document(401, {"error": {"message": "bad key"}}))
        both.two.script(DOWN, text_reply("now"))
        deltas, notes = await both.ask()
        assert (both.one.request_count, both.two.request_count) == (1, 2)
    assert deltas[0] == TextDelta("now")
    assert [note.attempt for note in notes if isinstance(note, AttemptStarted)] == [1, 2, 3]


@pytest.mark.requirement("providers.credentials")
async def test_a_missing_credential_names_the_variable_before_any_network(tmp_path: Path) -> None:
    settings = built_in(tmp_path)
    router = ProviderRouter({"smart": ("openai:gpt-4.1",)}, settings.providers, {}, retry=QUICK)
    with pytest.raises(ProviderError) as caught:
        async for _ in router.stream(router.resolve("smart"), build):
            pass
    assert caught.value.kind == "auth"
    assert "OPENAI_API_KEY" in caught.value.message
    entries = {entry.name: entry for entry in router.list_providers()}
    assert not entries["openai"].ready
    assert "GEMINI_API_KEY" in (entries["google"].problem or "")
    assert entries["ollama"].ready
    [model] = router.list_models()
    assert (model.ready, "OPENAI_API_KEY" in (model.problem or "")) == (False, True)
    result = await router.test("openai")
    assert (result.ok, result.error) == (False, "auth")
    await router.aclose()


@pytest.mark.requirement("providers.credentials")
async def test_a_credential_that_is_named_but_not_set_is_missing_on_any_address() -> None:
    async with FakeProvider() as fake:
        settings = server(fake, api_key_env="TEAM_KEY", missing_env=("TEAM_KEY",))
        router = ProviderRouter({}, {"mine": settings}, {}, retry=QUICK)
        with pytest.raises(ProviderError, match="TEAM_KEY"):
            async for _ in router.stream(router.resolve("mine:m"), build):
                pass
        assert fake.request_count == 0


@pytest.mark.requirement("providers.credentials")
async def test_a_provider_without_credential_falls_back(tmp_path: Path) -> None:
    async with FakeProvider() as fake:
        fake.script(text_reply("local"))
        providers = {**built_in(tmp_path).providers, "local": server(fake)}
        router = ProviderRouter({"smart": ("anthropic:claude", "local:m")}, providers, {}, retry=QUICK)
        items = [item async for item in router.stream(router.resolve("smart"), build)]
        await router.aclose()
    assert items[1].error.kind == "auth"
    assert TextDelta("local") in items


@pytest.mark.requirement("loop.pipeline")
async def test_what_is_sealed_is_what_the_server_receives_on_every_attempt() -> None:
    sealed: list[WireRequest] = []

    def seal(provider: Provider, request: ModelRequest) -> WireRequest:
        assert provider.name == "one"
        sealed.append(provider.encode(request))
        return sealed[-1]

    async with two_servers() as both:
        both.one.script(Document(500, "oops"), text_reply("x"))
        await both.ask("fast", seal=seal)
        bodies = [request.body for request in both.one.requests]
    assert bodies == [sealed[0].body] * 2
    assert len(sealed) == 1


async def test_an_exception_of_the_seal_sends_nothing() -> None:
    def seal(provider: Provider, request: ModelRequest) -> WireRequest:
        raise RuntimeError("not allowed")

    async with two_servers() as both:
        with pytest.raises(RuntimeError, match="not allowed"):
            await both.ask(seal=seal)
        assert both.one.request_count == both.two.request_count == 0


@pytest.mark.requirement("loop.cancel", "loop.stall")
async def test_a_cancelled_stall_of_thirty_seconds_leaves_at_once() -> None:
    async with two_servers() as both:
        both.one.script(Reply((Text("one"), Stall())))
        begun = asyncio.Event()

        async def read() -> None:
            async for item in both.router.stream(both.router.resolve("fast"), build):
                if isinstance(item, TextDelta):
                    begun.set()

        task = asyncio.create_task(read())
        await asyncio.wait_for(begun.wait(), WAIT_SECONDS)
        cancelled_at = time.monotonic()
        task.cancel()
        gone_at = await both.one.until_disconnects()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert gone_at - cancelled_at < 30


async def test_a_cancel_while_waiting_for_a_retry_ends_the_wait() -> None:
    async with two_servers(RetryPolicy(total_seconds=60)) as both:
        both.one.script(Document(429, {"error": "slow"}, {"retry-after": "50"}))
        waiting = asyncio.Event()

        async def read() -> None:
            async for item in both.router.stream(both.router.resolve("fast"), build):
                if isinstance(item, AttemptFailed):
                    waiting.set()

        task = asyncio.create_task(read())
        await asyncio.wait_for(waiting.wait(), WAIT_SECONDS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 20)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("clever", "Model alias 'clever' not found in the local config. Known aliases: fast, smart."),
        ("three:big", "no provider 'three' in the local config. Known providers: one, two."),
        ("one:", "no provider"),
        ("", "not found"),
    ],
)
async def test_an_unknown_model_is_refused_with_the_known_ones(name: str, words: str) -> None:
    async with two_servers() as both:
        with pytest.raises(ValidationFailed) as caught:
            both.router.resolve(name)
    assert words in caught.value.message
    assert "model" in caught.value.details["fields"]


async def test_a_reload_takes_effect_at_the_next_call_and_spares_the_one_under_way() -> None:
    async with two_servers() as both:
        both.one.script(Reply((Text("begun"), Stall())))
        both.two.script(text_reply("from two"))
        stream = both.router.stream(both.router.resolve("fast"), build)
        while not isinstance(await anext(stream), TextDelta):
            pass
        both.router.update({"fast": ("two:m",)}, {"two": server(both.two)}, {})
        assert (await both.ask("fast"))[0][0] == TextDelta("from two")
        assert not both.one.disconnects
        with pytest.raises(NotFound):
            both.router.provider("one")
        await stream.aclose()
        await both.one.until_disconnects()


async def test_a_reload_keeps_the_connections_of_what_did_not_change() -> None:
    async with two_servers() as both:
        both.one.script(text_reply("a"), text_reply("b"))
        await both.ask("fast")
        both.router.update({"fast": ("one:m",)}, {"one": server(both.one)}, {})
        await both.ask("fast")
        assert both.one.connection_count == 1


async def test_a_bad_reload_changes_nothing() -> None:
    async with two_servers() as both:
        wrong = server(both.two, options={"max_token_field": "x"})
        with pytest.raises(ConfigError, match=r"providers\.two\.options\.max_token_field"):
            both.router.update({}, {"two": wrong}, {})
        both.one.script(text_reply("still here"))
        assert (await both.ask("fast"))[0][0] == TextDelta("still here")


async def test_a_route_of_a_provider_that_was_removed_falls_through_to_an_error() -> None:
    async with two_servers() as both:
        route = both.router.resolve("fast")
        both.router.update({}, {}, {})
        with pytest.raises(ProviderError, match="there is no provider 'one'"):
            async for _ in both.router.stream(route, build):
                pass


@pytest.mark.requirement("providers.test")
async def test_the_test_makes_one_real_call() -> None:
    async with two_servers() as both:
        both.one.script(text_reply("ok"))
        result = await both.router.test("one")
        assert both.one.requests[0].json["model"] == "big"
        assert (result.ok, result.model, result.text) == (True, "big", "ok")
        assert result.usage == Usage(input_tokens=10, output_tokens=5)
        both.one.script(SLOW_DOWN)
        result = await both.router.test("one", "other")
        assert both.one.request_count == 2
        assert (result.ok, result.model, result.error) == (False, "other", "rate_limited")


@pytest.mark.requirement("providers.test")
async def test_the_test_asks_the_server_for_a_model_when_no_alias_names_one() -> None:
    async with FakeProvider() as fake:
        fake.script(text_reply("ok"))
        router = ProviderRouter({}, {"mine": server(fake)}, {}, retry=QUICK)
        assert (await router.test("mine")).model == "model-a"
        fake.script(*[text_reply("ok")] * 2)
        fake.models = ("babbage-002", "computer-use-preview", "gpt-4.1", "text-embedding-3-large")
        assert (await router.test("mine")).model == "gpt-4.1"
        fake.models = ("nomic-embed-text",)
        assert (await router.test("mine")).model == "nomic-embed-text"
        fake.models = ()
        with pytest.raises(ValidationFailed, match="Name a model"):
            await router.test("mine")
        with pytest.raises(NotFound):
            await router.test("other")
        await router.aclose()


@pytest.mark.requirement("providers.prices")
async def test_a_users_price_gives_the_cost_of_a_call() -> None:
    async with FakeProvider() as fake:
        fake.script(text_reply("x", usage=Usage(input_tokens=1_000_000, output_tokens=500_000)))
        prices = {"mine:m": PriceSettings(input=2.0, output=4.0)}
        router = ProviderRouter({}, {"mine": server(fake)}, prices, retry=QUICK)
        items = [item async for item in router.stream(router.resolve("mine:m"), build)]
        await router.aclose()
    finished = items[-1]
    assert isinstance(finished, Finished)
    cost = router.catalog.cost("mine", "m", finished.usage)
    assert cost == Cost(input=2.0, output=2.0, total=4.0)


async def test_no_credential_is_shown_by_the_listings() -> None:
    async with FakeProvider() as fake:
        settings = server(fake, api_key=SecretStr("a-secret-key"))
        router = ProviderRouter({"a": ("mine:m",)}, {"mine": settings}, {})
        assert "a-secret-key" not in repr(router.list_providers()) + repr(router.list_models())
        assert router.list_models()[0].ready
        await router.aclose()


@pytest.mark.requirement("providers.openai", "providers.responses", "providers.anthropic", "providers.google")
@pytest.mark.parametrize("driver", ["openai", "openai-responses", "anthropic", "google"])
async def test_every_driver_answers_through_the_router(driver: Any) -> None:
    async with FakeProvider() as fake:
        fake.script(DOWN, text_reply("hi"))
        settings = ProviderSettings(driver=driver, base_url=fake.base_url, api_key=SecretStr("some-key"))
        router = ProviderRouter({"m": ("mine:some-model",)}, {"mine": settings}, {}, retry=QUICK)
        items = [item async for item in router.stream(router.resolve("m"), build)]
        await router.aclose()
        assert fake.requests[0].body == fake.requests[1].body
    assert isinstance(items[1], AttemptFailed)
    assert TextDelta("hi") in items
    assert isinstance(items[-1], Finished)


async def test_closing_waits_for_a_table_that_is_being_loaded() -> None:
    router = ProviderRouter({}, {"anthropic": ProviderSettings(driver="anthropic")}, {})
    loading = router.catalog.begin("anthropic")
    assert loading is not None
    await router.aclose()
    assert loading.done()
