"""Following a workflow run, from its place in the queue to its end.

Owns: which frames end it, and how its result looks. Never: starting it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextlib import aclosing, suppress
from typing import Any

import click

from app.cli.client import DaemonClient
from app.cli.conversation import Interrupts, draw
from app.cli.daemon_address import path_part
from app.cli.output import CommandFailed, print_text, printable
from app.cli.questions import ASKED, Questions
from app.cli.stream_view import StreamView
from app.cli.streams import write_data

ENDED = ("succeeded", "failed", "cancelled")
_LOOK_SECONDS = 0.5


def run_path(run_id: str) -> str:
    """Return the address of a workflow run below `/api/v1`."""
    return f"/workflow-runs/{path_part(run_id)}"


class FollowedRun:
    """One run. `silent` shows nothing; with `cancels` the first Ctrl-C cancels it, else it leaves. Without
    `asks` its first question cancels it."""

    def __init__(
        self,
        client: DaemonClient,
        run: Mapping[str, Any],
        *,
        silent: bool,
        cancels: bool,
        asks: bool = True,
    ) -> None:
        self._client = client
        self._run = dict(run)
        self._silent = silent
        self._cancels = cancels
        self._asks = asks
        self._view = StreamView(text_aside=True)
        self.said = False
        """Whether a terminal has shown the answer of the agent."""

    async def follow(self) -> dict[str, Any]:
        """Show the run until it ends; return it. Raises CommandFailed `detached` when the user leaves
        before."""
        following = asyncio.ensure_future(self._follow())

        async def cancel() -> None:
            if self._cancels:
                await self._cancel()
            else:
                following.cancel()

        with Interrupts(cancel, following.cancel, self._note) as interrupts:
            try:
                await following
            except asyncio.CancelledError:
                if not interrupts.count:
                    raise
                raise CommandFailed(
                    "detached", f"the run continues; follow it with: kaged runs follow {self._run['id']}"
                ) from None
            finally:
                self._view.finish()
        return await self._look()

    async def _follow(self) -> None:
        run = await self._begun()
        if run["session_id"] is None or run["state"] in ENDED:
            return
        session_id = run["session_id"]
        self.said = not self._silent and self._view.interactive
        self._note(f"session {session_id}")
        questions = Questions(self._client, self._view, session_id, silent=self._silent)
        try:
            async with aclosing(self._client.frames(session_id, after_seq=0)) as frames:
                async for frame in frames:
                    if frame.type in ASKED and not self._asks:
                        await self._refuse(frame.payload)
                    elif not self._silent:
                        await draw(self._client, self._view, session_id, frame)
                        await questions.take(frame)
                    elif frame.type in ASKED:
                        waits = frame.payload["interaction_id"]
                        click.echo(f"waits for an answer: kaged answer {waits}", err=True)
                    if frame.type == "workflow.ended" and frame.payload["workflow_run_id"] == run["id"]:
                        return
        finally:
            questions.close()

    async def _begun(self) -> dict[str, Any]:
        """Wait until the run has a session or has ended."""
        run = self._run
        if run["session_id"] is None and run["state"] not in ENDED:
            self._note(f"… {run['workflow']} is queued")
        while run["session_id"] is None and run["state"] not in ENDED:
            await asyncio.sleep(_LOOK_SECONDS)
            run = await self._look()
        return run

    async def _look(self) -> dict[str, Any]:
        run: dict[str, Any] = await self._client.request("GET", run_path(self._run["id"]))
        return run

    def _note(self, text: str) -> None:
        if not self._silent:
            self._view.note(text, dim=True)

    async def _refuse(self, asked: Mapping[str, Any]) -> None:
        """Say what was asked, and cancel the run, which may have ended meanwhile."""
        if asked.get("kind", "permission") == "permission":
            subjects = "; ".join(str(one) for one in asked.get("subjects", ()))
            what = f"{asked.get('tool')} {subjects}".strip()
        else:
            what = str((asked.get("request") or {}).get("summary") or asked["kind"])
        click.echo(printable(f"the run asks, and nobody answers: {what}").replace("\n", " "), err=True)
        with suppress(CommandFailed):
            await self._client.request("POST", f"{run_path(self._run['id'])}/cancel")

    async def _cancel(self) -> None:
        self._note("cancelling the run; Ctrl-C again leaves it running")
        await self._client.request("POST", f"{run_path(self._run['id'])}/cancel")


def print_result(run: Mapping[str, Any], *, said: bool) -> None:
    """Print an ended run: its output to standard output, unless `said` before, then its summary line."""
    terminal = sys.stdout.isatty()
    if run["state"] == "succeeded" and run["output"] and not said:
        output = run["output"].rstrip("\n") + "\n"
        write_data(printable(output) if terminal else output)
    if run["error"]:
        click.secho(printable(f"✗ {run['error']['message']}"), fg="red", err=True)
    click.secho(printable(run_line(run)), dim=True, err=not terminal)


def run_line(run: Mapping[str, Any]) -> str:
    """Return the summary line of a run."""
    parts = [f"{run['workflow']} {run['state']}", run["id"]]
    if run["duration_ms"] is not None:
        parts.append(f"{run['duration_ms'] / 1000:.1f} s")
    if run["cost_usd"] is not None:
        parts.append(f"${run['cost_usd']:.4f}")
    return " · ".join(parts)


def print_run(run: Mapping[str, Any]) -> None:
    print_text(run_line(run), bold=True)
    print_text(
        f"started by {run['invoked_by']['id']} ({run['cause']}), {run['created_at'][:16].replace('T', ' ')}",
        dim=True,
    )
    if run["issue_number"] is not None:
        print_text(f"issue #{run['issue_number']}")
    if run["session_id"] is not None:
        print_text(f"session {run['session_id']}")
    for name, value in run["inputs"].items():
        print_text(f"{name} = {value}")
    if run["error"]:
        print_text(f"{run['error']['code']}: {run['error']['message']}", color="red")
    if run["output"]:
        print_text("")
        print_text(run["output"].rstrip())
