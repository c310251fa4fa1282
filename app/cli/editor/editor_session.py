"""One session that an editor has open.

Owns: what an editor was sent of it, and its one turn at a time. Never: the protocol's methods (`agent`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp import RequestError
from acp.interfaces import Client
from acp.schema import Cost, UsageUpdate

from app.cli.conversation import session_path
from app.cli.daemon_address import path_part
from app.cli.editor.blocks import PromptMessage
from app.cli.editor.daemon_link import DaemonLink
from app.cli.editor.failures import refused
from app.cli.editor.frame_view import FrameView
from app.cli.editor.history import replay
from app.cli.editor.options import SessionOptions
from app.cli.editor.outcome import TurnEnd
from app.cli.editor.permission import Permissions
from app.cli.editor.questions import OpenQuestion
from app.cli.editor.stdio import StdioTransport
from app.cli.editor.turn import Turn
from app.cli.output import CommandFailed
from app.cli.questions import send_answer


@dataclass(slots=True)
class EditorSession:
    """A session that an editor has open. The first answer begins with `notice`."""

    id: str
    root: Path
    project_id: str
    last_seq: int
    link: DaemonLink
    editor: Client
    transport: StdioTransport
    options: SessionOptions
    notice: str = ""
    question: OpenQuestion | None = None
    view: FrameView = field(init=False)
    _turn: Turn | None = None
    _watch: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.view = FrameView(self.root, f"{self.path}/messages", self.send, self._read, self.options.changed)

    @property
    def path(self) -> str:
        return session_path(self.id)

    async def send(self, update: Any) -> None:
        """Send an update of this session to the editor."""
        await self.editor.session_update(session_id=self.id, update=update)

    def check_free(self) -> None:
        """Raise RequestError while a prompt runs."""
        if self._turn is not None and self._watch is None:
            raise refused("conflict", "A prompt is running in this session; cancel it, or wait for its end.")

    async def prompt(self, message: PromptMessage) -> TurnEnd:
        """Run one turn. Raises `CommandFailed` and RequestError."""
        self.check_free()
        await self._stop_watching()
        if self.notice:
            await self.view.text(f"{self.notice}\n\n")
            self.notice = ""
        ended = await self._run(message)
        with suppress(CommandFailed):
            await self._usage()
        return ended

    async def cancel(self) -> None:
        """Cancel the turn; nothing happens without one."""
        if self._turn is not None:
            await self._turn.cancel()

    async def replay(self) -> None:
        """Send the stored messages, and the checklist of the session's issue."""
        client = await self.link.client()
        messages = client.items(f"{self.path}/messages", params={"agent_path": "primary"})
        await replay(messages, self.view)

    async def show_plan(self, issue_number: int | None) -> None:
        """Send the checklist of the session's issue, if it has one."""
        if issue_number is not None:
            await self.view.checklist(f"/projects/{path_part(self.project_id)}/issues/{issue_number}/todos")

    def watch(self) -> None:
        """Follow a run that is under way, until it ends or a prompt comes."""
        self._watch = asyncio.get_running_loop().create_task(self._follow())

    async def aclose(self) -> None:
        """Stop following; the session continues in the daemon."""
        await self._stop_watching()

    async def _run(self, message: PromptMessage | None) -> TurnEnd:
        turn = self._turn = Turn(
            path=self.path,
            message=message,
            request=self.link.request,
            frames=lambda: self.link.frames(self.id, self.last_seq),
            pending=self._pending,
            permissions=Permissions(
                self.id,
                self.path,
                self.editor,
                self.link.request,
                self.transport.withdraw_permission,
                self.view,
            ),
            answer=self._answer,
            on_seq=self._seen,
            question=self.question,
        )
        try:
            ended = await turn.run()
            if ended.note:
                await self.view.text(f"\n\n{ended.note}")
            return ended
        finally:
            self.question = turn.question
            self._turn = None

    async def _follow(self) -> None:
        try:
            await self._run(None)
        except CommandFailed as failure:
            await self.view.text(f"\n\n{failure.message}")
        except RequestError as problem:  # the run failed
            await self.view.text(f"\n\n{problem}")
        except ConnectionError:
            pass  # the editor has gone
        finally:
            self._watch = None

    async def _stop_watching(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    async def _usage(self) -> None:
        """Send how full the context is, and what the session has cost."""
        detail = await self.link.request("GET", self.path)
        for one in detail["context"]:
            if one["agent_path"] == "primary":
                total = detail["cost_usd"]["total"]
                cost = None if total is None else Cost(amount=total, currency="USD")
                await self.send(
                    UsageUpdate(
                        session_update="usage_update", used=one["tokens"], size=one["window"], cost=cost
                    )
                )

    async def _pending(self) -> list[dict[str, Any]]:
        client = await self.link.client()
        found = client.items(f"{self.path}/interactions", params={"state": "pending"})
        return [one async for one in found]

    async def _answer(self, interaction_id: str, body: Mapping[str, Any]) -> Any:
        path = f"{self.path}/interactions/{path_part(interaction_id)}"
        return await send_answer(await self.link.client(), path, body)

    async def _read(self, path: str) -> Any:
        try:
            return await self.link.request("GET", path)
        except CommandFailed as failure:
            if failure.code == "not_found":
                return None
            raise

    def _seen(self, seq: int) -> None:
        self.last_seq = max(self.last_seq, seq)
