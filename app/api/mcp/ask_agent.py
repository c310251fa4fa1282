"""`ask_agent`: a message to an agent, followed until its run ends.

Owns: what a client hears of a run: progress, questions, the answer. Never: the run (`harness.sessions`).
"""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from mcp_types import CallToolResult

from app.api.mcp.calls import Asker
from app.api.mcp.results import data_result, failure
from app.api.mcp.target import OwnSession, Target
from app.errors import KagedError, ToolError, ValidationFailed
from app.harness.questions.consent_rows import GivenAnswer, request_of
from app.harness.sessions import remote_client
from app.harness.stream.frames import HubClosed, SessionDeleted, TooSlow
from app.harness.stream.subscription import Source
from app.ids import ROOT_AGENT
from app.tools.contract.rules import ConsentAnswer

_ASKED = frozenset({"permission.requested", "interaction.requested"})
_ANSWERED = frozenset({"permission.answered", "interaction.answered"})


def checked_prompt(prompt: object) -> str:
    """Return the prompt. Raises `ValidationFailed` for an empty one."""
    if not isinstance(prompt, str) or not prompt.strip():
        raise ValidationFailed("The prompt is empty.", fields={"prompt": "write what the agent is to do"})
    return prompt


async def ask_agent(target: Target, asker: Asker, session: OwnSession, prompt: str) -> CallToolResult:
    """Post the prompt and return the answer of the session's agent. Cancelled, the run is cancelled.

    Raises `Conflict` while the session works on something else."""
    services, actor, session_id = target.services, target.principal.actor, session.id
    seq = (await services.events.stream(session_id)).published_seq
    subscription = await services.events.subscribe(session_id, seq)
    try:
        posted = await services.sessions.post_message(session_id, prompt, mode="reject", actor=actor)
        following = _Followed(target, asker, session, posted.message.id)
        try:
            ended = await following.to_its_end(subscription)
        except asyncio.CancelledError:
            await _cancel(target, session_id)
            raise
        except TimeoutError:
            seconds, link = remote_client.CONSENT_SECONDS, target.link(session_id)
            return failure(
                "no_answer",
                f"The agent waits for the operator, who did not answer within {seconds:.0f} s. "
                f"Its run goes on once the operator answers at {link}. Session: {session_id}.",
            )
        except (TooSlow, HubClosed, SessionDeleted):
            return failure("lost", f"The run of {session_id} can no longer be followed from here.")
        finally:
            following.close()
    finally:
        subscription.close()
    return await _answer(target, session, ended)


class _Followed:
    """One run, from the message that starts it to its end."""

    def __init__(self, target: Target, asker: Asker, session: OwnSession, message_id: str) -> None:
        self._target = target
        self._asker = asker
        self._session = session
        self._session_id = session.id
        self._message_id = message_id
        self._run_id: str | None = None
        self._ended: dict[str, Any] | None = None
        self._open: set[str] = set()
        self._answering: set[asyncio.Task[None]] = set()
        self._limit = asyncio.timeout(None)

    async def to_its_end(self, subscription: Source) -> dict[str, Any]:
        """Return what the event of the run's end says.

        Raises TimeoutError when a question to the operator stays open."""
        async with self._limit:
            async for batch in subscription.batches():
                for _, _, text in batch:
                    self._take(orjson.loads(text))
                    if self._ended is not None:
                        return self._ended
        raise AssertionError("a subscription ends with an exception")

    def close(self) -> None:
        """Ask the client nothing more."""
        for task in self._answering:
            task.cancel()

    def _take(self, frame: dict[str, Any]) -> None:
        kind, payload = frame["type"], frame.get("payload") or {}
        agent = self._session.declared(frame.get("agent_path") or ROOT_AGENT)
        if kind == "run.started" and payload.get("trigger_message_id") == self._message_id:
            self._run_id = payload["run_id"]
        elif kind == "run.ended" and payload.get("run_id") == self._run_id is not None:
            self._ended = payload
        elif kind == "message.tool_call":
            self._asker.progress(f"{agent}: {payload.get('name')}")
        elif kind in _ASKED:
            self._asked(kind, payload["interaction_id"], agent)
        elif kind in _ANSWERED:
            self._open.discard(payload["interaction_id"])
            if not self._open:
                self._limit.reschedule(None)

    def _asked(self, kind: str, interaction_id: str, agent_path: str) -> None:
        if kind == "permission.requested" and self._target.can_consent:
            task = asyncio.create_task(self._consent(interaction_id, agent_path), name="mcp consent")
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        else:
            self._left_to_operator(interaction_id)

    def _left_to_operator(self, interaction_id: str) -> None:
        if not self._open and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time() + remote_client.CONSENT_SECONDS)
        self._open.add(interaction_id)
        self._asker.progress(f"waits for the operator's answer at {self._target.link(self._session_id)}")

    async def _consent(self, interaction_id: str, agent_path: str) -> None:
        """Ask the client's user, whose answer counts as that of the client's token."""
        interactions = self._target.services.sessions.interactions
        try:
            row = await interactions.get(self._session_id, interaction_id)
            given: ConsentAnswer | None
            try:
                given = await self._asker.consent(agent_path, request_of(row))
            except ToolError:
                given = "reject"  # the user did not answer in time
            if given is None:
                self._left_to_operator(interaction_id)
                return
            await interactions.answer(
                self._session_id, interaction_id, GivenAnswer(given), self._target.principal.actor
            )
        except KagedError:
            return  # the operator was quicker, or the run has ended


async def _cancel(target: Target, session_id: str) -> None:
    try:
        await asyncio.shield(target.services.sessions.cancel(session_id, target.principal.actor))
    except KagedError:
        return  # it has ended meanwhile


async def _answer(target: Target, session: OwnSession, ended: dict[str, Any]) -> CallToolResult:
    session_id = session.id
    row = await target.services.storage.read(lambda uow: uow.messages.last_answer(session_id, ROOT_AGENT))
    said = row.content if row is not None and row.run_id == ended["run_id"] else ""
    error = ended.get("error") or {}
    if ended["state"] != "succeeded":
        reason = error.get("message") or f"The run ended: {ended['reason']}."
        return failure("run_failed", f"{reason} Session: {session_id}, at {target.link(session_id)}.")
    data = {
        "session": session_id,
        "agent": session.root,
        "answer": said,
        "state": ended["state"],
        "steps": ended["steps"],
        "link": target.link(session_id),
    }
    return data_result(data, f"{said}\n\n[session {session_id}]")
