"""Answering what people are asked: one way for permissions, questions and forms, wherever they wait.

Owns: finding out who waits for an answer, checking it, taking in its files, and saying what became of a
question that is not open. Never: who may answer (`api`), or a session's state (`session`).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from app.errors import Conflict, KagedError, NotFound, ValidationFailed
from app.harness.projects.permissions import RuleScope
from app.harness.questions.checking import checked_ask, checked_form, checked_question
from app.harness.questions.consent_rows import (
    GivenAnswer,
    answered_event,
    rejected,
    request_of,
    rules_to_store,
)
from app.harness.questions.plans import PLAN_KIND, checked_plan, mode_after
from app.harness.questions.rows import PERMISSION, closed_event
from app.harness.run.answers import Answers, FormValues, PlanDecision
from app.harness.sessions.answering import CheckedAnswer
from app.harness.sessions.mode_changes import settle_open_requests
from app.harness.sessions.session import Session
from app.harness.sessions.session_services import SessionServices
from app.harness.uploads.service import UploadService
from app.states import InteractionState, SessionState
from app.storage.models import Interaction, Upload
from app.storage.models import Session as SessionRow
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.call import ToolEnvelope
from app.tools.contract.definition import ToolResult
from app.tools.dialogue import ask, form, plan
from app.tools.locked import question

log = logging.getLogger("kaged.interactions")

Given = GivenAnswer | Answers | FormValues | PlanDecision

_BODIES = {
    PERMISSION: (GivenAnswer, "answer", "`once`, `always` or `reject`"),
    "ask": (Answers, "answers", "an object: texts by question id"),
    "question": (Answers, "answers", "one list of texts for each question"),
    "form": (FormValues, "values", "an object: values by field name"),
    PLAN_KIND: (PlanDecision, "decision", "`accept`, `edit` or `reject`"),
}
"""By kind: what an answer is, its name in a request, and what it holds."""


class Interactions:
    """All questions of this daemon. `find` loads a session, `uploads` keeps the files of forms."""

    def __init__(
        self,
        services: SessionServices,
        find: Callable[[str], Awaitable[Session]],
        uploads: UploadService,
    ) -> None:
        self._storage = services.runs.storage
        self._questions = services.runs.questions
        self._projects = services.runs.projects
        self._find = find
        self._shielded = services.tasks.shielded
        self._uploads = uploads

    async def get(self, session_id: str, interaction_id: str) -> Interaction:
        """Return a question of the session; raises `NotFound`."""
        row = await self._storage.read(lambda uow: uow.interactions.get(interaction_id))
        if row is None or row.session_id != session_id:
            raise NotFound(f"There is no interaction {interaction_id} in this session.")
        return row

    async def open_form(self, session_id: str, interaction_id: str) -> Interaction:
        """Return a form that waits for its answer; raises `NotFound`, `Conflict`."""
        row = await self.get(session_id, interaction_id)
        if row.kind != "form":
            raise Conflict(f"A question of the kind {row.kind} takes no files.", reason="no_form")
        if row.state != InteractionState.PENDING.value:
            raise _not_open(row)
        return row

    async def answer(self, session_id: str, interaction_id: str, given: Given, actor: str) -> Interaction:
        """Store an answer, and let the call or the session that waits for it go on.

        Raises `NotFound`; `Conflict`, with what became of it, when it is not open any more, or when nobody
        trusts the project (`project_untrusted`);
        `ValidationFailed`, by field, when the answer does not fit the question."""
        row = await self.get(session_id, interaction_id)
        if row.state != InteractionState.PENDING.value:
            raise _not_open(row)
        self._projects.require_trusted((await self._find(session_id)).row.project_id)
        fitting, field, wanted = _BODIES[row.kind]
        if not isinstance(given, fitting):
            raise ValidationFailed(
                f"A question of the kind {row.kind} has another answer.",
                fields={field: f"is needed: {wanted}"},
            )
        answered = await self._shielded(self._answer(row, given, actor))
        if answered is None:
            raise _not_open(await self.get(session_id, interaction_id))
        return answered

    async def go_on(self, project_id: str | None = None) -> None:
        """Resume the sessions that stopped for questions which were answered before the daemon ended; of one
        project when given."""
        for session_id in await self._storage.read(lambda uow: _answered_and_paused(uow, project_id)):
            try:
                await (await self._find(session_id)).go_on_when_answered("daemon")
            except KagedError as problem:
                log.warning("session %s is answered and stays paused: %s", session_id, problem.message)

    # -- inside -----------------------------------------------------------------------------

    async def _answer(self, row: Interaction, given: Given, actor: str) -> Interaction | None:
        """Give the answer to the run that waits for it; without one, store it with its session."""
        if isinstance(given, FormValues):
            return await self._form(row, checked_form(row.request, given), actor)
        if isinstance(given, PlanDecision):
            return await self._store(row, checked_plan(given), actor)
        if isinstance(given, GivenAnswer):
            answered = await self._questions.answer(row.session_id, row.id, given, actor)
            return answered or await self._store_consent(row, given, actor)
        check = checked_ask if row.kind == "ask" else checked_question
        answer = check(row.request, given)
        answered = await self._questions.answer(row.session_id, row.id, answer, actor)
        return answered or await self._store(row, answer, actor)

    async def _store_consent(self, row: Interaction, given: GivenAnswer, actor: str) -> Interaction | None:
        session = await self._find(row.session_id)
        scope = RuleScope(session.row.project_id, row.session_id if given.scope == "session" else None)
        request, stored_rules = request_of(row), self._questions.rules
        rules = rules_to_store(given.rule, request) if given.answer == "always" else ()
        event = answered_event(row, given, actor, rules)
        answer = event.model_dump(include={"answer", "comment", "rules"}, exclude_none=True)
        answer |= {"scope": given.scope} if rules else {}
        refused = given.answer == "reject"
        envelope = ToolEnvelope.of_error(rejected(request, given.comment)) if refused else None

        def with_rules(uow: UnitOfWork) -> None:
            stored_rules.put_all(uow, scope, rules, actor, interaction_id=row.id)

        answered = await session.answer(row.id, CheckedAnswer(answer, event, envelope, with_rules), actor)
        if answered is not None and rules:
            stored_rules.changed(scope)
            await self._questions.apply_rules(scope, actor, row.id)
        return answered

    async def _form(self, row: Interaction, answer: dict[str, Any], actor: str) -> Interaction | None:
        """Take in the files of a form, then store it. Files of an answer that came too late, or could not be
        stored, are let go."""
        files = {
            field["name"]: answer["values"][field["name"]]
            for field in row.request["fields"]
            if field["type"] == "file" and answer["values"][field["name"]] is not None
        }
        session = await self._find(row.session_id)
        claimed = await self._claimed(row, session.row.project_id, files)
        if claimed is None:
            return None
        answered: Interaction | None = None
        try:
            placed = await self._placed(row, session.row, claimed)
            answer = {"values": {**answer["values"], **placed}}
            answered = await self._questions.answer(row.session_id, row.id, answer, actor)
            answered = answered or await self._store(row, answer, actor)
        finally:
            if answered is None and files:
                await self._storage.write(lambda uow: _let_go(uow, row.id, list(files.values())))
        return answered

    async def _claimed(
        self, row: Interaction, project_id: str, files: dict[str, str]
    ) -> dict[str, Upload] | None:
        """Let the question own its files, by field; None when it is not open any more, so that none
        stays with a question that is gone."""
        uploads = self._uploads
        if not files:
            return {}
        fields = [f"values.{name}" for name in files]

        def claim(uow: UnitOfWork) -> dict[str, Upload] | None:
            asked = uow.interactions.get(row.id)
            if asked is None or asked.state != InteractionState.PENDING.value:
                return None
            owned = uploads.claim(uow, list(files.values()), project_id, row.id, fields=fields)
            return dict(zip(files, owned, strict=True))

        return await self._storage.write(claim, durable=True)

    async def _placed(
        self, row: Interaction, session: SessionRow, files: dict[str, Upload]
    ) -> dict[str, dict[str, Any]]:
        """Put the files where the agent reads them; return what is stored of each."""
        root = self._projects.root_of_session(session).path
        placed: dict[str, dict[str, Any]] = {}
        for name, upload in files.items():
            path = await self._uploads.place(upload, root, row.id)
            facts = {"path": path, "name": path.rpartition("/")[2], "size": upload.size_bytes}
            placed[name] = {"upload_id": upload.id, **facts}
        return placed

    async def _store(self, row: Interaction, answer: dict[str, Any], actor: str) -> Interaction | None:
        event = closed_event(row, InteractionState.ANSWERED, answer=answer, actor=actor)
        mode = mode_after(answer) if row.kind == PLAN_KIND else None
        checked = CheckedAnswer(answer, event, _envelope(row, answer), lambda uow: None, mode)
        session = await self._find(row.session_id)
        answered = await session.answer(row.id, checked, actor)
        if answered is not None and mode is not None:
            await settle_open_requests(self._questions, session.row, mode, actor)
        return answered


def _envelope(row: Interaction, answer: dict[str, Any]) -> ToolEnvelope:
    """Return an answer as the result of its call."""
    result: ToolResult
    if row.kind == "ask":
        result = ask.result_of(row.request, answer)
    elif row.kind == "form":
        result = form.result_of(row.request, answer)
    elif row.kind == PLAN_KIND:
        result = plan.result_of(answer)
    else:
        result = question.result_of(answer)
    return ToolEnvelope(type="output", data=result.model_dump(mode="json", exclude_none=True))


def _answered_and_paused(uow: UnitOfWork, project_id: str | None) -> list[str]:
    """Return the sessions that paused for a question and wait for none; imported ones have asked nothing
    here, and are left as they are."""
    paused = [
        row
        for row in uow.sessions.in_states([SessionState.PAUSED.value])
        if row.state_reason == "interaction"
        and project_id in (None, row.project_id)
        and not uow.interactions.pending(row.id)
    ]
    return [row.id for row in paused if uow.interactions.list(row.id, limit=1).items]


def _let_go(uow: UnitOfWork, interaction_id: str, upload_ids: list[str]) -> None:
    """Let go of the files of an answer that does not count, but not of those of the one that does."""
    row = uow.interactions.get(interaction_id)
    values = ((row.answer if row is not None else None) or {}).get("values", {})
    kept = {value["upload_id"] for value in values.values() if isinstance(value, dict)}
    for upload_id in upload_ids:
        upload = uow.uploads.get(upload_id)
        if upload is not None and upload.used_by == interaction_id and upload_id not in kept:
            uow.uploads.update(upload_id, used_by=None, used_at=None)


def _not_open(row: Interaction) -> Conflict:
    """Return what became of a question, for somebody who answers too late."""
    details: dict[str, Any] = {"state": row.state, "answer": row.answer, "answered_by": row.answered_by}
    if row.state == InteractionState.ANSWERED.value:
        word = (row.answer or {}).get("answer")
        what = f": {word}, by {row.answered_by}" if isinstance(word, str) else f", by {row.answered_by}"
        return Conflict(f"This was answered already{what}.", reason="already_answered", details=details)
    if row.state == InteractionState.PENDING.value:
        # It is asked, or left by its run, at this very moment.
        return Conflict(
            "This cannot be answered at this moment; try again.", reason="not_waiting", details=details
        )
    return Conflict(
        "The session does not wait for this answer any more. Post a message to go on.",
        reason="not_waiting",
        details=details,
    )
