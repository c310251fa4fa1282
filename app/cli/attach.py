"""`kaged attach`: follow a session that is going on, from its history to what happens now.

Owns: the order of history and live frames. Never: changing the session.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import click

from app.cli.client import DaemonClient, ReceivedFrame
from app.cli.connected import Connected, connected
from app.cli.conversation import LAST, find_session, session_path, show_missed
from app.cli.questions import ANSWERED, Questions
from app.cli.stream_view import StreamView
from app.cli.streams import write_data


@click.command(name="attach")
@click.argument("session", default=LAST)
@click.option(
    "--after-seq", type=click.IntRange(min=0), help="Start after this event (default: show the history)."
)
@click.option("--until-idle", is_flag=True, help="Exit when no run is active and no question is open.")
@click.option(
    "--project", type=click.Path(path_type=Path), help="With `last`: the newest session of this project."
)
@connected
def command(daemon: Connected, session: str, after_seq: int | None, until_idle: bool) -> int:
    """Follow SESSION (an id, or `last`). Ctrl-C leaves; the session continues.

    With --json every frame is a line, from --after-seq or from the first one.
    """

    async def run(client: DaemonClient) -> None:
        detail = await find_session(client, session, daemon.project)
        following = asyncio.ensure_future(_follow(client, detail, after_seq, until_idle, daemon.as_json))
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, following.cancel)
        with suppress(asyncio.CancelledError):
            await following

    daemon.run(run)
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


async def _show_live(  # noqa: C901
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
            view.show(frame)
            if frame.of_subagent:
                pass  # the view has shown what is to be seen of it
            elif frame.type == "message.end":
                await show_missed(client, view, session_id, frame.payload["messageId"])
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
            if now["state"] not in ("running", "queued") and frame.seq >= through_seq:
                return


async def _show_history(client: DaemonClient, view: StreamView, session_id: str) -> None:
    async for message in client.items(f"{session_path(session_id)}/messages"):
        if message["complete"] and message["position"] is not None:
            view.past(message)
    view.finish()
