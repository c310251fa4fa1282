"""`kaged send`: post a message and follow the answer until its run ends.

Owns: posting, following, and Ctrl-C as cancel. Never: how frames look (`stream_view`).
"""

from __future__ import annotations

import sys
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from app.cli.client import DaemonClient, ReceivedFrame
from app.cli.connected import Connected, in_project
from app.cli.conversation import Interrupts, draw, find_session, open_session, session_path, wished_workspace
from app.cli.output import CommandFailed
from app.cli.questions import ANSWERED, Questions
from app.cli.session_mode import MODES
from app.cli.stream_view import StreamView
from app.cli.streams import write_data

_REFUSED = ("bad_request", "validation_failed", "payload_too_large")
"""Errors of a message that no session takes."""
CANNOT_RUN = "cannot_run"
"""Why a session is idle again although a message waits in it."""
WAITS_FOR_ANSWER = "interaction"
"""Why a run ends that continues with the answer to a question."""


@dataclass(frozen=True, slots=True)
class Posting:
    """A message, and the session that it is for."""

    text: str
    session: str | None
    project: Path | None
    title: str | None
    model: str | None
    mode: str | None
    issue_number: int | None
    session_mode: str | None
    workspace: str | dict[str, Any] | None = None


@click.command(name="send")
@click.argument("text")
@click.option("--session", help="A session id, or `last` (default: a new session).")
@click.option("--title", help="The title of a new session.")
@click.option("--issue", "issue_number", type=click.IntRange(min=1), help="The issue of a new session.")
@click.option("--model", help="An alias or provider:model, for this message only.")
@click.option(
    "--mode",
    type=click.Choice(["queue", "steer", "reject"]),
    help="During an active run: queue the message, steer the run, or reject the message.",
)
@click.option(
    "--session-mode",
    type=click.Choice(MODES),
    help="How much the session asks, from now on (default of a new session: ask).",
)
@click.option(
    "--workspace/--no-workspace",
    default=None,
    help="Let the new session work in its own clone of the repository, or in the project's folder "
    "(default: as the project file says).",
)
@click.option(
    "--base", help="With --workspace: what the workspace starts from, as for `kaged workspace new`."
)
@in_project
async def command(
    daemon: Connected,
    text: str,
    session: str | None,
    title: str | None,
    issue_number: int | None,
    model: str | None,
    mode: str | None,
    session_mode: str | None,
    workspace: bool | None,
    base: str | None,
) -> int:
    """Post TEXT and stream the answer; `-` reads standard input.

    Ctrl-C cancels the run; a second Ctrl-C leaves at once. With --json every frame is a line.
    """
    if text == "-":
        text = sys.stdin.read()
    if not text.strip():
        raise click.UsageError("TEXT is empty; write what the agent should do.")
    if "\0" in text:
        raise click.UsageError("TEXT contains a NUL character; remove it.")
    text.encode()  # raises before a session is created for it
    if session is not None and title is not None:
        raise click.UsageError("--title is for a new session; leave out --session or --title.")
    if session is not None and issue_number is not None:
        raise click.UsageError("--issue is for a new session; leave out --session or --issue.")
    if session is not None and (workspace is not None or base is not None):
        raise click.UsageError("--workspace is for a new session; leave out --session or --workspace.")
    if base is not None and not workspace:
        raise click.UsageError("--base is for a workspace; add --workspace.")
    place = None if workspace is None else wished_workspace(base) if workspace else "shared"
    posting = Posting(text, session, daemon.project, title, model, mode, issue_number, session_mode, place)
    return await _Answer(daemon.client, posting, StreamView(), daemon.as_json).follow()


