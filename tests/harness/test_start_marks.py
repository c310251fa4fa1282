"""The mark of a call that may change something is on the disk before the call begins."""

from __future__ import annotations

import pytest

from tests.driver.sessions import Driver
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

READ = ToolCall("file_read", {"path": "README.md"})


def write(name: str) -> ToolCall:
    return ToolCall("file_write", {"path": name, "content": "hello\n"})


@pytest.mark.requirement("durability.start_marks")
async def test_the_start_of_a_call_survives_a_power_failure_unless_it_only_reads(
    driver: Driver, fake: FakeProvider
) -> None:
    statistics = driver.daemon.services.storage.statistics

    async def durable_commits(*calls: ToolCall) -> int:
        fake.script(Reply(calls), text_reply("Done."))
        before = statistics.durable_commits
        await driver.run("Go")
        return statistics.durable_commits - before

    await durable_commits(READ)
    reads = await durable_commits(READ, READ)
    assert await durable_commits(READ, write("a")) == reads + 1
    assert await durable_commits(write("b"), write("b")) == reads + 2  # the second waits for its turn
