"""How many sessions may run at once, and who goes first when a place becomes free."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.harness.sessions.capacity import Capacity, Claim
from tests.driver.sessions import WAIT_SECONDS, Driver, driven, write_project
from tests.fakes.provider_script import Hold, RecordedRequest, Reply, Text, text_reply
from tests.fakes.provider_server import FakeProvider


class Gated:
    """A model that answers each message when the test lets it; requests are told by their text."""

    def __init__(self, fake: FakeProvider) -> None:
        self.holds: dict[str, Hold] = {}
        self._fake = fake
        fake.respond = self._respond

    def _respond(self, request: RecordedRequest) -> Reply:
        text = request.json["messages"][-1]["content"]
        self.holds[text] = Hold()
        return Reply((Text(f"to {text}"), self.holds[text]))

    async def asked(self, text: str) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            while text not in self.holds:
                await self._fake.changed()

    def answer(self, text: str) -> None:
        self.holds[text].gate.set()


@pytest.fixture
def gated(fake: FakeProvider) -> Gated:
    return Gated(fake)


async def until_state(driver: Driver, session_id: str, state: str) -> None:
    driver.session_id = session_id
    async with driver.watching() as watch:
        if await driver.state() != state:
            await watch.until_state(state)


async def test_sessions_above_the_limit_of_a_project_wait_and_start_in_the_order_they_came(
    fake: FakeProvider, gated: Gated, tmp_path: Path, settings_overrides: dict[str, Any], project_root: Path
) -> None:
    limits = {"sessions_per_project": 2}
    async with driven(tmp_path / "data", project_root, limits=limits, **settings_overrides) as driver:
        ids = [driver.session_id, *[await driver.new_session() for _ in range(3)]]
        for number, session_id in enumerate(ids):
            driver.session_id = session_id
            posted = await driver.post(f"message {number}")
            assert posted["queued"] is (number >= 2)
        await gated.asked("message 0")
        await gated.asked("message 1")
        assert len(gated.holds) == 2
        driver.session_id = ids[2]
        detail = await driver.session_call("GET")
        assert (detail["state"], detail["queued_messages"]) == ("queued", 1)
        async with driver.watching() as watch:
            queued = await watch.until_type("run.queued")
            assert queued["payload"]["reason"] == "capacity"

        gated.answer("message 1")
        await gated.asked("message 2")
        assert "message 3" not in gated.holds
        gated.answer("message 0")
        await gated.asked("message 3")
        gated.answer("message 2")
        gated.answer("message 3")
        for session_id in ids:
            await until_state(driver, session_id, "idle")


async def test_a_limit_for_the_operator_holds_over_all_projects(
    fake: FakeProvider, gated: Gated, tmp_path: Path, settings_overrides: dict[str, Any], project_root: Path
) -> None:
    other_root = write_project(
        tmp_path / "other", (project_root / ".kaged/project.yaml").read_text().replace("shop", "barn")
    )
    limits = {"sessions_per_operator": 1}
    async with driven(tmp_path / "data", project_root, limits=limits, **settings_overrides) as driver:
        first = driver.session_id
        assert not (await driver.post("here"))["queued"]
        await driver.load(other_root)
        second = await driver.new_session()
        assert (await driver.post("there"))["queued"]
        await gated.asked("here")
        gated.answer("here")
        await gated.asked("there")
        gated.answer("there")
        for session_id in (first, second):
            await until_state(driver, session_id, "idle")


async def test_a_limit_of_zero_queues_everything_and_an_operators_resume_runs_it_all_the_same(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], project_root: Path
) -> None:
    fake.script(text_reply("Forced."))
    limits = {"sessions_per_project": 0}
    async with driven(tmp_path / "data", project_root, limits=limits, **settings_overrides) as driver:
        assert (await driver.post("Please"))["queued"]
        assert await driver.state() == "queued"
        refused = await driver.session_call(
            "POST", "/messages", {"content": "Now!", "mode": "reject"}, status=409
        )
        assert refused["error"]["details"]["reason"] == "no_capacity"
        async with driver.watching() as watch:
            resumed = await driver.session_call("POST", "/resume", status=201)
            assert resumed["run"]["state"] == "running"
            await watch.until_state("idle")
        assert [m["content"] for m in await driver.messages()] == ["Please", "Forced."]
        assert (await driver.post("Again"))["queued"]


async def test_a_queued_session_waits_on_after_a_restart_and_then_runs(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], project_root: Path
) -> None:
    nothing, one = {"sessions_per_project": 0}, {"sessions_per_project": 1}
    async with driven(tmp_path / "data", project_root, limits=nothing, **settings_overrides) as driver:
        first, second = driver.session_id, await driver.new_session()
        await driver.post("second session")
        driver.session_id = first
        await driver.post("first session")
    fake.script(text_reply("A"), text_reply("B"))
    async with driven(tmp_path / "data", project_root, limits=one, **settings_overrides) as driver:
        for session_id in (first, second):
            await until_state(driver, session_id, "idle")
    asked = [r.json["messages"][-1]["content"] for r in fake.requests]
    assert asked == ["second session", "first session"]


class LateStarts(Capacity):
    """Remembers the starts it was given, so that a test can call one that was overtaken."""

    starts: list[Callable[[], None]]

    def wait(self, claim: Claim, start: Callable[[], None]) -> int:
        self.__dict__.setdefault("starts", []).append(start)
        return super().wait(claim, start)


async def test_a_start_that_was_overtaken_by_cancel_and_post_does_not_give_the_place_away(
    fake: FakeProvider,
    gated: Gated,
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    project_root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.daemon.session_setup.Capacity", LateStarts)
    limits = {"sessions_per_project": 1}
    async with driven(tmp_path / "data", project_root, limits=limits, **settings_overrides) as driver:
        first, second = driver.session_id, await driver.new_session()
        capacity = driver.daemon.services.sessions.capacity
        driver.session_id = first
        await driver.post("first")
        driver.session_id = second
        await driver.post("waits")
        await driver.session_call("POST", "/cancel")
        driver.session_id = first
        await driver.session_call("POST", "/cancel")
        driver.session_id = second
        assert not (await driver.post("anew"))["queued"]
        assert isinstance(capacity, LateStarts)
        capacity.starts[0]()
        await gated.asked("anew")
        await driver.rename("the late start has run")
        driver.session_id = first
        assert (await driver.post("me too"))["queued"]
        gated.answer("anew")
        await gated.asked("me too")
        gated.answer("me too")
        for session_id in (first, second):
            await until_state(driver, session_id, "idle")


def test_places_are_given_in_the_order_asked_and_never_above_either_limit() -> None:
    capacity = Capacity(per_project=2, per_operator=3)
    started: list[str] = []

    def ask(name: str, project: str, operator: str) -> bool:
        claim = Claim(name, project, operator)
        if capacity.try_acquire(claim):
            return True
        capacity.wait(claim, lambda: started.append(name))
        return False

    assert [ask(n, "p", "o") for n in ("a", "b", "c")] == [True, True, False]
    assert ask("d", "q", "o") is True
    assert ask("e", "q", "o") is False  # the operator's limit
    assert ask("f", "q", "other") is True
    capacity.release("d")
    assert started == ["e"]  # c is before it, but waits for its project
    capacity.release("a")
    assert started == ["e", "c"]
    capacity.release("e")
    capacity.release("unknown")
    assert started == ["e", "c"]