@dataclass(slots=True)
class _Answer:
    """One message on its way: posted once the stream is open, followed until its run ends."""

    client: DaemonClient
    posting: Posting
    view: StreamView
    as_json: bool
    session_id: str = ""
    message_id: str | None = None
    run_id: str | None = None
    questions: Questions | None = None
    steering: bool = False
    waiting: bool = False

    async def follow(self) -> int:
        posting = self.posting
        if posting.session is not None:
            session = await find_session(self.client, posting.session, posting.project)
            if posting.session_mode is not None:
                path, body = session_path(session["id"]), {"mode": posting.session_mode}
                session = await self.client.request("PATCH", path, body=body)
        else:
            session = await open_session(
                self.client,
                posting.project,
                title=posting.title,
                issue_number=posting.issue_number,
                mode=posting.session_mode,
                workspace=posting.workspace,
            )
        self.session_id = session["id"]
        if posting.session is None and not self.as_json:
            self.view.note(f"session {self.session_id}", dim=True)
        self.questions = Questions(self.client, self.view, self.session_id, silent=self.as_json)
        frames = self.client.frames(self.session_id, after_seq=session["last_seq"])
        try:
            async with aclosing(frames):
                with Interrupts(self._cancel, _leave, partial(self.view.note, color="red")):
                    async for frame in frames:
                        if self.message_id is None:
                            await self._post()
                        ended = await self._take(frame)
                        if ended is not None:
                            return ended
        finally:
            self.questions.close()
            self.view.finish()
        return 1

    async def _post(self) -> None:
        body = {"content": self.posting.text, "model": self.posting.model, "mode": self.posting.mode}
        path = session_path(self.session_id)
        try:
            posted = await self.client.request(
                "POST",
                f"{path}/messages",
                body={name: value for name, value in body.items() if value is not None},
            )
        except CommandFailed as failure:
            if self.posting.session is None and failure.code in _REFUSED:
                with suppress(CommandFailed):  # the session was created for this message
                    await self.client.request("DELETE", path)
            raise
        self.message_id = posted["message"]["id"]
        self.run_id = posted["run"]["id"] if posted["run"] is not None else None
        self.steering = posted["queued"] and self.posting.mode == "steer"

    async def _take(self, frame: ReceivedFrame) -> int | None:
        """Show one frame; return the exit code when the awaited run has ended."""
        if self.as_json:
            write_data(frame.text + "\n")
        else:
            await draw(self.client, self.view, self.session_id, frame)
        if self.questions is not None:
            await self.questions.take(frame)
        if frame.of_subagent:
            return None
        if self._never_runs(frame):
            return 1
        if frame.type == "run.started":
            self._started(frame.payload)
        if self.waiting and frame.type in ANSWERED and frame.payload.get("state") != "answered":
            return await self._given_up()
        if frame.type != "run.ended":
            return None
        if frame.payload.get("run_id") != self.run_id and not self.steering:
            return None
        if frame.payload.get("reason") == WAITS_FOR_ANSWER:
            # The answer starts a run that continues the work.
            self.waiting = True
            return None
        if not self.as_json:
            self.view.summary(frame.payload)
            if isinstance(self.posting.workspace, dict):
                self._say_what_follows()
        return 0 if frame.payload.get("state") == "succeeded" else 1

    def _never_runs(self, frame: ReceivedFrame) -> bool:
        """Tell whether the message was removed, or cannot start a run."""
        payload = frame.payload
        if frame.type == "session.state":
            return payload.get("reason") == CANNOT_RUN and self.run_id is None
        removed = frame.type == "message.removed" and payload["message_id"] == self.message_id
        if removed and not self.as_json:
            self.view.note("the message was removed before it was run", dim=True)
        return removed

    def _say_what_follows(self) -> None:
        shown, merged = f"kaged diff {self.session_id}", f"kaged workspace merge {self.session_id}"
        self.view.note(f"`{shown}` shows what changed in the workspace; `{merged}` merges it", dim=True)

    def _started(self, payload: dict[str, Any]) -> None:
        if self.waiting or payload.get("trigger_message_id") == self.message_id:
            self.run_id = payload["run_id"]
            self.waiting = False

    async def _given_up(self) -> int | None:
        """After a question was closed without an answer: leave, unless the session continues."""
        state = (await self.client.request("GET", session_path(self.session_id)))["state"]
        if state in ("running", "queued", "paused"):
            return None
        if not self.as_json:
            self.view.note("the question was closed without an answer", dim=True)
        return 1

    async def _cancel(self) -> None:
        if not self.as_json:
            self.view.cancelling()
        await self.client.request("POST", f"{session_path(self.session_id)}/cancel")


def _leave() -> None:
    raise SystemExit(1)
