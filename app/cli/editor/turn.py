"""One turn of an editor: a prompt, or the rest of a run, followed until its run ends.

Owns: posting, following, cancelling, and when a turn ends. Never: how frames look (`frame_view`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

from app.cli.client import ReceivedFrame
from app.cli.daemon_address import path_part
from app.cli.editor.blocks import PromptMessage
from app.cli.editor.outcome import TurnEnd, end_of
from app.cli.editor.permission import Permissions, Request
from app.cli.editor.questions import OpenQuestion, oldest
from app.cli.output import CommandFailed

CANCEL_SECONDS = 10.0
"""How long a turn waits for the end of a run that it has cancelled."""
_INTERACTION, _COMPACTION = "interaction", "compaction_pending"
_CANCELLED = TurnEnd("cancelled")


@dataclass(slots=True)
class Turn:
    """One turn. `frames` opens the stream; `pending` lists the open questions, newest first; `answer` sends
    the answer to one; `on_seq` learns of the last frame that was shown; `question` is the one that the last
    turn ended with."""

    path: str
    message: PromptMessage | None
    request: Request
    frames: Callable[[], AsyncGenerator[ReceivedFrame, None]]
    pending: Callable[[], Awaitable[list[dict[str, Any]]]]
    permissions: Permissions
    answer: Callable[[str, Mapping[str, Any]], Awaitable[Any]]
    on_seq: Callable[[int], None]
    question: OpenQuestion | None = None
    run_id: str | None = None
    _message_id: str | None = None
    _begun: bool = False
    _waiting: bool = False
    _asks: bool = False
    _gave_up: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def cancelled(self) -> bool:
        """Whether the editor has cancelled the turn."""
        return self.permissions.cancelled

    async def run(self) -> TurnEnd:
        """Follow the turn to its end. Raises `CommandFailed`, and RequestError for a run that failed."""
        following = asyncio.ensure_future(self._follow())
        giving_up = asyncio.ensure_future(self._gave_up.wait())
        try:
            await asyncio.wait({following, giving_up}, return_when=asyncio.FIRST_COMPLETED)
            # A cancelled turn has no other end in the protocol, also where following it has failed.
            return following.result() if following.done() and not self.cancelled else _CANCELLED
        finally:
            for task in (following, giving_up):
                task.cancel()
            await asyncio.gather(following, giving_up, return_exceptions=True)
            await self.permissions.aclose()

    async def cancel(self) -> None:
        """Cancel the run, or take the message back when it still waits. Never raises."""
        if self.cancelled:
            return
        self.permissions.cancelled = True
        asyncio.get_running_loop().call_later(CANCEL_SECONDS, self._gave_up.set)
        if self._begun:
            with suppress(CommandFailed):
                await self._cancel()

    async def _cancel(self) -> None:
        if self._message_id is not None and self.run_id is None:
            try:
                await self.request("DELETE", f"{self.path}/messages/{path_part(self._message_id)}", None)
                self._gave_up.set()
                return
            except CommandFailed as failure:
                if failure.code != "conflict":
                    raise
        await self.request("POST", f"{self.path}/cancel", None)

    async def _follow(self) -> TurnEnd:
        async with aclosing(self.frames()) as frames:
            async for frame in frames:
                if not self._begun:
                    ended = await self._begin()
                    if ended is not None:
                        return ended
                await self.permissions.view.show(frame)
                await self.permissions.take(frame)
                ended = await self._take(frame)
                self.on_seq(frame.seq if frame.type not in ("sync", "resync", "heartbeat") else 0)
                if ended is not None:
                    return ended
        return TurnEnd("end_turn")

    async def _begin(self) -> TurnEnd | None:
        """Post the prompt, or answer the open question with it. Returns the end of a turn that only asks
        again."""
        pending = await self.pending()
        await self.permissions.catch_up(pending)
        shown, self.question = self.question, oldest(pending, self.question)
        if self.message is not None and self.question is None:
            await self._post(self.message)
        elif self.message is not None and self.question is not None:
            ended = await self._answer_question(self.question, self.message, known=shown is self.question)
            if ended is not None:
                return ended
        elif self.question is not None:
            return TurnEnd("end_turn", self.question.opening())
        else:
            await self._join()
        self._begun = True
        if self.cancelled:
            await self._cancel()
        return None

    async def _post(self, message: PromptMessage) -> None:
        body = {"content": message.text, "attachments": message.attachments}
        try:
            posted = await self.request("POST", f"{self.path}/messages", body)
        except CommandFailed as failure:
            if failure.code != "conflict" or not await self._is_left_paused():
                raise
            await self.request("POST", f"{self.path}/cancel", None)
            posted = await self.request("POST", f"{self.path}/messages", body)
        self._message_id = posted["message"]["id"]
        self.permissions.view.own.add(posted["message"]["id"])
        self.run_id = posted["run"]["id"] if posted["run"] is not None else None

    async def _is_left_paused(self) -> bool:
        """Tell whether the session waits for nothing but somebody who continues it; a prompt does."""
        session = await self.request("GET", self.path, None)
        return bool(session["state"] == "paused" and session["state_reason"] != _COMPACTION)

    async def _answer_question(
        self, question: OpenQuestion, message: PromptMessage, *, known: bool
    ) -> TurnEnd | None:
        if not known:  # it was asked while nobody looked
            return TurnEnd("end_turn", question.opening())
        body, text = question.take(message.typed)
        if body is None:
            return TurnEnd("end_turn", text)
        await self._join()
        try:
            await self.answer(question.interaction_id, body)
        except CommandFailed as failure:
            if failure.code != "validation_failed":
                raise
            fields = "; ".join(f"{name}: {why}" for name, why in failure.details.get("fields", {}).items())
            return TurnEnd("end_turn", question.refused(f"{failure.message} {fields}".strip()))
        self.question = None
        return None

    async def _join(self) -> None:
        """Follow the run that is there, or the next one."""
        self.run_id = (await self.request("GET", self.path, None))["active_run"]
        self._waiting = self.run_id is None

    async def _take(self, frame: ReceivedFrame) -> TurnEnd | None:
        """Return how the turn ends with a frame; None while it goes on."""
        payload = frame.payload
        if frame.type == "interaction.requested":
            self._asks = True
        elif frame.type == "interaction.answered" and self._asks:
            await self._look()
        if frame.type == "session.state" and self._asks and payload["state"] == "paused":
            return await self._question()
        if frame.of_subagent:
            return None
        if frame.type == "message.removed" and payload["message_id"] == self._message_id:
            return TurnEnd(
                "cancelled", "" if self.cancelled else "The message was removed before it was run."
            )
        if frame.type == "run.started":
            own = self._message_id is not None and payload.get("trigger_message_id") == self._message_id
            if self._waiting or own:
                self.run_id, self._waiting = payload["run_id"], False
        if frame.type != "run.ended" or payload["run_id"] != self.run_id:
            return None
        if payload["reason"] == _INTERACTION and not self.cancelled:
            self.run_id, self._waiting = None, True  # the answer starts a run that continues the work
            return None
        return end_of(payload, self.path.rpartition("/")[2])

    async def _look(self) -> None:
        """Somebody has answered elsewhere: look whether anything is still open."""
        pending = await self.pending()
        self._asks = oldest(pending, None) is not None

    async def _question(self) -> TurnEnd | None:
        """End the turn with the open question: the next prompt answers it."""
        pending = await self.pending()
        self.question = oldest(pending, None)
        self._asks = self.question is not None
        return None if self.question is None else TurnEnd("end_turn", self.question.opening())
