"""The last output of a program that is over, where its adapter may tell of the end first.

Owns: a mark that the adapter writes behind what the program has written, and waiting for it; waiting for the
threads of an adapter that read what the program writes. Never: what came before.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from typing import Any

from app.bridges.dap.adapter_behaviour import OutputDialect
from app.bridges.dap.links import Link
from app.bridges.dap.peer import AdapterRefusal
from app.bridges.processes import proc
from app.bridges.rpc.message_stream import PeerClosed

SECONDS = 2.0
"""How long it is waited for at most."""
LOOK_SECONDS = 0.01


class LastOutput:
    """By `mark` the adapter's console writes `{mark}` and the end of a line where the program writes."""

    def __init__(self, dialect: OutputDialect) -> None:
        self._mark = f"kaged-end-{secrets.token_hex(8)}"
        self._command = dialect.mark.replace("{mark}", self._mark)
        self._read_by_threads = dialect.read_by_threads
        self._came = asyncio.Event()
        if not dialect.mark and not dialect.read_by_threads:
            self._came.set()

    def before_mark(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return an `output` event without the mark, if it has it."""
        text = body.get("output")
        if self._came.is_set() or not isinstance(text, str) or self._mark not in text:
            return body
        self._came.set()
        return {**body, "output": text.partition(self._mark)[0]}

    async def ask(self, link: Link) -> None:
        """Have the mark written, and wait for it, or for the threads."""
        try:
            if not self._came.is_set():
                with suppress(TimeoutError, AdapterRefusal, PeerClosed):
                    await (self._all_read(link) if self._read_by_threads else self._marked(link))
        finally:
            self._came.set()

    async def wait(self) -> None:
        """Wait until it has come, or does not come."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SECONDS):
                await self._came.wait()

    async def _marked(self, link: Link) -> None:
        await link.ask("evaluate", {"expression": self._command, "context": "repl"}, SECONDS)
        await self.wait()

    async def _all_read(self, link: Link) -> None:
        """What a thread has read it has passed on before it ends; an answer comes behind all that."""
        process = link.connection.process if link.connection is not None else None
        pid = process.child.pid if process is not None else None
        reading = True
        async with asyncio.timeout(SECONDS):
            while reading and not link.closed:
                await asyncio.sleep(LOOK_SECONDS)
                reading = pid is not None and (proc.threads(pid) or 1) > 1
            await link.ask("threads", {}, SECONDS)
