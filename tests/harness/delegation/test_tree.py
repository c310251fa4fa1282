"""A tree of thirty agents, stopped at any moment: nothing is left running, open or unanswered."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any

import pytest

from tests.driver.agent_tree import AGENTS, AT_ONCE, Model, check_at_rest, check_frames, tree
from tests.driver.family import walk, who
from tests.driver.rounds import SEED, rounds
from tests.fakes.provider_script import Hold, RecordedRequest, Reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.delegation.conftest import Drive

ROUNDS = rounds(5, 12)


@pytest.mark.requirement("delegation.tree", "delegation.cancel")
@pytest.mark.timeout(60 + ROUNDS * 15)
async def test_a_tree_of_thirty_agents_is_stopped_at_random(drive: Drive, fake: FakeProvider) -> None:
    chance = random.Random(SEED)
    fake.respond = Model(chance, slowness=0.15, background=True)
    stopped = 0
    assert len(walk(tree())) >= AGENTS
    async with drive(tree()) as driver:
        for number in range(ROUNDS):
            await driver.new_session()
            async with driver.watching() as watch:
                await driver.post(f"Round {number}")
                await asyncio.sleep(chance.uniform(0, 1.0))
                how = chance.choice(["cancel", "cancel", "pause"])
                answer = await driver.client.post(f"/api/v1/sessions/{driver.session_id}/{how}")
                assert answer.status_code in (200, 409), answer.text
                stopped += answer.status_code == 200
                if how == "pause" and answer.status_code == 200:
                    await driver.session_call("POST", "/cancel")
                await watch.until(lambda _: is_quiet(watch.frames))
                # The end of a task in the background starts a run of the root agent, which is part of it.
                await driver.rename(f"Quiet {number}")
                await watch.until(lambda f: f["payload"].get("title") == f"Quiet {number}")  # noqa: B023
                await watch.until(lambda _: is_quiet(watch.frames))
            await check_at_rest(lambda path: driver.call("GET", path), driver.session_id)
            check_frames(watch.frames)
    assert stopped > ROUNDS // 3


def is_quiet(frames: list[dict[str, Any]]) -> bool:
    """Tell whether every run that began has ended, and the session has come to rest."""
    ended = sum(1 for frame in frames if frame["type"] == "run.ended")
    states = [frame["payload"]["state"] for frame in frames if frame["type"] == "session.state"]
    begun = sum(1 for frame in frames if frame["type"] == "run.started")
    return 0 < begun == ended and states[-1:] == ["idle"]


class Together:
    """Answers as a model does, but no leaf before so many of them have asked."""

    def __init__(self, model: Model, count: int) -> None:
        self._model, self._count = model, count
        self._asking: set[str] = set()
        self._hold = Hold()

    def __call__(self, request: RecordedRequest) -> Reply:
        reply, name = self._model(request), who(request)
        if not name.startswith("leaf"):
            return reply
        self._asking.add(name)
        if len(self._asking) >= self._count:
            self._hold.gate.set()
        return replace(reply, parts=(self._hold, *reply.parts))


@pytest.mark.requirement("delegation.tree", "delegation.parallel")
async def test_all_thirty_work_and_ten_of_them_at_once(drive: Drive, fake: FakeProvider) -> None:
    fake.respond = Together(Model(random.Random(SEED)), AT_ONCE)
    async with drive(tree()) as driver:
        watch = await driver.run("All of you")
        runs = await check_at_rest(lambda path: driver.call("GET", path), driver.session_id)

    assert len(runs) >= AGENTS and {run["state"] for run in runs} == {"succeeded"}
    assert {run["agent_path"].count(".subagents.") for run in runs} == {0, 1, 2, 3}
    spans = [(run["started_at"], run["ended_at"]) for run in runs if "leaf" in run["agent_path"]]
    assert max(sum(1 for a, b in spans if a <= at <= b) for at, _ in spans) >= AT_ONCE
    check_frames(watch.frames)
