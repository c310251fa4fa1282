"""Ten thousand messages of tool traffic through sixty compactions of each strategy."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest

from app.harness.compaction.compactor import Compactor
from app.harness.compaction.threshold import threshold_of
from app.harness.conversation.entry import Entry
from app.harness.conversation.message_rows import tool_result
from app.harness.conversation.session_conversation import SessionConversation
from app.harness.loop.run_factory import Start, build_run
from app.harness.run.run_context import RunContext
from app.messages import TextBlock, ToolCallBlock
from app.storage.models import Message
from tests.driver.conversations import check_pairs, exchange, row
from tests.driver.rounds import rounds
from tests.driver.sessions import Driver
from tests.driver.small_window import PRICES, SUMMARIZE, small
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.compaction.test_delegate import DECLARED, LIMITS, Plugins, installed, oldest

MESSAGES = rounds(3_000, 10_000)
COMPACTIONS = rounds(18, 60)
WINDOW = 20_000

BLOCKS = {
    "drop": "always_keep: [{ contains: KEEP-ME }]",
    "summarize": f"strategy: summarize, {SUMMARIZE}, always_keep: [{{ contains: KEEP-ME }}]",
    "delegate": "strategy: delegate, delegate: { plugin: memory }, always_keep: [{ contains: KEEP-ME }]",
    "checkpoint": "strategy: checkpoint, always_keep: [{ contains: KEEP-ME }]",
}


class Traffic:
    """Makes a session's conversation grow as a loop does, without a model."""

    def __init__(self, driver: Driver, context: RunContext) -> None:
        self.session_id = driver.session_id
        self.run = context
        self.count = 0
        self.kept: list[str] = []

    def store(self, rows: list[Message]) -> None:
        self.count += len(rows)
        placed = [r.model_copy(update={"session_id": self.session_id}) for r in rows]
        self.run.journal.record(statements=lambda uow: uow.messages.add_many(placed))

    def post(self, text: str) -> None:
        posted = row("operator", text, self.run.history.take_position())
        self.run.history.add_user(posted)
        self.store([posted])

    def step(self) -> None:
        """An answer with one call or three, and their results; one in a hundred is to be kept."""
        number = self.count
        calls = 3 if number % 7 == 0 else 1
        marked = number % 97 == 0 and len(self.kept) < 12
        text = f"KEEP-ME {number}" if marked else f"Step {number}."
        asked = [("file.read", {"path": f"f{number}_{n}.py"}, "word " * 12) for n in range(calls)]
        rows = exchange(self.run.history.take_position(calls + 1), text, *asked)
        if marked:
            self.kept.append(text)
        blocks = [TextBlock(text=text)] + [
            ToolCallBlock(id=r.details["toolCallId"], name="file.read", arguments=a)
            for r, (_, a, _) in zip(rows[1:], asked, strict=True)
        ]
        self.run.history.add_assistant(rows[0].id, tuple(blocks), complete=False)
        self.run.history.add_results([r.id for r in rows[1:]], tuple(map(tool_result, rows[1:])))
        self.store(rows)


def check(traffic: Traffic, driver: Driver) -> None:
    """What must hold whenever a model would be called."""
    run, history = traffic.run, traffic.run.history
    threshold = threshold_of(run, driver.daemon.services.providers.catalog)
    total = run.estimate.request(history.tokens(), run.plan.system(), run.plan.tools) + threshold.reserve
    assert total < threshold.upper * threshold.window
    assert history.visible is history.messages


def check_whole(traffic: Traffic) -> None:
    history = traffic.run.history
    check_pairs(history.messages)
    shown = [
        b.text for m in history.messages if m.role != "tool" for b in m.blocks if isinstance(b, TextBlock)
    ]
    assert shown[0] == "The task: keep this sentence."
    assert [text for text in shown if text.startswith("KEEP-ME")] == traffic.kept


