"""The daemon that an editor's sessions live in: the running one, or one that is started for them.

Owns: finding, starting and stopping it, and its client. Never: requests (`client`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import orjson

import app
from app.bridges.processes.child import Child, SpawnFailed
from app.bridges.processes.process import ChildProcesses
from app.cli.client import RECONNECT_SECONDS, DaemonClient, ReceivedFrame
from app.cli.daemon_address import DaemonAddress
from app.cli.output import CommandFailed
from app.config.environment import process_environment

START_SECONDS = 120.0
STOP_SECONDS = 15.0
"""More than `daemon.shutdown_grace_seconds`, in which running work may end."""
_OTHER_SECONDS = 15.0
_LOOK_SECONDS = 0.1
_OWN_RECONNECT_SECONDS = 1.0
_PACKAGES = Path(app.__file__).resolve().parents[1]


class DaemonLink:
    """The way to the daemon. `options` are those of `kaged serve`; without `starts` a daemon must run."""

    def __init__(self, find: Callable[[], DaemonAddress], options: list[str], *, starts: bool) -> None:
        self._find = find
        self._options = options
        self._starts = starts
        self._client: DaemonClient | None = None
        self._clients: list[DaemonClient] = []
        self._children = ChildProcesses()
        self._own: Child | None = None
        self._turn = asyncio.Lock()

    async def client(self, root: Path | None = None) -> DaemonClient:
        """Return the client of the daemon; a daemon that is started loads the project at `root`. Raises
        `CommandFailed`."""
        async with self._turn:
            if self._own is not None and self._own.exit_code is not None:
                await self._forget_own()
                self._client = None
            if self._client is None:
                address = await self._address(root)
                self._client = DaemonClient(lambda: address, keeps_connections=False)
                self._clients.append(self._client)
            return self._client

    async def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send one request. Raises `CommandFailed`; after one that no daemon answered, the daemon is looked
        for again."""
        client = await self.client()
        try:
            return await client.request(method, path, body=body)
        except CommandFailed as failure:
            self._check(client, failure)
            raise

    async def frames(self, session_id: str, after_seq: int) -> AsyncGenerator[ReceivedFrame, None]:
        """Yield a session's frames after `after_seq`, as the client does. Nobody restarts a daemon that was
        started here, so a lost connection to it is final."""
        client = await self.client()
        seconds = RECONNECT_SECONDS if self._own is None else _OWN_RECONNECT_SECONDS
        try:
            async with aclosing(
                client.frames(session_id, after_seq=after_seq, reconnect_seconds=seconds)
            ) as frames:
                async for frame in frames:
                    yield frame
        except CommandFailed as failure:
            self._check(client, failure)
            raise

    async def aclose(self) -> None:
        """Stop the daemon that was started here; running work may end before."""
        for client in self._clients:
            await client.__aexit__()
        await self._forget_own()
        await self._children.aclose()

    def _check(self, client: DaemonClient, failure: CommandFailed) -> None:
        if failure.code == "unreachable" and self._client is client:
            self._client = None

    async def _forget_own(self) -> None:
        own, self._own = self._own, None
        if own is None:
            return
        if own.exit_code is None:
            os.kill(own.pid, signal.SIGTERM)
            await own.has_ended(STOP_SECONDS)
        await own.aclose()
        await self._children.aclose()
        self._children = ChildProcesses()

    async def _address(self, root: Path | None) -> DaemonAddress:
        try:
            return await asyncio.to_thread(self._find)
        except CommandFailed as failure:
            if failure.code != "no_daemon" or not self._starts:
                raise
        return await self._start(root)

    async def _start(self, root: Path | None) -> DaemonAddress:
        print("kaged acp: no daemon is running; starting one", file=sys.stderr)
        argv = [sys.executable, "-m", "app", "serve", "--json", *self._options]
        argv += [] if root is None else ["--project", str(root)]
        try:
            own = await self._children.start(
                argv,
                owner="kaged serve",
                cwd=_PACKAGES,  # not the project's: `-m` would import a package `app` of it
                env=process_environment(),
                stderr=2,
            )
        except SpawnFailed as problem:
            raise CommandFailed("no_daemon", f"the daemon cannot be started: {problem.reason}") from problem
        try:
            ready = await self._ready(own)
        except BaseException:
            await own.aclose()
            raise
        if not ready:
            await own.aclose()
            return await self._others()
        self._own = own
        return await asyncio.to_thread(self._find)

    async def _ready(self, own: Child) -> bool:
        """Tell whether the daemon serves; it has ended otherwise."""
        assert own.stdout is not None
        try:
            line = await asyncio.wait_for(own.stdout.readline(), START_SECONDS)
        except TimeoutError:
            raise CommandFailed("no_daemon", f"the daemon was not ready after {START_SECONDS:g} s") from None
        return bool(line) and isinstance(orjson.loads(line), dict)

    async def _others(self) -> DaemonAddress:
        """Return the address of a daemon that somebody else started meanwhile."""
        end = asyncio.get_running_loop().time() + _OTHER_SECONDS
        while True:
            try:
                return await asyncio.to_thread(self._find)
            except CommandFailed as failure:
                if failure.code != "no_daemon" or not await self._starting(end):
                    raise CommandFailed(
                        "no_daemon",
                        "the daemon did not start; its messages are in the editor's log of this agent, and "
                        "`kaged serve` shows them in a terminal",
                    ) from failure

    async def _starting(self, end: float) -> bool:
        await asyncio.sleep(_LOOK_SECONDS)
        return asyncio.get_running_loop().time() < end
