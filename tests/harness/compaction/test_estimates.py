"""What a request is estimated at, for which window, and what the estimating costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.harness.compaction.compactor import Compactor
from app.harness.compaction.threshold import FALLBACK_WINDOW, RESERVED_OUTPUT, threshold_of
from app.harness.conversation import entry as entry_module
from app.harness.conversation.estimate import ConversationEstimate, estimate_message
from app.harness.conversation.history import History
from app.harness.conversation.session_conversation import SessionConversation
from app.harness.loop.run_factory import Start, build_run
from app.harness.providers.provider import EncodingCache
from app.harness.run.run_context import RunContext
from app.messages import ModelMessage, SystemBlock, ToolSpec, Usage
from tests.driver.conversations import exchange, row, traffic
from tests.driver.loop_watch import watched_loop
from tests.driver.sessions import Driver
from tests.driver.small_window import LIMITS, compactions, small
from tests.fakes.provider_script import Reply, Text, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("compaction.estimate")

SYSTEM = (SystemBlock(name="agent", text="word " * 500),)
TOOLS = (ToolSpec(name="a", wire_name="a", description="does it " * 100, parameters={"x": "y" * 400}),)


async def context_of(driver: Driver) -> RunContext:
    services = driver.daemon.services.sessions
    runs = await services._runs_of(driver.session_id)
    await runs.parts.conversation.load()
    return (await build_run(services._services.runs, runs.root, runs.row, runs, Start())).context


def test_system_prompt_and_tools_are_part_of_it() -> None:
    estimate = ConversationEstimate()
    total = estimate.request(1_000, SYSTEM, TOOLS)
    assert total > 1_000 + 500 + 200 + 100
    assert estimate.with_messages(1_000) == total
    assert estimate.room(total) == 1_000


def test_it_moves_towards_what_providers_count_and_stays_within_reason() -> None:
    estimate = ConversationEstimate()
    for _ in range(20):
        estimate.calibrate(estimate.request(10_000, (), ()), 25_000)
    assert estimate.request(10_000, (), ()) == pytest.approx(25_000, rel=0.02)
    assert estimate.room(25_000) == pytest.approx(10_000, rel=0.02)
    for _ in range(50):
        estimate.calibrate(estimate.request(10_000, (), ()), 10_000_000)
    assert estimate.request(10_000, (), ()) == 40_000
    unmoved = ConversationEstimate()
    unmoved.calibrate(100, 5_000)  # too little to learn from
    unmoved.calibrate(10_000, 0)  # a provider that counts nothing
    assert unmoved.request(1_000, (), ()) == 1_000


async def test_what_a_provider_reports_brings_a_compaction_forward(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with small(tmp_path, settings_overrides) as driver:
        counted = Usage(input_tokens=16_000, output_tokens=5)
        fake.respond = lambda _: Reply((Text("Well."),), usage=counted)
        for n in range(4):
            await driver.run(f"Question {n}: " + "word " * 400)
        assert await compactions(driver)
    fake.respond = lambda _: text_reply("Well.", usage=None)
    async with small(tmp_path / "other", settings_overrides) as driver:
        for n in range(4):
            await driver.run(f"Question {n}: " + "word " * 400)
        assert not await compactions(driver)


@pytest.mark.requirement("compaction.threshold")
@pytest.mark.parametrize(
    ("prices", "limits", "window", "reserve"),
    [
        ({}, "{}", FALLBACK_WINDOW, RESERVED_OUTPUT),
        ({"fake:small": {"context_window": 50_000, "max_output": 7_000}}, "{}", 50_000, 7_000),
        ({"fake:small": {"context_window": 50_000}}, "{ max_output_tokens: 900 }", 50_000, 900),
        ({"fake:small": {"context_window": 4_000, "max_output": 7_000}}, "{}", 4_000, 1_000),
    ],
)
async def test_the_window_is_the_models_or_128000_and_an_answers_room_is_reserved(
    fake: FakeProvider,
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    prices: dict[str, Any],
    limits: str,
    window: int,
    reserve: int,
) -> None:
    async with small(tmp_path, settings_overrides, "", f"limits: {limits}\n", prices=prices) as driver:
        threshold = threshold_of(await context_of(driver), driver.daemon.services.providers.catalog)
        assert (threshold.window, threshold.reserve) == (window, reserve)
        assert (threshold.upper, threshold.lower) == (0.85, 0.60)


async def test_without_a_known_window_a_conversation_is_compacted_below_the_fallback(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with small(tmp_path, settings_overrides, prices={}) as driver:
        fake.script(*(text_reply("Well.", usage=None) for _ in range(5)))
        for n in range(5):
            await driver.run(f"Question {n}: " + "word " * 26_000)
        (record,) = await compactions(driver)
        assert record["details"]["window"] == 128_000
        assert 0.85 * 128_000 <= record["threshold_estimate"] < 140_000


@pytest.mark.requirement("compaction.speed")
def test_each_message_is_counted_and_encoded_once_however_long_the_conversation_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted: list[ModelMessage] = []
    encoded: list[ModelMessage] = []

    def count(message: ModelMessage) -> int:
        counted.append(message)
        return estimate_message(message)

    def encode(message: ModelMessage) -> bytes:
        encoded.append(message)
        return b"{}"

    monkeypatch.setattr(entry_module, "estimate_message", count)
    history = History()
    work: list[tuple[int, int]] = []
    for number in range(1_000):
        before = (len(counted), len(encoded))
        history.add_user(row("operator", f"message {number}", number + 1))
        history.tokens()
        messages, cache = history.shown_to(images=True)
        assert isinstance(cache, EncodingCache)
        cache.encode("test", messages, encode)
        work.append((len(counted) - before[0], len(encoded) - before[1]))
    assert set(work) == {(1, 1)}
    history.tokens()
    assert len(counted) == 1_000
    history.supersede(history.entries[:500], None)  # what stays is not counted again
    assert history.tokens() > 0
    assert len(counted) == 1_000


@pytest.mark.requirement("compaction.speed")
async def test_ten_thousand_messages_are_compacted_without_holding_the_event_loop(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    block = "always_keep: [{ contains: nowhere-to-be-found }]"
    async with small(tmp_path, settings_overrides, block, LIMITS) as driver:
        rows = traffic(5_000, words=60, session_id=driver.session_id)
        await driver.daemon.services.storage.write(lambda uow: uow.messages.add_many(rows))
        run = await context_of(driver)
        compactor = Compactor(run, driver.daemon.services.sessions._services.runs.compaction)
        with watched_loop() as watch:
            done = await compactor.compact("threshold_crossed", "drop")
            await run.journal.settle()
        watch.check()
        assert len(done.record.superseded_message_ids) > 9_500
        again = await SessionConversation(driver.daemon.services.storage, driver.session_id).load()
        assert again.visible == run.history.visible


def test_exchanges_count_as_their_parts() -> None:
    history = History([row("operator", "task", 1), *exchange(2, "a", ("x", {"p": 1}, "out " * 50))])
    assert history.tokens() == sum(estimate_message(message) for message in history.messages)