async def compact_sixty_times(driver: Driver, traffic: Traffic) -> list[int]:
    """Grow until there were as many messages and compactions as are wanted; return the memory after
    each compaction."""
    services = driver.daemon.services.sessions
    compactor = Compactor(traffic.run, services._services.runs.compaction)
    generation, memory = traffic.run.history.generation, []
    while traffic.count < MESSAGES or len(memory) < COMPACTIONS:
        traffic.step()
        if traffic.count % 500 < 2:
            traffic.post(f"Go on with {traffic.count}.")
        if await compactor.before_call():
            await traffic.run.journal.settle()
            (proposal,) = [c for c in await proposals(driver) if c.state == "proposed"]
            await services.compactions.approve(driver.session_id, proposal.id, "operator")
            compactor = Compactor(traffic.run, services._services.runs.compaction)
        check(traffic, driver)
        if traffic.run.history.generation != generation:
            generation = traffic.run.history.generation
            check_whole(traffic)
            memory.append(resident_bytes())
        if len(traffic.run.journal._writes) > 200:
            await traffic.run.journal.settle()
    await traffic.run.journal.settle()
    return memory


async def proposals(driver: Driver) -> list[Any]:
    storage = driver.daemon.services.storage
    return await storage.read(lambda uow: uow.compactions.of_session(driver.session_id))


@pytest.mark.requirement("compaction.soak", "compaction.pairs", "compaction.keep")
@pytest.mark.parametrize("strategy", list(BLOCKS))
async def test_ten_thousand_messages_through_sixty_compactions(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], strategy: str
) -> None:
    before = entries_alive()
    fake.respond = lambda _: text_reply("They were read, one after the other.")
    more = DECLARED + LIMITS if strategy == "delegate" else LIMITS
    prices = {**PRICES, "fake:small": {"context_window": WINDOW}, "fake:sum": {"context_window": WINDOW}}
    async with small(tmp_path, settings_overrides, BLOCKS[strategy], more, prices=prices) as driver:
        if strategy == "delegate":
            plugins = installed(driver, Plugins(lambda notice: oldest(notice, most(notice))))
            plugins.before = Forgetful()
        services = driver.daemon.services.sessions
        runs = await services._runs_of(driver.session_id)
        await runs.parts.conversation.load()
        traffic = Traffic(
            driver, (await build_run(services._services.runs, runs.root, runs.row, runs, Start())).context
        )
        traffic.post("The task: keep this sentence.")
        memory = await compact_sixty_times(driver, traffic)

        made = await proposals(driver)
        applied = [record for record in made if record.state == "applied"]
        assert len(applied) >= COMPACTIONS
        assert {record.strategy for record in applied} == {strategy}
        assert not any(record.fallback_occurred for record in applied)
        assert all(record.after_estimate < record.threshold_estimate for record in applied)
        gone = [row_id for record in applied for row_id in record.superseded_message_ids]
        assert len(gone) == len(set(gone))  # nothing goes twice

        history = traffic.run.history
        again = await SessionConversation(driver.daemon.services.storage, driver.session_id).load()
        assert again.visible == history.visible
        assert [e.row_ids for e in again.entries] == [e.row_ids for e in history.entries]
        assert entries_alive() - before <= 4 * len(history.entries)
        assert memory[-1] - memory[len(memory) // 3] < 48 * 1024 * 1024


def entries_alive() -> int:
    """Return how many entries of conversations there are in this process."""
    gc.collect()
    return sum(1 for thing in gc.get_objects() if isinstance(thing, Entry))


class Forgetful(list[Any]):
    """Keeps nothing: what a test keeps of conversations is not what the daemon keeps."""

    def append(self, item: Any) -> None:
        return None


def resident_bytes() -> int:
    """Return how much memory this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def most(notice: Any) -> int:
    """Return how many messages a compactor takes, whole pairs, to be well below the threshold."""
    units = notice.window.oldest(200)
    return sum(len(unit.row_ids) for unit in units)
