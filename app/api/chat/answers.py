"""The answer of a run: its text as it comes, and how it has ended.

Owns: following a run by its events, and what its end means in the protocol. Never: starting one (`runs`), or
the wire.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson

from app.api.chat.answer_text import BETWEEN, AnswerText
from app.api.chat.wire import (
    CompletionDetails,
    CompletionUsage,
    FinishReason,
    PromptDetails,
    StartedRun,
)
from app.daemon.services import Services
from app.errors import Conflict, InternalError, KagedError, NotFound, Unavailable
from app.harness.stream.frames import HubClosed, SessionDeleted, TooSlow
from app.ids import ROOT_AGENT
from app.messages import Usage
from app.states import RunState
from app.storage.models import Run
from app.storage.unit_of_work import UnitOfWork

_UNDER_WAY = (RunState.PENDING.value, RunState.RUNNING.value)
_LENGTH = frozenset({"length", "max_steps"})
_UNANSWERED = frozenset({"error", "aborted"})


class ProviderFailed(KagedError):
    """The provider of the agent's model failed, after all retries."""

    code = "provider_failed"
    status = 502


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run has ended: its text, or the error in its place."""

    text: str
    usage: CompletionUsage
    finish_reason: FinishReason = "stop"
    error: KagedError | None = None


class RunAnswer:
    """Iterate `pieces()` once; then `ended` is there. `after_seq` is before the run's first event."""

    def __init__(self, services: Services, run: StartedRun, after_seq: int) -> None:
        self.run = run
        self.ended: Ended | None = None
        self._services = services
        self._after = after_seq
        self._text = AnswerText()

    async def pieces(self) -> AsyncIterator[str]:
        """Yield the text as it comes, until the run has ended.

        Raises `Unavailable` when the daemon stops, `NotFound` when somebody deletes the session."""
        self.ended = await self._ending()
        if self.ended is not None:
            if self.ended.text:
                yield self.ended.text
            return
        while not self._has_ended():
            try:
                subscription = await self._services.events.subscribe(self.run.session_id, self._after)
                try:
                    async for batch in subscription.batches():
                        for seq, _, text in batch:
                            self._after = max(self._after, seq)
                            piece = await self._read(text)
                            if piece:
                                yield piece
                            if self._has_ended():
                                return
                finally:
                    subscription.close()
            except TooSlow:
                continue  # the client lags: what it has missed is in the snapshots and in the storage
            except SessionDeleted:
                raise NotFound("The session was deleted.", reason="session_not_found") from None
            except HubClosed:
                raise Unavailable("The daemon stops. The session keeps the run.", reason="stopping") from None

    def _has_ended(self) -> bool:
        return self.ended is not None

    async def _read(self, text: str) -> str:
        """Return what one frame adds to the text; note the end of the run."""
        frame = _parsed(text)
        kind, payload = frame["type"], frame["payload"]
        if kind == "resync":
            self.ended = await self._ending()
        if frame.get("run_id") != self.run.run_id or "agent_path" in frame:
            return ""
        match kind:
            case "message.start":
                self._text.begin(payload["messageId"])
            case "message.delta" if payload["kind"] == "text" and self._is_at_work(payload):
                return self._text.add(payload["attempt"], payload["delta"])
            case "message.snapshot" if self._is_at_work(payload):
                return self._text.whole(payload["attempt"], payload["text"])
            case "message.end":
                return await self._end_of_message(payload)
            case "run.ended" if payload["run_id"] == self.run.run_id:
                self.ended = await self._ending() or Ended("", usage_of(Usage()), error=_not_stored())
        return ""

    def _is_at_work(self, payload: dict[str, Any]) -> bool:
        return bool(self._text.message_id == payload["messageId"])

    async def _end_of_message(self, payload: dict[str, Any]) -> str:
        """Return what the client has missed of a message that has ended."""
        message_id = payload["messageId"]
        if self._text.message_id != message_id:
            return ""
        missed = ""
        if payload["stopReason"] not in _UNANSWERED:
            found = await self._services.storage.read(lambda uow: uow.messages.get(message_id))
            missed = self._text.rest(found.content) if found is not None else ""
        self._text.end()
        return missed

    async def _ending(self) -> Ended | None:
        """Return how the run has ended by what is stored; None while it is under way."""
        return await self._services.storage.read(self._stored)

    def _stored(self, uow: UnitOfWork) -> Ended | None:
        run = uow.runs.get(self.run.run_id)
        if run is None:
            raise NotFound("The session was deleted.", reason="session_not_found")
        if run.state in _UNDER_WAY:
            return None
        rows = uow.messages.of_runs(self.run.session_id, [run.id])
        texts = [
            row.content
            for row in rows
            if row.role == "primary"
            and row.agent_path == ROOT_AGENT
            and row.content
            and not (row.superseded and row.superseded_by is None)
            and row.details.get("stopReason") not in _UNANSWERED
        ]
        totals = uow.runs.totals([run.id])[run.id]
        return ended_run(run, BETWEEN.join(texts), usage_of(totals.usage))


def ended_run(run: Run, text: str, usage: CompletionUsage) -> Ended:
    """Return what the end of a run means to a client of the protocol."""
    reason = run.reason or run.state
    if run.state == RunState.SUCCEEDED.value or reason.startswith("budget_"):
        length = reason in _LENGTH or reason.startswith("budget_")
        return Ended(text, usage, "length" if length else "stop")
    if reason == "content_refused":
        return Ended(text, usage, "content_filter")
    return Ended(text, usage, error=_error_of(run, reason))


def _not_stored() -> KagedError:
    return Unavailable("The end of the run could not be stored.", reason="not_stored")


def _error_of(run: Run, reason: str) -> KagedError:
    more = {"session_id": run.session_id, "run_id": run.id}
    if run.state == RunState.FAILED.value:
        found = run.error or {}
        message = str(found.get("message") or "The run failed.")
        failed = ProviderFailed if "provider" in found else InternalError
        return failed(message, reason=reason, details=more)
    if run.state == RunState.CANCELLED.value:
        return Conflict("The run was cancelled.", reason="run_cancelled", details=more)
    return Conflict(
        f"The run was interrupted ({reason}). The session {run.session_id} has what it did until then.",
        reason="run_interrupted",
        details=more,
    )


def usage_of(usage: Usage) -> CompletionUsage:
    """Return token counts as the protocol has them: its prompt tokens include those of the cache."""
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return CompletionUsage(
        prompt_tokens=prompt,
        completion_tokens=usage.output_tokens,
        total_tokens=prompt + usage.output_tokens,
        prompt_tokens_details=PromptDetails(cached_tokens=usage.cache_read_tokens),
        completion_tokens_details=CompletionDetails(reasoning_tokens=usage.reasoning_tokens),
    )


def _parsed(text: str) -> dict[str, Any]:
    try:
        return dict(orjson.loads(text))
    except orjson.JSONDecodeError:  # a lone surrogate, escaped, which this parser does not read
        return dict(json.loads(text))
