"""The last output of a program that is over, where its adapter may tell of the end first.

Owns: a mark that the adapter writes behind what the program has written, and waiting for it. Never: what
came before the mark.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from typing import Any

from app.bridges.dap.links import Link
from app.bridges.dap.peer import AdapterRefusal
from app.bridges.rpc.message_stream import PeerClosed

SECONDS = 2.0
"""How long it is waited for at most."""


class LastOutput:
    """`command` has the adapter's console write `{mark}` and the end of a line where the program writes;
    empty: its output needs no mark."""

    def __init__(self, command: str) -> None:
        self._mark = f"kaged-end-{secrets.token_hex(8)}"
        self._command = command.replace("{mark}", self._mark)
        self._came = asyncio.Event()
        if not command:
            self._came.set()

    def before_mark(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return an `output` event without the mark, if it has it."""
        text = body.get("output")
        if self._came.is_set() or not isinstance(text, str) or self._mark not in text:
            return body
        self._came.set()
        return {**body, "output": text.partition(self._mark)[0]}

    async def ask(self, link: Link) -> None:
        """Have the mark written, and wait for it."""
        arguments = {"expression": self._command, "context": "repl"}
        try:
            if not self._came.is_set():
                with suppress(TimeoutError, AdapterRefusal, PeerClosed):
                    await link.ask("evaluate", arguments, SECONDS)
                    await self.wait()
        finally:
            self._came.set()

    async def wait(self) -> None:
        """Wait until it has come, or does not come."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SECONDS):
                await self._came.wait()
