"""One run of a language server: its process, the handshake, requests, and its end.

Owns: starting and stopping the process, its capabilities, its last words on stderr.
Never: restarting it, documents, or what a request means.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import app
from app.bridges.lsp.client import ServerCapabilities, ServerRequests, client_capabilities
from app.bridges.lsp.file_uris import path_to_uri
from app.bridges.lsp.language_entry import Behaviour
from app.bridges.lsp.positions import Encoding
from app.bridges.lsp.resolution import ResolvedServer, merged
from app.bridges.lsp.server_places import ServerPlace
from app.bridges.processes.child import Child, ChildEnded, SpawnFailed
from app.bridges.rpc.child_connection import ChildConnection
from app.bridges.rpc.message_stream import PeerClosed
from app.bridges.rpc.peer import JsonRpcPeer, ResponseError

SHUTDOWN_SECONDS = 2.0
MAX_LAST_WORDS = 4_000
_CHUNK = 64 * 1024


class ServerEnded(ChildEnded):
    """The server could not be started, or has ended; `reason` says why, in words."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The listeners of a connection: `spawned` when the process runs, `notified` of every notification and
    its size in bytes, `refreshed` when the server wants its diagnostics to be requested again."""

    spawned: Callable[[], None]
    notified: Callable[[str, Any, int], None]
    refreshed: Callable[[], None]


class Connection(ChildConnection):
    """A running server. Made by `open`, ended by `shut_down` or `aclose`."""

    def __init__(
        self, child: Child, place: ServerPlace, server: ResolvedServer, root: Path, hooks: Hooks
    ) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self.capabilities = ServerCapabilities({})
        self.server_info: Mapping[str, Any] = {}
        self.encoding: Encoding = "utf-16"
        self.root = root
        self._place = place
        self._server = server
        self._last_words = bytearray()
        self._settings = settings_for(server, place.options)
        requests = ServerRequests(root, self._settings, lambda: self.capabilities, hooks.refreshed)
        peer = JsonRpcPeer(
            child.stdout,
            child.stdin,
            name=server.program.name,
            on_notification=lambda method, params: hooks.notified(method, params, self.peer.bytes_taken),
            on_request=requests.answer,
        )
        super().__init__(child, peer, self._drain(), noun="server")

    @classmethod
    async def open(
        cls,
        place: ServerPlace,
        server: ResolvedServer,
        root: Path,
        hooks: Hooks,
        *,
        watches_files: bool,
        seconds: float,
    ) -> Connection:
        """Start the server and greet it, within `seconds`. Raises ServerEnded."""
        try:
            child = await place.children.start(
                place.command(server),
                owner=f"language server {server.program.name}",
                cwd=root,
                env={**place.environment, **server.env},
                stdin="pipe",
            )
        except SpawnFailed as failure:
            await place.end()
            raise ServerEnded(f"{server.program} cannot be started: {failure.reason}") from None
        except BaseException:
            await place.end()
            raise
        hooks.spawned()
        try:
            connection = cls(child, place, server, root, hooks)
        except BaseException:
            await child.aclose()
            await place.end()
            raise
        try:
            await connection._greet(watches_files, seconds)
        except BaseException:
            await connection.aclose()
            raise
        return connection

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes of the connection, without what they started."""
        return (self.child.pid,)

    @property
    def last_words(self) -> str:
        """What the server wrote on stderr at the end, bounded."""
        return self._last_words.decode("utf-8", "replace").strip()

    async def request(self, method: str, params: Any) -> Any:
        """Raises ResponseError, and ServerEnded when the server ends before it answers."""
        try:
            return await self.peer.request(method, params)
        except PeerClosed as closed:
            raise await self._ended(closed.reason) from None

    def notify(self, method: str, params: Any) -> None:
        self.peer.notify(method, params)

    async def further_diagnostics(self, path: Path) -> tuple[dict[str, Any], ...]:
        """Return what another program of the connection finds in a file. Raises as `request` does."""
        return ()

    async def wait_until_ended(self) -> ServerEnded:
        """Wait for the end and return its account."""
        return await self._ended(await self.end_of_reading())

    def _part(self) -> None:
        self.peer.notify("exit")

    async def _leave(self) -> None:
        await self._place.end()

    async def _greet(self, watches_files: bool, seconds: float) -> None:
        uri = path_to_uri(self.root)
        options = self._server.behaviour.options
        initialization = merged(
            options_for(self._server.behaviour, watches_files=watches_files), self._place.options
        )
        params = {
            # Servers end with the process of this number; where they cannot see it, or not send it even
            # the signal that probes for it, that would be at once.
            "processId": None if self._place.caged else os.getpid(),
            "clientInfo": {"name": "kaged", "version": app.__version__},
            "locale": "en",
            "rootUri": uri,
            "rootPath": str(self.root),
            "workspaceFolders": [{"uri": uri, "name": self.root.name}],
            "initializationOptions": merged(initialization, self._settings.get(options.section, {})),
            "capabilities": client_capabilities(watches_files=watches_files),
            "trace": "off",
        }
        try:
            async with asyncio.timeout(seconds):
                answer = await self.request("initialize", params)
        except TimeoutError:
            raise ServerEnded(
                f"{self._server.program.name} did not answer initialize within {seconds:g} s"
            ) from None
        except ResponseError as refusal:
            raise ServerEnded(f"{self._server.program.name} refused: {refusal.message[:500]}") from None
        if not isinstance(answer, dict) or not isinstance(answer.get("capabilities"), dict):
            raise ServerEnded(f"{self._server.program.name} answered initialize with no capabilities")
        capabilities = answer["capabilities"]
        early = self.capabilities
        self.capabilities = ServerCapabilities(capabilities)
        self.capabilities.take_over(early)
        info = answer.get("serverInfo")
        self.server_info = info if isinstance(info, dict) else {}
        encoding = capabilities.get("positionEncoding", capabilities.get("offsetEncoding"))
        match encoding:
            case "utf-8" | "utf-16" | "utf-32":
                self.encoding = encoding
        self.notify("initialized", {})
        if self._settings and options.told_settings:
            self.notify("workspace/didChangeConfiguration", {"settings": dict(self._settings)})

    async def _ended(self, reason: str) -> ServerEnded:
        how, code = await self.end_of_child(reason)
        words = self.last_words[-600:]
        return ServerEnded(
            f"{self._server.program.name} ended ({how})" + (f": {words}" if words else ""), code
        )

    async def _drain(self) -> None:
        stream = self.child.stderr
        while stream is not None and (chunk := await stream.read(_CHUNK)):
            self._last_words += chunk
            del self._last_words[:-MAX_LAST_WORDS]


def options_for(behaviour: Behaviour, *, watches_files: bool) -> dict[str, Any]:
    """Return what the server is initialized with; what was declared wins."""
    options = behaviour.options
    return merged(options.watching, options.initialization) if watches_files else dict(options.initialization)


def settings_for(server: ResolvedServer, place: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the server gets when it asks for settings. One that takes its options from a section gets
    them there, with those of its place: what it is not told again it forgets."""
    options = server.behaviour.options
    if not options.section:
        return server.settings
    declared = server.settings.get(options.section)
    own = merged(merged(options.initialization, place), declared if isinstance(declared, Mapping) else {})
    return {**server.settings, options.section: merged(own, options.fixed)}
