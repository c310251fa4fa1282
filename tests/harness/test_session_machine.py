"""Random commands to real sessions, held against a model of what each must do.

The daemon's services are real (storage, hub, provider over the wire); only the moment at which a
model answers is the test's. The model knows states, queues, places and who is legal when.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.daemon.lifespan import open_services
from app.daemon.services import Services
from app.errors import Conflict
from app.harness.questions.consent_rows import GivenAnswer
from app.harness.run.answers import Answers
from app.observability import Redactor
from app.states import (
    SessionState,
    legal_for_operators,
)
from app.storage.models import Interaction
from tests.driver.daemon import settings_for
from tests.driver.rounds import rounds
from tests.driver.sessions import PROJECT_YAML, WAIT_SECONDS, write_project
from tests.fakes.provider_script import Document, Hold, RecordedRequest, Reply, Text, ToolCall
from tests.fakes.provider_server import FakeProvider

T = TypeVar("T")

PLACES = 2
SESSIONS = 3
ACTOR = "operator"
YAML = PROJECT_YAML + 'permissions: [{ permission: file.read, pattern: "*", action: ask }]\n'
QUESTION = {"summary": "x", "questions": [{"id": "a", "title": "Which?", "options": [{"label": "b"}]}]}


@dataclass
class Expected:
    """What a session must be like. `keeps`: it has a run that waits for a person or for a place, and
    `consent` while a person is asked. `question`: a person is asked and no run waits; `call`: a call does."""

    id: str
    state: str = "idle"
    queue: deque[str] = field(default_factory=deque)
    steers: deque[str] = field(default_factory=deque)
    held: deque[str] = field(default_factory=deque)
    running: str | None = None
    answered: bool = True
    started: int = 0
    ended: int = 0
    asks: deque[str] = field(default_factory=deque)
    question: bool = False
    call: bool = False
    keeps: bool = False
    consent: bool = False

    def hold(self) -> None:
        self.held.extend([*self.steers, *self.queue])
        self.steers.clear()
        self.queue.clear()

    def end_kept(self) -> None:
        """The run that waited is over."""
        self.ended += self.keeps
        self.keeps = self.consent = False

    def withdraw(self) -> None:
        """No call waits for a person any more."""
        self.question = self.call = False

    def take_next(self) -> str | None:
        waiting = self.steers or self.queue
        return waiting.popleft() if waiting else None


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again: what is looked at is in the database."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not await condition():  # noqa: ASYNC110 - a row in the database has no event
            await asyncio.sleep(0.002)


class SessionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.folder = Path(tempfile.mkdtemp(prefix="kaged-machine-"))
        self.holds: dict[str, deque[Hold]] = {}
        self.waiting: list[str] = []
        self.forced: set[str] = set()
        self.number = 0
        self.next_asks = ""
        self.calls = 0
        self.services: Services = self.run(self._open())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def _open(self) -> Services:
        self.fake = await self.stack.enter_async_context(FakeProvider(self._respond))
        provider = {"driver": "openai", "base_url": f"{self.fake.base_url}/v1", "api_key": "sk-test"}
        chosen = settings_for(
            self.folder / "data",
            models={"main": ["fake:model-a"]},
            providers={"fake": provider},
            limits={"sessions_per_project": PLACES},
        )
        services = await self.stack.enter_async_context(open_services(chosen, Redactor(())))
        project = await services.decisions.loader.load(str(write_project(self.folder / "shop", YAML)))
        rows = [await services.sessions.create(project.id, created_by=ACTOR) for _ in range(SESSIONS)]
        self.sessions = [Expected(row.id) for row in rows]
        return services

    def _respond(self, request: RecordedRequest) -> Reply | Document:
        """Begin to answer, and wait for the test; the session's name stands in its first message."""
        first = next(m for m in request.json["messages"] if m["role"] == "user")["content"]
        hold, session_id = Hold(), first.split(" ")[0]
        self.holds.setdefault(session_id, deque()).append(hold)
        asks, self.next_asks = self.next_asks, ""
        next(one for one in self.sessions if one.id == session_id).asks.append(asks)
        self.calls += 1
        ends = {
            "": Text("done."),
            "question": ToolCall("kaged_ask", QUESTION, f"call_{self.calls}"),
            "consent": ToolCall("file_read", {"path": "README.md"}, f"call_{self.calls}"),
        }
        return Reply((Text("Working "), hold, ends[asks]))

    def teardown(self) -> None:
        for session in self.sessions:
            for hold in self.holds.get(session.id, ()):
                hold.gate.set()
        self.run(self.stack.aclose())
        self.runner.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- the model --------------------------------------------------------------------------

    def running(self) -> list[Expected]:
        return [session for session in self.sessions if session.state == "running"]

    def begin(self, session: Expected, message: str) -> None:
        session.state, session.running, session.answered = "running", message, False
        session.withdraw()
        session.started += 1
        session.held.clear()

    def end(self, session: Expected) -> None:
        """A run has ended by itself: the next message runs in the same place, or the place is free."""
        session.ended += 1
        session.running = None
        following = session.take_next()
        if following is not None:
            self.begin(session, following)
            return
        session.state = "idle"
        self.free(session)

    def free(self, session: Expected) -> None:
        self.forced.discard(session.id)
        for session_id in list(self.waiting):
            if len(self.running()) >= PLACES:
                return
            other = next(one for one in self.sessions if one.id == session_id)
            self.waiting.remove(session_id)
            if other.keeps:
                self.goes_on(other)
                continue
            message = other.take_next()
            assert message is not None
            self.begin(other, message)

    def goes_on(self, session: Expected) -> None:
        """The run of a session goes on with an answer; it takes what was steered with its next step."""
        session.state, session.keeps = "running", False
        session.steers.clear()

    def legal(self, session: Expected, *states: str) -> bool:
        return session.state in states

    # -- what operators do ------------------------------------------------------------------

    async def _settled(self) -> None:
        """Wait until each session is in the state that it must reach, with its request under way."""
        async with asyncio.timeout(WAIT_SECONDS):
            for expected in self.sessions:
                await until(lambda key=expected: self._has_state(key))  # type: ignore[misc]
                while expected.state == "running" and not self.holds.get(expected.id):
                    await self.fake.changed()

    async def _has_state(self, expected: Expected) -> bool:
        return (await self.services.sessions.get(expected.id)).state == expected.state

    async def _refused(self, session: Expected, work: Coroutine[Any, Any, Any]) -> None:
        with pytest.raises(Conflict) as refused:
            await work
        state = SessionState(session.state)
        assert refused.value.details["state"] == state.value
        if "legal_events" in refused.value.details:
            assert refused.value.details["legal_events"] == legal_for_operators(state)

    @rule(which=st.integers(0, SESSIONS - 1), mode=st.sampled_from(["queue", "steer", "reject"]))
    def post(self, which: int, mode: Any) -> None:
        session = self.sessions[which]
        self.number += 1
        text = f"{session.id} message {self.number}"
        work = self.services.sessions.post_message(session.id, text, mode=mode, actor=ACTOR)
        full = len(self.running()) >= PLACES
        must_wait = session.state != "idle" or full
        refused = session.state == "archived" or (session.state == "paused" and not session.keeps)
        if refused or (mode == "reject" and must_wait):
            self.run(self._refused(session, work))
        else:
            posted = self.run(work)
            assert posted.queued is must_wait
            if session.state == "idle" and not full:
                self.begin(session, text)
            elif (session.state == "running" or session.keeps) and mode == "steer":
                session.steers.append(text)
            else:
                session.queue.append(text)
                if session.state == "idle":
                    session.state = "queued"
                    self.waiting.append(session.id)
        self.run(self._settled())

    @rule(which=st.integers(0, SESSIONS - 1))
    def cancel(self, which: int) -> None:
        session = self.sessions[which]
        work = self.services.sessions.cancel(session.id, ACTOR)
        if not self.legal(session, "queued", "running", "paused"):
            self.run(self._refused(session, work))
            return
        self.run(work)
        session.hold()
        session.withdraw()
        if session.state == "running":
            self.take(session)
            session.ended += 1
        session.end_kept()
        if session.id in self.waiting:
            self.waiting.remove(session.id)
        session.state, session.running = "idle", None
        self.free(session)
        self.run(self._settled())

    @rule(which=st.integers(0, SESSIONS - 1))
    def pause(self, which: int) -> None:
        session = self.sessions[which]
        work = self.services.sessions.pause(session.id, ACTOR)
        if not session.keeps and not self.legal(session, "running"):
            self.run(self._refused(session, work))
            return
        self.run(work)
        if session.state == "running":
            self.take(session)
            session.ended += 1
        session.call, session.question = session.keeps, session.consent  # the next run goes on with them
        session.end_kept()
        if session.id in self.waiting:
            self.waiting.remove(session.id)
        session.state, session.running = "paused", None
        self.free(session)
        self.run(self._settled())

    @rule(which=st.integers(0, SESSIONS - 1))
    def resume(self, which: int) -> None:
        session = self.sessions[which]
        work = self.services.sessions.resume(session.id, actor=ACTOR)
        if not self.legal(session, "queued", "paused"):
            self.run(self._refused(session, work))
            return
        assert self.run(work) is not None
        if session.keeps:
            if session.id in self.waiting:
                self.waiting.remove(session.id)
            session.consent = False
            self.forced.add(session.id)
            self.goes_on(session)
            self.run(self._settled())
            return
        if session.state == "queued":
            self.waiting.remove(session.id)
            following = session.take_next()
            assert following is not None
        else:
            following = "nudge"
        self.forced.add(session.id)
        self.begin(session, following)
        self.run(self._settled())

    @rule(which=st.integers(0, SESSIONS - 1))
    def go_on(self, which: int) -> None:
        session = self.sessions[which]
        work = self.services.sessions.continue_run(session.id, actor=ACTOR)
        if not self.legal(session, "idle") or session.answered:
            self.run(self._refused(session, work))
            return
        self.run(work)
        self.forced.add(session.id)
        self.begin(session, "nudge")
        self.run(self._settled())

    @rule(which=st.integers(0, SESSIONS - 1))
    def archive(self, which: int) -> None:
        session = self.sessions[which]
        if which != SESSIONS - 1:
            return  # the others live on, so that there is something to do
        work = self.services.sessions.archive(session.id)
        if not self.legal(session, "idle", "queued", "paused"):
            self.run(self._refused(session, work))
            return
        self.run(work)
        if session.id in self.waiting:
            self.waiting.remove(session.id)
        session.hold()
        session.withdraw()
        session.end_kept()
        session.state = "archived"
        self.run(self._settled())

    @precondition(lambda self: bool(self.running()))
    @rule(which=st.integers(0, SESSIONS - 1))
    def answer(self, which: int) -> None:
        """Let a model finish: its run ends, or goes on with what was steered."""
        running = self.running()
        session = running[which % len(running)]
        hold, asked = self.take(session)
        hold.gate.set()
        if asked == "consent":
            session.state, session.keeps, session.consent = "paused", True, True
            self.run(until(lambda: self._has_state(session)))
            self.free(session)
        elif asked:
            session.question = session.call = True
            session.state, session.running = "paused", None
            session.ended += 1
            ended = session.ended
            self.run(until(lambda: self._has_ended(session, ended)))
            self.free(session)
        elif session.steers:
            session.steers.clear()  # one more step of the same run
        else:
            session.answered = True
            ended = session.ended
            self.end(session)
            self.run(until(lambda: self._has_ended(session, ended + 1)))
        self.run(self._settled())

    def take(self, session: Expected) -> tuple[Hold, str]:
        """Return what holds the newest request of a session, and what its answer asks for."""
        return self.holds[session.id].popleft(), session.asks.popleft()

    @rule(what=st.sampled_from(["question", "consent"]))
    def ask_next(self, what: str) -> None:
        """The next request of any session is answered by a question to a person, or by a call that needs
        one's consent."""
        self.next_asks = what

    @rule(which=st.integers(0, SESSIONS - 1))
    def reply(self, which: int) -> None:
        """Answer the newest question of a session, whether it is open or not."""
        session = self.sessions[which]
        newest = self.run(self._newest_question(session))
        if newest is None:
            return
        consents = newest.kind == "permission"
        given = GivenAnswer("once") if consents else Answers({"a": ["b"]})
        work = self.services.sessions.interactions.answer(session.id, newest.id, given, ACTOR)
        if not (session.consent or session.question):
            with pytest.raises(Conflict) as refused:
                self.run(work)
            assert refused.value.details["reason"] in ("already_answered", "not_waiting")
            return
        self.run(work)
        if session.consent:
            session.consent = False
            if len(self.running()) < PLACES:
                self.goes_on(session)
            else:
                session.state = "queued"
                self.waiting.append(session.id)
        else:
            self.forced.add(session.id)
            self.begin(session, "answer")
        self.run(self._settled())

    async def _newest_question(self, session: Expected) -> Interaction | None:
        page = await self.services.storage.read(lambda uow: uow.interactions.list(session.id, limit=1))
        return page.items[0] if page.items else None

    async def _has_ended(self, session: Expected, count: int) -> bool:
        page = await self.services.storage.read(lambda uow: uow.runs.list(session.id, limit=100))
        return sum(run.ended_at is not None for run in page.items) >= count

    # -- what always holds ------------------------------------------------------------------

    @invariant()
    def places_are_not_given_twice(self) -> None:
        unforced = [session for session in self.running() if session.id not in self.forced]
        assert len(unforced) <= PLACES

    @invariant()
    def what_is_stored_is_what_must_be(self) -> None:
        self.run(self._compare())

    async def _compare(self) -> None:
        for expected in self.sessions:
            runs, waiting, row, pending, calls = await self.services.storage.read(
                lambda uow, key=expected.id: (  # type: ignore[misc]
                    uow.runs.list(key, limit=100).items,
                    uow.messages.queued(key),
                    uow.sessions.get(key),
                    uow.interactions.pending(key),
                    uow.tool_calls.waiting(key),
                )
            )
            assert len(calls) == expected.call
            assert len(pending) == expected.question + expected.consent
            assert row.state == expected.state
            assert len(runs) == expected.started
            open_runs = [run for run in runs if run.state == "running"]
            assert len(open_runs) == (expected.state == "running" or expected.keeps)
            assert len(runs) - len(open_runs) == expected.ended
            assert sorted(m.content for m in waiting) == sorted(
                [*expected.queue, *expected.steers, *expected.held]
            )


TestSessionMachine = pytest.mark.timeout(300)(SessionMachine.TestCase)
TestSessionMachine = pytest.mark.requirement("loop.machine", "durability.waiting_session")(TestSessionMachine)
SessionMachine.TestCase.settings = settings(
    max_examples=rounds(12, 25),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
