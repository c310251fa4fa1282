"""Open questions at a terminal, answered while frames arrive. Without a terminal it says where to answer.

Owns: showing questions, and reading answers line by line. Never: what a line means (`dialogs`).
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any

from app.cli.client import DaemonClient, ReceivedFrame
from app.cli.conversation import session_path
from app.cli.daemon_address import path_part
from app.cli.dialogs import Dialog, Line, LocalFile, NotUnderstood, dialog_of
from app.cli.file_upload import upload_to
from app.cli.output import CommandFailed
from app.cli.stream_view import StreamView


def interaction_path(session_id: str, interaction_id: str) -> str:
    """Return the address of an interaction below `/api/v1`."""
    return f"{session_path(session_id)}/interactions/{path_part(interaction_id)}"


async def send_answer(client: DaemonClient, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Upload the files of an answer, then send it; return the closed interaction."""
    sent = dict(body)
    if isinstance(sent.get("values"), Mapping):
        values = dict(sent["values"])
        for name, value in values.items():
            if isinstance(value, LocalFile):
                values[name] = (await upload_to(client, f"{path}/files", value.path))["id"]
        sent["values"] = values
    closed: dict[str, Any] = await client.request("POST", f"{path}/answer", body=sent)
    return closed


ASKED = ("permission.requested", "interaction.requested")
ANSWERED = ("permission.answered", "interaction.answered")
"""The frames that open and close a question."""


class Questions:
    """The open questions of one session; the oldest is answered first. Close it when done."""

    def __init__(self, client: DaemonClient, view: StreamView, session_id: str, *, silent: bool) -> None:
        self._client = client
        self._view = view
        self._session_id = session_id
        self._silent = silent
        self._reads = not silent and view.interactive and sys.stdin.isatty()
        self._open: dict[str, Dialog] = {}
        self._prompted: str | None = None
        self._sending: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening = False

    @property
    def asks(self) -> bool:
        """Whether a question can be answered here."""
        return self._reads and bool(self._open)

    async def catch_up(self) -> None:
        """Ask the questions that were open before."""
        if not self._silent:
            path = f"{session_path(self._session_id)}/interactions"
            found = [one async for one in self._client.items(path, params={"state": "pending"})]
            for question in reversed(found):
                self._ask(question["id"], dialog_of(question["kind"], question["request"]))

    async def take(self, frame: ReceivedFrame) -> None:
        """Handle frames about questions; ignore others."""
        if self._silent:
            return
        match frame.type:
            case one if one in ASKED:
                await self._requested(frame.payload)
            case one if one in ANSWERED:
                self._closed(frame.payload)
            case _:
                return

    def close(self) -> None:
        """Stop reading the terminal."""
        self._listen(False)
        for task in self._tasks:
            task.cancel()

    async def _requested(self, payload: Mapping[str, Any]) -> None:
        interaction_id = payload["interaction_id"]
        if interaction_id in self._open:
            return
        kind = payload.get("kind", "permission")
        request = payload if kind == "permission" else payload.get("request")
        if payload.get("request_ref") or request is None:
            path = interaction_path(self._session_id, interaction_id)
            whole = (await self._client.request("GET", path))["request"]
            request = {**(request or {}), **whole}
        self._ask(interaction_id, dialog_of(kind, request))

    def _ask(self, interaction_id: str, dialog: Dialog) -> None:
        if interaction_id in self._open:
            return
        self._open[interaction_id] = dialog
        if not self._reads:
            self._show(dialog.opening())
            self._view.note(
                f"  answer on the page, with `kaged answer {interaction_id}`, or: "
                f"kaged attach {self._session_id}",
                color="yellow",
            )
            return
        self._turn()

    def _turn(self) -> None:
        """Ask the oldest open question, unless it was asked already."""
        current = next(iter(self._open), None)
        if current is not None and current != self._prompted and self._reads:
            self._prompted = current
            dialog = self._open[current]
            self._show([*dialog.opening(), *dialog.prompt()])
        self._listen(current is not None and self._reads)

    def _closed(self, payload: Mapping[str, Any]) -> None:
        dialog = self._open.pop(payload["interaction_id"], None)
        if dialog is not None:
            answer = payload.get("answer")
            outcome = answer if isinstance(answer, str) else payload["state"]
            self._view.note(f"  {dialog.name}: {outcome}", dim=True)
        self._turn()

    def _listen(self, listen: bool) -> None:
        loop = asyncio.get_running_loop()
        if listen and not self._listening:
            loop.add_reader(sys.stdin.fileno(), self._typed)
        elif self._listening and not listen:
            loop.remove_reader(sys.stdin.fileno())
        self._listening = listen

    def _typed(self) -> None:
        typed = os.read(sys.stdin.fileno(), 65_536).decode("utf-8", "replace")
        if not typed:  # end of input
            self._listen(False)
            return
        for line in typed.rstrip("\n").split("\n"):
            self._take_line(line)

    def _take_line(self, line: str) -> None:
        current = next(iter(self._open), None)
        if current is None or current == self._sending:
            return
        dialog = self._open[current]
        try:
            body = dialog.take(line)
        except NotUnderstood as problem:
            self._view.note(f"  {problem}", color="yellow")
            return
        if body is None:
            self._show(dialog.prompt())
            return
        self._sending = current
        task = asyncio.get_running_loop().create_task(self._answer(current, dialog, body))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, interaction_id: str, dialog: Dialog, body: Mapping[str, Any]) -> None:
        try:
            await send_answer(self._client, interaction_path(self._session_id, interaction_id), body)
        except CommandFailed as failure:
            self._view.note(f"  {failure.message}", color="red")
            for name, problem in failure.details.get("fields", {}).items():
                self._view.note(f"    {name}: {problem}", color="red")
            if interaction_id in self._open:
                dialog.restart()
                self._show(dialog.prompt())
        finally:
            self._sending = None

    def _show(self, lines: list[Line]) -> None:
        for line in lines:
            self._view.note(line.text, dim=line.dim, color="yellow" if line.asks else None)
