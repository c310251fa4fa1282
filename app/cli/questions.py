"""Questions to the human at a terminal: a call that needs consent, answered by a letter.

Owns: how a question looks, and reading the answer while frames go on coming. Without a terminal it
only says where to answer. Never: the connection, or when a question is asked.
"""

from __future__ import annotations

import asyncio
import os
import sys
import unicodedata
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from app.cli.client import DaemonClient, ReceivedFrame
from app.cli.conversation import session_path
from app.cli.output import CommandFailed
from app.cli.stream_view import StreamView

_ANSWERS = {"y": "once", "a": "always", "n": "reject"}
_HELP = "type y (once), a (always) or n (no; you may add why), then Enter"


class Questions:
    """The open questions of one session; the oldest is answered first. Close it when done."""

    def __init__(self, client: DaemonClient, view: StreamView, session_id: str, *, silent: bool) -> None:
        self._client = client
        self._view = view
        self._path = session_path(session_id)
        self._session_id = session_id
        self._silent = silent
        self._reads = not silent and view.interactive and sys.stdin.isatty()
        self._open: dict[str, Mapping[str, Any]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._listening = False

    async def catch_up(self) -> None:
        """Ask what was open before anybody looked."""
        if not self._silent:
            async for question in self._client.items(
                f"{self._path}/interactions", params={"state": "pending"}
            ):
                self._ask(question["id"], question["request"])

    async def take(self, frame: ReceivedFrame) -> None:
        """Show what a frame says of questions; other frames are ignored."""
        payload = frame.payload
        if self._silent:
            return
        if frame.type == "permission.requested":
            await self._requested(payload)
        elif frame.type == "permission.answered":
            self._closed(payload)

    def close(self) -> None:
        """Leave the terminal's input to whoever comes next."""
        self._listen(False)
        for task in self._answering:
            task.cancel()

    async def _requested(self, payload: Mapping[str, Any]) -> None:
        if payload.get("request_ref"):
            whole = await self._client.request("GET", self._address(payload["interaction_id"]))
            payload = {**payload, **whole["request"]}
        self._ask(payload["interaction_id"], payload)

    def _ask(self, interaction_id: str, asked: Mapping[str, Any]) -> None:
        if interaction_id in self._open:
            return
        self._open[interaction_id] = asked
        self._view.note(f"? {asked['tool']} needs your consent. {visible(asked['reason'])}", color="yellow")
        for subject in asked["subjects"]:
            for line in str(subject).split("\n"):
                self._view.note(f"    {visible(line)}")
        rules = ", ".join(f"{rule['permission']} {rule['pattern']}" for rule in asked["suggestions"])
        if not self._reads:
            self._view.note(f"  answer on the page, or with: kaged attach {self._session_id}", color="yellow")
            return
        if rules:
            self._view.note(f"  always would allow {visible(rules)}", dim=True)
        self._view.note(f"  {_HELP}", color="yellow")
        self._listen(True)

    def _closed(self, payload: Mapping[str, Any]) -> None:
        asked = self._open.pop(payload["interaction_id"], None)
        if asked is not None:
            outcome = payload.get("answer") or payload["state"]
            self._view.note(f"  {asked['tool']}: {outcome}", dim=True)
        self._listen(bool(self._open) and self._reads)

    def _listen(self, listen: bool) -> None:
        loop = asyncio.get_running_loop()
        if listen and not self._listening:
            loop.add_reader(sys.stdin.fileno(), self._typed)
        elif self._listening and not listen:
            loop.remove_reader(sys.stdin.fileno())
        self._listening = listen

    def _typed(self) -> None:
        typed = os.read(sys.stdin.fileno(), 4096).decode("utf-8", "replace")
        if not typed:  # end of input: nobody is there any more
            self._listen(False)
            return
        word, _, rest = typed.strip().partition(" ")
        answer = _ANSWERS.get(word[:1].lower()) if len(word) == 1 else None
        if answer is None:
            self._view.note(f"  {_HELP}", color="yellow")
        elif self._open:
            body = {"answer": answer}
            if answer == "reject" and rest.strip():
                body["comment"] = rest.strip()
            task = asyncio.get_running_loop().create_task(self._answer(next(iter(self._open)), body))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    async def _answer(self, interaction_id: str, body: Mapping[str, Any]) -> None:
        try:
            await self._client.request("POST", f"{self._address(interaction_id)}/answer", body=body)
        except CommandFailed as failure:
            self._view.note(f"  {failure.message}", color="red")

    def _address(self, interaction_id: str) -> str:
        return f"{self._path}/interactions/{quote(interaction_id, safe='')}"


def visible(text: str) -> str:
    """Return the text with what cannot be seen, or would turn its order round, written out: nobody
    should allow what they could not read."""
    return "".join(
        f"\\u{{{ord(one):x}}}" if unicodedata.category(one)[0] == "C" or one in "\u2028\u2029" else one
        for one in text
    )
