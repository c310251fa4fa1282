"""A session of the synchronous client: post, follow, answer.

Owns: what is done with one session. Never: how frames come (`_stream`), which run is awaited (`_progress`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from kaged_client._call import Call, given, part
from kaged_client._generated import models
from kaged_client._generated.events import Event, InteractionRequestedEvent, PermissionRequestedEvent
from kaged_client._model import OMIT
from kaged_client._pages import Items
from kaged_client._position import Snapshots
from kaged_client._progress import Next, Progress, RunResult, last_text
from kaged_client._stream import EventStream
from kaged_client.errors import AnswerNeeded, Conflict
from kaged_client.questions import Answer, OnQuestion, Question

if TYPE_CHECKING:
    from kaged_client.client import Kaged


class Session(models.SessionDetail):
    """A session as it was when it was read (`refresh` reads it again), and what can be done with it."""

    def __init__(self, kaged: Kaged, data: Mapping[str, Any]) -> None:
        self._kaged: Kaged = kaged
        self._fill(data)

    def run(
        self,
        content: str,
        *,
        model: str | None = None,
        mode: Literal["queue", "steer", "reject"] | None = None,
        attachments: Sequence[models.ImageAttachment | Mapping[str, Any]] = (),
        on_question: OnQuestion | None = None,
        timeout: float | None = None,
        idempotency_key: str | None = None,
    ) -> RunStream:
        """Post a message and follow the run that answers it.

        Iterate over the result for the events, or call its `wait()`; the message is posted when you begin.
        `on_question` is called with each question and returns its answer. After `timeout` seconds the stream
        raises `DeadlineExceeded`; the run continues."""
        posting = {
            "content": content,
            "model": OMIT if model is None else model,
            "mode": OMIT if mode is None else mode,
            "attachments": attachments or OMIT,
        }
        call = Call("POST", f"{self._path}/messages", body=given(posting), keyed=True, key=idempotency_key)
        return RunStream(self, call, steers=mode == "steer", on_question=on_question, timeout=timeout)

    def resume(self, *, on_question: OnQuestion | None = None, timeout: float | None = None) -> RunStream:
        """Continue a paused session, also after a crash of the daemon, and follow it as `run` does."""
        call = Call("POST", f"{self._path}/resume", keyed=True)
        return RunStream(self, call, steers=False, on_question=on_question, timeout=timeout)

    def events(
        self, *, after_seq: int = 0, snapshots: Snapshots = "missed", timeout: float | None = None
    ) -> EventStream:
        """Follow the session from an event on, without end. 0 is its beginning, `last_seq` is now.

        `snapshots="all"` begins with the text so far of each message that is being written: for who
        comes with `last_seq` and has none of it."""
        return self._kaged.follow(f"{self._path}/ws", after_seq, timeout, snapshots)

    def questions(self, *, timeout: float | None = None) -> Iterator[Question]:
        """Yield each open question, then each new one, without end. Send answers with `answer`."""
        now, seen = self._kaged.sessions.get(self.id), set[str]()
        with self.events(after_seq=now.last_seq, timeout=timeout) as stream:
            for question in self.open_questions():
                seen.add(question.id)
                yield question
            for event in stream:
                question_id = asked(event)
                if question_id is not None and question_id not in seen:
                    found = self.question(question_id)
                    if found.state == "pending":
                        yield found

    def open_questions(self) -> list[Question]:
        """Return the questions that wait for an answer."""
        found = self._kaged.interactions.list(self.id, state="pending", limit=100)
        return [Question.from_json(one.to_json()) for one in found]

    def question(self, interaction_id: str) -> Question:
        """Return one question, complete."""
        return Question.from_json(self._kaged.interactions.get(self.id, interaction_id).to_json())

    def answer(self, question: Question | str, answer: Answer) -> models.InteractionAnswer:
        """Answer a question, given itself or by its id. The first answer counts."""
        question_id = question if isinstance(question, str) else question.id
        path = f"{self._path}/interactions/{part(question_id)}/answer"
        call = Call("POST", path, body=answer.body, keyed=True)
        return self._kaged.transport.model(call, models.InteractionAnswer)

    def messages(
        self, *, run_id: str | None = None, agent_path: str | None = None
    ) -> Items[models.MessageAnswer]:
        """Return the conversation, oldest message first."""
        return self._kaged.messages.list(self.id, run_id=run_id, agent_path=agent_path)

    def refresh(self) -> Self:
        """Read the session again, in place."""
        self._fill(self._kaged.sessions.get(self.id).to_json())
        return self

    def cancel(self) -> Self:
        """Stop what runs in the session; the partial answer is kept."""
        self._fill(self._kaged.runs.cancel_session(self.id).to_json())
        return self

    def delete(self) -> None:
        """Delete the session and everything in it."""
        self._kaged.sessions.delete(self.id)

    @property
    def _path(self) -> str:
        return f"/api/v1/sessions/{part(self.id)}"


class RunStream:
    """The events from a message to the end of the run that answers it. `wait()` returns the result, also
    after the last event. Leaving the loop leaves the run running; `cancel()` ends it."""

    def __init__(
        self,
        session: Session,
        post: Call,
        *,
        steers: bool,
        on_question: OnQuestion | None,
        timeout: float | None,
    ) -> None:
        self._session = session
        self._kaged = session._kaged
        self._post = post
        self._on_question = on_question
        self._timeout = timeout
        self._progress = Progress(steers)
        self._stream: EventStream | None = None
        self._ended = False

    @property
    def run_id(self) -> str | None:
        """The run; None until it has started."""
        return self._progress.run_id

    @property
    def message_id(self) -> str | None:
        """The posted message; None before it is posted."""
        return self._progress.message_id or None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        if self._ended:
            raise StopIteration
        try:
            stream = self._stream if self._stream is not None else self._begin()
            event = next(stream)
            after = self._progress.take(event)
            self._ask(event)
            if after is Next.LOOK:
                settled = self._progress.settled(self._kaged.sessions.get(self._session.id))
                after = Next.FINISH if settled else Next.GO_ON
        except BaseException:
            self.close()
            raise
        if after is Next.FINISH:
            self.close()
        return event

    def wait(self, *, others_answer: bool = False) -> RunResult:
        """Follow the run to its end and return how it ended. Without `on_question` a question raises
        `AnswerNeeded`, unless somebody else answers (`others_answer`)."""
        for _ in self:
            if self._progress.open_questions and self._on_question is None and not others_answer:
                self.close()
                raise AnswerNeeded(self._progress.open_questions[0], self._session.id)
        if self._progress.run_id is None:
            raise RuntimeError("The stream was closed before the run had started.")
        detail = self._kaged.runs.get(self._progress.run_id)
        return RunResult(last_text(self._session.messages(run_id=detail.id, agent_path="primary")), detail)

    def cancel(self) -> None:
        """Cancel the run, or remove the message that waits for its run."""
        if self._progress.run_id is not None:
            try:
                self._kaged.runs.cancel(self._progress.run_id)
            except Conflict as conflict:
                if conflict.reason != "run_not_active":
                    raise
        elif self._progress.message_id:
            self._kaged.messages.remove(self._session.id, self._progress.message_id)

    def close(self) -> None:
        """End the stream. The run continues."""
        self._ended = True
        if self._stream is not None:
            self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self) -> EventStream:
        """Connect first, so that no event of the run is missed, answer what is open, then post."""
        now = self._kaged.sessions.get(self._session.id)
        self._stream = self._session.events(after_seq=now.last_seq, timeout=self._timeout)
        self._stream.connect()
        if now.pending_interactions:
            for question in self._session.open_questions():
                self._progress.open_questions.append(question.id)
                self._reply(question)
        if not self._progress.begun(self._kaged.transport.mapping(self._post)):
            self._progress.run_id = now.last_run.id if now.last_run is not None else None
            self.close()
        return self._stream

    def _ask(self, event: Event) -> None:
        question_id = asked(event)
        if question_id is not None and self._on_question is not None:
            self._reply(self._session.question(question_id))

    def _reply(self, question: Question) -> None:
        if self._on_question is None or question.state != "pending":
            return
        answer = self._on_question(question)
        if answer is not None:
            try:
                self._session.answer(question, answer)
            except Conflict as conflict:
                if conflict.reason != "already_answered":
                    raise


def asked(event: Event) -> str | None:
    """Return the id of the question that an event reports."""
    if isinstance(event, PermissionRequestedEvent | InteractionRequestedEvent):
        return event.payload.interaction_id
    return None
