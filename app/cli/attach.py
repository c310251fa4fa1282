"""`kaged attach`: follow a session, from its history to its live frames.

Owns: the order of history and live frames. Never: changing the session.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

import click

from app.cli.client import DaemonClient, ReceivedFrame
from app.cli.connected import Connected, connected, project_option
from app.cli.conversation import LAST, draw, find_session, session_path
from app.cli.questions import ANSWERED, Questions
from app.cli.stream_view import StreamView
from app.cli.streams import write_data


@click.command(name="attach")
@click.argument("session", default=LAST)
@click.option(
    "--after-seq", type=click.IntRange(min=0), help="Start after this event (default: show the history)."
)
@click.option("--until-idle", is_flag=True, help="Exit when no run is active and no question is open.")
@project_option("With `last`: the newest session of this project.")
@connected
async def command(daemon: Connected, session: str, after_seq: int | None, until_idle: bool) -> int:
    """Follow SESSION (an id, or `last`). Ctrl-C leaves; the session continues.

    With --json every frame is a line, from --after-seq or from the first one.
    """
    detail = await find_session(daemon.client, session, daemon.project)
    following = asyncio.ensure_future(_follow(daemon.client, detail, after_seq, until_idle, daemon.as_json))
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, following.cancel)
    with suppress(asyncio.CancelledError):
        await following
    return 0


async def _follow(
    client: DaemonClient, detail: dict[str, Any], after_seq: int | None, until_idle: bool, as_json: bool
) -> None:
    view = StreamView()
    session_id = detail["id"]
    start = after_seq if after_seq is not None else (0 if as_json else detail["last_seq"])
    if not as_json:
        view.note(f"session {session_id} {detail['title']} · {detail['state']}", dim=True)
        if after_seq is None:
            await _show_history(client, view, session_id)
    frames = client.frames(session_id, after_seq=start)
    questions = Questions(client, view, session_id, silent=as_json)
    try:
        if after_seq is None:
            await questions.catch_up()
        async with aclosing(frames):
            await _show_live(client, view, session_id, frames, questions, as_json, until_idle)
    finally:
        questions.close()
        view.finish()


async def _show_live(
    client: DaemonClient,
    view: StreamView,
    session_id: str,
    frames: AsyncIterator[ReceivedFrame],
    questions: Questions,
    as_json: bool,
    until_idle: bool,
) -> None:
    through_seq: int | None = None
    answered = False
    async for frame in frames:
        if as_json:
            write_data(frame.text + "\n")
        else:
            await draw(client, view, session_id, frame)
            if frame.of_subagent:
                pass
            elif frame.type == "message.posted" and frame.payload["message_id"] not in view.hidden_messages:
                view.operator(frame.payload["content"])
            elif frame.type == "run.ended":
                view.summary(frame.payload)
        await questions.take(frame)
        if frame.type in ANSWERED and frame.payload.get("state") == "answered":
            answered = True  # a run is about to go on with it
        elif frame.type in ("run.started", "run.ended") and not frame.of_subagent:
            answered = False
        if frame.type == "sync":
            through_seq = frame.payload["through_seq"]
        if answered or questions.asks:
            continue
        if until_idle and through_seq is not None and frame.seq >= through_seq:
            now = await client.request("GET", session_path(session_id))
            through_seq = max(through_seq, now["last_seq"])  # what has happened meanwhile is shown first
            if not _goes_on(now) and frame.seq >= through_seq:
                return


def _goes_on(session: dict[str, Any]) -> bool:
    """Tell whether a run is under way, or about to go on: one that has waited for people shows `paused` until
    it has taken its answer. One that an operator has paused does not go on by itself."""
    answered = session["state_reason"] == "interaction" and not session["pending_interactions"]
    return session["state"] in ("running", "queued") or (session["active_run"] is not None and answered)


async def _show_history(client: DaemonClient, view: StreamView, session_id: str) -> None:
    async for message in client.items(f"{session_path(session_id)}/messages"):
        if message["complete"] and message["position"] is not None:
            view.show_stored(message)
    view.finish()
